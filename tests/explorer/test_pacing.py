"""Drawing that does not hold the work up, on a clock of the tests' own."""

from collections.abc import Iterator

import pytest

from explorer.pacing import SHARE, paced


class Clock:
    """Tells the time that work and drawing spend on it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def work(clock: Clock, n: int, seconds: float) -> Iterator[int]:
    for moment in range(n):
        clock.now += seconds
        yield moment


@pytest.mark.parametrize("drawing", [0.0001, 0.01, 0.5])
@pytest.mark.parametrize("packs", [3, 40, 1000])
def test_drawing_takes_a_small_share_however_slow_it_is(drawing: float, packs: int) -> None:
    clock, spent = Clock(), 0.0
    moments = work(clock, packs, 60 / packs)
    for _ in paced(moments, str, lambda _: True, clock):
        clock.now += drawing
        spent += drawing
    allowed = SHARE / (1 + SHARE) * clock.now
    assert spent <= allowed + drawing, "but for the first, which always is drawn"
    assert spent >= 0.8 * min(packs * drawing, allowed) - drawing


def test_the_first_the_last_and_what_does_not_pass_are_drawn() -> None:
    clock = Clock()
    words = ["waiting", "loading", *["running"] * 50, "finished"]
    seen = []
    for word in paced(words, str, lambda word: word == "running", clock):
        clock.now += 1.0
        seen.append(word)
    assert seen == ["waiting", "loading", "running", "finished"]


def test_what_is_left_out_is_not_made() -> None:
    made: list[int] = []
    clock = Clock()

    def draw(moment: int) -> int:
        made.append(moment)
        clock.now += 1.0
        return moment

    assert list(paced(work(clock, 60, 1.0), draw, lambda _: True, clock)) == made
    assert made == [0, 25, 50]


def test_it_ends_the_work_where_nobody_looks_any_more() -> None:
    closed = []

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    moments = endless()
    drawn = paced(moments, str, lambda _: True)
    next(drawn)
    drawn.close()  # type: ignore[attr-defined]
    moments.close()  # type: ignore[attr-defined]
    assert closed == [True]
