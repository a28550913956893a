"""What is said before a run; the card leaves out what is not known, and believes no text."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from explorer.core.settings import Settings
from explorer.runs.estimates import Forecast, Work, estimate
from explorer.runs.model_list import entry_of, offered_models
from explorer.tabs.score.before import model_card_html
from scoring.hub.access import Hub
from scoring.models.devices import Device
from scoring.models.finding import LocatedModel, ModelPolicy, find
from scoring.spec import ModelSpec, RunSettings
from tests.conftest import DEMO_MODEL

CPU = Device("AMD EPYC", "cpu", 21_300_000_000)
GPU = Device("NVIDIA H200", "cuda", 139 * 10**9, 2, True, 278 * 10**9)
WORK = Work(92, 40_000)
WEIGHTS = {"model.safetensors": 14_500_000_000}
POLICY = LocatedModel(
    ModelSpec("HuggingFaceH4/zephyr-7b-beta", "", "r", "dpo"),
    "It is listed here as one of family dpo.",
    architecture="MistralForCausalLM",
    sizes=WEIGHTS,
    parameters=7_241_732_096,
    dtype="bfloat16",
    fetch_bytes=14_500_000_000,
    reference=LocatedModel(
        ModelSpec("HuggingFaceH4/mistral-7b-sft-beta", "", "r", "dpo"),
        architecture="MistralForCausalLM",
        sizes=WEIGHTS,
        parameters=7_241_732_096,
        fetch_bytes=1_500_000_000,
    ),
)


def card(seen: LocatedModel, here: Device = CPU, *, warm: bool = False, **how: Any) -> str:
    told = estimate(WORK, seen, here, RunSettings(**how))
    if here is GPU:
        told = replace(told, seconds=9.0, low=5.0, high=15.0, gpu_seconds=9.0)
    return model_card_html(Forecast(seen, here, told, entry_of(seen.spec.name), warm), None)


def words(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


def test_the_demo_model_is_told() -> None:
    said = words(card(find("demo", ModelPolicy(DEMO_MODEL), Hub(offline=True)), warm=True))
    for part in (
        "demo classifier in memory",
        "Family Its architecture, Qwen3ForSequenceClassification, is a sequence classifier.",
        "Parameters 3.8 million",
        "Shape up to 4,096 tokens, vocabulary 8,192, 5 layers, width 192",
        "On disk 7.6 MB in bfloat16, downloaded",
        "Memory 15.2 MB for its weights in float32, 21.3 GB free: AMD EPYC",
        "Time unknown until the first run here",
    ):
        assert part in said
    assert "GPU" not in said
    assert "Licence" not in said


def test_a_policy_is_told_with_its_reference_and_the_boards_facts() -> None:
    html = card(POLICY, GPU)
    said = words(html)
    for part in (
        "Reference model HuggingFaceH4/mistral-7b-sft-beta",
        "On disk 14.5 GB in bfloat16; to download: 16.0 GB",
        "Memory 29.0 GB for its weights in bfloat16, 139 GB free: NVIDIA H200",
        "GPU seconds",
        "On the leaderboard template its tokenizer's, batch 4, dtype not set, max length not set",
        "Apache License 2.0; see its card",
    ):
        assert part in said
    assert 'href="https://huggingface.co/HuggingFaceH4/zephyr-7b-beta"' in html


def test_a_model_that_is_too_large_fills_its_bar() -> None:
    large = replace(POLICY, parameters=70_000_000_000, reference=None)
    assert 'class="progress full"><i style="width:100%"' in card(large)
    assert 'class="progress"><i style="width:50%"' in card(large, GPU, device="spread")
    assert "278 GB free: 2 GPUs together" in words(card(large, GPU, device="spread"))


def test_where_nobody_can_tell_what_is_free_no_bar_is_shown() -> None:
    html = card(POLICY, replace(CPU, free_bytes=0, all_free_bytes=0))
    assert "progress" not in html
    assert "Memory 57.9 GB for its weights in float32: AMD EPYC" in words(html)


def test_a_baseline_has_neither_disk_nor_memory() -> None:
    said = words(
        card(
            LocatedModel(ModelSpec("baseline/longer", "", "", "longer"), "A baseline has no model.")
        )
    )
    assert "Time unknown until the first run here" in said
    for part in ("On disk", "Memory", "Licence", "Weights", "Shape"):
        assert part not in said


def test_without_a_network_the_menu_marks_models_that_are_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = "Skywork/Skywork-Reward-V2-Qwen3-4B"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    (tmp_path / "models--Skywork--Skywork-Reward-V2-Qwen3-4B" / "snapshots").mkdir(parents=True)
    settings = Settings(home=tmp_path)
    offered = {name: words for words, name in offered_models(settings, Hub(offline=True))}
    away = [name for name, words in offered.items() if words.endswith("not on this machine")]
    assert len(away) > 50 and not {here, "demo", "longer"} & {*away}
    assert [*offered].index(here) < min(map([*offered].index, away))
    assert "not on this machine" not in str(offered_models(settings, Hub()))


def test_what_was_not_counted_is_told_as_a_guess() -> None:
    assert "Parameters about 7.2 billion, from the size of its files" in words(
        card(replace(POLICY, is_counted=False))
    )


def test_a_model_that_cannot_run_says_why() -> None:
    name = "Skywork/Skywork-VL-Reward-7B"
    seen = LocatedModel(ModelSpec(name, "", ""), architecture="X", parameters=9)
    assert 'class="note wrong">It is a model of pictures and text' in card(seen)


def test_runs_that_tell_the_speed_are_counted() -> None:
    seen = find("demo", ModelPolicy(DEMO_MODEL), Hub(offline=True))
    nothing = estimate(WORK, seen, CPU, RunSettings())
    told = replace(nothing, seconds=9.0, low=5.0, high=15.0, basis="measured", n_runs=3)
    forecast = Forecast(seen, CPU, told, None, warm=False)
    assert "from 3 earlier runs here</small>" in model_card_html(forecast, None)
    once = replace(forecast, estimate=replace(told, n_runs=1, basis="other models"))
    assert "from 1 earlier run here of other models, by their sizes" in model_card_html(once, None)


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (None, ""),
        (250.0, "Allowance 4 min 10 s of scoring left this hour, loading included "),
        (1.0, "this hour, loading included: the run will stop then, and can be resumed when"),
    ],
)
def test_what_is_left_to_a_visitor_is_told(left: float | None, said: str) -> None:
    seen = find("demo", ModelPolicy(DEMO_MODEL), Hub(offline=True))
    told = estimate(WORK, seen, CPU, RunSettings())
    told = replace(told, seconds=20.0, low=9.0, high=30.0)
    card = words(model_card_html(Forecast(seen, CPU, told, None, False, seconds_left=left), None))
    assert said in card and ("Allowance" in card) == bool(said)


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", '"><b>', "'&lt;"])
def test_no_text_is_believed(text: str) -> None:
    spec = replace(POLICY.spec, name=text, own_code=True)
    seen = replace(
        POLICY,
        spec=spec,
        why=text,
        architecture=text,
        dtype=text,
        reference=replace(POLICY, spec=spec),
        tokenizer=LocatedModel(spec),
    )
    html = card(seen, replace(CPU, name=text))
    assert text not in html
    assert "<img" not in html
