"""Pairs and their outcomes."""

import math

import pytest

from scoring.rules import Outcome
from scoring.spec import ScoredPair, outcome_of, text_hash


@pytest.mark.parametrize(
    ("chosen", "rejected", "margin", "outcome"),
    [
        (-3.0, -2.0, -1.0, "loss"),
        (1.25, 1.25, 0.0, "tie"),
        (0.0, -0.0, 0.0, "tie"),
        (math.nextafter(1.0, 2.0), 1.0, math.ulp(1.0), "win"),
        (None, 1.0, None, "missing"),
        (1.0, None, None, "missing"),
    ],
)
def test_the_margin_decides_the_outcome(
    chosen: float | None, rejected: float | None, margin: float | None, outcome: Outcome
) -> None:
    pair = ScoredPair("s:1", "s", "0" * 16, chosen, rejected, 3, 4)
    assert (pair.margin, pair.outcome) == (margin, outcome)
    assert (outcome_of(math.nan), outcome_of(math.inf)) == ("missing", "win")


def test_the_text_hash_tells_texts_apart_wherever_they_are_cut() -> None:
    texts = [("p", "c", "r"), ("p", "r", "c"), ("pc", "", "r"), ("p", "cr", ""), ("p", "c", "r ")]
    assert len({text_hash(*each) for each in (*texts, ("\ud800", "c", "r"))}) == len(texts) + 1
    assert text_hash("p", "c", "r") == "4afa9877dbe2a1fa", "as stored with earlier runs"
