"""Long work: its steps, its end where nobody waits or it is stopped, and the last of questions."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from explorer.core.work import MOST_AT_ONCE, Jobs, Latest, streamed
from scoring.errors import KnownError, Stopped
from scoring.limits import OnProgress, Step
from tests.conftest import PATIENCE, until

# A thread of its own, whose steps somebody waits for.


def test_work_ends_with_who_listens_to_its_steps() -> None:
    ended = threading.Event()

    def work(tell: OnProgress) -> None:
        try:
            for done in range(10**9):
                tell(Step("reading", done))
        except Stopped:
            ended.set()

    stream = streamed(work)
    assert [next(stream).done for _ in range(5)] == [*range(5)]
    stream.close()
    assert ended.wait(PATIENCE)


@pytest.mark.parametrize("error", [KnownError("No such set."), SystemExit(3)])
def test_what_the_work_raises_is_raised_after_its_steps(error: BaseException) -> None:
    def work(tell: OnProgress) -> None:
        tell(Step("asking"))
        raise error

    stream = streamed(work)
    assert next(stream) == Step("asking")
    with pytest.raises(type(error)) as caught:
        next(stream)
    assert caught.value is error


# Work that goes on by itself.


def endless(begun: list[int], tell: Callable[[int], None]) -> str:
    begun.append(1)
    while not threading.Event().wait(0.01):
        tell(1)
    return "never"


def refusing(tell: Callable[[int], None]) -> str:
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
    jobs.do("a", refusing)
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


# The last question of a session.


def test_the_oldest_session_is_forgotten_and_no_other() -> None:
    latest = Latest(most=2)
    numbers = {session: latest.ask(session) for session in "abc"}
    assert [session for session in "abc" if latest.is_last(session, numbers[session])] == ["b", "c"]
    assert not latest.is_last("b", numbers["c"])


def test_a_question_waits_for_the_one_before_and_is_dropped_for_a_newer_one() -> None:
    latest, answered = Latest(), []

    def answer(number: int) -> bool:
        try:
            with latest.answering("page", number):
                answered.append(number)
        except Stopped:
            return False
        return True

    first = latest.ask("page")
    with ThreadPoolExecutor(2) as pool:
        with latest.answering("page", first):
            second = latest.ask("page")
            asked = pool.submit(answer, second)
            third = latest.ask("page")
            assert asked.result(PATIENCE) is False
            last = pool.submit(answer, third)
            assert answer(first) is False  # nor is an older one answered any more
            with latest.answering("other", latest.ask("other")):
                assert answered == []
        assert last.result(PATIENCE) is True
    assert answered == [third]


def test_a_question_that_fails_holds_nobody_up() -> None:
    latest = Latest()
    with pytest.raises(ValueError), latest.answering("page", latest.ask("page")):
        raise ValueError
    with latest.answering("page", latest.ask("page")):
        pass
