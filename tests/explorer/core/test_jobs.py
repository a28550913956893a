"""Work that goes on by itself: once by a key, to its end or until it is stopped."""

import threading
from collections.abc import Callable
from functools import partial

import pytest

from explorer.core.work import MOST_AT_ONCE, Jobs
from scoring.errors import KnownError
from tests.conftest import until


def endless(begun: list[int], tell: Callable[[int], None]) -> str:
    begun.append(1)
    while not threading.Event().wait(0.01):
        tell(1)
    return "never"


def refusing(tell: Callable[[int], None]) -> str:
    tell(1)
    raise KnownError("No such thing.")


def test_what_goes_on_is_begun_once_and_ends_when_it_is_stopped() -> None:
    jobs, begun = Jobs[int, str](), list[int]()
    assert jobs.begin("a", partial(endless, begun)) is not None
    assert jobs.begin("a", partial(endless, begun)) is None
    job = jobs.of("a")
    assert job is not None
    until(lambda: job.step == 1)
    jobs.stop("a")
    until(lambda: job.is_over)
    assert (job.result, job.refused, begun) == (None, "", [1])
    thread = jobs.begin("a", refusing)
    assert thread is not None
    thread.join()
    again = jobs.of("a")
    assert again is not None and (again.refused, again.is_over) == ("No such thing.", True)


def test_no_more_goes_on_at_once_than_a_server_bears() -> None:
    jobs, begun = Jobs[int, str](), list[int]()
    for number in range(MOST_AT_ONCE):
        jobs.begin(number, partial(endless, begun))
    with pytest.raises(KnownError, match="busy"):
        jobs.begin("one more", partial(endless, begun))
    for number in range(MOST_AT_ONCE):
        jobs.stop(number)
