"""HTML that the server writes and people press: how a press becomes an event.

An element with `data-act` (and `data-sent`, its values as JSON) inside a part built by
`build_part` is sent by assets/acts.js to the part's relay, one act at a time. A part can hold far
more than Gradio's components offer (facets with counts, a list that reads well on a phone), and
every act is one event with one callback. Anybody may post any act: callbacks check what they get.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple, TypeVar

import gradio as gr

from explorer.text import text
from explorer.ui.markup import tag

EVENT: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""How every event of the page is wired: no public endpoint, no overlay."""

T = TypeVar("T", bound=NamedTuple)
V = TypeVar("V", str, int)

_LISTEN = """
const part = element.closest(".relayed");
part.explorerSend = (act) => trigger("act", act);
"""


@dataclass(frozen=True)
class Part:
    """A part of the page whose HTML is listened to. relay: has the event `act`."""

    elem_id: str
    relay: gr.HTML


@dataclass(frozen=True)
class Linked:
    """A tab that a link can open.

    open: called with the link's query string and the values of `inputs`; fills `outputs`, and
        leaves them as they are where the link is of another tab.
    address: holds the query string of what is shown then.
    """

    part: Part
    open: Callable[..., Any]
    inputs: Sequence[gr.components.Component]
    outputs: Sequence[gr.components.Component]
    address: gr.Textbox


def unchanged(shown: type[T], **changed: Any) -> T:
    """Values for the components that a named tuple fills: all but `changed` stay as they are."""
    skips: Any = shown(*[gr.skip()] * len(shown._fields))
    replaced: T = skips._replace(**changed)
    return replaced


@contextmanager
def build_part(elem_id: str) -> Iterator[Part]:
    """Lay a part out; what is built inside belongs to it."""
    with gr.Column(elem_id=elem_id, elem_classes="relayed"):
        relay = gr.HTML("", visible="hidden", js_on_load=_LISTEN)
        yield Part(elem_id, relay)


def wire_part(
    part: Part,
    callback: Callable[..., Any],
    inputs: Any,
    outputs: Any,
    address: gr.Textbox | None = None,
    *told: gr.components.Component,
    js: str | None = None,
) -> None:
    """Let every act of a part call `callback(event, *inputs)`.

    address: holds the query string of what is shown then; None where the part has none.
    told: what the page is told besides. js: script that the inputs pass through.
    """
    acted = part.relay.act(callback, inputs, outputs, trigger_mode="multiple", js=js, **EVENT)
    acted.success(None, [address, *told] if address else None, None, js=done(part))
    acted.failure(None, None, None, js=refused(part))


def done(part: Part) -> str:
    """Script that says that an act was answered, and writes the address where there is one."""
    return f"(...told) => window.explorer.done({json.dumps(part.elem_id)}, ...told)"


def refused(part: Part) -> str:
    """Script that says that an act was refused: what is shown stays, and so do its boxes."""
    return f"() => window.explorer.refused({json.dumps(part.elem_id)})"


def sending(part: Part, act: str, *names: str) -> str:
    """Script of an event that sends an act, and with it the event's inputs by these names."""
    values = ", ".join(names)
    asked = f"{json.dumps(part.elem_id)}, {json.dumps(act)}, {{{values}}}"
    return f"({values}) => window.explorer.act({asked})"


def after_acts(part: Part) -> str:
    """Script of an event that waits until all acts are answered, and passes its inputs on."""
    return f"(...inputs) => window.explorer.idle({json.dumps(part.elem_id)}, inputs)"


def again(part: Part) -> str:
    """Script that sends the act "again": show what goes on, in its turn, lest it undo an act."""
    return sending(part, "again")


def wrote(part: Part) -> str:
    """Script that writes the address of what is shown, where no act was answered."""
    return f"(query) => window.explorer.wrote({json.dumps(part.elem_id)}, query)"


def filling(part: Part) -> str:
    """Script that writes what an address says into the search fields of a part."""
    return f"(query) => window.explorer.fill({json.dumps(part.elem_id)}, query)"


def saying(selector: str, words: str) -> str:
    """Script of an event that says something at once, and passes its inputs on.

    For words that the server would say too late: after the last word of what it is about.
    """
    return f"""(...inputs) => {{
        const said = document.querySelector({json.dumps(selector)});
        if (said) said.textContent = {json.dumps(words)};
        return inputs;
    }}"""


def act_of(event: gr.EventData) -> tuple[str, Mapping[str, Any]]:
    """The name of an act and what was sent with it, whatever was posted.

    >>> act_of(gr.EventData(None, {"act": "step", "sent": {"value": 1}}))
    ('step', {'value': 1})
    """
    data = event._data if isinstance(event._data, dict) else {}
    sent = data.get("sent")
    act = data.get("act")
    return act if isinstance(act, str) else "", sent if isinstance(sent, dict) else {}


def acting(act: str, sent: Mapping[str, object] | None = None) -> dict[str, str]:
    """The attributes that make an element send an act, and what goes with it."""
    attributes = {"data_act": act}
    return attributes | ({"data_sent": json.dumps(sent)} if sent else {})


def button(
    words: str,
    act: str,
    sent: Mapping[str, object] | None = None,
    css: str = "",
    label: str = "",
) -> str:
    """A button that sends an act. label: what it is called where its words are but a sign."""
    attributes = {"aria_label": label, "title": label} if label else {}
    return tag("button", escape(words), css, type="button", **acting(act, sent), **attributes)


def copy_button(words: str, what: str, base: str = "") -> str:
    """A button that copies.

    what: "link" for the address of what is shown, else the CSS selector of a text.
    base: where a link begins; "" for the page's own address.
    """
    return tag(
        "button",
        escape(words),
        css="button copy-link" if what == "link" else "button",
        type="button",
        data_copy=what,
        data_base=base,
        data_said=text("filter.copied"),
    )


def ticked(
    words: str,
    act: str,
    on: bool,
    field: str = "value",
    sent: Mapping[str, object] | None = None,
) -> str:
    """A checkbox with its label that sends an act; whether it is ticked goes by `field`."""
    checked = {"checked": "checked"} if on else {}
    box = tag("input", type="checkbox", data_field=field, **acting(act, sent), **checked)
    return tag("label", box + escape(words), css="tick")


def segments(
    legend: str, act: str, options: Mapping[V, str], chosen: V, *, field: str = "value"
) -> str:
    """A row of buttons of which one is pressed.

    options: value -> words. field: by which the value is sent.
    """
    buttons = [
        tag(
            "button",
            escape(words),
            type="button",
            aria_pressed="true" if value == chosen else "false",
            **acting(act, {field: value}),
        )
        for value, words in options.items()
    ]
    return tag("div", "".join(buttons), css="segments", role="group", aria_label=legend)
