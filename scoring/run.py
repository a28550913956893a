"""score(pairs, scorer) -> a stream of scored packs, by a plan that can be stored and resumed."""

import logging
import math
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain, pairwise

import torch

from scoring.engine.formatting import Prepared, as_one_row
from scoring.engine.forward import is_out_of_memory
from scoring.engine.packing import plan_packs, random_order, split
from scoring.engine.scorer import Rewards, Scorer, check_tokens
from scoring.errors import KnownError
from scoring.rows import check_compared, parts_of, scored_row
from scoring.spec import Pair, Plan, ScoredPack, ScoredPair

logger = logging.getLogger(__name__)

SAMPLE = 256
"""Pairs that are made ready before the first pack; they tell what the others will cost."""
_FILL = 0.9
"""How much of its budget a pack is planned to take where costs are estimated."""
_FRAME = 80
"""Characters that a template is taken to add to a pair."""


@dataclass(frozen=True, slots=True)
class Job:
    """Pairs to be scored, or rows of more responses, and the packs in which they are.

    costs: of each pair, in tokens: counted for those that are ready, estimated for the others.
    ready: some pairs that were made ready to estimate by, by their places, each in its parts, of
        which a pair is one; the others are made ready when their pack is next.
    """

    pairs: tuple[Pair, ...]
    costs: tuple[int, ...]
    plan: Plan
    ready: dict[int, list[Prepared]]


def make_job(
    pairs: Sequence[Pair],
    scorer: Scorer,
    seed: int,
    *,
    sample: int = SAMPLE,
    n_processes: int = 1,
) -> Job:
    """Plan in which packs pairs are scored: the same for the same input.

    pairs: at least one; keys distinct. seed: of their order.
    sample: of models that read tokens, so many pairs, the first of that order, are made ready.
    n_processes: share the packs; the scorer of each is made ready for its own part of the work.

    Raises:
        KnownError: there are no pairs, the model's template fails, it does not know a token, or a
            row has more responses than its family compares.
    """
    if not pairs:
        raise KnownError("No pairs are selected. Widen the filter, or ask for more per subset.")
    for pair in pairs:
        check_compared(pair, scorer.spec.family)
    reads_tokens = scorer.traits.vocabulary is not None
    places = random_order(len(pairs), seed)[: sample if reads_tokens else None]
    some = _prepare_rows([pairs[place] for place in places], scorer)
    ready = dict(zip(places, some, strict=True))
    rate = sum(map(_cost, some)) / sum(_n_characters(pairs[place]) for place in places)
    costs = tuple(
        _cost(ready[place]) if place in ready else max(1, round(rate * _n_characters(pair)))
        for place, pair in enumerate(pairs)
    )
    scorer.prepare_for_tokens(sum(costs) // n_processes)
    budget = scorer.traits.budget
    if len(ready) < len(pairs):
        budget = math.ceil(_FILL * budget)
    packs = plan_packs(costs, budget, seed)
    return Job(tuple(pairs), costs, Plan(tuple(tuple(pack) for pack in packs)), ready)


def score(
    job: Job,
    scorer: Scorer,
    *,
    packs: Sequence[int] | None = None,
    done: Container[int] = (),
) -> Iterator[ScoredPack]:
    """Score a job's packs in the order of its plan.

    While one is computed, the next is made ready and, on a GPU, begun. A pair's rewards do not
    depend, beyond the dtype's noise, on the pairs scored beside it.

    job: from `make_job`, with the same scorer.
    packs: places of the packs to score; None means all.
    done: places of those that are scored already.

    Yields:
        One pack after the other. Where memory runs out, a pack is computed in parts and says so,
        and the packs after it are computed in parts of that size at once.

    Raises:
        KnownError: a single pair does not fit in memory, or the model's template fails on one.
    """
    chosen = range(len(job.plan.packs)) if packs is None else packs
    limit = _Limit(scorer.traits.budget)
    before: _StartedPack | None = None
    for place in (each for each in chosen if each not in done):
        try:
            started = _start_pack(job, scorer, place, limit)
        except Exception:
            if before is not None:  # the packs before it are still to be given
                yield _finish_pack(job, scorer, before, limit)
            raise
        if before is not None:
            yield _finish_pack(job, scorer, before, limit)
        before = started
    if before is not None:
        yield _finish_pack(job, scorer, before, limit)


@dataclass(slots=True)
class _Limit:
    """Tokens computed at once: planned for, and those that memory has turned out to hold."""

    budget: int
    memory: float = math.inf


_Parts = list[tuple[list[Prepared], Callable[[], Rewards]]]
"""Pairs that follow each other in a pack, and what gives their rewards."""


@dataclass(frozen=True, slots=True)
class _StartedPack:
    """A pack on its way. rows: the parts of each."""

    place: int
    rows: list[list[Prepared]]
    parts: _Parts


def _start_pack(job: Job, scorer: Scorer, place: int, limit: _Limit) -> _StartedPack:
    pack = job.plan.packs[place]
    missing = [at for at in pack if at not in job.ready]
    prepared = _prepare_rows([job.pairs[at] for at in missing], scorer) if missing else []
    ready = dict(zip(missing, prepared, strict=True))
    rows = [ready[at] if at in ready else job.ready[at] for at in pack]
    pairs = list(chain.from_iterable(rows))
    return _StartedPack(place, rows, _start_parts(scorer, pairs, limit))


def _start_parts(scorer: Scorer, pairs: Sequence[Prepared], limit: _Limit) -> _Parts:
    """Pairs of a pack in parts that fit in memory, as far as that is known, each started.

    A pack may be too large for the budget, and is then halved: it was estimated, or planned where
    there was room for more.
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


def _finish_pack(job: Job, scorer: Scorer, pack: _StartedPack, limit: _Limit) -> ScoredPack:
    """The rewards of a pack, in smaller parts where memory runs out."""
    rewards: Rewards = []
    parts, n_parts = pack.parts, 0
    while parts:
        part, compute = parts[0]
        cost = _cost(part)
        if cost > limit.memory and len(part) > 1:
            parts = _start_parts(scorer, [pair for some, _ in parts for pair in some], limit)
            continue
        try:
            rewards += compute()
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            if len(part) == 1:
                raise _too_large(part[0], cost) from error
            limit.memory = min(limit.memory, max(1, cost // 2))
            logger.warning("%d tokens do not fit in memory; going on with %d", cost, limit.memory)
        else:
            parts = parts[1:]
            n_parts += 1
            continue
        torch.cuda.empty_cache()  # now that the error holds nothing any more
    return ScoredPack(
        pack.place,
        tuple(_scored_rows(job, scorer, pack, rewards)),
        sum(map(_cost, pack.rows)),
        n_parts if limit.memory < math.inf else 1,
        scorer.traits.path,
    )


def _scored_rows(
    job: Job, scorer: Scorer, pack: _StartedPack, rewards: Rewards
) -> Iterator[ScoredPair]:
    ends = pairwise(accumulate(map(len, pack.rows), initial=0))
    for row, parts, (a, b) in zip(job.plan.packs[pack.place], pack.rows, ends, strict=True):
        yield scored_row(job.pairs[row], parts, rewards[a:b], scorer.spec.family)


def _prepare_rows(rows: Sequence[Pair], scorer: Scorer) -> list[list[Prepared]]:
    """The parts of each row.

    Raises:
        KnownError: the model's template fails, on the pair that it names.
    """
    parts = [parts_of(row, scorer.spec.family) for row in rows]
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
    return [
        as_one_row(row.key, ready[a:b]) if len(row.responses) > 2 else ready[a:b]
        for row, (a, b) in zip(rows, pairwise(ends), strict=True)
    ]


def _cost(parts: Sequence[Prepared]) -> int:
    return sum(part.cost for part in parts)


def _n_characters(pair: Pair) -> int:
    """Characters of a pair's texts, with what a template adds."""
    return len(pair.prompt) + sum(map(len, pair.responses)) + _FRAME


def _too_large(prepared: Prepared, tokens: int) -> KnownError:
    return KnownError(
        f"The pair {prepared.pair.key} alone, {tokens:,} tokens, does not fit in memory. Allow "
        "fewer tokens (--max-length), use a smaller model, or a device with more memory. What was "
        "scored so far is kept."
    )
