"""What pairs are filtered by, as HTML and in words: facets, the search, models' names, chips."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from explorer.core.html import render
from explorer.core.text import text
from explorer.data.conditions import condition_of
from explorer.data.facets import FACETS, NONE, Facet
from explorer.data.filters import Filtered, Filters, LengthRange
from explorer.data.search import LONGEST_QUERY, PLACES
from explorer.data.table import PairTable, Rows
from explorer.reader.scene import Scene
from explorer.results.field import MAJORITY, Field
from scoring.benchmark import SECTIONS, section_of

MOST_SHOWN = 60
"""Names that a facet lists; the most frequent, and those picked."""
_MOST_TICKS = 2_000
"""Models that are offered while one types; any other can be typed whole."""

_OPEN: tuple[Facet, ...] = ("section", "subset", "longer", "code")
_WORDED: tuple[Facet, ...] = ("longer", "length", "shared", "code")
"""Facets whose names are ours, not the data's."""
_OF_DATA: tuple[Facet, ...] = ("subset", "chosen_model", "rejected_model")
"""Those whose names all occur; of a fixed set, some may not."""


class Removable(NamedTuple):
    """A filter in words, and the act that takes it away."""

    words: str
    act: str
    sent: Mapping[str, object]


def search_html() -> str:
    """The fields of a search. It is never written anew, so that nobody's typing is lost."""
    return render("reader/search.html", longest=LONGEST_QUERY, places=PLACES)


def filter_chips(now: Scene) -> list[Removable]:
    """What a scene is filtered by, each with a way to take it away."""
    state = now.state
    chips = [*_of_filters(state.filters)]
    for each in state.slices:
        chips.append(Removable(condition_of(now.table, each).name, "unslice", {"value": each}))
    if state.model and state.against:
        rival = text("fails.majority") if state.against == MAJORITY else state.against
        words = text(f"fails.cell_{state.cell}", model=rival)
        chips.append(Removable(words, "against", {"value": ""}))
    return chips


def listed_words(now: Scene) -> list[str]:
    """By which filters a scene lists its pairs, in words, one each."""
    state, words = now.state, [each.words for each in filter_chips(now)]
    if state.shown_kind not in (None, "all", "every"):
        whose = state.model or text("fails.all_models")
        kind = f"{whose}: {text(f'fails.kind_{state.shown_kind}')}"
        words.insert(len(words) - bool(state.model and state.against), kind)  # before the cell
    return words


def listed_and_why(now: Scene) -> tuple[Rows, str]:
    """The rows that a scene lists, in table order, and in words by which filters."""
    return now.filtered.rows, ", ".join(listed_words(now))


def model_names(fields: Sequence[Field], unread: Sequence[str] = ()) -> list[str]:
    """The models that are offered while one types, one's own first, those not read yet last."""
    names = [name for field in fields for name in field.runs if name in field.place_of]
    names += [name for field in fields for name in field.matrix.models if name not in field.runs]
    return [*names, *unread][:_MOST_TICKS]


def _of_filters(filters: Filters) -> Iterator[Removable]:
    for facet, names in filters.picked:
        for name in names:
            words = f"{text(f'facet.{facet}')}: {name_words(facet, name)}"
            yield Removable(words, "unpick", {"facet": facet, "name": name})
    for each in filters.ranges:
        sent = {"measure": each.measure, "unit": each.unit}
        yield Removable(_range_words(each), "unrange", sent)
    query = filters.query
    if query.words:
        how = [text(f"search.in_{query.where}")]
        how += [text(f"search.{name}") for name in ("regex", "case") if getattr(query, name)]
        yield Removable(f"“{query.words}” ({', '.join(how)})", "search", {"words": ""})


def _range_words(one: LengthRange) -> str:
    said = {"what": text(f"measure.{one.measure}"), "unit": text(f"unit.{one.unit}")}
    if one.low is None:
        return text("filter.at_most", high=f"{one.high:,}", **said)
    if one.high is None:
        return text("filter.at_least", low=f"{one.low:,}", **said)
    return text("filter.between", low=f"{one.low:,}", high=f"{one.high:,}", **said)


def facets_html(table: PairTable, filters: Filters, filtered: Filtered) -> str:
    """All facets that tell at least two kinds of rows apart, or have something picked."""
    facets = [_facet(table, facet, filters, filtered) for facet in FACETS]
    return render("reader/facets.html", facets=[each for each in facets if each is not None])


def name_words(facet: Facet, name: str) -> str:
    """How a name of a facet is called on screen."""
    if facet in _WORDED:
        return text(f"facet.{facet}_{name}")
    return text("facet.none") if name == NONE else name


def _facet(
    table: PairTable, facet: Facet, filters: Filters, filtered: Filtered
) -> dict[str, object] | None:
    """What is shown of a facet, whose names stand in groups with a title, "" for a single one."""
    picked, column = filters.names(facet), table.facets[facet]
    counts = {
        name: count
        for place, (name, count) in enumerate(
            zip(column.names, filtered.counts[facet].tolist(), strict=True)
        )
        if count or facet in _OF_DATA or (column.codes == place).any()
    }
    if len(counts) < 2 and not picked:
        return None
    names, left_out = _listed(facet, counts, picked)
    most = max([1, *(counts.get(name, 0) for name in names)])

    def of(name: str) -> tuple[object, ...]:
        count = counts.get(name, 0)
        return name, name_words(facet, name), count, f"{100 * count / most:.0f}", name in picked

    groups = _by_section(names) if facet == "subset" else [("", names)]
    return {
        "name": facet,
        "is_open": facet in _OPEN or bool(picked),
        "n_picked": len(picked),
        "groups": [(title, [of(name) for name in members]) for title, members in groups if members],
        "n_left_out": left_out,
    }


def _listed(facet: Facet, counts: dict[str, int], picked: Sequence[str]) -> tuple[list[str], int]:
    """The names to show, in order, and how many are left out."""
    by_count = sorted(counts, key=lambda name: -counts[name])
    shown = {*by_count[:MOST_SHOWN], *picked}
    names = by_count if facet in ("chosen_model", "rejected_model") else counts
    kept = [name for name in names if name in shown]
    return [*kept, *(name for name in picked if name not in counts)], len(counts) - len(kept)


def _by_section(subsets: Iterable[str]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {section: [] for section in (*SECTIONS, "")}
    for subset in subsets:
        groups[section_of(subset) or ""].append(subset)
    return [(section or text("facet.none"), members) for section, members in groups.items()]
