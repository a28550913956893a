import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from explorer.core.caches import LruCache, locked_cached_property
from tests.conftest import PATIENCE, until


class Slow:
    """Counts how often its words are computed, and computes them when it may."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.computed = 0

    def compute(self) -> list[str]:
        self.computed += 1
        assert self.may.wait(PATIENCE)
        return ["a", "b"]

    @locked_cached_property
    def words(self) -> list[str]:
        return self.compute()

    @locked_cached_property
    def quick(self) -> int:
        return 1

    @locked_cached_property
    def broken(self) -> int:
        self.computed += 1
        raise ValueError("no")


@pytest.mark.parametrize("kept_by", ["property", "cache"])
def test_threads_that_ask_at_once_get_one_value(kept_by: str) -> None:
    slow, cache, asking = Slow(), LruCache[list[str]](2), []
    asks: dict[str, Callable[[], list[str]]] = {
        "property": lambda: slow.words,
        "cache": lambda: cache.get_or_create_once("key", slow.compute),
    }

    def asked() -> object:
        asking.append(1)
        return asks[kept_by]()

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(asked) for _ in range(4)]
        until(lambda: len(asking) == 4)
        slow.may.set()
        found = [each.result(PATIENCE) for each in waiting]
    assert slow.computed == 1 and all(each is found[0] for each in found)


def test_nobody_waits_for_another_object_or_another_value() -> None:
    slow, ready = Slow(), Slow()
    ready.may.set()
    with ThreadPoolExecutor(3) as pool:
        computing = pool.submit(lambda: slow.words)
        until(lambda: slow.computed > 0)
        assert pool.submit(lambda: ready.words).result(PATIENCE) == ["a", "b"]
        assert pool.submit(lambda: slow.quick).result(PATIENCE) == 1
        assert not computing.done()
        slow.may.set()


def test_what_fails_is_tried_again() -> None:
    slow = Slow()
    for tries in (1, 2):
        with pytest.raises(ValueError, match="no"):
            _ = slow.broken
        assert slow.computed == tries
