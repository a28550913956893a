"""What a run came to, as HTML: cards, the table of sections and subsets, and how it was made."""

from collections.abc import Sequence
from html import escape
from statistics import median

from explorer.core.html import note, percent, signed, tag
from explorer.core.text import text
from explorer.runs.facts import tie_words
from explorer.runs.sections import RunIntervals
from scoring.benchmark import SECTIONS, section_of
from scoring.interval import Interval
from scoring.record import Run
from scoring.spec import ScoredPair
from scoring.summary import Summary, Tally


def report_html(
    run: Run, summary: Summary, intervals: RunIntervals, scored: Sequence[ScoredPair]
) -> str:
    """What was scored with what, and the numbers that matter most.

    summary, intervals: of `scored`.
    """
    facts = run.facts
    title = text(
        "score.report",
        model=facts.model,
        done=f"{len(scored):,}",
        total=f"{facts.n_pairs:,}",
        pairs=facts.pairs,
        selection=facts.selection,
    )
    how = text("score.computed", family=facts.family, dtype=facts.dtype, device=facts.device)
    computed = note(f"{how}: {facts.path}" if facts.path else how)
    return (
        tag("h2", escape(title), css="report") + computed + cards_html(summary, intervals, scored)
    )


def cards_html(summary: Summary, intervals: RunIntervals, scored: Sequence[ScoredPair]) -> str:
    """The numbers that matter most, a card each."""
    total, interval = summary.total, intervals.total
    margins = [margin for margin in (pair.margin for pair in scored) if margin is not None]
    accuracy = text("score.accuracy_none")
    if interval:
        low, high = percent(interval.low), percent(interval.high)
        accuracy = text(
            "score.accuracy_detail_one" if total.n == 1 else "score.accuracy_detail",
            n=f"{total.n:,}",
            low=low,
            high=high,
        )
    losses, ties = total.counts["loss"], total.counts["tie"]
    missing, truncated = total.counts["missing"], summary.truncated
    cards = [
        _card(text("score.accuracy"), percent(total.accuracy), accuracy),
        _score_card(summary, intervals.score),
        _card(
            text("score.losses"),
            f"{losses + ties:,}",
            text("score.losses_detail", losses=f"{losses:,}", ties=f"{ties:,}"),
        ),
        _card(
            text("score.margin_card"),
            signed(median(margins) if margins else None),
            text("score.margin_detail"),
        ),
        _card(
            text("score.missing"),
            f"{missing:,}",
            text("score.missing_detail", truncated=f"{truncated:,}"),
        ),
    ]
    return tag("div", "".join(cards), css="cards")


def _score_card(summary: Summary, interval: Interval | None) -> str:
    """The benchmark's score where all of its pairs were scored; else a mean that says it is not."""
    known = sum(score is not None for score in summary.sections.values())
    if known < len(SECTIONS) or interval is None:
        return _card(text("score.mean"), percent(None), text("score.mean_part", n=known))
    low, high = percent(interval.low), percent(interval.high)
    name = text("score.benchmark" if summary.whole else "score.mean")
    detail = text("score.official" if summary.whole else "score.mean_detail", low=low, high=high)
    return _card(name, percent(summary.score), detail)


def _card(label: str, value: str, detail: str) -> str:
    return tag(
        "div",
        tag("div", escape(label), "label")
        + tag("div", escape(value), "value")
        + tag("div", escape(detail), "detail"),
        css="card",
    )


def sections_html(summary: Summary, intervals: RunIntervals) -> str:
    """Accuracy of each section and, below it, of its subsets."""
    headings = [
        text("score.by_section"),
        text("score.accuracy_column"),
        text("score.interval_column"),
        text("score.pairs_column"),
    ]
    head = tag("tr", "".join(tag("th", escape(heading), scope="col") for heading in headings))
    body = ""
    for section in (*SECTIONS, None):
        subsets = [name for name in summary.subsets if section_of(name) == section]
        if subsets:
            body += _section_row(summary, section, intervals.sections[section or ""])
            body += "".join(
                _subset_row(name, summary.subsets[name], intervals.subsets[name])
                for name in subsets
            )
    table = tag("table", tag("thead", head) + tag("tbody", body), css="sections")
    return table + note(text("score.rule", ties=tie_words(summary.total.tie)))


def _section_row(summary: Summary, section: str | None, interval: Interval | None) -> str:
    tally = summary.section_tallies[section or ""]
    score = summary.sections[section] if section else tally.accuracy
    name = section or text("score.other")
    cells = [
        tag("td", escape(percent(score))),
        tag("td", escape(_ends(interval))),
        tag("td", f"{tally.n:,}"),
    ]
    return tag("tr", tag("th", escape(name), scope="row") + "".join(cells), css="section")


def _subset_row(name: str, tally: Tally, interval: Interval | None) -> str:
    share = 100 * (tally.accuracy or 0.0)
    bar = tag("span", tag("i", style=f"width:{share:.1f}%"), css="bar")
    cells = [
        tag("td", escape(percent(tally.accuracy)) + bar),
        tag("td", escape(_ends(interval))),
        tag("td", f"{tally.n:,}"),
    ]
    return tag("tr", tag("th", escape(name), scope="row") + "".join(cells))


def _ends(interval: Interval | None) -> str:
    return f"{percent(interval.low, 0)} – {percent(interval.high, 0)}" if interval else "–"
