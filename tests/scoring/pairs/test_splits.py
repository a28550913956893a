"""Which files of a dataset are which split: as its card says, else as they are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.hub.access import Hub, HubId
from scoring.pairs.opening import check_shards, fetch_pairs, split_files
from tests.support.hub_server import HubServer, Repo, use_hub
from tests.support.pair_files import TEXTS, write_rows

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


def test_the_cards_first_configuration_names_splits_and_others_add_theirs(tmp_path: Path) -> None:
    card = tmp_path / "README.md"
    card.write_text(REAL_CARD, encoding="utf-8")
    assert split_files(REAL_NAMES, card) == {
        "filtered": ["data/filtered-00000-of-00001.parquet"],
        "raw": ["data/raw-00000-of-00002.parquet", "data/raw-00001-of-00002.parquet"],
        "other/kept": ["raw/kept.csv"],
    }


@pytest.mark.parametrize(
    "other",
    [
        "{config_name: b, data_files: b.csv}",
        "{config_name: b}",
        "{data_files: [{split: test, path: b.csv}]}",
        "{config_name: [b], data_files: [{split: test, path: b.csv}]}",
        "{config_name: b/c, data_files: [{split: test, path: b.csv}]}",
        "{config_name: b, data_files: [{split: x/y, path: b.csv}]}",
        "b",
    ],
)
def test_a_configuration_that_cannot_be_asked_for_spoils_no_other(
    other: str, tmp_path: Path
) -> None:
    card = tmp_path / "README.md"
    first, last = (f"{{config_name: {x}, data_files: [{{split: s, path: {x}.csv}}]}}" for x in "az")
    card.write_text(f"---\nconfigs: [{first}, {other}, {last}]\n---\n", encoding="utf-8")
    assert split_files(["a.csv", "b.csv", "z.csv"], card) == {"s": ["a.csv"], "z/s": ["z.csv"]}


def declaring(folder: Path, entries: Any) -> Path:
    """A card with these `data_files`, as text or as values."""
    written = entries if isinstance(entries, str) else json.dumps(entries)
    card = folder / "README.md"
    card.write_text(f"---\nconfigs: [{{data_files: {written}}}]\n---\n", encoding="utf-8")
    return card


FOUR = ["a.csv", "old/1.csv", "old/2.csv", "old/x/3.csv"]
NAMES = ["a" * 200 + ".csv", "b[z-a].csv", "é.csv", "broken\ud800.csv"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("names", "path", "fits"),
    [
        (FOUR, ["a.csv", "old/x/*"], ["a.csv", "old/x/3.csv"]),
        (FOUR, "*.csv", ["a.csv"]),
        (FOUR, "**/*.csv", FOUR),
        (FOUR, "old/**", FOUR[1:]),
        (FOUR, "old/?.csv", FOUR[1:3]),
        (FOUR, "old/[12].csv", FOUR[1:3]),
        (FOUR, "old/[1-2].csv", FOUR[1:3]),
        (FOUR, "old/1.csv", ["old/1.csv"]),
        (NAMES, "*a" * 19 + "*.csv", NAMES[:1]),
        (NAMES, ["*a" * 19 + "*.cs"], []),
        (NAMES, ["**a" * 19 + "*.cs"], []),
        (NAMES, ["[z-a].csv"], []),
        (NAMES, ["[a--b]*"], []),
        (NAMES, "*[a-z].csv", NAMES[:1]),
        (NAMES, "?.csv", ["é.csv"]),
        (NAMES, [".*"], []),
        *((NAMES, each, None) for each in ("*" * 301, "*a" * 21, "a\u202e*", "", "\ud800*")),
    ],
)
def test_a_cards_patterns_mean_what_they_mean_on_the_hub(
    names: list[str], path: Any, fits: list[str] | None, tmp_path: Path
) -> None:
    """One that nobody writes declares nothing, and names decide."""
    card = declaring(tmp_path, [{"split": "s", "path": path}])
    by_name = {Path(name).stem: [name] for name in names}
    assert split_files(names, card) == (by_name if fits is None else {"s": fits} if fits else {})


LAUGHS = "[x, x, x, x, x, x, x, x, x]"
NESTED = f"&a0 {LAUGHS}, " + ", ".join(
    f"&a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12)
)
MERGED = "&a0 {split: s, path: '*.csv'}, " + ", ".join(
    f"&a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}" for level in range(1, 12)
)


@pytest.mark.parametrize(
    "entries",
    [
        f"[{{split: s, path: [{NESTED}]}}]",
        f"[{{split: [{NESTED}], path: '*.csv'}}]",
        f"[{MERGED}]",
        f"[{{path: &all [{'[], ' * 9_000}], split: s}}, {'{path: *all, split: s}, ' * 5_000}]",
        "[" * 90_000,
        "[" + "1:" * 50_000 + "1]",
        '[{split: s, path: a.csv, why: "' + "x" * 200_000 + '"}]',
    ],
    ids=["paths", "splits", "merged", "repeated", "deep", "a huge number", "a huge card"],
)
def test_a_card_that_says_itself_again_and_again_costs_nothing(
    entries: str, tmp_path: Path
) -> None:
    card = declaring(tmp_path, entries)
    assert split_files(["a.csv"], card) == {"a": ["a.csv"]}


def test_a_split_may_be_called_by_a_number(tmp_path: Path) -> None:
    card = declaring(tmp_path, "[{split: 2024, path: a.csv}, {split: on, path: b.csv}]")
    assert split_files(["a.csv", "b.csv"], card) == {"2024": ["a.csv"], "on": ["b.csv"]}


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
    with pytest.raises(KnownError, match="of org/pairs:raw only 2 can be found"):
        check_shards(names[1:], "org/pairs:raw")


@pytest.mark.parametrize(
    "place",
    ["{path}", "file://{path}", "../../../../../../../..{path}", "/**/*.csv", "{url}/secret.csv"],
)
def test_a_card_never_leads_to_a_file_of_this_machine_or_another(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write_rows(tmp_path / "secret.csv", [TEXTS])
    files = {"own.csv": secret.read_bytes()}
    with HubServer({"datasets/org/one": Repo(files)}) as server:
        named = place.format(path=secret, url=server.url)
        card = (
            f"---\nconfigs: [{{data_files: [{{split: test, path: {json.dumps(named)}}}]}}]\n---\n"
        )
        files["README.md"] = card.encode()
        use_hub(server.url, tmp_path / "hub", monkeypatch)
        with pytest.raises(KnownError, match=r"needs a split.* no file that can be read here"):
            fetch_pairs(HubId("org/one", "test"), Hub(), token=False)
        assert not any("secret" in request.path for request in server.requests)


def test_a_copy_of_a_benchmark_on_the_hub_is_read_as_the_one_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    styles = {"prompt": "p", "chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}
    rows = write_rows(tmp_path / "test.jsonl", [styles])
    with HubServer({"datasets/org/copy": Repo({"test.jsonl": rows.read_bytes()})}) as server:
        use_hub(server.url, tmp_path / "hub", monkeypatch)
        hub_id, hub = HubId("org/copy", "test"), Hub()
        with pytest.raises(KnownError, match="3 responses are chosen and 3 rejected"):
            fetch_pairs(hub_id, hub, token=False)
        assert fetch_pairs(hub_id, hub, token=False, benchmark="rm-bench").benchmark == "rm-bench"
