import json
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from scoring.errors import KnownError
from scoring.hub.access import Hub, HubId, Listing, RepoType, parse_hub_id
from scoring.limits import OnProgress, ignore_progress
from scoring.models.catalogue import known_models
from scoring.models.finding import ModelPolicy, locate
from scoring.spec import BASELINES, Family, ModelSpec
from tests.conftest import DEMO_MODEL, ROOT

OPEN = ModelPolicy(DEMO_MODEL)
CLOSED = ModelPolicy(DEMO_MODEL, local_folders=False)
OFFLINE = Hub(offline=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the demo model, to be broken."""
    return Path(shutil.copytree(DEMO_MODEL, tmp_path / "model"))


def edit_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    values = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    kept = {name: value for name, value in values.items() if value is not ...}
    path.write_text(json.dumps(kept), encoding="utf-8")


def refusal(typed: str, policy: ModelPolicy = OPEN, **given: Any) -> str:
    with pytest.raises(KnownError) as caught:
        locate(typed, policy, OFFLINE, **given)
    return str(caught.value)


@pytest.mark.parametrize("policy", [OPEN, CLOSED])
@pytest.mark.parametrize("typed", ["demo", " demo\n", "assets/demo/model"])
def test_the_demo_model_is_always_allowed(typed: str, policy: ModelPolicy) -> None:
    spec = locate(typed, policy, OFFLINE)
    assert (spec.name, spec.folder) == ("demo", str(DEMO_MODEL))


def test_a_local_folder_is_used_where_folders_are_allowed(folder: Path) -> None:
    spec = locate(str(folder), OPEN, OFFLINE)
    assert (spec.name, spec.folder, spec.family) == (str(folder), str(folder), "classifier")


@pytest.mark.parametrize("policy", [OPEN, CLOSED])
@pytest.mark.parametrize("typed", ["", "  ", "\n"])
def test_nothing_typed_is_told(typed: str, policy: ModelPolicy) -> None:
    assert "No model was given" in refusal(typed, policy)


@pytest.mark.parametrize(
    "typed",
    [
        "/",
        "/etc",
        "../x",
        "./assets",
        ".",
        "..",
        "~",
        "~root",
        "C:\\x",
        "\\\\host\\x",
        "model",
        "a/b/c",
        "assets/demo/model/",
        "./assets/demo/model",
        "org/name:split",
        "file:///etc",
        str(DEMO_MODEL),
    ],
)
def test_paths_are_refused_where_folders_are_not_allowed(typed: str) -> None:
    assert refusal(typed, CLOSED) == (
        f"{typed!r} is not a model that can be used here: give a Hub id such as org/name, or demo."
    )


def test_a_folder_that_looks_like_a_hub_id_is_not_opened_where_folders_are_not_allowed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent.parent)
    typed = f"{folder.parent.name}/{folder.name}"
    assert locate(typed, OPEN, OFFLINE).folder == typed
    assert f"{typed} is not on this machine" in refusal(typed, CLOSED)


def test_a_folder_of_the_app_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert "explorer/tabs is not on this machine" in refusal("explorer/tabs", CLOSED)
    assert "explorer/tabs is not a transformers model" in refusal("explorer/tabs", OPEN)


def test_a_revision_does_not_lead_to_a_folder_of_this_machine(folder: Path) -> None:
    (folder / "ref").write_text(str(folder), encoding="utf-8")
    assert "ref" in refusal(f"org/name@{folder}/ref", CLOSED)


@pytest.mark.parametrize(
    "typed",
    [
        "/nowhere/at/all",
        "../nothing",
        "a/b/c",
        "nothing",
        "a\0b",
        "x" * 300,
        "~nobody-of-this-name/model",
    ],
)
def test_a_folder_that_is_not_there_is_told(typed: str) -> None:
    assert "it is neither a folder nor a Hub id" in refusal(typed)


def test_a_long_name_is_cut_in_the_message() -> None:
    assert len(refusal("x" * 5000, CLOSED)) < 400


def test_an_unknown_hub_id_is_told() -> None:
    assert refusal("nobody/nothing") == (
        "nobody/nothing is not on this machine, and the network is switched off."
    )


def test_a_folder_without_weights_is_told(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert "has no weights: no *.safetensors or *.bin" in refusal(str(folder))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id2label": {"0": "no", "1": "yes"}}, "has 2 labels; a reward model has one"),
        ({"id2label": ...}, "has 2 labels"),
        ({"id2label": ..., "num_labels": 5}, "has 5 labels"),
        ({"architectures": ["LlamaForCausalLM"]}, "which can score in several ways; say which"),
        ({"architectures": ["T5ForConditionalGeneration"]}, "sequence classifiers, causal"),
        ({"auto_map": {"AutoModel": "own.Model"}}, "needs code of its own, which is not run"),
    ],
)
def test_what_is_no_reward_model_is_refused_by_its_config(
    changes: dict[str, object], said: str, folder: Path
) -> None:
    edit_config(folder, **changes)
    assert said in refusal(str(folder))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "\x00",
        "[]",
        "5",
        '{"id2label": 5}',
        '{"architectures": 5}',
        '{"architectures": [5]}',
        "[" * 100_000,
    ],
)
def test_a_broken_config_is_refused(text: str, folder: Path) -> None:
    (folder / "config.json").write_text(text, encoding="utf-8")
    assert str(folder) in refusal(str(folder))


def test_a_folder_without_config_is_refused(folder: Path) -> None:
    (folder / "config.json").unlink()
    assert "no readable config.json" in refusal(str(folder))


def test_one_label_may_be_said_by_a_number_alone(folder: Path) -> None:
    edit_config(folder, id2label=..., label2id=..., num_labels=1)
    assert locate(str(folder), OPEN, OFFLINE).family == "classifier"


@pytest.mark.parametrize("reading", [1, (0.5, -0.5)])
def test_a_declared_reading_allows_several_labels(reading: Any, folder: Path) -> None:
    edit_config(folder, id2label={"0": "no", "1": "yes"})
    assert locate(str(folder), OPEN, OFFLINE, reading=reading).reading == reading


@pytest.mark.parametrize(
    ("architecture", "family"),
    [
        ("Qwen3ForSequenceClassification", "classifier"),
        ("DebertaV2ForSequenceClassification", "classifier"),
        ("DebertaV2PairRM", "pairrm"),
        (..., "classifier"),
    ],
)
def test_the_family_is_recognised_by_the_architecture(
    architecture: Any, family: Family, folder: Path
) -> None:
    edit_config(folder, architectures=architecture if architecture is ... else [architecture])
    assert locate(str(folder), OPEN, OFFLINE).family == family


@pytest.mark.parametrize("family", ["logprob-sum", "logprob-mean", "judge", "rater"])
def test_a_language_model_scores_as_it_is_told_to(family: Family, folder: Path) -> None:
    assert "a …CausalLM…." in refusal(str(folder), family=family)
    edit_config(folder, architectures=["LlamaForCausalLM"], id2label=...)
    spec = locate(str(folder), OPEN, OFFLINE, family=family)
    assert (spec.family, spec.reference) == (family, None)


def test_a_family_that_the_architecture_is_not_is_refused(folder: Path) -> None:
    assert "is a Qwen3ForSequenceClassification; the family pairrm needs a …PairRM…." in refusal(
        str(folder), family="pairrm"
    )


def test_a_policy_is_located_with_its_reference(folder: Path) -> None:
    edit_config(folder, architectures=["LlamaForCausalLM"])
    reference = Path(shutil.copytree(folder, folder.parent / "reference"))
    (reference / "README.md").write_text("another", encoding="utf-8")
    for family in ("dpo", None):
        spec = locate(str(folder), OPEN, OFFLINE, family=family, reference=str(reference))
        assert spec.family == "dpo"
        assert spec.reference is not None
        assert (spec.folder, spec.reference.folder) == (str(folder), str(reference))
        assert spec.revision != spec.reference.revision


def test_a_policy_without_reference_is_told(folder: Path) -> None:
    edit_config(folder, architectures=["LlamaForCausalLM"])
    assert "is a DPO policy, which is compared with the model it was trained from" in refusal(
        str(folder), family="dpo"
    )


def test_a_reference_that_is_no_language_model_is_refused(folder: Path) -> None:
    edit_config(folder, architectures=["LlamaForCausalLM"])
    assert "demo is a Qwen3ForSequenceClassification; the family dpo needs" in refusal(
        str(folder), family="dpo", reference="demo"
    )


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("policy", [OPEN, CLOSED])
def test_a_baseline_needs_no_folder(name: Family, policy: ModelPolicy) -> None:
    expected = ModelSpec(f"baseline/{name}", "", "", name)
    assert locate(name, policy, OFFLINE) == expected
    assert locate(name, policy, OFFLINE, family=name) == expected
    with pytest.raises(KnownError, match=f"The baseline {name} has no model"):
        locate("org/model", policy, OFFLINE, family=name)


@pytest.mark.parametrize("family", ["judge", "rater", "served"])
def test_a_servers_model_is_asked_where_it_is(family: Family) -> None:
    spec = locate("org/name", CLOSED, OFFLINE, family=family, url="http://host:1/v1/")
    assert spec == ModelSpec("org/name", "", "", family, url="http://host:1/v1")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"url": "http://host:1/v1"}, "A server (--url) can run the families judge, rater"),
        ({"url": "http://host:1/v1", "family": "classifier"}, "judge, rater and served; say which"),
        ({"family": "served"}, "needs the address of its server"),
        ({"family": "judge", "url": "file:///etc"}, "'file:///etc' is not one"),
    ],
)
def test_a_server_that_cannot_be_asked_is_told(given: dict[str, Any], said: str) -> None:
    assert said in refusal("org/name", **given)


def test_own_code_is_run_only_where_the_owner_allows_it(folder: Path) -> None:
    edit_config(folder, auto_map={"AutoModel": "own.Model"}, architectures=["OwnRewardModel"])
    assert "needs code of its own, which is not run here" in refusal(str(folder))
    another = ModelPolicy(DEMO_MODEL, own_code=frozenset({str(folder.parent)}))
    assert "which is not run here" in refusal(str(folder), another)
    allowed = ModelPolicy(DEMO_MODEL, own_code=frozenset({str(folder)}))
    spec = locate(str(folder), allowed, OFFLINE, family="classifier")
    assert (spec.own_code, spec.family) == (True, "classifier")


def test_code_from_a_pull_request_is_not_run_though_the_model_is_listed(folder: Path) -> None:
    edit_config(folder, auto_map={"AutoModel": "own.Model"}, architectures=["OwnRewardModel"])
    trusting = ModelPolicy(None, own_code=frozenset({"org/name"}))
    assert locate("org/name", trusting, Repo(folder), family="classifier").own_code
    for typed in ("org/name@refs/pr/5", "org/name@main", "org/name@0123abc", "org/other"):
        with pytest.raises(KnownError, match="code of its own, which is not run here"):
            locate(typed, trusting, Repo(folder), family="classifier")
    pinned = ModelPolicy(None, own_code=frozenset({"org/name@0123abc"}))
    assert locate("org/name@0123abc", pinned, Repo(folder), family="classifier").own_code


LISTED = ModelPolicy(DEMO_MODEL, models=frozenset({"org/name", "HuggingFaceH4/zephyr-7b-beta"}))


@pytest.mark.parametrize("typed", ["org/other", "org/name@v1", "Org/name", "org/name@refs/pr/1"])
def test_a_model_that_is_not_listed_is_refused_before_the_hub_is_asked(
    typed: str, folder: Path
) -> None:
    hub = Repo(folder)
    with pytest.raises(KnownError) as caught:
        locate(typed, LISTED, hub)
    assert str(caught.value) == (
        f"{typed!r} is not among the models that can be used here: give "
        "HuggingFaceH4/zephyr-7b-beta, org/name, or demo."
    )
    assert hub.asked == []


def test_a_folder_that_is_not_listed_is_refused(folder: Path) -> None:
    assert "is not among the models" in refusal(str(folder), LISTED)
    mine = ModelPolicy(None, models=frozenset({str(folder)}))
    assert locate(str(folder), mine, OFFLINE).folder == str(folder)


def test_listed_models_the_demo_and_baselines_are_allowed(folder: Path) -> None:
    assert locate(" org/name\n", LISTED, Repo(folder)).name == "org/name"
    assert locate("demo", LISTED, OFFLINE).name == "demo"
    assert locate("longer", LISTED, OFFLINE).family == "longer"


def test_a_listed_policy_comes_with_its_known_reference_and_no_other(folder: Path) -> None:
    edit_config(folder, architectures=["MistralForCausalLM"])
    known = locate("HuggingFaceH4/zephyr-7b-beta", LISTED, Repo(folder)).reference
    assert known is not None and known.name == "HuggingFaceH4/mistral-7b-sft-beta"
    with pytest.raises(KnownError, match="'org/other' is not among the models"):
        locate("HuggingFaceH4/zephyr-7b-beta", LISTED, Repo(folder), reference="org/other")


def test_a_long_list_is_cut_in_the_message() -> None:
    many = ModelPolicy(None, models=frozenset(f"org/{number:03}" for number in range(50)))
    assert refusal("x" * 5000, many) == (
        "5,000 characters is not among the models that can be used here: give "
        + ", ".join(f"org/{number:03}" for number in range(10))
        + " and 40 more."
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://gpu:8000",
        "http://gpu:8000/v1/..",
        "http://gpu:8000/v1@evil.example/",
        "HTTP://gpu:8000/v1",
        "file:///etc/passwd",
        "",
    ],
)
def test_only_listed_servers_are_asked(url: str) -> None:
    policy = ModelPolicy(None, servers=frozenset({"http://gpu:8000/v1"}))
    assert "is not among the servers that may be asked" in refusal(
        "org/name", policy, family="served", url=url
    )
    for listed in ("http://gpu:8000/v1", "http://gpu:8000/v1/"):
        spec = locate("org/name", policy, OFFLINE, family="judge", url=listed)
        assert spec.url == "http://gpu:8000/v1"


def test_where_no_server_is_listed_none_is_asked() -> None:
    none = ModelPolicy(None, servers=frozenset())
    assert "EXPLORER_SERVERS" in refusal("m", none, family="judge", url="http://localhost:8000/v1")


@dataclass
class Repo(Hub):
    """A Hub that has one folder under any name, and remembers what was fetched."""

    folder: Path

    def __post_init__(self) -> None:
        super().__init__(offline=True)
        self.asked: list[tuple[str, str | None]] = []
        self.fetched: list[list[str]] = []

    def look(
        self,
        hub_id: HubId,
        repo_type: RepoType,
        *,
        token: str | Literal[False],
        local_only: bool = False,
    ) -> Listing:
        self.asked.append((hub_id.repo, hub_id.revision))
        sizes = {
            str(path.relative_to(self.folder)): path.stat().st_size
            for path in self.folder.rglob("*")
            if path.is_file()
        }
        return Listing(hub_id, repo_type, "c0ffee", sizes, False)

    def fetch(
        self,
        listing: Listing,
        names: Sequence[str],
        *,
        token: str | Literal[False],
        tell: OnProgress = ignore_progress,
        stop: threading.Event | None = None,
    ) -> Path:
        self.fetched.append(sorted(names))
        return self.folder


def test_of_a_repository_only_what_loading_needs_is_fetched(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("{}", encoding="utf-8")
    (folder / "pytorch_model.bin").write_bytes(b"0" * 10)
    (folder / "own.py").write_text("", encoding="utf-8")
    hub = Repo(folder)
    spec = locate("org/name@v1", OPEN, hub)
    assert (spec.name, spec.folder, spec.family) == ("org/name", str(folder), "classifier")
    assert hub.asked == [("org/name", "v1")]
    files = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert hub.fetched == [["config.json"], files]
    trusting = ModelPolicy(None, own_code=frozenset({"org/name"}))
    locate("org/name", trusting, hub)
    assert hub.fetched[-1] == sorted([*files, "own.py"])
    for other in ("org/other", "org/name@v1", "org/name@refs/pr/5"):
        locate(other, trusting, hub)
        assert hub.fetched[-1] == files


def test_a_tokenizer_is_taken_from_elsewhere_without_its_weights(
    folder: Path, tmp_path: Path
) -> None:
    hub = Repo(Path(shutil.copytree(DEMO_MODEL, tmp_path / "other")))
    (folder / "tokenizer.json").unlink()
    spec = locate(str(folder), OPEN, hub, tokenizer="org/other@v1")
    assert spec.tokenizer is not None
    assert (spec.tokenizer.folder, spec.tokenizer.pinned) == (str(hub.folder), "org/other@c0ffee")
    assert hub.fetched == [["config.json", "tokenizer.json", "tokenizer_config.json"]]
    assert locate(str(folder), OPEN, hub, tokenizer="demo").tokenizer == ModelSpec(
        "demo", str(DEMO_MODEL), locate("demo", OPEN, OFFLINE).revision
    )


@pytest.mark.parametrize(
    ("typed", "policy", "given", "said"),
    [
        ("demo", OPEN, {"tokenizer": "./nowhere"}, "There is no tokenizer './nowhere'"),
        ("demo", CLOSED, {"tokenizer": "/etc"}, "'/etc' is not a model that can be used here"),
        ("demo", ModelPolicy(DEMO_MODEL, models=frozenset()), {"tokenizer": "org/a"}, "'org/a' is"),
        ("longer", OPEN, {"tokenizer": "demo"}, "has no model: give longer"),
        ("m", OPEN, {"tokenizer": "demo", "family": "judge", "url": "http://a/v1"}, "A server has"),
    ],
)
def test_a_tokenizer_that_cannot_be_taken_is_refused(
    typed: str, policy: ModelPolicy, given: dict[str, Any], said: str
) -> None:
    assert said in refusal(typed, policy, **given)


def test_a_folder_without_a_tokenizer_lends_none(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    assert "it has no tokenizer" in refusal("demo", tokenizer=str(folder))


def test_a_config_that_is_refused_costs_no_download_of_weights(folder: Path) -> None:
    edit_config(folder, architectures=["LlamaForCausalLM"])
    hub = Repo(folder)
    with pytest.raises(KnownError, match="several ways"):
        locate("org/name", OPEN, hub)
    assert hub.fetched == [["config.json"]]


def test_a_repository_that_is_too_large_is_refused(folder: Path) -> None:
    hub = Repo(folder)
    with pytest.raises(KnownError, match=r"at most 0\.001 GB are allowed here"):
        locate("org/name", ModelPolicy(None, max_gigabytes=0.001), hub)
    assert hub.fetched == []


def test_a_known_policy_is_compared_with_its_reference(folder: Path) -> None:
    edit_config(folder, architectures=["MistralForCausalLM"])
    spec = locate("HuggingFaceH4/zephyr-7b-beta", OPEN, Repo(folder))
    assert spec.family == "dpo"
    assert spec.reference is not None
    assert spec.reference.name == "HuggingFaceH4/mistral-7b-sft-beta"
    other = locate("HuggingFaceH4/zephyr-7b-beta", OPEN, Repo(folder), reference="org/other")
    assert other.reference is not None
    assert other.reference.name == "org/other"
    alone = locate("HuggingFaceH4/zephyr-7b-beta", OPEN, Repo(folder), family="logprob-mean")
    assert (alone.family, alone.reference) == ("logprob-mean", None)


def test_a_known_policy_is_known_at_any_revision(folder: Path) -> None:
    edit_config(folder, architectures=["MistralForCausalLM"])
    assert locate("HuggingFaceH4/zephyr-7b-beta@main", OPEN, Repo(folder)).family == "dpo"


def test_the_catalogue_can_be_used() -> None:
    for name, known in known_models().items():
        assert str(parse_hub_id(name)) == name
        assert (known.family == "dpo") == bool(known.reference)
        assert not known.reference or str(parse_hub_id(known.reference)) == known.reference
        assert known.reference != name


def test_the_digest_follows_the_content(folder: Path) -> None:
    first = locate(str(folder), OPEN, OFFLINE).revision
    assert locate(str(folder), OPEN, OFFLINE).revision == first
    (folder / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert locate(str(folder), OPEN, OFFLINE).revision != first


def test_the_digest_changes_with_any_weight(folder: Path) -> None:
    first = locate(str(folder), OPEN, OFFLINE).revision
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert locate(str(folder), OPEN, OFFLINE).revision != first


def test_leave_to_run_code_changes_nothing_for_a_model_without_code() -> None:
    lenient = ModelPolicy(DEMO_MODEL, own_code=frozenset({"demo"}))
    assert locate("demo", lenient, Hub(offline=True)) == locate("demo", OPEN, Hub(offline=True))


@pytest.mark.parametrize(
    ("family", "options", "said"),
    [
        (None, {"reading": 0, "typed": "longer"}, "The baseline longer has no model"),
        (None, {"reference": "demo", "typed": "random"}, "The baseline random has no model"),
        (
            "classifier",
            {"reference": "demo", "typed": "demo"},
            "reference model is of family dpo",
        ),
    ],
)
def test_what_a_family_has_no_use_for_is_refused(
    family: Any, options: dict[str, Any], said: str
) -> None:
    typed = options.pop("typed")
    with pytest.raises(KnownError, match=said):
        locate(typed, OPEN, Hub(offline=True), family=family, **options)
