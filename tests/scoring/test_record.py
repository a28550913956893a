import json
from dataclasses import replace
from pathlib import Path

import pytest

from scoring.errors import KnownError
from scoring.record import Run, Status, stored_runs
from scoring.spec import RunFacts, ScoredPair

FACTS = RunFacts(
    model="org/model",
    revision="abc",
    family="classifier",
    device="cpu",
    dtype="float32",
    max_length=4096,
    truncation_side="left",
    template="own:123",
    pairs="demo@123",
    n_pairs=3,
    seed=0,
    versions={"torch": "2"},
)
PACKS = [
    (
        ScoredPair("s:1", "s", "0" * 16, 0.1, -1e-300, 5, 6, True, False),
        ScoredPair("s:🤔\n", "s", "1" * 16, None, 2.5, 1, 1),
    ),
    (ScoredPair("s:3", "s", "2" * 16, 1 / 3, 1 / 3, 7, 7, False, True),),
]
ROWS = [row for pack in PACKS for row in pack]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.create(tmp_path, FACTS)


def test_a_new_run_is_running_and_can_be_opened(run: Run) -> None:
    assert Run.open(run.folder) == run
    assert (run.status, run.seconds, run.rows()) == ("running", 0.0, [])
    assert run.facts == FACTS


def test_rows_read_back_as_they_were_written(run: Run) -> None:
    assert list(run.record(PACKS)) == PACKS
    assert Run.open(run.folder).rows() == ROWS


def test_a_pack_is_on_disk_before_it_is_passed_on(run: Run) -> None:
    stream = run.record(PACKS)
    next(stream)
    assert run.rows() == list(PACKS[0])


def test_what_was_scored_before_an_error_is_kept(run: Run) -> None:
    def failing() -> object:
        yield PACKS[0]
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError):
        list(run.record(failing()))  # type: ignore[arg-type]
    assert run.rows() == list(PACKS[0])


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_torn_last_line_is_dropped(cut: int, run: Run) -> None:
    list(run.record(PACKS))
    file = run.folder / "rewards.jsonl"
    file.write_bytes(file.read_bytes()[:-cut])
    assert run.rows() == ROWS[:-1]


@pytest.mark.parametrize("status", ["finished", "stopped", "failed"])
def test_how_a_run_ended_is_written_down(status: Status, run: Run) -> None:
    ended = run.ended(status, 12.5, 3)
    assert (ended.status, ended.seconds, ended.n_scored) == (status, 12.5, 3)
    assert Run.open(run.folder) == ended
    assert replace(ended, status="running", seconds=0.0, n_scored=0) == run


def test_no_part_file_stays_behind(run: Run) -> None:
    run.ended("finished", 1.0, 0)
    assert [path.name for path in run.folder.iterdir()] == ["run.json"]


def test_runs_have_names_of_their_own(tmp_path: Path) -> None:
    runs = [Run.create(tmp_path, FACTS) for _ in range(20)]
    assert len({run.id for run in runs}) == 20
    assert all(len(run.id) == len("20260101-120000-") + 16 for run in runs)


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    runs = [Run.create(tmp_path, FACTS) for _ in range(8)]
    assert stored_runs(tmp_path) == runs[::-1]


def test_the_later_run_is_newer_though_the_clock_was_set_back(tmp_path: Path) -> None:
    for name, started in (("20261025-025900-a", 1000.0), ("20261025-020100-b", 2000.0)):
        run = Run.create(tmp_path, FACTS)
        values = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
        run_file = run.folder.rename(tmp_path / name) / "run.json"
        run_file.write_text(json.dumps({**values, "started": started}), encoding="utf-8")
    assert [run.started for run in stored_runs(tmp_path)] == [2000.0, 1000.0]


def test_a_home_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert stored_runs(tmp_path / "gone") == []


JUNK = ["", "{", "null", "[]", "{}", '{"facts": {}}', '{"facts": 5, "status": "running"}', "\xff\0"]


@pytest.mark.parametrize("text", JUNK)
def test_a_folder_that_is_no_run_is_passed_over(text: str, run: Run) -> None:
    junk = run.folder.parent / "99999999-junk"
    junk.mkdir()
    (junk / "run.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(KnownError, match="'99999999-junk' is not a stored run"):
        Run.open(junk)
    assert stored_runs(run.folder.parent) == [run]


def test_run_json_of_another_shape_is_passed_over(run: Run) -> None:
    values = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    for broken in (
        {**values, "status": "sleeping"},
        {**values, "started": "yesterday"},
        {**values, "started": 10**400},  # BUG: OverflowError, so that no run is listed
        {**values, "facts": {**values["facts"], "n_pairs": "three"}},
        {**values, "facts": {**values["facts"], "versions": None}},
    ):
        (run.folder / "run.json").write_text(json.dumps(broken), encoding="utf-8")
        assert stored_runs(run.folder.parent) == []


def test_empty_folders_and_files_are_passed_over(run: Run) -> None:
    home = run.folder.parent
    (home / "empty").mkdir()
    (home / "run.json").write_text("{}", encoding="utf-8")
    (home / "file").write_bytes(b"")
    (home / "loop").symlink_to(home)
    (home / "gone").symlink_to(home / "nowhere")
    assert stored_runs(home) == [run]


@pytest.mark.parametrize(
    "name", ["a b", "..hidden", "-rf", "'\"$(x)", "x" * 200, "🤔", "a\nb", "%2e"]
)
def test_a_run_may_lie_in_a_folder_of_any_name(name: str, run: Run) -> None:
    folder = run.folder.rename(run.folder.parent / name)
    assert Run.open(folder).id == name
    assert [found.id for found in stored_runs(folder.parent)] == [name]


@pytest.mark.parametrize("line", ["{broken", "5", '{"key": "s:1"}', ""])
def test_a_broken_line_amid_the_rows_is_a_known_error(line: str, run: Run) -> None:
    list(run.record(PACKS))
    file = run.folder / "rewards.jsonl"
    file.write_text(f"{line}\n{file.read_text(encoding='utf-8')}", encoding="utf-8")
    with pytest.raises(KnownError):
        run.rows()
