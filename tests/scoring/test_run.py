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
from tests.support.watched_scorers import Around, Reading

CPU = RunSettings(device="cpu", dtype="float32")


def rows_of(packs: Sequence[ScoredPack]) -> dict[str, ScoredPair]:
    rows = {row.key: row for pack in packs for row in pack.rows}
    assert len(rows) == sum(len(pack.rows) for pack in packs)
    return rows


def score_all(pairs: Sequence[Pair], scorer: Scorer, seed: int = 0) -> dict[str, ScoredPair]:
    return rows_of(list(score(make_job(pairs, scorer, seed), scorer)))


def pair(number: int, chosen: str, rejected: str, prompt: str = "Name a colour.") -> Pair:
    return Pair(f"mine:{number}", "mine", prompt, chosen, rejected)


def longer_wins() -> Scorer:
    return open_scorer(ModelSpec("longer", "", "", "longer"), CPU)


# What packs and rows say.


def uneven_pairs(n: int) -> list[Pair]:
    """Characters tell only roughly how many tokens they are: those of rejected make none."""
    drawn = random.Random(0)
    return [
        pair(number, "x" * 4 * drawn.randint(1, 9), "r" * drawn.randint(1, 200))
        for number in range(n)
    ]


def test_packs_hold_what_the_plan_says_and_rows_say_what_they_are() -> None:
    pairs, scorer = uneven_pairs(30), Around(Reading(), budget=40)
    job = make_job(pairs, scorer, 0)
    packs = list(score(job, scorer))
    assert [pack.place for pack in packs] == list(range(len(job.plan)))
    for pack, planned in zip(packs, job.plan, strict=True):
        assert [row.key for row in pack.rows] == [pairs[place].key for place in planned]
        costs = [job.costs[place] for place in planned]
        assert (pack.tokens, pack.parts) == (sum(costs), 1)
        assert sum(costs) <= 40
    assert scorer.expected == [sum(pack.tokens for pack in packs)]
    assert scorer.asked == [[row.key for row in pack.rows] for pack in packs]
    rows = rows_of(packs)
    for each, prepared in zip(pairs, scorer.prepare(pairs), strict=True):
        lengths = len(prepared.chosen.ids), len(prepared.rejected.ids)
        name = text_hash(each.prompt, each.chosen, each.rejected)
        assert rows[each.key] == ScoredPair(each.key, each.subset, name, 1.0, 0.0, *lengths)
    assert make_job(pairs, scorer, 1).plan != job.plan


def test_of_all_packs_those_are_scored_that_are_asked_for_and_not_done(
    demo_pairs: list[Pair], demo_scorer: Scorer
) -> None:
    torch.set_num_threads(1)
    short = sorted(demo_pairs, key=lambda pair: len(pair.prompt + pair.chosen + pair.rejected))
    scorer = Around(demo_scorer)
    job = make_job(short[:16], scorer, 0)
    whole = list(score(job, scorer))
    n_packs = len(whole)
    done = {0, 2, *range(5, n_packs)}
    left = [pack for pack in whole if pack.place not in done]
    assert list(score(job, scorer, done=done)) == left  # to the last bit
    assert list(score(job, scorer, done=range(n_packs))) == []
    assert list(score(job, scorer, packs=[3, 1])) == [whole[3], whole[1]]
    assert list(score(job, scorer, packs=[3, 1], done={1})) == [whole[3]]
    with pytest.raises(KnownError, match="No pairs are selected"):
        make_job([], scorer, 0)


def test_a_side_without_a_number_is_missing_and_the_other_is_kept() -> None:
    for bad in (math.nan, -math.inf):
        for rewards, kept in (((bad, 2.5), (None, 2.5)), ((2.5, bad), (2.5, None))):
            row = score_all([pair(1, "a", "b")], Reading(*rewards))["mine:1"]
            assert (row.chosen_reward, row.rejected_reward) == kept
            assert (row.margin, row.outcome) == (None, "missing")


# Packs on their way.


def test_the_first_pack_leaves_before_all_pairs_are_tokens_and_none_is_above_the_budget() -> None:
    pairs, reading = uneven_pairs(900), Reading()
    scorer = Around(reading, budget=40, memory=40)
    packs = score(make_job(pairs, scorer, 0), scorer)
    first = next(packs)
    assert reading.ready < 400
    every = [first, *packs]
    assert reading.ready == 900
    assert rows_of(every).keys() == {each.key for each in pairs}
    assert max(pack.tokens for pack in every) > 40, "as costs were estimated"
    assert scorer.refused == 0 and {pack.parts for pack in every} == {1}


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


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("fails", "On the pair mine:{}, the model's chat template fails: on purpose"),
        ("too large", r"The pair mine:{} alone, \d+ tokens, does not fit in memory"),
    ],
)
def test_a_pair_that_cannot_be_scored_is_named_and_the_packs_before_it_are_kept(
    prompt: str, said: str
) -> None:
    pairs, scorer = uneven_pairs(1000), Reading()
    job = make_job(pairs, scorer, 0)
    last = job.plan[-1][0]
    broken = tuple(
        replace(each, prompt=prompt) if at == last else each for at, each in enumerate(pairs)
    )
    packs = []
    with pytest.raises(KnownError, match=said.format(last)) as caught:
        for pack in score(replace(job, pairs=broken), scorer):
            packs.append(pack)
    assert caught.value.__cause__
    assert [pack.place for pack in packs] == list(range(len(job.plan) - 1))


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


# Memory.

NO_MEMORY: list[Exception] = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    MemoryError(),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
]


@pytest.mark.parametrize("error", NO_MEMORY)
def test_where_memory_runs_out_a_pack_is_scored_in_parts_and_later_ones_at_once(
    error: Exception,
) -> None:
    pairs = [pair(number, "c" * number, "r") for number in range(64)]
    scorer = Around(longer_wins(), budget=16, memory=5, error=error)  # each pair costs 1
    job = make_job(pairs, scorer, 0)
    stream = score(job, scorer)
    packs, refused = [next(stream)], scorer.refused
    packs += stream
    assert scorer.refused == refused > 0
    assert [pack.parts for pack in packs] == [4] * 4
    assert {len(keys) for keys in scorer.asked[-12:]} == {4}
    for pack, planned in zip(packs, job.plan, strict=True):
        rewards = [(f"mine:{place}", place) for place in planned]
        assert [(row.key, row.chosen_reward) for row in pack.rows] == rewards


def test_other_errors_pass_through() -> None:
    error = RuntimeError("shape mismatch")
    scorer = Around(longer_wins(), budget=4, memory=-1, error=error)
    with pytest.raises(RuntimeError) as raised:
        next(score(make_job(uneven_pairs(20), scorer, 0), scorer))
    assert raised.value is error
