"""What a callback raises, as one clear message to the person who caused it."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from traceback import clear_frames
from typing import Any, TypeVar

import gradio as gr

from explorer.core.errors import user_message

Callback = TypeVar("Callback", bound=Callable[..., Any])


def guarded(callback: Callback) -> Callback:
    """Wrap a callback so that its errors are shown to the person who caused them.

    Outputs keep what they show when a callback raises, so bad input loses nothing.
    """
    if not inspect.isgeneratorfunction(callback):
        return show_errors()(callback)

    @functools.wraps(callback)
    def stream(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with show_errors():
            yield from callback(*args, **kwargs)

    return stream  # type: ignore[return-value]


@contextmanager
def show_errors() -> Iterator[None]:
    """Show what is raised inside to the person who caused it.

    Raises:
        gr.Error: in place of any other.
    """
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:
        # A toast renders its message as HTML, images included; programs read it as it is.
        message = escape(user_message(error), quote=False)
        clear_frames(error.__traceback__)  # their variables may hold work under way
        title = "That did not work"
        raise gr.Error(message, duration=12, title=title, print_exception=False) from error
