"""What is known of a model before it is loaded, or anything but its config fetched."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.models.finding import find, locate
from tests.conftest import DEMO_MODEL
from tests.support.hub_server import HubServer, Repo, served_hub
from tests.support.small_models import CLOSED, OFFLINE, OPEN, edit_config

FILES = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir()}
WEIGHTS = 3_787_648
CONFIG = json.loads(FILES["config.json"])

COUNTED = {"parameters": {"BF16": 7, "F32": 2}, "total": 9}


def without(*names: str, **more: bytes) -> dict[str, bytes]:
    return {**{name: body for name, body in FILES.items() if name not in names}, **more}


CAUSAL = json.dumps({**CONFIG, "architectures": ["Qwen3ForCausalLM"]}).encode()


REPOS = {
    "datasets/allenai/reward-bench": Repo({"README.md": b""}),
    "models/org/model": Repo(FILES, info={"safetensors": COUNTED}),
    "models/org/uncounted": Repo(FILES),
    "models/org/policy": Repo({**FILES, "config.json": CAUSAL}),
    "models/org/base": Repo({**FILES, "config.json": CAUSAL}),
    "models/org/pictures": Repo({"model_index.json": b"{}", "unet/config.json": b"{}"}),
    "models/org/mute": Repo(without("tokenizer.json", "tokenizer_config.json")),
    "models/org/empty": Repo(without("model.safetensors")),
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with served_hub(REPOS, tmp_path / "hub", monkeypatch) as server:
        yield server


def fetched(server: HubServer) -> set[str]:
    """The names of the files that were fetched."""
    asked = (each.path for each in server.requests if each.method == "GET")
    return {path.rpartition("/")[2] for path in asked if "/resolve/" in path}


def test_the_demo_model_is_known_without_being_loaded() -> None:
    seen = find("demo", CLOSED, OFFLINE)
    assert (seen.spec.name, seen.spec.family) == ("demo", "classifier")
    assert seen.why == "Its architecture, Qwen3ForSequenceClassification, is a sequence classifier."
    assert (seen.parameters, seen.is_counted, seen.dtype) == (WEIGHTS, True, "bfloat16")
    assert (seen.positions, seen.vocabulary, seen.width, seen.layers) == (4096, 8192, 192, 5)
    assert (seen.all_fetch_bytes, seen.memory_bytes("float32")) == (0, 4 * WEIGHTS)


def test_of_a_model_on_the_hub_only_its_config_is_fetched(server: HubServer) -> None:
    hub = Hub()
    seen = find("org/model", CLOSED, hub)
    assert fetched(server) == {"config.json"}
    assert (seen.parameters, seen.is_counted, seen.dtype) == (9, True, "bfloat16")
    assert seen.spec.revision == REPOS["models/org/model"].commit
    assert seen.fetch_bytes == sum(map(len, without("README.md", "config.json").values()))
    locate("org/model", CLOSED, hub)
    later = find("org/model", CLOSED, hub)
    assert (later.all_fetch_bytes, later.parameters) == (0, WEIGHTS)
    guessed = find("org/uncounted", CLOSED, hub)
    assert (guessed.parameters, guessed.is_counted) == (len(FILES["model.safetensors"]) // 2, False)


def test_a_policy_is_told_with_its_reference(server: HubServer) -> None:
    seen = find("org/policy", CLOSED, Hub(), reference="https://huggingface.co/org/base")
    assert seen.why == "A reference model was given, which only DPO policies have."
    assert seen.reference is not None and seen.reference.spec.name == "org/base"
    assert seen.all_fetch_bytes == seen.fetch_bytes + seen.reference.fetch_bytes > seen.fetch_bytes


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("org/my model", "'org/my model' is not a model that can be used here: give a Hub id"),
        ("https://huggingface.co/datasets/org/pairs", "is an address, but not that of a model's"),
        ("https://huggingface.co.evil.org/org/model", "is an address, but not that of a model's"),
        ("https://huggingface.co/org/model/tree/../../x", "is not a model that can be used here"),
        ("allenai/reward-bench", "allenai/reward-bench is a dataset, and no model. Its pairs"),
        ("org/pictures", "org/pictures is a diffusion pipeline, which makes pictures"),
        ("org/mute", "org/mute could not be loaded: it has no tokenizer. Put the"),
        ("org/empty", "org/empty has no weights: no *.safetensors or *.bin"),
        ("org/unknown", "There is no public model 'org/unknown' on the Hub"),
    ],
)
def test_what_cannot_be_scored_with_is_refused_as_loading_refuses_it(
    typed: str, said: str, server: HubServer
) -> None:
    messages = []
    for ask in (find, locate):
        asked: Any = ask
        with pytest.raises(KnownError) as caught:
            asked(typed, CLOSED, Hub())
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert messages[0].startswith(said) or said in messages[0]
    assert fetched(server) <= {"config.json"}


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


def test_the_weights_of_several_files_are_counted_together_and_packed_ones_stay_so(
    folder: Path,
) -> None:
    shutil.copy(folder / "model.safetensors", folder / "model-2.safetensors")
    assert find(str(folder), OPEN, OFFLINE).parameters == 2 * WEIGHTS
    edit_config(folder, quantization_config={"quant_method": "gptq"})
    seen = find(str(folder), OPEN, OFFLINE)
    assert seen.memory_bytes("float32") == seen.weight_bytes
