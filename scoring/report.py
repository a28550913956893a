"""A finished run in words: a table for people, an object for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scoring.benchmark import SECTIONS, section_of
from scoring.interval import Interval
from scoring.record import Run
from scoring.summary import Summary, summarise


def as_table(run: Run, files: Sequence[Path], sent: Sequence[str], *, dry_run: bool) -> str:
    """Sections, subsets, what the numbers rest on, and where the files are."""
    summary = summarise(run.rows(), run.facts.family)
    lines = [f"{'':34} {'pairs':>6} {'accuracy':>8}  95 % interval"]
    for section in SECTIONS:
        tally = summary.section_tallies.get(section)
        if tally is not None:
            interval = summary.section_interval(section)
            lines.append(_row(section, tally.n, summary.sections[section], interval))
            lines += [
                _row(f"  {subset}", each.n, each.accuracy, each.interval)
                for subset, each in summary.subsets.items()
                if section_of(subset) == section
            ]
    lines += [
        _row(subset, tally.n, tally.accuracy, tally.interval)
        for subset, tally in summary.subsets.items()
        if section_of(subset) is None
    ]
    total = summary.total
    lines.append(_row("all pairs, unweighted", total.n, total.accuracy, total.interval))
    if summary.score is not None:
        name = "RewardBench score" if summary.whole else "mean of the sections present"
        lines.append(_row(name, None, summary.score, summary.interval))
    lines += ["", *_remarks(run, summary), *(f"wrote {path}" for path in files)]
    return "\n".join([*lines, *(f"{'would send' if dry_run else 'sent'} {line}" for line in sent)])


def report_json(
    run: Run, files: Sequence[Path], sent: Sequence[str], *, dry_run: bool = False
) -> dict[str, Any]:
    """The same as plain values; shares are 0 to 1, None where nothing counts."""
    summary = summarise(run.rows(), run.facts.family)
    return {
        "score": summary.score,
        "interval": summary.interval,
        "tie_counts": summary.total.tie,
        "whole_benchmark": summary.whole,
        "sections": summary.sections,
        "subsets": {
            subset: {"accuracy": tally.accuracy, "interval": tally.interval, **tally.counts}
            for subset, tally in summary.subsets.items()
        },
        "total": {"accuracy": summary.total.accuracy, **summary.total.counts},
        "truncated": summary.truncated,
        "seconds": run.seconds,
        "tokens": run.tokens,
        "split_packs": run.split_packs,
        "facts": asdict(run.facts),
        "run": str(run.folder),
        "files": [str(path) for path in files],
        "would_send" if dry_run else "sent": list(sent),
    }


def _row(name: str, n: int | None, share: float | None, interval: Interval | None) -> str:
    """A line of the table. n: pairs; None where they are told above it."""
    spread = "" if interval is None else f"{interval.low:6.1%} to {interval.high:.1%}"
    accuracy = "none" if share is None else f"{share:.1%}"
    pairs = "" if n is None else f"{n:,}"
    return f"{name:34} {pairs:>6} {accuracy:>8}  {spread}"


def _remarks(run: Run, summary: Summary) -> list[str]:
    facts, counts = run.facts, summary.total.counts
    model = " ".join(filter(None, (facts.model, facts.revision[:12])))
    beside = f" against {facts.reference}" if facts.reference else ""
    remarks = [
        f"{model} ({facts.family}: {facts.reading}){beside} on {facts.pairs}, {facts.selection}",
        facts.path,
        f"{run.seconds:,.1f} s",
    ]
    if facts.max_length:
        remarks[1] += (
            f"; {facts.device}, {facts.dtype}, at most {facts.max_length:,} tokens, template "
            f"{facts.template}"
        )
        remarks[2] += f", {run.tokens:,} tokens computed"
    if summary.score is not None:
        remarks.append(
            "sections weigh their subsets as the benchmark does; intervals take each pair alone, "
            "the app's take pairs of one prompt together"
        )
    if counts["tie"]:
        worth = "half a win each, the rule for judges" if summary.total.tie else "as not won"
        remarks.append(f"{counts['tie']:,} ties count {worth}, here and in the result files")
    if counts["missing"]:
        remarks.append(
            f"{counts['missing']:,} pairs have no reward: they do not count above; in the result "
            "files they are not won"
        )
    if summary.truncated:
        remarks.append(f"{summary.truncated:,} pairs were cut to {facts.max_length:,} tokens")
    if run.split_packs:
        remarks.append(f"{run.split_packs:,} packs were computed in parts for lack of memory")
    return remarks
