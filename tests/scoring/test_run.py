import math
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification

from scoring.errors import KnownError
from scoring.models import RewardModel, load
from scoring.run import score
from scoring.spec import ModelSpec, Pair, RunSettings, ScoredPair, text_hash
from tests.conftest import DEMO_MODEL
from tests.scoring.test_classifier import bert, deberta, gpt2, llama, roberta
from tests.scoring.test_formatting import WITH_BOS, words_tokenizer


def score_all(
    pairs: list[Pair], model: RewardModel, settings: RunSettings | None = None
) -> dict[str, ScoredPair]:
    packs = list(score(pairs, model, settings or RunSettings()))
    scored = {row.key: row for pack in packs for row in pack}
    assert len(scored) == sum(map(len, packs))
    return scored


def pair(number: int, chosen: str, rejected: str, prompt: str = "Name a colour.") -> Pair:
    return Pair(f"mine:{number}", "mine", prompt, chosen, rejected)


@pytest.fixture(scope="module")
def some_pairs(demo_pairs: list[Pair]) -> list[Pair]:
    """Short ones, so that the tests are quick."""
    return sorted(demo_pairs, key=lambda pair: len(pair.prompt + pair.chosen + pair.rejected))[:24]


@pytest.fixture(scope="module")
def all_scored(some_pairs: list[Pair], demo_model: RewardModel) -> dict[str, ScoredPair]:
    return score_all(some_pairs, demo_model)


def test_each_pair_is_scored_once_and_says_what_it_is(
    all_scored: dict[str, ScoredPair], some_pairs: list[Pair], demo_model: RewardModel
) -> None:
    assert all_scored.keys() == {each.key for each in some_pairs}
    formatter = demo_model.formatter(RunSettings())
    for each in some_pairs:
        row, tokens = all_scored[each.key], formatter.tokenize(each)
        assert row.subset == each.subset
        assert row.text_hash == text_hash(each.prompt, each.chosen, each.rejected)
        assert (row.chosen_tokens, row.rejected_tokens) == (
            len(tokens.chosen),
            len(tokens.rejected),
        )
        assert not (row.chosen_truncated or row.rejected_truncated)


def test_each_side_has_the_reward_that_transformers_gives_it(
    all_scored: dict[str, ScoredPair], some_pairs: list[Pair], demo_model: RewardModel
) -> None:
    for each in some_pairs[::8]:
        row = all_scored[each.key]
        for response, reward in (
            (each.chosen, row.chosen_reward),
            (each.rejected, row.rejected_reward),
        ):
            text = (
                f"<|im_start|>user\n{each.prompt}<|im_end|>\n"
                f"<|im_start|>assistant\n{response}<|im_end|>"
            )
            ids = demo_model.tokenizer(text, add_special_tokens=False, return_tensors="pt")
            with torch.inference_mode():
                expected = demo_model.model(input_ids=ids.input_ids).logits.item()
            assert reward == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    "settings",
    [RunSettings(batch_tokens=1), RunSettings(batch_tokens=500), RunSettings(seed=7)],
)
def test_a_pair_scores_the_same_whatever_is_beside_it(
    settings: RunSettings,
    all_scored: dict[str, ScoredPair],
    some_pairs: list[Pair],
    demo_model: RewardModel,
) -> None:
    for row in score_all(some_pairs[5:18], demo_model, settings).values():
        before = all_scored[row.key]
        assert row.chosen_reward == pytest.approx(before.chosen_reward, abs=1e-5)
        assert row.rejected_reward == pytest.approx(before.rejected_reward, abs=1e-5)


def test_the_order_is_seeded_and_random(some_pairs: list[Pair], demo_model: RewardModel) -> None:
    def order(seed: int) -> list[str]:
        settings = RunSettings(seed=seed, max_length=8)
        return [row.key for pack in score(some_pairs, demo_model, settings) for row in pack]

    first, second = order(0), order(1)
    assert order(0) == first
    assert first != second
    assert sorted(first) == sorted(second)
    assert first != [each.key for each in some_pairs]


def test_stopping_ends_the_stream_after_the_present_pack(
    some_pairs: list[Pair], demo_model: RewardModel
) -> None:
    stop = threading.Event()
    packs = []
    for pack in score(some_pairs, demo_model, RunSettings(max_length=8), stop=stop):
        packs.append(pack)
        stop.set()
    assert len(packs) == 1
    assert 0 < len(packs[0]) < len(some_pairs)


def test_a_run_stopped_before_it_began_scores_nothing(
    some_pairs: list[Pair], demo_model: RewardModel
) -> None:
    stop = threading.Event()
    stop.set()
    assert list(score(some_pairs, demo_model, RunSettings(), stop=stop)) == []


def test_no_pairs_is_told(demo_model: RewardModel) -> None:
    with pytest.raises(KnownError, match="No pairs are selected"):
        list(score([], demo_model, RunSettings()))


def test_equal_responses_tie_exactly(demo_model: RewardModel) -> None:
    pairs = [
        pair(number, text, text) for number, text in enumerate(["", "Red.", "blue " * 50, "青い"])
    ]
    pairs.append(pair(9, "Red.", "Not red."))
    scored = score_all(pairs, demo_model)
    assert scored.pop("mine:9").outcome != "tie"
    assert [(row.margin, row.outcome) for row in scored.values()] == [(0.0, "tie")] * 4


@pytest.mark.parametrize("response", ["", " ", "a", "\n", "\0", "🤔", "<|im_end|>", "\ufffd"])
def test_the_shortest_responses_have_rewards(response: str, demo_model: RewardModel) -> None:
    row = score_all([pair(1, response, "Red, like a fire engine.")], demo_model)["mine:1"]
    assert row.outcome in ("win", "loss")
    assert row.chosen_tokens <= row.rejected_tokens


def test_the_responses_side_decides_and_not_the_place(demo_model: RewardModel) -> None:
    scored = score_all([pair(1, "Red.", "No."), pair(2, "No.", "Red.")], demo_model)
    assert scored["mine:1"].chosen_reward == scored["mine:2"].rejected_reward
    assert scored["mine:1"].margin == -(scored["mine:2"].margin or math.nan)


def test_a_prompt_of_100_000_characters_is_cut_and_said_on_both_sides(
    demo_model: RewardModel,
) -> None:
    prompt = "Seven lazy foxes jump over it. " * 3300
    assert len(prompt) > 100_000
    row = score_all([pair(1, "Red.", "Blue.", prompt)], demo_model)["mine:1"]
    assert (row.chosen_truncated, row.rejected_truncated) == (True, True)
    assert (row.chosen_tokens, row.rejected_tokens) == (4096, 4096)
    assert row.outcome in ("win", "loss")


def test_cutting_on_the_left_keeps_the_response_and_on_the_right_the_prompt(
    demo_model: RewardModel,
) -> None:
    long = pair(1, "Red.", "Blue.", "Seven lazy foxes jump over it. " * 20)
    sides = [
        score_all([long], demo_model, RunSettings(max_length=50, truncation_side=side))["mine:1"]
        for side in ("left", "right")
    ]
    assert [(row.chosen_tokens, row.rejected_tokens) for row in sides] == [(50, 50)] * 2
    assert [row.outcome == "tie" for row in sides] == [False, True]


def words_model(config: Any, template: str) -> RewardModel:
    """A random model of another kind, with a tokenizer that sets no limit."""
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(config).eval()
    tokenizer = words_tokenizer(template, bos_token="<s>", eos_token="</s>")
    return RewardModel(ModelSpec("random", "", ""), model, tokenizer)


@pytest.mark.parametrize("config", [llama, gpt2, bert, roberta, deberta])
def test_a_prompt_above_a_models_positions_is_cut_to_them(config: Callable[[], Any]) -> None:
    model = words_model(config(), WITH_BOS)
    row = score_all([pair(1, "two", "three", "one " * 100)], model)["mine:1"]
    assert row.chosen_truncated
    assert 60 <= row.chosen_tokens <= 64


def test_a_template_that_says_nothing_is_told_in_a_sentence() -> None:
    with pytest.raises(KnownError):
        score_all([pair(1, "two", "three")], words_model(llama(), " "))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_model_that_gives_no_number_leaves_the_pair_missing(bad: float, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(DEMO_MODEL, tmp_path / "model"))
    weights = load_file(folder / "model.safetensors")
    weights["score.weight"].fill_(bad)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    broken = load(ModelSpec("broken", str(folder), "x"), RunSettings(device="cpu"))
    row = score_all([pair(1, "Red.", "No.")], broken)["mine:1"]
    assert (row.chosen_reward, row.rejected_reward) == (None, None)
    assert (row.margin, row.outcome) == (None, "missing")
