"""Known errors become one clear message; unknown ones are logged and shown as ours."""

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, TypeVar

import gradio as gr

from explorer.text import text
from scoring.errors import KnownError

logger = logging.getLogger(__name__)

Callback = TypeVar("Callback", bound=Callable[..., Any])


def guarded(callback: Callback) -> Callback:
    """Wrap a callback so that its errors are shown to the person who caused them.

    Outputs keep what they show when a callback raises, so bad input loses nothing.
    """
    wrapper: Callable[..., Any]
    if inspect.isgeneratorfunction(callback):

        @functools.wraps(callback)
        def stream(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with _shown():
                yield from callback(*args, **kwargs)

        wrapper = stream
    else:

        @functools.wraps(callback)
        def call(*args: Any, **kwargs: Any) -> Any:
            with _shown():
                return callback(*args, **kwargs)

        wrapper = call
    return wrapper  # type: ignore[return-value]


def explained(error: Exception) -> str:
    """An error as its cause is told; one that is not known is logged, and told as ours."""
    if isinstance(error, KnownError):
        return str(error)
    logger.error("a callback failed", exc_info=error)
    return text("error.bug")


@contextmanager
def _shown() -> Iterator[None]:
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:
        # A toast renders its message as HTML, images included; programs read it as it is.
        message = escape(explained(error), quote=False)
        title = text("error.title")
        raise gr.Error(message, duration=12, title=title, print_exception=False) from error
