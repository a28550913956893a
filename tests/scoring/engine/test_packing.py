"""Pairs lie in packs."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.engine.packing import (
    is_compiling_repaid,
    keep_compiled_in,
    padded_batches,
    plan_packs,
    share_out,
    split,
)

COSTS = st.lists(st.integers(1, 50), min_size=1, max_size=40)
BUDGETS = st.integers(1, 200)
BENCHMARK = 1_540_000
"""Tokens of all pairs."""


def cost(pack: list[int], costs: list[int]) -> int:
    return sum(costs[index] for index in pack)


@given(COSTS, BUDGETS, st.integers(0, 5))
def test_packs_hold_each_pair_once_within_the_budget(
    costs: list[int], budget: int, seed: int
) -> None:
    """The costliest comes first, so that lack of memory shows at once."""
    packs = plan_packs(costs, budget, seed)
    assert sorted(index for pack in packs for index in pack) == list(range(len(costs)))
    assert all(len(pack) == 1 or cost(pack, costs) <= budget for pack in packs)
    assert cost(packs[0], costs) == max(cost(pack, costs) for pack in packs)
    for pack in packs:
        within = [costs[index] for index in pack]
        assert within == sorted(within, reverse=True)


def test_any_prefix_of_a_plan_is_a_random_sample_of_which_the_seed_decides() -> None:
    """Sorted by cost over all, the first half would hold only the costly ones."""
    costs = list(range(1, 1001))
    packs = plan_packs(costs, 2000, seed=0)
    half = [index for pack in packs[: len(packs) // 2] for index in pack]
    assert 440 < cost(half, costs) / len(half) < 560
    assert plan_packs(costs, 2000, seed=0) == packs != plan_packs(costs, 2000, seed=1)


@given(COSTS, BUDGETS)
def test_splitting_keeps_the_order_and_fills_packs(costs: list[int], budget: int) -> None:
    """Two neighbours that would fit in one pack are in one pack."""
    pack = list(range(len(costs)))[::-1]
    parts = split(pack, costs, budget)
    assert [index for part in parts for index in part] == pack
    assert all(len(part) == 1 or cost(part, costs) <= budget for part in parts)
    assert all(cost(a, costs) + costs[b[0]] > budget for a, b in pairwise(parts))
    assert split([], [], 10) == plan_packs([], 10, seed=0) == []


@given(COSTS, st.integers(1, 6))
def test_packs_are_shared_out_evenly(costs: list[int], n: int) -> None:
    packs = [[index] for index in range(len(costs))]
    shares = share_out(packs, costs, n)
    assert len(shares) == n
    assert sorted(place for share in shares for place in share) == list(range(len(packs)))
    assert all(share == sorted(share) for share in shares)
    loads = [cost(share, costs) for share in shares]
    assert max(loads) - min(loads) <= max(costs)


@given(COSTS, BUDGETS)
def test_batches_go_from_long_to_short_within_the_budget(lengths: list[int], most: int) -> None:
    batches = list(padded_batches(lengths, most))
    order = [index for batch in batches for index in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[index] for index in order] == sorted(lengths, reverse=True)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= most
    assert list(padded_batches([], most)) == []


def test_compiling_is_repaid_by_a_long_run_and_sooner_where_code_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one H100, finding it took 9 s, and all pairs of a 0.6B model are spared 5."""
    kept = tmp_path / "compiled"
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    keep_compiled_in(kept)
    tokens = (BENCHMARK, 2_200_000, 2 * BENCHMARK, 4_000_000)
    assert [*map(is_compiling_repaid, tokens)] == [False, False, True, True]
    kept.mkdir()
    assert not is_compiling_repaid(2_200_000)
    (kept / "code.py").touch()
    assert [*map(is_compiling_repaid, tokens)] == [False, True, True, True]
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    assert [*map(is_compiling_repaid, tokens)] == [False, False, True, True]


def test_compiling_begins_no_processes_beside_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would count as memory of the worker, and outlive one that is ended."""
    from torch._inductor.config import decide_compile_threads

    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "8")
    monkeypatch.delenv("TORCHINDUCTOR_COMPILE_THREADS")
    monkeypatch.setattr("torch._utils.cpu_count", lambda: 16)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "own")
    keep_compiled_in(Path("another"))
    assert decide_compile_threads() == 1
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "own", "the owner's stays"
