import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import KnownError
from scoring.pairs.checking import CHUNK_ROWS, SCHEMA
from scoring.pairs.opening import read_pairs
from tests.scoring.pairs.test_opening import FORMATS, TEXTS, read_jsonl, write_rows

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
        {"prompt": text, "chosen": f"{text}c", "rejected": text, "subset": name}
        for name, text in ODD_TEXTS.items()
    ]
    pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", rows))
    assert pairs.table.select(list(rows[0])).to_pylist() == rows


@pytest.mark.parametrize("ending", FORMATS)
def test_the_order_of_the_columns_does_not_matter(ending: str, tmp_path: Path) -> None:
    row = {"id": 1, "subset": "s", **TEXTS, "chosen_model": "a", "rejected_model": "b"}
    swapped = dict(reversed(row.items()))
    tables = [
        read_pairs(write_rows(tmp_path / f"mine.{ending}", [one])).table for one in (row, swapped)
    ]
    assert tables[0] == tables[1]


TEXTS_OF_ONE = {name: [text] for name, text in TEXTS.items()}
TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_texts_of_every_arrow_type_are_texts(kind: pa.DataType, tmp_path: Path) -> None:
    values = ["a", None, "ü", "a"]
    columns = {name: pa.array(values, pa.string()).cast(kind) for name in TEXTS}
    pq.write_table(pa.table(columns), tmp_path / "mine.parquet")
    pairs = read_pairs(tmp_path / "mine.parquet")
    assert pairs.table["chosen"].to_pylist() == ["a", "ü", "a"]
    assert pairs.left_out == (1,)


ODD_COLUMNS: list[tuple[Any, str]] = [
    (pa.array([b"c"]), "column chosen: bytes, must be text"),
    (pa.array([{"text": "c"}]), "column chosen: an object, must be text"),
    (pa.array([[["c"]]]), "column chosen, response 1: a list, must be text"),
    (pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string())), "column chosen, response 1: "),
    (pa.array([1.5]), "column chosen: a number, must be text"),
]


@pytest.mark.parametrize(("chosen", "said"), ODD_COLUMNS)
def test_columns_of_other_types_are_named(chosen: Any, said: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({**TEXTS_OF_ONE, "chosen": chosen}), tmp_path / "mine.parquet")
    with pytest.raises(KnownError, match=f"mine.parquet, row 1, {said}"):
        read_pairs(tmp_path / "mine.parquet")


def test_lists_of_every_type_are_responses(tmp_path: Path) -> None:
    for kind in (pa.list_(pa.string()), pa.list_(pa.string(), 2), pa.large_list(pa.large_string())):
        rejected = pa.array([["r", "s"]], kind)
        pq.write_table(pa.table({**TEXTS_OF_ONE, "rejected": rejected}), tmp_path / "mine.parquet")
        (row,) = read_pairs(tmp_path / "mine.parquet").table.to_pylist()
        assert (row["rejected"], row["more_rejected"][0]["text"]) == ("r", "s")


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.int64(), pa.string(), pa.null()])
def test_ids_of_every_type_are_texts(kind: pa.DataType, tmp_path: Path) -> None:
    ids = pa.array([None, None] if kind == pa.null() else [7, None]).cast(kind)
    table = pa.table({**{name: ["x", "y"] for name in TEXTS}, "id": ids})
    pq.write_table(table, tmp_path / "mine.parquet")
    expected = ["1", "2"] if kind == pa.null() else ["7", "2"]
    assert read_pairs(tmp_path / "mine.parquet").table["id"].to_pylist() == expected


def test_remarks_on_rows_that_are_left_out_come_to_an_end(tmp_path: Path) -> None:
    rows = [{**TEXTS, "chosen": "c" if number % 2 else None} for number in range(120)]
    pairs = read_jsonl(tmp_path, *rows)
    assert pairs.left_out == tuple(range(0, 120, 2))
    assert len(pairs.notes) == 51
    assert pairs.notes[49] == "mine.jsonl, row 99: chosen is null; the row is left out."
    assert pairs.notes[50] == "mine.jsonl: and 10 more rows are left out."


def test_fifty_rows_that_are_left_out_are_each_told(tmp_path: Path) -> None:
    pairs = read_jsonl(tmp_path, TEXTS, *[{**TEXTS, "rejected": None}] * 50)
    assert len(pairs.notes) == 50


ONE_TOO_LONG = "ä" * 1_001
TALK = {"prompt": [{"role": "user", "content": "p"}], "chosen": "c", "rejected": "r"}
MANY = {"prompt": "p", "chosen": ["c"], "rejected": ["r", "s"]}


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


def test_a_table_of_nothing_but_long_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KnownError, match=r"no row .* of at most 1,000 characters"):
        read_jsonl(tmp_path, {**TEXTS, "subset": ONE_TOO_LONG})


def test_a_further_response_of_a_model_too_long_to_show_leaves_its_row_out(tmp_path: Path) -> None:
    pairs = read_jsonl(tmp_path, TEXTS, {**MANY, "models": ["a", "b", ONE_TOO_LONG]})
    assert pairs.left_out == (1,)
    assert "row 2: its rejected_model has more than 1,000 characters" in pairs.notes[0]


def test_pairs_of_equal_responses_are_counted(tmp_path: Path) -> None:
    same = {**TEXTS, "chosen": "é", "rejected": "é"}
    pairs = read_jsonl(tmp_path, TEXTS, same, same, {**same, "rejected": None})
    assert pairs.notes[1:] == ("mine.jsonl: chosen equals rejected in 2 of 3 pairs.",)


@pytest.mark.parametrize(
    ("chosen", "rejected", "said"),
    [
        (["a", "b", "c"], ["d", "e", "f"], ()),
        (["a", "a", "c"], ["d", "e", "e"], ()),  # decides nothing
        (["a", "b", "c"], ["b", "e", "f"], ("is also a rejected one in 1 of 2 rows.",)),
    ],
)
def test_a_response_that_is_right_and_wrong_is_told_and_no_other_that_stands_twice(
    chosen: list[str], rejected: list[str], said: tuple[str, ...], tmp_path: Path
) -> None:
    row = {"prompt": "p", "chosen": chosen, "rejected": rejected, "domain": "chat"}
    pairs = read_jsonl(tmp_path, {**row, "id": 1}, {**row, "id": 2, "rejected": ["x", "y", "z"]})
    assert [note.partition("response ")[2] for note in pairs.notes] == [*said]


LONG = "ä" * 20


@pytest.mark.parametrize(
    ("prompt", "chosen", "rejected", "told"),
    [
        (LONG, LONG + "c", LONG, True),
        (LONG, LONG + "c", "r", False),
        (LONG, "c" + LONG, LONG + "r", False),
        (LONG[1:], LONG + "c", LONG + "r", False),
        (LONG + "\0", LONG + "\0c", LONG + "\0r", True),
        (LONG + "\0", LONG + "\1c", LONG + "\0r", False),
    ],
)
def test_responses_that_repeat_the_prompt_are_counted(
    prompt: str, chosen: str, rejected: str, told: bool, tmp_path: Path
) -> None:
    row = {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    said = "mine.jsonl: both responses begin with the whole prompt in 1 of 3 pairs."
    assert (said in read_jsonl(tmp_path, TEXTS, row, TEXTS).notes) is told


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


def test_long_rows_lie_in_smaller_pieces(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    row = {**TEXTS, "chosen": "x" * 50_000}
    path.write_text((json.dumps(row) + "\n") * 3_000, encoding="utf-8")
    assert read_pairs(path).table["chosen"].num_chunks == 2


def test_a_key_that_stands_twice_far_apart_names_both_rows(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {**TEXTS, "id": str(number), "chosen": None if number == 5 else "c"}
        for number in range(3_000)
    ]
    rows[2_900]["id"] = "7"
    with pytest.raises(ValueError, match="row 2901, column id: the key 'mine:7' stands in row 8 "):
        read_pairs(write_rows(tmp_path / "mine.parquet", rows))


maybe_text = st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
any_row = st.fixed_dictionaries(
    {**dict.fromkeys(TEXTS, maybe_text), "question": maybe_text},
    optional=dict.fromkeys(("subset", "chosen_model", "rejected_model"), maybe_text),
)


@given(rows=st.lists(any_row, min_size=1, max_size=6))
def test_rows_of_texts_are_read_alike_among_others(rows: list[dict[str, str | None]]) -> None:
    """A row of messages takes all of its batch the slow way, which must change nothing."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "mine.jsonl"
        fast, slow = (read_pairs(write_rows(path, [*rows, last])) for last in (TEXTS, TALK))
    n_kept = fast.table.num_rows - 1
    assert slow.table.slice(0, n_kept) == fast.table.slice(0, n_kept)
    assert (slow.notes, slow.left_out) == (fast.notes, fast.left_out)


RM_BENCH = {name: [f"{name} {form}" for form in range(3)] for name in ("chosen", "rejected")}
BETTER = {"chosen": ["a", "b"], "rejected": ["c", "d", "e"]}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (RM_BENCH, "3 responses are chosen and 3 rejected, for which no rule"),
        ({**BETTER, "subset": "Focus"}, "2 responses are chosen and 3 rejected, for which no rule"),
    ],
)
def test_several_right_responses_without_a_rule_are_refused(
    row: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(KnownError, match=f"mine.jsonl, row 1: {said}") as error:
        read_jsonl(tmp_path, {"prompt": "p", **row})
    assert "call the subset Ties" in str(error.value)


@pytest.mark.parametrize(
    "row", [{**BETTER, "subset": "ties"}, {**BETTER, "chosen": ["a"]}, {**BETTER, "chosen": "a"}]
)
def test_rows_of_rewardbench_2_and_best_of_n_are_read(row: dict[str, Any], tmp_path: Path) -> None:
    (found,) = read_jsonl(tmp_path, {"prompt": "p", **row}).table.to_pylist()
    assert [each["text"] for each in found["more_rejected"]] == ["d", "e"]
