"""The command line: what a run leaves, what it says, and how it goes on after it was stopped.

Also runs of several processes, which are really several, as torchrun starts them.
"""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
import torch

from scoring.__main__ import main
from scoring.command import execution
from scoring.command.processes import Processes
from scoring.command.report import as_table, report_json
from scoring.errors import KnownError
from scoring.record import Run, locked
from scoring.spec import Pair
from tests.conftest import PATIENCE, ROOT, until
from tests.support.forks import Fork, command_line, environment
from tests.support.hub_server import Repo, served_hub
from tests.support.refusals import by_sentence

Capture = pytest.CaptureFixture[str]
ON_CPU = ("--device", "cpu", "--dtype", "float32")
DEMO = ("--model", "demo", "--pairs", "demo", "--per-subset", "1", "--budget", "1024", *ON_CPU)
SHORT = ("--model", "demo", "--pairs", "demo", "--limit", "8", "--offline", *ON_CPU)
LONGER = ("--model", "longer", "--pairs", "demo")
EXPORTED = ("eval-set/local/demo-part.json", "eval-set-scores/local/demo-part.json")
N_PAIRS = 23
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


class Ended(NamedTuple):
    """A run in a process of its own, and what that process said."""

    folder: Path
    code: int
    out: str
    err: str


def ended(process: Fork, folder: Path) -> Ended:
    """A slow machine is also told how far it is."""
    code, out, err = process.end()
    return Ended(folder, code, out, re.sub(r"^\d+ of \d+ pairs, \d+ s\n", "", err, flags=re.M))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """The demo pairs scored without a break, by one process."""
    folder = tmp_path_factory.mktemp("whole") / "new" / "run"
    return ended(command_line(*DEMO, "--out", folder), folder)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A run that was stopped by Ctrl-C once something was scored."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    process = command_line(*DEMO, "--out", folder, packs=3)
    rewards = folder / "rewards.jsonl"
    until(lambda: rewards.exists() and b"\n" in rewards.read_bytes())
    process.send_signal(signal.SIGINT)
    return ended(process, folder)


def assert_same_exports(folder: Path, expected: Path) -> None:
    for name in EXPORTED:
        assert (folder / name).read_bytes() == (expected / name).read_bytes()


def test_a_run_leaves_its_rows_and_result_files_and_says_its_report(whole: Ended) -> None:
    assert (whole.code, whole.err) == (0, "")
    files = {path.relative_to(whole.folder).as_posix() for path in whole.folder.rglob("*.*")}
    assert files == {"run.json", "run.lock", "plan.json", "rewards.jsonl", *EXPORTED}
    run = Run.open(whole.folder)
    assert (run.status, run.n_scored, run.split_packs) == ("finished", N_PAIRS, 0)
    written = [whole.folder / name for name in EXPORTED]
    assert whole.out == as_table(run, written, [], dry_run=False) + "\n"


def test_a_finished_run_is_exported_again_without_its_model(
    whole: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(execution, "open_scorer", lambda *_: pytest.fail("a model was loaded"))
    folder = Path(shutil.copytree(whole.folder, tmp_path / "copy"))
    before = [(folder / name).read_bytes() for name in ("rewards.jsonl", "run.json")]
    for kind in ("eval-set", "eval-set-scores"):
        shutil.rmtree(folder / kind)
    assert main([*DEMO, "--out", str(folder), "--resume", "--json"]) == 0
    assert [(folder / name).read_bytes() for name in ("rewards.jsonl", "run.json")] == before
    assert_same_exports(folder, whole.folder)
    report = report_json(Run.open(folder), [folder / name for name in EXPORTED], [])
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(report))


def test_ctrl_c_ends_with_130_and_keeps_what_was_scored(stopped: Ended) -> None:
    assert stopped.code == 130
    assert stopped.err == f"Stopped. Go on with --resume --out {stopped.folder}.\n"
    assert stopped.out == ""
    run = Run.open(stopped.folder)
    assert run.status == "stopped"
    assert 0 < run.n_scored == len(run.rows()) < N_PAIRS
    assert not (stopped.folder / "eval-set").exists()


def test_a_part_is_taken_in_the_datasets_order(tmp_path: Path, demo_pairs: list[Pair]) -> None:
    given = "--subset hep-js --subset hep-go --per-subset 3 --limit 4".split()
    assert main([*LONGER, "--out", str(tmp_path), *given]) == 0
    path = tmp_path / "eval-set-scores" / "baseline" / "longer-part.json"
    scores = json.loads(path.read_text(encoding="utf-8"))
    keys = [pair.key for pair in demo_pairs if pair.subset in ("hep-js", "hep-go")]
    of_each = [[key for key in keys if key.startswith(name)][:3] for name in ("hep-js", "hep-go")]
    expected = [key for key in keys if key in of_each[0] or key in of_each[1]]
    taken = zip(scores["subset"], scores["id"], strict=True)
    assert [f"{subset}:{id}" for subset, id in taken] == expected[:4]
    said = "subsets hep-js, hep-go; the first 3 of each subset; the first 4"
    assert (scores["model"], Run.open(tmp_path).facts.selection) == ("baseline/longer-part", said)
    assert f"selection={said}; n_pairs=4" in scores["settings"]


@pytest.mark.parametrize("name", ["my/floor", "../../up", "/{tmp}/up"])
def test_exports_stay_in_the_folder_whatever_their_name(name: str, tmp_path: Path) -> None:
    given = [*LONGER, "--limit", "2", "--out", str(tmp_path / "run")]
    with suppress(SystemExit):
        main([*given, "--name", name.replace("/{tmp}", str(tmp_path))])
    assert not (tmp_path / "up.json").exists()
    assert (tmp_path / "run/eval-set/my/floor.json").exists() == (name == "my/floor")


def refusal(capsys: Capture, *given: str | Path) -> str:
    """What is said, in one line, by a command that fails; before it, a fetch shows its progress."""
    capsys.readouterr()
    assert main([str(each) for each in given]) == 1
    said = capsys.readouterr()
    assert said.out == "" and re.fullmatch(r"(\r.*\n)?error: .*\n", said.err)
    return said.err


PUBLISHED = "OpenAssistant/reward-model-deberta-v3-large-v2"
ONLY_WHOLE = "Only runs of all pairs are sent: leave --subset, --per-subset and --limit out"


@pytest.mark.parametrize(
    ("given", "said"),
    by_sentence(
        ("--model ./nowhere", "There is no model './nowhere': it is neither a folder nor"),
        ("--pairs {tmp}/gone.jsonl", "There is no file {tmp}/gone.jsonl."),
        ("--benchmark rm-bench", "pairs.jsonl cannot be read as RM-Bench: its first row has"),
        ("--subset hep-cobol", "demo pairs has no subset 'hep-cobol'; it has alpacaeval-easy"),
        ("--chat-template Tulu", "There is no chat template 'Tulu'; raw, tulu, pku"),
        ("--chat-template tulu", "--chat-template tulu is for models of this machine"),
        ("--upstream-compatible", "--upstream-compatible is for classifiers"),
        ("--out {tmp}/file/run", "{tmp}/file/run cannot hold a run: "),
        ("--export eval-results", "'demo pairs' is none: export every-eval-ever"),
        ("--model org/model --offline", "the network is switched off"),
        ("--pairs org/pairs:test --offline", "the network is switched off"),
        (f"--reproduce {PUBLISHED} --published {{tmp}}", f"has nothing of {PUBLISHED}"),
        (f"--reproduce {PUBLISHED} --offline", "Give a folder with a copy of it (--published)."),
        *(
            (f"--upload org/results --dry-run {part}", ONLY_WHOLE)
            for part in ("--limit 2", "--per-subset 1", "--subset hep-go")
        ),
    ),
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    given: str, said: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "file").touch()
    asked = (word.replace("{tmp}", str(tmp_path)) for word in given.split())
    found = refusal(capsys, *LONGER, "--out", tmp_path / "run", *asked)
    assert said.replace("{tmp}", str(tmp_path)) in found
    assert not (tmp_path / "run").exists()


def test_code_of_a_model_is_trusted_by_its_pages_address_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    config = b'{"architectures": ["OwnForSequenceClassification"], "num_labels": 1, "auto_map": {}}'
    page = ("--model", "https://huggingface.co/org/own", "--pairs", "demo", "--out", tmp_path / "r")
    repos = {"models/org/own": Repo({"config.json": config})}
    with served_hub(repos, tmp_path, monkeypatch, "hf_secret"):
        assert "needs code of its own" in refusal(capsys, *page)
        assert "org/own has no weights" in refusal(capsys, *page, "--trust-remote-code")


def test_a_folder_with_a_run_or_under_way_is_left_alone(tmp_path: Path, capsys: Capture) -> None:
    given = (*LONGER, "--limit", "2", "--out", str(tmp_path))
    with locked(tmp_path):
        assert "This run is under way already." in refusal(capsys, *given, "--pairs", "./nowhere")
    assert not (tmp_path / "run.json").exists()
    assert main(list(given)) == 0
    before = (tmp_path / "rewards.jsonl").read_bytes()
    with locked(tmp_path):
        assert "This run is under way already." in refusal(capsys, *given, "--resume")
    said = refusal(capsys, *given)
    assert f"{tmp_path} holds a run already. Go on with it (--resume), or give" in said
    assert (tmp_path / "rewards.jsonl").read_bytes() == before


def test_another_run_is_not_gone_on_with_nor_a_finished_one_passed_off_as_it(
    stopped: Ended, whole: Ended, tmp_path: Path, capsys: Capture
) -> None:
    for ended in (stopped, whole):
        folder = Path(shutil.copytree(ended.folder, tmp_path / str(ended.code)))
        before = {path.name: path.read_bytes() for path in folder.glob("*.*")}
        for changed, why in (
            (("--max-length", "64"), "its max length is 4096, and 64 is asked for"),
            (("--limit", "20"), "its number of pairs is 23, and 20"),
            (("--model", "longer"), "its model is 'demo', and 'baseline/longer'"),
        ):
            message = refusal(capsys, *DEMO, *changed, "--out", folder, "--resume")
            assert f"is another one: {why}" in message
        assert {path.name: path.read_bytes() for path in folder.glob("*.*")} == before


def test_a_part_of_published_pairs_is_held_against_theirs(tmp_path: Path, capsys: Capture) -> None:
    """The demo model's results, in the name of a model whose settings upstream published."""
    published = str(tmp_path / "published")
    assert main([*SHORT, "--upstream-compatible", "--name", PUBLISHED, "--out", published]) == 0
    capsys.readouterr()
    asked = ("--reproduce", PUBLISHED, "--published", published, "--limit", "6")
    assert main([*SHORT, *asked, "--out", str(tmp_path / "again")]) == 0
    told = capsys.readouterr().out
    assert f"Beside what is published of {PUBLISHED}" in told
    assert "Equal: no pair changed." in told and re.search(r"^score +6 ", told, re.M)
    assert "template: own" not in told and "batch: 1 here, 4 there" in told


def test_results_of_the_real_pairs_are_held_against_no_relabelled_ones(
    shared_data: Path, tmp_path: Path, capsys: Capture
) -> None:
    real = pq.read_table(shared_data / "reward-bench" / "filtered.parquet")[:8]
    sides = {"chosen": "rejected", "rejected": "chosen"}
    names = [sides.get(name, name) for name in real.column_names]
    for name, table, status in (("copy", real, 0), ("swapped", real.rename_columns(names), 1)):
        pq.write_table(table, path := tmp_path / f"{name}.parquet")
        asked = ("--published", str(shared_data / "reward-bench-results"), "--offline")
        given = (*ON_CPU, "--pairs", str(path))
        model = ("--reproduce", PUBLISHED, "--model", "demo", "--out", str(tmp_path / name))
        assert main([*given, *model, *asked]) == status, capsys.readouterr().err
    assert "is not of this run's pairs" in capsys.readouterr().err


def two_processes(function: Callable[..., Fork], *given: Any, **more: Any) -> list[Fork]:
    """A function that begins a process, called as torchrun tells each of two in its environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    both = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [function(*given, RANK=rank, LOCAL_RANK=rank, **both, **more) for rank in ("0", "1")]


def test_two_processes_give_what_one_gives(whole: Ended, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    both = two_processes(command_line, *DEMO, "--out", folder)
    codes, said, errors = zip(*(process.end() for process in both), strict=True)
    assert codes == (0, 0), errors
    assert_same_exports(folder, whole.folder)
    parts = {path.name: path.stat().st_size for path in folder.glob("rewards*")}
    assert parts.keys() == {"rewards-0.jsonl", "rewards-1.jsonl"} and all(parts.values())
    run = Run.open(folder)
    assert (run.status, run.n_scored) == ("finished", N_PAIRS)
    assert len({row.key for row in run.rows()}) == N_PAIRS
    assert run.tokens == Run.open(whole.folder).tokens
    assert "".join(said).count("all pairs, unweighted") == 1


@pytest.mark.slow
def test_killed_processes_go_on_under_torchrun(whole: Ended, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    parts = [folder / f"rewards-{rank}.jsonl" for rank in (0, 1)]
    both = two_processes(command_line, *DEMO, "--out", folder, packs=2)
    until(lambda: all(part.exists() and part.stat().st_size for part in parts))
    for process in both:
        process.send_signal(signal.SIGKILL)
        process.end()
    run = Run.open(folder)
    assert run.status != "finished" and 0 < len(run.rows()) < N_PAIRS
    assert not (folder / "eval-set").exists()
    command = [sys.executable, *TORCHRUN, "-m", "scoring", *DEMO, "--out", str(folder), "--resume"]
    subprocess.run(command, cwd=ROOT, env=environment(), check=True, timeout=PATIENCE)
    assert_same_exports(folder, whole.folder)
    run = Run.open(folder)
    assert (run.status, len(run.rows())) == ("finished", N_PAIRS)


def refuse() -> None:
    raise KnownError("not so")


def meet() -> None:
    processes = Processes.join()
    rank, first, part = processes.rank, processes.first, processes.part()
    said = processes.first_says(lambda: {"told": 7} if rank == 0 else "of its own")
    try:
        processes.first_says(refuse)
        heard = "nothing"
    except KnownError as known:
        heard = str(known)
    processes.wait()
    processes.leave()
    print([rank, processes.n, first, part, said, heard])


def test_what_the_first_says_reaches_the_other_and_so_does_its_error() -> None:
    codes, said, errors = zip(*(each.end() for each in two_processes(Fork, meet)), strict=True)
    assert codes == (0, 0), errors
    assert [out.strip() for out in said] == [
        "[0, 2, True, '-0', {'told': 7}, 'not so']",
        "[1, 2, False, '-1', {'told': 7}, 'not so']",
    ]


def test_each_process_has_a_gpu_of_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for processes, asked, n_gpus, device in (
        (Processes(), "auto", 4, "auto"),
        (Processes(5, 8, 1), "cuda", 4, "cuda:1"),
        (Processes(3, 4, 3), "auto", 2, "cuda:1"),
        (Processes(1, 2, 1), "cuda:0", 4, "cuda:0"),
    ):
        monkeypatch.setattr(torch.cuda, "device_count", lambda n_gpus=n_gpus: n_gpus)
        assert processes.device(asked) == device
