"""The list of stored runs and the run that is open, as HTML."""

import time
from collections.abc import Sequence
from html import escape

from explorer.core.html import chip, go_link, note, percent, tag
from explorer.core.parts import acting, button, ticked
from explorer.core.text import text
from explorer.runs.facts import run_facts
from explorer.runs.live import LiveRun
from explorer.tabs.score.state import RunLine, RunsScene

_COLUMNS = ("name", "pairs", "accuracy", "status", "when")


def runs_html(now: RunsScene, waiting: Sequence[LiveRun], *, kept: bool) -> str:
    """The list. waiting: those that have no pair yet; kept: whether runs outlive this server."""
    about = note(f"{text('runs.about')} {text('ties.official')}")
    about += "" if kept else note(text("runs.not_kept"), "wrong")
    about += "".join(map(_waiting, waiting)) + "".join(map(_damaged, now.damaged))
    if not now.total:
        return about + ("" if waiting or now.damaged else note(text("runs.none")))
    heads = "".join(
        tag("th", escape(text(f"runs.{name}")), "number" if name == "accuracy" else "", scope="col")
        for name in _COLUMNS
    )
    open_id = now.open and now.open.run.id
    rows = "".join(_row(line, line.run.id == open_id) for line in now.lines)
    title = text("score.panel_runs")
    head = tag("caption", escape(title)) + tag("thead", tag("tr", heads))
    table = tag("table", head + tag("tbody", rows))
    board = tag("div", table, "board runs", tabindex="0", role="region", aria_label=title)
    return about + board + _pager(now)


def run_html(line: RunLine | None, *, query: str, compare: str, deleting: bool) -> str:
    """The open run: what it came to, what it rests on, what can be done with it.

    query: the link to its failures, without "?"; "" where none are shown. compare: that of the
        Compare tab.
    """
    if line is None:
        return ""
    run_id = line.run.id
    close = button("✕", "close", css="close", label=text("runs.close"))
    title = tag("h3", escape(line.name))
    is_live = line.own and line.run.status == "running"
    links = [
        button(text("runs.watch" if is_live else "runs.report"), "report", {"id": run_id}),
        *([go_link(escape(text("runs.failures")), "pairs", query, "button")] if query else []),
        *([go_link(escape(text("runs.compare")), "models", compare, "button")] if compare else []),
    ]
    if line.can_go_on:
        left = line.run.facts.n_pairs - line.n_scored
        words = text("runs.go_on", n=f"{left:,}")
        links.append(button(words, "resume", {"id": run_id}, "primary"))
    owned = _owned(line, deleting) if line.own else ""
    wrong = note(line.card.wrong, "wrong") if line.card.wrong else ""
    facts = "".join(
        tag("dt", escape(name)) + tag("dd", escape(value))
        for name, value in run_facts(line.run).items()
    )
    acts = tag("div", "".join(links), "line") + owned
    return tag("div", close + title + wrong + acts + tag("dl", facts, "facts"), "behind run")


def _waiting(live: LiveRun) -> str:
    words = tag("span", escape(text("runs.waiting", model=live.model[:200])))
    return tag("div", words + button(text("runs.watch"), "report", {"id": live.id}), "line")


def _damaged(run_id: str) -> str:
    words = tag("span", escape(text("runs.damaged", id=run_id[:40])), "wrong")
    remove = button(text("runs.remove"), "remove", {"id": run_id}, "danger")
    asked = tag("summary", escape(text("runs.delete"))) + escape(text("runs.sure")) + remove
    return tag("div", words + tag("details", asked), "line")


def _row(line: RunLine, is_open: bool) -> str:
    run, summary = line.run, line.summary
    name = button(line.name, "open", {"id": run.id}, "run-name")
    marks = chip(text("runs.public")) if line.card.public else ""
    marks += "" if line.own else chip(text("runs.others"))
    marks += chip(text("runs.unreadable")) if line.card.wrong else ""
    small = tag("small", escape(run.facts.model)) if line.card.title else ""
    total = summary.total if summary else None
    interval = line.interval
    sure = f"{percent(interval.low)} – {percent(interval.high)}" if interval else ""
    cells = [
        tag("th", name + marks + small, "model", scope="row"),
        tag("td", escape(f"{line.n_scored:,} / {run.facts.n_pairs:,}")
            + tag("small", escape(run.facts.selection[:80]))),
        tag("td", escape(percent(total.accuracy if total else None)) + tag("small", escape(sure)),
            "number"),
        tag("td", escape(text(f"runs.{run.status}"))),
        tag("td", escape(time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.started)))),
    ]  # fmt: skip
    return tag("tr", "".join(cells), "pinned" if is_open else "")


def _owned(line: RunLine, deleting: bool) -> str:
    """What only its owner can do."""
    run_id = line.run.id
    name = tag(
        "input", type="text", value=line.card.title, placeholder=text("runs.title_hint"),
        aria_label=text("runs.title"), maxlength="80", data_field="value",
        **acting("title", {"id": run_id}),
    )  # fmt: skip
    share = ticked(text("runs.share"), "share", line.card.public, sent={"id": run_id})
    if deleting:
        remove = tag("span", escape(text("runs.sure"))) + button(
            text("runs.remove"), "remove", {"id": run_id}, "danger"
        ) + button(text("runs.keep"), "keep")  # fmt: skip
    else:
        remove = button(text("runs.delete"), "delete", {"id": run_id})
    changed = "" if line.card.wrong else name + share
    return tag("div", changed + remove, "line run-owned")


def _pager(now: RunsScene) -> str:
    if now.pages == 1:
        return ""
    page = now.page
    back = button("‹", "page", {"value": page - 1}, label=text("runs.newer")) if page else ""
    on = page + 1 < now.pages
    forth = button("›", "page", {"value": page + 1}, label=text("runs.older")) if on else ""
    where = escape(text("runs.page", page=page + 1, pages=now.pages))
    return tag("div", back + tag("span", where) + forth, "line")
