"""A run on the disk: it loses nothing that was shown, and goes on as if nothing had been."""

import json
from dataclasses import fields, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.record import Run, new_folder, resume, stored_runs
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair
from tests.support.run_facts import MADE_UP

FACTS = replace(MADE_UP, pairs="demo@123", n_pairs=4, versions={"torch": "2"})
KEYS = ["s:1", "s:🤔\n", "s:\ud800\\\"'", "s:4\u2028\r\n\x85"]
PLAN = Plan(((1, 0), (3, 2)))
ROWS = [
    ScoredPair(KEYS[1], "s", "1" * 16, None, 2.5, 1, 1),
    ScoredPair(KEYS[0], "s", "0" * 16, 0.1, -1e-300, 5, 6, True, False),
    ScoredPair(KEYS[3], "s", "3" * 16, 1 / 3, 1 / 3, 7, 7, False, True),
    ScoredPair(KEYS[2], "\udfff", "2" * 16, -0.0, 5e-324, 7, 7),
]
PACKS = [ScoredPack(0, tuple(ROWS[:2]), 13), ScoredPack(1, tuple(ROWS[2:]), 28, parts=2)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return new_run(tmp_path)


def new_run(home: Path) -> Run:
    return Run.create(new_folder(home), FACTS, PLAN, KEYS)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# A run that is new, and one that ended.


def test_a_pack_is_on_disk_before_it_is_passed_on_and_reads_back_as_it_was(run: Run) -> None:
    assert Run.open(run.folder) == run
    assert (run.status, run.seconds, run.rows()) == ("running", 0.0, [])
    assert (run.n_scored, run.tokens, run.split_packs) == (0, 0, 0)
    assert (run.facts, run.plan(), run.resumed()) == (FACTS, (PLAN, KEYS), (run, set()))
    stream = run.record(PACKS)
    assert next(stream) == PACKS[0] and run.rows() == ROWS[:2]
    assert list(stream) == PACKS[1:]
    again = Run.open(run.folder)
    assert again.rows() == ROWS
    rewards = [[str(row.chosen_reward) for row in rows] for rows in (again.rows(), ROWS)]
    assert rewards[0] == rewards[1], "minus zero is no zero here"
    assert run.n_bytes() > 0
    ended = run.mark_ended("stopped")
    assert (ended.status, ended.n_scored, ended.tokens, ended.split_packs) == ("stopped", 4, 41, 1)
    assert Run.open(run.folder) == ended
    assert replace(ended, status="running", seconds=0.0, n_scored=0, tokens=0, split_packs=0) == run
    assert files_of(run.folder).keys() == {"run.json", "run.lock", "plan.json", "rewards.jsonl"}
    (run.folder / "rewards-2-of-2.jsonl").symlink_to("gone")  # as where files are being removed
    assert run.n_bytes() == 0


def test_a_folder_that_holds_a_run_or_what_is_left_of_one_is_left_alone(run: Run) -> None:
    list(run.record(PACKS))
    before = files_of(run.folder)
    with pytest.raises(KnownError, match=r"holds a run already. Go on with it"):
        Run.create(run.folder, FACTS, PLAN, KEYS)
    assert files_of(run.folder) == before
    folder = run.folder.parent / "other"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    for name in ("answers.jsonl", "rewards-1-of-2.jsonl"):
        (folder / name).write_text("{}\n", encoding="utf-8")
        with pytest.raises(KnownError, match=rf"holds {name} of a run whose run\.json is gone"):
            Run.create(folder, FACTS, PLAN, KEYS)
        assert files_of(folder).keys() == {name, "notes.txt"}
        (folder / name).unlink()
    assert Run.open(Run.create(folder, FACTS, PLAN, KEYS).folder).plan() == (PLAN, KEYS)
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"


# Going on.


def test_a_pack_torn_at_any_byte_is_dropped_and_scored_again(run: Run) -> None:
    list(run.record(PACKS[:1]))
    file = run.folder / "rewards.jsonl"
    first = file.read_bytes()
    list(run.record(PACKS[1:]))
    both = file.read_bytes()
    for cut in (*range(len(first), len(both), 31), len(both) - 1):
        file.write_bytes(both[:cut])
        assert ROWS[:2] == run.rows()[:2]
        assert len(run.rows()) == both[:cut].count(b"\n")
        again, whole = run.resumed()
        assert (again.status, again.n_scored, whole) == ("running", 2, {0})
        assert file.read_bytes() == first
    list(run.record(PACKS[1:]))
    assert run.rows() == ROWS
    assert run.resumed()[1] == {0, 1}
    for cut in (0, 150, len(first) - 1):
        file.write_bytes(first[:cut])
        assert run.resumed() == (run, set())
        assert run.rows() == []


def test_a_run_that_goes_on_counts_what_it_had_and_no_pack_of_another_plan(run: Run) -> None:
    list(run.record([PACKS[0], replace(PACKS[0], place=2)]))
    again, whole = Run.open(run.folder).resumed()
    assert (again.n_scored, again.tokens, whole) == (2, 13, {0})
    list(again.record(PACKS[1:]))
    ended = again.mark_ended("finished")
    assert (ended.n_scored, ended.tokens, ended.split_packs) == (4, 41, 1)
    assert ended.started == run.started and run.rows() == ROWS


def test_what_several_processes_scored_is_one_run_and_each_may_leave_a_torn_pack(run: Run) -> None:
    list(run.record(PACKS[1:], part="-1"))
    list(run.record(PACKS[:1], part="-0"))
    ended = run.mark_ended("finished")
    assert (ended.n_scored, ended.tokens, ended.split_packs) == (4, 41, 1)
    assert (ended.resumed()[1], run.rows()) == ({0, 1}, ROWS)
    for torn, missing in (("rewards-0.jsonl", 0), ("rewards-1.jsonl", 1)):
        file = run.folder / torn
        file.write_bytes(file.read_bytes()[:-9])
        again, whole = run.resumed()
        assert whole == {1 - missing}
        list(again.record([PACKS[missing]]))  # alone now
        assert sorted(again.rows(), key=ROWS.index) == ROWS


@pytest.mark.parametrize("name", [field.name for field in fields(RunFacts)])
def test_a_run_goes_on_with_other_memory_and_not_with_other_settings(name: str, run: Run) -> None:
    """How much a pack may hold changes from day to day, and the run has its packs already."""
    other: Any = {int: 7, str: "other", dict: {"torch": "3"}}[type(getattr(FACTS, name))]
    facts = replace(FACTS, **{name: other})
    if name in ("budget", "device", "versions", "path"):
        resumed, done, notes = resume(run, facts, KEYS)
        assert resumed.plan() == (PLAN, KEYS) and done == set()
        assert [f"began with {name}" in note for note in notes] == [True] * (name != "budget")
    else:
        with pytest.raises(KnownError, match=f"is another one.* {other!r} is asked for"):
            resume(run, facts, KEYS)
    for keys in (KEYS[::-1], KEYS[:-1], [*KEYS, "s:5"]):
        with pytest.raises(KnownError, match="is of other pairs"):
            resume(run, FACTS, keys)


# Many runs.


def test_runs_are_listed_newest_first_though_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored_runs(tmp_path / "gone") == []
    assert len({new_folder(tmp_path) for _ in range(20)}) == 20
    clock = count(1000.0)
    monkeypatch.setattr("scoring.record.time.time", lambda: next(clock))
    runs = [new_run(tmp_path) for _ in range(8)]
    assert stored_runs(tmp_path) == runs[::-1]
    earlier = runs[7].folder.rename(tmp_path / "00000000-000000-a")
    assert [run.folder for run in stored_runs(tmp_path)][:2] == [earlier, runs[6].folder]


# What is broken.


def test_what_is_no_run_is_passed_over(run: Run) -> None:
    home = run.folder.parent
    (home / "empty").mkdir()
    (home / "run.json").write_text("{}", encoding="utf-8")
    (home / "file").write_bytes(b"")
    (home / "loop").symlink_to(home)
    (home / "gone").symlink_to(home / "nowhere")
    junk = home / "99999999-junk"
    junk.mkdir()
    values = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    others: list[dict[str, Any]] = [
        {"status": "sleeping"},
        {"started": 10**400},
        {"facts": {**values["facts"], "n_pairs": "three"}},
    ]
    texts = ["", "null", "{}", '{"facts": 5, "status": "running"}', "\xff\0"]
    for text in (*texts, *(json.dumps({**values, **other}) for other in others)):
        (junk / "run.json").write_bytes(text.encode("latin-1"))
        with pytest.raises(KnownError, match="'99999999-junk' is not a stored run"):
            Run.open(junk)
        assert stored_runs(home) == [run]
    del values["request"]
    of_another_version = {**values, "unheard": "of", "started": int(run.started)}
    (junk / "run.json").write_text(json.dumps(of_another_version), encoding="utf-8")
    assert Run.open(junk) == replace(run, folder=junk, started=int(run.started))


def test_a_broken_plan_is_told_in_a_sentence(run: Run) -> None:
    list(run.record(PACKS))
    before = files_of(run.folder)["rewards.jsonl"]
    packs = ("5", '[["one"]]', "[[1e999, 0]]", "[[0]]", "[[0, 2]]", "[[0], [1], [1]]")
    texts = (f'{{"keys": ["a", "b"], "packs": {each}}}' for each in packs)
    for text in (None, "", "[]", "{}", "\xff\0", '{"keys": ["a"]}', *texts):
        (run.folder / "plan.json").unlink(missing_ok=True)
        if text is not None:
            (run.folder / "plan.json").write_bytes(text.encode("latin-1"))
        for read in (run.plan, run.resumed):
            with pytest.raises(KnownError, match=r"The plan of run .* cannot be read"):
                read()
    assert files_of(run.folder)["rewards.jsonl"] == before
    assert run.rows() == ROWS


@pytest.mark.parametrize(
    "broken", ["{broken", '{"pack": 0}', "\udcff", {"chosen_reward": "high"}, {"pack": -1}]
)
def test_a_broken_line_amid_the_rows_loses_that_line_alone(
    broken: str | dict[str, object], run: Run
) -> None:
    """It is scored again with the pack that it was of. broken: a line, or what is wrong in one."""
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
