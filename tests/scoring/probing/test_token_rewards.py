"""Rewards token by token, against plain transformers asked anew for each beginning of a text."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import processors
from transformers import AutoTokenizer, ByT5Tokenizer

from scoring.engine.formatting import Formatter, TokenSequence
from scoring.engine.formatting import Tokenizer as AnyTokenizer
from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import Baseline
from scoring.families.classifier import Classifier
from scoring.probing.token_rewards import (
    Piece,
    SideRewards,
    TokenReward,
    TokenRewards,
    largest_jumps,
    locate_tokens,
    response_span,
    side_pieces,
    token_rewards,
)
from scoring.spec import ModelSpec, Pair, RunSettings
from tests.conftest import DEMO_MODEL
from tests.support.rounding import DEMO, near
from tests.support.small_models import (
    CPU,
    DOUBLED,
    PACKED,
    PAIRS,
    bert,
    bloom,
    gemma3,
    gpt2,
    opened,
    plain,
    save,
    tokenizer,
)

MIXED = Pair(
    *("s:mixed", "s", "Translate: water 🤔", "Das ist 青い水 🤔🤔, naïve.\n\n", "青い水 is über 🤔")
)
SMALL_PAIR = Pair("s:1", "s", "w5 w6 w9", "w7 w8 w4", "w7 w12 w13 w14")


def assert_as_prefixes(told: TokenRewards, scorer: Scorer, model: Any, n_places: int) -> None:
    """As the model itself has the beginnings of a text, each alone, as upstream's script does.

    At so many places of each side, its last among them, and before its first token.
    """
    (prepared,) = scorer.prepare([told.pair])
    for side, sequence in zip((told.chosen, told.rejected), prepared.sides, strict=True):
        assert side.before is not None
        got = [side.before, *side.rewards]
        ids, first = sequence.ids, len(sequence.ids) - len(side.tokens)
        places = [*range(0, len(side.tokens), -(-len(side.tokens) // n_places)), len(side.tokens)]
        with torch.inference_mode():
            expected = [model(torch.tensor([ids[: first + n]])).logits.item() for n in places]
        shape = {"layers": model.config.num_hidden_layers, "width": model.config.hidden_size}
        assert [got[place] for place in places] == near(expected, **shape)


def assert_last_is_the_runs(told: TokenRewards, scorer: Scorer, **shape: Any) -> None:
    (rewards,) = scorer.rewards(scorer.prepare([told.pair]))
    assert [told.chosen.reward, told.rejected.reward] == near(rewards, **shape)


def text_of(side: SideRewards) -> str:
    return "".join(token.piece for token in side.tokens)


def test_the_demo_models_rewards_are_those_of_each_beginning(demo_scorer: Scorer) -> None:
    """Pieces are the text and say what is the response; each token is computed once."""
    assert isinstance(demo_scorer, Classifier)
    entered: list[int] = []
    hook = demo_scorer.loaded.model.get_input_embeddings().register_forward_hook(
        lambda _, inputs, __: entered.append(inputs[0].numel())
    )
    try:
        told = token_rewards(demo_scorer, MIXED)
    finally:
        hook.remove()
    (prepared,) = demo_scorer.prepare([MIXED])
    assert entered == [32 + 16, prepared.cost], "beside the few that prove the model causal"
    assert prepared.cost < len(prepared.chosen.ids) + len(prepared.rejected.ids)
    assert_as_prefixes(told, demo_scorer, plain(DEMO_MODEL), n_places=6)
    assert_last_is_the_runs(told, demo_scorer, **DEMO)
    assert max(abs(jump.change) for jump in largest_jumps(told.chosen)) > 0.5
    assert (told.pair, told.model, told.traits) == (MIXED, demo_scorer.spec, demo_scorer.traits)
    for side, response in ((told.chosen, MIXED.chosen), (told.rejected, MIXED.rejected)):
        assert text_of(side) == f"{response}<|im_end|>" and not side.truncated
        n_tokens = len(side.tokens) - 1
        assert [token.in_response for token in side.tokens] == [*([True] * n_tokens), False]


@pytest.mark.parametrize("config", [gemma3, gpt2, bloom])
def test_small_models_rewards_are_those_of_each_beginning(
    config: Callable[[], Any], tmp_path: Path
) -> None:
    """Packed and padded, with windows and without, at every place of every kind of pair."""
    folder = save(tmp_path, config())
    scorer, model = opened(folder), plain(folder)
    assert (scorer.traits.path == PACKED) == (config is not bloom)
    for pair in [pair for pair in PAIRS if pair.chosen and pair.rejected][::3]:
        told = token_rewards(scorer, pair)
        assert_as_prefixes(told, scorer, model, n_places=12)
        assert_last_is_the_runs(told, scorer)


@pytest.mark.parametrize("max_length", [None, 8])
def test_run_rms_tokens_end_where_it_reads(max_length: int | None, tmp_path: Path) -> None:
    """A masked BOS before the text, or one put before what is left of it; EOS is padding."""
    made = tokenizer(DOUBLED, pad=None)
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 2)]
    )
    settings = replace(CPU, upstream_compatible=True, max_length=max_length)
    scorer = opened(save(tmp_path, gpt2(), made), settings)
    long = replace(SMALL_PAIR, rejected="w7 w12 w13 w14 w15 w16 w17")
    told = token_rewards(scorer, long)
    assert text_of(told.chosen).split() == long.chosen.split()
    said = long.rejected.split()
    kept = said if max_length is None else said[-(max_length - 2) :]
    assert text_of(told.rejected).split() == kept
    assert told.rejected.truncated == (max_length is not None)
    assert_last_is_the_runs(told, scorer)


def test_what_sides_share_is_equal_to_the_last_bit(demo_scorer: Scorer) -> None:
    for n in (1, 2, 7):
        told = "one 水 two, " * n
        same = token_rewards(demo_scorer, Pair("s:1", "s", "p", told, told))
        assert same.chosen == same.rejected
    longer = token_rewards(demo_scorer, replace(MIXED, rejected=MIXED.chosen + "No."))
    n = len(longer.chosen.tokens) - 2
    assert longer.chosen.before == longer.rejected.before
    assert longer.chosen.rewards[:n] == longer.rejected.rewards[:n]
    assert longer.chosen.reward != longer.rejected.reward


def test_models_without_a_reward_after_each_token_are_named(tmp_path: Path) -> None:
    """Also a decoder that sees what follows, however small its rewards are."""
    seeing = gemma3()
    seeing.use_bidirectional_attention = True
    seeing.layer_types = ["full_attention"] * 2
    for scorer, said in (
        (
            Baseline(ModelSpec("baseline/longer", "", "", "longer"), CPU),
            "is of family longer, which",
        ),
        (opened(save(tmp_path / "encoder", bert())), "one reward for a whole text, and none after"),
        (opened(save(tmp_path / "seeing", seeing, scale=1e-5)), "sees the whole text at each"),
    ):
        with pytest.raises(KnownError, match=said):
            token_rewards(scorer, SMALL_PAIR)


def test_the_tokens_with_which_the_reward_changed_most_come_first_whatever_the_sign() -> None:
    """The first one counts where the reward before it is known, and none that is no number."""
    for before, rewards, jumps in (
        (0.0, [1.0, -2.0, -1.5, 3.0], [(3, 4.5), (1, -3.0), (0, 1.0), (2, 0.5)]),
        (None, [9.0, 10.0], [(1, 1.0)]),
        (0.0, [1.0, math.nan, 2.0, math.inf, 3.0, 4.0], [(0, 1.0), (5, 1.0)]),
    ):
        tokens = tuple(TokenReward("a", True, reward) for reward in rewards)
        side = SideRewards(tokens, before, truncated=False)
        assert largest_jumps(side) == jumps
        assert largest_jumps(side, 2) == jumps[:2]


# Where in a text its tokens stand, and which are the response's.

ODD = "Red, 青い水 🤔🤔 über…\n\n  naïve\tend "


@pytest.fixture(scope="module")
def demo() -> AnyTokenizer:
    return AutoTokenizer.from_pretrained(DEMO_MODEL)


def pieces(tokenizer: AnyTokenizer, text: str) -> list[str]:
    ids, spans = locate_tokens(tokenizer, text, special=False)
    assert ids == tuple(tokenizer(text, add_special_tokens=False).input_ids)
    assert len(spans) == len(ids)
    return [text[start:end] for start, end in spans]


def sides(pair: Pair, tokenizer: AnyTokenizer, **settings: object) -> list[list[Piece]]:
    used = Formatter(tokenizer, 10_000, RunSettings(**settings))  # type: ignore[arg-type]
    return side_pieces(used, used.prepare([pair])[0])


@given(text=st.text())
def test_pieces_join_to_the_text(text: str, demo: AnyTokenizer) -> None:
    assert "".join(pieces(demo, text)) == text


def test_offsets_without_their_spaces_or_none_at_all_come_to_the_same(demo: AnyTokenizer) -> None:
    """As Llama 3's post-processor trims them; a token of ByT5 is a byte, found by decoding."""
    trimmed = AutoTokenizer.from_pretrained(DEMO_MODEL)
    trimmed.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    told = trimmed(ODD, return_offsets_mapping=True).offset_mapping
    assert told != demo(ODD, return_offsets_mapping=True).offset_mapping
    assert pieces(trimmed, ODD) == pieces(demo, ODD)
    assert pieces(demo, "ab 🤔c") == ["ab", " ", "", "", "", "🤔", "c"]
    expected = ["a", " ", "", "é", "", "", "", "🤔", "b", "</s>", "c"]
    assert pieces(ByT5Tokenizer(), "a é🤔b</s>c") == expected


def test_a_response_is_what_the_template_does_not_write() -> None:
    """Which may write the same words, look at them, or leave them out."""
    for text, marked, span in (
        ("<u>end<a>end<end>", "<u>end<a>*<end>", (9, 12)),
        ("<a><<end>", "<a>*<end>", (3, 4)),
        ("<a>think<end>", "<a>no thoughts*<end>", (3, 8)),
        ("<a>words", "<a>", (3, 8)),
    ):
        assert response_span(text, marked, "*") == span


def test_a_trimmed_response_is_placed_and_an_empty_one_refused(demo: AnyTokenizer) -> None:
    trimming = AutoTokenizer.from_pretrained(DEMO_MODEL)
    trimming.chat_template = (
        "{% for each in messages %}{{ each.role }}: {{ each.content | trim }}</s>{% endfor %}"
    )
    placed, _ = sides(Pair("s:1", "s", "one", " two \n", "three"), trimming)
    assert "".join(piece for piece, in_response in placed if in_response).strip() == "two"
    for chosen, rejected, used in (("", "two", demo), ("two", "", demo), (" \n ", "two", trimming)):
        named = "chosen" if chosen != "two" else "rejected"
        with pytest.raises(KnownError, match=f"The {named} response is empty"):
            sides(Pair("s:1", "s", "one", chosen, rejected), used)


def test_truncation_keeps_places_and_a_response_cut_off_is_refused(demo: AnyTokenizer) -> None:
    pair = Pair("s:1", "s", "one", ODD, "two")
    whole, _ = sides(pair, demo)
    left, _ = sides(pair, demo, max_length=9)
    assert left == whole[-9:]
    n = len(Formatter(demo, 10_000, RunSettings()).prepare([pair])[0].chosen.ids)
    right, _ = sides(pair, demo, max_length=n - 9, truncation_side="right")
    assert right == whole[:-9]
    with pytest.raises(KnownError, match=f"chosen response is cut off: .* has {n} tokens, of"):
        sides(pair, demo, max_length=3, truncation_side="right")


def test_other_tokens_than_the_models_are_not_placed(demo: AnyTokenizer) -> None:
    """As of a tokenizer that treats a conversation otherwise than its text."""
    used = Formatter(demo, 100, RunSettings())
    (prepared,) = used.prepare([Pair("s:1", "s", "one", "two", "three")])
    tampered = replace(prepared, chosen=TokenSequence((*prepared.chosen.ids[:-1], 5)))
    with pytest.raises(KnownError, match="does not say where in a text its tokens stand"):
        side_pieces(used, tampered)
