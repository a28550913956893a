"""The panel of facets: what pairs can be told apart by, how many have each, what is picked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from explorer.core.html import render
from explorer.core.text import text
from explorer.data.facets import FACETS, NONE, Facet
from explorer.data.filters import Filters, Selection
from explorer.data.table import PairTable
from scoring.benchmark import SECTIONS, section_of

MOST_SHOWN = 60
"""Names that a facet lists; the most frequent, and those picked."""
OPEN: tuple[Facet, ...] = ("section", "subset", "longer", "code")
WORDED: tuple[Facet, ...] = ("longer", "length", "shared", "code")
"""Facets whose names are ours, not the data's."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name of a facet. share: of its rows, 0 to 1 of those of the most frequent one."""

    name: str
    words: str
    count: int
    share: float
    is_picked: bool


@dataclass(frozen=True, slots=True)
class _Listed:
    """What is shown of a facet. groups: (title, names), the title "" where there is but one."""

    name: Facet
    is_open: bool
    n_picked: int
    groups: Sequence[tuple[str, Sequence[_Name]]]
    n_left_out: int


def facets_html(table: PairTable, filters: Filters, selection: Selection) -> str:
    """All facets that tell at least two kinds of rows apart, or have something picked."""
    facets = [_facet(table, facet, filters, selection) for facet in FACETS]
    return render("reader/facets.html", facets=[each for each in facets if each is not None])


def name_words(facet: Facet, name: str) -> str:
    """How a name of a facet is called on screen.

    >>> name_words("longer", "equal"), name_words("subset", "hep-go")
    ('equally long', 'hep-go')
    """
    if facet in WORDED:
        return text(f"facet.{facet}_{name}")
    return text("facet.none") if name == NONE else name


def _facet(
    table: PairTable, facet: Facet, filters: Filters, selection: Selection
) -> _Listed | None:
    picked = filters.names(facet)
    counts = dict(zip(table.facets[facet].names, selection.counts[facet].tolist(), strict=True))
    known = {name: count for name, count in counts.items() if count or _occurs(table, facet, name)}
    if len(known) < 2 and not picked:
        return None
    names, left_out = _listed(facet, known, picked)
    most = max([1, *(known.get(name, 0) for name in names)])

    def of(name: str) -> _Name:
        count = known.get(name, 0)
        return _Name(name, name_words(facet, name), count, count / most, name in picked)

    groups = _by_section(names) if facet == "subset" else [("", names)]
    named = [(title, [of(name) for name in members]) for title, members in groups if members]
    return _Listed(facet, facet in OPEN or bool(picked), len(picked), named, left_out)


def _occurs(table: PairTable, facet: Facet, name: str) -> bool:
    """Whether the table has a row with that name; fixed names may have none."""
    column = table.facets[facet]
    if facet in ("subset", "chosen_model", "rejected_model"):
        return True
    return bool((column.codes == column.names.index(name)).any())


def _listed(facet: Facet, counts: dict[str, int], picked: Sequence[str]) -> tuple[list[str], int]:
    """The names to show, in order, and how many are left out."""
    names = list(counts)
    if facet in ("chosen_model", "rejected_model"):
        names.sort(key=lambda name: -counts[name])
    by_count = sorted(names, key=lambda name: -counts[name])
    shown = {*by_count[:MOST_SHOWN], *picked}
    kept = [name for name in names if name in shown]
    return kept + [name for name in picked if name not in counts], len(names) - len(
        set(names) & shown
    )


def _by_section(subsets: Iterable[str]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {section: [] for section in (*SECTIONS, "")}
    for subset in subsets:
        groups[section_of(subset) or ""].append(subset)
    return [(section or text("facet.none"), members) for section, members in groups.items()]
