"""Pairs and their outcomes."""

import math

import pytest

from scoring.rules import Outcome
from scoring.spec import ScoredPair, outcome_of, text_hash


def scored(chosen: float | None, rejected: float | None) -> ScoredPair:
    return ScoredPair("s:1", "s", "0" * 16, chosen, rejected, 3, 4)


@pytest.mark.parametrize(
    ("chosen", "rejected", "margin", "outcome"),
    [
        (2.0, 0.5, 1.5, "win"),
        (-3.0, -2.0, -1.0, "loss"),
        (1.25, 1.25, 0.0, "tie"),
        (0.0, -0.0, 0.0, "tie"),
        (math.nextafter(1.0, 2.0), 1.0, math.ulp(1.0), "win"),
        (None, 1.0, None, "missing"),
        (1.0, None, None, "missing"),
        (None, None, None, "missing"),
    ],
)
def test_the_margin_decides_the_outcome(
    chosen: float | None, rejected: float | None, margin: float | None, outcome: Outcome
) -> None:
    pair = scored(chosen, rejected)
    assert (pair.margin, pair.outcome) == (margin, outcome)


def test_a_margin_that_is_no_number_is_missing() -> None:
    assert outcome_of(math.nan) == "missing"
    assert outcome_of(math.inf) == "win"


def test_the_text_hash_tells_texts_apart_wherever_they_are_cut() -> None:
    texts = [("p", "c", "r"), ("p", "r", "c"), ("pc", "", "r"), ("p", "cr", ""), ("p", "c", "r ")]
    hashes = {text_hash(*each) for each in texts}
    assert len(hashes) == len(texts)
    assert all(len(digits) == 16 and int(digits, 16) >= 0 for digits in hashes)


def test_the_hash_is_the_one_stored_with_earlier_runs() -> None:
    assert text_hash("p", "c", "r") == "4afa9877dbe2a1fa"
    assert text_hash("\ud800", "c", "r") == text_hash("\ud800", "c", "r")  # whatever the text
