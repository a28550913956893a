import threading
import time
from collections.abc import Generator

import pytest

import explorer.core.work
from explorer.core.work import Shared, stepping, until_stopped
from scoring.errors import KnownError, Stopped
from scoring.limits import Step, Tell
from tests.conftest import PATIENCE
from tests.explorer.stepping import gone_through


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer.core.work, "EVERY_SECONDS", 0.01)


def test_the_latest_step_is_told_and_the_result_returned() -> None:
    heard = threading.Event()

    def work(tell: Tell) -> str:
        for done in range(5):
            tell(Step("fetching", done, 5))
        assert heard.wait(PATIENCE)
        return "done"

    stream = stepping(work)
    assert next(stream) == Step("fetching", 4, 5)
    heard.set()
    with pytest.raises(StopIteration) as ended:
        while True:  # while its thread ends, the latest step may be told again
            next(stream)
    assert ended.value.value == "done"


def test_every_step_that_is_waited_for_is_told() -> None:
    heard = [threading.Event() for _ in range(4)]

    def work(tell: Tell) -> None:
        for done, each in enumerate(heard):
            tell(Step("reading", done))
            assert each.wait(PATIENCE)

    told = []
    for step in stepping(work):
        told.append(step.done)
        heard[step.done].set()
    assert list(dict.fromkeys(told)) == [0, 1, 2, 3]


@pytest.mark.parametrize("stopping", [False, True])
def test_work_that_can_be_stopped_ends_with_who_listens(stopping: bool) -> None:
    stop, ended = threading.Event(), threading.Event()

    def work(tell: Tell) -> None:
        tell(Step("asking"))
        assert stop.wait(PATIENCE)
        ended.set()

    stream = stepping(work, stop)
    assert next(stream) == Step("asking")
    if stopping:
        with pytest.raises(Stopped):
            stream.throw(Stopped("It was stopped."))
        assert ended.is_set(), "its end is waited for"
    else:
        stream.close()
        assert ended.wait(PATIENCE)


def test_what_is_stopped_says_how_it_ended() -> None:
    stop = threading.Event()

    def steps() -> Generator[int, None, None]:
        try:
            yield from range(9)
        except Stopped:
            yield -1

    told = []
    for step in until_stopped(steps(), stop):
        told.append(step)
        if step == 2:
            stop.set()
    assert told == [0, 1, 2, -1]
    assert list(until_stopped(steps(), threading.Event())) == [*range(9)]


def test_work_that_ends_while_it_is_waited_for_tells_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(explorer.core.work, "EVERY_SECONDS", PATIENCE)

    def work(tell: Tell) -> None:
        tell(Step("asking"))
        time.sleep(0.05)  # so that somebody waits already

    assert list(stepping(work)) == []


def test_it_works_in_a_thread_of_its_own() -> None:
    stream: Generator[Step, None, int] = stepping(lambda tell: threading.get_ident())
    with pytest.raises(StopIteration) as ended:
        next(stream)
    assert ended.value.value != threading.get_ident()


@pytest.mark.parametrize("error", [KnownError("No such set."), OSError("disk"), SystemExit(3)])
def test_what_the_work_raises_is_raised(error: BaseException) -> None:
    def work(tell: Tell) -> None:
        tell(Step("asking"))
        raise error

    with pytest.raises(type(error)) as caught:
        list(stepping(work))
    assert caught.value is error


def test_who_stops_listening_leaves_the_work_running() -> None:
    go_on, done = threading.Event(), threading.Event()

    def work(tell: Tell) -> None:
        tell(Step("asking"))
        assert go_on.wait(PATIENCE)
        tell(Step("reading"))
        done.set()

    stream = stepping(work)
    assert next(stream) == Step("asking")
    stream.close()
    assert not done.is_set()
    go_on.set()
    assert done.wait(PATIENCE)


def test_nothing_begins_before_somebody_listens() -> None:
    begun = threading.Event()
    stream: Generator[Step, None, None] = stepping(lambda tell: begun.set())
    assert not begun.wait(0.05)
    list(stream)
    assert begun.is_set()


def counting(taken: list[int], most: int = 9) -> Generator[int, None, str]:
    """Steps that note when they are taken, and when that is given up."""
    try:
        for number in range(most):
            taken.append(number)
            yield number
    finally:
        taken.append(-1)
    return "done"


def test_who_asks_for_the_same_takes_the_next_step() -> None:
    shared, taken = Shared[int, str](), list[int]()
    first, second = (shared.follow("same", lambda: counting(taken)) for _ in range(2))
    assert [next(first), next(second), next(first)] == [0, 1, 2]
    other = shared.follow("other", lambda: counting([]))
    assert next(other) == 0
    first.close()
    assert gone_through(second) == ("done", [*range(3, 9)])
    assert taken == [*range(9), -1]


def test_what_all_gave_up_is_closed_and_begun_anew() -> None:
    shared, taken = Shared[int, str](), list[int]()
    first, second = (shared.follow("same", lambda: counting(taken)) for _ in range(2))
    assert [next(first), next(second)] == [0, 1]
    first.close()
    assert taken == [0, 1]
    second.close()
    assert taken == [0, 1, -1]
    assert gone_through(shared.follow("same", lambda: counting(taken)))[1] == [*range(9)]


def test_an_error_is_told_to_all_who_ask() -> None:
    def failing() -> Generator[int, None, str]:
        yield 1
        yield 2
        raise KnownError("It broke.")

    shared = Shared[int, str]()
    first, second = (shared.follow("same", failing) for _ in range(2))
    assert [next(first), next(second)] == [1, 2]
    for each in (first, second):
        with pytest.raises(KnownError, match="It broke"):
            gone_through(each)


def test_who_waits_for_a_step_is_told_the_last_one_and_can_leave() -> None:
    held, begun = threading.Event(), threading.Event()

    def slow() -> Generator[int, None, str]:
        yield 1
        begun.set()
        assert held.wait(PATIENCE)
        yield 2
        return "done"

    shared, found = Shared[int, str](), list[str]()
    first, second = (shared.follow("same", slow) for _ in range(2))
    assert next(first) == 1
    thread = threading.Thread(target=lambda: found.append(gone_through(first)[0]))
    thread.start()
    assert begun.wait(PATIENCE)
    assert next(second) == next(second) == 1
    second.close()
    held.set()
    thread.join(PATIENCE)
    assert found == ["done"]
