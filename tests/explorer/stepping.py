"""Generators of steps, gone through to their end."""

from collections.abc import Generator
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def gone_through(steps: Generator[S, None, T]) -> tuple[T, list[S]]:
    """What a generator returns, and what it told on the way."""
    told: list[S] = []
    while True:
        try:
            told.append(next(steps))
        except StopIteration as ended:
            return ended.value, told
