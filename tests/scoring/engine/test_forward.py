"""Which path a model's sequences take, and what happens where the fast one is wrong."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSequenceClassification, PhimoeConfig

from scoring.engine.formatting import Prepared, TokenSequence, as_one_row, joined_pairs
from scoring.engine.forward import Forward, Packed, Padded, choose, proof_of
from scoring.engine.scorer import Rewards
from scoring.run import make_job, score
from scoring.spec import RunSettings
from tests.support.rounding import assert_near
from tests.support.small_models import (
    PACKED,
    PAIRS,
    SMALL,
    WHOLE,
    bert,
    bloom,
    config_of,
    gpt2,
    llama,
    opened,
    phi,
    rewards,
    save,
    token_ids,
)

Config = Callable[[], Any]


READY = joined_pairs(
    PAIRS, [TokenSequence(tuple(ids)) for pair in PAIRS for ids in token_ids(pair)]
)
CHECK = READY[:2]


def random_model(config: Config, **changes: Any) -> Any:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return AutoModelForSequenceClassification.from_config(config(**changes)).eval()


def reader(model: Any) -> Callable[[torch.Tensor, Any], Rewards]:
    def read(rows: torch.Tensor, _: Any) -> Rewards:
        scores = model.score(rows) if hasattr(model, "score") else rows
        return [(chosen, rejected) for chosen, rejected in scores.view(-1, 2).tolist()]

    return read


def chosen_for(model: Any, check: list[Prepared] = CHECK) -> Forward:
    whole = "" if hasattr(model, "score") else WHOLE.removeprefix("padded: ")
    return choose(model, reader(model), check, 200, whole=whole)[0]


def scored(model: Any, forward: Forward, pairs: list[Prepared] = READY) -> torch.Tensor:
    with torch.inference_mode():
        return torch.tensor(reader(model)(forward(pairs), pairs))


def one_at_a_time(model: Any, pairs: list[Prepared] = READY) -> torch.Tensor:
    return scored(model, Padded(model, 1, whole=not hasattr(model, "score"), why=""), pairs)


def test_what_is_off_by_more_than_rounding_is_doubted_however_small_rewards_are() -> None:
    """In bfloat16; an eighth of the rewards' spread is more, and rounding again is not."""
    model = random_model(llama, initializer_range=0.05)
    model.score.weight.data.mul_(1e-3)
    model = model.bfloat16()
    proof = proof_of(model, lambda: one_at_a_time(model, READY[:4]))
    expected = proof.expected
    off = float(expected.std()) / 8
    assert proof.mismatch(expected.tolist()) == ""
    assert proof.mismatch((expected + off).tolist()).startswith("differ by ")
    exact = one_at_a_time(model.float(), READY[:4])
    assert proof.mismatch(exact.tolist()) == ""


def leave(_: Any) -> None:
    """No harm: as the model is."""


def perturb(off: float) -> Callable[[Any], Any]:
    """Answers otherwise where it is packed."""

    def hook(_: Any, __: Any, arguments: dict[str, Any], output: Any) -> Any:
        if "segments" in arguments:
            output.last_hidden_state[:] += off
        return output

    return lambda model: model.model.register_forward_hook(hook, with_kwargs=True)


def refuse(error: Exception) -> Callable[[Any], Any]:
    """Raises an error where it is packed."""

    def hook(_: Any, __: Any, arguments: dict[str, Any]) -> None:
        if "segments" in arguments:
            raise error

    return lambda model: model.model.register_forward_pre_hook(hook, with_kwargs=True)


def forget(model: Any) -> Any:
    """Pays no heed to the mask, so that padding changes its answers."""

    def hook(_: Any, given: Any, arguments: dict[str, Any]) -> Any:
        return given, {**arguments, "attention_mask": None}

    return model.bert.register_forward_pre_hook(hook, with_kwargs=True)


def phimoe() -> Any:
    """Its attention is not told of its window, which for stock attention is in the mask."""
    changes = {"num_key_value_heads": 2, "num_local_experts": 4, "sliding_window": 40}
    return PhimoeConfig(**SMALL, **changes)


UNSUITED = "padded: packs do not suit this model"
LINEAR = f"{UNSUITED} (it has layers of linear attention)"
NO_ARGUMENT = TypeError("no such argument: segments\nsecond line")


@pytest.mark.parametrize(
    ("config", "harm", "path"),
    [
        pytest.param(llama, leave, PACKED, id="unharmed"),
        pytest.param(phi, leave, PACKED, id="another make, whose last layer computes all"),
        pytest.param(bloom, leave, f"{UNSUITED} (no replaceable attention)", id="no attention"),
        pytest.param(bert, leave, WHOLE, id="a whole model"),
        pytest.param(
            phimoe, leave, f"{UNSUITED} (its sliding window stands in its mask", id="a window"
        ),
        # With weights as before training, rewards lie so close that a check sees nothing.
        *(
            pytest.param(partial(config_of, kind, initializer_range=0.02), leave, LINEAR, id=kind)
            for kind in ("jamba", "qwen3_5_text")
        ),
        pytest.param(llama, perturb(3e-3), f"{UNSUITED} (differ by ", id="off by a little"),
        pytest.param(llama, perturb(math.nan), f"{UNSUITED} (differ by ", id="no number"),
        pytest.param(
            *(llama, refuse(NO_ARGUMENT), f"{UNSUITED} (no such argument: segments)"), id="raises"
        ),
        pytest.param(
            *(bert, forget, f"{WHOLE.replace('padded', 'one sequence at a time')}; batches differ"),
            id="no mask",
        ),
    ],
)
def test_a_model_takes_a_path_that_keeps_its_rewards_and_says_why(
    config: Config, harm: Callable[[Any], Any], path: str
) -> None:
    model = random_model(config)
    stock = model.config._attn_implementation
    expected = one_at_a_time(model)
    harm(model)
    forward = chosen_for(model)
    assert forward.path.startswith(path)
    assert model.config._attn_implementation == stock
    got = scored(model, forward)
    assert (got - expected).abs().max() < 2e-5 * expected.std()


def test_lack_of_memory_is_no_reason_to_pad() -> None:
    model = random_model(llama)
    refuse(torch.OutOfMemoryError("CUDA out of memory."))(model)
    with pytest.raises(torch.OutOfMemoryError):
        chosen_for(model)


def test_a_last_layer_that_cannot_be_narrow_is_whole_again() -> None:
    """Its feed-forward looks at the token before, which a narrow one has lost."""
    model = random_model(llama)
    pairs = [p for p in READY if min(len(p.chosen.ids), len(p.rejected.ids)) - p.shared >= 2][:4]
    mlp = model.model.layers[-1].mlp
    mlp.register_forward_hook(lambda _, __, output: output + output.roll(1, dims=1))
    expected = one_at_a_time(model, pairs)
    forward = chosen_for(model, check=pairs[:2])
    assert isinstance(forward, Packed)
    assert_near(scored(model, forward, pairs), expected)
    seen: list[int] = []
    mlp.register_forward_pre_hook(lambda _, given: seen.append(given[0].shape[1]))
    scored(model, forward, pairs)
    assert seen == [sum(pair.cost for pair in pairs)]


@pytest.mark.parametrize(("config", "start"), [(llama, 0), (gpt2, 1)])
def test_rows_that_share_their_beginning_have_each_responses_own_reward(
    config: Config, start: int
) -> None:
    """Also where upstream masks a doubled first token, so that the next one stands at 1."""
    model = random_model(config)
    beginning = (7, 5, 3, 9, 4)
    ends = [((6,), (8, 6)), ((4, 4, 6), (9, 6)), ((5, 8, 7, 6), (5, 8, 7, 6))]
    rows = []
    for prompt in (beginning, beginning[::-1]):
        sides = [TokenSequence(prompt + end, start=start) for both in ends for end in both]
        rows += as_one_row(f"s:{prompt}", joined_pairs(PAIRS[:1] * 3, sides))
    assert [part.common for part in rows] == [0, 5, 5] * 2
    with torch.inference_mode():
        packed = reader(model)(Packed(model, narrow=False)(rows), rows)
        single = [
            model(torch.tensor([ids]), position_ids=torch.arange(start, start + len(ids))[None])
            for part in rows
            for ids in (part.chosen.ids, part.rejected.ids)
        ]
    assert_near(torch.tensor(packed).ravel(), torch.cat([each.logits for each in single]).ravel())


def test_a_long_pack_is_computed_in_rows_that_a_cpu_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoring.engine.forward._CPU_ROW", 150)
    model = random_model(llama)
    expected = one_at_a_time(model)
    forward = chosen_for(model)
    rows: list[int] = []
    model.model.register_forward_pre_hook(
        lambda _, __, given: rows.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    assert_near(scored(model, forward), expected)
    costs = [pair.cost for pair in READY]
    assert len(rows) > 1 and sum(rows) == sum(costs)
    assert max(rows) <= max(150, *costs)


def wrong(layer: Any, **_: Any) -> Any:
    """A compiler whose code gives something else."""
    return lambda *given, **named: layer(*given, **named) * 1.01


def failing(layer: Any, **_: Any) -> Any:
    """One whose code fails amid a run."""

    def short(hidden: torch.Tensor, **named: Any) -> Any:
        assert hidden.shape[1] < 100, "a shape that it cannot take"
        return layer(hidden, **named)

    return short


@pytest.mark.parametrize(
    ("compiler", "at_first", "why"),
    [
        (wrong, f"{PACKED}; not compiled: differ by ", "differ by "),
        (failing, f"{PACKED}, layers compiled", "a shape that it cannot take"),
    ],
)
def test_a_run_goes_on_uncompiled_where_compiling_changes_rewards_or_fails(
    compiler: Any, at_first: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save(tmp_path, llama())
    expected = rewards(opened(folder), PAIRS)
    monkeypatch.setattr("torch.compile", compiler)
    scorer = opened(folder, RunSettings(device="cpu", dtype="float32", compile="on"))
    scorer.prepare_for_tokens(1)
    assert scorer.traits.path.startswith(at_first)
    (pack,) = score(make_job(PAIRS, scorer, 0), scorer)
    assert pack.path.startswith(f"{PACKED}; not compiled: {why}")
    got = {row.key: [row.chosen_reward, row.rejected_reward] for row in pack.rows}
    assert_near(torch.tensor([got[pair.key] for pair in PAIRS]), expected)
