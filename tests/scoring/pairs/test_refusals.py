"""What is no file of pairs is refused in a sentence that names the place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.errors import KnownError
from scoring.pairs.opening import read_pairs
from scoring.pairs.rows import announced, read_batches, rows_of, unpacked_bytes
from tests.support.named_rows import by_sentence
from tests.support.pair_files import FORMATS, LISTS, TEXTS, parquet_bytes, write_rows

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
LINE = json.dumps({**TEXTS, "prompt": "ç"}, ensure_ascii=False).encode()
FAR = (len(LINE) + 1) * 10_000
HEAD = b"prompt,chosen,rejected\n"
USER, ASK = {"role": "user", "content": "x"}, {"role": "user", "content": "Name a colour."}
SYSTEM = {"role": "system", "content": "Be brief."}
GOOD, BAD = {"role": "assistant", "content": "Red."}, {"role": "assistant", "content": "No."}
ALLOWED = "system, user, assistant are allowed."
FIVE = {"chosen": ["a", "b"], "rejected": ["c", "d", "e"]}
SIX = {"chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}


def error_of(path: Path) -> str:
    with pytest.raises(KnownError) as caught:
        read_pairs(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    by_sentence(
        ("none.parquet", b"", "cannot be read as .parquet"),
        *((f"none.{ending}", b"", "has no rows") for ending in ("jsonl", "json", "csv")),
        ("bom.csv", b"\xef\xbb\xbf", "has no rows"),
        ("zero.json", b" [ ] ", "has no rows"),
        ("zero.csv", HEAD, "has no rows"),
        ("blank.jsonl", b"\n \n", "has no rows"),
        ("text.parquet", HEAD + b"p,c,r\n", "cannot be read as .parquet"),
        ("cut.parquet", parquet_bytes([TEXTS])[:-20], "cannot be read as .parquet"),
        ("table.jsonl", parquet_bytes([TEXTS]), ""),
        ("page.csv", b"<!doctype html>\n<p>Not found, sorry</p>\n", ""),
        ("image.json", PNG, "not a .json file in UTF-8: byte 0"),
        ("image.csv", PNG, "not a .csv file in UTF-8: byte 0"),
        ("latin.csv", HEAD + b"\xe7a,c,r\n", "byte 23"),
        ("latin.jsonl", LINE + b"\n\xe7", "not a .jsonl file in UTF-8"),
        ("far.csv", HEAD + b"\xc3\xa7,c,r\n" * 10_000 + b"\xe7", "byte 70023 cannot be read"),
        ("far.jsonl", (LINE + b"\n") * 10_000 + b"\xe7", f"byte {FAR} cannot be read"),
        ("far.json", (LINE + b"\n") * 10_000 + b"\xe7", f"byte {FAR} cannot be read"),
        ("wide.csv", HEAD + b"p,c,r\np,c,r,x\n", "row 2 does not have 3 fields"),
        ("thin.csv", HEAD + b"p,c,r\np,c\n", "row 2 does not have 3 fields"),
        ("long.csv", HEAD + b"1,p,c,r\n2,p,c,r\n", "row 1 does not have 3 fields as the header"),
        ("open.csv", HEAD + b'p,c,"r\n', "cannot be read as .csv"),
        ("broken.jsonl", LINE + b'\n{"prompt": \n', "line 2 is not JSON"),
        ("pretty.json", json.dumps(TEXTS, indent=1).encode(), "line 1 is not JSON"),
        ("broken.json", b'[{"prompt": "p"', "not a JSON list"),
        *(
            ("list.json", text, "list.json: not a JSON list: it goes wrong")
            for text in (
                *(b"[", b"[{}", b"[{},", b"[{},]", b"[,]", b"[{}] x", b"[{}]]", b"[{} {}]"),
                b"[{},, {}]",
            )
        ),
        ("deep.json", b"[" * 100_000, "not a JSON list"),
        ("deep.jsonl", b'{"a":' * 100_000, "line 1 is not JSON"),
        ("scalar.jsonl", b'{"prompt": "p"}\n5\n', "row 2 is a number, not an object"),
        ("lists.json", b'[["p", "c", "r"]]', "row 1 is a list, not an object"),
        ("null.jsonl", b"null\n", "row 1 is null, not an object"),
        ("huge.jsonl", LINE[:-1] + b',"id":' + b"1" * 5000 + b"}", "huge.jsonl"),
        *(
            (name, HEAD + b"p,c,r\n", ".parquet, .jsonl, .json, .csv")
            for name in ("mine.txt", "mine", ".csv", "mine.csv.gz")
        ),
    ),
)
def test_a_broken_file_is_refused_by_name(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    message = error_of(tmp_path / name)
    assert name in message
    assert said in message


@pytest.mark.parametrize("name", ["gone.csv", "x" * 300 + ".csv", "a\0b.csv", "folder.csv"])
def test_what_is_no_file_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    said = "folder.csv" if name == "folder.csv" else "There is no file"
    assert said in error_of(tmp_path / name)


def arrow(**columns: Any) -> Callable[[Path], None]:
    texts: dict[str, Any] = {name: [text] for name, text in TEXTS.items()}
    return lambda path: pq.write_table(pa.table({**texts, **columns}), path)


def two_of_a_name(path: Path) -> None:
    columns = [pa.array(["x"])] * 3
    pq.write_table(pa.Table.from_arrays(columns, ["prompt", "chosen", "prompt"]), path)


NO_TEXT = pa.array([b"fine", b"\xed\xa0\x80"]).view(pa.string())
PAIRED = pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string()))


@pytest.mark.parametrize(
    ("write", "said"),
    by_sentence(
        (arrow(**{name: pa.array([], pa.string()) for name in TEXTS}), " has no rows"),
        (arrow(chosen=pa.array([b"c"])), ", row 1, column chosen: bytes, must be text"),
        (arrow(chosen=pa.array([{"text": "c"}])), ", row 1, column chosen: an object, must be"),
        (arrow(chosen=pa.array([[["c"]]])), ", row 1, column chosen, response 1: a list, must be"),
        (arrow(chosen=PAIRED), ", row 1, column chosen, response 1: "),
        (arrow(chosen=pa.array([1.5])), ", row 1, column chosen: a number, must be text"),
        (two_of_a_name, ": it has two columns prompt."),
        (
            arrow(prompt=NO_TEXT, chosen=["c"] * 2, rejected=["r"] * 2),
            ": rows 1 to 2 hold what is no text",
        ),
    ),
)
def test_a_parquet_file_of_other_types_is_refused(
    write: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    write(tmp_path / "mine.parquet")
    assert error_of(tmp_path / "mine.parquet").startswith(f"mine.parquet{said}")


ROW, PLACE = "row 1", "row 1, column"
RANKED = "Rank them with python -m scoring --best-of."
Row = dict[str, Any]
ROWS: list[tuple[list[Row], str]] = [
    *(
        ([{each: "x" for each in TEXTS if each != name}], f"has no column {name};")
        for name in TEXTS
    ),
    ([{"text": "t"}], "has no column prompt or chosen or rejected"),
    ([{"prompt": "p", "responses": ["a", "b"]}], RANKED),
    ([{"messages": ["m"]}], RANKED),
    ([{**TEXTS, "chosen": 5}], f"{PLACE} chosen: a number, must be"),
    ([{**TEXTS, "chosen": 0.5}], f"{PLACE} chosen: a number, must be"),
    ([{**TEXTS, "prompt": 5}], f"{PLACE} prompt: a number, must be"),
    ([{**TEXTS, "prompt": USER}], f"{PLACE} prompt: an object, must be"),
    ([{**TEXTS, "rejected": {"text": "no"}}], f"{PLACE} rejected: an object, must be"),
    ([{**TEXTS, "subset": 3}], f"{PLACE} subset: a number, must be"),
    ([{**TEXTS, "chosen_model": True}], f"{PLACE} chosen_model: true or false, must be"),
    ([{**TEXTS, "id": True}], f"{PLACE} id: true or false, must be"),
    ([{**TEXTS, "id": 1.5}], f"{PLACE} id: a number, must be"),
    ([{**TEXTS, "id": [1]}], f"{PLACE} id: a list, must be"),
    ([{**TEXTS, "id": each} for each in "aba"], "row 3, column id: the key 'mine:a' stands in row"),
    ([{**TEXTS, "chosen": None}] * 2, "has no row whose prompt, chosen, rejected are all given"),
    ([{**TEXTS, "subset": "ä" * 1_001}], "no row"),
    ([{"prompt": "p", **SIX}], f"{ROW}: 3 responses are chosen and 3 rejected, for which no rule"),
    ([{"prompt": "p", **FIVE, "subset": "Focus"}], f"{ROW}: 2 responses are chosen and 3 rejected"),
]  # fmt: skip
MIXED: list[tuple[Row, str]] = [
    ({"chosen": 5}, ", column chosen: a number"),
    ({"prompt": []}, ", column prompt: a list without messages."),
    ({"prompt": ["hi"]}, f", message 1: its role is 'None'; {ALLOWED}"),
    ({"prompt": [USER, {"content": "x"}]}, f", message 2: its role is 'None'; {ALLOWED}"),
    ({"prompt": [{**USER, "role": "human"}]}, f", message 1: its role is 'human'; {ALLOWED}"),
    ({"prompt": [{**USER, "role": "x" * 99}]}, f": its role is '{'x' * 40}'; {ALLOWED}"),
    ({"prompt": [{**USER, "role": ["user"]}]}, f"1: its role is \"['user']\"; {ALLOWED}"),
    ({"prompt": [USER, {"role": "user"}]}, ", message 2: its content is null, must be text."),
    ({"prompt": [{**USER, "content": ["x"]}]}, ", message 1: its content is a list, must be text."),
    ({"prompt": [USER, {**USER, "content": 5}]}, ", message 2: its content is a number, must be"),
    ({"prompt": None, "chosen": [ASK, GOOD], "rejected": [SYSTEM, ASK, BAD]}, "not answer the sa"),
    ({"prompt": None, "chosen": [ASK, GOOD]}, "not answer the same messages"),
    ({"prompt": None, "chosen": [GOOD], "rejected": [BAD]}, "no prompt, neither in a column nor"),
    ({"prompt": None, "chosen": [ASK], "rejected": [ASK]}, "last message is of the user, not the"),
    ({"prompt": "Other?", "chosen": [ASK, GOOD], "rejected": [ASK, BAD]}, "not those of prompt"),
    ({"chosen": ["Red.", None], "rejected": ["No."]}, ", column chosen, response 2: null, must be"),
    ({"chosen": ["Red."], "rejected": [5]}, ", column rejected, response 1: a number, must be"),
    ({"chosen": [GOOD, "Red."], "rejected": ["No."]}, "column chosen, message 2: its role is"),
    ({"chosen": ["c"], "rejected": ["r"], "models": ["a", 5]}, "models, name 2: a number, must be"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "said"), by_sentence(*ROWS))
def test_rows_that_are_no_pairs_are_refused_in_any_format(
    rows: list[Row], said: str, tmp_path: Path
) -> None:
    kinds = {type(value) for row in rows for value in row.values()}
    for ending in FORMATS if kinds == {str} else LISTS:
        message = error_of(write_rows(tmp_path / f"mine.{ending}", rows))
        assert message.startswith(f"mine.{ending}") and said in message
        assert ("--best-of" in message) == (said == RANKED)
        assert "for which no rule" not in said or "call the subset Ties" in message


@pytest.mark.parametrize(("changes", "said"), by_sentence(*MIXED))
def test_the_row_that_is_no_pair_is_counted_from_one(
    changes: Row, said: str, tmp_path: Path
) -> None:
    message = error_of(write_rows(tmp_path / "mine.jsonl", [TEXTS, {**TEXTS, **changes}]))
    assert message.startswith("mine.jsonl, row 2") and said in message


def test_a_strange_column_name_is_told_in_text_that_can_be_shown(tmp_path: Path) -> None:
    assert error_of(write_rows(tmp_path / "mine.jsonl", [{"\ud800": "x"}])).encode("utf-8")
    rows = [{**TEXTS, "id": "\ud800"}, {**TEXTS, "id": "\ud801"}]  # one key, when they are shown
    assert "row 2, column id" in error_of(write_rows(tmp_path / "mine.jsonl", rows))


# What rows hold is known before they are unpacked.

COLUMNS = ("prompt", "chosen")


def test_a_text_that_stands_often_is_counted_as_often_but_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    often = pa.DictionaryArray.from_arrays(pa.array([0] * 3_000), pa.array(["x" * 100_000]))
    places = list(range(3_001))
    lists = pa.ListArray.from_arrays(places, often)
    struct = pa.StructArray.from_arrays([often], ["content"])
    for column in (often, lists, pa.ListArray.from_arrays(places, struct)):
        pq.write_table(pa.table({"chosen": column}), path, store_schema=False)
        [batch] = read_batches(path, path.name, COLUMNS)
        assert 300_000_000 <= unpacked_bytes(batch) < 301_000_000
        assert isinstance(batch, pa.RecordBatch)
        assert batch.nbytes < 1_000_000


def test_nested_texts_come_out_as_they_went_in(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    talk: list[Any] = [{"role": "user", "content": "a"}, {"role": None, "content": None}]
    rows: list[dict[str, Any]] = [{"prompt": each} for each in (talk, None, [], [None])] * 700
    for kind in (pa.list_, pa.large_list):
        turn = pa.struct([("role", pa.string()), ("content", pa.large_string())])
        table = pa.Table.from_pylist(rows, pa.schema([("prompt", kind(turn))]))
        pq.write_table(table, path)
        batches = read_batches(path, path.name, COLUMNS)
        assert [row for batch in batches for some in rows_of(batch) for row in some] == rows


def test_what_parquet_announces_of_the_wanted_columns(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    table = pa.table({"prompt": ["x" * 1000], "note": ["x" * 100_000], "chosen": [[["c", "d"]]]})
    pq.write_table(table, path, use_dictionary=False, write_statistics=False)
    columns, n_rows, n_bytes = announced(path, path.name, COLUMNS)
    assert (columns, n_rows) == ([*COLUMNS], 1)
    assert 1000 < n_bytes < 2000
    assert announced(tmp_path / "mine.csv", "mine.csv", COLUMNS) == (COLUMNS, None, 0)
