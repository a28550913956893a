"""The reward after each token of a response: where in its text a classifier changes its mind.

A causal classifier's hidden state at a token knows the text up to there and nothing after it, so
its head, put on every token of one forward pass, gives what scoring each beginning of the text
anew would give (as `analysis/get_per_token_reward.py` of allenai/reward-bench does). A model is
trained to be read at the end alone: what it says before is a view of it, not a reward it was
taught.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from scoring.engine.formatting import Prepared
from scoring.engine.forward import NOISE
from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.families.classifier import Classifier
from scoring.probing.side_rewards import Jump, SideRewards, TokenReward, TokenRewards, largest_jumps
from scoring.probing.token_spans import Placed, placed_sides
from scoring.run import is_out_of_memory
from scoring.spec import Pair

__all__ = ["Jump", "SideRewards", "TokenReward", "TokenRewards", "largest_jumps", "token_rewards"]

_CHECKED = 32
"""Tokens of a pair that a model is proven causal with."""


def token_rewards(scorer: Scorer, pair: Pair) -> TokenRewards:
    """The reward after each token of both responses, in one forward pass.

    Formatting, truncation, dtype and path are the scorer's, so that the last reward of a side is
    the one that a run gives: within 1e-6 * max(1, |reward|) in float32, within the dtype's noise
    (`forward.NOISE`) in others. Only one thread may use a scorer at a time.

    Args:
        scorer: a causal classifier, from `families.open_scorer`.
        pair: any pair with two responses.

    Raises:
        KnownError: the scorer is no causal classifier, a response is empty or wholly cut off by
            truncation, or the pair does not fit in memory.
    """
    if not isinstance(scorer, Classifier):
        raise KnownError(
            f"{scorer.spec.name} is of family {scorer.spec.family}, which has no reward after each "
            "token. Choose a sequence classifier that is built on a decoder."
        )
    (prepared,) = scorer.prepare([pair])
    chosen, rejected = placed_sides(scorer.formatter, prepared)
    prepared = replace(prepared, chosen_tail=chosen.tail, rejected_tail=rejected.tail)
    try:
        _check_causal(scorer, prepared)
        chosen_rewards, rejected_rewards = scorer.at_tails(prepared)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise KnownError(
            f"The pair {pair.key}, {prepared.cost:,} tokens, does not fit in memory. Choose a "
            "shorter pair, a smaller model, or a device with more memory."
        ) from error
    # What both sides share is equal to the last bit, which products of matrices do not see to.
    for place in range(max(chosen.first, rejected.first), prepared.shared):
        rejected_rewards[place - rejected.first] = chosen_rewards[place - chosen.first]
    return TokenRewards(
        pair=pair,
        chosen=_side(chosen, chosen_rewards),
        rejected=_side(rejected, rejected_rewards),
        model=scorer.spec,
        traits=scorer.traits,
        truncation_side="left" if scorer.formatter.cuts_left else "right",
    )


def _side(placed: Placed, rewards: Sequence[float]) -> SideRewards:
    """rewards: at the tail of what is placed."""
    opening = placed.opening - placed.first
    rows = zip(
        placed.spans[placed.opening :],
        placed.in_response[placed.opening :],
        rewards[opening:],
        strict=True,
    )
    return SideRewards(
        text=placed.text,
        response=placed.response,
        tokens=tuple(
            TokenReward(placed.text[start:end], start, end, own, reward)
            for (start, end), own, reward in rows
        ),
        before=rewards[0] if opening else None,
        truncated=placed.truncated,
    )


def _check_causal(scorer: Classifier, prepared: Prepared) -> None:
    """Prove that rewards do not change with what follows, on the pair's own first tokens.

    Raises:
        KnownError: most of them do.
    """
    ids = prepared.chosen[:_CHECKED]
    begin = ids[: (len(ids) + 1) // 2]
    check = replace(
        prepared,
        chosen=ids,
        rejected=begin,
        shared=0,
        chosen_tail=len(ids),
        rejected_tail=len(begin),
        rejected_start=prepared.chosen_start,
    )
    followed, alone = scorer.at_tails(check)
    noise = NOISE.get(getattr(torch, scorer.traits.dtype), NOISE[torch.float32])
    apart = [
        abs(one - other) > noise * max(1, abs(other))
        for one, other in zip(followed[: len(alone)], alone, strict=True)
    ]
    if 2 * sum(apart) > len(apart):
        raise KnownError(
            f"{scorer.spec.name} sees the whole text at each token, so that it has no reward after "
            "a token. Choose a classifier that is built on a decoder."
        )
