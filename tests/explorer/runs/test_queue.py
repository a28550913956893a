"""The queue before the device: first come, first served, and nobody fills it alone."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from explorer.runs.queue import MOST_OF_ADDRESS, MOST_OF_ONE, Queue
from scoring.errors import KnownError
from tests.conftest import PATIENCE


def test_the_first_is_served_and_the_next_hears_at_once_that_it_is_their_turn() -> None:
    queue, heard = Queue(), threading.Event()
    with queue.join("a") as first:
        second, third = queue.join("b"), queue.join("c")
        assert first.wait(0) and not second.wait(0)
        assert (second.ahead(), third.ahead()) == ((1, None), (2, None))
        first.seconds = 4.0
        assert (second.ahead(), third.ahead()) == ((1, 4.0), (2, None))
        thread = threading.Thread(target=lambda: heard.set() if second.wait(PATIENCE) else None)
        thread.start()
    thread.join(PATIENCE)
    assert heard.is_set() and second.ahead()[0] == 0 and not third.wait(0)


def test_nobody_fills_the_line_alone() -> None:
    queue = Queue()
    for _ in range(MOST_OF_ONE):
        queue.join("a")
    with pytest.raises(KnownError, match="Stop one first"):
        queue.join("a")
    for number in range(MOST_OF_ADDRESS):
        queue.join(f"made up {number}", "203.0.113.5")
    with pytest.raises(KnownError, match="Stop one first"):
        queue.join("made up again", "203.0.113.5")
    assert queue.join("else", "203.0.113.6")


def test_what_is_short_waits_for_what_is_short_of_its_owner_and_else_not_long() -> None:
    queue = Queue()
    own = queue.join("a", is_short=True)
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(queue.first, "a", 0.01)
        with pytest.raises(TimeoutError):
            second.result(0.2)
        own.leave()
        with second.result(PATIENCE) as turn:
            assert turn.wait(0)
    with queue.join("a"), pytest.raises(KnownError, match="busy"):
        queue.first("a", 0.01)
