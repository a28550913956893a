"""Rows with any number of right and wrong responses, taken apart into what scorers read: pairs.

A pair is a row of two and stays as it is. Of other rows each response has a reward of its own, two
of them in a part; families that compare two responses are asked of every two, and a response's
reward is the mean of what it got. Equal responses are scored once. A judge that is shown all four
responses of a row at once has it whole, and rewards each place.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean

from scoring.benchmarks import rule_name_of
from scoring.engine.formatting import Prepared, TokenSequence
from scoring.errors import KnownError
from scoring.rules import RULES
from scoring.spec import COMPARING, Pair, ScoredPair, text_hash

MOST_COMPARED = 40
"""Responses of a row that are compared with each other: 780 comparisons."""
WHOLE_ROW = "judge of rows"
"""In place of a family: a judge that is shown the one right response and three wrong ones."""
_ScoredSide = tuple[str, TokenSequence, float]
"""A response, what the model saw of it, and its reward."""


def check_compared(row: Pair, family: str) -> None:
    """Raise a `KnownError` if a row has more responses than are compared with each other, or others
    than are shown at once.
    """
    if family == WHOLE_ROW and (row.n_chosen, len(row.responses)) != (1, 4):
        raise KnownError(
            f"{row.key} has {row.n_chosen} right and {len(row.responses) - row.n_chosen} wrong "
            "responses, and upstream's judge of RewardBench 2 is shown one right and three wrong "
            "ones. Choose another --judge-prompt, such as mt-bench, which compares every two."
        )
    n_distinct = len(set(row.responses))
    if family in COMPARING and n_distinct > MOST_COMPARED:
        raise KnownError(
            f"{row.key} has {n_distinct:,} responses, and a {family} compares every two of "
            f"them; {MOST_COMPARED} are the most. Choose a model that rates each by itself."
        )


def parts_of(row: Pair, family: str) -> list[Pair]:
    """A row, which `check_compared` lets pass, as pairs in which each distinct response stands.

    >>> row = Pair("s:1", "s", "p", "a", "b", more_rejected=("c", "b"))
    >>> [(part.chosen, part.rejected) for part in parts_of(row, "classifier")]
    [('a', 'b'), ('c', 'c')]
    """
    if len(row.responses) == 2 or family == WHOLE_ROW:
        return [row]
    distinct = list(dict.fromkeys(row.responses))
    if family in COMPARING and len(distinct) > 1:
        sides = list(combinations(distinct, 2))
    else:
        sides = list(zip(distinct[::2], [*distinct[1::2], distinct[-1]], strict=False))
    return [
        replace(row, chosen=one, rejected=other, more_chosen=(), more_rejected=())
        for one, other in sides
    ]


def scored_row(
    row: Pair, parts: Sequence[Prepared], rewards: Sequence[tuple[float, ...]], family: str
) -> ScoredPair:
    """A row with its rewards. parts: as of `parts_of`, prepared. rewards: of their responses."""
    is_pair, rule = len(row.responses) == 2, rule_name_of(row.benchmark)
    sides: list[_ScoredSide] = []
    for part, found in zip(parts, rewards, strict=True):
        seen = (part.sides[place >= part.pair.n_chosen] for place in range(len(found)))
        sides += zip(part.pair.responses, seen, found, strict=True)
    n_tokens = {response: side.start + len(side.ids) for response, side, _ in sides}
    lengths = [n_tokens[response] for response in row.responses]
    cuts = [side.truncated for _, side, _ in sides]
    is_cut = cuts if is_pair else [any(cuts)] * 2
    found = rewards[0]
    if len(found) < len(row.responses):
        reward_of = _rewards_by_response(sides, family)
        found = tuple(reward_of[response] for response in row.responses)
    known = tuple(reward if math.isfinite(reward) else None for reward in found)
    finite = [reward for reward in known if reward is not None]
    chosen_reward, rejected_reward = known[:2] if is_pair else (None, None)
    if not is_pair and len(finite) == len(known):
        of_row = RULES[rule or "rewardbench_2"]
        right, wrong = of_row.decisive(finite, row.n_chosen, row.subset)
        chosen_reward, rejected_reward = finite[right], finite[wrong]
    return ScoredPair(
        key=row.key,
        subset=row.subset,
        text_hash=text_hash(row.prompt, row.chosen, row.rejected),
        chosen_reward=chosen_reward,
        rejected_reward=rejected_reward,
        chosen_tokens=max(lengths[: row.n_chosen]),
        rejected_tokens=max(lengths[row.n_chosen :]),
        chosen_truncated=is_cut[0],
        rejected_truncated=is_cut[1],
        rewards=() if is_pair else known,
        n_chosen=row.n_chosen,
        rule=rule,
    )


def _rewards_by_response(sides: Sequence[_ScoredSide], family: str) -> Mapping[str, float]:
    """Rated by itself, a response has one reward where the model sees the same tokens."""
    if family in COMPARING:
        compared = defaultdict[str, list[float]](list)
        for response, _, reward in sides:
            compared[response].append(reward)
        return {response: fmean(found) for response, found in compared.items()}
    of_tokens: dict[tuple[int, ...], float] = {}
    rated: dict[str, float] = {}
    for response, side, reward in sides:
        rated.setdefault(response, of_tokens.setdefault(side.ids, reward) if side.ids else reward)
    return rated
