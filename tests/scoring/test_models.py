import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from scoring.errors import KnownError
from scoring.hub import Hub
from scoring.models import ModelPolicy, RewardModel, WarmModel, load, locate
from scoring.spec import ModelSpec, RunSettings
from tests.conftest import DEMO_MODEL, ROOT

OPEN = ModelPolicy(DEMO_MODEL)
CLOSED = ModelPolicy(DEMO_MODEL, local_folders=False)
OFFLINE = Hub(offline=True)
ON_CPU = RunSettings(device="cpu", dtype="float32")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the demo model, to be broken."""
    return Path(shutil.copytree(DEMO_MODEL, tmp_path / "model"))


def edit_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    values = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    kept = {name: value for name, value in values.items() if value is not ...}
    path.write_text(json.dumps(kept), encoding="utf-8")


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, {"format": "pt"})


def refusal(typed: str, policy: ModelPolicy = OPEN) -> str:
    with pytest.raises(KnownError) as caught:
        locate(typed, policy, OFFLINE)
    return str(caught.value)


def failure(folder: Path) -> str:
    """What is said when a folder is located and then loaded."""
    with pytest.raises(KnownError) as caught:
        load(locate(str(folder), OPEN, OFFLINE), ON_CPU)
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
    assert "explorer/ui is not on this machine" in refusal("explorer/ui", CLOSED)
    assert "explorer/ui is not a transformers model" in refusal("explorer/ui", OPEN)


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
        ({"architectures": ["LlamaForCausalLM"]}, "is a LlamaForCausalLM; only sequence"),
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
    assert load(locate(str(folder), OPEN, OFFLINE), ON_CPU).model.config.num_labels == 1


def test_a_classifier_without_its_head_is_refused(folder: Path) -> None:
    edit_weights(folder, lambda weights: weights.pop("score.weight"))
    message = failure(folder)
    assert "is not a whole reward model: its weights lack score.weight" in message


def test_a_model_with_more_layers_than_weights_is_refused(folder: Path) -> None:
    layers = json.loads((folder / "config.json").read_text(encoding="utf-8"))["layer_types"]
    edit_config(folder, num_hidden_layers=len(layers) + 1, layer_types=[*layers, layers[0]])
    assert "its weights lack model.layers.5." in failure(folder)


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    edit_config(folder, hidden_size=96)
    assert "could not be loaded" in failure(folder)


def test_a_head_of_another_shape_is_refused(folder: Path) -> None:
    def widen(weights: dict[str, torch.Tensor]) -> None:
        weights["score.weight"] = weights["score.weight"].repeat(2, 1)

    edit_weights(folder, widen)
    assert "could not be loaded" in failure(folder)


@pytest.mark.parametrize("keep", [0, 100, 100_000])
def test_truncated_weights_are_refused(keep: int, folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    assert "could not be loaded" in failure(folder)


@pytest.mark.parametrize("text", ["", "{}", '{"version": "1.0"'])
def test_a_broken_tokenizer_is_refused(text: str, folder: Path) -> None:
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    assert "could not be loaded" in failure(folder)


@pytest.mark.parametrize("files", ["tokenizer*", "tokenizer.json"])
def test_a_model_without_tokenizer_is_refused(files: str, folder: Path) -> None:
    for path in folder.glob(files):
        path.unlink()
    assert "could not be loaded" in failure(folder)


def test_a_model_is_named_as_the_person_named_it(folder: Path) -> None:
    model = load(ModelSpec("my model", str(folder), "r1"), ON_CPU)
    facts = model.facts(RunSettings(max_length=100, seed=3), "demo@1", 7)
    assert (facts.model, facts.revision, facts.device, facts.dtype) == (
        *("my model", "r1", "cpu", "float32"),
    )
    assert (facts.max_length, facts.seed, facts.n_pairs, facts.pairs) == (100, 3, 7, "demo@1")
    assert facts.versions["torch"] == torch.__version__


def test_the_limit_of_the_model_holds_where_none_is_asked_for(demo_model: RewardModel) -> None:
    assert demo_model.formatter(RunSettings()).max_length == 4096


def test_what_is_saved_in_half_precision_is_scored_in_full(demo_model: RewardModel) -> None:
    assert load_file(DEMO_MODEL / "model.safetensors")["score.weight"].dtype == torch.bfloat16
    assert load(demo_model.spec, RunSettings(device="cpu")).model.dtype == torch.float32
    asked = load(demo_model.spec, RunSettings(device="cpu", dtype="bfloat16"))
    assert asked.model.dtype == torch.bfloat16


def test_the_digest_follows_the_content(folder: Path) -> None:
    def nudge(weights: dict[str, torch.Tensor]) -> None:
        weights["score.weight"][0, 0] += 1

    first = locate(str(folder), OPEN, OFFLINE).revision
    assert locate(str(folder), OPEN, OFFLINE).revision == first
    edit_weights(folder, nudge)
    changed = locate(str(folder), OPEN, OFFLINE).revision
    assert changed != first
    (folder / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    assert locate(str(folder), OPEN, OFFLINE).revision != changed


def test_the_digest_changes_with_any_weight(folder: Path) -> None:
    first = locate(str(folder), OPEN, OFFLINE).revision
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert locate(str(folder), OPEN, OFFLINE).revision != first


@pytest.fixture
def warm() -> Iterator[WarmModel]:
    yield WarmModel()


def test_the_warm_model_is_loaded_once(warm: WarmModel, demo_model: RewardModel) -> None:
    first = warm.get(demo_model.spec, ON_CPU)
    again = ModelSpec(**{name: getattr(demo_model.spec, name) for name in ModelSpec.__slots__})
    assert warm.get(again, RunSettings(device="cpu", dtype="float32", seed=9)) is first


@pytest.mark.parametrize("change", ["revision", "dtype"])
def test_another_model_takes_the_warm_ones_place(
    change: str, warm: WarmModel, demo_model: RewardModel
) -> None:
    other: dict[str, Any] = {"spec": demo_model.spec, "settings": ON_CPU}
    if change == "revision":
        other["spec"] = ModelSpec("demo", str(DEMO_MODEL), "another")
    else:
        other["settings"] = RunSettings(device="cpu", dtype="bfloat16")
    first = warm.get(demo_model.spec, ON_CPU)
    second = warm.get(**other)
    assert second is not first
    assert warm.get(**other) is second
    assert warm.get(demo_model.spec, ON_CPU) is not first


def test_a_model_that_fails_to_load_leaves_the_cache_usable(
    warm: WarmModel, demo_model: RewardModel, folder: Path
) -> None:
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(KnownError):
        warm.get(ModelSpec("broken", str(folder), "x"), ON_CPU)
    assert warm.get(demo_model.spec, ON_CPU).spec == demo_model.spec
