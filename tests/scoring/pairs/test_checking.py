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
from scoring.pairs.checking import CHUNK_ROWS, SCHEMA
from scoring.pairs.opening import read_pairs
from tests.support.pair_files import FORMATS, LISTS, TEXTS, read_jsonl, write_rows

ODD_TEXTS = {
    "empty": "",
    "nul": "a\0b\0",
    "right to left": "\u202eabc \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "combining": "e\u0301\u0301\u0301 \u0915\u094d\u0937 \U0001f469\u200d\U0001f52c",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)> &lt; </textarea>",
    "templates": "${process.env} {{7*7}} {% raw %} $x^2$ %s {0}",
    "a megabyte": "0123456789é" * 90_000,
    "white space": " \t\n\x0b\u2028 ",
    "formula": "=1+1",
}


@pytest.mark.parametrize("ending", FORMATS)
def test_odd_texts_are_kept_as_they_are(ending: str, tmp_path: Path) -> None:
    rows = [
        {"prompt": text[:99], "chosen": f"{text}c", "rejected": text[:99], "subset": name}
        for name, text in ODD_TEXTS.items()
    ]
    pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", rows))
    assert pairs.table.select(list(rows[0])).to_pylist() == rows


TYPES = [
    *(pa.string(), pa.large_string(), pa.string_view()),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())),
]


def test_arrow_has_many_types_of_texts_lists_and_ids(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    for kind in TYPES:
        columns = {name: pa.array(["a", None, "ü", "a"]).cast(kind) for name in TEXTS}
        pq.write_table(pa.table(columns), path)
        pairs = read_pairs(path)
        assert (pairs.table["chosen"].to_pylist(), pairs.left_out) == (["a", "ü", "a"], (1,))
    for kind in (pa.list_(pa.string()), pa.list_(pa.string(), 2), pa.large_list(pa.large_string())):
        pq.write_table(
            pa.table({"prompt": ["p"], "chosen": ["c"], "rejected": pa.array([["r", "s"]], kind)}),
            path,
        )
        [row] = read_pairs(path).table.to_pylist()
        assert (row["rejected"], row["more_rejected"][0]["text"]) == ("r", "s")
    for kind in (pa.int8(), pa.uint64(), pa.int64(), pa.string(), pa.null()):
        ids = pa.array([None, None] if kind == pa.null() else [7, None]).cast(kind)
        pq.write_table(pa.table({**{name: ["x", "y"] for name in TEXTS}, "id": ids}), path)
        expected = ["1", "2"] if kind == pa.null() else ["7", "2"]
        assert read_pairs(path).table["id"].to_pylist() == expected


# Rows that are left out.

LISTED = {"prompt": "p", "chosen": ["c"], "rejected": ["r", "s"]}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        *(({**TEXTS, name: None}, f"{name} is null") for name in TEXTS),
        ({"prompt": "p", "chosen": "c"}, "rejected is null"),
        *(({**LISTED, name: []}, f"{name} is an empty list") for name in ("chosen", "rejected")),
        *(({**LISTED, name: None}, f"{name} is null") for name in ("prompt", "chosen")),
        (
            {**LISTED, "models": ["a", "b", "ä" * 1_001]},
            "its rejected_model has more than 1,000 characters",
        ),
    ],
)
def test_a_row_that_lacks_a_text_is_left_out_with_its_number_told(
    row: dict[str, Any], why: str, tmp_path: Path
) -> None:
    whole = LISTED if any(isinstance(value, list) for value in row.values()) else TEXTS
    for ending in LISTS:
        if ending == "parquet" and "models" in row:
            continue  # a column is in all rows there
        pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", [whole, row, whole]))
        assert pairs.table["id"].to_pylist() == ["1", "3"]
        assert pairs.left_out == (1,)
        assert pairs.notes == (f"mine.{ending}, row 2: {why}; the row is left out.",)


def test_remarks_on_rows_that_are_left_out_come_to_an_end(tmp_path: Path) -> None:
    rows = [{**TEXTS, "chosen": "c" if number % 2 else None} for number in range(120)]
    pairs = read_jsonl(tmp_path, *rows)
    assert pairs.left_out == tuple(range(0, 120, 2))
    assert len(pairs.notes) == 51
    assert pairs.notes[49] == "mine.jsonl, row 99: chosen is null; the row is left out."
    assert pairs.notes[50] == "mine.jsonl: and 10 more rows are left out."
    assert len(read_jsonl(tmp_path, *rows[:100]).notes) == 50


ONE_TOO_LONG = "ä" * 1_001
TALK = {"prompt": [{"role": "user", "content": "p"}], "chosen": "c", "rejected": "r"}


@pytest.mark.parametrize("last", [TEXTS, TALK], ids=["by column", "by row"])
@pytest.mark.parametrize(
    ("names", "longer", "said"),
    [
        ({"subset": "ä" * 999, "id": "1"}, "subset", "key"),
        ({"subset": "s", "id": "ä" * 999}, "id", "key"),
        ({"chosen_model": ONE_TOO_LONG}, "chosen_model", "chosen_model"),
        ({"rejected_model": ONE_TOO_LONG}, "rejected_model", "rejected_model"),
    ],
)
def test_rows_of_names_too_long_to_show_are_left_out(
    names: dict[str, str], longer: str, said: str, last: dict[str, Any], tmp_path: Path
) -> None:
    long, short = {**TEXTS, **names}, {**TEXTS, **names, longer: names[longer][1:]}
    pairs = read_jsonl(tmp_path, long, short, {**long, "chosen": None}, last)
    assert pairs.left_out == (0, 2)
    assert pairs.notes == (
        f"mine.jsonl, row 1: its {said} has more than 1,000 characters; the row is left out.",
        "mine.jsonl, row 3: chosen is null; the row is left out.",
    )


# What is remarked of the rows that are kept.

SAME = {**TEXTS, "chosen": "é", "rejected": "é"}
BROKEN = "broken characters (lone surrogates) shown as \ufffd."
BOTH = "mine.jsonl: both responses begin with the whole prompt in 1 of 3 pairs."
LONG = "ä" * 20
ODD_TALK = [{"role": "user", "content": each} for each in ("\ud800 \ud801", "p")]
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
            [{**TEXTS, "prompt": ODD_TALK}],
            [f"mine.jsonl: 2 {BROKEN}"], id="broken characters of messages, once",
        ),
        pytest.param(
            [{"prompt": "p", "chosen": ["c", "a\ud800"], "rejected": ["r"], "subset": "Ties",
              "models": ["", "\udc00", ""]}],
            [f"mine.jsonl: 2 {BROKEN}"], id="broken characters of further responses",
        ),
        pytest.param(triple(LONG, LONG + "c", LONG), [BOTH], id="both repeat the prompt"),
        pytest.param(triple(LONG, LONG + "c", "r"), [], id="one repeats it"),
        pytest.param(triple(LONG, "c" + LONG, LONG + "r"), [], id="one not at its beginning"),
        pytest.param(triple(LONG[1:], LONG + "c", LONG + "r"), [], id="a prompt so short"),
        pytest.param(triple(LONG + "\0", LONG + "\0c", LONG + "\0r"), [BOTH], id="with a NUL"),
        pytest.param(triple(LONG + "\0", LONG + "\1c", LONG + "\0r"), [], id="with another"),
        pytest.param(
            [{**STYLES, "chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}, OTHER],
            [], id="styles",
        ),
        pytest.param(
            [{**STYLES, "chosen": ["a", "a", "c"], "rejected": ["d", "e", "e"]}, OTHER],
            [], id="one twice on its side, which decides nothing",
        ),
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
    rows: list[dict[str, Any]] = [
        {**TEXTS, "id": str(number), "chosen": None if number == 5 else "c"}
        for number in range(3_000)
    ]
    rows[2_900]["id"] = "7"
    with pytest.raises(KnownError, match="row 2901, column id: the key 'mine:7' stands in row 8 "):
        read_pairs(write_rows(tmp_path / "mine.parquet", rows))
    apart = read_jsonl(tmp_path, *({**TEXTS, "id": 1, "subset": each} for each in "ab"))
    assert apart.table["key"].to_pylist() == ["a:1", "b:1"]


@pytest.mark.parametrize("group_rows", [1_000, 100_000])
def test_the_table_lies_in_pieces_that_threads_can_share(group_rows: int, tmp_path: Path) -> None:
    n_rows = 3 * CHUNK_ROWS
    texts = [str(number) for number in range(n_rows)]
    table = pa.table(dict.fromkeys(TEXTS, texts))
    pq.write_table(table, tmp_path / "mine.parquet", row_group_size=group_rows)
    found = read_pairs(tmp_path / "mine.parquet").table
    assert found["chosen"].to_pylist() == texts
    assert [found[name].num_chunks for name in SCHEMA.names] == [3] * len(SCHEMA.names)
    assert {len(chunk) for chunk in found["chosen"].chunks} == {CHUNK_ROWS}


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
