"""A run on the disk: it loses nothing that was shown, and goes on as if nothing had been."""

import json
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import scoring.record
from scoring.engine.scorer import Scorer, facts
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.pairs.opening import as_pairs, read_pairs
from scoring.record import Run, Status, new_folder, resume, stored_runs
from scoring.run import make_job, score
from scoring.spec import ModelSpec, Pair, Plan, RunFacts, RunSettings, ScoredPack, ScoredPair
from tests.conftest import DEMO_MODEL, DEMO_PAIRS, PATIENCE, until
from tests.support.forks import Fork
from tests.support.run_facts import MADE_UP
from tests.support.watched_scorers import Around

FACTS = replace(MADE_UP, pairs="demo@123", n_pairs=4, versions={"torch": "2"})
KEYS = ["s:1", "s:🤔\n", "s:\ud800\\\"'", "s:4\u2028\r\n\x85"]
PLAN = Plan(((1, 0), (3, 2)))
PACKS = [
    ScoredPack(
        0,
        (
            ScoredPair(KEYS[1], "s", "1" * 16, None, 2.5, 1, 1),
            ScoredPair(KEYS[0], "s", "0" * 16, 0.1, -1e-300, 5, 6, True, False),
        ),
        13,
    ),
    ScoredPack(
        1,
        (
            ScoredPair(KEYS[3], "s", "3" * 16, 1 / 3, 1 / 3, 7, 7, False, True),
            ScoredPair(KEYS[2], "\udfff", "2" * 16, -0.0, 5e-324, 7, 7),
        ),
        28,
        parts=2,
    ),
]
ROWS = [row for pack in PACKS for row in pack.rows]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return new_run(tmp_path)


def new_run(home: Path) -> Run:
    return Run.create(new_folder(home), FACTS, PLAN, KEYS)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# A run that is new, and one that ended.


def test_a_new_run_is_running_and_can_be_opened(run: Run) -> None:
    assert Run.open(run.folder) == run
    assert (run.status, run.seconds, run.rows()) == ("running", 0.0, [])
    assert (run.n_scored, run.tokens, run.split_packs) == (0, 0, 0)
    assert run.facts == FACTS
    assert run.plan() == (PLAN, KEYS)
    assert run.resumed() == (run, set())


def test_rows_read_back_as_they_were_written(run: Run) -> None:
    assert list(run.record(PACKS)) == PACKS
    again = Run.open(run.folder)
    assert again.rows() == ROWS
    assert [str(row.chosen_reward) for row in again.rows()] == [
        str(row.chosen_reward) for row in ROWS
    ]  # minus zero is no zero here


def test_a_pack_is_on_disk_before_it_is_passed_on(run: Run) -> None:
    stream = run.record(PACKS)
    next(stream)
    assert run.rows() == list(PACKS[0].rows)
    next(stream)
    assert run.rows() == ROWS


@pytest.mark.parametrize("status", ["finished", "stopped", "failed"])
def test_how_a_run_ended_is_written_down(status: Status, run: Run) -> None:
    list(run.record(PACKS))
    ended = run.mark_ended(status)
    assert (ended.status, ended.n_scored, ended.tokens, ended.split_packs) == (status, 4, 41, 1)
    assert Run.open(run.folder) == ended
    assert replace(ended, status="running", seconds=0.0, n_scored=0, tokens=0, split_packs=0) == run


def test_a_path_that_is_left_amid_a_run_is_written_down_at_once(run: Run) -> None:
    told = replace(FACTS, path="compiled")
    run = Run.create(new_folder(run.folder.parent), told, PLAN, KEYS)
    stream = run.record(replace(pack, path=path) for pack, path in zip(PACKS, "ab", strict=True))
    for after in ("compiled; later a", "compiled; later a; later b"):
        next(stream)
        assert Run.open(run.folder).facts.path == after
    assert run.mark_ended("stopped").facts.path == after
    again, _ = Run.open(run.folder).resumed()
    list(again.record([replace(PACKS[1], path="b")]))
    assert again.mark_ended("finished").facts.path == after


def test_a_path_that_several_processes_leave_is_written_down_once(run: Run) -> None:
    run = Run.create(new_folder(run.folder.parent), replace(FACTS, path="a"), PLAN, KEYS)
    streams = [run.record([replace(PACKS[rank], path="b")], f"-{rank}") for rank in (0, 1)]
    assert len([next(stream) for stream in streams]) == 2
    assert run.mark_ended("finished").facts.path == "a; later b"


def test_seconds_are_those_of_the_packs_and_not_of_who_looks_at_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(scoring.record, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def scoring_takes(*seconds: float) -> Iterator[ScoredPack]:
        for pack, spent in zip(PACKS, seconds, strict=True):
            now[0] += spent
            yield pack

    for _ in run.record(scoring_takes(1.5, 2.25)):
        now[0] += 100
    assert run.mark_ended("finished").seconds == 3.75


def test_a_run_whose_files_are_being_removed_has_no_size(run: Run) -> None:
    assert list(run.record(PACKS)) and run.n_bytes() > 0
    (run.folder / "rewards-2-of-2.jsonl").symlink_to("gone")  # listed, and not there any more
    assert run.n_bytes() == 0


def test_no_part_file_stays_behind(run: Run) -> None:
    list(run.record(PACKS))
    run.resumed()
    run.mark_ended("finished")
    assert files_of(run.folder).keys() == {"run.json", "run.lock", "plan.json", "rewards.jsonl"}


def test_a_folder_that_holds_a_run_is_refused_and_left_alone(run: Run) -> None:
    list(run.record(PACKS))
    before = files_of(run.folder)
    with pytest.raises(KnownError, match=r"holds a run already. Go on with it"):
        Run.create(run.folder, FACTS, PLAN, KEYS)
    assert files_of(run.folder) == before


def test_what_a_run_left_without_its_settings_is_neither_used_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for name in ("answers.jsonl", "answers-1-of-2.jsonl", "rewards.jsonl"):
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
        with pytest.raises(KnownError, match=rf"holds {name} of a run whose run\.json is gone"):
            Run.create(tmp_path, FACTS, PLAN, KEYS)
        assert files_of(tmp_path).keys() == {name, "notes.txt"}
        (tmp_path / name).unlink()
    assert Run.open(Run.create(tmp_path, FACTS, PLAN, KEYS).folder).plan() == (PLAN, KEYS)
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


# Going on.


def test_a_pack_torn_at_any_byte_is_dropped_and_scored_again(run: Run) -> None:
    list(run.record(PACKS[:1]))
    file = run.folder / "rewards.jsonl"
    first = file.read_bytes()
    list(run.record(PACKS[1:]))
    both = file.read_bytes()
    for cut in range(len(first), len(both)):
        file.write_bytes(both[:cut])
        assert ROWS[:2] == run.rows()[:2]
        assert len(run.rows()) == both[:cut].count(b"\n")
        again, whole = run.resumed()
        assert (again.status, again.n_scored, whole) == ("running", 2, {0})
        assert file.read_bytes() == first
    list(run.record(PACKS[1:]))
    assert run.rows() == ROWS
    assert run.resumed()[1] == {0, 1}
    for cut in (0, 1, 150, len(first) - 7, len(first) - 1):
        file.write_bytes(first[:cut])
        assert run.resumed() == (run, set())
        assert run.rows() == []


def test_a_run_that_goes_on_counts_what_it_had(run: Run) -> None:
    list(run.record(PACKS[:1]))
    stopped = run.mark_ended("stopped")
    assert (stopped.n_scored, stopped.tokens) == (2, 13)
    again, whole = Run.open(run.folder).resumed()
    assert again == replace(stopped, status="running")
    list(again.record(pack for pack in PACKS if pack.place not in whole))
    ended = again.mark_ended("finished")
    assert (ended.n_scored, ended.tokens, ended.split_packs) == (4, 41, 1)
    assert ended.started == run.started
    assert ended.seconds >= stopped.seconds


def test_packs_of_another_plan_are_dropped(run: Run) -> None:
    list(run.record([*PACKS, replace(PACKS[0], place=2)]))
    again, whole = run.resumed()
    assert (again.n_scored, again.tokens, whole) == (4, 41, {0, 1})
    assert run.rows() == ROWS


def test_what_several_processes_scored_is_one_run(run: Run) -> None:
    list(run.record(PACKS[1:], part="-1"))
    list(run.record(PACKS[:1], part="-0"))
    assert {"rewards-0.jsonl", "rewards-1.jsonl"} < files_of(run.folder).keys()
    assert run.rows() == ROWS
    ended = run.mark_ended("finished")
    assert (ended.n_scored, ended.tokens, ended.split_packs) == (4, 41, 1)
    again, whole = ended.resumed()
    assert whole == {0, 1}
    assert again.rows() == ROWS


LAST_BITS = ("device", "versions", "path")


@pytest.mark.parametrize("name", [field.name for field in fields(RunFacts)])
def test_a_run_goes_on_with_other_memory_and_not_with_other_settings(name: str, run: Run) -> None:
    """How much a pack may hold changes from day to day, and the run has its packs already."""
    other: Any = {int: 7, str: "other", dict: {"torch": "3"}}[type(getattr(FACTS, name))]
    facts = replace(FACTS, **{name: other})
    if name == "budget" or name in LAST_BITS:
        resumed, done, notes = resume(run, facts, KEYS)
        assert resumed.plan() == (PLAN, KEYS) and done == set()
        assert [f"began with {name}" in note for note in notes] == [True] * (name != "budget")
    else:
        with pytest.raises(KnownError, match=f"is another one.* {other!r} is asked for"):
            resume(run, facts, KEYS)
    for keys in (KEYS[::-1], KEYS[:-1], [*KEYS, "s:5"]):
        with pytest.raises(KnownError, match="is of other pairs"):
            resume(run, FACTS, keys)


def test_each_process_may_leave_a_torn_pack(run: Run) -> None:
    for pack, part in zip(PACKS, ("-0", "-1"), strict=True):
        list(run.record([pack], part=part))
    file = run.folder / "rewards-0.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    again, whole = run.resumed()
    assert whole == {1}
    list(again.record(PACKS[:1]))  # alone now
    assert sorted(row.key for row in again.rows()) == sorted(KEYS)
    assert again.resumed()[1] == {0, 1}
    file = run.folder / "rewards-1.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    assert again.resumed()[1] == {0}
    assert again.rows() == list(PACKS[0].rows)


# Real runs that were cut off.


def short_pairs(pairs: Sequence[Pair], n: int) -> list[Pair]:
    return sorted(pairs, key=lambda pair: len(pair.prompt + pair.chosen + pair.rejected))[:n]


def start(folder: Path, pairs: Sequence[Pair], scorer: Scorer) -> Run:
    plan = make_job(pairs, scorer, 0).plan
    return Run.create(folder, FACTS, plan, [pair.key for pair in pairs])


def go_on(folder: Path, pairs: Sequence[Pair], scorer: Scorer) -> Run:
    run, whole = Run.open(folder).resumed()
    job = make_job(pairs, scorer, 0)
    assert run.plan() == (job.plan, [pair.key for pair in pairs])
    list(run.record(score(job, scorer, done=whole)))
    return run.mark_ended("finished")


def rows_in_order(run: Run, pairs: Sequence[Pair]) -> list[str]:
    """Rows to the last bit, in the order of the pairs."""
    places = {pair.key: place for place, pair in enumerate(pairs)}
    rows = sorted(run.rows(), key=lambda row: places[row.key])
    return [json.dumps(asdict(row)) for row in rows]


def score_to_be_killed(folder: Path, keys: list[str]) -> None:
    """Score all but the last pack, and wait."""
    settings = RunSettings(device="cpu", dtype="float32", budget=300)
    scorer = open_scorer(ModelSpec("demo", str(DEMO_MODEL), "test"), settings)
    table = read_pairs(DEMO_PAIRS, "demo").table
    by_key = {pair.key: pair for pair in as_pairs(table, range(table.num_rows))}
    job = make_job([by_key[key] for key in keys], scorer, 0)
    run = Run.create(folder, facts(scorer, settings, "demo", len(keys)), job.plan, keys)
    for n_packs, _ in enumerate(run.record(score(job, scorer)), 1):
        if n_packs == len(job.plan) - 1:
            threading.Event().wait(PATIENCE)


def has_grown(file: Path, n_bytes: int) -> bool:
    return file.exists() and file.stat().st_size > n_bytes


def test_a_killed_run_goes_on_to_the_same_bits(
    tmp_path: Path, demo_pairs: list[Pair], demo_scorer: Scorer
) -> None:
    torch.set_num_threads(1)
    pairs, scorer = short_pairs(demo_pairs, 30), Around(demo_scorer, budget=300)
    start(tmp_path / "whole", pairs, scorer)
    expected = rows_in_order(go_on(tmp_path / "whole", pairs, scorer), pairs)
    size = (tmp_path / "whole" / "rewards.jsonl").stat().st_size

    for moment in (0, size // 2):
        folder = tmp_path / f"killed-{moment}"
        process = Fork(score_to_be_killed, folder, [pair.key for pair in pairs])
        file = folder / "rewards.jsonl"
        until(partial(has_grown, file, moment))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        left = Run.open(folder)
        assert left.status == "running"
        assert 0 < len(left.rows()) < 30, moment
        assert rows_in_order(go_on(folder, pairs, scorer), pairs) == expected, moment
        assert Run.open(folder).n_scored == 30


# Many runs.


def test_runs_have_names_of_their_own_and_no_folder_yet(tmp_path: Path) -> None:
    assert stored_runs(tmp_path / "gone") == []
    folders = {new_folder(tmp_path) for _ in range(20)}
    assert len(folders) == 20 and not any(folder.exists() for folder in folders)
    assert all(folder.parent == tmp_path for folder in folders)
    assert all(len(folder.name) == len("20260101-120000-") + 16 for folder in folders)


def test_runs_are_listed_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(1000.0)
    monkeypatch.setattr("scoring.record.time.time", lambda: next(clock))
    runs = [new_run(tmp_path) for _ in range(8)]
    assert stored_runs(tmp_path) == runs[::-1]


def test_the_later_run_is_newer_though_the_clock_was_set_back(tmp_path: Path) -> None:
    for name, started in (("20261025-025900-a", 1000.0), ("20261025-020100-b", 2000.0)):
        run = new_run(tmp_path)
        values = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
        run_file = run.folder.rename(tmp_path / name) / "run.json"
        run_file.write_text(json.dumps({**values, "started": started}), encoding="utf-8")
    assert [run.started for run in stored_runs(tmp_path)] == [2000.0, 1000.0]


# What is broken.

JUNK = ["", "{", "null", "[]", "{}", '{"facts": {}}', '{"facts": 5, "status": "running"}', "\xff\0"]


def test_what_is_no_run_is_passed_over(run: Run) -> None:
    home = run.folder.parent
    (home / "empty").mkdir()
    (home / "run.json").write_text("{}", encoding="utf-8")
    (home / "file").write_bytes(b"")
    (home / "loop").symlink_to(home)
    (home / "gone").symlink_to(home / "nowhere")
    junk = home / "99999999-junk"
    junk.mkdir()
    for text in JUNK:
        (junk / "run.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(KnownError, match="'99999999-junk' is not a stored run"):
            Run.open(junk)
        assert stored_runs(home) == [run]


def test_run_json_of_another_shape_is_passed_over(run: Run) -> None:
    values = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    for broken in (
        {**values, "status": "sleeping"},
        {**values, "started": "yesterday"},
        {**values, "started": 10**400},
        {**values, "seconds": -1},
        {**values, "seconds": float("nan")},
        {**values, "tokens": float("inf")},
        {**values, "n_scored": "many"},
        {**values, "facts": {**values["facts"], "n_pairs": "three"}},
        {**values, "facts": {**values["facts"], "versions": None}},
        {**values, "facts": {**values["facts"], "unheard": "of"}},
    ):
        (run.folder / "run.json").write_text(json.dumps(broken), encoding="utf-8")
        assert stored_runs(run.folder.parent) == []


def test_run_json_of_another_version_is_read(run: Run) -> None:
    values = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    del values["request"]
    for written in (values, {**values, "unheard": "of"}, {**values, "started": int(run.started)}):
        (run.folder / "run.json").write_text(json.dumps(written), encoding="utf-8")
        assert Run.open(run.folder) == replace(run, started=written["started"])


@pytest.mark.parametrize(
    "name", ["a b", "..hidden", "-rf", "'\"$(x)", "x" * 200, "🤔", "a\nb", "%2e"]
)
def test_a_run_may_lie_in_a_folder_of_any_name(name: str, run: Run) -> None:
    list(run.record(PACKS))
    folder = run.folder.rename(run.folder.parent / name)
    assert Run.open(folder).id == name
    assert [found.id for found in stored_runs(folder.parent)] == [name]
    assert Run.open(folder).resumed()[1] == {0, 1}


BROKEN_PLANS = [
    *(None, "", "{", "[]", "{}", "\xff\0", '{"keys": ["a"]}', '{"packs": [[0]]}'),
    *(
        f'{{"keys": ["a"], "packs": {packs}}}'
        for packs in ("5", '[["one"]]', "[[-1]]", "[[1e999]]")
    ),
    *(f'{{"keys": ["a", "b"], "packs": {each}}}' for each in ("[[0]]", "[[0, 2]]", "[[0, 0]]")),
    '{"keys": ["a", "b"], "packs": [[0], [1], [1]]}',
]


@pytest.mark.parametrize("text", BROKEN_PLANS)
def test_a_broken_plan_is_told_in_a_sentence(text: str | None, run: Run) -> None:
    list(run.record(PACKS))
    before = files_of(run.folder)["rewards.jsonl"]
    (run.folder / "plan.json").unlink()
    if text is not None:
        (run.folder / "plan.json").write_bytes(text.encode("latin-1"))
    for read in (run.plan, run.resumed):
        with pytest.raises(KnownError, match=r"The plan of run .* cannot be read"):
            read()
    assert files_of(run.folder)["rewards.jsonl"] == before
    assert run.rows() == ROWS


BROKEN_LINES = [
    *("{broken", "5", '{"key": "s:1"}', "", "null", '{"pack": 0}', "\udcff"),
    *({"unheard": 1}, {"chosen_reward": "high"}, {"subset": None}),
    *({"pack": "0"}, {"pack": [0]}, {"pack": -1}, {"pack_seconds": "1"}),
]
"""Lines, or what is wrong in one."""


@pytest.mark.parametrize("broken", BROKEN_LINES)
def test_a_broken_line_amid_the_rows_loses_that_line_alone(
    broken: str | dict[str, object], run: Run
) -> None:
    """It is scored again with the pack that it was of."""
    list(run.record(PACKS))
    file = run.folder / "rewards.jsonl"
    first, *others = file.read_text(encoding="utf-8").splitlines()
    line = broken if isinstance(broken, str) else json.dumps({**json.loads(first), **broken})
    text = "".join(f"{each}\n" for each in (line, *others))
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert run.rows() == ROWS[1:]
    assert run.mark_ended("finished").n_scored == len(ROWS) - 1
    assert run.resumed()[1] == {1}
    assert run.rows() == list(PACKS[1].rows)
    list(run.record(PACKS[:1]))
    assert sorted(run.rows(), key=ROWS.index) == ROWS


def test_what_is_missing_is_scored_again_where_it_was_asked_of_a_server(run: Run) -> None:
    """PACKS[0] holds a pair without a chosen reward."""
    list(run.record(PACKS))
    assert run.resumed()[1] == {0, 1}
    judged = replace(run, facts=replace(run.facts, family="judge"))
    assert judged.resumed()[1] == {1}
    assert run.rows() == list(PACKS[1].rows)
