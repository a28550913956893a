"""The search field, and the bar below it: how many pairs are in view, and by which filters."""

from collections.abc import Iterable, Sequence
from html import escape

from explorer.core.html import note, tag
from explorer.core.parts import acting, button, copy_button
from explorer.core.text import text
from explorer.data.filters import Filters, LengthRange
from explorer.data.search import LONGEST_QUERY, PLACES
from explorer.reader.facetpanel import name_words
from explorer.reader.state import Scene
from explorer.results.field import Field

MOST_NAMES = 2_000
"""Models that are offered while one types; any other can be typed whole."""


def search_html(elem_id: str = "search") -> str:
    """The fields of a search. It is never written anew, so that nobody's typing is lost."""
    field = tag(
        "input", type="search", id=elem_id, css="search", data_field="words", data_param="q",
        maxlength=str(LONGEST_QUERY), placeholder=text("search.placeholder"),
        aria_label=text("search.label"),
        autocomplete="off", spellcheck="false", **acting("search"),
    )  # fmt: skip
    options = "".join(
        tag("option", escape(text(f"search.in_{place}")), value=place) for place in PLACES
    )
    where = tag(
        "select",
        options,
        aria_label=text("search.where"),
        data_field="where",
        data_param="in",
        **acting("search"),
    )
    boxes = "".join(
        tag(
            "label",
            tag("input", type="checkbox", data_field=name, data_param=name, **acting("search"))
            + escape(text(f"search.{name}")),
            css="tick",
            title=text(f"search.{name}_hint"),
        )
        for name in ("regex", "case")
    )
    return tag("div", field + where + boxes, css="searchbar", role="search")


def bar_html(scene: Scene, notes: Iterable[str], link_base: str) -> str:
    """How many pairs are in view, the active filters, a link to what is seen, and what to know.

    Args:
        scene: what is shown.
        notes: what was left out of a link.
        link_base: where a link to this app begins; "" for the address of the page itself.
    """
    rows, total = len(scene.selection.rows), len(scene.table)
    counted = text("list.count", n=f"{rows:,}", total=f"{total:,}")
    chips = "".join(filter_chips(scene.view.filters))
    if chips:
        chips += button(text("filter.reset"), "reset", css="chip reset")
    count = tag("span", escape(counted), css="count", role="status")
    copy = copy_button(text("filter.copy_link"), "link", link_base)
    line = tag("div", count + tag("span", chips, css="chips") + copy, css="bar-line")
    none = "" if rows else note(text("list.none"))
    return line + none + "".join(note(text("filter.dropped", what=what)) for what in notes)


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


def filter_chips(filters: Filters) -> Sequence[str]:
    """The active filters, each with a way to take it away."""
    words = iter(filter_words(filters))
    chips = [
        removable(next(words), "unpick", {"facet": facet, "name": name})
        for facet, names in filters.picked
        for name in names
    ]
    chips += [
        removable(next(words), "unrange", {"measure": each.measure, "unit": each.unit})
        for each in filters.ranges
    ]
    if filters.query.words:
        chips.append(removable(next(words), "search", {"words": ""}))
    return chips


def removable(words: str, act: str, sent: dict[str, object]) -> str:
    """A chip that is pressed to take away what it says."""
    inside = tag("span", escape(words), css="words") + tag("span", "✕", aria_hidden="true")
    return tag(
        "button",
        inside,
        css="chip removable",
        type="button",
        aria_label=text("filter.remove", filter=words),
        **acting(act, sent),
    )


def _range_words(one: LengthRange) -> str:
    what = text(f"measure.{one.measure}")
    unit = text(f"unit.{one.unit}")
    if one.low is None:
        return text("filter.at_most", what=what, high=f"{one.high:,}", unit=unit)
    if one.high is None:
        return text("filter.at_least", what=what, low=f"{one.low:,}", unit=unit)
    return text("filter.between", what=what, low=f"{one.low:,}", high=f"{one.high:,}", unit=unit)


def models_html(fields: Sequence[Field], model: str, act: str, label: str, other: str = "") -> str:
    """A field to choose a model by its name, one's own first.

    act: what it sends. label: what is asked for. other: words that offer no model, or `MAJORITY`.
    """
    names = [name for field in fields for name in field.runs if name in field.place_of]
    names += [name for field in fields for name in field.matrix.models if name not in field.runs]
    known = "".join(tag("option", "", value=name) for name in names[:MOST_NAMES])
    entry = tag(
        "input", type="text", value=model, list=f"{act}-names", data_field="value",
        maxlength="1000", placeholder=text("fails.type_model"), autocomplete="off",
        spellcheck="false", id=f"{act}-name", css="model-name", **acting(act),
    )  # fmt: skip
    words = tag("label", escape(label), "legend", **{"for": f"{act}-name"})
    none = button(other, act, {"value": ""}, "button") if other and model else ""
    return tag("div", words + entry + tag("datalist", known, id=f"{act}-names") + none, "line")
