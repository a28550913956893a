"""Which model is meant by what was typed, as what it scores, and what is refused in which words."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.models.finding import ModelPolicy, locate
from scoring.spec import BASELINES, ModelSpec
from tests.conftest import DEMO_MODEL
from tests.support.folder_hub import FolderHub
from tests.support.named_rows import by_sentence
from tests.support.small_models import CLOSED, OFFLINE, OPEN, edit_config

URL = "http://host:1/v1"
ZEPHYR = "HuggingFaceH4/zephyr-7b-beta"
CAUSAL = {"architectures": ["LlamaForCausalLM"], "id2label": ...}
OWN_CODE = {"auto_map": {"AutoModel": "own.Model"}, "architectures": ["OwnRewardModel"]}
TWO = {"0": "no", "1": "yes"}
LISTED = ModelPolicy(DEMO_MODEL, models=frozenset({"org/name", ZEPHYR}))
ONE_SERVER = ModelPolicy(None, servers=frozenset({"http://gpu:8000/v1"}))
NO_SERVER = ModelPolicy(None, servers=frozenset())
NOT_HERE = "is not a model that can be used here: give a Hub id such as org/name, or demo."
SEVERAL = "which can score in several ways; say which"


def refusal(typed: str, policy: ModelPolicy = OPEN, **given: Any) -> str:
    with pytest.raises(KnownError) as caught:
        locate(typed, policy, OFFLINE, **given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "given", "expected"),
    [
        pytest.param({}, {}, "classifier", id="a classifier"),
        pytest.param({"architectures": ["DebertaV2PairRM"]}, {}, "pairrm", id="PairRM"),
        pytest.param({"id2label": TWO}, {"reading": 1}, "classifier", id="a label of several"),
        pytest.param({"id2label": TWO}, {"reading": (0.5, -0.5)}, "classifier", id="weighted"),
        pytest.param(CAUSAL, {"family": "logprob-mean"}, "logprob-mean", id="a language model"),
    ],
)
def test_a_folder_is_of_the_family_that_its_config_and_the_person_say(
    changes: dict[str, Any], given: dict[str, Any], expected: str, folder: Path
) -> None:
    edit_config(folder, **changes)
    spec = locate(str(folder), OPEN, OFFLINE, **given)
    assert (spec.name, spec.folder, spec.family) == (str(folder), str(folder), expected)
    assert (spec.reading, spec.reference) == (given.get("reading"), None)


@pytest.mark.parametrize(
    ("changes", "given", "said"),
    by_sentence(
        ({"id2label": TWO}, {}, "has 2 labels; a reward model has one"),
        ({"architectures": ["T5ForConditionalGeneration"]}, {}, "sequence classifiers, causal"),
        (CAUSAL, {}, SEVERAL),
        (CAUSAL, {"family": "dpo"}, "is a DPO policy, which is compared with the model it was tra"),
        (CAUSAL, {"family": "dpo", "reference": "demo"}, "demo is a Qwen3ForSequenceClassificati"),
        ({}, {"family": "judge"}, "a …CausalLM…."),
        ({}, {"family": "classifier", "reference": "demo"}, "reference model is of family dpo"),
        (OWN_CODE, {}, "needs code of its own, which is not run here"),
    ),
)
def test_a_folder_that_does_not_score_so_is_refused_by_its_config(
    changes: dict[str, Any], given: dict[str, Any], said: str, folder: Path
) -> None:
    edit_config(folder, **changes)
    assert said in refusal(str(folder), **given)
    hub = FolderHub(folder)  # and of a repository no weights are fetched
    with pytest.raises(KnownError):
        locate("org/name", OPEN, hub, **given)
    assert hub.fetched in ([], [["config.json"]])


def test_a_config_that_cannot_be_read_is_refused(folder: Path) -> None:
    for text in ("", "[]", '{"id2label": 5}', '{"architectures": [5]}', "[" * 100_000):
        (folder / "config.json").write_text(text, encoding="utf-8")
        assert str(folder) in refusal(str(folder))


@pytest.mark.parametrize(
    ("typed", "policy", "given", "said"),
    by_sentence(
        ("\n", OPEN, {}, "No model was given"),
        *(
            (typed, OPEN, {}, "it is neither a folder nor a Hub id")
            for typed in ("/nowhere", "a/b/c", "a\0b", "x" * 300, "~nobody-of-this-name/model")
        ),
        *(
            (typed, CLOSED, {}, f"{typed!r} {NOT_HERE}")
            for typed in (
                *("/etc", "../x", ".", "~root", "C:\\x", "\\\\host\\x", "file:///etc"),
                *("org/name:split", "assets/demo/model/", "./assets/demo/model", str(DEMO_MODEL)),
            )
        ),
        ("nobody/nothing", OPEN, {}, "is not on this machine, and the network is switched off."),
        ("longer", OPEN, {"reading": 0}, "The baseline longer has no model"),
        ("org/model", CLOSED, {"family": "random"}, "The baseline random has no model"),
        ("org/name", OPEN, {"url": URL}, "A server (--url) can run the families judge, rater"),
        ("m", OPEN, {"url": URL, "family": "classifier"}, "judge, rater and served; say which"),
        ("m", OPEN, {"family": "served"}, "needs the address of its server"),
        ("m", OPEN, {"family": "judge", "url": "file:///etc"}, "'file:///etc' is not one"),
        *(
            ("m", ONE_SERVER, {"family": "served", "url": url}, "is not among the servers that may")
            for url in (
                *("http://169.254.169.254/latest", "http://gpu:8000", "http://gpu:8000/v1/.."),
                *("http://gpu:8000/v1@evil.example/", "file:///etc/passwd", ""),
            )
        ),
        ("m", NO_SERVER, {"family": "judge", "url": URL}, "EXPLORER_SERVERS"),
        ("demo", OPEN, {"tokenizer": "./nowhere"}, "There is no tokenizer './nowhere'"),
        ("demo", CLOSED, {"tokenizer": "/etc"}, "'/etc' is not a model that can be used here"),
        ("demo", ModelPolicy(DEMO_MODEL, models=frozenset()), {"tokenizer": "org/a"}, "'org/a' is"),
    ),
)
def test_what_is_no_model_here_is_refused(
    typed: str, policy: ModelPolicy, given: dict[str, Any], said: str
) -> None:
    assert said in (told := refusal(typed, policy, **given))
    assert len(told) < 400 or len(typed) == 300


def test_the_demo_model_baselines_and_models_of_servers_are_always_allowed() -> None:
    for policy in (OPEN, CLOSED, LISTED):
        for typed in (" demo\n", "assets/demo/model"):
            spec = locate(typed, policy, OFFLINE)
            assert (spec.name, spec.folder) == ("demo", str(DEMO_MODEL))
        for name in BASELINES:
            assert locate(name, policy, OFFLINE) == ModelSpec(f"baseline/{name}", "", "", name)
        spec = locate("org/name", policy, OFFLINE, family="rater", url=f"{URL}/")
        assert spec == ModelSpec("org/name", "", "", "rater", url=URL)
    spec = locate("org/name", ONE_SERVER, OFFLINE, family="judge", url="http://gpu:8000/v1/")
    assert spec.url == "http://gpu:8000/v1"


def test_where_folders_are_not_allowed_none_is_opened_whatever_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent.parent)
    typed = f"{folder.parent.name}/{folder.name}"
    assert locate(typed, OPEN, OFFLINE).folder == typed
    assert f"{typed} is not on this machine" in refusal(typed, CLOSED)
    (folder / "ref").write_text(str(folder), encoding="utf-8")
    assert "ref" in refusal(f"org/name@{folder}/ref", CLOSED)


def test_a_model_that_is_not_listed_is_refused_before_the_hub_is_asked(folder: Path) -> None:
    hub = FolderHub(folder)
    said = f"is not among the models that can be used here: give {ZEPHYR}, org/name, or demo."
    for typed in ("org/other", "org/name@v1", "Org/name", "org/name@refs/pr/1", str(folder)):
        with pytest.raises(KnownError) as caught:
            locate(typed, LISTED, hub)
        assert said in str(caught.value)
    assert hub.asked == []
    assert locate(" org/name\n", LISTED, hub).name == "org/name"
    mine = ModelPolicy(None, models=frozenset({str(folder)}))
    assert locate(str(folder), mine, OFFLINE).folder == str(folder)


def test_own_code_is_run_only_of_the_very_model_that_the_owner_named(folder: Path) -> None:
    """Not from a pull request, and nothing changes for a model without code."""
    edit_config(folder, **OWN_CODE)
    hub = FolderHub(folder)
    asked = [str(folder), "org/name", "org/name@0123abc", "org/name@refs/pr/5", "org/name@main"]
    for named in (*asked[:3], str(folder.parent)):
        policy = ModelPolicy(DEMO_MODEL, own_code=frozenset({named}))
        for typed in asked:
            if typed == named:
                assert locate(typed, policy, hub, family="classifier").own_code
            else:
                with pytest.raises(KnownError, match="code of its own, which is not run here"):
                    locate(typed, policy, hub, family="classifier")
    lenient = ModelPolicy(DEMO_MODEL, own_code=frozenset({"demo"}))
    assert locate("demo", lenient, OFFLINE) == locate("demo", OPEN, OFFLINE)


def test_a_known_policy_comes_with_its_reference(folder: Path) -> None:
    edit_config(folder, architectures=["MistralForCausalLM"])
    hub = FolderHub(folder)
    spec = locate(ZEPHYR, LISTED, hub)
    assert spec.family == "dpo" and spec.reference is not None
    assert spec.reference.name == "HuggingFaceH4/mistral-7b-sft-beta"
    assert locate(f"{ZEPHYR}@main", OPEN, hub).family == "dpo"
    other = locate(ZEPHYR, OPEN, hub, reference="org/other").reference
    assert other is not None and other.name == "org/other"
    with pytest.raises(KnownError, match="'org/other' is not among the models"):
        locate(ZEPHYR, LISTED, hub, reference="org/other")
    alone = locate(ZEPHYR, OPEN, hub, family="logprob-mean")
    assert (alone.family, alone.reference) == ("logprob-mean", None)


def test_of_a_repository_only_what_loading_needs_is_fetched(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("{}", encoding="utf-8")
    (folder / "pytorch_model.bin").write_bytes(b"0" * 10)
    (folder / "own.py").write_text("", encoding="utf-8")
    hub = FolderHub(folder)
    spec = locate("org/name@v1", OPEN, hub)
    assert (spec.name, spec.folder, spec.family) == ("org/name", str(folder), "classifier")
    assert hub.asked == [("org/name", "v1")]
    files = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert hub.fetched == [["config.json"], files]
    trusting = ModelPolicy(None, own_code=frozenset({"org/name"}))
    locate("org/name", trusting, hub)
    assert hub.fetched[-1] == sorted([*files, "own.py"])
    locate("org/name@refs/pr/5", trusting, hub)
    assert hub.fetched[-1] == files


def test_a_repository_that_is_too_large_is_refused_and_nothing_fetched(folder: Path) -> None:
    hub = FolderHub(folder)
    with pytest.raises(KnownError, match=r"at most 0\.001 GB are allowed here"):
        locate("org/name", ModelPolicy(None, max_gigabytes=0.001), hub)
    assert hub.fetched == []


def test_a_tokenizer_is_taken_from_elsewhere_without_its_weights(
    folder: Path, tmp_path: Path
) -> None:
    hub = FolderHub(Path(shutil.copytree(DEMO_MODEL, tmp_path / "other")))
    (folder / "tokenizer.json").unlink()
    spec = locate(str(folder), OPEN, hub, tokenizer="org/other@v1")
    assert spec.tokenizer is not None
    assert (spec.tokenizer.folder, spec.tokenizer.pinned) == (str(hub.folder), "org/other@c0ffee")
    assert hub.fetched == [["config.json", "tokenizer.json", "tokenizer_config.json"]]


def test_the_revision_of_a_folder_changes_with_any_of_its_files(folder: Path) -> None:
    first = locate(str(folder), OPEN, OFFLINE).revision
    assert locate(str(folder), OPEN, OFFLINE).revision == first
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    second = locate(str(folder), OPEN, OFFLINE).revision
    (folder / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert len({first, second, locate(str(folder), OPEN, OFFLINE).revision}) == 3
