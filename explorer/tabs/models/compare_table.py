"""Who wins more, where, and how sure that is, as HTML; every count leads to its pairs."""

from html import escape

from explorer.core.html import (
    chip,
    go_link,
    note,
    p_words,
    percent,
    points,
    scroll_table,
    table_row,
    tag,
)
from explorer.core.text import text
from explorer.stats.duels import Cell, Duel, DuelPart
from explorer.stats.paired import holm
from explorer.tabs.models.compare_head import LETTERS
from explorer.tabs.models.compared import (
    CHANGES,
    cell_query,
    change_of,
    each_headline,
    first_duel,
    is_whole,
    scores,
    standings,
)
from explorer.tabs.models.scene import Compared, subsets_in

_CSS = {"improved": "good", "regressed": "bad"}
_SQUARE: tuple[tuple[Cell, Cell], ...] = (("both", "only_a"), ("only_b", "neither"))
_ALONE: tuple[Cell, ...] = ("only_a", "only_b")


def table_html(now: Compared) -> str:
    """The comparison in numbers."""
    found = first_duel(now)
    if not found.all_pairs.n:
        return note(text("compare.no_pairs"), "wrong")
    html = cards_html(now, found)
    html += several_html(now) if now.state.more else ""
    squares = [_square(now, found.all_pairs)]
    squares += [_square(now, part, part.name) for part in found.sections if part.n]
    html += tag("h2", escape(text("compare.squares"))) + note(text("compare.squares_about"))
    html += tag("div", "".join(squares), "squares") + _subsets(now, found)
    return tag("div", html, "duel")


def cards_html(now: Compared, found: Duel) -> str:
    """The differences with their intervals, the test, and what it means."""
    cards = ""
    if found.score.n:
        more = "" if is_whole(now, 2) else " · " + text("compare.no_score")
        cards += _difference(text("compare.score_difference"), found.score, more)
    else:
        cards += _card(text("compare.score_difference"), points(None), text("compare.no_rule"))
    cards += _difference(text("compare.accuracy"), found.all_pairs)
    return tag("div", cards, "cards") + note(_meaning(found.headline))


def _difference(label: str, part: DuelPart, more: str = "") -> str:
    said = text(
        "compare.of", a=percent(part.a), b=percent(part.b), ends=_ends(part.test.interval),
        p=p_words(part.test.p),
    )  # fmt: skip
    return _card(label, points(part.difference), said + more)


def several_html(now: Compared) -> str:
    """Accuracies of three or four models side by side, and each two of them."""
    names, found = now.state.named, each_headline(now)
    named = [f"{letter}: {name}" for letter, name in zip(LETTERS, names, strict=False)]
    counted = [each for each in standings(now) if each.n]
    heads = [text("compare.head_model")]
    heads += [
        text("compare.head_with_pairs", name=_named(each.section), n=f"{each.n:,}")
        for each in counted
    ]
    whole = is_whole(now, len(names))
    heads.append(text("compare.score" if whole else "compare.score_part"))
    rows = "".join(
        table_row(
            tag("bdi", escape(name)),
            *(percent(each.scores[place]) for each in counted),
            percent(score),
        )
        for place, (name, score) in enumerate(zip(named, scores(now), strict=True))
    )
    title = text("compare.several")
    html = tag("h2", escape(title)) + scroll_table(title, heads, rows)
    adjusted = holm([each.test.p for _, _, each in found]).tolist()
    letter = dict(zip(names, LETTERS, strict=False))
    rows = "".join(
        _pairwise(f"{letter[a]} − {letter[b]}", each, p)
        for (a, b, each), p in zip(found, adjusted, strict=True)
    )
    title = text("compare.pairwise")
    columns = ("models", "pairs", "difference", "interval", "p", "first", "second")
    heads = [text(f"compare.head_{name}") for name in columns]
    html += tag("h2", escape(title)) + note(text("compare.pairwise_about", n=len(found)))
    return html + scroll_table(title, heads, rows)


def _pairwise(name: str, part: DuelPart, p: float) -> str:
    return table_row(
        escape(name), f"{part.n:,}", points(part.difference), _ends(part.test.interval),
        p_words(p), f"{part.only_a:,}", f"{part.only_b:,}",
    )  # fmt: skip


def _meaning(part: DuelPart) -> str:
    """What the test says, and what it does not."""
    numbers = {
        "only_a": f"{part.only_a:,}",
        "only_b": f"{part.only_b:,}",
        "p": p_words(part.test.p),
    }
    if part.better is None:
        words = text("compare.alike", **numbers)
    else:
        words = text("compare.better" if part.better == "a" else "compare.worse", **numbers)
    return words


def _square(now: Compared, part: DuelPart, section: str = "") -> str:
    """A table of two by two."""
    sides = ("wins", "not")
    heads = "".join(tag("th", escape(text(f"compare.b_{side}")), scope="col") for side in sides)
    rows = ""
    for side, cells in zip(sides, _SQUARE, strict=True):
        row = tag("th", escape(text(f"compare.a_{side}")), scope="row")
        for cell in cells:
            query = cell_query(now, cell, section)
            link = go_link(f"{getattr(part, cell):,}", "pairs", query)
            row += tag("td", link, cell)
        rows += tag("tr", row)
    table = tag("table", tag("thead", tag("tr", tag("td") + heads)) + tag("tbody", rows))
    n = tag("small", escape(text("compare.n", n=f"{part.n:,}")))
    title = tag("header", tag("b", escape(_named(section))) + n + _mark(part))
    said = text(
        "compare.square_section" if section else "compare.square",
        a=percent(part.a), b=percent(part.b),
        difference=points(part.difference), ends=_ends(part.test.interval),
        p=p_words(part.p_adjusted),
    )  # fmt: skip
    css = "square chosen" if section == now.state.section else "square"
    return tag("section", title + table + note(said), css, aria_label=_named(section))


def _subsets(now: Compared, found: Duel) -> str:
    named = dict(zip(now.field.matrix.pairs.names, found.subsets, strict=True))
    changes = [change_of(part) for part in named.values() if part.n]
    counts = {each: f"{changes.count(each):,}" for each in CHANGES}
    title, said = text("compare.subsets"), text("compare.subsets_about", n=len(changes), **counts)
    shown = {name: named[name] for name in subsets_in(now.field, now.state.section)}
    rows = "".join(_subset(now, name, part) for name, part in shown.items() if part.n)
    columns = ("subset", "pairs", "a", "b", "a_minus_b", "interval", "only_a", "only_b", "p",
               "change")  # fmt: skip
    heads = [text(f"compare.head_{name}") for name in columns]
    return tag("h2", escape(title)) + note(said) + scroll_table(title, heads, rows)


def _subset(now: Compared, name: str, part: DuelPart) -> str:
    numbers = (
        f"{part.n:,}", percent(part.a), percent(part.b),
        points(part.difference), _ends(part.test.interval),
    )  # fmt: skip
    cells = [escape(each) for each in numbers]
    for cell in _ALONE:
        query = cell_query(now, cell, subset=name)
        cells.append(go_link(f"{getattr(part, cell):,}", "pairs", query))
    cells += [escape(p_words(part.p_adjusted)), _mark(part)]
    written = "".join(tag("td", cell, "number") for cell in cells)
    return tag("tr", tag("th", tag("bdi", escape(name)), scope="row") + written)


def _mark(part: DuelPart) -> str:
    change = change_of(part)
    return chip(text(f"compare.change_{change}"), _CSS.get(change, "quiet"))


def _named(section: str) -> str:
    return section or text("compare.all_pairs")


def _ends(interval: tuple[float, float] | None) -> str:
    if interval is None:
        return points(None)
    return text("figure.ends", low=points(interval[0]), high=points(interval[1]))


def _card(label: str, value: str, detail: str) -> str:
    parts = (("label", label), ("value", value), ("detail", detail))
    inside = "".join(tag("div", escape(words), css) for css, words in parts)
    return tag("div", inside, "card")
