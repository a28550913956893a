"""A run beside what is published of its model, as HTML."""

from html import escape

from explorer.core.html import (
    chip,
    go_link,
    listing,
    note,
    p_words,
    percent,
    points,
    scroll_table,
    table_row,
    tag,
)
from explorer.core.text import text
from explorer.runs.facts import tie_words
from explorer.stats.duels import Cell
from explorer.tabs.score.published_check import Compared, PublishedCheck, RunCheck, changed_query
from explorer.tabs.score.published_settings import Setting
from scoring.summary import tie_worth

_CSS = {"same": "good", "small": "good", "unexplained": "bad"}
_SIDES: tuple[Cell, ...] = ("only_a", "only_b")


def published_html(found: RunCheck) -> str:
    """Whether the run is what is published of its model; what differs, and what may be why."""
    html = tag("h2", escape(text("check.title")))
    check = found.check
    if check is None:
        html += note(text("check.none", model=found.run.facts.model))
    else:
        html += _verdict(check) + _table(found.own, check) + _changed(check)
        html += _settings(check.settings) + note(_basis(found, check))
    if found.match.similar and check is None:
        html += note(text("check.similar", models=", ".join(found.match.similar)))
    return tag("section", html, "published-check", aria_label=text("check.title"))


def _verdict(check: PublishedCheck) -> str:
    largest = check.largest
    suspects = check.suspects
    wanted = [each for each in suspects if each.differs is True or check.verdict != "settings"]
    words = text(
        f"check.verdict_{check.verdict}",
        settings=", ".join(text(f"check.setting_{each.name}") for each in wanted)
        or text("check.no_settings"),
        section=_named(largest.section) if largest else "",
        difference=points(largest.difference if largest else None),
    )
    mark = chip(text(f"check.chip_{check.verdict}"), _CSS.get(check.verdict, "quiet"))
    return tag("p", mark + " " + escape(words), "verdict")


def _basis(found: RunCheck, check: PublishedCheck) -> str:
    said = text(f"check.by_{check.basis}", model=check.model, n=f"{check.n:,}")
    if found.run.facts.revision:
        said += " " + text("check.revision", revision=found.run.facts.revision[:12])
    if check.basis == "pairs":
        said += " " + text("check.about_interval")
    return f"{said} {tie_words(tie_worth(found.run.facts.family))}"


def _table(own: str, check: PublishedCheck) -> str:
    names = ["section", "pairs", "here", "there", "difference"]
    by_pairs = check.basis == "pairs"
    names += ["interval", "won", "lost", "p"] if by_pairs else []
    heads = [text(f"check.head_{name}") for name in names]
    rows = "".join(
        _row(own, check.model, part) if by_pairs else _short_row(part) for part in check.parts
    )
    return scroll_table(text("check.title"), heads, rows)


def _short_row(part: Compared) -> str:
    return table_row(escape(_named(part.section)), *_numbers(part))


def _row(own: str, model: str, part: Compared) -> str:
    cells = [escape(each) for each in _numbers(part)]
    if part.pairs is not None:
        ends = part.pairs.test.interval
        cells.append(escape(points(None) if ends is None else _ends(*ends)))
        for each, cell in zip((part.pairs.only_a, part.pairs.only_b), _SIDES, strict=True):
            query = changed_query(own, model, cell, part.section)
            cells.append(go_link(f"{each:,}", "pairs", query) if each else "0")
        cells.append(escape(p_words(part.pairs.p_adjusted)))
    written = "".join(tag("td", cell, "number") for cell in cells)
    return tag("tr", tag("th", escape(_named(part.section)), scope="row") + written)


def _numbers(part: Compared) -> tuple[str, ...]:
    here, there = percent(part.here), percent(part.there)
    return f"{part.n:,}", here, there, points(part.difference)


def _ends(low: float, high: float) -> str:
    return text("figure.ends", low=points(low), high=points(high))


def _changed(check: PublishedCheck) -> str:
    """Which pairs changed, and where to see them."""
    if check.basis != "pairs":
        return ""
    changed = {"won": check.won, "lost": check.lost} | ({"tied": check.tied} if check.tied else {})
    n = sum(map(len, changed.values()))
    counts = ", ".join(text(f"check.n_{how}", n=f"{len(keys):,}") for how, keys in changed.items())
    words = text("check.changed", n=f"{n:,}", of=f"{check.n:,}", counts=counts)
    if check.near is not None:
        words += " " + text("check.near", share=percent(check.near, 0))
    link = go_link(escape(text("check.compare")), "models", check.query, "button")
    html = tag("div", note(words) + link, "line")
    for how, keys in changed.items():
        html += listing(text(f"check.{how}_keys", n=f"{len(keys):,}"), keys)
    return html


def _settings(settings: tuple[Setting, ...]) -> str:
    if not any(each.there for each in settings):
        return ""
    heads = [text(f"check.head_{name}") for name in ("setting", "here", "there", "match")]
    rows = "".join(
        table_row(
            escape(text(f"check.setting_{each.name}")),
            each.here or "–",
            each.there or "–",
            text(f"check.{_sameness(each)}"),
        )
        for each in settings
    )
    title = text("check.settings")
    table = scroll_table(title, heads, rows)
    return tag("details", tag("summary", escape(title)) + table)


def _sameness(setting: Setting) -> str:
    if setting.differs is None:
        return "not_known"
    return "differs" if setting.differs else "same"


def _named(section: str) -> str:
    return section or text("check.score")
