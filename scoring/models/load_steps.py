"""How far transformers is with loading weights."""

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

from scoring.limits import Step, Tell


@contextmanager
def loading_told(tell: Tell) -> Iterator[None]:
    """Tell of the weights that this process loads inside, for which transformers shows a bar.

    tell: is told "loading", weights loaded and weights in all, before each.
    """
    from transformers.utils import logging

    before = logging.set_tqdm_hook(lambda _, args, __: _Bar(args, tell))
    try:
        yield
    finally:
        logging.set_tqdm_hook(before)


class _Bar:
    """Stands where a bar would, and tells what it counts."""

    def __init__(self, args: tuple[Any, ...], tell: Tell) -> None:
        self._items = args[0] if args else ()
        self._tell = tell

    def __iter__(self) -> Iterator[Any]:
        total = len(self._items) if isinstance(self._items, Sized) else None
        for done, each in enumerate(self._items):
            self._tell(Step("loading", done, total))
            yield each
        self._tell(Step("loading", total or 0, total))

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is shown."""

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_, **__: None
