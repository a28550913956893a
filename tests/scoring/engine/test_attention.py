"""Packed tokens attend as each side alone would."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scoring.engine import attention
from scoring.engine.attention import write_pack
from scoring.engine.formatting import Prepared, TokenSequence, joined_pairs
from scoring.spec import Pair
from tests.gpu import emulated
from tests.support.rounding import assert_near

CPU = torch.device("cpu")
PAIR = Pair("s:1", "s", "p", "c", "r")
HEADS, DIM = 4, 8


def pair_of(chosen: TokenSequence, rejected: TokenSequence) -> Prepared:
    return joined_pairs([PAIR], [chosen, rejected])[0]


@st.composite
def prepared_pairs(draw: st.DrawFn) -> Prepared:
    """Few different tokens, so that prefixes, equal pairs and short tails all turn up."""
    tokens = st.lists(st.integers(0, 3), max_size=6)
    beginning = tuple(draw(tokens))
    sides = []
    for start in draw(st.sampled_from([(0, 0), (1, 1), (0, 1), (1, 0)])):
        ids = (*beginning, *draw(tokens), draw(st.integers(0, 3)))
        sides.append(TokenSequence(ids, start=start, tail=draw(st.integers(1, len(ids)))))
    return pair_of(*sides)


@given(st.lists(prepared_pairs(), min_size=1, max_size=5))
def test_each_token_is_written_once_at_its_place_and_read_at_tails(pairs: list[Prepared]) -> None:
    pack = write_pack(pairs, CPU, variable_length=False)
    written: list[tuple[int, int]] = []
    read: list[int] = []
    for pair in pairs:
        first = len(written)
        chosen, rejected = (
            [(token, side.start + place) for place, token in enumerate(side.ids)]
            for side in pair.sides
        )
        written += [*chosen, *rejected[pair.shared :]]
        places = range(first, len(written))
        of_rejected = [*places[: pair.shared], *places[len(chosen) :]]
        read += [*places[: len(chosen)][-pair.chosen.tail :], *of_rejected[-pair.rejected.tail :]]
    assert list(zip(pack.ids.tolist(), pack.positions.tolist(), strict=True)) == written
    assert pack.tails.tolist() == read


class Layer(torch.nn.Module):
    is_causal = True

    def __init__(self, index: int = 0) -> None:
        super().__init__()
        self.layer_idx = index


def random_tokens(n: int, kv_heads: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.set_num_threads(1)
    torch.manual_seed(n + kv_heads)
    return (
        torch.randn(1, HEADS, n, DIM) * 2,
        torch.randn(1, kv_heads, n, DIM),
        torch.randn(1, kv_heads, n, DIM),
    )


def masked_softmax(
    pairs: list[Prepared],
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scaling: float,
    window: int | None,
    softcap: float = math.inf,
    s_aux: torch.Tensor | None = None,
) -> torch.Tensor:
    """[tokens, heads, dim] by one full mask over all written tokens, told from the pairs alone."""
    n = query.shape[2]
    seen = torch.zeros(n, n, dtype=torch.bool)
    first = 0
    for pair in pairs:
        chosen = list(range(first, first + len(pair.chosen.ids)))
        own = list(range(first + len(pair.chosen.ids), first + pair.cost))
        for side in (chosen, chosen[: pair.shared] + own):
            for place, token in enumerate(side):
                least = 0 if window is None else max(0, place - window + 1)
                seen[token, side[least : place + 1]] = True
        first += pair.cost
    groups = query.shape[1] // key.shape[1]
    keys, values = key[0].repeat_interleave(groups, 0), value[0].repeat_interleave(groups, 0)
    products = (query[0] @ keys.transpose(1, 2)) * scaling
    if softcap < math.inf:
        products = torch.tanh(products / softcap) * softcap
    grown = products.masked_fill(~seen, -math.inf).exp()
    at_sinks = 0 if s_aux is None else s_aux.exp()[:, None, None]
    weights = grown / (grown.sum(-1, keepdim=True) + at_sinks)
    return (weights @ values).transpose(0, 1)


def ids_of(*tokens: int) -> TokenSequence:
    return TokenSequence(tokens)


def distinct(*lengths: tuple[int, int, int]) -> list[Prepared]:
    """Pairs of (shared, chosen's own, rejected's own) tokens."""
    return [
        pair_of(ids_of(*range(shared), *[100] * chosen), ids_of(*range(shared), *[200] * rejected))
        for shared, chosen, rejected in lengths
    ]


ONE, THREE, SIX = ids_of(1), ids_of(1, 2, 3), ids_of(1, 2, 3, 4, 5, 6)
PACKS = {
    "nothing shared": distinct((0, 3, 5), (0, 1, 1)),
    "short beside what is shared": distinct((20, 3, 4), (30, 9, 1), (9, 1, 2)),
    "long beside what is shared": distinct((4, 3, 20), (1, 1, 9), (7, 2, 7)),
    "prefix": [pair_of(THREE, SIX), pair_of(SIX, THREE)],
    "equal": [pair_of(THREE, THREE), pair_of(ONE, ONE), *distinct((5, 2, 3))],
    "several read": [pair_of(replace(SIX, tail=5), replace(THREE, tail=2))],
}
EVERY = pytest.mark.parametrize("pairs", PACKS.values(), ids=PACKS.keys())


SINKS = torch.linspace(-1, 3, HEADS)
ASKED: list[tuple[int, int | None, float | None, dict[str, Any]]] = [
    (4, None, None, {}),
    (2, 3, 0.7, {}),
    (1, 1, None, {}),
    (2, 1000, 0.7, {}),
    (2, None, 0.7, {"softcap": 0.5}),
    (2, 3, 0.7, {"s_aux": SINKS}),
    (1, 3, None, {"softcap": 1.5, "s_aux": SINKS}),
]
"""Heads of keys, window, scaling, and what no kernel knows."""


@EVERY
@pytest.mark.parametrize("at_once", [2**26, 50])
def test_attention_is_a_plain_masked_softmax_and_in_the_last_layer_of_what_is_read(
    pairs: list[Prepared], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "_PRODUCTS", at_once)
    pack = write_pack(pairs, CPU, variable_length=False)
    segments = pack.arguments["segments"].segments
    read = {place for each in segments for place in range(each.read, each.end)}
    spared = [place for place in range(len(pack.ids)) if place not in read]
    assert spared
    for kv_heads, window, scaling, by_hand in ASKED:
        tokens = random_tokens(len(pack.ids), kv_heads)
        expected = masked_softmax(pairs, *tokens, scaling or DIM**-0.5, window, **by_hand)
        arguments = {**pack.arguments, **by_hand, "last_layer": 5}
        out, weights = attention.attend(Layer(4), *tokens, None, scaling, window, **arguments)
        assert weights is None
        assert_near(out[0], expected)
        plain = masked_softmax(pairs, *tokens, scaling or DIM**-0.5, window)
        assert not by_hand or (expected - plain).abs().max() > 0.05
        last, _ = attention.attend(Layer(5), *tokens, None, scaling, window, **arguments)
        assert_near(last[0, pack.tails], expected[pack.tails])
        assert not last[0, spared].any()


@pytest.mark.parametrize("window", [None, 3])
@EVERY
def test_one_call_for_all_segments_is_asked_the_same(
    pairs: list[Prepared], window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call itself needs CUDA and is emulated."""
    monkeypatch.setattr(attention, "has_variable_length", None)  # put back at the end
    emulated.install()
    pack = write_pack(pairs, CPU, variable_length=True)
    query, key, value = (each.bfloat16() for each in random_tokens(len(pack.ids), 2))
    value = value if window is None else value[..., :5]
    given = (query, key, value, None, None, window)
    out, _ = attention.attend(Layer(), *given, **pack.arguments, last_layer=0)
    exact = (query.float(), key.float(), value.float())
    expected = masked_softmax(pairs, *exact, DIM**-0.5, window)
    assert (out[0].float() - expected).abs().max() < 0.02


def test_what_packs_do_not_have_is_refused() -> None:
    both_ways = Layer()
    both_ways.is_causal = False
    nothing: dict[str, float] = {}
    for layer, mask, more, in_one_call, said in (
        (Layer(), None, {"position_bias": 5.0}, False, "position_bias"),
        (Layer(), None, {"softcap": 5.0}, True, "softcap"),
        (Layer(), None, {"s_aux": 5.0}, True, "s_aux"),
        (both_ways, None, nothing, False, "later tokens"),
        (Layer(), torch.zeros(1), nothing, False, "an attention mask"),
    ):
        pack = write_pack(PACKS["equal"], CPU, variable_length=in_one_call)
        tokens = random_tokens(len(pack.ids), 4)
        with pytest.raises(NotImplementedError, match=said):
            attention.attend(layer, *tokens, mask, **{**pack.arguments, **more})
    assert not attention.has_variable_length(CPU, torch.bfloat16)
    assert not attention.has_variable_length(torch.device("cuda"), torch.float32)
