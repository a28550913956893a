"""Long work: its steps, its end where nobody waits or it is stopped, and the last of questions."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from explorer.core.caches import LruCache, locked_cached_property
from explorer.core.work import Jobs, Latest, streamed
from scoring.errors import KnownError, Stopped
from scoring.limits import OnProgress, Step
from tests.conftest import PATIENCE, until


def test_work_ends_with_who_listens_to_its_steps_and_what_it_raises_is_raised() -> None:
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
    with pytest.raises(pytest.fail.Exception, match="of the work"):
        list(streamed(lambda _: pytest.fail("of the work")))


def endless(begun: list[int], tell: Callable[[int], None]) -> str:
    begun.append(1)
    while not threading.Event().wait(0.01):
        tell(1)
    return "never"


def test_what_goes_on_is_begun_once_beside_few_others_and_ends_when_it_is_stopped() -> None:
    jobs, begun = Jobs[int, str](most_at_once=2), list[int]()
    assert jobs.begin("a", partial(endless, begun)) is not None
    assert jobs.begin("a", partial(endless, begun)) is None
    jobs.begin("b", partial(endless, []))
    with pytest.raises(KnownError, match="busy"):
        jobs.begin("one more", partial(endless, []))
    job = jobs.of("a")
    assert job is not None
    until(lambda: job.step == 1)
    jobs.stop("a")
    jobs.stop("b")
    until(lambda: job.is_over)
    assert (job.result, job.refused, begun) == (None, "", [1])


def test_a_question_waits_for_the_one_before_and_is_dropped_for_a_newer_one() -> None:
    latest, answered = Latest(), []
    with pytest.raises(ValueError), latest.answering("page", latest.ask("page")):
        raise ValueError  # which holds nobody up

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


# Values that are computed once.


class Slow:
    """Counts how often its words are computed, and computes them when it may."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.may, self.patience = threading.Event(), patience
        self.computed = 0
        self.cache = LruCache[list[str]](2)

    def compute(self) -> list[str]:
        self.computed += 1
        assert self.may.wait(self.patience)
        return ["a", "b"]

    @locked_cached_property
    def words(self) -> list[str]:
        return self.compute()


@pytest.mark.parametrize(
    "ask", [lambda slow: slow.words, lambda slow: slow.cache.get_or_create_once("", slow.compute)]
)
def test_threads_that_ask_at_once_get_one_value_and_others_do_not_wait(
    ask: Callable[[Slow], list[str]],
) -> None:
    slow, ready = Slow(), Slow(patience=0)
    with pytest.raises(AssertionError):  # what fails is tried again
        ask(ready)
    ready.may.set()
    with ThreadPoolExecutor(5) as pool:
        waiting = [pool.submit(ask, slow) for _ in range(4)]
        until(lambda: all(each.running() for each in waiting) and slow.computed > 0)
        assert pool.submit(ask, ready).result(PATIENCE) == ["a", "b"]
        assert not any(each.done() for each in waiting)
        slow.may.set()
        found = [each.result(PATIENCE) for each in waiting]
    assert slow.computed == 1 and all(each is found[0] for each in found)
