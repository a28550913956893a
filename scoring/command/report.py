"""A finished run in words: a table for people, an object for programs.

Of best of n, `best-of-n/<subset>/<org>/<model>.json` is what upstream's run_bon.py writes, an
object a response one after the other; `best-of-n.jsonl` has a line a prompt: its rewards, ranks,
and the best, the first of equal ones.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from scoring.benchmarks import Benchmark
from scoring.errors import counted
from scoring.interval import Interval
from scoring.record import Run
from scoring.results.exports import write_texts
from scoring.results.files import printable
from scoring.rules import is_ties
from scoring.spec import Pair, ScoredPair
from scoring.summary import Summary, summarise_run
from scoring.ties import TiesScore


def as_table(run: Run, files: Sequence[Path], sent: Sequence[str], *, dry_run: bool) -> str:
    """Write sections, subsets, what the numbers rest on, and where the files are."""
    summary = summarise_run(run.rows(), run.facts)
    benchmark, unit = summary.benchmark, "rows" if summary.several else "pairs"
    intervals = summary.intervals
    lines = [f"{'':34} {unit:>6} {'accuracy':>8}  95 % interval"]
    for section in summary.sections:
        tally = summary.section_tallies.get(section)
        if tally is not None:
            interval = intervals.sections[section]
            lines.append(_row(section, tally.n, summary.sections[section], interval))
            lines += _part_rows(summary, section)
            lines += [
                _row(f"  {subset}", each.n, each.accuracy, intervals.subsets[subset])
                for subset, each in summary.subsets.items()
                if benchmark.group_of(subset) == section != subset
            ]
    lines += [
        _row(subset, tally.n, tally.accuracy, intervals.subsets[subset])
        for subset, tally in summary.subsets.items()
        if benchmark.section_of(subset) is None
    ]
    total = summary.total
    is_score = summary.whole and benchmark.overall == "all rows"
    name = f"{benchmark.title} score" if is_score else f"all {unit}, unweighted"
    lines.append(_row(name, total.n, total.accuracy, intervals.total))
    if summary.score is not None and benchmark.overall.startswith("mean"):
        lines.append(_row(_mean_name(summary), None, summary.score, intervals.score))
        lines += _part_rows(summary, "")
    lines += ["", *_remarks(run, summary), *(f"wrote {path}" for path in files)]
    return "\n".join([*lines, *(f"{'would send' if dry_run else 'sent'} {line}" for line in sent)])


def _mean_name(summary: Summary) -> str:
    if summary.whole:
        return f"{summary.benchmark.title} score"
    if summary.benchmark.overall == "mean of all sections":
        return "mean of all sections"
    return f"mean of the {'sections' if summary.benchmark.groups else 'subsets'} present"


def _part_rows(summary: Summary, section: str) -> list[str]:
    return [
        _row(f"  {name}", None, part.mean, part.interval)
        for name, part in summary.parts.get(section, {}).items()
    ]


def report_json(
    run: Run, files: Sequence[Path], sent: Sequence[str], *, dry_run: bool = False
) -> dict[str, Any]:
    """Return the same as plain values; shares are 0 to 1, None if nothing counts."""
    summary = summarise_run(run.rows(), run.facts)
    intervals = summary.intervals
    parts: dict[str, Any] = {
        section: {name: part._asdict() for name, part in of_section.items()}
        for section, of_section in summary.parts.items()
    }
    score_parts = parts.pop("", None)
    each = [{"accuracy": one.total.accuracy, "score": one.score} for one in summary.repeats]
    spreads = {name: spread._asdict() for name, spread in summary.spreads.items()}
    subsets = {
        subset: {"accuracy": tally.accuracy, "interval": intervals.subsets[subset], **tally.counts}
        for subset, tally in summary.subsets.items()
    }
    if summary.ties is not None:  # a composite, no share of the rows that are counted beside it
        for name in filter(is_ties, subsets):
            subsets[name] |= {"accuracy": summary.ties.score, "interval": None}
    return {
        "score": summary.score,
        "interval": intervals.score,
        "tie_counts": summary.total.tie,
        "whole_benchmark": summary.whole,
        "sections": summary.sections,
        "subsets": subsets,
        **({"benchmark": summary.benchmark.name} if run.facts.benchmark else {}),
        **({"score_parts": score_parts, "section_parts": parts} if summary.parts else {}),
        **({"ties": asdict(summary.ties)} if summary.ties else {}),
        **({"repeats": {"each": each} | spreads} if each else {}),
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
    spread = "" if interval is None else f"{interval.low:6.1%} to {interval.high:.1%}"
    accuracy = "none" if share is None else f"{share:.1%}"
    pairs = "" if n is None else f"{n:,}"
    return f"{name:34} {pairs:>6} {accuracy:>8}  {spread}"


def _remarks(run: Run, summary: Summary) -> list[str]:
    facts, counts = run.facts, summary.total.counts
    model = " ".join(filter(None, (facts.model, facts.revision[:12])))
    model += f" ({facts.family}: {facts.reading})"
    if facts.reference:
        model += f" {'against' if facts.family == 'dpo' else 'on'} {facts.reference}"
    model += f" with the tokenizer of {facts.tokenizer}" if facts.tokenizer else ""
    remarks = [
        f"{model} on {facts.pairs}, {facts.selection}",
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
        remarks.append(_of_score(summary.benchmark))
    elif summary.benchmark.overall == "mean of all sections":
        known, sections = summary.sections, summary.benchmark.sections
        absent = ", ".join(name for name in sections if known.get(name) is None)
        remarks.append(
            f"no score: {summary.benchmark.title}'s is the mean of all its sections, and no row of "
            f"{absent} has a reward here"
        )
    elif run.facts.benchmark and summary.benchmark.overall == "none":
        remarks.append(f"{summary.benchmark.title}: the benchmark has no score over all its rows")
    if summary.several and summary.benchmark.rule_name == "rewardbench_2":
        remarks.append(
            "a row is won where a right response has the highest reward of all; where several "
            "share it, the right ones' part of them counts"
        )
    elif run.facts.benchmark:
        remarks.append(summary.benchmark.rule.method)
    if summary.ties is not None:
        remarks += _of_ties(summary.ties)
    pairs_tied = counts["tie"] - summary.several_tied
    if pairs_tied:
        worth = "half a win each, the rule for judges" if summary.total.tie else "as not won"
        remarks.append(
            f"{counted(pairs_tied, 'tie counts', 'ties count')} {worth}, here and in the result "
            "files"
        )
    if counts["missing"]:
        rows = ("row lacks a reward", "rows lack a reward")
        pairs = ("pair has no reward", "pairs have no reward")
        lacking = counted(counts["missing"], *(rows if summary.several else pairs))
        remarks.append(f"{lacking}: not counted above, and not won in the result files")
    remarks += [
        f"{name} of each of {len(summary.repeats)} repeats: {low:.1%} to {high:.1%}, standard "
        f"deviation {100 * deviation:.1f} points, which the intervals above do not count"
        for name, (low, high, deviation) in summary.spreads.items()
    ]
    if summary.truncated:
        remarks.append(
            f"{counted(summary.truncated, 'pair was', 'pairs were')} cut to "
            f"{facts.max_length:,} tokens"
        )
    if run.split_packs:
        remarks.append(
            f"{counted(run.split_packs, 'pack was', 'packs were')} computed in parts for lack of "
            "memory"
        )
    return remarks


def _of_score(benchmark: Benchmark) -> str:
    if benchmark.weighs_subsets:
        return (
            "sections weigh their subsets as the benchmark does; intervals take pairs of one "
            "prompt together"
        )
    if benchmark.rule_name == "rewardbench_2":
        return (
            "the score is the mean of the subsets; intervals take each row alone, and Ties, a "
            "composite, has none of its own"
        )
    overall = benchmark.overall.replace("all rows", "mean of all rows")
    return f"the score is the {overall}; intervals take each row alone"


def _of_ties(ties: TiesScore) -> Iterator[str]:
    yield (
        "Ties is 0.30 accuracy with many right answers + 0.30 with one + 0.20 share of prompts "
        "whose gap beats the spread of right answers + 0.20 the same by the smaller gap of both "
        f"forms + 0.01 margin; {counted(ties.n_both, 'prompt has', 'prompts have')} both forms"
    )
    n_single = ties.n_tied + ties.n_ref - 2 * ties.n_both
    if n_single > 0:
        yield (
            counted(n_single, "row of Ties has", "rows of Ties have") + " no counterpart (ref:N of "
            "tied:N, or the other way), or one right answer where several are to be: counted in "
            "the two accuracies alone"
        )
    if ties.missing:
        yield (
            f"{counted(ties.missing, 'row of Ties has', 'rows of Ties have')} no reward, or no id "
            "of the form ref:N or tied:N that is unique: not counted in its score"
        )
    if ties.score is None:
        yield "Ties has no score: no prompt has both its rows, ref:N and tied:N"


class _Ranking(NamedTuple):
    """A prompt's responses in the file's order; numbers are from 1, None without a reward."""

    key: str
    rewards: tuple[float | None, ...]
    best: int | None
    ranks: tuple[int | None, ...]


def _rank(scored: ScoredPair) -> _Ranking:
    rewards = scored.all_rewards[1:]  # `pairs.candidates` puts the first response before all
    known = [reward for reward in rewards if reward is not None]
    ranks = tuple(
        None if reward is None else 1 + sum(other > reward for other in known) for reward in rewards
    )
    best = 1 + rewards.index(max(known)) if known else None
    return _Ranking(scored.key, rewards, best, ranks)


def write_best_of(
    folder: Path, name: str, rows: Sequence[Pair], scored: Sequence[ScoredPair]
) -> list[Path]:
    """Write the files. name: `org/model`. rows: of the run, in order. scored: in any order."""
    of_key = {each.key: each for each in scored}
    rankings = [_rank(of_key[row.key]) for row in rows]
    texts = {folder / "best-of-n.jsonl": [json.dumps(each._asdict()) for each in rankings]}
    for row, ranking in zip(rows, rankings, strict=True):
        plain = re.sub(r"[^\w .-]", "-", printable(row.subset)).strip(" .")
        path = folder / "best-of-n" / (plain[:100] or "rows") / f"{name}.json"
        for at, reward in enumerate(ranking.rewards):
            scored_at = {"prompt": row.prompt, "id": [of_key[row.key].id, at], "scores": reward}
            text = json.dumps(scored_at, indent=4, sort_keys=True)
            texts.setdefault(path, []).append(text)
    return write_texts({path: "".join(f"{each}\n" for each in texts[path]) for path in texts})


def best_of_json(run: Run, files: Sequence[Path], right: Mapping[str, str]) -> dict[str, Any]:
    """Return the results as plain values; means are None if no reward is known.

    right: key -> which responses are right, a digit each, of the rows that say so.
    """
    rankings = [_rank(row) for row in run.rows()]
    known = [[reward for reward in each.rewards if reward is not None] for each in rankings]
    rewards = [*chain.from_iterable(known)]
    n_responses = sum(len(each.rewards) for each in rankings)
    return {
        "rows": len(rankings),
        "responses": n_responses,
        "missing": n_responses - len(rewards),
        "mean": fmean(rewards) if rewards else None,
        "mean_best": fmean(map(max, filter(None, known))) if rewards else None,
        "shared": sum(each.ranks.count(1) > 1 for each in rankings),
        **({"best_of_k": _best_of_k(rankings, right)} if right else {}),
        "run": str(run.folder),
        "files": [str(path) for path in files],
    }


def _best_of_k(rankings: Sequence[_Ranking], right: Mapping[str, str]) -> list[dict[str, Any]]:
    """How often the best of the first k responses of a row is right, for k of 1, 2, 4, ...

    ceiling: how often any of them is. Of equal rewards the first counts; a row without a reward
    among them is not counted.
    """
    curve = []
    of_rows = [(each.rewards, right[each.key]) for each in rankings if right.get(each.key)]
    most = max((len(rewards) for rewards, _ in of_rows), default=0)
    for k in (2**power for power in range(most.bit_length())):
        first = [(rewards[:k], digits[:k]) for rewards, digits in of_rows]
        counted_rows = [
            (digits[rewards.index(max(known))] == "1", "1" in digits)
            for rewards, digits in first
            if (known := [reward for reward in rewards if reward is not None])
        ]
        if counted_rows:
            score, ceiling = map(fmean, zip(*counted_rows, strict=True))
            curve.append({"k": k, "rows": len(counted_rows), "score": score, "ceiling": ceiling})
    return curve


def as_best_of(values: Mapping[str, Any]) -> str:
    """Write the values of `best_of_json` in words."""
    lines = [
        f"{counted(values['rows'], 'prompt', 'prompts')}, "
        f"{counted(values['responses'], 'response', 'responses')}, "
        f"{values['missing']:,} of them without a reward"
    ]
    if values["mean_best"] is not None:
        lines.append(
            f"mean reward of the best {values['mean_best']:.4f}, of all {values['mean']:.4f}; in "
            f"{counted(values['shared'], 'prompt', 'prompts')} several share the highest, and the "
            "first is taken"
        )
    if curve := values.get("best_of_k"):
        lines += ["", f"{'best of the first':>17} {'rows':>7} {'right':>8} {'ceiling':>8}"]
        lines += [
            f"{each['k']:>17,} {each['rows']:>7,} {each['score']:>8.1%} {each['ceiling']:>8.1%}"
            for each in curve
        ]
    return "\n".join([*lines, "", *(f"wrote {path}" for path in values["files"])])
