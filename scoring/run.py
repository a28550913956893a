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
from scoring.engine.proof import Rewards
from scoring.engine.scorer import Scorer, check_tokens
from scoring.errors import KnownError
from scoring.rows import check_compared, parts_of, scored_row
from scoring.spec import Pair, Plan, ScoredPack

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
    some = _made_ready([pairs[place] for place in places], scorer)
    ready = dict(zip(places, some, strict=True))
    rate = sum(map(_cost, some)) / sum(_size(pairs[place]) for place in places)
    costs = tuple(
        _cost(ready[place]) if place in ready else max(1, round(rate * _size(pair)))
        for place, pair in enumerate(pairs)
    )
    scorer.expect(sum(costs) // n_processes)
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
    scoring = _Scoring(job, scorer)
    before: _StartedPack | None = None
    for place in (each for each in chosen if each not in done):
        try:
            started = scoring.begin(place)
        except Exception:
            if before is not None:  # the packs before it are still to be given
                yield scoring.finish(before)
            raise
        if before is not None:
            yield scoring.finish(before)
        before = started
    if before is not None:
        yield scoring.finish(before)


_Parts = list[tuple[list[int], Callable[[], Rewards]]]
"""Places of pairs in their pack, and what gives their rewards."""


@dataclass(frozen=True, slots=True)
class _StartedPack:
    """A pack whose parts are started. sizes: how many of its pairs are parts of each of its rows."""

    place: int
    sizes: list[int]
    pairs: list[Prepared]
    parts: _Parts


class _Scoring:
    """Packs of a job on their way through a scorer."""

    def __init__(self, job: Job, scorer: Scorer) -> None:
        self._job = job
        self._scorer = scorer
        self._memory = math.inf

    def begin(self, place: int) -> _StartedPack:
        """Make a pack ready, and begin it."""
        job, pack = self._job, self._job.plan.packs[place]
        left = [at for at in pack if at not in job.ready]
        newly = _made_ready([job.pairs[at] for at in left], self._scorer) if left else []
        ready = dict(zip(left, newly, strict=True))
        rows = [ready[at] if at in ready else job.ready[at] for at in pack]
        pairs = list(chain.from_iterable(rows))
        return _StartedPack(
            place, list(map(len, rows)), pairs, self._in_parts(pairs, range(len(pairs)))
        )

    def finish(self, pack: _StartedPack) -> ScoredPack:
        """The rewards of a pack, in smaller parts where memory runs out."""
        pairs, parts = pack.pairs, pack.parts
        rewards: dict[int, tuple[float, float]] = {}
        n_parts = 0
        while parts:
            part, compute = parts.pop(0)
            cost = sum(pairs[at].cost for at in part)
            if cost > self._memory and len(part) > 1:  # as is known since it was started
                parts = self._in_parts(pairs, [*part, *(at for each, _ in parts for at in each)])
                continue
            try:
                rewards.update(zip(part, compute(), strict=True))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if len(part) == 1:
                    raise _too_large(pairs[part[0]], cost) from error
                self._memory = min(self._memory, max(1, cost // 2))
                logger.warning(
                    "%d tokens do not fit in memory; going on with %d", cost, self._memory
                )
            else:
                n_parts += 1
                continue
            if torch.cuda.is_available():  # now that the error holds nothing any more
                torch.cuda.empty_cache()
            parts.insert(0, (part, compute))
        family, found = self._scorer.spec.family, [rewards[at] for at in range(len(pairs))]
        ends = pairwise(accumulate(pack.sizes, initial=0))
        scored = (
            scored_row(self._job.pairs[row], pairs[a:b], found[a:b], family)
            for row, (a, b) in zip(self._job.plan.packs[pack.place], ends, strict=True)
        )
        return ScoredPack(
            pack.place,
            tuple(scored),
            sum(pair.cost for pair in pairs),
            n_parts if self._memory < math.inf else 1,
            self._scorer.traits.path,
        )

    def _in_parts(self, pairs: Sequence[Prepared], left: Sequence[int]) -> _Parts:
        """Pairs of a pack in parts that fit in memory, as far as that is known, each started.

        A pack may be too large for the budget, and is then halved: it was estimated, or planned
        where there was room for more.
        """
        costs = [pair.cost for pair in pairs]
        most = self._memory
        total, budget = sum(costs[at] for at in left), self._scorer.traits.budget
        if total > budget:
            most = min(most, budget, total / math.ceil(total / budget) + max(costs))
        return [
            (part, self._start([pairs[at] for at in part])) for part in split(left, costs, most)
        ]

    def _start(self, part: Sequence[Prepared]) -> Callable[[], Rewards]:
        try:
            return self._scorer.begin(part)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        return partial(self._scorer.rewards, part)  # again when its turn comes


def _made_ready(rows: Sequence[Pair], scorer: Scorer) -> list[list[Prepared]]:
    apart = [parts_of(row, scorer.spec.family) for row in rows]
    ready = _prepared(list(chain.from_iterable(apart)), scorer)
    check_tokens(ready, scorer.traits.vocabulary, scorer.spec.name)
    ends = accumulate(map(len, apart), initial=0)
    return [
        as_one_row(row.key, ready[a:b]) if len(row.responses) > 2 else ready[a:b]
        for row, (a, b) in zip(rows, pairwise(ends), strict=True)
    ]


def _prepared(pairs: Sequence[Pair], scorer: Scorer) -> list[Prepared]:
    """Pairs made ready.

    Raises:
        KnownError: naming the pair on which the model's template fails.
    """
    try:
        return scorer.prepare(pairs)
    except KnownError:
        for pair in pairs:
            try:
                scorer.prepare([pair])
            except KnownError as error:
                said = str(error)
                raise KnownError(f"On the pair {pair.key}, {said[0].lower()}{said[1:]}") from error
        raise


def _cost(parts: Sequence[Prepared]) -> int:
    return sum(part.cost for part in parts)


def _size(pair: Pair) -> int:
    """Characters of a pair's texts, with what a template adds."""
    return len(pair.prompt) + sum(map(len, pair.responses)) + _FRAME


def _too_large(prepared: Prepared, tokens: int) -> KnownError:
    return KnownError(
        f"The pair {prepared.pair.key} alone, {tokens:,} tokens, does not fit in memory. Allow "
        "fewer tokens (--max-length), use a smaller model, or a device with more memory. What was "
        "scored so far is kept."
    )
