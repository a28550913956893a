"""What events of Gradio need: known errors as one clear message, uploads, long work on the page."""

import functools
import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from traceback import clear_frames
from typing import Any, TypeVar

import gradio as gr
from gradio.utils import get_upload_folder

from explorer.core.errors import user_message
from explorer.core.html import nothing_to_tell, step_html
from explorer.core.text import text
from explorer.core.work import shown_as
from scoring.errors import KnownError
from scoring.limits import Step
from scoring.paths import is_file

Callback = TypeVar("Callback", bound=Callable[..., Any])


def guarded(callback: Callback) -> Callback:
    """Wrap a callback so that its errors are shown to the person who caused them.

    Outputs keep what they show when a callback raises, so bad input loses nothing.
    """
    wrapper: Callable[..., Any]
    if inspect.isgeneratorfunction(callback):

        @functools.wraps(callback)
        def stream(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with errors_shown():
                yield from callback(*args, **kwargs)

        wrapper = stream
    else:

        @functools.wraps(callback)
        def call(*args: Any, **kwargs: Any) -> Any:
            with errors_shown():
                return callback(*args, **kwargs)

        wrapper = call
    return wrapper  # type: ignore[return-value]


@contextmanager
def errors_shown() -> Iterator[None]:
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
        title = text("error.title")
        raise gr.Error(message, duration=12, title=title, print_exception=False) from error


EVENT: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""How every event of the page is wired: no public endpoint, no overlay."""

Filling = dict[gr.blocks.Block, Any]
"""What a callback shows: component -> its value. All others stay."""


def components(*parts: object) -> list[gr.blocks.Block]:
    """The components among these: dataclasses and dictionaries of components give all of theirs."""
    found: list[gr.blocks.Block] = []
    for each in parts:
        if isinstance(each, gr.blocks.Block):
            found.append(each)
        else:
            inner = each if isinstance(each, dict) else vars(each)
            found += components(*inner.values())
    return found


def told(
    steps: Iterator[tuple[str, Any]],
    status: gr.HTML,
    result: gr.blocks.Block,
    stop: gr.Button | None = None,
    *starts: gr.components.Component,
) -> Iterator[Filling]:
    """How far each step is, and at last the result.

    stop: can be pressed meanwhile, and `starts` cannot.
    """
    meanwhile: Filling = {stop: gr.update(interactive=True)} if stop else {}
    meanwhile |= {each: gr.update(interactive=False) for each in starts}
    for words, found in steps:
        yield {status: words, result: found, **meanwhile}


def wire_stop(
    stop: gr.Button,
    status: gr.HTML,
    events: Sequence[gr.events.Dependency],
    *starts: gr.components.Component,
) -> None:
    """Let a button end events of `told`. status: is emptied where one of them fails.

    starts: as of `told`. They can be pressed again once the event has ended, and not before: until
    then Gradio lets their presses go unheard.
    """

    def idle() -> Filling:
        return {stop: gr.update(interactive=False)} | {
            each: gr.update(interactive=True) for each in starts
        }

    for each in events:
        each.failure(nothing_to_tell, None, status, **EVENT)
        each.then(idle, None, [stop, *starts], **EVENT)
    stop.click(None, cancels=[*events])


def uploaded_file(sent: object) -> Path:
    """An uploaded file, wherever anybody said that it lies.

    Raises:
        KnownError: it is not in the folder of uploads.
    """
    try:
        path = Path(sent if isinstance(sent, str) else "").resolve()
    except (OSError, ValueError):  # no file can have such a name
        path = Path()
    if not path.is_relative_to(Path(get_upload_folder()).resolve()) or not is_file(path):
        raise KnownError(text("chooser.no_upload"))
    return path


def telling(steps: Generator[Step, None, str]) -> Iterator[tuple[str, Any]]:
    """Each step as HTML, and at last nothing beside the result."""
    yield "", (yield from shown_as(steps, lambda step: (step_html(step), gr.skip())))
