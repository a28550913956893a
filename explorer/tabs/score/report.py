"""The report of a run, as regions: its status, its numbers, its margins, its worst failures."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from explorer.core.html import part, percent, render, step_html, time_words
from explorer.data.offers import set_name
from explorer.data.table import PairTable
from explorer.reader.links import board_query, compare_query, failures_query
from explorer.reader.listing import harm_css
from explorer.reader.state import PairsState, changed, every_pair
from explorer.results.field import Field
from explorer.results.judged import n_unreadable
from explorer.runs.cards import card_of
from explorer.runs.facts import tie_words
from explorer.runs.live import LiveRun
from explorer.runs.outcomes import scored_rows
from explorer.runs.progress import Progress
from explorer.stats.margins import margin_histogram
from scoring.errors import KnownError, counted
from scoring.record import Run
from scoring.spec import ScoredPair
from scoring.summary import Summary, summarise_run
from scoring.sure import SureInterval

WORST_PAIRS = 7
"""Pairs that are lost most clearly, which are listed."""
_MOST_PROMPT = 200
"""Characters of a prompt, of which a line is shown."""

_NONE_YET = "Stopped before the first pair."


@dataclass(frozen=True, slots=True)
class Reported:
    """A run at a moment.

    live: while it goes on here, or where this server saw its end. name: what the run is called
        among models. can_go_on: whether its owner can resume it.
    """

    progress: Progress
    live: LiveRun | None
    name: str
    can_go_on: bool

    @property
    def goes_on(self) -> bool:
        """Whether there is more to come of it here."""
        return self.live is not None and not self.live.ended.is_set()

    @property
    def run_id(self) -> str:
        """Of the stored run, else that of the one under way."""
        if self.progress.run is not None:
            return self.progress.run.id
        return self.live.id if self.live is not None else ""

    @property
    def model(self) -> str:
        """What is scored with, as far as it is known."""
        run, live = self.progress.run, self.live
        return (run.facts.model if run else live.model if live else "")[:200]

    @property
    def has_pairs(self) -> bool:
        """Whether any pair is scored."""
        return bool(self.progress.scored) and self.progress.run is not None


def progress_of(seen: LiveRun | Run) -> Progress:
    """How far a run is; of one that ended with its pairs, as far as they can be read.

    Raises:
        KnownError: a stored run cannot be read.
    """
    if isinstance(seen, LiveRun):
        ended = seen.ended.is_set()  # asked first: what is told last is not missed then
        now = seen.progress
        if now.run is not None and (ended or not now.scored):  # on disk: a resumed run has some
            with suppress(KnownError):
                return replace(now, scored=tuple(scored_rows(now.run)))
        return now
    stage: Any = "left" if seen.status == "running" else seen.status
    rows, sure = tuple(scored_rows(seen)), card_of(seen).sure
    return Progress(stage, seen.facts.n_pairs, seen, rows, seen.seconds, sure=sure)


def rate_words(rate: float | None) -> str:
    """Pairs a second, with two digits of what is fast.

    >>> rate_words(4.84), rate_words(39484.1), rate_words(None)
    (' · 4.8 pairs/s', ' · 39,000 pairs/s', '')
    """
    if not rate:
        return ""
    return f" · {rate:.1f} pairs/s" if rate < 10 else f" · {float(f'{rate:.2g}'):,.0f} pairs/s"


def status_html(
    seen: Reported, is_marked: Callable[[str], bool] = lambda _: False, without: str = ""
) -> str:
    """How far the run is. is_marked: whether the form says so. without: the address without it."""
    progress, live = seen.progress, seen.live
    done, total, wait = len(progress.scored), progress.total, progress.wait_seconds
    left, rate = progress.seconds_left, rate_words(progress.rate)
    of, seconds = f"{done:,} of {counted(total, 'pair', 'pairs')}", time_words(progress.seconds)
    about = "" if wait is None else f", about {time_words(wait)}"
    why = "Change what is marked in the form." if is_marked(progress.message) else progress.message
    words = {
        "waiting": f"{progress.ahead} ahead of you in the queue{about}. Your run starts when its "
        "turn comes, even if you close this page.",
        "loading": "Loading model…",
        "running": f"{of}{rate} · {time_words(left or 0)} left" if done else "Loading model…",
        "finished": f"Finished: {of} in {seconds}{rate}",
        "stopped": f"Stopped: {of} scored in {seconds}. They are kept." if done else _NONE_YET,
        "left": f"This run is in progress and cannot be stopped from here: {of} so far. The list "
        "under All runs shows how it ends.",
        "refused": f"Not scored. {why}",
        "failed": f"Failed after {of}: {progress.message}"
        f"{' The scored pairs are kept.' if done else ''}",
    }[progress.stage]
    if seen.goes_on and live is not None and live.stop.is_set():
        words = "Stopping after the current batch…"
    elif progress.stage == "stopped" and progress.message:
        words = f"{words} {progress.message}"
    step = progress.step
    if step is not None and progress.stage == "loading" and step.total is not None:
        return step_html(step)
    return render(
        "tabs/score/status.html",
        stage=progress.stage,
        words=words,
        share=done / total if total else 0.0,
        sure=sure_words(progress.sure, progress.stage == "stopped") if progress.sure else "",
        without=without,
        resumes=seen.run_id if seen.can_go_on and not seen.goes_on else "",
    )


def sure_words(sure: SureInterval, ended: bool) -> str:
    """What is sure since the last look, what was asked, and when the next look is.

    ended: whether the run was stopped, be it because it is sure.
    """
    number = "Accuracy" if sure.rule.number == "accuracy" else "Mean of sections"
    if sure.estimate is None:
        return (
            f"{number}: first check after {counted(sure.following or 0, 'pair', 'pairs')} in "
            "random order."
        )
    words = (
        f"{number} of this selection: {percent(sure.estimate)}, 95 % interval {percent(sure.low)} "
        f"to {percent(sure.high)} ({100 * sure.width:.1f} points wide, target "
        f"{100 * sure.rule.width:.1f}), from the first {counted(sure.n, 'pair', 'pairs')} in "
        "random order."
    )
    if sure.is_enough:
        enough = "Sure enough. Quote this interval: those below do not account for stopping early."
        return f"{enough} {words}" if ended else words
    return words if sure.following is None else f"{words} Next check after {sure.following:,}."


def numbers_html(seen: Reported, table: PairTable | None = None, crowd: Field | None = None) -> str:
    """What was scored with what, the numbers, each section, the margins, and the worst failures.

    table: of the pairs, None without their texts. crowd: the published models on them, or None.
    """
    run, scored, name = seen.progress.run, seen.progress.scored, seen.name
    if run is None or not scored:
        return part("pending", seen.model, of="tabs/score/run.html") if seen.goes_on else ""
    summary = summarise_run(scored, run.facts)
    chosen = np.array([pair.chosen_reward for pair in scored], np.float64)
    rejected = np.array([pair.rejected_reward for pair in scored], np.float64)
    known = [pair.margin for pair in scored if pair.margin is not None]
    every, of = every_pair(name), summary.benchmark.section_of
    losses = [pair for pair in scored if pair.margin is not None and pair.margin < 0]
    lost = sorted(losses, key=lambda pair: (pair.margin, pair.key))  # the widest margins first
    first = next((pair.key for pair in lost if not harm_css(pair.subset)), "")  # not hidden
    unreadable = 0
    if table is not None and not seen.goes_on:
        with suppress(KnownError):  # what was written is gone; the numbers are not
            unreadable = n_unreadable(run, table, (pair.key for pair in scored))
    return render(
        "tabs/score/numbers.html",
        run=run,
        unreadable=unreadable,
        show_unreadable=replace(every, verdict="unreadable").query_string,
        pairs=set_name(run.facts.pairs, run.facts.benchmark),
        summary=summary,
        counting=counting_words(summary),
        alone=_single_part_losses(scored, name, summary),
        n=len(scored),
        margin=median(known) if known else None,
        failures=failures_query(name, PairsState(key=first)),
        compare=compare_query(name),
        board=board_query(name, summary.benchmark.key),
        names={
            section: [each for each in summary.subsets if of(each) == section]
            for section in (*summary.benchmark.sections, None)
        },
        ties=tie_words(summary.total.tie),
        query=lambda facet, value: changed(every, {facet: (value,)}).query_string,
        histogram=margin_histogram(chosen, rejected),
        worst=[_failure(pair, name, table, crowd) for pair in lost[:WORST_PAIRS]],
    )


def counting_words(summary: Summary) -> str:
    """What the accuracy is the mean of, in words."""
    total, n = summary.total, f"{summary.total.n:,}"
    if parts := summary.benchmark.rule.parts:
        return f"Mean of {n} rows, each of which counts the mean of {', '.join(parts)}"
    won = f"{'Rows' if summary.several else 'Pairs'} won, of {n}"
    if total.counts["tie"] and (total.shared or total.tie):
        won += ", and what ties count" if total.shared else ", and half of the ties"
    return won


def _single_part_losses(
    scored: Sequence[ScoredPair], name: str, summary: Summary
) -> dict[str, tuple[int, str]]:
    """Part of the rule -> how many rows are lost in it alone, and the link to them."""
    lost = [{at for at, each in enumerate(pair.part_credits) if each < 1} for pair in scored]
    return {
        part: (lost.count({at}), changed(every_pair(name), {"kind": f"only{at + 1}"}).query_string)
        for at, part in enumerate(summary.benchmark.rule.parts)
    }


def _failure(
    pair: ScoredPair, name: str, table: PairTable | None, crowd: Field | None
) -> dict[str, object]:
    """A pair that was lost, as the report lists it."""
    row = table.row_of(pair.key) if table is not None else None
    prompt = wins = ""
    if table is not None and row is not None:
        prompt = table.arrow.column("prompt")[row].as_py()[:_MOST_PROMPT]
        if crowd is not None and (known := int(crowd.difficulty().known[row])):
            wins = f"{known - int(crowd.difficulty().failed[row])}/{known} win"
    query = failures_query(name, PairsState(key=pair.key))
    harm = harm_css(pair.subset)
    return {"pair": pair, "prompt": prompt, "wins": wins, "query": query, "harm": harm}
