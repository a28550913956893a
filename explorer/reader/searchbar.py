"""The search field, the field to choose a model, and the words for what is listed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from explorer.core.html import part, render
from explorer.core.text import text
from explorer.data.conditions import condition_of
from explorer.data.filters import Filters, LengthRange
from explorer.data.search import LONGEST_QUERY, PLACES
from explorer.data.table import Rows
from explorer.reader.facetpanel import name_words
from explorer.reader.scene import Scene
from explorer.results.field import MAJORITY, Field

MOST_NAMES = 2_000
"""Models that are offered while one types; any other can be typed whole."""


def search_html() -> str:
    """The fields of a search. It is never written anew, so that nobody's typing is lost."""
    return render("reader/search.html", longest=LONGEST_QUERY, places=PLACES)


def filter_words(filters: Filters) -> list[str]:
    """The active filters in words, one each.

    >>> filter_words(Filters().picking("section", ["Chat"]))
    ['Section: Chat']
    """
    words = [
        f"{text(f'facet.{facet}')}: {name_words(facet, name)}"
        for facet, names in filters.picked
        for name in names
    ]
    words += [_range_words(each) for each in filters.ranges]
    query = filters.query
    if query.words:
        how = [text(f"search.in_{query.where}")]
        how += [text(f"search.{name}") for name in ("regex", "case") if getattr(query, name)]
        words.append(f"“{query.words}” ({', '.join(how)})")
    return words


def listed_words(now: Scene) -> list[str]:
    """By which filters a scene lists its pairs, in words, one each."""
    state = now.state
    words = filter_words(state.filters)
    words += [condition_of(now.table, each).name for each in state.slices]
    if state.shown_kind not in (None, "all", "every"):
        whose = state.model or text("fails.all_models")
        words.append(f"{whose}: {text(f'fails.kind_{state.shown_kind}')}")
    if state.model and state.against:
        words.append(text(f"fails.cell_{state.cell}", model=rival_words(state.against)))
    return words


def listed_and_why(now: Scene) -> tuple[Rows, str]:
    """The rows that a scene lists, in table order, and in words by which filters."""
    return now.selection.rows, ", ".join(listed_words(now))


def rival_words(against: str) -> str:
    """What a model is compared with."""
    return text("fails.majority") if against == MAJORITY else against


class Removable(NamedTuple):
    """A filter in words, and the act that takes it away."""

    words: str
    act: str
    sent: Mapping[str, object]


def filter_chips(filters: Filters) -> list[Removable]:
    """The active filters, each with a way to take it away."""
    words = iter(filter_words(filters))
    chips = [
        Removable(next(words), "unpick", {"facet": facet, "name": name})
        for facet, names in filters.picked
        for name in names
    ]
    chips += [
        Removable(next(words), "unrange", {"measure": each.measure, "unit": each.unit})
        for each in filters.ranges
    ]
    if filters.query.words:
        chips.append(Removable(next(words), "search", {"words": ""}))
    return chips


def _range_words(one: LengthRange) -> str:
    what = text(f"measure.{one.measure}")
    unit = text(f"unit.{one.unit}")
    if one.low is None:
        return text("filter.at_most", what=what, high=f"{one.high:,}", unit=unit)
    if one.high is None:
        return text("filter.at_least", what=what, low=f"{one.low:,}", unit=unit)
    return text("filter.between", what=what, low=f"{one.low:,}", high=f"{one.high:,}", unit=unit)


def model_names(fields: Sequence[Field]) -> list[str]:
    """The models that are offered while one types, one's own first."""
    names = [name for field in fields for name in field.runs if name in field.place_of]
    names += [name for field in fields for name in field.matrix.models if name not in field.runs]
    return names[:MOST_NAMES]


def models_html(fields: Sequence[Field], model: str, act: str, label: str, other: str = "") -> str:
    """A field to choose a model by its name.

    act: what it sends. label: what is asked for. other: words that offer no model, or `MAJORITY`.
    """
    values = act, label, model, model_names(fields), other
    field = part("model_field", *values, of="reader/model_field.html")
    return f'<div class="line">{field}</div>'
