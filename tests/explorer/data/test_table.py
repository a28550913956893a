import re

import numpy as np
import pytest
from scipy.stats import binomtest  # type: ignore[import-untyped]

from explorer.data.datacard import data_card
from explorer.data.table import PairTable
from scoring.benchmark import COUNTS, SECTIONS, SUBSETS, WEIGHTS, section_of
from scoring.pairs.opening import TEXT_COLUMNS, Pairs, PairSource
from scoring.spec import text_hash
from tests.support.tables import file_table, row, small_table


def test_subsets_stand_in_the_benchmarks_order_and_unknown_ones_after_them() -> None:
    subsets = ["zebra", "hep-rust", "my-own", "alpacaeval-easy", "donotanswer", "zebra"]
    table = small_table(*(row(subset=subset) for subset in subsets))
    order = ["alpacaeval-easy", "donotanswer", "hep-rust", "my-own", "zebra"]
    assert table.subset_counts == dict.fromkeys(order, 1) | {"zebra": 2}
    assert [*table.subset_counts] == order and table.subset_of_row.tolist() == subsets


def test_rows_are_found_by_key_and_by_texts(demo: PairTable) -> None:
    for number in (0, len(demo) - 1):
        cells = demo.cells(number)
        assert demo.row_of(cells["key"]) == number
        assert demo.hashes[number] == text_hash(*(cells[name] for name in TEXT_COLUMNS))
        assert (demo.key_of(number), demo.subset_of(number)) == (cells["key"], cells["subset"])
    assert len(set(demo.keys)) == len(set(demo.hashes)) == len(demo)
    for key in (None, "no:such", "\ud800", "\0", "x" * 10**6):
        assert demo.row_of(key) is None


def test_the_other_rows_with_the_same_prompt() -> None:
    table = small_table(*(row(prompt=prompt) for prompt in "abacab"))
    assert [table.same_prompt(number).tolist() for number in range(4)] == [[2, 4], [5], [0, 4], []]


def test_lengths_of_every_measure_and_unit() -> None:
    table = small_table(row(prompt="", chosen="a b é", rejected="日本"), row())
    assert table.lengths("difference", "chars").tolist() == [3, 0]
    assert table.lengths("difference", "words").tolist() == [2, 0]
    assert table.lengths("rejected", "chars").tolist() == [2, 1]
    with pytest.raises(KeyError):
        table.lengths("chosen", "tokens", "demo@0")
    counts = {"chosen": [9, 1], "rejected": [4, 1], "prompt": [0, 1]}
    table.tokens["demo@0"] = {column: np.array(each) for column, each in counts.items()}
    assert table.lengths("difference", "tokens", "demo@0").tolist() == [5, 0]


@pytest.mark.parametrize(
    ("source", "benchmark", "name"),
    [
        (PairSource("hub", "allenai/reward-bench", "raw", "1f"), "", "RewardBench, unfiltered"),
        (PairSource("hub", "allenai/reward-bench", "train", "1f"), "", "reward-bench train"),
        (PairSource("file", "a.json", None, "1f"), "rmb-best-of-n", "RMB, best of n · a.json"),
        (PairSource("file", "a.json", None, "1f"), "of-another-server", "a.json"),
    ],
)
def test_what_sets_of_pairs_are_called(source: PairSource, benchmark: str, name: str) -> None:
    arrow = small_table(row()).arrow.replace_schema_metadata({"benchmark": benchmark})
    table = PairTable(Pairs(source, arrow))
    assert table.name == name
    assert source.kind == "hub" or table.caption.startswith(name)


def test_of_rows_with_several_responses_it_is_said_which_are_measured() -> None:
    several = small_table(row(), row(chosen=["a"], rejected=["b", "c"])).arrow
    of_benchmark = several.replace_schema_metadata({"benchmark": "rm-bench"})
    tables = several.slice(0, 1), several, of_benchmark
    said = [file_table("a.json", each).measured_response for each in tables]
    assert said == ["", "first", "concise"]


# The data card agrees with the tables of the benchmark and with the real data.


CARD = data_card()


def test_every_subset_is_there_once_with_the_counts_of_the_benchmark() -> None:
    assert tuple(card.subset for card in CARD.subsets) == SUBSETS
    assert {card.subset: card.pairs for card in CARD.subsets} == COUNTS
    assert {card.subset: card.weight for card in CARD.subsets} == WEIGHTS
    assert all(card.section == section_of(card.subset) for card in CARD.subsets)
    assert sum(card.raw for card in CARD.subsets) == 5123
    assert all(card.pairs <= card.raw <= card.collected for card in CARD.subsets)
    assert {card.subset for card in CARD.subsets if card.may_harm} == set(SECTIONS["Safety"])
    assert all(bool(card.language) == card.subset.startswith("hep-") for card in CARD.subsets)


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
