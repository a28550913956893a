import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.packing import PAIRS_A_PACK, padded_batches, random_packs
from scoring.spec import Pair

PAIRS = [Pair(f"s:{number}", "s", "p", "c", "r") for number in range(100)]


def keys_of(packs: list[list[Pair]]) -> list[str]:
    return [pair.key for pack in packs for pair in pack]


@pytest.mark.parametrize("count", [0, 1, PAIRS_A_PACK, PAIRS_A_PACK + 1, 100])
def test_packs_hold_each_pair_once_and_none_is_too_large(count: int) -> None:
    packs = random_packs(PAIRS[:count], seed=0)
    assert sorted(keys_of(packs)) == sorted(pair.key for pair in PAIRS[:count])
    assert all(0 < len(pack) <= PAIRS_A_PACK for pack in packs)


def test_the_seed_decides_the_order() -> None:
    first = keys_of(random_packs(PAIRS, seed=0))
    assert keys_of(random_packs(PAIRS, seed=0)) == first
    assert keys_of(random_packs(PAIRS, seed=1)) != first
    assert first != [pair.key for pair in PAIRS]


def test_the_pairs_given_are_left_as_they_were() -> None:
    given_pairs = list(PAIRS)
    random_packs(given_pairs, seed=0)
    assert given_pairs == PAIRS


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_batches_hold_each_sequence_once_within_the_budget(
    lengths: list[int], batch_tokens: int
) -> None:
    batches = list(padded_batches(lengths, batch_tokens))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= batch_tokens


def test_the_longest_comes_first_so_that_lack_of_memory_shows_at_once() -> None:
    assert list(padded_batches([1, 5, 3, 5], 10)) == [[1, 3], [2, 0]]


def test_a_sequence_above_the_budget_goes_alone() -> None:
    assert list(padded_batches([100, 2, 100], 10)) == [[0], [2], [1]]
