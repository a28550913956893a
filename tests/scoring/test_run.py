"""Pairs become packs, and packs rows, whatever memory does."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.run import make_job, score
from scoring.spec import ModelSpec, Pair, RunSettings, ScoredPack, ScoredPair, text_hash
from tests.support.rounding import DEMO, near
from tests.support.watched_scorers import Around, Reading, Saying

CPU = RunSettings(device="cpu", dtype="float32")


def rows_of(packs: Sequence[ScoredPack]) -> dict[str, ScoredPair]:
    rows = {row.key: row for pack in packs for row in pack.rows}
    assert len(rows) == sum(len(pack.rows) for pack in packs)
    return rows


def rewards_of(row: ScoredPair) -> list[float]:
    """Of a row that has both."""
    assert row.chosen_reward is not None and row.rejected_reward is not None
    return [row.chosen_reward, row.rejected_reward]


def score_all(pairs: Sequence[Pair], scorer: Scorer, seed: int = 0) -> dict[str, ScoredPair]:
    return rows_of(list(score(make_job(pairs, scorer, seed), scorer)))


def pair(number: int, chosen: str, rejected: str, prompt: str = "Name a colour.") -> Pair:
    return Pair(f"mine:{number}", "mine", prompt, chosen, rejected)


def small_pairs(n: int) -> list[Pair]:
    return [pair(number, f"chosen {number}", f"rejected {number}") for number in range(n)]


def longer_wins() -> Scorer:
    return open_scorer(ModelSpec("longer", "", "", "longer"), CPU)


@pytest.fixture(scope="module")
def some_pairs(demo_pairs: list[Pair]) -> list[Pair]:
    """Short ones, so that the tests are quick."""
    return sorted(demo_pairs, key=lambda pair: len(pair.prompt + pair.chosen + pair.rejected))[:16]


@pytest.fixture(scope="module")
def watched(demo_scorer: Scorer) -> Around:
    return Around(demo_scorer)


@pytest.fixture(scope="module")
def whole(some_pairs: list[Pair], watched: Around) -> list[ScoredPack]:
    torch.set_num_threads(1)
    return list(score(make_job(some_pairs, watched, 0), watched))


# What packs and rows say.


def test_packs_hold_what_the_plan_says_and_rows_say_what_they_are(
    whole: list[ScoredPack], some_pairs: list[Pair], watched: Around
) -> None:
    job = make_job(some_pairs, watched, 0)
    assert [pack.place for pack in whole] == list(range(len(job.plan)))
    for pack, planned in zip(whole, job.plan, strict=True):
        assert [row.key for row in pack.rows] == [some_pairs[place].key for place in planned]
        costs = [job.costs[place] for place in planned]
        assert (pack.tokens, pack.parts) == (sum(costs), 1)
        assert sum(costs) <= 400 or len(costs) == 1
    assert watched.expected[0] == sum(pack.tokens for pack in whole)
    assert watched.asked[: len(whole)] == [[row.key for row in pack.rows] for pack in whole]
    rows = rows_of(whole)
    for each, prepared in zip(some_pairs, watched.prepare(some_pairs), strict=True):
        row = rows[each.key]
        assert row.subset == each.subset
        assert row.text_hash == text_hash(each.prompt, each.chosen, each.rejected)
        lengths = len(prepared.chosen.ids), len(prepared.rejected.ids)
        assert (row.chosen_tokens, row.rejected_tokens) == lengths
        assert not (row.chosen_truncated or row.rejected_truncated)
    assert make_job(some_pairs, watched, 1).plan != job.plan


def test_of_all_packs_those_are_scored_that_are_asked_for_and_not_done(
    whole: list[ScoredPack], some_pairs: list[Pair], watched: Around
) -> None:
    job = make_job(some_pairs, watched, 0)
    n_packs = len(whole)
    done = {0, 2, *range(5, n_packs)}
    left = [pack for pack in whole if pack.place not in done]
    assert list(score(job, watched, done=done)) == left  # to the last bit
    assert list(score(job, watched, done=range(n_packs))) == []
    assert list(score(job, watched, packs=[3, 1])) == [whole[3], whole[1]]
    assert list(score(job, watched, packs=[3, 1], done={1})) == [whole[3]]
    with pytest.raises(KnownError, match="No pairs are selected"):
        make_job([], watched, 0)


def test_a_side_without_a_number_is_missing_and_the_other_is_kept() -> None:
    for bad in (math.nan, -math.inf):
        for rewards, kept in (((bad, 2.5), (None, 2.5)), ((2.5, bad), (2.5, None))):
            row = score_all([pair(1, "a", "b")], Saying(*rewards))["mine:1"]
            assert (row.chosen_reward, row.rejected_reward) == kept
            assert (row.margin, row.outcome) == (None, "missing")


# Packs on their way.


def uneven_pairs(n: int) -> list[Pair]:
    """Characters tell only roughly how many tokens they are: those of rejected make none."""
    drawn = random.Random(0)
    return [
        pair(number, "x" * 4 * drawn.randint(1, 9), "r" * drawn.randint(1, 200))
        for number in range(n)
    ]


def test_the_first_pack_leaves_before_all_pairs_are_tokens_and_none_is_above_the_budget() -> None:
    asked: list[int] = []

    class Counting(Reading):
        def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
            asked.append(sum(prepared.cost for prepared in pack))
            return super().rewards(pack)

    pairs, scorer = uneven_pairs(900), Counting()
    packs = score(make_job(pairs, scorer, 0), scorer)
    first = next(packs)
    assert scorer.ready < 400
    every = [first, *packs]
    assert scorer.ready == 900
    assert rows_of(every).keys() == {each.key for each in pairs}
    assert max(pack.tokens for pack in every) > 40, "as costs were estimated"
    assert max(asked) <= 40 and {pack.parts for pack in every} == {1}  # none for lack of memory


def test_a_pack_is_begun_while_the_one_before_it_is_computed() -> None:
    scorer = Reading()
    job = make_job(uneven_pairs(30), scorer, 0)
    list(score(job, scorer))
    keys = [f"mine:{pack[0]}" for pack in job.plan]
    assert len(keys) > 2
    expected = [f"begun {keys[0]}"]
    for before, key in pairwise(keys):
        expected += [f"begun {key}", f"done {before}"]
    assert scorer.told == [*expected, f"done {keys[-1]}"]


def test_a_template_that_fails_in_the_middle_names_its_pair_and_loses_nothing_before_it() -> None:
    pairs, scorer = uneven_pairs(1000), Reading()
    job = make_job(pairs, scorer, 0)
    last = job.plan[-1][0]
    broken = tuple(
        replace(each, prompt="fails") if at == last else each for at, each in enumerate(pairs)
    )
    packs = []
    said = f"On the pair mine:{last}, the model's chat template fails: on purpose"
    with pytest.raises(KnownError, match=said):
        for pack in score(replace(job, pairs=broken), scorer):
            packs.append(pack)
    assert len(packs) == len(job.plan) - 1


def test_a_pack_that_did_not_fit_beside_another_is_tried_again() -> None:
    class Full(Reading):
        def begin(self, pack: Sequence[Prepared]) -> Callable[[], list[tuple[float, ...]]]:
            if len(self.told) % 3 == 1:
                self.told.append("refused")
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return super().begin(pack)

    pairs, scorer = uneven_pairs(60), Full()
    rows = score_all(pairs, scorer)
    assert rows.keys() == {each.key for each in pairs}
    assert "refused" in scorer.told


def test_a_pack_that_was_planned_for_a_larger_budget_is_computed_in_parts_of_this_one() -> None:
    """As of a run that goes on where there is less room."""
    scorer = Around(longer_wins(), budget=16)  # each pair costs 1
    job = make_job(small_pairs(64), scorer, 0)
    scorer._traits = replace(scorer.traits, budget=5)
    assert rows_of(list(score(job, scorer))).keys() == {each.key for each in job.pairs}
    assert max(map(len, scorer.asked)) <= 5


# Memory.

NO_MEMORY: list[Exception] = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    MemoryError(),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
]


def test_where_memory_runs_out_a_pack_is_scored_in_parts(
    some_pairs: list[Pair], whole: list[ScoredPack], demo_scorer: Scorer
) -> None:
    all_scored = rows_of(whole)
    most = max(prepared.cost for prepared in demo_scorer.prepare(some_pairs))
    scorer = Around(demo_scorer, budget=2000, memory=most + 100)
    job = make_job(some_pairs, scorer, 0)
    packs = list(score(job, scorer))
    assert scorer.refused > 0
    rows = rows_of(packs)
    assert rows.keys() == all_scored.keys()
    for key, row in rows.items():
        assert rewards_of(row) == near(rewards_of(all_scored[key]), **DEMO)
    assert packs[0].tokens > most + 100
    assert all(pack.parts > 1 or pack.tokens <= most + 100 for pack in packs)
    assert sum(pack.parts for pack in packs) == len(scorer.asked) - scorer.refused
    for pack, planned in zip(packs, job.plan, strict=True):
        assert [row.key for row in pack.rows] == [some_pairs[place].key for place in planned]


@pytest.mark.parametrize("error", NO_MEMORY)
def test_after_memory_ran_out_later_packs_are_split_at_once(error: Exception) -> None:
    scorer = Around(longer_wins(), budget=16, memory=5, error=error)  # each pair costs 1
    stream = score(make_job(small_pairs(64), scorer, 0), scorer)
    assert next(stream).parts == 4
    refused = scorer.refused
    assert refused > 0
    assert [pack.parts for pack in stream] == [4, 4, 4]
    assert scorer.refused == refused
    assert {len(keys) for keys in scorer.asked[-12:]} == {4}


def test_a_pair_too_large_for_memory_is_named_and_the_packs_before_it_are_kept() -> None:
    class TooLarge(Around):
        def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, ...]]:
            if any(prepared.pair.key == "mine:7" for prepared in pack):
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return super().rewards(pack)

    scorer = TooLarge(longer_wins(), budget=4)
    job = make_job(small_pairs(40), scorer, 0)
    bad = next(place for place, pack in enumerate(job.plan) if 7 in pack)
    assert 0 < bad < len(job.plan) - 1
    packs = []
    with pytest.raises(KnownError, match=r"The pair mine:7 alone, 1 tokens, does not fit") as told:
        for pack in score(job, scorer):
            packs.append(pack)
    assert [pack.place for pack in packs] == list(range(bad))
    assert isinstance(told.value.__cause__, torch.OutOfMemoryError)


def test_other_errors_pass_through() -> None:
    error = RuntimeError("shape mismatch")
    scorer = Around(longer_wins(), budget=4, memory=-1, error=error)
    with pytest.raises(RuntimeError) as raised:
        next(score(make_job(small_pairs(20), scorer, 0), scorer))
    assert raised.value is error
