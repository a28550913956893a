"""The About tab: what the data is, from `explorer.data.datacard`; the same for every session."""

from collections.abc import Iterable
from html import escape

import gradio as gr

from explorer.core.html import chip, note, tag
from explorer.core.text import text
from explorer.data.datacard import DataCard, Remark, SubsetCard, data_card
from scoring.benchmark import SECTIONS

COLUMNS = ("subset", "description", "pairs", "raw", "collected", "weight", "length", "origin")
"""Of the table of subsets; how each is headed stands in about.*."""


def build_about() -> None:
    """Lay the tab out where it is called."""
    gr.HTML(about_html())


def about_html() -> str:
    """The whole card: subsets, scores, known errors, sources, and where to ask."""
    card = data_card()
    parts = [
        _title(text("about.title", name=card.name)),
        _paragraph(card.summary),
        _links(card),
        _title(text("about.subsets")),
        _paragraph(text("about.counts")),
        _lengths(card),
        _table(card),
        tag("p", f"{_may_harm()} {escape(card.content_warning)}"),
        *_remarks(text("about.scoring"), card.scoring),
        *_remarks(text("about.known_errors"), card.known_errors),
        *_remarks(text("about.cautions"), card.cautions),
        _title(text("about.citations")),
        _citations(card),
    ]
    return tag("article", "".join(parts), css="data-card")


def _title(words: str) -> str:
    return tag("h2", escape(words))


def _paragraph(words: str) -> str:
    return tag("p", escape(words))


def _may_harm() -> str:
    return chip(text("about.may_harm"), "bad")


def _link(words: str, url: str) -> str:
    """A link that leaves the app where it is."""
    return tag("a", escape(words), href=url, target="_blank", rel="noopener")


def _remarks(title: str, remarks: Iterable[Remark]) -> list[str]:
    written = [tag("h3", escape(each.title)) + _paragraph(each.text) for each in remarks]
    return [_title(title), *written]


def _links(card: DataCard) -> str:
    """Where the dataset lies, under which licence, how it is cited and where to ask."""
    doi = _link(card.doi, f"https://doi.org/{card.doi}")
    croissant = _link(text("about.croissant_link"), card.croissant_url)
    contact = _link(text("about.contact_link"), card.contact_url)
    facts = {
        text("about.dataset"): _link(card.dataset, card.dataset_url),
        text("about.licence"): escape(f"{card.licence}. {card.licence_note}"),
        text("about.paper"): _link(card.citation, card.paper_url),
        text("about.doi"): doi,
        text("about.croissant"): f"{croissant}. {escape(card.croissant_note)}",
        text("about.contact"): f"{contact}. {escape(card.contact_note)}",
    }
    pairs = "".join(tag("dt", escape(name)) + tag("dd", value) for name, value in facts.items())
    return tag("dl", pairs)


def _lengths(card: DataCard) -> str:
    """What stands in the column of lengths, and what each word there means."""
    words = (tag("b", escape(text(f"about.length_{each}"))) for each in card.lengths)
    meanings = zip(words, card.lengths.values(), strict=True)
    return tag("ul", "".join(tag("li", f"{word}: {escape(means)}") for word, means in meanings))


def _table(card: DataCard) -> str:
    """The subsets by section, in a region that the keyboard can scroll.

    The roles are those that the elements have anyway: on narrow screens the style sheet makes
    blocks of them, and a browser would forget that they were a table.
    """
    heads = "".join(_cell("th", escape(_head(name)), name, scope="col") for name in COLUMNS)
    title = escape(text("about.table", n=f"{len(card.subsets)}"))
    parts = [tag("caption", title), tag("thead", _row(heads), role="rowgroup")]
    for section in SECTIONS:
        members = [each for each in card.subsets if each.section == section]
        parts.append(tag("tbody", _section(section, members), role="rowgroup"))
    parts.append(tag("tfoot", _row(_totals(card)), role="rowgroup"))
    table = tag("table", "".join(parts), role="table")
    return tag("div", table, css="region", role="region", tabindex="0", aria_label=title)


def _head(name: str) -> str:
    return text(f"about.column_{name}")


def _row(cells: str, css: str = "") -> str:
    return tag("tr", cells, css=css, role="row")


def _cell(name: str, content: str, column: str, **attributes: str) -> str:
    """A cell; `data-column` is its heading where the headings are out of sight."""
    roles = {"col": "columnheader", "row": "rowheader", "rowgroup": "rowheader"}
    role = roles.get(attributes.get("scope", ""), "cell")
    return tag(name, content, css=column, role=role, data_column=_head(column), **attributes)


def _section(section: str, members: list[SubsetCard]) -> str:
    pairs = sum(each.pairs for each in members)
    title = escape(text("about.section", name=section, n=f"{len(members)}", pairs=f"{pairs:,}"))
    head = _cell("th", title, "subset", scope="rowgroup", colspan=f"{len(COLUMNS)}")
    return _row(head, "section") + "".join(_row(_subset(each)) for each in members)


def _subset(card: SubsetCard) -> str:
    origin = _link(card.origin.name, card.origin.url) + tag("div", escape(card.origin.licence))
    length = text(f"about.length_{card.length}")
    description = [escape(card.description)]
    if card.note:
        description.append(note(card.note))
    if card.may_harm:
        description.append(_may_harm())
    cells = {
        "description": "".join(description),
        "pairs": f"{card.pairs:,}",
        "raw": f"{card.raw:,}",
        "collected": f"{card.collected:,}",
        "weight": f"{card.weight:,}",
        "length": escape(length),
        "origin": origin,
    }
    name = escape(card.name) + tag("code", escape(card.subset))
    head = _cell("th", name, "subset", scope="row")
    return head + "".join(_cell("td", words, column) for column, words in cells.items())


def _totals(card: DataCard) -> str:
    sums = {
        "pairs": sum(each.pairs for each in card.subsets),
        "raw": sum(each.raw for each in card.subsets),
        "collected": sum(each.collected for each in card.subsets),
    }
    head = _cell("th", escape(text("about.total")), "subset", scope="row")
    cells = {column: f"{sums[column]:,}" if column in sums else "" for column in COLUMNS[1:]}
    return head + "".join(_cell("td", words, column) for column, words in cells.items())


def _citations(card: DataCard) -> str:
    """The benchmark's paper, then where each subset's prompts are from."""
    items = [_link(card.citation, card.paper_url)]
    items += [_link(each.citation, each.url) for each in card.origins]
    return tag("ul", "".join(tag("li", item) for item in items), css="citations")
