"""Heads that are no plain linear layer: their rewards are what their formulas say."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.models.finding import locate
from scoring.spec import Pair, as_objects
from tests.support.named_rows import by_sentence
from tests.support.rounding import assert_near
from tests.support.small_heads import HEADS, TURN, formula_rewards, write_headed
from tests.support.small_models import (
    CPU,
    OFFLINE,
    OPEN,
    PACKED,
    PAIRS,
    rewards,
    token_ids,
    tokenizer,
)


@pytest.fixture
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of a model with the head that the test names."""
    key = next(each for each in HEADS if each[0] == request.param)
    return write_headed(tmp_path, *key)[0]


def with_head(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("written", names, indirect=True)


def opened(folder: Path, **settings: Any) -> Any:
    return open_scorer(locate(str(folder), OPEN, OFFLINE), replace(CPU, **settings))


def sides(scorer: Any, pairs: Sequence[Pair] = PAIRS) -> list[tuple[tuple[int, ...], int]]:
    """Each side's tokens, and how many of the last are read."""
    return [(side.ids, side.tail) for pair in scorer.prepare(pairs) for side in pair.sides]


@pytest.mark.parametrize("kind", HEADS, ids=" ".join)
def test_a_reward_is_what_the_heads_formula_makes_of_the_last_hidden_state(
    kind: tuple[str, str], tmp_path: Path
) -> None:
    folder, base, read = write_headed(tmp_path, *kind)
    scorer = opened(folder)
    assert scorer.traits.path == PACKED
    got = rewards(scorer, PAIRS).flatten()
    assert_near(got, formula_rewards(scorer.prepare(PAIRS), base, read))
    assert len({*got.tolist()}) > len(PAIRS)
    assert ("minus its cost" in scorer.traits.reading) == (kind[0] == "Beaver, a cost")
    assert ("not compared with its authors'" in scorer.traits.reading) == (kind[0] == "QRM v2")


@with_head("Nemotron-Principle")
def test_a_logit_is_the_one_that_nemotrons_card_has_written_and_its_question_is_never_cut_off(
    written: Path,
) -> None:
    names = AutoTokenizer.from_pretrained(written)
    model = AutoModelForCausalLM.from_pretrained(written, dtype=torch.float32).eval()
    question = (
        "Evaluate the response to the previous prompt in terms of whether it satisfies this "
        "principle: correctness. Only answer Yes or No."
    )
    expected = []
    for pair in PAIRS:
        for response in (pair.chosen, pair.rejected):
            messages = [*as_objects(pair.answered(response)), {"role": "user", "content": question}]
            ids = names.apply_chat_template(
                messages, add_generation_prompt=True, return_tensors="pt"
            )
            with torch.inference_mode():
                scores = model(**ids).logits[0, -1]
            expected.append(scores[9642] - scores[2822])
    assert_near(rewards(opened(written), PAIRS).flatten(), torch.stack(expected))
    end = tuple(ids.input_ids[0, -20:].tolist())
    for how in ({"max_length": 20}, {"upstream_compatible": True, "chat_template": "tulu"}):
        assert all(ids[-20:] == end for ids, _ in sides(opened(written, **how)))
    with pytest.raises(KnownError, match="would be cut off: leave --truncation-side out"):
        opened(written, truncation_side="right")


@with_head("GPM")
def test_a_head_that_compares_is_of_a_family_that_does(written: Path) -> None:
    scorer = opened(written, dtype="bfloat16")
    assert (scorer.spec.family, scorer.traits.dtype) == ("pairrm", "float32")
    assert "not comparable between pairs" in scorer.traits.reading
    swapped = [replace(pair, chosen=pair.rejected, rejected=pair.chosen) for pair in PAIRS]
    assert_near(rewards(scorer, PAIRS).flip(1), rewards(scorer, swapped))


@with_head("ArmoRM", "GPM")
def test_a_gate_is_read_where_the_response_is_about_to_begin(written: Path) -> None:
    scorer = opened(written)
    names = scorer.formatter.tokenizer
    for ids, tail in sides(scorer):
        assert names.convert_ids_to_tokens(list(ids[len(ids) - tail :][:4])) == TURN
    # Cut off on the left, the gate is gone, and the pair has no reward; a shorter one has.
    short = Pair("s:1", "s", "w4", "w5", "w6")
    long = Pair("s:2", "s", "w4", "w5", " ".join(["w6"] * 30))
    known, other = rewards(opened(written, max_length=12), [short, long])
    assert known.isfinite().all()
    assert other.isnan().tolist() == [written.name == "gpm-llama", True]
    with pytest.raises(KnownError, match=r"which 4 tokens leave no room for\. .*--max-length"):
        opened(written, max_length=4)


@with_head("QRM")
def test_a_head_stays_in_float32_where_the_model_does_not(written: Path) -> None:
    stored = load_file(written / "model.safetensors")
    model = opened(written, dtype="bfloat16").loaded.model
    assert model.dtype == torch.bfloat16
    head = {name: each for name, each in model.state_dict().items() if "model." not in name}
    assert head and all(torch.equal(each, stored[name]) for name, each in head.items())


@with_head("ArmoRM", "InternLM2", "Nemotron-Principle")
def test_a_head_that_wants_more_than_a_last_token_has_no_reward_after_each(written: Path) -> None:
    scorer = opened(written)
    with pytest.raises(KnownError, match="has no reward after each token"):
        scorer.at_tails(scorer.prepare(PAIRS[:1])[0])


@with_head("InternLM2")
def test_a_sequence_that_is_cut_keeps_the_reward_token(written: Path) -> None:
    whole = [ids for pair in PAIRS for ids in token_ids(pair)]
    assert [list(ids) for ids, _ in sides(opened(written))] == [[*ids, 50] for ids in whole]
    cut = sides(opened(written, max_length=8))
    assert {(len(ids), ids[-1]) for ids, _ in cut if len(ids) > 7} == {(8, 50)}
    assert {ids for ids, _ in sides(opened(written, max_length=1))} == {(50,)}


def lay(name: str, *shape: int, instead: str = "") -> Callable[[Path], None]:
    """Puts weights into a model's file, or in the place of others."""

    def harm(folder: Path) -> None:
        path = folder / "model.safetensors"
        weights = {**load_file(path), name: torch.zeros(shape)}
        weights.pop(instead, None)
        save_file(weights, path, {"format": "pt"})

    return harm


def widen_gate(folder: Path) -> None:
    wide = {"network.0.weight": torch.zeros(3, 33), "network.0.bias": torch.zeros(3)}
    torch.save(wide, folder / "gating_layer.pt")


def forget_tokens(folder: Path) -> None:
    tokenizer().save_pretrained(folder)


HEAD = "regression_head.weight"


@pytest.mark.parametrize(
    ("written", "harm", "said"),
    by_sentence(
        ("UltraRM", lay(HEAD, 1, 33), f"its {HEAD} is of 1 × 33, and its config says 1 × 32"),
        ("GPM", lay("prompt_head.weight", 2, 32), "2 × 32, and its config says 3 × 32"),
        ("UltraRM", lay("v_head.weight", 1, 32, instead=HEAD), f"its weights lack {HEAD}"),
        ("LDL", widen_gate, "gating_layer.network.0.weight is of 3 × 33, and 32"),
        ("LDL", lambda folder: (folder / "gating_layer.pt").unlink(), "gating_layer.pt"),
        ("Athene", forget_tokens, "token 128,003, <|reserved_special_token_1|>, and its tokenizer"),
        ("QRM", forget_tokens, "<|eot_id|>', which its chat template"),
    ),
    indirect=["written"],
)
def test_what_is_not_such_a_head_is_refused(
    written: Path, harm: Callable[[Path], object], said: str
) -> None:
    harm(written)
    with pytest.raises(KnownError, match=re.escape(said)):
        opened(written)
