"""Which model is meant by what was typed, as what it scores, what is refused in which words, and
what a preview knows of it from its config alone; and which tokenizer, and how it counts.
"""

import json
import shutil
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.models.finding import (
    MOST_CONFIG_BYTES,
    MOST_TOKENIZER_MEGABYTES,
    ModelPolicy,
    find,
    locate,
)
from scoring.models.tokenizers import encoder, find_tokenizer, tokenizer_errors
from scoring.spec import BASELINES, ModelSpec
from tests.conftest import DEMO_MODEL
from tests.support.folder_hub import FolderHub
from tests.support.hub_server import HubServer, Repo, served_hub
from tests.support.refusals import by_sentence, refusal
from tests.support.small_models import CLOSED, OFFLINE, OPEN, edit_config

URL = "http://host:1/v1"
ZEPHYR = "HuggingFaceH4/zephyr-7b-beta"
CAUSAL = {"architectures": ["LlamaForCausalLM"], "id2label": ...}
OWN_CODE: dict[str, Any] = {
    "auto_map": {"AutoModel": "own.Model"},
    "architectures": ["OwnRewardModel"],
}
TWO = {"0": "no", "1": "yes"}
LISTED = ModelPolicy(DEMO_MODEL, models=frozenset({"org/name", ZEPHYR}))
ONE_SERVER = ModelPolicy(None, servers=frozenset({"http://gpu:8000/v1"}))
NO_SERVER = ModelPolicy(None, servers=frozenset())
NOT_HERE = "is not a model that can be used here: give a Hub id such as org/name, or demo."
SEVERAL = "which can score in several ways; say which"


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
    assert said in refusal(locate, str(folder), OPEN, OFFLINE, **given)
    hub = FolderHub(folder)  # and of a repository no weights are fetched
    refusal(locate, "org/name", OPEN, hub, **given)
    assert hub.fetched in ([], [["config.json"]])


def test_a_config_that_cannot_be_read_is_refused(folder: Path) -> None:
    for text in ("", "[]", '{"id2label": 5}', '{"architectures": [5]}', "[" * 100_000):
        (folder / "config.json").write_text(text, encoding="utf-8")
        assert str(folder) in refusal(locate, str(folder), OPEN, OFFLINE)


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
    assert said in (told := refusal(locate, typed, policy, OFFLINE, **given))
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
    assert f"{typed} is not on this machine" in refusal(locate, typed, CLOSED, OFFLINE)
    (folder / "ref").write_text(str(folder), encoding="utf-8")
    assert "ref" in refusal(locate, f"org/name@{folder}/ref", CLOSED, OFFLINE)


def test_a_model_that_is_not_listed_is_refused_before_the_hub_is_asked(folder: Path) -> None:
    hub = FolderHub(folder)
    said = f"is not among the models that can be used here: give {ZEPHYR}, org/name, or demo."
    for typed in ("org/other", "org/name@v1", "Org/name", "org/name@refs/pr/1", str(folder)):
        assert said in refusal(locate, typed, LISTED, hub)
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
            asking = (typed, policy, hub)
            if typed == named:
                assert locate(*asking, family="classifier").own_code
            else:
                assert "needs code of its own" in refusal(locate, *asking, family="classifier")
    lenient = ModelPolicy(DEMO_MODEL, own_code=frozenset({"demo"}))
    assert locate("demo", lenient, OFFLINE) == locate("demo", OPEN, OFFLINE)


def test_a_known_policy_comes_with_its_reference(folder: Path) -> None:
    edit_config(folder, architectures=["MistralForCausalLM"])
    hub = FolderHub(folder)
    spec = locate(ZEPHYR, LISTED, hub)
    assert spec.family == "dpo" and spec.reference is not None
    assert spec.reference.name == "HuggingFaceH4/mistral-7b-sft-beta"
    assert locate(f"{ZEPHYR}@main", OPEN, hub).family == "dpo"
    seen = find(ZEPHYR, OPEN, hub, reference="https://huggingface.co/org/other")
    assert seen.why == "A reference model was given, which only DPO policies have."
    assert seen.reference is not None and seen.reference.spec.name == "org/other"
    assert seen.all_fetch_bytes == 2 * seen.fetch_bytes > 0
    said = refusal(locate, ZEPHYR, LISTED, hub, reference="org/other")
    assert "'org/other' is not among the models" in said
    alone = locate(ZEPHYR, OPEN, hub, family="logprob-mean")
    assert (alone.family, alone.reference) == ("logprob-mean", None)


def test_only_what_loading_needs_is_fetched_and_nothing_that_is_too_large(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("{}", encoding="utf-8")
    (folder / "pytorch_model.bin").write_bytes(b"0" * 10)
    (folder / "own.py").write_text("", encoding="utf-8")
    hub = FolderHub(folder)
    said = refusal(locate, "org/name", ModelPolicy(None, max_gigabytes=0.001), hub)
    assert "at most 0.001 GB are allowed here" in said
    assert hub.fetched == []
    spec = locate("org/name@v1", OPEN, hub)
    assert (spec.name, spec.folder, spec.family) == ("org/name", str(folder), "classifier")
    assert hub.asked[-1] == ("org/name", "v1")
    files = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert hub.fetched == [["config.json"], files]
    trusting = ModelPolicy(None, own_code=frozenset({"org/name"}))
    locate("org/name", trusting, hub)
    assert hub.fetched[-1] == sorted([*files, "own.py"])
    locate("org/name@refs/pr/5", trusting, hub)
    assert hub.fetched[-1] == files


def test_a_tokenizer_is_taken_from_elsewhere_without_its_weights(folder: Path) -> None:
    hub = FolderHub(DEMO_MODEL)
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


# What is known of a model before it is loaded.

FILES = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir()}
WEIGHTS = 3_787_648


def without(*names: str) -> dict[str, bytes]:
    return {name: body for name, body in FILES.items() if name not in names}


WHOLE = FILES["tokenizer.json"]
WORDS = "\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "##s")).encode()
BERT = json.dumps({"tokenizer_class": "BertTokenizer"}).encode()
PARTS = {"vocab.txt": WORDS, "tokenizer_config.json": BERT}
LONG = b" " * (MOST_TOKENIZER_MEGABYTES * 1_000_000 + 1)
COUNTED = {"safetensors": {"parameters": {"BF16": 7, "F32": 2}, "total": 9}}
LARGE = b"{" + b" " * MOST_CONFIG_BYTES + b"}"
REPOS = {
    "datasets/allenai/reward-bench": Repo({"README.md": b""}),
    "models/org/model": Repo(FILES, info=COUNTED),
    "models/org/uncounted": Repo(FILES),
    "models/org/pictures": Repo({"model_index.json": b"{}", "unet/config.json": b"{}"}),
    "models/org/large": Repo({**FILES, "config.json": LARGE}),
    "models/org/mute": Repo(without("tokenizer.json", "tokenizer_config.json")),
    "models/org/empty": Repo(without("model.safetensors")),
    "models/org/whole": Repo({"model.safetensors": b"weights", "tokenizer.json": WHOLE}),
    "models/org/parts": Repo({**PARTS, "model.safetensors": b"weights", "onnx/vocab.txt": b""}),
    "models/org/none": Repo({"README.md": b"#", "config.json": b"{}"}),
    "models/org/long": Repo({"tokenizer.json": LONG}),
    "models/org/broken": Repo({"tokenizer.json": b'{"version": "1.0"}'}),
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub whose visitor has a token, which must not be sent."""
    with served_hub(REPOS, tmp_path / "hub", monkeypatch) as server:
        yield server


def test_of_a_model_on_the_hub_only_its_config_is_fetched(server: HubServer) -> None:
    hub = Hub()
    seen = find("org/model", CLOSED, hub)
    assert server.fetched == {"config.json"}
    assert (seen.parameters, seen.is_counted, seen.dtype) == (9, True, "bfloat16")
    assert seen.spec.revision == REPOS["models/org/model"].commit
    assert seen.fetch_bytes == sum(map(len, without("README.md", "config.json").values()))
    locate("org/model", CLOSED, hub)
    later = find("org/model", CLOSED, hub)
    assert (later.all_fetch_bytes, later.parameters) == (0, WEIGHTS)
    guessed = find("org/uncounted", CLOSED, hub)
    assert (guessed.parameters, guessed.is_counted) == (len(FILES["model.safetensors"]) // 2, False)


@pytest.mark.parametrize(
    ("typed", "fetched", "said"),
    by_sentence(
        ("org/my model", set(), "'org/my model' is not a model that can be used here: give a Hub"),
        *(
            (f"https://huggingface.co{rest}", set(), "is an address, but not that of a model's")
            for rest in ("/datasets/org/pairs", ".evil.org/org/model")
        ),
        ("https://huggingface.co/org/model/tree/../../x", set(), "is not a model that can be used"),
        ("allenai/reward-bench", set(), "allenai/reward-bench is a dataset, and no model. Its"),
        ("org/pictures", set(), "org/pictures is a diffusion pipeline, which makes pictures"),
        ("org/large", set(), "The config.json of org/large is 1.0 MB large; at most 1 MB"),
        ("org/mute", {"config.json"}, "org/mute could not be loaded: it has no tokenizer. Put the"),
        ("org/empty", {"config.json"}, "org/empty has no weights: no *.safetensors or *.bin"),
        ("org/unknown", set(), "There is no public model 'org/unknown' on the Hub"),
    ),
)
def test_what_cannot_be_scored_with_is_refused_before_its_weights_are_fetched(
    typed: str, fetched: set[str], said: str, server: HubServer
) -> None:
    assert said in refusal(locate, typed, CLOSED, Hub())
    assert server.fetched == fetched


def test_odd_numbers_of_a_config_are_left_out_and_those_of_a_part_found(folder: Path) -> None:
    part = {"hidden_size": 77, "max_position_embeddings": []}
    edit_config(folder, hidden_size=..., max_position_embeddings=..., vocab_size=-1, dtype=7)
    edit_config(folder, torch_dtype=[], text_config=part)
    seen = find(str(folder), OPEN, OFFLINE)
    assert (seen.width, seen.positions, seen.vocabulary) == (77, None, None)
    assert (seen.layers, seen.dtype) == (5, "bfloat16")


def test_weights_that_are_broken_or_lie_are_guessed_from_their_size(folder: Path) -> None:
    path = folder / "model.safetensors"
    headers = (b"{}", b'{"a": 5}', b"[" * 100_000, b'{"a": {"dtype": "F32", "shape": [-3]}}')
    bodies = [len(header).to_bytes(8, "little") + header for header in headers]
    for body in (b"", path.read_bytes()[:5_000], *bodies):
        path.write_bytes(body)
        seen = find(str(folder), OPEN, OFFLINE)
        assert (seen.parameters, seen.is_counted) == (len(body) // 2, False)


def test_weights_of_all_files_are_counted_and_packed_ones_stay_so(folder: Path) -> None:
    shutil.copy(folder / "model.safetensors", folder / "model-2.safetensors")
    assert find(str(folder), OPEN, OFFLINE).parameters == 2 * WEIGHTS
    edit_config(folder, quantization_config={"quant_method": "gptq"})
    seen = find(str(folder), OPEN, OFFLINE)
    assert seen.memory_bytes("float32") == seen.weight_bytes


# Which tokenizer is meant, who may use it, and how it counts.


def located(typed: str, policy: ModelPolicy = OPEN, hub: Hub = OFFLINE) -> ModelSpec:
    """A tokenizer, once its files are there."""
    found = find_tokenizer(typed, policy, hub)
    if found.listing is None:
        return found.spec
    return replace(found.spec, folder=str(hub.fetch(found.listing, [*found.sizes], token=False)))


def test_the_revision_of_a_folder_follows_its_tokenizer_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(WHOLE)
    first, bundled = located(str(tmp_path)), located("demo", CLOSED)
    assert (first.folder, bundled.folder) == (str(tmp_path), str(DEMO_MODEL))
    assert first.revision == bundled.revision
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    assert located(first.pinned) == first
    (tmp_path / "tokenizer.json").write_bytes(WHOLE + b"\n")
    assert located(str(tmp_path)).revision != first.revision


@pytest.mark.parametrize(
    ("typed", "policy", "said"),
    by_sentence(
        *(
            (typed, CLOSED, "used here: give oobabooga/llama-tokenizer or demo")
            for typed in ("/etc", "{folder}", "../x", "")
        ),
        ("demo@0123456789ab", OPEN, "at revision .{12}, not 0123456789ab"),
        ("{folder}", OPEN, "it has no tokenizer"),
        ("org/long", OPEN, r"org/long is 100\.0 MB large; at most 100 MB"),
        ("org/none", OPEN, "org/none could not be loaded: it has no tokenizer"),
    ),
)
def test_what_is_no_tokenizer_here_is_refused_before_it_is_fetched(
    typed: str, policy: ModelPolicy, said: str, folder: Path, server: HubServer
) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(KnownError, match=said):
        located(typed.format(folder=folder), policy, Hub())
    assert server.fetched == set()


@pytest.mark.parametrize(("repo", "files"), [("whole", ["tokenizer.json"]), ("parts", PARTS)])
def test_only_the_files_of_a_tokenizer_are_fetched(
    repo: str, files: Collection[str], server: HubServer
) -> None:
    assert f"org/{repo} is not on this machine" in refusal(located, f"org/{repo}")
    spec = located(f"org/{repo}", hub=Hub())
    assert server.fetched == {path.name for path in Path(spec.folder).iterdir()} == {*files}
    assert spec.pinned == f"org/{repo}@{REPOS[f'models/org/{repo}'].commit}"
    again = located(spec.pinned)
    assert (again.pinned, again.folder) == (spec.pinned, spec.folder)
    if repo == "parts":
        assert list(encoder(again)(["a dog", "dogs", "", "a cat"])) == [2, 2, 0, 2]


class PanicException(BaseException):
    """As compiled code calls its own faults."""


def test_a_tokenizer_that_fails_is_told_in_one_sentence_and_an_interruption_goes_through(
    server: HubServer, tmp_path: Path
) -> None:
    told = r"The tokenizer org/broken cannot be used: ."
    with pytest.raises(KnownError, match=told), tokenizer_errors("org/broken"):
        encoder(located("org/broken", hub=Hub()))
    with pytest.raises(KnownError, match="index out of bounds"), tokenizer_errors("org/broken"):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), tokenizer_errors("org/broken"):
        raise KeyboardInterrupt
    (tmp_path / "tokenizer.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02")
    said = r"has no tokenizer\.json, and what it has .* Give a copy of it with a tokenizer\.json"
    with pytest.raises(KnownError, match=said):
        list(encoder(located(str(tmp_path)))(["a"]))
