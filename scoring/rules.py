"""The rules by which benchmarks judge a row: who wins it, and what that counts.

A row has the rewards of its right responses, then those of its wrong ones. What a benchmark makes
of its rows, sections and a score, stands in `scoring.benchmarks`.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Literal

Outcome = Literal["win", "loss", "tie", "missing"]
Rewards = Sequence[float]
"""Rewards of all responses of a row, the right ones first; all are known."""


def plain_subset(name: str) -> str:
    """A subset's name as names are compared: RewardBench 2's are spelled in several ways.

    >>> plain_subset("Precise_IF") == plain_subset("precise if")
    True
    """
    return name.strip().casefold().replace("_", " ").replace("-", " ")


def is_ties(subset: str) -> bool:
    """Whether it is RewardBench 2's subset in which every right response must beat every wrong one.

    >>> is_ties("Ties"), is_ties("Focus")
    (True, False)
    """
    return plain_subset(subset) == "ties"


class Rule:
    """Pairs: won where the chosen response scores strictly higher than the rejected one.

    parts: names of numbers that a row has besides its credit; their means stand beside the score.
    reads_several: whether its rows have more responses than two.
    asks_both_orders: whether a judge has a vote in each order of a pair's responses.
    method: when a row is won, in words. margin: whose rewards make its margin, in words; "" for the
        two of a pair.
    """

    method = "A pair is won when the chosen response scores strictly higher."
    margin = ""
    parts: tuple[str, ...] = ()
    reads_several = False
    asks_both_orders = False

    def decisive(self, rewards: Rewards, n_right: int, subset: str) -> tuple[int, int]:
        """The places of the right and the wrong response whose rewards decide a row.

        The right one is the best of them, the wrong one, too; the first of equal ones.
        """
        right = max(range(n_right), key=rewards.__getitem__)
        return right, max(range(n_right, len(rewards)), key=rewards.__getitem__)

    def outcome(self, rewards: Rewards, n_right: int, subset: str) -> Outcome:
        """The outcome of a row."""
        right, wrong = (rewards[at] for at in self.decisive(rewards, n_right, subset))
        return "tie" if right == wrong else "win" if right > wrong else "loss"

    def credit(self, rewards: Rewards, n_right: int, subset: str, tie: float) -> float:
        """The credit of a row, 0 to 1. tie: that of a tie, as of `tie_of`."""
        outcome = self.outcome(rewards, n_right, subset)
        return tie if outcome == "tie" else int(outcome == "win")

    def part_credits(self, rewards: Rewards, n_right: int) -> tuple[float, ...]:
        """The credit of a row in each of the `parts`, 0 to 1."""
        return ()

    def tie_of(self, family: str) -> float:
        """The credit of a tie: half for judges and raters, nothing for others.

        Source: upstream's run_generative.py, run_rm.py and run_dpo.py.
        """
        return 0.5 if family in ("judge", "rater") else 0.0


class BestOfN(Rule):
    """A row is won where its right response scores strictly higher than all wrong ones.

    Source: RMB (eval/scripts of Zhou-Zoey/RMB-Reward-Model-Benchmark): a tie is none.
    """

    method = "A row is won when its right response scores strictly higher than all wrong ones."
    margin = "The margin of a row is its right response's reward minus the highest of a wrong one."
    reads_several = True

    def tie_of(self, family: str) -> float:
        """Nothing, whatever the family."""
        return 0.0


class JudgeTwoOrders(BestOfN):
    """Pairs, of which judges are asked in both orders; a tie is wrong.

    Each answer is +1 if it is the label, -1 if the opposite; right is a sum above 0.
    Source: utils/metrics.py of ScalerLab/JudgeBench at e2c52c2.
    """

    method = (
        "A pair is won when the chosen response scores strictly higher; a tie is wrong. A judge is "
        "asked in both orders, and right where more of its two answers are right than wrong."
    )
    margin = ""
    reads_several = False
    asks_both_orders = True


class RewardBench2(Rule):
    """The one right response must score highest; those that share the highest share the credit.

    In *Ties* every right response must beat every wrong one. Source: `reroll_and_score_dataset` and
    `process_single_model` in upstream's rewardbench/utils.py.

    >>> RewardBench2().credit([1.0, 1.0, 0.5, 1.0], 1, "Focus", 0.0)
    0.3333333333333333
    >>> RewardBench2().decisive([2.0, 0.5, 1.0, 0.7], 2, "Ties")
    (1, 2)
    """

    margin = "The margin is the best correct reward minus the best wrong reward."
    method = f"A row is won if a correct response scores highest. Ties share the credit. {margin}"
    reads_several = True

    def decisive(self, rewards: Rewards, n_right: int, subset: str) -> tuple[int, int]:
        """As of `Rule`; in *Ties* the worst of the right ones."""
        right, wrong = super().decisive(rewards, n_right, subset)
        return (min(range(n_right), key=rewards.__getitem__) if is_ties(subset) else right), wrong

    def outcome(self, rewards: Rewards, n_right: int, subset: str) -> Outcome:
        """As of `Rule`; *Ties* has no ties."""
        found = super().outcome(rewards, n_right, subset)
        return "loss" if found == "tie" and is_ties(subset) else found

    def credit(self, rewards: Rewards, n_right: int, subset: str, tie: float) -> float:
        """As of `Rule`; of a tie, the share of right responses among the highest."""
        if self.outcome(rewards, n_right, subset) != "tie":
            return super().credit(rewards, n_right, subset, tie)
        highest = max(rewards)
        best = [place for place, reward in enumerate(rewards) if reward == highest]
        return sum(place < n_right for place in best) / len(best)


class RMBench(Rule):
    """Each of three right styles against each of three wrong ones: concise, detailed, and detailed
    with Markdown.

    M[i][j] is 1 where right style i scores strictly above wrong style j. Hard is the mean of the
    three above the diagonal (a plain right answer against a fancier wrong one), normal of the
    diagonal, easy of the three below; a row counts the mean of the three.
    Source: scripts/utils.py of THU-KEG/RM-Bench at 73c52d7.

    >>> rule, longer = RMBench(), [10.0, 20.0, 30.0, 15.0, 25.0, 35.0]
    >>> rule.part_credits(longer, 3), rule.credit(longer, 3, "chat", 0.0)
    ((0.0, 0.0, 1.0), 0.3333333333333333)
    >>> rule.decisive(longer, 3, "chat")
    (0, 5)
    """

    method = (
        "Each of three right styles is compared with each of three wrong ones, and wins where it "
        "scores strictly higher. Hard: a plainer right answer against a fancier wrong one. Normal: "
        "the same style. Easy: a fancier right answer. A row counts the mean of the three."
    )
    margin = (
        "A row is listed as won where all nine comparisons are won. Its margin is the lowest "
        "reward of a right style minus the highest of a wrong one."
    )
    parts = ("hard", "normal", "easy")
    reads_several = True

    def decisive(self, rewards: Rewards, n_right: int, subset: str) -> tuple[int, int]:
        """The worst right and the best wrong style: all nine are won where that comparison is."""
        wrong = super().decisive(rewards, n_right, subset)[1]
        return min(range(n_right), key=rewards.__getitem__), wrong

    def outcome(self, rewards: Rewards, n_right: int, subset: str) -> Outcome:
        """A win where all nine comparisons are won, else a loss."""
        return "win" if self.credit(rewards, n_right, subset, 0.0) == 1 else "loss"

    def credit(self, rewards: Rewards, n_right: int, subset: str, tie: float) -> float:
        """The mean of `part_credits`."""
        return fmean(self.part_credits(rewards, n_right))

    def part_credits(self, rewards: Rewards, n_right: int) -> tuple[float, ...]:
        """Hard, normal and easy."""
        found: dict[int, list[bool]] = {1: [], 0: [], -1: []}
        for i, right in enumerate(rewards[:n_right]):
            for j, wrong in enumerate(rewards[n_right:]):
                found[(j > i) - (j < i)].append(right > wrong)
        return tuple(map(fmean, found.values()))


RULES: dict[str, Rule] = {
    "pairs": Rule(),
    "best_of_n": BestOfN(),
    "rewardbench_2": RewardBench2(),
    "rm_bench": RMBench(),
    "judge_two_orders": JudgeTwoOrders(),
}
"""Rules by their names in assets/benchmarks.toml."""
