"""How far transformers is with loading weights, and an end to it."""

import threading
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

from scoring.limits import Step, Tell
from scoring.stopping import check_stop


@contextmanager
def loading_told(tell: Tell, stop: threading.Event | None) -> Iterator[None]:
    """Tell of the weights that this thread loads inside, and end that once `stop` is set.

    transformers shows a bar while it loads, and lets its maker be replaced; the bars of other
    threads stay as they are.

    tell: is told "loading", weights loaded and weights in all, before each.

    Raises:
        Stopped: `stop` is set, at the next weight.
    """
    from transformers.utils import logging

    own = threading.get_ident()

    def hook(make: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        bar = make(*args, **named) if before is None else before(make, args, named)
        return _Bar(bar, args, tell, stop) if threading.get_ident() == own else bar

    before = logging.set_tqdm_hook(hook)
    try:
        yield
    finally:
        logging.set_tqdm_hook(before)


class _Bar:
    """A bar that tells what it counts; for all else it is the bar that it stands for."""

    def __init__(
        self, bar: Any, args: tuple[Any, ...], tell: Tell, stop: threading.Event | None
    ) -> None:
        self._bar = bar
        self._total = len(args[0]) if args and isinstance(args[0], Sized) else None
        self._tell = tell
        self._stop = stop

    def __iter__(self) -> Iterator[Any]:
        for done, each in enumerate(self._bar):
            check_stop(self._stop)
            self._tell(Step("loading", done, self._total))
            yield each
        self._tell(Step("loading", self._total or 0, self._total))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bar, name)
