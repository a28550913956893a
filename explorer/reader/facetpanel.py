"""The panel of facets: what pairs can be told apart by, how many have each, what is picked."""

from collections.abc import Iterable, Sequence
from html import escape

from explorer.core.html import note, tag
from explorer.core.parts import acting
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


def facets_html(table: PairTable, filters: Filters, selection: Selection) -> str:
    """All facets that tell at least two kinds of rows apart, or have something picked."""
    title = tag("summary", escape(text("facet.title")))
    facets = "".join(_facet(table, facet, filters, selection) for facet in FACETS)
    return tag("details", title + facets, css="facets", open="open", data_keep="facets")


def name_words(facet: Facet, name: str) -> str:
    """How a name of a facet is called on screen.

    >>> name_words("longer", "equal"), name_words("subset", "hep-go")
    ('equally long', 'hep-go')
    """
    if facet in WORDED:
        return text(f"facet.{facet}_{name}")
    return text("facet.none") if name == NONE else name


def _facet(table: PairTable, facet: Facet, filters: Filters, selection: Selection) -> str:
    picked = filters.names(facet)
    counts = dict(zip(table.facets[facet].names, selection.counts[facet].tolist(), strict=True))
    known = {name: count for name, count in counts.items() if count or _occurs(table, facet, name)}
    if len(known) < 2 and not picked:
        return ""
    names, left_out = _listed(facet, known, picked)
    groups = _by_section(names) if facet == "subset" else [("", names)]
    most = max([1, *(known.get(name, 0) for name in names)])
    boxes = {name: _box(facet, name, known.get(name, 0), name in picked, most) for name in names}
    body = "".join(
        _group(facet, title, [boxes[name] for name in members])
        for title, members in groups
        if members
    )
    if left_out:
        body += note(text("facet.more", n=f"{left_out:,}"))
    count = tag("span", escape(text("facet.picked", n=len(picked))), "picked") if picked else ""
    attributes = {"data_keep": f"facet-{facet}"}
    if facet in OPEN or picked:
        attributes["open"] = "open"
    inside = tag("div", body, css="names", data_keep_scroll=f"names-{facet}")
    title = tag("summary", escape(text(f"facet.{facet}")) + count)
    return tag("details", title + inside, css="facet", **attributes)


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


def _group(facet: Facet, title: str, boxes: Sequence[str]) -> str:
    """Boxes below their title, with a way to tick all of them or none."""
    if not title:
        return tag(
            "div", "".join(boxes), css="group", role="group", aria_label=text(f"facet.{facet}")
        )
    both = "".join(
        tag(
            "button",
            escape(text(f"facet.{words}")),
            type="button",
            data_all=value,
            aria_label=text(f"facet.{words}_of", group=title),
            data_act="pick",
            data_sent=acting("pick", {"facet": facet})["data_sent"],
        )
        for words, value in (("all", "1"), ("nothing", "0"))
    )
    head = tag("div", tag("b", escape(title)) + both, css="group-title")
    return tag("div", head + "".join(boxes), css="group", role="group", aria_label=title)


def _box(facet: Facet, name: str, count: int, on: bool, most: int) -> str:
    attributes = acting("pick", {"facet": facet}) | ({"checked": "checked"} if on else {})
    box = tag("input", type="checkbox", value=name, **attributes)
    share = f"--share: {100 * count / most:.0f}%"
    words = tag("span", escape(name_words(facet, name)), css="name")
    number = tag("span", escape(f"{count:,}"), css="n")
    return tag("label", box + words + number, css="" if count else "nothing", style=share)
