"""The help that "?" opens."""

from html import escape

from explorer.text import text
from explorer.ui.markup import tag

KEYS = ("j", "k", "r", "/", "?", "1", "2", "3", "u", "n")


def help_html() -> str:
    """A dialog that lists the keys; closed until it is asked for."""
    rows = "".join(
        tag("dt", tag("kbd", escape(key))) + tag("dd", escape(text(f"help.key_{name}")))
        for key, name in zip(
            KEYS, ("j", "k", "r", "slash", "help", "1", "2", "3", "u", "n"), strict=True
        )
    )
    hide = tag("button", escape(text("help.hide_harm")), css="button hide-harm", type="button")
    close = tag("button", escape(text("help.close")), css="button", type="button")
    inside = tag("h2", escape(text("help.title"))) + tag("dl", rows) + hide + " " + close
    return tag("dialog", inside, id="help", aria_label=text("help.title"))
