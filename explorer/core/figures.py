"""What figures have in common: how parts are marked for the theme, and names as Plotly's text.

Figures are made colourless; the theme paints traces by their `meta` and shapes by their name.
"""

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

Figure = Any
"""A plotly Figure; plotly is imported when the first one is drawn."""
SERIES = "series"
"""What the `meta` of traces that stand side by side begins with; a number follows."""
CORRELATION = "correlation"
"""The `meta` of a heat map from -r to r."""
MARK = "mark"
"""The `meta` of points that are no models."""
SELECTED = "selected"
"""What the name of a shape that shows selected lengths begins with; the measure follows."""
_LONGEST_LABEL = 100
"""Characters of a name that points repeat; a longer one would make the figure heavy."""
_START, _END = 8, 13
"""What a short name has of a long one: what tells two apart is often at the end."""


def plotly_name(model: str) -> str:
    """A model's name, cut.

    >>> plotly_name("<b>"), len(plotly_name("a" * 1000))
    ('&lt;b&gt;', 100)
    """
    return _as_text(model if len(model) <= _LONGEST_LABEL else f"{model[: _LONGEST_LABEL - 1]}…")


def different_names(models: Sequence[str]) -> list[str]:
    """Names of which no two are the same, for an axis where a name is a place.

    >>> different_names(["a", "b", "a"])
    ['a', 'b', 'a 2']
    """
    found: dict[str, None] = {}
    for name in map(plotly_name, models):
        number, unique = 2, name
        while unique in found:
            unique, number = f"{name} {number}", number + 1
        found[unique] = None
    return list(found)


def short_name(model: str) -> str:
    """A model's name without whose it is."""
    return model.rstrip("/").rpartition("/")[2] or model


def short_names(models: Sequence[str]) -> list[str]:
    """Short names: without who made the model, where that tells them apart.

    >>> short_names(["org/model", "one/same", "two/same", "org/a-very-long-name-of-a-model-8B"])
    ['model', 'one/same', 'two/same', 'a-very-l…of-a-model-8B']
    """
    lasts = [*map(short_name, models)]
    times = Counter(lasts)
    short = [last if times[last] == 1 else model for last, model in zip(lasts, models, strict=True)]
    return [
        _as_text(each if len(each) <= _START + _END else f"{each[:_START]}…{each[-_END:]}")
        for each in short
    ]


def _as_text(name: str) -> str:
    """Without tags. Plotly does not know the entity of a quote, and would show it as it is."""
    return escape(name, quote=False)
