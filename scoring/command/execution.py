"""One run of the command line, from its arguments to result files."""

import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tqdm import tqdm

from scoring.benchmarks import benchmarks, named_dataset, similar_name
from scoring.command import report
from scoring.command.arguments import Arguments
from scoring.command.processes import Processes
from scoring.engine.formatting import named_template
from scoring.engine.packing import share_out
from scoring.engine.scorer import Scorer, facts
from scoring.errors import KnownError, first_line, shown
from scoring.families import open_scorer
from scoring.families.prompts import prompt_for
from scoring.hub.access import Hub, Token, parse_hub_id
from scoring.hub.search import without_address
from scoring.models.finding import ModelOptions, ModelPolicy, locate
from scoring.pairs.candidates import candidate_rows
from scoring.pairs.layouts import RIGHT
from scoring.pairs.opening import Pairs, as_pairs, fetch_pairs, read_pairs
from scoring.pairs.rows import SUFFIXES
from scoring.paths import is_file, is_folder, typed_path
from scoring.record import Run, check_free, has_run, locked, resume
from scoring.results import reproduction
from scoring.results.exchange import check_exchange, write_exchange
from scoring.results.exports import ALL_PAIRS, check_upload, result_name, upload, write_results
from scoring.spec import ASKED, ModelSpec, Pair, ScoredPack
from scoring.summary import Tally, tie_worth

if TYPE_CHECKING:
    from scoring.run import Job

LOG_SECONDS = 30.0
"""Between two lines of a log."""
_DEMO = Path(__file__).resolve().parents[2] / "assets" / "demo"


def execute(arguments: Arguments, processes: Processes) -> int:
    """Score, export, send and report; return the exit code, or raise a `KnownError`."""
    from huggingface_hub import get_token

    if arguments.upload:
        check_upload(arguments.upload, dry_run=arguments.dry_run)
        if arguments.subsets or arguments.per_subset or arguments.limit:
            raise KnownError(
                "Only runs of all pairs are sent: leave --subset, --per-subset and --limit out."
            )
    if arguments.settings.chat_template:  # an unknown name, before anything is fetched for it
        named_template(arguments.settings.chat_template)
    token: Token = get_token() or False
    hub = Hub(offline=arguments.offline)
    published, to_reproduce = None, (arguments.reproduce, arguments.published)
    with ExitStack() as stack:
        # Before hours of fetching or scoring for nothing.
        processes.first_says(lambda: stack.enter_context(_lock_folder(arguments)))
        if arguments.reproduce and processes.first:
            published = reproduction.find_published(*to_reproduce, hub, token)
        selected = _select(arguments, hub, token)
        spec = _locate(arguments, hub, token, processes)
        by_name = [arguments.benchmark] if arguments.benchmark else []
        request = (spec, arguments.settings, selected.source, selected.description, *by_name)
        digest = hashlib.blake2b(repr(request).encode(), digest_size=8).hexdigest()
        finished = processes.first_says(lambda: _find_finished(arguments, digest, selected))
        run = finished or _score(arguments, spec, selected, digest, processes)
        if not processes.first:
            return 0
        about = replace(run.facts, selection="") if arguments.best_of else run.facts
        name = arguments.name or result_name(about)
        with _disk_errors(run.folder):
            if arguments.best_of:
                files = report.write_best_of(run.folder, name, selected.pairs, run.rows())
            else:
                files = write_results(run.folder, name, run.facts, selected.pairs, run.rows())
            exported = write_exchange(run, arguments.export, arguments.name)
    sent: list[str] = []
    if arguments.upload:
        sent = upload(run.folder, files, arguments.upload, dry_run=arguments.dry_run)
    files += exported
    check = None if published is None else reproduction.compare(run, published, *to_reproduce)
    if arguments.best_of:
        values = report.best_of_json(run, files, selected.right)
        print(json.dumps(values, indent=1) if arguments.json else report.as_best_of(values))
    elif arguments.json:
        values = report.report_json(run, files, sent, dry_run=arguments.dry_run)
        values |= {"reproduction": reproduction.reproduction_json(check)} if check else {}
        print(json.dumps(values, indent=1))
    else:
        print(report.as_table(run, files, sent, dry_run=arguments.dry_run))
        if check is not None:
            print(*reproduction.reproduction_lines(check), sep="\n")
    return 3 if check is not None and check.verdict in {"unknown", "unexplained"} else 0


@contextmanager
def _lock_folder(arguments: Arguments) -> Iterator[None]:
    """Lock the run's folder if it can be written to, and holds no run but one to go on with."""
    folder = arguments.out
    with locked(folder):
        with _disk_errors(folder):
            if not is_folder(folder) or not os.access(folder, os.W_OK):
                raise OSError("it cannot be made or written to")
        if not arguments.resume:
            check_free(folder)
        yield


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KnownError(
            f"{folder} cannot hold a run: {first_line(error)}. Make room there and go on with "
            "--resume, or give another folder (--out)."
        ) from error


class _Selection(NamedTuple):
    """Pairs, their source, and how they were chosen, in words.

    right: of best of n, key -> which responses are right, a digit each, where rows say so.
    """

    pairs: list[Pair]
    source: str
    description: str
    right: dict[str, str]


def _select(arguments: Arguments, hub: Hub, token: Token) -> _Selection:
    read = _read(arguments, hub, token)
    for form in arguments.export:
        check_exchange(form, str(read.source))
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
    counts: Counter[str] = Counter()
    for row, subset in enumerate(names):
        counts[subset] += 1
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
    description = ALL_PAIRS if whole else "; ".join(filter(None, words))
    right = {}
    if RIGHT in read.table.column_names:
        columns = (read.table.column(name).to_pylist() for name in ("key", RIGHT))
        right = {key: digits for key, digits in zip(*columns, strict=True) if digits}
    return _Selection(pairs, str(read.source), description, right)


def _read(arguments: Arguments, hub: Hub, token: Token) -> Pairs:
    path, benchmark = typed_path(arguments.pairs), arguments.benchmark
    if benchmark and benchmark not in benchmarks():
        raise KnownError(
            f"--benchmark {shown(benchmark)} is no benchmark's name. {similar_name(benchmark)}"
            f"These are: {', '.join(benchmarks())}; --benchmarks says more of each."
        )
    named = None if is_file(path) else named_dataset(arguments.pairs)
    hub_id = parse_hub_id(named or arguments.pairs)
    reader = candidate_rows if arguments.best_of else None
    if arguments.pairs == "demo" and not is_file(path):
        return read_pairs(_DEMO / "pairs.jsonl", "demo", reader=reader, benchmark=benchmark)
    if hub_id is None and not path.suffix and not is_folder(path):
        raise KnownError(
            f"--pairs {shown(arguments.pairs)} is neither a file ({', '.join(SUFFIXES)}) nor a Hub "
            f"dataset (org/name) nor a benchmark. {similar_name(arguments.pairs)}--benchmarks "
            "lists those that are known by name."
        )
    if is_file(path) or hub_id is None:
        return read_pairs(path, on_disk=reader is None, reader=reader, benchmark=benchmark)
    return fetch_pairs(
        *(hub_id, hub), token=token, on_disk=reader is None, reader=reader, benchmark=benchmark
    )


def _locate(arguments: Arguments, hub: Hub, token: Token, processes: Processes) -> ModelSpec:
    """The model, fetched by the first process before the others look for it."""
    options: ModelOptions = {**arguments.model_options, "token": token}
    typed = (arguments.model, options.get("reference", "")) if arguments.own_code else ()
    trusted = frozenset(without_address(each.strip()) for each in typed)
    policy = ModelPolicy(_DEMO / "model" if _DEMO.is_dir() else None, own_code=trusted)
    find = partial(locate, arguments.model, policy, hub, **options)
    spec = processes.first_says(find)
    return spec if processes.first else find()


def _find_finished(arguments: Arguments, digest: str, selected: _Selection) -> Run | None:
    """The requested run if nothing of it is left to score: no model is needed."""
    if not arguments.resume or not has_run(arguments.out):
        return None
    run = Run.open(arguments.out)
    if (run.status, run.request) != ("finished", digest):
        return None
    keys, rows = [pair.key for pair in selected.pairs], run.rows()
    is_whole = sorted(row.key for row in rows) == sorted(keys) and run.plan()[1] == keys
    to_ask_again = run.facts.family in ASKED and any(row.margin is None for row in rows)
    return run if is_whole and not to_ask_again else None


def _score(
    arguments: Arguments, spec: ModelSpec, selected: _Selection, digest: str, processes: Processes
) -> Run:
    """Begin a run or go on with one; in the first process it is whole then."""
    from scoring.run import make_job

    if not sys.stderr.isatty():  # nobody looks at a bar of weights
        from transformers.utils import logging

        logging.disable_progress_bar()
    settings = replace(arguments.settings, device=processes.device(arguments.settings.device))
    pairs, source, description, _ = selected
    if not arguments.best_of:
        prompt = prompt_for(settings.judge_prompt, spec.family, spec.name, pairs)
        settings = replace(settings, judge_prompt=prompt)
    scorer = open_scorer(spec, settings)
    job = make_job(pairs, scorer, settings.seed, n_processes=processes.n)
    keys = [pair.key for pair in pairs]
    now = facts(scorer, settings, source, len(pairs), description, pairs[0].benchmark)

    def begin() -> set[int]:
        with _disk_errors(arguments.out):
            if not arguments.resume or not has_run(arguments.out):
                Run.create(arguments.out, now, job.plan, keys, request=digest)
                return set()
            _, done, notes = resume(Run.open(arguments.out), now, keys)
        for note in notes:
            print(note, file=sys.stderr)
        return done

    done = processes.first_says(begin)
    try:
        run = Run.open(arguments.out)
    except KnownError as known:
        raise KnownError(
            f"{arguments.out} is not one folder for all processes. On several machines, give a "
            "folder that all of them share."
        ) from known
    with _disk_errors(arguments.out):
        _score_share(run, replace(job, plan=run.plan()[0]), scorer, done, processes)
        processes.wait()
        if not processes.first:
            return run
        if not any(row.margin is not None for row in run.rows()):
            run.mark_ended("failed")
            raise KnownError("None of the pairs has a reward: check the model or its server.")
        return run.mark_ended("finished")


def _score_share(
    run: Run, job: "Job", scorer: Scorer, done: set[int], processes: Processes
) -> None:
    """Score this process's share of the packs that are left, onto the disk."""
    from scoring.run import score

    left = [place for place in range(len(job.plan)) if place not in done]
    share = share_out([job.plan[place] for place in left], job.costs, processes.n)[processes.rank]
    mine = [left[index] for index in share]
    scorer.keep_answers(run.folder, processes.part())
    stream = run.record(score(job, scorer, packs=mine), processes.part())
    try:
        total = sum(len(job.plan[place]) for place in mine)
        _follow(stream, total, processes, scorer, run.facts.benchmark)
    except (KeyboardInterrupt, KnownError) as error:
        if processes.first:
            run.mark_ended("failed" if isinstance(error, KnownError) else "stopped")
        raise
    finally:
        for sentence in scorer.error_counts():
            print(sentence, file=sys.stderr)


def _follow(
    stream: Iterable[ScoredPack], total: int, processes: Processes, scorer: Scorer, benchmark: str
) -> None:
    """Show how far the run is: a bar on a screen, a line now and then in a log."""
    tally = Tally(tie=tie_worth(scorer.spec.family, benchmark))
    scored = 0
    began = logged = time.monotonic()
    disable = None if processes.first else True
    desc = f"process 1 of {processes.n}" if processes.n > 1 else None
    with tqdm(total=total, unit="pair", disable=disable, desc=desc) as bar:

        def log(more: str = "") -> None:
            nonlocal logged
            now = time.monotonic()
            if bar.disable and processes.first and now - logged > LOG_SECONDS:
                logged = now
                print(f"{scored:,} of {total:,} pairs{more}, {now - began:,.0f} s", file=sys.stderr)

        def show_answers(n: int, of: int) -> None:
            bar.set_postfix_str(f"{n:,} of {of:,} answers of the next pairs")
            log(f", {n:,} of {of:,} answers of the next")

        scorer.on_answers = show_answers
        for pack in stream:
            for row in pack.rows:
                tally.add(row)
            scored += len(pack.rows)
            bar.update(len(pack.rows))
            log()
            if tally.accuracy is not None:
                bar.set_postfix(accuracy=f"{tally.accuracy:.1%}")
