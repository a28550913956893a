import json
from pathlib import Path

import pytest

from scoring.errors import KnownError
from scoring.splits import check_shards, split_files

REAL_NAMES = [
    "README.md",
    "data/filtered-00000-of-00001.parquet",
    "data/raw-00000-of-00002.parquet",
    "data/raw-00001-of-00002.parquet",
    "raw/kept.csv",
    "scripts/filter.py",
]
REAL_CARD = """---
license: odc-by
configs:
- config_name: default
  data_files:
  - split: raw
    path: data/raw-*
  - split: filtered
    path: data/filtered-*
- config_name: other
  data_files:
  - split: kept
    path: raw/*
---
# RewardBench
"""


def test_the_cards_first_configuration_decides(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text(REAL_CARD, encoding="utf-8")
    assert split_files(REAL_NAMES, card) == {
        "filtered": ["data/filtered-00000-of-00001.parquet"],
        "raw": ["data/raw-00000-of-00002.parquet", "data/raw-00001-of-00002.parquet"],
    }


def test_a_cards_split_may_list_several_paths(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text(
        "---\nconfigs:\n- data_files:\n  - {split: test, path: [a.csv, b/*.jsonl]}\n---\n",
        encoding="utf-8",
    )
    names = ["a.csv", "b/1.jsonl", "c.csv"]
    assert split_files(names, card) == {"test": ["a.csv", "b/1.jsonl"]}


def test_a_cards_star_does_not_reach_into_folders(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text(
        "---\nconfigs:\n- data_files:\n  - {split: test, path: '*.csv'}\n---\n", encoding="utf-8"
    )
    assert split_files(["a.csv", "old/b.csv"], card) == {"test": ["a.csv"]}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.csv", ["a.csv", "old/1.csv", "old/2.csv", "old/x/3.csv"]),
        ("old/**", ["old/1.csv", "old/2.csv", "old/x/3.csv"]),
        ("old/?.csv", ["old/1.csv", "old/2.csv"]),
        ("old/[12].csv", ["old/1.csv", "old/2.csv"]),
    ],
)
def test_a_cards_patterns_mean_what_they_mean_on_the_hub(
    pattern: str, expected: list[str], tmp_path: Path
) -> None:
    card = tmp_path / "README.md"
    entry = json.dumps({"split": "test", "path": pattern})
    card.write_text(f"---\nconfigs: [{{data_files: [{entry}]}}]\n---\n", encoding="utf-8")
    names = ["a.csv", "old/1.csv", "old/2.csv", "old/x/3.csv"]
    assert split_files(names, card) == {"test": expected}


@pytest.mark.parametrize(
    "text",
    [
        "no front matter",
        "---\nlicense: odc-by\n---\n",
        "---\nconfigs: [{data_files: data.csv}]\n---\n",
        "---\nconfigs: 5\n---\n",
        "---\n: [broken\n---\n",
        "---\n- a\n- list\n---\n",
    ],
)
def test_without_a_card_that_says_so_the_names_decide(text: str, tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text(text, encoding="utf-8")
    expected = {"test": ["data/test-00000-of-00001.parquet"], "raw": ["raw.jsonl"]}
    names = ["raw.jsonl", "data/test-00000-of-00001.parquet", "LICENSE.md"]
    assert split_files(names, card) == expected
    assert split_files(names, tmp_path / "gone.md") == expected


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("test.parquet", "test"),
        ("data/test-00000-of-00001-0123456789abcdef.parquet", "test"),
        ("train/0000.parquet", "train"),
        ("default/train/0000.parquet", "train"),
        ("DATA.CSV", "DATA"),
    ],
)
def test_a_files_name_says_its_split(name: str, split: str) -> None:
    assert split_files([name], Path("no card")) == {split: [name]}


def test_a_split_of_which_files_are_missing_is_refused() -> None:
    names = [f"data/raw-{number:05}-of-00003.parquet" for number in range(3)]
    check_shards(names, "org/pairs:raw")
    with pytest.raises(KnownError, match=r"Only 2 of the 3 files of org/pairs:raw are here\."):
        check_shards(names[1:], "org/pairs:raw")
