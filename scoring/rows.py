"""Rows with any number of right and wrong responses, taken apart into what scorers read: pairs.

A pair is a row of two and stays as it is. Of other rows each response has a reward of its own, two
of them in a part; families that compare two responses are asked of every two, and a response's
reward is the mean of what it got. Equal responses are scored once. A judge that is shown all four
responses of a row at once has it whole, and rewards each place.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from statistics import fmean

from scoring.benchmarks import rule_name_of
from scoring.engine.formatting import Prepared, TokenSequence
from scoring.errors import KnownError
from scoring.spec import COMPARING, Pair, ScoredPair, text_hash

MOST_COMPARED = 40
"""Responses of a row that are compared with each other: 780 comparisons."""
WHOLE_ROW = "judge of rows"
"""In place of a family: a judge that is shown the one right response and three wrong ones."""
_Side = tuple[str, TokenSequence]
"""A response, and what the model saw of it."""


def is_one_of_four(row: Pair) -> bool:
    """Whether a row has one right response and three wrong ones."""
    return (row.n_chosen, len(row.responses)) == (1, 4)


def check_compared(row: Pair, family: str) -> None:
    """Raise a `KnownError` if a row has more responses than are compared with each other, or others
    than are shown at once.
    """
    if family == WHOLE_ROW and not is_one_of_four(row):
        raise KnownError(
            f"{row.key} has {row.n_chosen} right and {len(row.responses) - row.n_chosen} wrong "
            "responses, and upstream's judge of RewardBench 2 is shown one right and three wrong "
            "ones. Choose another judge's prompt, such as mt-bench, which compares every two."
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
    """A row with its rewards, the mean over repeats.

    parts: as of `parts_of`, prepared, all of one repeat after those of the other. rewards: of their
    responses.
    """
    is_pair, n = len(row.responses) == 2, len(parts) // (parts[-1].repeat + 1)
    sides: list[_Side] = []
    for part in parts[:n]:
        responses, right = part.pair.responses, part.pair.n_chosen
        sides += [(each, part.sides[place >= right]) for place, each in enumerate(responses)]
    n_tokens = {response: side.start + len(side.ids) for response, side in sides}
    lengths = [n_tokens[response] for response in row.responses]
    cuts = [side.truncated for _, side in sides]
    is_cut = cuts if is_pair else [any(cuts)] * 2
    by_repeat = []
    for begin in range(0, len(parts), n):
        values = list(chain.from_iterable(rewards[begin : begin + n]))
        if n > 1 or len(values) < len(row.responses):
            reward_of = _rewards_by_response(sides, values, family)
            values = [reward_of[response] for response in row.responses]
        by_repeat.append(values)
    scored = ScoredPair(
        key=row.key,
        subset=row.subset,
        text_hash=text_hash(row.prompt, row.chosen, row.rejected),
        chosen_reward=None,
        rejected_reward=None,
        chosen_tokens=max(lengths[: row.n_chosen]),
        rejected_tokens=max(lengths[row.n_chosen :]),
        chosen_truncated=is_cut[0],
        rejected_truncated=is_cut[1],
        n_chosen=row.n_chosen,
        rule=rule_name_of(row.benchmark),
    )
    mean = scored.with_rewards([fmean(values) for values in zip(*by_repeat, strict=True)])
    if len(by_repeat) == 1:
        return mean
    return replace(mean, repeats=tuple(scored.with_rewards(each).all_rewards for each in by_repeat))


def _rewards_by_response(
    sides: Sequence[_Side], rewards: Sequence[float], family: str
) -> Mapping[str, float]:
    """Rated by itself, a response has one reward where the model sees the same tokens."""
    if family in COMPARING:
        compared = defaultdict[str, list[float]](list)
        for (response, _), reward in zip(sides, rewards, strict=True):
            compared[response].append(reward)
        return {response: fmean(found) for response, found in compared.items()}
    of_tokens: dict[tuple[int, ...], float] = {}
    rated: dict[str, float] = {}
    for (response, side), reward in zip(sides, rewards, strict=True):
        rated.setdefault(response, of_tokens.setdefault(side.ids, reward) if side.ids else reward)
    return rated
