"""Rows with any number of right and wrong responses, taken apart into what scorers read: pairs.

A pair is a row of two and stays as it is. Of other rows each response has a reward of its own, two
of them in a part; families that compare two responses are asked of every two, and a response's
reward is the mean of what it got. Equal responses are scored once.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean

from scoring.benchmarks import rule_name_of
from scoring.engine.formatting import Prepared
from scoring.errors import KnownError
from scoring.spec import COMPARING, Pair, ScoredPair, rule_of, text_hash

MOST_COMPARED = 40
"""Responses of a row that are compared with each other: 780 comparisons."""


def check_compared(row: Pair, family: str) -> None:
    """Refuse a row of more responses than are compared with each other.

    Raises:
        KnownError: naming the row, and a way out.
    """
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
    if len(row.responses) == 2:
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
    row: Pair, parts: Sequence[Prepared], rewards: Sequence[tuple[float, float]], family: str
) -> ScoredPair:
    """A row with its rewards. parts: as of `parts_of`, prepared. rewards: of each part's sides."""
    is_pair, rule = len(row.responses) == 2, rule_name_of(row.benchmark)
    right: int | None = None
    wrong: int | None = None
    if is_pair:
        (part,), known = parts, tuple(map(_finite_or_none, rewards[0]))
        right, wrong = 0, 1
        lengths = [start + len(ids) for _, ids, start in _sides(part)]
        cuts = part.chosen_truncated, part.rejected_truncated
    else:
        found = _rewards_by_response(parts, rewards, family)
        known = tuple(_finite_or_none(found[response]) for response in row.responses)
        rewarded = [each for each in known if each is not None]
        if len(rewarded) == len(known):
            right, wrong = rule_of(rule, is_pair=False).decisive(rewarded, row.n_chosen, row.subset)
        tokens = {text: start + len(ids) for part in parts for text, ids, start in _sides(part)}
        lengths = [tokens[text] for text in row.responses]
        cuts = (any(part.chosen_truncated or part.rejected_truncated for part in parts),) * 2
    return ScoredPair(
        key=row.key,
        subset=row.subset,
        text_hash=text_hash(row.prompt, row.chosen, row.rejected),
        chosen_reward=None if right is None else known[right],
        rejected_reward=None if wrong is None else known[wrong],
        chosen_tokens=max(lengths[: row.n_chosen]),
        rejected_tokens=max(lengths[row.n_chosen :]),
        chosen_truncated=cuts[0],
        rejected_truncated=cuts[1],
        rewards=() if is_pair else known,
        n_chosen=row.n_chosen,
        rule=rule,
    )


def _finite_or_none(reward: float) -> float | None:
    return reward if math.isfinite(reward) else None


def _sides(part: Prepared) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Each response, its tokens, and the position of the first of them."""
    yield part.pair.chosen, part.chosen, part.chosen_start
    yield part.pair.rejected, part.rejected, part.rejected_start


def _rewards_by_response(
    parts: Sequence[Prepared], rewards: Sequence[tuple[float, float]], family: str
) -> Mapping[str, float]:
    """Response -> its reward. Rated by itself, one where the model sees the same tokens."""
    sides = [
        (*side, reward)
        for part, both in zip(parts, rewards, strict=True)
        for side, reward in zip(_sides(part), both, strict=True)
    ]
    if family in COMPARING:
        compared: dict[str, list[float]] = {}
        for response, _, _, reward in sides:
            compared.setdefault(response, []).append(reward)
        return {response: fmean(found) for response, found in compared.items()}
    of_tokens: dict[tuple[int, ...], float] = {}
    rated: dict[str, float] = {}
    for response, ids, _, reward in sides:
        rated.setdefault(response, of_tokens.setdefault(ids, reward) if ids else reward)
    return rated
