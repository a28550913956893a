"""HTML is written by templates: the environment they share, and how numbers are written in them.

A template lies in the folder `templates` of its room and is called by the room's path and its own
name: "reader/pair.html". Every value in it is escaped; a name that it is not given is an error.
"core/parts.html" has the small pieces that all pages are made of.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from explorer.core.figures import short_name
from scoring.errors import counted
from scoring.limits import MEGABYTE, Step

ROOMS = Path(__file__).parents[1]


def render(template: str, **values: object) -> str:
    """The HTML of a template.

    Args:
        template: its name.
        values: all that it asks for. What is HTML already comes as `markupsafe.Markup`.

    Raises:
        jinja2.UndefinedError: it asks for more.

    >>> render("core/parts.html")
    ''
    """
    return _environment().get_template(template).render(values).strip()


def part(name: str, *values: object, of: str = "core/parts.html") -> str:
    """The HTML of one of a template's macros.

    >>> part("chip", "<x>")
    '<span class="chip">&lt;x&gt;</span>'
    """
    macros: Any = _environment().get_template(of).module
    return str(getattr(macros, name)(*values)).strip()


@cache
def _environment() -> Environment:
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_source),
    )
    made.globals |= {"outcome_words": OUTCOME_WORDS, "zip": zip}
    made.filters |= {
        "n": "{:,}".format,
        "counted": lambda n, one, many="": counted(n, one, many or f"{one}s"),
        "json": json.dumps,
        "percent": percent,
        "short_name": short_name,
        "in_percent": in_percent,
        "signed": signed,
        "points": points,
        "p_words": p_words,
        "decimal": decimal,
        "minus": minus,
        "bytes": bytes_words,
        "count": count_text,
        "time": time_words,
    }
    return made


def _source(template: str) -> tuple[str, str, None]:
    room, _, name = template.rpartition("/")
    file = ROOMS / room / "templates" / name
    return file.read_text(encoding="utf-8"), str(file), None


def note(words: str, css: str = "") -> str:
    """A line of quiet text."""
    return part("note", words, css)


def percent(share: float | None, digits: int = 1) -> str:
    """A share of 0 to 1 in percent; an en dash where it is unknown.

    >>> percent(0.46), percent(None)
    ('46.0 %', '–')
    """
    return "–" if share is None else f"{in_percent(share, digits)} %"


def signed(value: float | None) -> str:
    """A reward or margin with its sign; an en dash where it is missing.

    >>> signed(-0.25), signed(0.0), signed(0.0002), signed(-0.00002), signed(None)
    ('−0.250', '0.000', '+0.0002', '> −0.0001', '–')
    """
    if value is None:
        return "–"
    if value == 0:
        return "0.000"
    size = magnitude(abs(value))
    if size.startswith("<"):
        return size if value > 0 else "> −0.0001"
    return f"{'+' if value > 0 else '−'}{size}"


def magnitude(value: float) -> str:
    """The size of a reward or margin: three decimals, four for a small one, one for thousands.

    >>> magnitude(12345.678), magnitude(0.0004), magnitude(2e-7), magnitude(0)
    ('12,345.7', '0.0004', '< 0.0001', '0.000')
    """
    if 0 < value < 0.00005:
        return "< 0.0001"
    if value >= 1000:
        return f"{value:,.1f}"
    return f"{value:.{4 if 0 < value < 0.0005 else 3}f}"


def in_percent(share: float | None, digits: int) -> str:
    """The same where its head says that it is in percent.

    >>> in_percent(0.4567, 2), in_percent(-0.009, 1), in_percent(None, 2)
    ('45.67', '−0.9', '–')
    """
    return "–" if share is None else minus(f"{100 * share:z.{digits}f}")


def points(difference: float | None, digits: int = 1) -> str:
    """A difference of shares in points of a percent, with its sign; an en dash where it is unknown.

    >>> points(-0.012), points(0.25), points(-0.0001), points(None)
    ('−1.2', '+25.0', '0.0', '–')
    """
    if difference is None:
        return "–"
    rounded = round(100 * difference, digits)
    return minus(f"{rounded:{'+' if rounded else 'z'}.{digits}f}")


def decimal(value: float) -> str:
    """A length with one decimal.

    >>> decimal(-1234.5)
    '−1,234.5'
    """
    return minus(f"{value:,.1f}")


def typed_number(value: float) -> str:
    """A number with up to six decimals, as people type it.

    >>> typed_number(-0.00002), typed_number(1.5), typed_number(20.0), typed_number(1e30)
    ('-0.00002', '1.5', '20', '1e+30')
    """
    return f"{value:z.6f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:g}"


def minus(written: str) -> str:
    """A written number with a minus sign in place of a hyphen."""
    return written.replace("-", "−")


def p_words(p: float) -> str:
    """A p-value for a reader.

    >>> p_words(0.2), p_words(0.00001)
    ('0.20', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def bytes_words(n_bytes: int) -> str:
    """Bytes in 10^6 or 10^9, with three digits at most.

    >>> [bytes_words(n) for n in (7_581_480, 850, 16_060_000_000, 141_107_412_992)]
    ['7.6 MB', '0.0008 MB', '16.1 GB', '141 GB']
    """
    if n_bytes < 1e9:
        size = n_bytes / 1e6
        return (
            f"{size:.0f} MB" if size >= 100 else f"{size:.1f} MB" if size >= 1 else f"{size:.1g} MB"
        )
    size = n_bytes / 1e9
    return f"{size:,.0f} GB" if size >= 100 else f"{size:.1f} GB"


def count_text(number: int) -> str:
    """A number of weights in 10^6 or 10^9.

    >>> [count_text(n) for n in (3_787_648, 8_030_261_248, 70_553_706_496, 0)]
    ['3.8 million', '8.0 billion', '70.6 billion', '0']
    """
    if number >= 1e9:
        return f"{number / 1e9:.1f} billion"
    return f"{number / 1e6:.1f} million" if number >= 1e5 else f"{number:,}"


def time_words(seconds: float) -> str:
    """A time in a reader's units.

    >>> [time_words(s) for s in (0.03, 0.34, 8.2, 59.7, 95, 1234, 7500, 200_000)]
    ['under 0.1 s', '0.3 s', '8 s', '1 min', '1 min 35 s', '21 min', '2 h 5 min', '56 h']
    """
    if seconds < 9.5:
        short = f"{seconds:.1f}" if seconds < 2 else f"{seconds:.0f}"
        return "under 0.1 s" if seconds < 0.1 else f"{short} s"
    whole = round(seconds)
    if whole >= 36_000:
        return f"{round(whole / 3600):,} h"
    if whole >= 3600:
        hours, minutes = divmod(round(whole / 60), 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if whole >= 60:
        minutes, rest = divmod(whole, 60) if whole < 600 else (round(whole / 60), 0)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{whole} s"


def step_html(step: Step) -> str:
    """One step in words, with a bar where its end is known.

    >>> "1,024 rows" in step_html(Step("reading", 1024))
    True
    """
    done, total = step.done, step.total
    if step.doing == "fetching":
        of = "?" if total is None else f"{total / MEGABYTE:,.1f}"
        words = f"Fetching: {done / MEGABYTE:,.1f} of {of} MB"
    elif step.doing == "reading":
        rows = "Reading: " if total is None else f"{done:,} of "
        words = rows + counted(done if total is None else total, "row", "rows")
    elif step.doing == "loading":
        words = "Loading the model"
        words += "…" if total is None else f": {done:,} of {counted(total, 'weight', 'weights')}"
    else:
        words = "Asking the Hugging Face Hub…"
    return part("step", words, min(1, done / total) if total else None)


OUTCOME_WORDS = {"win": "won", "loss": "lost", "tie": "tie", "missing": "no reward"}
"""What became of a pair."""

KEYS = {
    "j, k": "Next or previous pair",
    "r": "Random pair",
    "d, p": "Next or previous difference",
    "/": "Search",
    "g": "Go to a pair by its key",
    "c": "Copy a link to the open pair",
    "1, 2, 3": "Review: keep, drop, unsure",
    "u": "Review: undo",
    "n": "Review: next unmarked pair",
    "?": "This help",
}


def help_html() -> str:
    """A dialog that lists the keys; closed until it is asked for."""
    return render("core/help.html", keys=KEYS)
