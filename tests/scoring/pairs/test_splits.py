"""Which files of a dataset are which split: as its card says, else as they are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from scoring.hub.access import Hub, HubId
from scoring.pairs.opening import check_shards, fetch_pairs, split_files
from tests.support.hub_server import Repo, served_hub
from tests.support.pair_files import TEXTS, write_rows
from tests.support.refusals import refusal


def test_the_first_configuration_names_splits_others_add_theirs_and_odd_ones_nothing(
    tmp_path: Path,
) -> None:
    card = tmp_path / "README.md"
    first, last = (
        f"{{config_name: {x}, data_files: [{{split: {x}s, path: {x}/*-*}}]}}" for x in "az"
    )
    odd = "{config_name: b, data_files: b.csv}, b"
    card.write_text(f"---\nconfigs: [{first}, {odd}, {last}]\n---\n", encoding="utf-8")
    parts = ["a/s-1-of-2.csv", "a/s-2-of-2.csv"]
    assert split_files(["README.md", *parts, "b.csv", "z/s-1.csv", "z/s-2.py"], card) == {
        "as": parts,
        "z/zs": ["z/s-1.csv"],
    }


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
        (FOUR, "old/[1-2].csv", FOUR[1:3]),
        (NAMES, "*a" * 19 + "*.csv", NAMES[:1]),
        (NAMES, ["*a" * 19 + "*.cs"], []),
        (NAMES, ["[z-a].csv"], []),
        (NAMES, "?.csv", ["é.csv"]),
        (NAMES, [".*"], []),
        *((NAMES, each, None) for each in ("*a" * 21, "a\u202e*", "")),
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
        f"[{MERGED}]",
        f"[{{path: &all [{'[], ' * 3_000}], split: s}}, {'{path: *all, split: s}, ' * 1_500}]",
        "[" + "1:" * 50_000 + "1]",
        '[{split: s, path: a.csv, why: "' + "x" * 200_000 + '"}]',
    ],
    ids=["paths", "merged", "repeated", "a huge number", "a huge card"],
)
def test_a_card_that_says_itself_again_and_again_costs_nothing(
    entries: str, tmp_path: Path
) -> None:
    card = declaring(tmp_path, entries)
    assert split_files(["a.csv"], card) == {"a": ["a.csv"]}


def test_without_a_card_that_says_so_the_names_decide(tmp_path: Path) -> None:
    hashed = "data/test-00000-of-00001-0123456789abcdef.parquet"
    expected = {"test": [hashed], "train": ["a/train/0000.parquet"], "RAW": ["RAW.JSONL"]}
    names = ["RAW.JSONL", hashed, "a/train/0000.parquet", "LICENSE.md"]
    card = tmp_path / "README.md"
    assert split_files(names, card) == expected
    for front in ("configs: [{data_files: data.csv}]", "configs: 5", ": [broken", "- a list"):
        card.write_text(f"---\n{front}\n---\n", encoding="utf-8")
        assert split_files(names, card) == expected


def test_a_split_of_which_files_are_missing_is_refused() -> None:
    names = [f"data/raw-{number:05}-of-00003.parquet" for number in range(3)]
    check_shards(names, "org/pairs:raw")
    said = refusal(check_shards, names[1:], "org/pairs:raw")
    assert "of org/pairs:raw only 2 can be found" in said


@pytest.mark.parametrize(
    "place",
    ["{path}", "file://{path}", "../../../../../../../..{path}", "/**/*.csv", "{url}/secret.csv"],
)
def test_a_card_never_leads_to_a_file_of_this_machine_or_another(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write_rows(tmp_path / "secret.csv", [TEXTS])
    files = {"own.csv": secret.read_bytes()}
    with served_hub({"datasets/org/one": Repo(files)}, tmp_path / "hub", monkeypatch) as server:
        named = place.format(path=secret, url=server.url)
        files["README.md"] = declaring(tmp_path, [{"split": "test", "path": named}]).read_bytes()
        said = refusal(fetch_pairs, HubId("org/one", "test"), Hub(), token=False)
        assert "needs a split" in said and "no file that can be read here" in said
        assert server.fetched == {"README.md"}
