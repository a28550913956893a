"""What is said before a run; the card leaves out what is not known."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from explorer.core.settings import Settings
from explorer.runs.estimates import Estimate, Forecast, Work, estimate
from explorer.runs.model_list import entry_of, offered_models
from explorer.tabs.score.before import model_card_html
from scoring.hub.access import Hub
from scoring.models.devices import Device
from scoring.models.finding import LocatedModel, ModelPolicy, find
from scoring.spec import ModelSpec, RunSettings
from tests.conftest import DEMO_MODEL
from tests.golden.reading import Outline
from tests.support.golden_files import check_golden

CPU = Device("AMD EPYC", "cpu", 21_300_000_000)
GPU = Device("NVIDIA H200", "cuda", 139 * 10**9, 2, True, 278 * 10**9)
UNKNOWN = replace(CPU, free_bytes=0, all_free_bytes=0)
BASE = LocatedModel(
    ModelSpec("HuggingFaceH4/mistral-7b-sft-beta", "", "r", "dpo"),
    architecture="MistralForCausalLM",
    sizes={"model.safetensors": 14_500_000_000},
    parameters=7_241_732_096,
    fetch_bytes=1_500_000_000,
)
POLICY = replace(
    BASE,
    spec=ModelSpec("HuggingFaceH4/zephyr-7b-beta", "", "r", "dpo"),
    why="It is listed here as one of family dpo.",
    dtype="bfloat16",
    fetch_bytes=14_500_000_000,
    reference=BASE,
)
LARGE = replace(POLICY, parameters=70_000_000_000, reference=None)
DEMO = find("demo", ModelPolicy(DEMO_MODEL), Hub(offline=True))
PICTURES = ModelSpec("Skywork/Skywork-VL-Reward-7B", "", "")


def card(seen: LocatedModel, here: Device = CPU, device: str = "auto", **known: Any) -> str:
    """The card of a model. known: fields of its forecast, and of the estimate in it."""
    told = estimate(Work(92, 40_000), seen, here, RunSettings(device=device))
    names = {each.name for each in fields(Estimate)} & {*known}
    told = replace(told, **{name: known.pop(name) for name in names})
    forecast = Forecast(seen, here, told, entry_of(seen.spec.name), warm=False)
    return model_card_html(replace(forecast, **known), None)


SOON: dict[str, Any] = {"seconds": 9.0, "low": 5.0, "high": 15.0}
CARDS: Mapping[str, str] = {
    "demo in memory": card(DEMO, warm=True),
    "policy on a GPU": card(POLICY, GPU, **SOON, gpu_seconds=9.0),
    "too large": card(LARGE),
    "spread over two GPUs": card(LARGE, GPU, device="spread"),
    "free memory unknown": card(POLICY, UNKNOWN),
    "cannot run": card(LocatedModel(PICTURES, architecture="X", parameters=9)),
    "speed of three runs": card(DEMO, **SOON, basis="measured", n_runs=3),
    "speed of other models": card(DEMO, **SOON, basis="other models", n_runs=1),
    "four minutes left": card(DEMO, **SOON, seconds_left=250.0),
}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_says_what_is_known_of_a_model(name: str) -> None:
    lines = Outline(CARDS[name]).lines
    check_golden(
        Path(__file__).parent / "cards" / f"{name.replace(' ', '-')}.txt", "\n".join([*lines, ""])
    )


def test_without_a_network_the_menu_marks_models_that_are_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    (tmp_path / "models--Skywork--Skywork-Reward-V2-Qwen3-4B" / "snapshots").mkdir(parents=True)
    offered = offered_models(Settings(home=tmp_path), Hub(offline=True))
    away = {name for words, name in offered if words.endswith("not on this machine")}
    assert len(away) > 50
    assert not {"Skywork/Skywork-Reward-V2-Qwen3-4B", "demo", "longer"} & away
