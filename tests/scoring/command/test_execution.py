"""The command line: what a run leaves, what it says, and how it goes on after it was stopped."""

import json
import re
import shutil
import signal
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.command import execution
from scoring.record import Run, locked
from scoring.spec import Pair
from scoring.summary import Summary, summarise
from tests.conftest import until
from tests.support.forks import command_line
from tests.support.hub_server import Repo, served_hub
from tests.support.named_rows import by_sentence

Capture = pytest.CaptureFixture[str]
ON_CPU = ("--device", "cpu", "--dtype", "float32")
DEMO = ("--model", "demo", "--pairs", "demo", "--per-subset", "1", "--budget", "1024", *ON_CPU)
LONGER = ("--model", "longer", "--pairs", "demo")
EXPORTED = ("eval-set/local/demo-part.json", "eval-set-scores/local/demo-part.json")
N_PAIRS = 23


def but_progress(err: str) -> str:
    """What was said as an error; a slow machine is also told how far it is."""
    return re.sub(r"^\d+ of \d+ pairs, \d+ s\n", "", err, flags=re.M)


@dataclass(frozen=True)
class Ended:
    """A run in a process of its own, and what that process said."""

    folder: Path
    code: int | None
    out: str
    err: str

    @property
    def summary(self) -> Summary:
        return summarise(Run.open(self.folder).rows(), "classifier")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """The demo pairs scored without a break."""
    folder = tmp_path_factory.mktemp("whole") / "new" / "run"
    process = command_line(*DEMO, "--out", folder)
    out, err = process.communicate()
    return Ended(folder, process.returncode, out, but_progress(err))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A run that was stopped by Ctrl-C once something was scored."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    process = command_line(*DEMO, "--out", folder, packs=3)
    rewards = folder / "rewards.jsonl"
    until(lambda: rewards.exists() and b"\n" in rewards.read_bytes())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    return Ended(folder, process.returncode, out, but_progress(err))


def test_the_table_agrees_with_the_rows(whole: Ended) -> None:
    assert (whole.code, whole.err) == (0, "")
    files = {path.relative_to(whole.folder).as_posix() for path in whole.folder.rglob("*.*")}
    assert files == {"run.json", "run.lock", "plan.json", "rewards.jsonl", *EXPORTED}
    run, summary = Run.open(whole.folder), whole.summary
    assert (run.status, run.n_scored, run.split_packs) == ("finished", N_PAIRS, 0)
    table = whole.out.split("\n\n")[0].split("\n")[1:]
    shown: dict[str, list[str]] = {line[:34].strip(): line[34:].split() for line in table}
    assert len(summary.subsets) == 23 and len(shown) == 23 + 4 + 2
    for subset, tally in summary.subsets.items():
        assert shown[subset][:2] == [str(tally.n), f"{tally.accuracy:.1%}"]
    assert summary.score is not None and summary.intervals.score is not None
    low, high = summary.intervals.score
    shown_score = [f"{summary.score:.1%}", f"{low:.1%}", "to", f"{high:.1%}"]
    assert shown["mean of the sections present"] == shown_score
    for name in EXPORTED:
        assert f"\nwrote {whole.folder / name}\n" in f"{whole.out}\n"


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
    for name in EXPORTED:
        assert (folder / name).read_bytes() == (whole.folder / name).read_bytes()
    said, summary = json.loads(capsys.readouterr().out), whole.summary
    assert (said["score"], said["sections"]) == (summary.score, summary.sections)
    assert said["files"] == [str(folder / name) for name in EXPORTED]


def test_ctrl_c_ends_with_130_and_keeps_what_was_scored(stopped: Ended) -> None:
    assert stopped.code == 130
    assert stopped.err == f"Stopped. Go on with --resume --out {stopped.folder}.\n"
    assert stopped.out == ""
    run = Run.open(stopped.folder)
    assert run.status == "stopped"
    assert 0 < run.n_scored == len(run.rows()) < N_PAIRS
    assert not (stopped.folder / "eval-set").exists()


def test_a_selection_is_taken_in_the_datasets_order(tmp_path: Path, demo_pairs: list[Pair]) -> None:
    given = "--subset hep-js --subset hep-go --per-subset 3 --limit 4".split()
    assert main([*LONGER, "--out", str(tmp_path), *given]) == 0
    [path] = (tmp_path / "eval-set-scores" / "baseline").glob("longer*.json")
    scores = json.loads(path.read_text(encoding="utf-8"))
    seen, expected = Counter[str](), list[str]()
    for pair in demo_pairs:
        seen[pair.subset] += 1
        if pair.subset in given and seen[pair.subset] <= 3:
            expected.append(pair.key)
    taken = zip(scores["subset"], scores["id"], strict=True)
    assert [f"{subset}:{id}" for subset, id in taken] == expected[:4]
    facts = Run.open(tmp_path).facts
    said = "subsets hep-js, hep-go; the first 3 of each subset; the first 4"
    assert (facts.selection, facts.n_pairs) == (said, 4)


@pytest.mark.parametrize("name", ["my/floor", "../../up", "/{tmp}/up"])
def test_exports_bear_the_name_that_is_given_and_none_leads_out_of_the_folder(
    name: str, tmp_path: Path
) -> None:
    given = [*LONGER, "--limit", "2", "--out", str(tmp_path / "run")]
    with suppress(SystemExit):
        main([*given, "--name", name.replace("/{tmp}", str(tmp_path))])
    assert not (tmp_path / "up.json").exists()
    assert (tmp_path / "run/eval-set/my/floor.json").exists() == (name == "my/floor")


def refusal(capsys: Capture, *given: str | Path) -> str:
    """What is said, in one line, by a command that fails."""
    capsys.readouterr()
    assert main([str(each) for each in given]) == 1
    said = capsys.readouterr()
    assert said.out == "" and re.fullmatch(r"error: .*\n", said.err)
    return said.err


@pytest.mark.parametrize(
    ("given", "said"),
    by_sentence(
        (("--model", "./nowhere"), "There is no model './nowhere': it is neither a folder nor"),
        (("--pairs", "{tmp}/gone.jsonl"), "There is no file {tmp}/gone.jsonl."),
        (("--benchmark", "rm-bench"), "pairs.jsonl cannot be read as RM-Bench: its first row has"),
        (("--subset", "hep-cobol"), "demo pairs has no subset 'hep-cobol'; it has alpacaeval-easy"),
        (("--chat-template", "Tulu"), "There is no chat template 'Tulu'; raw, tulu, pku"),
        (("--chat-template", "tulu"), "--chat-template tulu is for models of this machine"),
        (("--upstream-compatible",), "--upstream-compatible is for classifiers"),
        (("--out", "{tmp}/file/run"), "{tmp}/file/run cannot hold a run: "),
        (("--export", "eval-results"), "'demo pairs' is none: export every-eval-ever"),
        (("--model", "org/model", "--offline"), "the network is switched off"),
        (("--pairs", "org/pairs:test", "--offline"), "the network is switched off"),
    ),
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    given: tuple[str, ...], said: str, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "file").touch()
    given = tuple(word.replace("{tmp}", str(tmp_path)) for word in given)
    found = refusal(capsys, *LONGER, "--out", tmp_path / "run", *given)
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


def test_a_part_is_not_sent_and_is_called_a_part(tmp_path: Path, capsys: Capture) -> None:
    given = [*LONGER, "--limit", "2", "--out", str(tmp_path / "run")]
    said = refusal(capsys, *given, "--upload", "org/results", "--dry-run")
    assert "Only runs of all pairs are sent" in said
    assert main(given) == 0
    scores = json.loads((tmp_path / "run/eval-set-scores/baseline/longer-part.json").read_text())
    assert scores["model"] == "baseline/longer-part"
    assert "selection=the first 2; n_pairs=2" in scores["settings"]
