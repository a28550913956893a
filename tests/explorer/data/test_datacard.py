"""The data card agrees with the benchmark's tables, with the real data and with itself."""

import re
from typing import get_args

import numpy as np
from scipy.stats import binomtest  # type: ignore[import-untyped]

from explorer.data.datacard import (
    LengthCategory,
    SubsetCard,
    data_card,
    length_category,
    subset_card,
)
from explorer.data.offers import offers
from explorer.data.table import PairTable
from scoring.benchmark import COUNTS, SECTIONS, SUBSETS, WEIGHTS, section_of

CARD = data_card()

UPSTREAM_LENGTHS: dict[str, set[str]] = {
    "chosen": {"alpacaeval-easy", "alpacaeval-hard", "xstest-should-respond"},
    "rejected": {
        "mt-bench-easy", "mt-bench-hard", "llmbar-adver-neighbor", "llmbar-adver-GPTInst",
        "llmbar-adver-manual", "refusals-dangerous", "refusals-offensive", "xstest-should-refuse",
        "donotanswer",
    },
}  # fmt: skip
"""LENGTH_CATEGORIES of upstream's rewardbench/constants.py, without the neutral ones."""

DATA_ORDER = (
    *("alpacaeval-easy", "alpacaeval-hard", "alpacaeval-length"),
    *("mt-bench-easy", "mt-bench-med", "mt-bench-hard"),
    *("llmbar-natural", "llmbar-adver-neighbor", "llmbar-adver-GPTInst"),
    *("llmbar-adver-GPTOut", "llmbar-adver-manual"),
    *("refusals-dangerous", "refusals-offensive"),
    *("xstest-should-respond", "xstest-should-refuse", "donotanswer"),
    *("hep-python", "hep-go", "hep-cpp", "hep-js", "hep-rust", "hep-java", "math-prm"),
)


def ids_of(table: PairTable, *subsets: str) -> list[int]:
    wanted = np.isin(table.subset_of_row, subsets)
    return [int(key.rpartition(":")[2]) for key in np.array(table.keys)[wanted]]


def numbers(words: str) -> set[str]:
    return set(re.findall(r"\d[\d,]*", words.replace(", ", " ")))


def test_every_subset_is_there_once_in_the_benchmarks_order() -> None:
    assert tuple(card.subset for card in CARD.subsets) == SUBSETS
    assert len({card.name for card in CARD.subsets}) == 23
    assert all(subset_card(card.subset) is card for card in CARD.subsets)


def test_counts_are_those_of_the_benchmark() -> None:
    assert {card.subset: card.pairs for card in CARD.subsets} == COUNTS
    assert {card.subset: card.weight for card in CARD.subsets} == WEIGHTS
    assert all(card.section == section_of(card.subset) for card in CARD.subsets)
    assert sum(card.pairs for card in CARD.subsets) == 2985
    assert sum(card.raw for card in CARD.subsets) == 5123
    assert sum(card.collected for card in CARD.subsets) == 6981
    assert all(card.pairs <= card.raw <= card.collected for card in CARD.subsets)
    assert sum(card.collected for card in CARD.subsets if "xstest" in card.subset) == 450


def test_safety_is_what_may_harm_and_code_has_a_language() -> None:
    assert {card.subset for card in CARD.subsets if card.may_harm} == set(SECTIONS["Safety"])
    languages = {card.subset: card.language for card in CARD.subsets if card.language}
    assert set(languages) == {subset for subset in SUBSETS if subset.startswith("hep-")}
    assert len(set(languages.values())) == 6


def test_length_categories_are_upstreams() -> None:
    assert set(CARD.lengths) == set(get_args(LengthCategory))
    for subset in SUBSETS:
        sides = [side for side, members in UPSTREAM_LENGTHS.items() if subset in members]
        assert length_category(subset) == (sides[0] if sides else "neutral")


def test_the_raw_counts_are_the_room_that_ids_take_up(real: PairTable) -> None:
    """Ids count the raw split through; those of donotanswer are one too high."""
    start = 0
    for subset in DATA_ORDER:
        card = subset_card(subset)
        assert card is not None
        if "xstest" not in subset:  # the two alternate in one block, looked at below
            shift = int(subset == "donotanswer")
            ids = ids_of(real, subset)
            assert start + shift <= min(ids) <= max(ids) < start + shift + card.raw, subset
        start += card.raw
    assert start == 5123
    xstest = ids_of(real, "xstest-should-refuse", "xstest-should-respond")
    assert sorted(xstest) == list(range(3152, 3152 + 404))


def test_the_doubled_id_is_where_it_is_said_to_be(real: PairTable) -> None:
    every = ids_of(real, *SUBSETS)
    assert [value for value in set(every) if every.count(value) > 1] == [3692]
    assert ids_of(real, "donotanswer")[-1] == ids_of(real, "hep-python")[0] == 3692


def test_how_pairs_were_chosen_is_told_by_number() -> None:
    """By the dataset's own card ("Filtering Summary"), which names the sources of each kind."""
    kinds = {
        "each by people": ("AlpacaEval", "MT-Bench"),
        "automatically": ("LLMBar", "Do-Not-Answer", "HumanEvalPack", "PRM800K / MATH"),
        "partly by people": ("XSTest", "AI2 refusals"),
    }
    pairs = {
        kind: sum(card.pairs for card in CARD.subsets if card.origin.name in origins)
        for kind, origins in kinds.items()
    }
    assert sum(pairs.values()) == sum(COUNTS.values())
    about = {offer.wanted: offer.about for offer in offers()}
    for words in (CARD.summary, about["allenai/reward-bench:filtered"]):
        assert {f"{n:,}" for n in (*pairs.values(), sum(COUNTS.values()))} <= numbers(words)
    raw, collected = (
        sum(getattr(card, of) for card in CARD.subsets) for of in ("raw", "collected")
    )
    assert {f"{raw:,}", f"{collected:,}"} <= numbers(about["allenai/reward-bench:raw"])


def longer_sides(card: SubsetCard, table: PairTable) -> dict[str, int]:
    """Side -> pairs in which it has more characters."""
    ahead = (table.chars["chosen"] - table.chars["rejected"])[table.subset_of_row == card.subset]
    return {"chosen": int((ahead > 0).sum()), "rejected": int((ahead < 0).sum())}


def test_where_upstreams_word_on_lengths_is_not_borne_out_the_card_gives_the_count(
    real: PairTable,
) -> None:
    """Its side is longer in more pairs than chance gives; neither is, where it names none."""
    lacking = []
    for card in CARD.subsets:
        longer = longer_sides(card, real)
        most = max(longer, key=lambda side: longer[side])
        uneven = binomtest(longer[most], sum(longer.values())).pvalue < 0.05
        counts = [f"the {side} .*longer in {n} of {card.pairs} pairs" for side, n in longer.items()]
        said = re.search("|".join(counts), card.note or "")
        if (most if uneven else "neutral") != card.length and not said:
            lacking.append((card.subset, longer))
    assert lacking == []


def test_what_is_said_of_the_format_of_math_is_so(real: PairTable) -> None:
    rows = np.flatnonzero(real.subset_of_row == "math-prm")
    marked = {
        side: sum("\n# Answer\n" in real.cells(int(row))[side] for row in rows)
        for side in ("chosen", "rejected")
    }
    assert marked == {"chosen": 0, "rejected": 447}
    remark = CARD.cautions[0]
    assert "math-prm" in remark.title and "# Answer" in remark.text and "issue 88" in remark.text
