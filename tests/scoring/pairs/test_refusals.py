"""What is no file of pairs is refused in a sentence that names the place."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.pairs.opening import read_pairs
from tests.support.pair_files import (
    ASK,
    BAD,
    FORMATS,
    GOOD,
    HEAD,
    LINE,
    LISTS,
    SYSTEM,
    TEXTS,
    parquet_bytes,
    write_rows,
)
from tests.support.refusals import by_sentence, refusal

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
CEDILLA = LINE.replace(b'"p"', '"ç"'.encode())
FAR = (len(CEDILLA) + 1) * 10_000
USER = {"role": "user", "content": "x"}
ALLOWED = "system, user, assistant are allowed."
FIVE = {"chosen": ["a", "b"], "rejected": ["c", "d", "e"]}
SIX = {"chosen": ["a", "b", "c"], "rejected": ["d", "e", "f"]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    by_sentence(
        ("none.parquet", b"", "cannot be read as .parquet"),
        *((f"none.{ending}", b"", "has no rows") for ending in ("jsonl", "json", "csv")),
        ("cut.parquet", parquet_bytes([TEXTS])[:-20], "cannot be read as .parquet"),
        ("image.json", PNG, "not a .json file in UTF-8: byte 0"),
        ("far.csv", HEAD + b"\xc3\xa7,c,r\n" * 10_000 + b"\xe7", "byte 70023 cannot be read"),
        ("far.jsonl", (CEDILLA + b"\n") * 10_000 + b"\xe7", f"byte {FAR} cannot be read"),
        ("thin.csv", HEAD + b"p,c,r\np,c\n", "row 2 does not have 3 fields"),
        ("open.csv", HEAD + b'p,c,"r\n', "cannot be read as .csv"),
        ("broken.jsonl", LINE + b'\n{"prompt": \n', "line 2 is not JSON"),
        ("broken.json", b'[{"prompt": "p"', "not a JSON list"),
        *(
            ("list.json", text, "list.json: not a JSON list: it goes wrong")
            for text in (b"[{},", b"[{},]", b"[,]", b"[{}] x", b"[{} {}]")
        ),
        ("deep.jsonl", b'{"a":' * 100_000, "line 1 is not JSON"),
        ("scalar.jsonl", b'{"prompt": "p"}\n5\n', "row 2 is a number, not an object"),
        ("huge.jsonl", LINE[:-1] + b',"id":' + b"1" * 5000 + b"}", "huge.jsonl"),
        *(
            (name, HEAD + b"p,c,r\n", ".parquet, .jsonl, .json, .csv")
            for name in ("mine.txt", ".csv", "mine.csv.gz")
        ),
    ),
)
def test_a_broken_file_is_refused_by_name(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    message = refusal(read_pairs, tmp_path / name)
    assert name in message and said in message


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("folder.csv", "x" * 300 + ".csv", "a\0b.csv"):
        assert f"There is no file {tmp_path / name}" in refusal(read_pairs, tmp_path / name)
    strange = write_rows(tmp_path / "mine.jsonl", [{"\ud800": "x"}])
    assert refusal(read_pairs, strange).encode("utf-8"), "what is said of it can be shown"


def test_a_parquet_file_of_other_types_is_refused(tmp_path: Path) -> None:
    texts = {name: [text] for name, text in TEXTS.items()}
    broken = pa.array([b"\xed\xa0\x80"]).view(pa.string())
    for chosen, said in (
        (pa.array([b"c"]), ", row 1, column chosen: bytes, must be text"),
        (broken, "hold what is no text"),
    ):
        pq.write_table(pa.table({**texts, "chosen": chosen}), tmp_path / "mine.parquet")
        assert said in refusal(read_pairs, tmp_path / "mine.parquet")


ROW, PLACE = "row 1", "row 1, column"
RANKED = "Rank them with python -m scoring --best-of."
Row = dict[str, Any]
ROWS: list[tuple[list[Row], str]] = [
    ([{"text": "t"}], "has no column prompt or chosen or rejected"),
    ([{"prompt": "p", "responses": ["a", "b"]}], RANKED),
    ([{**TEXTS, "chosen": 5}], f"{PLACE} chosen: a number, must be"),
    ([{**TEXTS, "prompt": USER}], f"{PLACE} prompt: an object, must be"),
    ([{**TEXTS, "id": True}], f"{PLACE} id: true or false, must be"),
    ([{**TEXTS, "id": one} for one in "aba"], "row 3, column id: the key 'mine:a' stands in row 1"),
    ([{**TEXTS, "chosen": None}] * 2, "has no row whose prompt, chosen, rejected are all given"),
    ([{"prompt": "p", **SIX}], f"{ROW}: 3 responses are chosen and 3 rejected, for which no rule"),
    ([{"prompt": "p", **FIVE, "subset": "Focus"}], f"{ROW}: 2 responses are chosen and 3 rejected"),
]  # fmt: skip
MIXED: list[tuple[Row, str]] = [
    ({"prompt": []}, ", column prompt: a list without messages."),
    ({"prompt": [{**USER, "role": "human"}]}, f", message 1: its role is 'human'; {ALLOWED}"),
    ({"prompt": [USER, {"role": "user"}]}, ", message 2: its content is null, must be text."),
    ({"prompt": None, "chosen": [ASK, GOOD], "rejected": [SYSTEM, ASK, BAD]}, "not answer the sa"),
    ({"prompt": None, "chosen": [ASK, GOOD]}, "not answer the same messages"),
    ({"prompt": None, "chosen": [GOOD], "rejected": [BAD]}, "no prompt, neither in a column nor"),
    ({"prompt": None, "chosen": [ASK], "rejected": [ASK]}, "last message is of the user, not the"),
    ({"prompt": "Other?", "chosen": [ASK, GOOD], "rejected": [ASK, BAD]}, "not those of prompt"),
    ({"chosen": ["Red.", None], "rejected": ["No."]}, ", column chosen, response 2: null, must be"),
    ({"chosen": ["c"], "rejected": ["r"], "models": ["a", 5]}, "models, name 2: a number, must be"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "said"), by_sentence(*ROWS))
def test_rows_that_are_no_pairs_are_refused_in_any_format(
    rows: list[Row], said: str, tmp_path: Path
) -> None:
    kinds = {type(value) for row in rows for value in row.values()}
    for ending in FORMATS if kinds == {str} else LISTS:
        message = refusal(read_pairs, write_rows(tmp_path / f"mine.{ending}", rows))
        assert message.startswith(f"mine.{ending}") and said in message
        assert ("--best-of" in message) == (said == RANKED)
        assert "for which no rule" not in said or "call the subset Ties" in message


@pytest.mark.parametrize(("changes", "said"), by_sentence(*MIXED))
def test_the_row_that_is_no_pair_is_counted_from_one(
    changes: Row, said: str, tmp_path: Path
) -> None:
    message = refusal(
        read_pairs, write_rows(tmp_path / "mine.jsonl", [TEXTS, {**TEXTS, **changes}])
    )
    assert message.startswith("mine.jsonl, row 2") and said in message
