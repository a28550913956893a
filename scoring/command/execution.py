"""One run of the command line, from its arguments to result files."""

import os
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tqdm import tqdm

from scoring.command.arguments import Arguments
from scoring.command.best_of import write_best_of
from scoring.command.processes import Processes
from scoring.command.reproducing import compare, find_published
from scoring.engine.packing import share_out
from scoring.engine.scorer import Scorer, facts
from scoring.engine.templates import named_template
from scoring.errors import KnownError
from scoring.families import keep_answers, open_scorer, report_answers, troubles_of
from scoring.hub.access import Hub, first_line, parse_hub_id
from scoring.models.finding import ModelPolicy, locate
from scoring.pairs.candidates import candidate_rows
from scoring.pairs.opening import Pairs, RowsReader, as_pairs, fetch_pairs, read_pairs
from scoring.paths import is_file, is_folder, typed_path
from scoring.record import Run, Status, has_run, locked, resume
from scoring.results.exports import ALL_PAIRS, check_upload, result_name, upload, write_results
from scoring.results.reproduction import PublishedCheck
from scoring.run import Job, make_job, score
from scoring.spec import ModelSpec, Pair, RunFacts, ScoredPack
from scoring.summary import Tally, tie_worth

LOG_SECONDS = 30.0
"""Between two lines of a log."""
_DEMO = Path(__file__).resolve().parents[2] / "assets" / "demo"


@dataclass(frozen=True, slots=True)
class Done:
    """A run that ended, and what became of it.

    sent: result files, as `upload` tells of them. check: with --reproduce, else None.
    """

    run: Run
    files: tuple[Path, ...]
    sent: tuple[str, ...]
    check: PublishedCheck | None = None


def execute(arguments: Arguments, processes: Processes) -> Done | None:
    """Score, write down, export, send. None in all processes but the first.

    Raises:
        KnownError: something is wrong with what was asked for; what was scored stays.
        KeyboardInterrupt: the run was stopped; what was scored stays.
    """
    from huggingface_hub import get_token

    if arguments.upload:
        check_upload(arguments.upload, dry_run=arguments.dry_run)
        if arguments.subsets or arguments.per_subset or arguments.limit:
            raise KnownError(
                "Only runs of all pairs are sent: leave --subset, --per-subset and --limit out."
            )
    if arguments.settings.chat_template:  # an unknown name, before anything is fetched for it
        named_template(arguments.settings.chat_template)
    token: str | Literal[False] = get_token() or False
    hub = Hub(offline=arguments.offline)
    published = None
    with ExitStack() as held:
        # Before hours of fetching or scoring for nothing.
        processes.first_says(lambda: _hold(arguments.out, held))
        if arguments.reproduce and processes.first:
            published = find_published(arguments.reproduce, arguments.published, hub, token)
        pairs, source, selection = _selected(arguments, hub, token)
        spec = _located(arguments, hub, token, processes)
        if not sys.stderr.isatty():  # nobody looks at a bar of weights
            from transformers.utils import logging

            logging.disable_progress_bar()
        settings = replace(arguments.settings, device=processes.device(arguments.settings.device))
        scorer = open_scorer(spec, settings)
        job = make_job(pairs, scorer, settings.seed, n_processes=processes.n)
        told = facts(scorer, settings, source, len(pairs), selection)
        run, job, done = _begun(arguments, processes, told, job)
        finished = _scored(run, job, scorer, done, processes)
        if finished is None:
            return None
        selected = replace(finished.facts, selection="") if arguments.best_of else finished.facts
        name = arguments.name or result_name(selected)
        try:
            if arguments.best_of:
                files = write_best_of(finished.folder, name, pairs, finished.rows())
            else:
                files = write_results(finished.folder, name, finished.facts, pairs, finished.rows())
        except OSError as error:
            raise KnownError(
                f"The run is whole, but its result files cannot be written to {finished.folder}: "
                f"{first_line(error)}. Mend that, then export it with --resume."
            ) from error
    sent: list[str] = []
    if arguments.upload:
        sent = upload(finished.folder, files, arguments.upload, dry_run=arguments.dry_run)
    check = None if published is None else compare(finished, published)
    return Done(finished, tuple(files), tuple(sent), check)


def _hold(folder: Path, held: ExitStack) -> None:
    """Lock the folder of a run.

    Raises:
        KnownError: it is used already, or cannot be made or written to.
    """
    held.enter_context(locked(folder))
    if not is_folder(folder) or not os.access(folder, os.W_OK):
        raise KnownError(
            f"{folder} cannot hold a run: it cannot be made or written to. Give another "
            "folder (--out)."
        )


def _selected(
    arguments: Arguments, hub: Hub, token: str | Literal[False]
) -> tuple[list[Pair], str, str]:
    """The pairs that were asked for, their source and how they were chosen, in words."""
    reader = candidate_rows if arguments.best_of else None
    read = _read(arguments.pairs, hub, token, reader)
    names = [str(name) for name in read.table.column("subset").to_pylist()]
    unknown = [subset for subset in arguments.subsets if subset not in names]
    if unknown:
        raise KnownError(
            f"{read.source.name} has no subset {unknown[0]!r}; it has "
            f"{', '.join(dict.fromkeys(names))}."
        )
    for note in read.notes:
        print(note, file=sys.stderr)
    taken: list[int] = []
    counts: dict[str, int] = {}
    for row, subset in enumerate(names):
        counts[subset] = counts.get(subset, 0) + 1
        wanted = not arguments.subsets or subset in arguments.subsets
        if wanted and counts[subset] <= (arguments.per_subset or counts[subset]):
            taken.append(row)
    words = [
        "best of n" if arguments.best_of else "",
        f"subsets {', '.join(arguments.subsets)}" if arguments.subsets else "",
        f"the first {arguments.per_subset} of each subset" if arguments.per_subset else "",
        f"the first {arguments.limit}" if arguments.limit else "",
    ]
    pairs = as_pairs(read.table, taken[: arguments.limit])
    whole = len(pairs) == len(names) and not arguments.best_of
    selection = ALL_PAIRS if whole else "; ".join(filter(None, words))
    return pairs, str(read.source), selection


def _read(typed: str, hub: Hub, token: str | Literal[False], reader: RowsReader | None) -> Pairs:
    path = typed_path(typed)
    if typed == "demo" and not is_file(path):
        return read_pairs(_DEMO / "pairs.jsonl", "demo", reader=reader)
    hub_id = parse_hub_id(typed)
    if is_file(path) or hub_id is None:
        return read_pairs(path, on_disk=reader is None, reader=reader)
    return fetch_pairs(hub_id, hub, token=token, on_disk=reader is None, reader=reader)


def _located(
    arguments: Arguments, hub: Hub, token: str | Literal[False], processes: Processes
) -> ModelSpec:
    """The model, fetched by the first process before the others look for it."""
    trusted = {arguments.model.strip(), arguments.ref_model} if arguments.own_code else ()
    policy = ModelPolicy(_DEMO / "model" if _DEMO.is_dir() else None, own_code=frozenset(trusted))

    def find() -> ModelSpec:
        return locate(
            arguments.model,
            policy,
            hub,
            token=token,
            family=arguments.family,
            reference=arguments.ref_model,
            reading=arguments.reading,
            tokenizer=arguments.tokenizer,
            url=arguments.url,
        )

    spec = processes.first_says(find)
    return spec if processes.first else find()


def _begun(
    arguments: Arguments, processes: Processes, told: RunFacts, job: Job
) -> tuple[Run, Job, set[int]]:
    """The run that all processes go on with, its packs, and those of them that are scored."""

    def begin() -> set[int]:
        keys = [pair.key for pair in job.pairs]
        try:
            if not arguments.resume or not has_run(arguments.out):
                Run.create(arguments.out, told, job.plan, keys)
                return set()
            resumed = resume(Run.open(arguments.out), told, keys)
        except OSError as error:
            raise KnownError(f"{arguments.out} cannot hold a run: {first_line(error)}.") from error
        for note in resumed.notes:
            print(note, file=sys.stderr)
        return resumed.done

    done = processes.first_says(begin)
    try:
        run = Run.open(arguments.out)
    except KnownError as known:
        raise KnownError(
            f"{arguments.out} is not one folder for all processes. On several machines, give a "
            "folder that all of them share."
        ) from known
    return run, replace(job, plan=run.plan()[0]), done


def _scored(run: Run, job: Job, scorer: Scorer, done: set[int], processes: Processes) -> Run | None:
    """Score this process's share; the whole run once all have done theirs."""
    packs = job.plan.packs
    left = [place for place in range(len(packs)) if place not in done]
    share = share_out([packs[place] for place in left], job.costs, processes.n)[processes.rank]
    mine = [left[index] for index in share]
    keep_answers(scorer, run.folder, processes.part())
    stream = run.record(score(job, scorer, packs=mine), processes.part())
    total = sum(len(packs[place]) for place in mine)
    try:
        _follow(stream, total, processes, scorer)
    except (KeyboardInterrupt, KnownError) as error:
        if processes.first:
            _ended(run, "failed" if isinstance(error, KnownError) else "stopped")
        raise
    except OSError as error:
        raise KnownError(
            f"The disk does not take what was scored: {first_line(error)}. Make room, then go on "
            "with --resume."
        ) from error
    finally:
        for sentence in troubles_of(scorer):
            print(sentence, file=sys.stderr)
    processes.wait()
    if not processes.first:
        return None
    if not any(row.margin is not None for row in run.rows()):
        _ended(run, "failed")
        raise KnownError("None of the pairs has a reward: see to the model or its server.")
    return _ended(run, "finished")


def _ended(run: Run, status: Status) -> Run:
    try:
        return run.ended(status)
    except OSError as error:
        raise KnownError(
            f"The disk does not take how the run ended: {first_line(error)}. Make room, then go on "
            "with --resume."
        ) from error


def _follow(stream: Iterable[ScoredPack], total: int, processes: Processes, scorer: Scorer) -> None:
    """Show how far the run is: a bar for who looks at it, a line now and then for a log."""
    tally = Tally(tie=tie_worth(scorer.spec.family))
    scored = 0
    told = began = time.monotonic()
    with tqdm(
        total=total,
        unit="pair",
        disable=None if processes.first else True,
        desc=f"process 1 of {processes.n}" if processes.n > 1 else None,
    ) as bar:

        def log(more: str = "") -> None:
            nonlocal told
            now = time.monotonic()
            if bar.disable and processes.first and now - told > LOG_SECONDS:
                told = now
                print(f"{scored:,} of {total:,} pairs{more}, {now - began:,.0f} s", file=sys.stderr)

        def answered(n: int, of: int) -> None:
            bar.set_postfix_str(f"{n:,} of {of:,} answers of the next pairs")
            log(f", {n:,} of {of:,} answers of the next")

        report_answers(scorer, answered)
        for pack in stream:
            for row in pack.rows:
                tally.add(row)
            scored += len(pack.rows)
            bar.update(len(pack.rows))
            log()
            if tally.accuracy is not None:
                bar.set_postfix(accuracy=f"{tally.accuracy:.1%}")
