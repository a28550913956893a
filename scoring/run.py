"""score(pairs, scorer) -> a stream of scored packs, by a plan that can be stored and resumed."""

import logging
import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import torch

from scoring.engine.formatting import Prepared
from scoring.engine.forward import is_out_of_memory
from scoring.engine.packing import plan_packs, split
from scoring.engine.scorer import Scorer, check_tokens
from scoring.errors import KnownError
from scoring.spec import Pair, Plan, ScoredPack, ScoredPair, text_hash

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """Pairs made ready for a scorer, and the packs in which they are scored."""

    prepared: tuple[Prepared, ...]
    plan: Plan


def make_job(pairs: Sequence[Pair], scorer: Scorer, seed: int) -> Job:
    """Make pairs ready and plan in which packs they are scored: the same for the same input.

    pairs: at least one; keys distinct. seed: of their order.

    Raises:
        KnownError: there are no pairs, the model's template fails, or it does not know a token.
    """
    if not pairs:
        raise KnownError("No pairs are selected. Widen the filter, or ask for more per subset.")
    prepared = tuple(scorer.prepare(pairs))
    check_tokens(prepared, scorer.traits.vocabulary, scorer.spec.name)
    costs = [pair.cost for pair in prepared]
    scorer.expect(sum(costs))
    packs = plan_packs(costs, scorer.traits.budget, seed)
    return Job(prepared, Plan(tuple(tuple(pack) for pack in packs)))


def score(
    job: Job,
    scorer: Scorer,
    *,
    packs: Sequence[int] | None = None,
    done: Container[int] = (),
) -> Iterator[ScoredPack]:
    """Score a job's packs in the order of its plan.

    A pair's rewards do not depend, beyond the dtype's noise, on the pairs scored beside it.

    job: from `make_job`, with the same scorer.
    packs: places of the packs to score; None means all.
    done: places of those that are scored already.

    Yields:
        One pack after the other. Where memory runs out, a pack is computed in parts and says so,
        and the packs after it are computed in parts of that size at once.

    Raises:
        KnownError: a single pair does not fit in memory.
    """
    chosen = range(len(job.plan.packs)) if packs is None else packs
    places = [place for place in chosen if place not in done]
    costs = [pair.cost for pair in job.prepared]
    budget = sum(costs) + 1
    for place in places:
        pack = job.plan.packs[place]
        rewards: dict[int, tuple[float, float]] = {}
        parts, n_parts = split(pack, costs, budget), 0
        while parts:
            part = parts.pop(0)
            try:
                scored = scorer.rewards([job.prepared[index] for index in part])
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                cost = sum(costs[index] for index in part)
                if len(part) == 1:
                    raise _too_large(job.prepared[part[0]], cost) from error
                budget = min(budget, max(1, cost // 2))
                logger.warning("%d tokens do not fit in memory; going on with %d", cost, budget)
                left = [index for each in (part, *parts) for index in each]
                parts = split(left, costs, budget)
            else:
                rewards.update(zip(part, scored, strict=True))
                n_parts += 1
                continue
            if torch.cuda.is_available():  # now that the error holds nothing any more
                torch.cuda.empty_cache()
        rows = tuple(_scored(job.prepared[index], rewards[index]) for index in pack)
        yield ScoredPack(place, rows, sum(costs[index] for index in pack), n_parts)


def _scored(prepared: Prepared, rewards: tuple[float, float]) -> ScoredPair:
    pair = prepared.pair
    chosen, rejected = (reward if math.isfinite(reward) else None for reward in rewards)
    return ScoredPair(
        key=pair.key,
        subset=pair.subset,
        text_hash=text_hash(pair.prompt, pair.chosen, pair.rejected),
        chosen_reward=chosen,
        rejected_reward=rejected,
        chosen_tokens=len(prepared.chosen) + prepared.chosen_start,
        rejected_tokens=len(prepared.rejected) + prepared.rejected_start,
        chosen_truncated=prepared.chosen_truncated,
        rejected_truncated=prepared.rejected_truncated,
    )


def _too_large(prepared: Prepared, tokens: int) -> KnownError:
    return KnownError(
        f"The pair {prepared.pair.key} alone, {tokens:,} tokens, does not fit in memory. Allow "
        "fewer tokens (--max-length), use a smaller model, or a device with more memory. What was "
        "scored so far is kept."
    )
