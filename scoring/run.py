"""score(pairs, scorer) -> a stream of scored packs, by a plan that can be stored and resumed."""

import logging
import math
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain, pairwise

import torch

from scoring.engine.formatting import Prepared, as_one_row
from scoring.engine.forward import is_out_of_memory
from scoring.engine.packing import plan_packs, random_order, split
from scoring.engine.scorer import Rewards, Scorer, check_tokens
from scoring.errors import KnownError
from scoring.rows import check_compared, parts_of, scored_row
from scoring.spec import Pair, Plan, ScoredPack

logger = logging.getLogger(__name__)

SAMPLE = 256
"""Pairs made ready before the first pack, by which the costs of the others are estimated."""
_FILL = 0.9
"""Share of its budget that a pack is planned to take if costs are estimated."""
_FRAME = 80
"""Characters that a template is taken to add to a pair."""


@dataclass(frozen=True, slots=True)
class Job:
    """Pairs to be scored, or rows of more responses, and their packs.

    costs: of each pair, in tokens: counted for those in `ready`, estimated for the others.
    ready: place -> the parts of a row, of which a pair has one; the other rows are made ready when
        their pack is next.
    """

    pairs: tuple[Pair, ...]
    costs: tuple[int, ...]
    plan: Plan
    ready: dict[int, list[Prepared]]


def make_job(
    pairs: Sequence[Pair], scorer: Scorer, seed: int, *, sample: int = SAMPLE, n_processes: int = 1
) -> Job:
    """Plan the packs in which pairs are scored: the same for the same input.

    pairs: keys distinct; a `KnownError` if there are none, or one cannot be scored by this model.
    seed: of their order. sample: first pairs of it that are made ready, if the model reads tokens.
    n_processes: share the packs; each scorer is made ready for its own part of the work.
    """
    if not pairs:
        raise KnownError("No pairs are selected. Widen the filter, or ask for more per subset.")
    for pair in pairs:
        check_compared(pair, scorer.family_for(pair))
    reads_tokens = scorer.traits.vocabulary is not None
    places = random_order(len(pairs), seed)[: sample if reads_tokens else None]
    some = _prepare_rows([pairs[place] for place in places], scorer)
    ready = dict(zip(places, some, strict=True))
    sizes = [len(pair.prompt) + sum(map(len, pair.responses)) + _FRAME for pair in pairs]
    rate = sum(map(_cost, some)) / sum(sizes[place] for place in places)
    costs = tuple(
        _cost(ready[place]) if place in ready else max(1, round(rate * size))
        for place, size in enumerate(sizes)
    )
    scorer.prepare_for_tokens(sum(costs) // n_processes)
    budget = scorer.traits.budget
    if len(ready) < len(pairs):
        budget = math.ceil(_FILL * budget)
    return Job(tuple(pairs), costs, tuple(map(tuple, plan_packs(costs, budget, seed))), ready)


def score(
    job: Job, scorer: Scorer, *, packs: Sequence[int] | None = None, done: Container[int] = ()
) -> Iterator[ScoredPack]:
    """Score a job's packs in the order of its plan.

    While one is computed, the next is made ready and, on a GPU, begun. A pair's rewards do not
    depend, beyond the dtype's noise, on the pairs scored beside it. Where memory runs out, a pack
    is computed in parts and says so, and the packs after it are computed in parts of that size at
    once. Raises a `KnownError` if a single pair does not fit, or the template fails on one.

    job: from `make_job`, with the same scorer. done: places of packs to leave out.
    packs: places of the packs to score; None means all.
    """
    chosen = range(len(job.plan)) if packs is None else packs
    limit = _Limit(scorer.traits.budget)
    finish: Callable[[], ScoredPack] | None = None
    for place in (each for each in chosen if each not in done):
        try:
            finish_next = _begin_pack(job, scorer, place, limit)
        except Exception:
            if finish is not None:  # the packs before it are still to be given
                yield finish()
            raise
        if finish is not None:
            yield finish()
        finish = finish_next
    if finish is not None:
        yield finish()


@dataclass(slots=True)
class _Limit:
    """Tokens computed at once: planned for, and those that memory has turned out to hold."""

    budget: int
    memory: float = math.inf


_Parts = list[tuple[list[Prepared], Callable[[], Rewards]]]
"""Pairs that follow each other in a pack, and what gives their rewards."""


def _begin_pack(job: Job, scorer: Scorer, place: int, limit: _Limit) -> Callable[[], ScoredPack]:
    pack = job.plan[place]
    missing = [at for at in pack if at not in job.ready]
    prepared = _prepare_rows([job.pairs[at] for at in missing], scorer) if missing else []
    ready = dict(zip(missing, prepared, strict=True))
    rows = [ready[at] if at in ready else job.ready[at] for at in pack]
    parts = _begin_parts(scorer, list(chain.from_iterable(rows)), limit)

    def finish() -> ScoredPack:
        rewards, n_parts = _finish_parts(scorer, parts, limit)
        ends = pairwise(accumulate(map(len, rows), initial=0))
        scored = [
            scored_row(job.pairs[at], row, rewards[a:b], scorer.family_for(job.pairs[at]))
            for at, row, (a, b) in zip(pack, rows, ends, strict=True)
        ]
        return ScoredPack(place, tuple(scored), sum(map(_cost, rows)), n_parts, scorer.traits.path)

    return finish


def _begin_parts(scorer: Scorer, pairs: Sequence[Prepared], limit: _Limit) -> _Parts:
    """Pairs of a pack in parts that fit in memory, as far as that is known, each begun.

    A pack that was estimated, or planned where there was more room, may be above the budget.
    """
    costs = [pair.cost for pair in pairs]
    most, total = limit.memory, sum(costs)
    if total > limit.budget:
        most = min(most, limit.budget, total / math.ceil(total / limit.budget) + max(costs))
    parts: _Parts = []
    for places in split(range(len(pairs)), costs, most):
        part = [pairs[place] for place in places]
        try:
            compute = scorer.begin(part)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            compute = partial(scorer.rewards, part)  # again when its turn comes
        parts.append((part, compute))
    return parts


def _finish_parts(scorer: Scorer, parts: _Parts, limit: _Limit) -> tuple[Rewards, int]:
    """The rewards of a pack, in smaller parts where memory runs out, and how many those were."""
    rewards: Rewards = []
    n_parts = 0
    while parts:
        part, compute = parts[0]
        cost = _cost(part)
        if cost > limit.memory and len(part) > 1:
            parts = _begin_parts(scorer, [pair for some, _ in parts for pair in some], limit)
            continue
        try:
            rewards += compute()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            if len(part) == 1:
                raise KnownError(
                    f"The pair {part[0].pair.key} alone, {cost:,} tokens, does not fit in memory. "
                    "Allow fewer tokens (--max-length), use a smaller model, or a device with more "
                    "memory. What was scored so far is kept."
                ) from error
            limit.memory = min(limit.memory, max(1, cost // 2))
            logger.warning("%d tokens do not fit in memory; going on with %d", cost, limit.memory)
        else:
            parts = parts[1:]
            n_parts += 1
            continue
        torch.cuda.empty_cache()  # now that the error holds nothing any more
    return rewards, n_parts if limit.memory < math.inf else 1


def _prepare_rows(rows: Sequence[Pair], scorer: Scorer) -> list[list[Prepared]]:
    """The parts of each row; an error of the model's template names the pair."""
    parts = [parts_of(row, scorer.family_for(row)) for row in rows]
    pairs = list(chain.from_iterable(parts))
    try:
        ready = scorer.prepare(pairs)
    except KnownError:
        for pair in pairs:
            try:
                scorer.prepare([pair])
            except KnownError as error:
                why = str(error)
                raise KnownError(f"On the pair {pair.key}, {why[0].lower()}{why[1:]}") from error
        raise
    check_tokens(ready, scorer.traits.vocabulary, scorer.spec.name)
    ends = accumulate(map(len, parts), initial=0)
    found = [
        as_one_row(row.key, ready[a:b]) if len(row.responses) > 2 else ready[a:b]
        for row, (a, b) in zip(rows, pairwise(ends), strict=True)
    ]
    times = range(scorer.repeats)
    return [[replace(part, repeat=at) for at in times for part in parts] for parts in found]


def _cost(parts: Sequence[Prepared]) -> int:
    return sum(part.cost for part in parts)
