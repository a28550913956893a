"""A run's numbers as files that others read, without any text of a pair.

"eval-results" is what a model's repository on the Hub holds in `.eval_results/`
(huggingface.co/docs/hub/eval-results), in percent; "every-eval-ever" is a log of that project's
schema (github.com/evaleval/every_eval_ever), where numbers are from 0 to 1.
"""

import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import scoring
from scoring.errors import KnownError, counted
from scoring.hub.access import parse_hub_id
from scoring.interval import Interval
from scoring.record import Run
from scoring.results.exports import ALL_PAIRS, public_name, public_pinned, write_texts
from scoring.results.files import printable
from scoring.spec import RunFacts
from scoring.summary import Summary, Tally, summarise_run

ExchangeFormat = Literal["eval-results", "every-eval-ever"]
EXCHANGE_FORMATS: tuple[ExchangeFormat, ...] = get_args(ExchangeFormat)
_HARNESS, _SCHEMA = "rewardbench-explorer", "0.3.0"
_PATH = re.compile(r"(?<![\w.-])(?:~|\.{1,2}|[A-Za-z]:)?[\\/]\w")
_SETTINGS = (
    "revision", "family", "reading", "template", "dtype", "device", "max_length",
    "truncation_side", "seed", "pairs", "n_pairs", "path",
)  # fmt: skip
_METRIC = {
    "metric_kind": "accuracy", "metric_unit": "proportion", "lower_is_better": False,
    "score_type": "continuous",
}  # fmt: skip
_SOURCE = {
    "source_name": _HARNESS, "source_type": "evaluation_run", "evaluator_relationship": "other",
    "source_organization_name": "unknown",
}  # fmt: skip


class _Number(NamedTuple):
    """A score and the pairs behind it. metric: its name; "" for a plain accuracy."""

    name: str
    score: float | None
    interval: Interval | None
    tally: Tally
    about: str
    metric: str = ""


def check_exchange(form: ExchangeFormat, pairs: str) -> None:
    """Refuse pairs that a format has no name for, by a KnownError. pairs: as of `RunFacts`."""
    if form == "eval-results" and parse_hub_id(pairs) is None:
        raise KnownError(
            f"Evaluation results are of a dataset on the Hub, and {pairs.partition('@')[0]!r} is "
            "none: export every-eval-ever, which names any pairs."
        )


def write_exchange(run: Run, forms: Iterable[ExchangeFormat], name: str = "") -> list[Path]:
    """Write a run's files beside its others; name, and what it raises: as of `exchange_file`."""
    files = dict(exchange_file(run, form, name) for form in forms)
    return write_texts({run.folder / path: text for path, text in files.items()})


def exchange_file(run: Run, form: ExchangeFormat, name: str = "") -> tuple[Path, str]:
    """Return where the file belongs, below the run's folder or a repository, and its content.

    name: `org/model`; "" for the model's own. Raises a `KnownError` as `check_exchange`, and if no
    pair has a reward or the run cannot be read.
    """
    check_exchange(form, run.facts.pairs)
    summary = summarise_run(run.rows(), run.facts)
    by, part = summary.benchmark, _part(run.facts, summary)
    dataset, pairs = parse_hub_id(run.facts.pairs), run.facts.pairs.partition("@")[0]
    names = {parse_hub_id(hub_id): name for name, hub_id in by.named_datasets.items()}
    own_name = dataset and names.get(replace(dataset, revision=None))
    title = (own_name or by.name) if _is_benchmark(run.facts, summary) else pairs
    title = re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip(".-")[:80] or "pairs"
    numbers: dict[str, _Number] = {}
    for number in _numbers(summary, part):
        words = title if number.name == "score" else f"{title}.{printable(number.name)}"
        while words in numbers:
            words += " (subset)"
        numbers[words] = number
    numbers = {words: each for words, each in numbers.items() if each.score is not None}
    if not numbers:
        raise KnownError("No pair of this run has a reward yet, so there is no number to export.")
    if form == "eval-results":
        return _eval_results(run, numbers, title, part)
    model = name or public_name(run.facts.model)
    return _every_eval_ever(run, model, numbers, title, part, has_ties=summary.ties is not None)


def _part(facts: RunFacts, summary: Summary) -> str:
    """The part of its pairs, or of its benchmark's, that a run scored, in words; "" for all."""
    n, selection = sum(summary.total.counts.values()), printable(facts.selection)
    if n == facts.n_pairs and selection in ("", ALL_PAIRS):
        by = summary.benchmark
        whole = min(by.totals(), default=n) if by.boards and _is_benchmark(facts, summary) else n
        return f"{n:,} of the benchmark's {whole:,} pairs" if n < whole else ""
    words = "chosen pairs" if _PATH.search(selection) else selection or ALL_PAIRS
    return f"{words}; {n:,} of these {counted(facts.n_pairs, 'pair', 'pairs')} scored"


def _is_benchmark(facts: RunFacts, summary: Summary) -> bool:
    return bool(facts.benchmark) or all(map(summary.benchmark.has, summary.subsets))


def _numbers(summary: Summary, part: str) -> Iterator[_Number]:
    """The benchmark's score first, if it has one. part: as of `_part`."""
    by, of, total = summary.benchmark, summary.intervals, summary.total
    formula = by.boards[0].formula if by.boards else by.rule.method
    is_whole = summary.whole or not (by.counts or part)
    if by.overall.startswith("mean"):
        title = "score" if is_whole else "mean of sections"
        yield _Number(title, summary.score, of.score, total, formula, title)
    every = "score" if by.overall == "all rows" and is_whole else ALL_PAIRS
    yield _Number(every, total.accuracy, of.total, total, "All pairs, unweighted.")
    for name, tally in summary.section_tallies.items():
        if name:
            is_plain = not by.weighs_subsets and (summary.ties is None or name != "Ties")
            about, metric = (by.rule.method, "") if is_plain else (formula, name)
            score = summary.sections[name]
            yield _Number(name, score, of.sections[name], tally, about, metric)
    for name, tally in summary.subsets.items():
        if by.section_of(name) is None or by.group_of(name) not in (None, name):
            yield _Number(name, tally.accuracy, of.subsets[name], tally, by.rule.method)
    for section, parts in summary.parts.items():
        tally = summary.section_tallies[section] if section else total
        for each, (mean, interval) in parts.items():
            name = f"{section}, {each}" if section else each
            yield _Number(name, mean, interval, tally, by.rule.method, each)


def _settings(facts: RunFacts) -> dict[str, str]:
    """Settings behind the numbers; models of this machine go without their folders."""
    values = {name: str(getattr(facts, name)) for name in _SETTINGS} | facts.versions
    for name in ("reference", "tokenizer"):
        values[name] = public_pinned(getattr(facts, name))
    return {name: printable(value) for name, value in values.items() if value}


def _eval_results(run: Run, numbers: dict[str, _Number], title: str, part: str) -> tuple[Path, str]:
    """Numbers of a part of the pairs have names of their own, which no leaderboard has."""
    import yaml  # type: ignore[import-untyped]
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    dataset = parse_hub_id(run.facts.pairs)
    assert dataset is not None  # noqa: S101 - as `check_exchange` sees to
    settings = "; ".join(f"{name} {value}" for name, value in _settings(run.facts).items())
    entries = []
    for name, (_, score, interval, tally, *_about) in numbers.items():
        ends = [f"{100 * end:.2f}" for end in interval or ()]
        outcomes = ", ".join(f"{n:,} {outcome}" for outcome, n in tally.counts.items() if n)
        notes = (
            f"PARTIAL: {part}" if part else "",
            f"95 % interval {' to '.join(ends)}" if ends else "",
            f"{counted(tally.n, 'pair', 'pairs')}: {outcomes}",
            f"{_HARNESS} {scoring.__version__}; {settings}",
        )
        entry = EvalResultEntry(
            dataset_id=dataset.repo,
            task_id=f"{name} (partial)" if part else name,
            value=round(100 * (score or 0), 2),
            dataset_revision=dataset.revision,
            date=_iso(run.started),
            notes="; ".join(filter(None, notes)),
        )
        entries.append(entry)
    text: str = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, width=100)
    return Path(".eval_results", f"{title}{'-part' if part else ''}.yaml"), text


def _every_eval_ever(
    run: Run, model: str, numbers: dict[str, _Number], title: str, part: str, *, has_ties: bool
) -> tuple[Path, str]:
    """A log, where the project's collection has it: its name is a UUID, the same at each export."""
    facts = run.facts
    log_id = f"{title}/{model.replace('/', '_')}/{run.started:.3f}"
    is_open = facts.revision and not model.startswith("local/")
    about = {
        "deployment_type": "self_deployed" if facts.revision else "unknown",
        "model_availability": "open_weights" if is_open else "unknown",
        "revision": facts.revision,
    }
    source: dict[str, Any] = {"dataset_name": facts.pairs.partition("@")[0], "source_type": "other"}
    if (dataset := parse_hub_id(facts.pairs)) is not None:
        source |= {"source_type": "hf_dataset", "hf_repo": dataset.repo}
        source |= {"samples_number": facts.n_pairs, "hf_split": dataset.split or "unknown"}
    source["additional_details"] = {"revision": facts.pairs.partition("@")[2]}
    results = []
    for name, (_, score, interval, tally, words, metric) in numbers.items():
        ends = dict(zip(("lower", "upper"), interval or (), strict=False))
        sure = {"confidence_interval": {**ends, "confidence_level": 0.95, "method": "Wilson"}}
        counts = {outcome: str(n) for outcome, n in tally.counts.items()}
        metric_config = {
            "evaluation_description": f"PARTIAL: {part}. {words}" if part else words,
            "metric_id": f"{title}.{metric}" if metric else "accuracy",
            "metric_name": metric or "accuracy",
            "min_score": -0.01 if has_ties and metric else 0.0,  # a margin adds 0.01 to Ties
            "max_score": 1.01 if has_ties and metric else 1.0,
        }
        score_details = {
            "score": score,
            "uncertainty": {**(sure if ends else {}), "num_samples": tally.n},
            "details": counts | {"tie counts": str(tally.tie), "partial": part or "no"},
        }
        result = {"evaluation_result_id": name, "evaluation_name": name, "source_data": source}
        result["metric_config"] = _METRIC | metric_config
        results.append(result | {"score_details": score_details})
    library = {"name": _HARNESS, "version": scoring.__version__}
    log = {
        "schema_version": _SCHEMA,
        "evaluation_id": log_id,
        "evaluation_timestamp": _iso(run.started),
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": _SOURCE,
        "eval_library": {**library, "additional_details": _settings(facts)},
        "model_info": {"name": model, "id": model, "additional_details": about},
        "evaluation_results": results,
    }
    digest = blake2b(f"{log_id}/{part}".encode(), digest_size=16).digest()
    name = f"{uuid.UUID(bytes=digest, version=4)}.json"
    place = Path("every-eval-ever", "data", title, *model.split("/"), name)
    return place, json.dumps(log, indent=1, allow_nan=False)


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
