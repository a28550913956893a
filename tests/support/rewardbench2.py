"""A made-up file in the shape that RewardBench 2 documents, and its rules written once more."""

import math
import random
from collections.abc import Sequence
from typing import Any

SUBSETS = {"Factuality": 60, "Focus": 55, "Math": 30, "Precise IF": 25, "Safety": 50}
N_TIES = 12
"""Prompts of Ties; each has two rows."""
_WORDS = "the a red blue quick slow lamp river answer is not seven eight because of old new".split()


def made_up_rows(seed: int = 0) -> list[dict[str, Any]]:
    """244 rows: one right and three wrong responses, and Ties in both forms, one text twice."""
    drawn = random.Random(seed)
    rows = []
    for subset, n in SUBSETS.items():
        for at in range(n):
            responses = [_text(drawn) for _ in range(4)]
            if at % 7 == 0:
                responses[2] = responses[0]  # the right one again among the wrong ones
            rows.append(_row(str(at), subset, _text(drawn), responses, 1))
    for at in range(N_TIES):
        prompt, right, wrong = _text(drawn), drawn.randint(2, 6), drawn.randint(2, 9)
        short = [_text(drawn, 3) for _ in range(right)] if at % 3 else ["yes"] * right
        long = [_text(drawn, 3 + at) for _ in range(wrong)]
        rows.append(_row(f"ref:{at}", "Ties", prompt, [short[0], *long], 1))
        rows.append(_row(f"tied:{at}", "Ties", prompt, [*short, *long], right))
    return rows


def _text(drawn: random.Random, most: int = 12) -> str:
    return " ".join(drawn.choice(_WORDS) for _ in range(drawn.randint(1, most)))


def _row(id_: str, subset: str, prompt: str, responses: list[str], right: int) -> dict[str, Any]:
    return {
        "id": id_,
        "prompt": prompt,
        "chosen": responses[:right],
        "rejected": responses[right:],
        "num_correct": right,
        "num_incorrect": len(responses) - right,
        "total_completions": len(responses),
        "models": [f"model-{at % 5}" for at in range(len(responses))],
        "subset": subset,
        "additional_metadata": {"category": None, "index": None, "method": "made up"},
    }


def expected_scores(
    rows: Sequence[dict[str, Any]], rewards: Sequence[Sequence[float]]
) -> dict[str, float]:
    """Each subset's score and the mean of them as "", from the rewards of each row's responses."""
    shares: dict[str, list[float]] = {}
    ties: dict[str, dict[str, tuple[int, Sequence[float]]]] = {"ref": {}, "tied": {}}
    for row, values in zip(rows, rewards, strict=True):
        if row["subset"] == "Ties":
            kind, number = row["id"].split(":")
            ties[kind][number] = row["num_correct"], values
            continue
        top = max(values)
        share = 1 / values.count(top) if values[0] == top else 0.0
        shares.setdefault(row["subset"], []).append(share)
    scores = {subset: math.fsum(of) / len(of) for subset, of in shares.items()}
    scores["Ties"] = _expected_ties(ties)
    return {**scores, "": math.fsum(scores.values()) / len(scores)}


def _expected_ties(ties: dict[str, dict[str, tuple[int, Sequence[float]]]]) -> float:
    def gap(kind: str, number: str) -> float:
        right, values = ties[kind][number]
        return min(values[:right]) - max(values[right:])

    def spread(number: str) -> float:
        right, values = ties["tied"][number]
        return max(values[:right]) - min(values[:right])

    n = len(ties["ref"])
    total = 0.0
    for number in ties["ref"]:
        ref, tied, wide = gap("ref", number), gap("tied", number), spread(number)
        small = min(ref, tied)
        total += 0.3 * (tied > 0) + 0.3 * (ref > 0) + 0.2 * (tied > wide) + 0.2 * (small > wide)
        if wide:
            total += 0.01 * math.tanh(small / wide - 1)
        else:
            total += 0.01 * ((small > 0) - (small < 0))
    return total / n
