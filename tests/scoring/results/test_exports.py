"""Results in upstream's two files, and what of them is sent to a dataset."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.results.accuracies import read_aggregates
from scoring.results.exports import check_upload, result_name, upload, why_refused, write_results
from scoring.spec import Family, Message, Pair, RunFacts, ScoredPair, as_objects, text_hash
from tests.support.hub_server import Account, HubServer, Repo, use_hub
from tests.support.run_facts import MADE_UP

FACTS = replace(MADE_UP, reading="its one label")


def pair(key: str, **changes: Any) -> Pair:
    subset = key.partition(":")[0]
    return replace(Pair(key, subset, f"p {key}", f"c {key}", f"r {key}"), **changes)


def scored(pair: Pair, chosen: float | None, rejected: float | None) -> ScoredPair:
    name = text_hash(pair.prompt, pair.chosen, pair.rejected)
    return ScoredPair(pair.key, pair.subset, name, chosen, rejected, 5, 5)


def exported(
    folder: Path, pairs: list[Pair], rows: list[ScoredPair], facts: RunFacts = FACTS
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What both files hold."""
    files = write_results(folder, "org/model", facts, pairs, rows)
    assert files == [folder / f"eval-set{end}" / "org" / "model.json" for end in ("", "-scores")]
    accuracies, columns = (json.loads(path.read_text(encoding="utf-8")) for path in files)
    return accuracies, columns


def test_a_result_is_called_as_its_model_or_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for model, name in (
        ("org/model", "org/model"),
        ("/data/my models/v2", "local/v2"),
        ("./check point (3)", "local/check-point-3"),
        ("..", "local/model"),
        ("org/model@main", "local/model-main"),
    ):
        assert result_name(replace(FACTS, model=model)) == name
        part = replace(FACTS, model=model, selection="the first 5")
        assert result_name(part) == f"{name}-part"
    (tmp_path / "org" / "model").mkdir(parents=True)  # a folder that looks like a Hub id
    assert result_name(FACTS) == "local/model"


def talk(key: str, side: str) -> list[dict[str, str]]:
    texts = {"user": f"p {key}", "assistant": f"{side} {key}"}
    return [{"role": role, "content": text} for role, text in texts.items()]


def test_both_files_have_upstreams_layout_and_the_datasets_order(tmp_path: Path) -> None:
    turns = (Message("user", " p\r\n\u2028"), Message("assistant", "b"), Message("user", "c"))
    odd = pair("math-prm:x1", turns=turns, chosen="🤔\0", rejected="")
    pairs = [pair("hep-js:2"), odd, pair("hep-js:1")]
    rows = [scored(each, chosen, 0.5) for each, chosen in zip(pairs, (1.5, 2.0, 0.25), strict=True)]
    accuracies, columns = exported(tmp_path, pairs, rows[::-1])
    about = {"model": "org/model", "model_type": "Seq. Classifier", "chat_template": "tokenizer"}
    assert accuracies == {**about, "hep-js": 0.5, "math-prm": 1.0}
    files = {*tmp_path.rglob("*.*")}
    assert len(files) == 2
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=4, sort_keys=True)
    settings = columns.pop("settings")
    before = as_objects(turns)
    answers = [[{"role": "assistant", "content": text}] for text in ("🤔\0", "")]
    assert columns == {
        **about,
        "id": [2, "x1", 1],
        "subset": ["hep-js", "math-prm", "hep-js"],
        "results": [1, 1, 0],
        "scores_chosen": [1.5, 2.0, 0.25],
        "scores_rejected": [0.5, 0.5, 0.5],
        "text_chosen": [talk("hep-js:2", "c"), before + answers[0], talk("hep-js:1", "c")],
        "text_rejected": [talk("hep-js:2", "r"), before + answers[1], talk("hep-js:1", "r")],
    }
    for said in ("revision=abc", "dtype=float32", "max_length=4096", "pairs=mine@123"):
        assert said in settings.split("; ")


@pytest.mark.parametrize(
    ("subset", "source"),
    [("anthropic_hhh", "hhh.jsonl@1"), ("harmless", "org/sets:anthropic_hhh@1")],
)
def test_a_run_on_a_prior_set_lies_where_prior_sets_are_read(
    subset: str, source: str, tmp_path: Path
) -> None:
    """The Hub's rows of a prior set name parts of it; upstream counts the set."""
    pairs = [pair(f"{subset}:{number}") for number in range(2)]
    rows = [scored(each, 1.0, reward) for each, reward in zip(pairs, (0.0, 2.0), strict=True)]
    files = write_results(tmp_path, "org/model", replace(FACTS, pairs=source), pairs, rows)
    folders = ("pref-sets", "pref-sets-scores")
    assert files == [tmp_path / each / "org" / "model.json" for each in folders]
    [result], left_out = read_aggregates(tmp_path, "pref-sets")
    assert (result.model, result.accuracies, left_out) == ("org/model", {"anthropic_hhh": 0.5}, [])
    columns = json.loads(files[1].read_bytes())
    assert (columns["subset"], columns["id"]) == (["anthropic_hhh"] * 2, [0, 1])


@pytest.mark.parametrize(
    ("family", "model_type", "tie"),
    [
        ("classifier", "Seq. Classifier", 0),
        ("dpo", "DPO", 0),
        ("logprob-sum", "DPO Ref. Free", 0),
        ("judge", "Generative RM", 0.5),
    ],
)
def test_a_missing_reward_is_null_and_not_won_and_a_tie_of_judges_half_a_win(
    family: Family, model_type: str, tie: float, tmp_path: Path
) -> None:
    """And families are called by upstream's words."""
    pairs = [pair(f"own:{number}") for number in range(5)]
    rewards = [(1.0, 0.0), (None, 0.0), (1.0, None), (None, None), (0.5, 0.5)]
    rows = [scored(each, *both) for each, both in zip(pairs, rewards, strict=True)]
    facts = replace(FACTS, family=family, reference="org/sft@0123abc" * (family == "dpo"))
    accuracies, columns = exported(tmp_path, pairs, rows, facts)
    assert accuracies["own"] == (1 + tie) / 5
    assert columns["results"] == [1, None, None, None, tie]
    assert columns["scores_chosen"] == [1.0, None, 1.0, None, 0.5]
    assert columns["scores_rejected"] == [0.0, 0.0, None, None, 0.5]
    assert accuracies["model_type"] == columns["model_type"] == model_type
    assert accuracies.get("ref_model") == ("org/sft" if family == "dpo" else None)


def test_an_id_is_a_number_only_where_it_was_one(tmp_path: Path) -> None:
    ids = {"12": 12, "0": 0, "ref:7": "ref:7", "-1": "-1", "": "", "²": "²", "007": "007"}
    pairs = [pair(f"own:{text}") for text in (*ids, "1" * 5000)]
    _, columns = exported(tmp_path, pairs, [scored(each, 1.0, 0.0) for each in pairs])
    assert columns["id"] == [*ids.values(), "1" * 5000]
    only = pair("a:b:7", subset="a:b")  # a subset with a colon is cut off as a whole
    _, columns = exported(tmp_path, [only], [scored(only, 1.0, 0.0)])
    assert (columns["id"], columns["subset"]) == ([7], ["a:b"])


def test_pairs_that_are_not_scored_are_refused_with_one_named(tmp_path: Path) -> None:
    pairs = [pair(f"own:{number}") for number in range(3)]
    with pytest.raises(KnownError, match=r"^2 of 3 pairs are not scored yet \(own:1 is one\)"):
        write_results(tmp_path, "org/model", FACTS, pairs, [scored(pairs[0], 1.0, 0.0)])
    assert list(tmp_path.iterdir()) == []


NAMES = ["eval-set/org/model.json", "eval-set-scores/org/model.json"]


@pytest.mark.parametrize("status", [401, 404])
def test_the_two_files_alone_are_sent_with_a_token_and_again_after_a_refusal(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only, folder = pair("own:1"), tmp_path / "run"
    files = write_results(folder, "org/model", FACTS, [only], [scored(only, 1.0, 0.0)])
    (folder / "run.json").write_text("{}")
    expected = [
        f"{name} ({path.stat().st_size:,} bytes) -> org/results"
        for name, path in zip(NAMES, files, strict=True)
    ]
    repos = {"datasets/org/results": Repo(refusal=(status, ""), refused="commit")}
    with HubServer(repos, {"hf_mine": Account("mine", {"org": "write"})}) as hub:
        use_hub(hub.url, tmp_path / "cache", monkeypatch)
        for name in ("HF_TOKEN_PATH", "HF_STORED_TOKENS_PATH"):
            monkeypatch.setattr(f"huggingface_hub.constants.{name}", "/nowhere/token")
        for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(KnownError, match=r"^Sending to org/results needs a token: set"):
            check_upload("org/results", dry_run=False)
        with pytest.raises(KnownError, match="not a token"):
            upload(folder, files, "org/results", dry_run=False)
        assert upload(folder, files, "org/results", dry_run=True) == expected
        assert hub.requests == []
        monkeypatch.setenv("HF_TOKEN", "hf_mine")
        said = rf"^The Hub did not take the results for org/results: .*{status}.*They are in "
        with pytest.raises(KnownError, match=said + re.escape(str(folder))) as caught:
            upload(folder, files, "org/results", dry_run=False)
        assert "hf_mine" not in str(caught.value) and hub.commits == []
        repos["datasets/org/results"] = Repo()
        assert upload(folder, files, "org/results", dry_run=False) == expected
    [commit] = hub.commits
    assert (commit.repo, commit.account) == ("datasets/org/results", "mine")
    assert commit.files == {n: path.read_bytes() for n, path in zip(NAMES, files, strict=True)}


def test_what_is_no_dataset_is_refused() -> None:
    for repo in ("results", "../x/y", "org/results@main"):
        for dry_run in (True, False):
            with pytest.raises(KnownError, match="is no dataset of the Hub: give org/name"):
                check_upload(repo, dry_run=dry_run)


def test_a_refusal_that_repeats_the_token_does_not_show_it() -> None:
    for token in ("hf_mine", "hf_" + "x" * 300):
        assert why_refused(RuntimeError(f"no leave for {token}."), token) == "no leave for …"
