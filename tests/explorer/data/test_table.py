import json
from pathlib import Path

import numpy as np
import pytest

from explorer.data.table import PairTable
from scoring.benchmark import COUNTS, SUBSETS
from scoring.pairs.opening import TEXT_COLUMNS, Pairs, PairSource, read_pairs
from scoring.spec import text_hash
from tests.support.tables import file_table, small_table
from tests.support.tables import row as small_row


def table_of(path: Path, *rows: dict[str, object]) -> PairTable:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return PairTable(read_pairs(path))


def pair(**columns: object) -> dict[str, object]:
    return {"prompt": "p", "chosen": "c", "rejected": "r", **columns}


def test_subsets_stand_in_the_benchmarks_order_and_unknown_ones_after_them(tmp_path: Path) -> None:
    subsets = ["zebra", "hep-rust", "my-own", "alpacaeval-easy", "donotanswer", "zebra"]
    rows = [pair(subset=subset, id=number) for number, subset in enumerate(subsets)]
    table = table_of(tmp_path / "pairs.jsonl", *rows)
    assert list(table.subset_counts.items()) == [
        ("alpacaeval-easy", 1),
        ("donotanswer", 1),
        ("hep-rust", 1),
        ("my-own", 1),
        ("zebra", 2),
    ]
    assert table.subset_of_row.tolist() == subsets


def test_rows_are_found_by_key_and_by_texts(demo: PairTable) -> None:
    for row in (0, 17, len(demo) - 1):
        cells = demo.cells(row)
        assert demo.row_of(cells["key"]) == row
        assert demo.hashes[row] == text_hash(*(cells[name] for name in TEXT_COLUMNS))
        assert (demo.key_of(row), demo.subset_of(row)) == (cells["key"], cells["subset"])
        assert demo.keys[row] == cells["key"]
    assert len(set(demo.keys)) == len(set(demo.hashes)) == len(demo)


@pytest.mark.parametrize("key", [None, "", "no:such", "hep-rust", "\ud800", "\0", "x" * 10**6])
def test_a_key_that_is_not_there_has_no_row(demo: PairTable, key: str | None) -> None:
    assert demo.row_of(key) is None


def test_the_other_rows_with_the_same_prompt() -> None:
    table = small_table(*(small_row(prompt=prompt) for prompt in "abacab"))
    assert [table.same_prompt(row).tolist() for row in range(4)] == [[2, 4], [5], [0, 4], []]


def test_lengths_of_every_measure_and_unit() -> None:
    table = small_table(small_row(prompt="", chosen="a b é", rejected="日本"), small_row())
    assert table.lengths("difference", "chars").tolist() == [3, 0]
    assert table.lengths("difference", "words").tolist() == [2, 0]
    assert table.lengths("prompt", "words").tolist() == [0, 1]
    assert table.lengths("rejected", "chars").tolist() == [2, 1]
    with pytest.raises(KeyError):
        table.lengths("chosen", "tokens", "demo@0")
    counts = {"chosen": 9, "rejected": 4, "prompt": 0}
    table.tokens["demo@0"] = {
        column: np.array([count, count], dtype=np.int32) for column, count in counts.items()
    }
    assert table.lengths("difference", "tokens", "demo@0").tolist() == [5, 5]
    assert table.lengths("chosen", "tokens", "demo@0").tolist() == [9, 9]


def test_the_real_split_has_the_published_sizes(real: PairTable) -> None:
    assert len(real) == 2985
    assert real.subset_counts == COUNTS
    assert list(real.subset_counts) == list(SUBSETS)


def test_keys_and_texts_are_unique_on_the_real_split(real: PairTable) -> None:
    assert len(set(real.keys)) == len(set(real.hashes)) == 2985
    assert len({key.rpartition(":")[2] for key in real.keys}) == 2984  # ids alone are not unique
    assert [real.row_of(key) for key in real.keys[::500]] == list(range(0, 2985, 500))


def of_benchmark(name: str, *rows: dict[str, object], file: str = "a.json") -> PairTable:
    """A file whose rows are of a benchmark."""
    arrow = small_table(*rows).arrow
    return file_table(file, arrow.replace_schema_metadata({"benchmark": name} if name else None))


@pytest.mark.parametrize(
    ("benchmark", "name"),
    [
        ("rmb", "RMB, pairs · a.json"),
        ("rmb-best-of-n", "RMB, best of n · a.json"),
        ("rm-bench", "RM-Bench · a.json"),
        ("", "a.json"),
        ("of-another-server", "a.json"),
    ],
)
def test_a_file_is_called_by_its_benchmark_too(benchmark: str, name: str) -> None:
    table = of_benchmark(benchmark, small_row())
    assert table.name == name and table.caption.startswith(f"{name}: 1 pair,")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (PairSource("hub", "ScalerLab/JudgeBench", "claude", "1f"), "JudgeBench, claude"),
        (PairSource("hub", "allenai/reward-bench", "raw", "1f"), "RewardBench, unfiltered"),
        (PairSource("hub", "allenai/reward-bench", "train", "1f"), "reward-bench train"),
        (PairSource("hub", "org/own", "test", "1f"), "own test"),
        (PairSource("demo", "demo pairs", None, "1f"), "Demo pairs"),
        (PairSource("file", "a@b.json", None, "1f"), "a@b.json"),
    ],
)
def test_what_sets_of_pairs_are_called(source: PairSource, name: str) -> None:
    assert PairTable(Pairs(source, small_table(small_row()).arrow)).name == name


def test_of_rows_with_several_responses_it_is_said_which_are_measured() -> None:
    several = small_row(chosen=["a"], rejected=["b", "c"])
    assert of_benchmark("", small_row()).measured_response == ""
    assert of_benchmark("", small_row(), several).measured_response == "first"
    assert of_benchmark("rm-bench", several).measured_response == "concise"
