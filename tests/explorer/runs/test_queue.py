"""The line before the device: first come, first served, and nobody fills it alone."""

import threading

import pytest

from explorer.runs.queue import MOST_OF_ADDRESS, MOST_OF_ONE, MOST_WAITING, Line
from scoring.errors import KnownError
from tests.conftest import PATIENCE


def test_the_first_is_served_and_the_next_after_it() -> None:
    line = Line()
    with line.join("a") as first:
        second = line.join("b")
        first.seconds = 4.0
        assert first.wait(0) and not second.wait(0)
        assert (second.ahead().people, second.ahead().seconds) == (1, 4.0)
    assert second.wait(0) and second.ahead().people == 0


def test_who_waits_hears_at_once_that_it_is_their_turn() -> None:
    line = Line()
    first, second = line.join("a"), line.join("b")
    heard = threading.Event()
    thread = threading.Thread(target=lambda: heard.set() if second.wait(PATIENCE) else None)
    thread.start()
    first.leave()
    thread.join(PATIENCE)
    assert heard.is_set()


def test_who_leaves_twice_takes_nobody_elses_place() -> None:
    line = Line()
    first, second = line.join("a"), line.join("b")
    first.leave()
    first.leave()
    assert second.wait(0)


def test_how_long_is_not_known_where_one_ahead_does_not_say() -> None:
    line = Line()
    first, _, third = line.join("a"), line.join("b"), line.join("c")
    first.seconds = 4.0
    assert (third.ahead().people, third.ahead().seconds) == (2, None)


def test_nobody_fills_the_line_alone() -> None:
    line = Line()
    for _ in range(MOST_OF_ONE):
        line.join("a")
    with pytest.raises(KnownError, match="places in the line already"):
        line.join("a")
    for number in range(MOST_OF_ADDRESS):
        line.join(f"made up {number}", "203.0.113.5")
    with pytest.raises(KnownError, match="places in the line already"):
        line.join("made up again", "203.0.113.5")
    assert line.join("else", "203.0.113.6")


def test_where_nobody_is_told_apart_the_line_is_as_long_as_it_may_be() -> None:
    line = Line()
    for _ in range(MOST_WAITING + 1):
        line.join("")
    with pytest.raises(KnownError, match="people wait already"):
        line.join("")


def test_what_is_short_does_not_wait_long() -> None:
    line = Line()
    with line.first("a", 0.01), pytest.raises(KnownError, match="busy"):
        line.first("b", 0.01)
    with line.first("b", 0.01) as turn:
        assert turn.ahead().people == 0
