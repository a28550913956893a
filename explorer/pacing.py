"""Showing what goes on without holding it up."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
S = TypeVar("S")

SHARE = 0.04
"""Of the time that passes between two drawings, what the former may have taken."""


def paced(
    moments: Iterable[T],
    draw: Callable[[T], S],
    passes: Callable[[T], bool],
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[S]:
    """Draw what comes, but leave moments out so that the work goes on nearly as fast as undrawn.

    After a drawing that took a second, with all that was done with it before the next moment was
    asked for, passing moments are left out for 25 seconds. So drawing takes less than 1 / 26 of
    the time, however slow it is, and the faster it is the more is drawn.

    Args:
        moments: the work, which goes on whenever the next moment is asked for.
        draw: makes of a moment what is shown.
        passes: whether a moment is soon followed by another of its kind, so that it may be left
            out; the first of several always is drawn.
        clock: tells seconds.

    >>> ticks = iter(range(100))
    >>> list(paced([1, 2, 3, 4], str, lambda moment: moment < 4, lambda: next(ticks)))
    ['1', '4']
    """
    due: float | None = None
    for moment in moments:
        began = clock()
        if not passes(moment):
            due = None
            yield draw(moment)
        elif due is None or began >= due:
            yield draw(moment)
            ended = clock()
            due = ended + (ended - began) / SHARE
