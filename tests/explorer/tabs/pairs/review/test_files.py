import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from explorer.data.export import UPSTREAM_COLUMNS
from explorer.data.table import PairTable
from explorer.tabs.pairs.review.files import (
    Mark,
    read_decisions,
    rows_kept,
    write_decisions,
    write_kept,
)
from explorer.tabs.pairs.review.state import LONGEST_REVIEW_NOTE, MOST_DECISIONS, Decision, Review
from scoring.errors import KnownError
from scoring.pairs.opening import TEXT_COLUMNS, as_pairs, read_pairs
from scoring.spec import text_hash
from tests.explorer import tables
from tests.explorer.tabs.pairs.review.test_stored import reviews

HASH = "0123456789abcdef"
SUBSET = "hep-go"
LINE = {
    "source": "demo",
    "subset": "s",
    "key": "s:1",
    "text_hash": HASH,
    "verdict": "keep",
    "note": "",
    "at": "2026-01-31T12:00:00Z",
}


def texts_hash(cells: dict[str, str]) -> str:
    return text_hash(*(cells[name] for name in TEXT_COLUMNS))


def reviewed(table: PairTable, subset: str, verdicts: list[str | None]) -> Review:
    """A review in which the first pairs of a subset are marked so."""
    review = Review.begin(table, subset)
    rows = [row for row in range(len(table)) if table.cells(row)["subset"] == subset]
    for row, verdict in zip(rows, verdicts, strict=False):
        if verdict is not None:
            cells = table.cells(row)
            review = review.mark(cells["key"], texts_hash(cells), verdict, at=0)
    return review


def table_of(path: Path, rows: list[dict[str, Any]]) -> PairTable:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return PairTable(read_pairs(path))


def lines_of(path: Path, *lines: str | bytes) -> Path:
    path.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return path


@given(reviews())
def test_decisions_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, review: Review
) -> None:
    path = tmp_path_factory.getbasetemp() / "decisions.jsonl"
    write_decisions(review, path, tables.small_table(tables.row()))
    assert read_decisions(path) == list(review.standing.values())


def test_a_line_says_what_a_colleague_needs(tmp_path: Path) -> None:
    review = Review("demo", "s", 3).mark("s:1", HASH, "drop", at=0)
    review = review.mark("s:2", HASH, "unsure", "né\n", at=5)
    review = review.mark("s:1", HASH, "keep", "better", at=1_769_860_800)
    write_decisions(review, tmp_path / "d.jsonl", tables.small_table(tables.row()))
    lines = (tmp_path / "d.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert [json.loads(line) for line in lines] == [
        {**LINE, "note": "better"},
        {**LINE, "key": "s:2", "verdict": "unsure", "note": "né\n", "at": "1970-01-01T00:00:05Z"},
    ]


def test_the_longest_decision_is_read_however_it_is_escaped(tmp_path: Path) -> None:
    longest = "🌈" * 1000
    long = {
        "source": longest,
        "subset": longest,
        "key": longest,
        "note": "🌈" * LONGEST_REVIEW_NOTE,
    }
    path = lines_of(tmp_path / "d.jsonl", json.dumps({**LINE, **long}), "\n")
    assert read_decisions(path)[0].note == "🌈" * 2000


def test_of_a_doubled_key_the_last_line_holds_within_its_source(tmp_path: Path) -> None:
    changes: list[dict[str, str]] = [
        {},
        {"verdict": "drop", "source": "other"},
        {"verdict": "unsure"},
    ]
    path = lines_of(
        tmp_path / "d.jsonl", *[json.dumps({**LINE, **each}) + "\n" for each in changes]
    )
    found = {(each.source, each.key): each.verdict for each in read_decisions(path)}
    assert found == {("demo", "s:1"): "unsure", ("other", "s:1"): "drop"}


def test_other_zones_a_byte_order_mark_and_blank_lines_are_read(tmp_path: Path) -> None:
    line = json.dumps({**LINE, "at": "1970-01-01T02:00:01.5+01:00", "note": None, "more": 1})
    path = lines_of(tmp_path / "d.jsonl", b"\xef\xbb\xbf", line, "\r\n\n  \n")
    assert read_decisions(path) == [Decision("s:1", HASH, "keep", "", 3601, "demo")]


def test_an_empty_file_holds_no_decisions(tmp_path: Path) -> None:
    assert read_decisions(lines_of(tmp_path / "d.jsonl")) == []


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "not JSON"),
        (b"\xff\xfe", "not JSON in UTF-8"),
        ("[" * 100_000, "not JSON"),
        ("1" * 9_999, "not JSON"),
        ("[]", "not an object"),
        ("null", "not an object"),
        (json.dumps({**LINE, "verdict": "yes"}), "A verdict is one of .* not 'yes'"),
        (json.dumps({**LINE, "key": 5}), "A key must be text"),
        (json.dumps({**LINE, "source": None}), "A source must be text"),
        (json.dumps({**LINE, "subset": [1]}), "A subset must be text"),
        (json.dumps({**LINE, "text_hash": "zz"}), "16 hex digits"),
        (json.dumps({**LINE, "note": "x" * 2001}), "2,001"),
        (json.dumps({**LINE, "at": 5}), "with its zone"),
        (json.dumps({**LINE, "at": "2026-01-31T12:00:00"}), "with its zone"),
        (json.dumps({**LINE, "at": "soon"}), "with its zone"),
        (json.dumps({**LINE, "at": "\ud800"}), "with its zone"),
        (json.dumps({**LINE, "at": "1969-12-31T23:59:59Z"}), "seconds from 1970"),
        (json.dumps({**LINE, "at": "0001-01-01T00:00:00+23:59"}), "seconds from 1970"),
        (json.dumps({**LINE, "at": "9999-12-31T23:59:59-23:59"}), "seconds from 1970"),
        (json.dumps({**LINE, "more": "x" * 200_000}), "longer than the 131,072 bytes"),
        ("{}", "subset must be text"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str | bytes, message: str) -> None:
    good = json.dumps(LINE) + "\n"
    path = lines_of(tmp_path / "theirs.jsonl", good, "\n", bad, "\n", good)
    with pytest.raises(KnownError, match=f"^theirs.jsonl, line 3: .*{message}") as raised:
        read_decisions(path)
    assert len(str(raised.value)) < 400


def test_a_file_may_have_50_000_lines_and_no_more(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "d.jsonl", b"\n" * MOST_DECISIONS)
    assert read_decisions(path) == []
    with pytest.raises(KnownError, match="line 50001: a file may have 50,000 lines"):
        read_decisions(lines_of(path, b"\n" * (MOST_DECISIONS + 1)))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.jsonl", tmp_path / ("x" * 999)):
        with pytest.raises(KnownError, match="There is no file"):
            read_decisions(path)


VERDICTS: list[str | None] = ["keep", "drop", "unsure", None, "keep", "drop", "keep"]
"""Of the first seven of the eight pairs; the last is unmarked too."""


@pytest.mark.parametrize(
    ("states", "places"),
    [
        (None, [0, 4, 6]),
        (["keep", "unsure"], [0, 2, 4, 6]),
        ({"keep", "unmarked"}, [0, 3, 4, 6, 7]),
        (["drop"], [1, 5]),
        (("keep", "drop", "unsure", "unmarked"), list(range(8))),
    ],
)
def test_what_counts_as_kept_is_said_by_the_caller(
    demo: PairTable, states: Any, places: list[int]
) -> None:
    review = reviewed(demo, SUBSET, VERDICTS)
    found = rows_kept(review, demo) if states is None else rows_kept(review, demo, states)
    every = [row for row in range(len(demo)) if demo.cells(row)["subset"] == SUBSET]
    assert found.tolist() == [every[place] for place in places]


def test_the_last_verdict_decides(demo: PairTable) -> None:
    review = reviewed(demo, SUBSET, ["keep"])
    key, digest = review.decisions[0].key, review.decisions[0].text_hash
    again = review.mark(key, digest, "drop", at=1)
    assert rows_kept(again, demo).tolist() == []
    assert rows_kept(again.undo(), demo).tolist() == [demo.row_of(key)]


@pytest.mark.parametrize("states", [[], ["kept"], "keep", ["keep", "other"]])
def test_what_counts_as_kept_must_be_known(demo: PairTable, states: Any) -> None:
    review = reviewed(demo, SUBSET, VERDICTS)
    with pytest.raises(KnownError, match="keep, drop, unsure, unmarked"):
        rows_kept(review, demo, states)


def pair(number: int, **changed: object) -> dict[str, Any]:
    texts = {name: f"{name} {number}" for name in TEXT_COLUMNS}
    return {"subset": "s", "id": number, **texts, **changed}


def test_pairs_with_the_same_texts_are_told_apart_in_their_own_table(tmp_path: Path) -> None:
    table = table_of(tmp_path / "one.jsonl", [pair(1), pair(1, id=2)])
    review = reviewed(table, "s", ["keep", "drop"])
    assert rows_kept(review, table).tolist() == [0]


def test_a_table_without_the_subset_is_no_table_for_the_review(
    demo: PairTable, tmp_path: Path
) -> None:
    other = table_of(tmp_path / "other.jsonl", [pair(1)])
    with pytest.raises(KnownError, match="no subset 'hep-go' here"):
        rows_kept(reviewed(demo, SUBSET, VERDICTS), other)


def test_the_kept_pairs_can_be_read_again_with_the_same_texts(
    demo: PairTable, tmp_path: Path
) -> None:
    review = reviewed(demo, SUBSET, VERDICTS)
    write_kept(review, demo, tmp_path / "kept.parquet")
    schema = pq.read_schema(tmp_path / "kept.parquet")
    assert tuple(schema.names) == UPSTREAM_COLUMNS
    assert schema.field("id").type == pa.int64()
    assert schema.field("prompt").type == pa.string()
    kept = read_pairs(tmp_path / "kept.parquet")
    assert len(kept.table) == 3
    assert kept.notes == ()
    assert kept.table.equals(
        demo.arrow.take(pa.array(rows_kept(review, demo), pa.int64())).combine_chunks()
    )


HOSTILE: list[dict[str, Any]] = [
    pair(1, prompt="<script>\x00\u2028", chosen="", rejected="🌈 é\r\n"),
    pair(2, id="007", chosen_model="=1+1"),
    pair(3, id="９"),
    pair(4, id="9" * 19),
]


@pytest.mark.parametrize("last", range(1, 5))
def test_hostile_texts_and_ids_come_back_as_they_were(tmp_path: Path, last: int) -> None:
    rows = [HOSTILE[0], HOSTILE[last - 1]] if last > 1 else HOSTILE[:1]
    table = table_of(tmp_path / "pairs.jsonl", rows)
    review = reviewed(table, "s", ["keep", "keep"])
    write_kept(review, table, tmp_path / "kept.parquet")
    assert read_pairs(tmp_path / "kept.parquet").table.equals(table.arrow)


def test_prompts_of_several_turns_keep_them(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
    ]
    table = table_of(tmp_path / "pairs.jsonl", [pair(1), pair(2, prompt=messages), pair(3)])
    review = reviewed(table, "s", ["keep", "keep", "drop"])
    write_kept(review, table, tmp_path / "kept.parquet")
    kept = read_pairs(tmp_path / "kept.parquet").table
    assert as_pairs(kept, [0, 1]) == as_pairs(table.arrow, [0, 1])
    assert as_pairs(kept, [1])[0].turns
    assert kept.equals(table.arrow.slice(0, 2))


@pytest.mark.parametrize("states", [["keep"], ["keep", "unsure"]])
def test_a_file_without_pairs_is_not_written(
    demo: PairTable, tmp_path: Path, states: list[Mark]
) -> None:
    review = reviewed(demo, SUBSET, ["drop"])
    with pytest.raises(KnownError, match=f"none is marked {' or '.join(states)}"):
        write_kept(review, demo, tmp_path / "kept.parquet", states)
    assert not (tmp_path / "kept.parquet").exists()


def test_a_place_that_cannot_be_written_is_named(demo: PairTable, tmp_path: Path) -> None:
    review = reviewed(demo, SUBSET, ["keep"])
    with pytest.raises(KnownError, match=r"cannot be written: .*Choose another place"):
        write_decisions(review, tmp_path / "no folder" / "d.jsonl", demo)
    with pytest.raises(KnownError, match=r"cannot be written: .*Choose another place"):
        write_kept(review, demo, tmp_path / "no folder" / "kept.parquet")


@pytest.mark.skipif(sys.platform == "win32", reason="no such device")
def test_what_is_no_file_is_not_read() -> None:
    with pytest.raises(KnownError, match="There is no file"):
        read_decisions(Path("/dev/zero"))
