"""HTML that the server writes and people press: how a press becomes an event.

An element with `data-act` (and `data-sent`, its values as JSON) inside a part built by
`build_part` is sent by assets/acts.js to the part's relay. Anybody may post any act: callbacks
check what they get.

Here are also uploads, long work told on the page, and `guarded`, by which known errors become one
clear message and unknown ones are logged and shown as ours.
"""

import functools
import inspect
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from traceback import clear_frames
from typing import Any, TypeVar

import gradio as gr
from gradio.utils import get_upload_folder

from explorer.core.errors import user_message
from explorer.core.html import nothing_to_tell, part, step_html
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

_LISTEN = """
const part = element.closest(".relayed");
part.explorerSend = (act) => trigger("act", act);
"""


@dataclass(frozen=True)
class Part:
    """A part of the page whose HTML is listened to. relay: has the event `act`."""

    elem_id: str
    relay: gr.HTML


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


@contextmanager
def build_part(elem_id: str) -> Iterator[Part]:
    """Lay a part out; what is built inside belongs to it."""
    with gr.Column(elem_id=elem_id, elem_classes="relayed"):
        relay = gr.HTML("", visible="hidden", js_on_load=_LISTEN)
        yield Part(elem_id, relay)


@contextmanager
def build_menu(words: str, elem_id: str) -> Iterator[gr.Column]:
    """A button that opens a menu, hidden until what is given is shown; what is built inside is in
    the menu, whose id `elem_id` is.
    """
    with gr.Column(visible=False, min_width=0, elem_classes="menu-box") as box:
        gr.HTML(part("menu_button", words, elem_id))
        with gr.Column(elem_id=elem_id, elem_classes="popover menu"):
            yield box


def fetching(elem_id: str) -> str:
    """Script that fetches the file a hidden button, or a box, was just given, and closes menus."""
    return f"""() => new Promise((done) => {{
  const look = (left) => setTimeout(() => {{
    document.querySelector(":popover-open")?.hidePopover();
    const box = document.getElementById({json.dumps(elem_id)});
    const link = box?.matches("a, button") ? box : box?.querySelector("a");
    if (!link && left) return look(left - 1);
    link?.click();
    done([]);
  }}, 200);
  look(20);
}})"""


def saying(selector: str, words: str) -> str:
    """Script of an event that says something at once, and passes its inputs on.

    For words that the server would say too late: after the last word of what it is about.
    """
    return f"""(...inputs) => {{
        const said = document.querySelector({json.dumps(selector)});
        if (said) said.textContent = {json.dumps(words)};
        return inputs;
    }}"""


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


def act_of(event: gr.EventData) -> tuple[str, Mapping[str, Any]]:
    """The name of an act and what was sent with it, whatever was posted.

    >>> act_of(gr.EventData(None, {"act": "step", "sent": {"value": 1}}))
    ('step', {'value': 1})
    """
    data = event._data if isinstance(event._data, dict) else {}
    sent = data.get("sent")
    act = data.get("act")
    return act if isinstance(act, str) else "", sent if isinstance(sent, dict) else {}


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
