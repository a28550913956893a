"""The data card agrees with the benchmark's tables, with the real data and with itself."""

import re

import numpy as np
from scipy.stats import binomtest  # type: ignore[import-untyped]

from explorer.data.datacard import data_card
from explorer.data.table import PairTable
from scoring.benchmark import COUNTS, SECTIONS, SUBSETS, WEIGHTS, section_of

CARD = data_card()


def test_every_subset_is_there_once_with_the_counts_of_the_benchmark() -> None:
    assert tuple(card.subset for card in CARD.subsets) == SUBSETS
    assert len({card.name for card in CARD.subsets}) == 23
    assert {card.subset: card.pairs for card in CARD.subsets} == COUNTS
    assert {card.subset: card.weight for card in CARD.subsets} == WEIGHTS
    assert all(card.section == section_of(card.subset) for card in CARD.subsets)
    assert sum(card.raw for card in CARD.subsets) == 5123
    assert sum(card.collected for card in CARD.subsets) == 6981
    assert all(card.pairs <= card.raw <= card.collected for card in CARD.subsets)
    assert {card.subset for card in CARD.subsets if card.may_harm} == set(SECTIONS["Safety"])
    languages = {card.subset: card.language for card in CARD.subsets if card.language}
    assert set(languages) == {subset for subset in SUBSETS if subset.startswith("hep-")}


def test_where_upstreams_word_on_lengths_is_not_borne_out_the_card_gives_the_count(
    real: PairTable,
) -> None:
    """Its side is longer in more pairs than chance gives; neither is, where it names none."""
    for card in CARD.subsets:
        ahead = real.lengths("difference", "chars")[real.subset_of_row == card.subset]
        longer = {"chosen": int((ahead > 0).sum()), "rejected": int((ahead < 0).sum())}
        most = "chosen" if longer["chosen"] >= longer["rejected"] else "rejected"
        uneven = binomtest(longer[most], sum(longer.values())).pvalue < 0.05
        counts = [f"the {side} .*longer in {n} of {card.pairs} pairs" for side, n in longer.items()]
        said = re.search("|".join(counts), card.note or "")
        assert (most if uneven else "neutral") == card.length or said, card.subset


def test_what_is_said_of_the_format_of_math_is_so(real: PairTable) -> None:
    cells = [real.cells(int(row)) for row in np.flatnonzero(real.subset_of_row == "math-prm")]
    sides = ("chosen", "rejected")
    assert [sum("\n# Answer\n" in each[side] for each in cells) for side in sides] == [0, 447]
