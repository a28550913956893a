"""A bias probe as HTML: how far it is, and what each change bought."""

from collections.abc import Sequence
from html import escape
from typing import Literal

from explorer.core.html import (
    note,
    p_words,
    percent,
    progress_html,
    scroll_table,
    signed,
    step_html,
    table_row,
    tag,
)
from explorer.core.text import text
from explorer.tabs.try_it.probe import Probe
from explorer.tabs.try_it.probe_statistics import Bought

ALPHA = 0.05
Stage = Literal["running", "finished", "stopped"]
_HEADS = ("change", "side", "n", "mean", "interval", "deviations", "up", "flips", "corrected")


def probe_status_html(probe: Probe, stage: Stage) -> str:
    """How far a probe is, with a bar."""
    if probe.waits is not None and stage == "running":
        return _waiting(probe)
    words = text(
        f"probe.{stage}",
        done=f"{len(probe.before):,}",
        total=f"{len(probe.pairs):,}",
        scored=f"{probe.n_scored:,}",
    )
    bar = progress_html(probe.share, text("probe.title"))
    return tag("div", tag("div", escape(words)) + bar, f"status {stage}", role="status")


def probe_html(probe: Probe, found: Sequence[Bought]) -> str:
    """What each change bought on each side, and how to read it. found: of the probe."""
    facts = probe.facts
    if facts is None or not found:
        return ""
    rows = "".join(map(_row, found))
    title = text("probe.table")
    heads = [text(f"probe.head_{name}") for name in _HEADS]
    about = text("probe.legend", model=facts.model, n=f"{len(probe.before):,}")
    html = tag("h2", escape(title)) + scroll_table(title, heads, rows) + note(about)
    return tag("div", html + note(text("probe.caution")), "duel")


def _row(each: Bought) -> str:
    name = tag("b", escape(text(f"edit.{each.change}")))
    side = text(f"side.{each.side}")
    if not each.applies:
        return table_row(name, side, text("trial.no_effect"), *[""] * (len(_HEADS) - 3))
    n = f"{each.n:,}" if each.n == each.applies else f"{each.n:,} / {each.applies:,}"
    known = each.low is not None
    ends = text("figure.ends", low=signed(each.low), high=signed(each.high)) if known else "–"
    return table_row(
        name,
        side,
        n,
        signed(each.mean),
        ends,
        signed(each.deviations),
        percent(each.share_up, 0),
        text("probe.flips", share=percent(each.share_flipped, 0), won=each.won, lost=each.lost),
        p_words(each.corrected) if each.n > 1 else "–",
        **_sure(each),
    )


def _sure(each: Bought) -> dict[str, str]:
    """What shades a line whose mean is not 0 by chance."""
    if each.corrected >= ALPHA or not each.mean:
        return {}
    return {"class": "up" if each.mean > 0 else "down"}


def _waiting(probe: Probe) -> str:
    waits = probe.waits
    if waits is not None and waits.step is not None:
        return step_html(waits.step)
    ahead = waits.ahead if waits is not None else 0
    words = text("probe.waiting", n=ahead) if ahead else text("probe.loading")
    return tag("div", escape(words), "status waiting", role="status")
