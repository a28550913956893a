"""Which rows are left out and what is remarked; texts and tables of every kind are kept."""

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.errors import KnownError
from scoring.pairs.opening import read_pairs
from tests.support.pair_files import FORMATS, TEXTS, read_jsonl, write_rows

ODD_TEXTS = {
    "empty": "",
    "nul": "a\0b\0",
    "right to left": "\u202eabc \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "combining": "e\u0301\u0301\u0301 \u0915\u094d\u0937 \U0001f469\u200d\U0001f52c",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)> &lt; </textarea>",
    "templates": "${process.env} {{7*7}} {% raw %} $x^2$ %s {0}",
    "white space": " \t\n\x0b\u2028 ",
}


@pytest.mark.parametrize("ending", FORMATS)
def test_odd_texts_are_kept_as_they_are(ending: str, tmp_path: Path) -> None:
    rows = [
        {"prompt": text[:99], "chosen": f"{text}c", "rejected": text[:99], "subset": name}
        for name, text in ODD_TEXTS.items()
    ]
    pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", rows))
    assert pairs.table.select(list(rows[0])).to_pylist() == rows


def test_arrow_has_many_types_of_texts_and_ids(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        columns = {name: pa.array(["a", None, "ü", "a"]).cast(kind) for name in TEXTS}
        pq.write_table(pa.table({**columns, "id": pa.array([7, 2, None, 9], pa.uint64())}), path)
        pairs = read_pairs(path)
        assert (pairs.table["chosen"].to_pylist(), pairs.left_out) == (["a", "ü", "a"], (1,))
        assert pairs.table["id"].to_pylist() == ["7", "3", "9"]


# Rows that are left out.

LISTED = {"prompt": "p", "chosen": ["c"], "rejected": ["r", "s"]}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        *(({**TEXTS, name: None}, f"{name} is null") for name in TEXTS),
        ({"prompt": "p", "chosen": "c"}, "rejected is null"),
        *(({**LISTED, name: []}, f"{name} is an empty list") for name in ("chosen", "rejected")),
    ],
)
def test_a_row_that_lacks_a_text_is_left_out_with_its_number_told(
    row: dict[str, Any], why: str, tmp_path: Path
) -> None:
    whole = LISTED if any(isinstance(value, list) for value in row.values()) else TEXTS
    for ending in ("parquet", "jsonl"):
        pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", [whole, row, whole]))
        assert (pairs.table["id"].to_pylist(), pairs.left_out) == (["1", "3"], (1,))
        assert pairs.notes == (f"mine.{ending}, row 2: {why}; the row is left out.",)


def test_remarks_on_rows_that_are_left_out_come_to_an_end(tmp_path: Path) -> None:
    pairs = read_jsonl(tmp_path, TEXTS, *[{**TEXTS, "chosen": None}] * 60)
    assert pairs.left_out == tuple(range(1, 61))
    assert len(pairs.notes) == 51
    assert pairs.notes[50] == "mine.jsonl: and 10 more rows are left out."


TALK = {"prompt": [{"role": "user", "content": "p"}], "chosen": "c", "rejected": "r"}


@pytest.mark.parametrize("last", [TEXTS, TALK], ids=["by column", "by row"])
@pytest.mark.parametrize(("name", "said"), [("subset", "key"), ("chosen_model", "chosen_model")])
def test_rows_of_names_too_long_to_show_are_left_out(
    name: str, said: str, last: dict[str, Any], tmp_path: Path
) -> None:
    pairs = read_jsonl(tmp_path, {**TEXTS, name: "ä" * 1_001}, {**TEXTS, name: "ä" * 998}, last)
    assert pairs.left_out == (0,)
    assert f"row 1: its {said} has more than 1,000 characters; the row is" in pairs.notes[0]


# What is remarked of the rows that are kept.

SAME = {**TEXTS, "chosen": "é", "rejected": "é"}
BROKEN = "broken characters (lone surrogates) shown as \ufffd."
BOTH = "mine.jsonl: both responses begin with the whole prompt in 1 of 3 pairs."
LONG = "ä" * 20
STYLES = {"prompt": "p", "domain": "chat", "id": 1}
OTHER = {**STYLES, "chosen": ["a", "b", "c"], "rejected": ["x", "y", "z"], "id": 2}


def triple(prompt: str, chosen: str, rejected: str) -> list[dict[str, Any]]:
    return [TEXTS, {"prompt": prompt, "chosen": chosen, "rejected": rejected}, TEXTS]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        pytest.param(
            [TEXTS, SAME, SAME],
            ["mine.jsonl: chosen equals rejected in 2 of 3 pairs."], id="equal responses",
        ),
        pytest.param(
            [{**TEXTS, "chosen": "a\ud800b\udfff"}, {**TEXTS, "chosen": "\ud83d\ude00"}],
            [f"mine.jsonl: 2 {BROKEN}"], id="broken characters",
        ),
        pytest.param(
            [{"prompt": "p", "chosen": ["c", "a\ud800"], "rejected": ["r"], "subset": "Ties",
              "models": ["", "\udc00", ""]}],
            [f"mine.jsonl: 2 {BROKEN}"], id="broken characters of further responses",
        ),
        pytest.param(triple(LONG, LONG + "c", LONG), [BOTH], id="both repeat the prompt"),
        pytest.param(triple(LONG[1:], LONG + "c", LONG + "r"), [], id="a prompt so short"),
        pytest.param(
            [{**STYLES, "chosen": ["a", "b", "c"], "rejected": ["b", "e", "f"]}, OTHER],
            ["is also a rejected one in 1 of 2 rows."], id="one right and wrong",
        ),
    ],
)  # fmt: skip
def test_what_is_odd_about_pairs_is_remarked_and_nothing_else(
    rows: list[dict[str, Any]], said: list[str], tmp_path: Path
) -> None:
    pairs = read_jsonl(tmp_path, *rows)
    assert len(pairs.notes) == len(said)
    assert all(note.endswith(end) for note, end in zip(pairs.notes, said, strict=True))
    shown = str(pairs.table.to_pylist())
    assert "\\ud" not in shown and ("\ufffd" in shown) == any(BROKEN in each for each in said)


def test_a_key_that_stands_twice_far_apart_names_both_rows(tmp_path: Path) -> None:
    rows = [{**TEXTS, "id": str(number)} for number in range(3_000)]
    rows[2_900]["id"] = "7"
    with pytest.raises(KnownError, match="row 2901, column id: the key 'mine:7' stands in row 8 "):
        read_pairs(write_rows(tmp_path / "mine.parquet", rows))
    apart = read_jsonl(tmp_path, *({**TEXTS, "id": 1, "subset": each} for each in "ab"))
    assert apart.table["key"].to_pylist() == ["a:1", "b:1"]


maybe_text = st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
any_row = st.fixed_dictionaries(
    {**dict.fromkeys(TEXTS, maybe_text), "question": maybe_text},
    optional=dict.fromkeys(("subset", "chosen_model", "rejected_model"), maybe_text),
)


@settings(max_examples=25)
@given(rows=st.lists(any_row, min_size=1, max_size=6))
def test_rows_of_texts_are_read_alike_among_others(rows: list[dict[str, str | None]]) -> None:
    """A row of messages takes all of its batch the slow way, which must change nothing."""
    with tempfile.TemporaryDirectory() as name:
        fast, slow = (read_jsonl(Path(name), *rows, last) for last in (TEXTS, TALK))
    n_kept = fast.table.num_rows - 1
    assert slow.table.slice(0, n_kept) == fast.table.slice(0, n_kept)
    assert (slow.notes, slow.left_out) == (fast.notes, fast.left_out)
