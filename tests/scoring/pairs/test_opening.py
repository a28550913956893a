"""What files of pairs hold is what is read of them, whatever their kind and their shape; which rows
are left out, and what is remarked.
"""

import json
import shutil
import socket
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.benchmark import COUNTS
from scoring.limits import Limits, Step
from scoring.pairs.opening import SCHEMA, Pairs, as_pairs, read_pairs
from scoring.pairs.rows import BATCH_ROWS
from scoring.spec import Message, Pair
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
    read_jsonl,
    write_rows,
)
from tests.support.refusals import refusal

SIDES: dict[str, Any] = {"chosen": "Red.", "rejected": "No."}
PLAIN = Pair("mine:1", "mine", ASK["content"], **SIDES)
BRIEF = (Message(**SYSTEM), Message(**ASK))
TALK = [SYSTEM, {"role": "user", "content": ' Ça "va"?\n'}, {"role": "assistant", "content": "🤔"}]
TOLD = 'System: Be brief.\n\nUser:  Ça "va"?\n\n\nAssistant: 🤔'
SHAPES: dict[str, tuple[dict[str, Any], Pair]] = {
    "texts": ({"prompt": "Name a colour.", **SIDES}, PLAIN),
    "a question": ({"question": "Name a colour.", **SIDES}, PLAIN),
    "messages": ({"prompt": [ASK], "chosen": [GOOD], "rejected": [BAD]}, PLAIN),
    "whole conversations": ({"chosen": [ASK, GOOD], "rejected": [ASK, BAD]}, PLAIN),
    "conversations of several turns": (
        {"chosen": [SYSTEM, ASK, GOOD], "rejected": [SYSTEM, ASK, BAD]},
        replace(PLAIN, prompt="System: Be brief.\n\nUser: Name a colour.", turns=BRIEF),
    ),
    "a prompt of turns": (
        {"prompt": TALK, **SIDES},
        replace(PLAIN, prompt=TOLD, turns=tuple(Message(**turn) for turn in TALK)),
    ),
    "a text that looks like messages": (
        {"prompt": json.dumps(TALK), **SIDES}, replace(PLAIN, prompt=json.dumps(TALK))
    ),
    "best of n": (
        {"prompt": "Name a colour.", "chosen": "Red.", "rejected": ["No.", "s", "t"]},
        replace(PLAIN, more_rejected=("s", "t")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_row_is_read(shape: str, tmp_path: Path) -> None:
    row, expected = SHAPES[shape]
    is_text = all(isinstance(value, str) for value in row.values())
    for ending in FORMATS if is_text else LISTS:
        pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", [row]))
        assert pairs.table.schema == SCHEMA
        assert as_pairs(pairs.table, [0]) == [expected]
        assert pairs.notes == ()


ODD_TEXTS = (
    "", "a\0b\0", 'Say "hi",\nthen stop.', "one\r\ntwo\u2028three", " \t\n\x0b\u2028 ", "=1+1",
    "\u202eabc \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "e\u0301\u0301\u0301 \u0915\u094d\u0937 \U0001f469\u200d\U0001f52c",
    "<script>alert(1)</script><img src=x onerror=alert(1)> &lt; </textarea>",
    "${process.env} {{7*7}} {% raw %} $x^2$ %s {0}",
)  # fmt: skip


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_reads_back_what_was_written(ending: str, tmp_path: Path) -> None:
    """In any order of columns; those that are not ours are dropped."""
    names = {"subset": "hep-js", "chosen_model": "human", "rejected_model": "a,b"}
    rows = [
        {"rejected": f"r{text}", "chosen": f"c{text}", "prompt": text, **names, "id": number}
        for number, text in enumerate(ODD_TEXTS)
    ]
    noted = [{"note": "x", **row} for row in rows]
    pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", noted))
    filled = {"turns": "", "more_chosen": [], "more_rejected": []}
    assert pairs.table.to_pylist() == [
        {**row, "id": str(row["id"]), "key": f"hep-js:{row['id']}", **filled} for row in rows
    ]
    assert (pairs.notes, pairs.left_out) == ((), ())


@pytest.mark.parametrize(
    ("name", "content", "chosen"),
    [
        pytest.param("MINE.CSV", HEAD + b"p,c,r\n", ["c"], id="capitals"),
        pytest.param("mine.jsonl", b"\xef\xbb\xbf" + LINE + b"\r\n\r\n  \n", ["c"], id="CRLF"),
        pytest.param(
            "mine.jsonl", LINE.replace(b'"c"', '"a\u2028b\x85c"'.encode()),
            ["a\u2028b\x85c"], id="a line ends at a newline alone",
        ),
        pytest.param(
            "mine.json", b'\xef\xbb\xbf [\n ' + LINE + b" ,\r\n\t" + LINE + b"\n]\n", ["c", "c"],
            id="a list over lines",
        ),
        pytest.param(
            "mine.csv", HEAD + b"p,007,x\np,NA,x\np,1.50,x\np,2024-01-01,x\np,,x\n",
            ["007", "NA", "1.50", "2024-01-01", ""], id="what looks like no text",
        ),
    ],
)  # fmt: skip
def test_odd_ways_of_writing_a_file_are_read(
    name: str, content: bytes, chosen: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_pairs(tmp_path / name).table["chosen"].to_pylist() == chosen


def test_only_the_name_on_screen_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a1b2.jsonl"
    assert refusal(read_pairs, path, name="my own.jsonl") == "There is no file my own.jsonl."
    path.write_bytes(b"{broken")
    said = refusal(read_pairs, path, name="my own.jsonl")
    assert said.startswith("my own.jsonl: line 1 is not JSON") and "a1b2" not in said
    path.write_bytes(LINE + b'\n{"prompt": "p"}')
    pairs = read_pairs(path, name="my own.jsonl")
    assert (pairs.source.name, pairs.table["key"].to_pylist()) == ("my own.jsonl", ["my own:1"])
    assert pairs.notes == ("my own.jsonl, row 2: chosen is null; the row is left out.",)


def test_pairs_are_taken_in_the_order_asked_for(tmp_path: Path) -> None:
    last = {**TEXTS, "chosen_model": "unkown", "id": 2, "subset": "other"}
    table = read_jsonl(tmp_path, TEXTS, {**TEXTS, "prompt": TALK}, last).table
    assert [pair.key for pair in as_pairs(table, [2, 1, 0])] == ["other:2", "mine:2", "mine:1"]
    assert table["chosen_model"].to_pylist() == ["unknown"] * 3


# Rows of several responses, in the documented shape of RewardBench 2; made up.

SEVERAL = {
    "prompt": "Name any colour.", "chosen": ["Red.", "Blue."], "rejected": ["No.", "Dog.", "7"],
    "models": ["model-a", "model-b", "model-c", "unkown", None], "subset": "Ties",
}  # fmt: skip


@pytest.mark.parametrize("ending", LISTS)
def test_responses_after_the_first_are_kept_with_their_models(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"test.{ending}"
    [row] = read_pairs(write_rows(path, [SEVERAL])).table.to_pylist()
    assert (row["chosen_model"], row["rejected_model"]) == ("model-a", "model-c")
    assert row["more_chosen"] == [{"text": "Blue.", "model": "model-b"}]
    assert row["more_rejected"] == [{"text": text, "model": "unknown"} for text in ("Dog.", "7")]
    for unfit in (None, ["a"], list("abcdef")):
        [row] = read_pairs(write_rows(path, [{**SEVERAL, "models": unfit}])).table.to_pylist()
        assert {row["chosen_model"], row["more_chosen"][0]["model"]} == {"unknown"}


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


ASKED = {**TEXTS, "prompt": [ASK]}


@pytest.mark.parametrize("last", [TEXTS, ASKED], ids=["by column", "by row"])
def test_rows_of_names_too_long_to_show_are_left_out(last: dict[str, Any], tmp_path: Path) -> None:
    for name, said in (("subset", "key"), ("chosen_model", "chosen_model")):
        long, short = ({**TEXTS, name: "ä" * n} for n in (1_001, 998))
        pairs = read_jsonl(tmp_path, long, short, last)
        assert pairs.left_out == (0,)
        assert f"row 1: its {said} has more than 1,000 characters; the row is" in pairs.notes[0]


# What is remarked of the rows that are kept.

SAME = {**TEXTS, "chosen": "é", "rejected": "é"}
BROKEN = "broken characters (lone surrogates) shown as \ufffd."
BOTH = "mine.jsonl: both responses begin with the whole prompt in 1 of 3 pairs."
LONG = "ä" * 20
REPEATED = {"prompt": LONG, "chosen": LONG + "c", "rejected": LONG}
STYLES = {"prompt": "p", "domain": "chat", "chosen": [*"abc"], "rejected": [*"xyz"]}


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
        pytest.param([TEXTS, REPEATED, TEXTS], [BOTH], id="both repeat the prompt"),
        pytest.param([{**REPEATED, "prompt": LONG[1:]}], [], id="a prompt so short"),
        pytest.param(
            [{**STYLES, "id": 1, "rejected": [*"bef"]}, {**STYLES, "id": 2}],
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
        fast, slow = (read_jsonl(Path(name), *rows, last) for last in (TEXTS, ASKED))
    n_kept = fast.table.num_rows - 1
    assert slow.table.slice(0, n_kept) == fast.table.slice(0, n_kept)
    assert (slow.notes, slow.left_out) == (fast.notes, fast.left_out)


# Large files.


def test_the_real_benchmark_is_read_whole(shared_data: Path) -> None:
    real = read_pairs(shared_data / "reward-bench" / "filtered.parquet")
    assert Counter(real.table["subset"].to_pylist()) == COUNTS
    assert (len(real.table), real.notes) == (2985, ())
    twice = [key for key in real.table["key"].to_pylist() if str(key).endswith(":3692")]
    assert twice == ["donotanswer:3692", "hep-python:3692"]


def test_rows_beyond_a_batch_are_read_and_counted_on_and_told(tmp_path: Path) -> None:
    """The split `raw` has 5,123 rows; every format says how far it is."""
    n = BATCH_ROWS + 5
    rows = [TEXTS] * (n - 1) + [{**TEXTS, "rejected": None}]
    for ending, total in (("parquet", n), ("csv", None), ("jsonl", None)):
        steps: list[Step] = []
        path = write_rows(tmp_path / f"big.{ending}", rows)
        pairs = read_pairs(path, tell=steps.append)
        assert (steps[0], steps[-1]) == (Step("reading", 0, total), Step("reading", n, total))
        if ending != "csv":  # which has no null
            assert (len(pairs.table), pairs.left_out) == (n - 1, (n - 1,))


def test_a_file_of_too_many_bytes_or_rows_is_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(b"no pairs at all" * 100_000)
    said = refusal(read_pairs, path, limits=Limits(megabytes=1), tell=pytest.fail)
    assert said == (
        "mine.csv is 1.5 MB large; at most 1 MB are read here (EXPLORER_MAX_DATASET_MB)."
    )
    path = write_rows(tmp_path / "mine.parquet", [TEXTS] * 1_001)
    said = refusal(read_pairs, path, limits=Limits(rows=1_000), tell=pytest.fail)
    assert said == "mine.parquet has 1,001 rows; at most 1,000 are read here (EXPLORER_MAX_ROWS)."
    assert len(read_pairs(path, limits=Limits(rows=1_001, megabytes=1)).table) == 1_001


def test_reading_many_rows_stops_at_the_limit(tmp_path: Path) -> None:
    for name, start, row in (
        ("mine.csv", HEAD, b"p,c,r\n"),
        ("mine.jsonl", b"", LINE + b"\n"),
        ("mine.json", b"[", LINE + b","),
    ):
        path, steps = tmp_path / name, list[Step]()
        path.write_bytes(start + row * 20_000 + b"{broken\n")
        said = refusal(read_pairs, path, limits=Limits(rows=5_000), tell=steps.append)
        assert "has more than 5,000 rows" in said and steps[-1].done <= 5_000


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """A text of a megabyte lies in the file once, and stands in 5,000 rows."""
    path = tmp_path / "mine.parquet"
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 5_000), pa.array(["x" * 1_000_000]))
    short = pa.array(["p"] * 5_000)
    pq.write_table(pa.table({"prompt": short, "chosen": long, "rejected": short}), path)
    assert path.stat().st_size < 200_000
    pool: Any = pa.default_memory_pool()
    before = pool.max_memory()
    assert refusal(read_pairs, path, limits=Limits(megabytes=10)) == (
        "mine.parquet unpacks to more than 80 MB of text, 8 times what a file may have here "
        "(EXPLORER_MAX_DATASET_MB)."
    )
    assert pool.max_memory() <= max(before, 100_000_000)


# Large sets are mapped from the disk, once they were read.


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where mapped tables are kept; here even small sets are, and nobody is asked."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf" / "datasets")
    monkeypatch.setattr("scoring.pairs.opening.LEAST_BYTES", 0)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("somebody was asked"))
    return tmp_path / "hf" / "datasets"


def read(cache: Path, n: int, prompt: str = "prompt") -> tuple[Pairs, list[Step]]:
    """What is read of so many pairs and a row that is none, and what was told meanwhile."""
    row: dict[str, object] = {"prompt": prompt, "chosen": "c" * 1000, "rejected": "r" * 1000}
    rows = [*({**row, "id": number} for number in range(n)), {**row, "chosen": None}]
    steps: list[Step] = []
    path = write_rows(cache.parent.parent / "mine.jsonl", rows)
    return read_pairs(path, tell=steps.append, on_disk=True), steps


def test_what_was_read_once_is_mapped_from_then_on(cache: Path) -> None:
    before = pa.total_allocated_bytes()
    first, steps = read(cache, 2000)
    again, told = read(cache, 2000)
    assert (steps[-1].done, told) == (2001, [])
    assert (again.source, again.notes, again.left_out) == (first.source, first.notes, (2000,))
    assert again.table.equals(first.table)
    assert again.table.schema.equals(SCHEMA, check_metadata=True)
    assert again.table.nbytes > 4_000_000 > pa.total_allocated_bytes() - before


def test_one_revision_of_a_set_is_kept_and_one_that_is_broken_written_anew(cache: Path) -> None:
    read(cache, 3)
    [old] = cache.rglob("*.arrow")
    first, steps = read(cache, 4, "changed")
    assert (len(first.table), steps[-1].done) == (4, 5)
    for broken in (b"broken", b""):
        [file] = cache.rglob("*.arrow")
        assert file != old
        file.unlink()  # what is mapped stays whole
        file.write_bytes(broken)
        again, _ = read(cache, 4, "changed")
        assert again.table.equals(first.table)


def test_errors_and_limits_are_those_of_reading_wherever_nothing_is_kept(
    cache: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b'{"prompt": "p"}\n{')
    assert "mine.jsonl: line 2 is not JSON" in refusal(read_pairs, path, on_disk=True)
    assert not [*cache.rglob("*.arrow")]
    read(cache, 3)
    said = refusal(read_pairs, path, limits=Limits(rows=3), on_disk=True)
    assert "mine.jsonl has 4 rows; at most 3" in said
    shutil.rmtree(cache.parent)
    cache.parent.write_bytes(b"a file where the folder should be")
    assert len(read(cache, 3)[0].table) == 3
