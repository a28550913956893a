"""Work in a thread of its own, whose steps somebody waits for."""

import threading

import pytest

from explorer.core.work import repeated, streamed
from scoring.errors import KnownError, Stopped
from scoring.limits import OnProgress, Step
from tests.conftest import PATIENCE


def test_every_step_is_given_to_who_waits() -> None:
    def work(tell: OnProgress) -> None:
        for done in range(5):
            tell(Step("reading", done))

    assert [step.done for step in streamed(work)] == [*range(5)]


def test_work_ends_with_who_listens() -> None:
    ended = threading.Event()

    def work(tell: OnProgress) -> None:
        try:
            while True:
                tell(Step("asking"))
        except Stopped:
            ended.set()

    stream = streamed(work)
    assert next(stream) == Step("asking")
    stream.close()
    assert ended.wait(PATIENCE)


@pytest.mark.parametrize("error", [KnownError("No such set."), OSError("disk"), SystemExit(3)])
def test_what_the_work_raises_is_raised_after_its_steps(error: BaseException) -> None:
    def work(tell: OnProgress) -> None:
        tell(Step("asking"))
        raise error

    stream = streamed(work)
    assert next(stream) == Step("asking")
    with pytest.raises(type(error)) as caught:
        next(stream)
    assert caught.value is error


def test_while_there_is_no_step_the_last_is_told_again() -> None:
    told: list[int] = []
    tell = repeated(told.append, 1)
    for step in (None, 2, None, None, 3):
        tell(step)
    assert told == [1, 2, 2, 2, 3]
