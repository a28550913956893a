"""What pairs are filtered by, as HTML and in words: facets, the search, models' names, chips."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from explorer.core.html import minus, render, typed_number
from explorer.data.conditions import condition_of
from explorer.data.facets import COLUMNS, FACETS, NONE, Facet
from explorer.data.filters import LengthRange
from explorer.data.search import LONGEST_QUERY, Where
from explorer.data.table import PairTable, Rows, Unit
from explorer.reader.scene import Scene
from explorer.reader.state import PairsState
from explorer.results.field import MAJORITY, Field
from explorer.results.judged import Judged
from explorer.stats.duels import Cell
from scoring.benchmarks import Benchmark

MOST_SHOWN = 60
"""Names that a facet lists; the most frequent, and those picked."""
_MOST_TICKS = 2_000
"""Models that are offered while one types; any other can be typed whole."""

_OPEN: tuple[Facet, ...] = ("subset", "longer", "code")
_WORDED: tuple[Facet, ...] = ("longer", "length", "shared", "code")
"""Facets whose names are ours, not the data's."""
_OF_DATA: tuple[Facet, ...] = ("subset", "chosen_model", "rejected_model", *COLUMNS)
"""Those whose names all occur; of a fixed set, some may not."""


class Tick(NamedTuple):
    """A name that can be picked, and how many pairs it would have.

    words: what it is called. share: of the most that a name of its facet has, in percent.
    href: the link that picks it, or takes it away. about: what it means; "" where that is plain.
    """

    name: str
    words: str
    n: int
    share: str
    is_picked: bool
    href: str
    about: str = ""


class Removable(NamedTuple):
    """A filter in words, and the link that takes it away."""

    words: str
    href: str


KINDS: Mapping[str, str] = {
    "failures": "Failures",
    "losses": "Losses",
    "ties": "Ties",
    "missing": "Missing",
    "near": "Near misses",
    "confident": "Confident losses",
    "wins": "Wins",
    "all": "All",
    "hard": "Most fail",
    "telling": "Discriminating",
    "negative": "Possibly mislabelled",
    "every": "All",
}
"""Which pairs by their outcomes are listed, in words; see `kind_words`."""
UNIT_WORDS: Mapping[Unit, str] = {"chars": "characters", "words": "words", "tokens": "tokens"}
_FACETS: Mapping[Facet, str] = {
    "section": "Section",
    "subset": "Subset",
    "chosen_model": "Chosen model",
    "rejected_model": "Rejected model",
    "longer": "Longer response",
    "length": "Longer side by RewardBench's list",
    "shared": "Prompt appears in several subsets",
    "code": "Has code",
    "language": "Code language",
}
_NAMES = {"equal": "equally long", "neutral": "neither", "none": "unknown"}
"""Of `_WORDED` facets, where they are not their own words."""
_PLACES: Mapping[Where, str] = {
    "all": "All texts",
    "prompt": "Prompt",
    "chosen": "Chosen",
    "rejected": "Rejected",
}


def kind_words(table: PairTable, kind: str) -> str:
    """What a kind is called; of a part of the benchmark's rule, by the part's name."""
    parts = table.benchmark.rule.parts
    number = int(kind[4:]) if kind.startswith("only") else 0
    if not number:
        return KINDS[kind]
    return f"Lost in {parts[number - 1]} only" if number <= len(parts) else "Lost in one part only"


def search_html(asked: PairsState) -> str:
    """The form of a search, with what is searched for."""
    return render("reader/search.html", state=asked, longest=LONGEST_QUERY, places=_PLACES)


JUDGED_WORDS: dict[Judged, str] = {
    "": "Any verdict",
    "chosen": "Prefers chosen",
    "rejected": "Prefers rejected",
    "split": "Answers disagree",
    "unreadable": "Unreadable",
    "cut": "Cut off",
}


def filter_chips(now: Scene) -> list[Removable]:
    """What a scene is filtered by, each with a way to take it away."""
    state = now.state
    chips = [*_of_filters(state, now.table)]
    for each in state.slices:
        words = condition_of(now.table, each).name
        chips.append(Removable(words, state.narrowed(slices=state.toggled("slices", each))))
    if state.margins:
        words = f"margin {_range_of(*state.margins)}"
        chips.append(Removable(words, state.narrowed(margins=None)))
    if state.verdict:
        words = f"judge: {JUDGED_WORDS[state.verdict].lower()}"
        chips.append(Removable(words, state.narrowed(verdict="")))
    if state.judge_words:
        words = f"“{state.judge_words}” in the judge’s words"
        chips.append(Removable(words, state.narrowed(judge_words="")))
    if state.wins:
        words = _range_of(*state.wins) + " models win"
        chips.append(Removable(words, state.narrowed(wins=None)))
    if state.listed_kind not in (None, "all", "every"):
        words = f"{state.model or 'All models'}: {kind_words(now.table, state.listed_kind)}"
        after = state.narrowed(kind="all") if state.model else state.of(None).narrowed()
        chips.append(Removable(words, after))
    if state.model and state.against:
        rival = "the majority vote" if state.against == MAJORITY else state.against
        words = _of_cell(state.cell, rival)
        chips.append(Removable(words, state.of(state.model).narrowed(margins=state.margins)))
    return chips


def listed_words(now: Scene) -> list[str]:
    """By which filters a scene lists its pairs, in words, one each."""
    return [each.words for each in filter_chips(now)]


def listed_and_why(now: Scene) -> tuple[Rows, str]:
    """The rows that a scene lists, in table order, and in words by which filters."""
    return now.filtered.rows, ", ".join(listed_words(now))


def model_names(fields: Sequence[Field], unread: Sequence[str] = ()) -> list[str]:
    """The models that are offered while one types, one's own first, those not read yet last."""
    names = [name for field in fields for name in field.runs if name in field.place_of]
    names += [name for field in fields for name in field.matrix.models if name not in field.runs]
    return [*names, *unread][:_MOST_TICKS]


def _of_filters(state: PairsState, table: PairTable) -> Iterator[Removable]:
    for facet, names in state.filters.picked:

        def without(gone: Sequence[str], facet: Facet = facet) -> str:
            left = tuple(name for name in getattr(state, facet) if name not in gone)
            return state.narrowed(**{facet: left})

        single = list(names)
        # A section whose subsets are all picked, beside some of another, is one.
        subsets = table.subsets.names if facet == "subset" else ()
        for section, members in _by_section(table.benchmark, subsets).items():
            if len(members) > 1 and set(members) <= set(names):
                words = f"Section: {name_words('section', section)}"
                yield Removable(words, without(members))
                single = [name for name in single if name not in members]
        for name in single:
            words = f"{_title(table, facet)}: {name_words(facet, name)}"
            yield Removable(words, without([name]))
    for each in state.ranges:
        left = tuple(other for other in state.ranges if other != each)
        yield Removable(_range_words(each), state.narrowed(ranges=left))
    query = state.query
    if query.words:
        where = "" if query.where == "all" else f" in the {query.where}"
        how = [each for each in ("regex", "case") if getattr(query, each)]
        words = f"“{query.words}”{where}" + (f" ({', '.join(how)})" if how else "")
        yield Removable(words, state.narrowed(words=""))


def _of_cell(cell: Cell, rival: str) -> str:
    words: dict[Cell, str] = {
        "both": f"both this model and {rival} win",
        "only_a": f"this model wins, {rival} does not",
        "only_b": f"{rival} wins, this model does not",
        "neither": f"neither this model nor {rival} wins",
    }
    return words[cell]


def _range_words(one: LengthRange) -> str:
    measure = "chosen − rejected" if one.measure == "difference" else one.measure
    unit = UNIT_WORDS[one.unit]
    if one.low is None:
        return f"{measure} {unit} ≤ {one.high:,}"
    if one.high is None:
        return f"{measure} {unit} ≥ {one.low:,}"
    return f"{measure} {unit} {one.low:,} to {one.high:,}"


def _range_of(low: float | None, high: float | None) -> str:
    if low is None:
        return f"≤ {minus(typed_number(high or 0.0))}"
    if high is None:
        return f"≥ {minus(typed_number(low))}"
    return f"{minus(typed_number(low))} to {minus(typed_number(high))}"


def facets_html(now: Scene) -> str:
    """All facets that tell at least two kinds of rows apart, or have something picked.

    Sections and subsets are one: a section stands above its subsets, and means all of them.
    """
    facets = [_facet(now, facet) for facet in FACETS if facet != "section"]
    return render("reader/facets.html", facets=[each for each in facets if each is not None])


def name_words(facet: Facet, name: str) -> str:
    """How a name of a facet is called on screen."""
    if facet in _WORDED:
        return _NAMES.get(name, name)
    return "none" if name == NONE else name


def _facet(now: Scene, facet: Facet) -> dict[str, object] | None:
    """What is shown of a facet: groups of names, each below a tick for all of it, or None."""
    table, filters, filtered = now.table, now.state.filters, now.filtered
    picked, column = filters.names(facet), table.facets[facet]
    found = filtered.by_subset if facet == "subset" else filtered.counts[facet]
    benchmark = table.benchmark
    counts = {
        name: count
        for place, (name, count) in enumerate(zip(column.names, found.tolist(), strict=True))
        if count or facet in _OF_DATA or (column.codes == place).any()
    }
    sections = filters.names("section") if facet == "subset" else ()
    if len(counts) < 2 and not picked and not sections:
        return None
    names, left_out = _listed(facet, counts, picked)
    whole = _by_section(benchmark, dict.fromkeys([*counts, *picked])) if facet == "subset" else {}
    whole = whole if len(whole) > 1 else {}
    of_whole = {each: sum(counts.get(name, 0) for name in whole[each]) for each in whole}
    most = max([1, *(of_whole or counts).values()])
    of_sections = {name for each in whole if each in sections for name in whole[each]}
    ticked = {*picked} & of_sections if picked and sections else {*picked, *of_sections}

    def tick(of: Facet, name: str, n: int, before: str = "") -> Tick:
        members = set(whole[name] if of == "section" else [name])
        is_picked = members <= ticked
        after = ticked - members if is_picked else ticked | members
        href = _picking(now.state, facet, after, whole)
        words = name_words(of, name.removeprefix(before) or name)
        return Tick(name, words, n, f"{100 * n / most:.0f}", is_picked, href)

    def ticks(names: Iterable[str], before: str = "") -> list[Tick]:
        return [tick(facet, name, counts.get(name, 0), before) for name in names]

    listed = _by_section(benchmark, names) if whole else {}
    groups = [
        (
            tick("section", each, of_whole[each]),
            ticks((name for name in listed.get(each, ()) if name != each), f"{each}/"),
        )
        for each in whole
    ]
    return {
        "name": facet,
        "title": "Section and subset" if whole else _title(table, facet),
        "is_open": facet in _OPEN or bool(picked or sections),
        "n_picked": len(picked) + len(sections),
        "groups": groups or [(None, ticks(names))],
        "n_left_out": left_out,
    }


def _title(table: PairTable, facet: Facet) -> str:
    """What a facet is called; a column of the data by its own name."""
    if facet == "longer" and (which := table.measured_response):
        return f"Longer {which} response"
    name = table.further_columns.get(facet, "")
    return _FACETS.get(facet) or name[:1].upper() + name[1:].replace("_", " ") or "Another column"


def _picking(
    state: PairsState, facet: Facet, names: AbstractSet[str], whole: Mapping[str, Sequence[str]]
) -> str:
    """The link that picks these names; of subsets, where they are whole sections, these."""
    sections = [each for each in whole if names >= set(whole[each])]
    if sections and names == {name for each in sections for name in whole[each]}:
        return state.narrowed(section=tuple(sections), subset=())
    if facet == "subset":
        return state.narrowed(section=(), subset=tuple(sorted(names)))
    return state.narrowed(**{facet: tuple(sorted(names))})


def _listed(facet: Facet, counts: dict[str, int], picked: Sequence[str]) -> tuple[list[str], int]:
    """The names to show, in order, and how many are left out."""
    by_count = sorted(counts, key=lambda name: -counts[name])
    shown = {*by_count[:MOST_SHOWN], *picked}
    names = by_count if facet in ("chosen_model", "rejected_model") else counts
    kept = [name for name in names if name in shown]
    return [*kept, *(name for name in picked if name not in counts)], len(counts) - len(kept)


def n_sections(table: PairTable) -> int:
    """Sections of their benchmark that pairs of a table are of."""
    return len(_by_section(table.benchmark, table.subsets.names).keys() - {NONE})


def _by_section(benchmark: Benchmark, subsets: Iterable[str]) -> dict[str, list[str]]:
    """Section -> those of its subsets, `NONE` last; sections without any are left out."""
    groups: dict[str, list[str]] = {section: [] for section in (*benchmark.groups, NONE)}
    for subset in subsets:
        groups[benchmark.group_of(subset) or NONE].append(subset)
    return {section: members for section, members in groups.items() if members}
