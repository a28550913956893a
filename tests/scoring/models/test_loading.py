import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from scoring.engine.formatting import UpstreamFormatter
from scoring.engine.scorer import facts
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.models.loading import Loaded, load
from scoring.run import make_job
from scoring.spec import ModelSpec, Pair, RunSettings
from tests.conftest import DEMO_MODEL
from tests.scoring.families.test_classifier import CPU, gpt2, llama, roberta, save, tokenizer
from tests.scoring.models.test_finding import OFFLINE, OPEN, edit_config, folder

__all__ = ["folder"]
KIND = "AutoModelForSequenceClassification"


def edit_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    change(weights)
    save_file(weights, path, {"format": "pt"})


def loaded(folder: Path, settings: RunSettings = CPU) -> Loaded:
    return load(ModelSpec("small", str(folder), "test"), settings, KIND)


def failure(folder: Path) -> str:
    """What is said when a folder is located and then loaded."""
    with pytest.raises(KnownError) as caught:
        load(locate(str(folder), OPEN, OFFLINE), CPU, KIND)
    return str(caught.value)


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


def test_a_tokenizer_with_hardly_a_token_is_refused(folder: Path) -> None:
    path = folder / "tokenizer_config.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**values, "model_max_length": 7}), encoding="utf-8")
    assert "its tokenizer allows 7 tokens" in failure(folder)


def test_a_config_that_asks_for_more_weights_than_there_are_is_refused_before_they_are_taken(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_config(folder, vocab_size=10**9)
    monkeypatch.setattr(
        "transformers.AutoModelForSequenceClassification.from_pretrained",
        lambda *_, **__: pytest.fail("memory was taken"),
    )
    message = failure(folder)
    assert "its config asks for 192,0" in message
    assert f"room for {(folder / 'model.safetensors').stat().st_size:,}." in message


@pytest.mark.parametrize(("rows", "is_refused"), [(100_000, False), (10**6, True)])
def test_of_weights_of_several_a_byte_there_may_be_so_many_times_as_many(
    rows: int, is_refused: bool, folder: Path
) -> None:
    edit_config(folder, vocab_size=rows, quantization_config={"quant_method": "no such method"})
    assert ("its config asks for" in failure(folder)) is is_refused


@pytest.mark.parametrize(
    "name",
    ["/dev/zero", "../other/model.safetensors", "missing.safetensors", "..", "", "zero", None, 5],
)
def test_an_index_that_names_what_is_not_beside_it_is_refused(name: object, folder: Path) -> None:
    (folder.parent / "other").mkdir()
    for other in (folder.parent / "other", folder.parent):
        (other / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (folder / "zero").symlink_to("/dev/zero")
    weights = {"score.weight": "part.safetensors", "model.norm.weight": name}
    index = {"metadata": {}, "weight_map": weights}
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert "model.safetensors.index.json names" in (said := failure(folder))
    assert "not among its files" in said and len(said) < 400


@pytest.mark.parametrize("rows", [300, 7_000])
def test_tokens_that_the_weights_do_not_know_are_refused_before_a_pack(
    rows: int, folder: Path
) -> None:
    def cut(weights: dict[str, torch.Tensor]) -> None:
        name = "model.embed_tokens.weight"
        weights[name] = weights[name][:rows].clone()

    edit_weights(folder, cut)
    edit_config(folder, vocab_size=rows)
    pairs = [Pair("a:1", "a", "Name a number.", "a xylophone, a zebra", "quixotic")]
    with pytest.raises(KnownError, match=f"its weights know {rows:,} tokens"):
        make_job(pairs, open_scorer(locate(str(folder), OPEN, OFFLINE), CPU), seed=0)


def test_one_label_said_by_a_number_alone_is_loaded(folder: Path) -> None:
    edit_config(folder, id2label=..., label2id=..., num_labels=1)
    assert loaded(folder).model.config.num_labels == 1


def test_a_model_is_named_as_the_person_named_it(folder: Path) -> None:
    settings = RunSettings(device="cpu", dtype="float32", max_length=100, seed=3)
    scorer = open_scorer(ModelSpec("my model", str(folder), "r1"), settings)
    told = facts(scorer, settings, "demo@1", 7)
    assert (told.model, told.revision, told.device, told.dtype) == (
        *("my model", "r1", "cpu", "float32"),
    )
    assert (told.max_length, told.seed, told.n_pairs, told.pairs) == (100, 3, 7, "demo@1")
    assert (told.path, told.budget) == (scorer.traits.path, scorer.traits.budget)
    assert told.versions["torch"] == torch.__version__


def test_a_model_scores_and_does_not_learn() -> None:
    model = loaded(DEMO_MODEL).model
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_what_is_saved_in_half_precision_is_scored_in_full_on_a_cpu() -> None:
    assert load_file(DEMO_MODEL / "model.safetensors")["score.weight"].dtype == torch.bfloat16
    assert loaded(DEMO_MODEL, RunSettings(device="cpu")).model.dtype == torch.float32
    for name, dtype in (("bfloat16", torch.bfloat16), ("float16", torch.float16)):
        asked: Any = name
        assert loaded(DEMO_MODEL, RunSettings(device="cpu", dtype=asked)).model.dtype == dtype


@pytest.mark.parametrize(
    ("device", "said"),
    [("nonsense", "; auto, cpu"), ("meta", "; auto, cpu"), ("cuda:99", " here: ")],
)
def test_a_device_that_is_not_there_is_told(device: str, said: str) -> None:
    with pytest.raises(KnownError, match=f"There is no device '{device}'{said}"):
        loaded(DEMO_MODEL, RunSettings(device=device))


def test_the_limit_of_the_model_holds_where_none_is_asked_for() -> None:
    assert loaded(DEMO_MODEL).formatter(RunSettings()).max_length == 4096
    assert loaded(DEMO_MODEL).formatter(RunSettings(max_length=9)).max_length == 9


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        (llama, 256),
        (gpt2, 256),
        (roberta, 254),  # positions are counted from behind the padding's
    ],
)
def test_a_sequence_is_no_longer_than_there_are_positions(
    config: Callable[[], Any], limit: int, tmp_path: Path
) -> None:
    made = tokenizer()
    made.model_max_length = 10**30
    used = loaded(save(tmp_path, config(), made))
    assert used.formatter(RunSettings()).max_length == limit
    used.tokenizer.model_max_length = 100
    assert used.formatter(RunSettings()).max_length == 100
    with torch.inference_mode():
        used.model(input_ids=torch.full((1, limit), 5))


def test_the_settings_say_whose_tokens() -> None:
    used = loaded(DEMO_MODEL)
    assert not isinstance(used.formatter(RunSettings()), UpstreamFormatter)
    compatible = used.formatter(RunSettings(upstream_compatible=True))
    assert isinstance(compatible, UpstreamFormatter)
    assert compatible.max_length == 2048


def test_a_budget_is_as_set_or_about_a_second_of_work(tmp_path: Path) -> None:
    small = loaded(save(tmp_path, llama()))
    assert small.budget(CPU) == 8192
    demo = loaded(DEMO_MODEL).budget(CPU)
    assert 512 <= demo <= 8192
    assert demo & (demo - 1) == 0
    assert small.budget(RunSettings(budget=77)) == 77
    for none in (0, -5):
        with pytest.raises(KnownError, match=f"A pack cannot hold {none} tokens"):
            small.budget(RunSettings(budget=none))


def test_memory_that_torch_keeps_from_earlier_work_is_free_for_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a run that had filled a card, packs were as small as could be."""
    small = loaded(save(tmp_path, llama()))
    embeddings = small.model.get_input_embeddings()
    on_card: Any = SimpleNamespace(
        device=torch.device("cuda"),
        dtype=torch.bfloat16,
        config=small.model.config,
        parameters=small.model.parameters,
        get_input_embeddings=lambda: embeddings,
    )
    kept = {"mem_get_info": (10**6, 80 * 10**9), "memory_reserved": 79 * 10**9}
    for name, n_bytes in {**kept, "memory_allocated": 10**9}.items():
        monkeypatch.setattr(f"torch.cuda.{name}", lambda _, n_bytes=n_bytes: n_bytes)
    assert replace(small, model=on_card).budget(RunSettings()) == 32_768


def test_a_model_without_padding_takes_its_tokenizers(tmp_path: Path) -> None:
    config = llama(pad_token_id=None)
    assert loaded(save(tmp_path, config)).model.config.pad_token_id == 0
    own = llama(pad_token_id=9)
    assert loaded(save(tmp_path / "own", own)).model.config.pad_token_id == 9
