"""What files of pairs hold is what is read of them, whatever their kind and their shape."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.benchmark import COUNTS
from scoring.errors import KnownError
from scoring.hub.access import HubId, parse_hub_id
from scoring.limits import Limits, Step
from scoring.pairs.opening import SCHEMA, Pairs, PairSource, as_pairs, read_pairs
from scoring.pairs.rows import BATCH_ROWS
from scoring.spec import Message, Pair
from tests.conftest import DEMO_PAIRS
from tests.support.pair_files import FORMATS, LISTS, TEXTS, read_jsonl, write_rows

FULL = [
    {
        "id": 7, "subset": "hep-js", "prompt": 'Say "hi",\nthen stop.',
        "chosen": "line one\r\nline two\u2028and three", "rejected": " \tspaces kept ",
        "chosen_model": "human", "rejected_model": "GPT-4",
    },
    {
        "id": 8, "subset": "mt-bench-hard", "prompt": "Ça va? 🤔", "chosen": "=1+1",
        "rejected": "<b>no</b>, $x$", "chosen_model": "a,b", "rejected_model": "unknown",
    },
]  # fmt: skip
ASK = {"role": "user", "content": "Name a colour."}
SYSTEM = {"role": "system", "content": "Be brief."}
GOOD, BAD = {"role": "assistant", "content": "Red."}, {"role": "assistant", "content": "No."}
SIDES = {"chosen": "Red.", "rejected": "No."}
ANSWERED = {"chosen": [ASK, GOOD], "rejected": [ASK, BAD]}


def one(prompt: str, chosen: str = "Red.", rejected: str = "No.", **more: Any) -> list[Pair]:
    return [Pair("mine:1", "mine", prompt, chosen, rejected, **more)]


PLAIN = one("Name a colour.")
BRIEF = (Message(**SYSTEM), Message(**ASK))
TALK = [
    {"role": "system", "content": 'Be "brief".'},
    {"role": "user", "content": " Ça va?\n"},
    {"role": "assistant", "content": "Oui. 🤔"},
    {"role": "user", "content": "Et toi?"},
]
TOLD = 'System: Be "brief".\n\nUser:  Ça va?\n\n\nAssistant: Oui. 🤔\n\nUser: Et toi?'
TURNS = tuple(Message(turn["role"], turn["content"]) for turn in TALK)
SHAPES: dict[str, tuple[dict[str, Any], list[Pair]]] = {
    "texts": ({"prompt": "Name a colour.", **SIDES}, PLAIN),
    "a question": ({"question": "Name a colour.", **SIDES}, PLAIN),
    "an input": ({"prompt": None, "input": "Name a colour.", **SIDES}, PLAIN),
    "one message of a user": ({"prompt": [ASK], **SIDES}, PLAIN),
    "messages": ({"prompt": [ASK], "chosen": [GOOD], "rejected": [BAD]}, PLAIN),
    "a message and a text": (
        {"prompt": "Name a colour.", "chosen": [GOOD], "rejected": "No."}, PLAIN
    ),
    "lists of one": ({"prompt": "Name a colour.", "chosen": ["Red."], "rejected": ["No."]}, PLAIN),
    "whole conversations": (ANSWERED, PLAIN),
    "conversations beside their prompt": ({"prompt": "Name a colour.", **ANSWERED}, PLAIN),
    "conversations of several turns": (
        {"chosen": [SYSTEM, ASK, GOOD], "rejected": [SYSTEM, ASK, BAD]},
        one("System: Be brief.\n\nUser: Name a colour.", turns=BRIEF),
    ),
    "a prompt of turns": ({"prompt": TALK, **SIDES}, one(TOLD, turns=TURNS)),
    "one message of a system": (
        {"prompt": [SYSTEM], **SIDES},
        one("System: Be brief.", turns=BRIEF[:1]),
    ),
    "messages with more fields": (
        {"prompt": [{**ASK, "weight": 1}, GOOD], **SIDES},
        one(
            "User: Name a colour.\n\nAssistant: Red.", turns=(Message(**ASK), Message(**GOOD))
        ),
    ),
    "a text that looks like messages": (
        {"prompt": json.dumps(TALK), **SIDES}, one(json.dumps(TALK))
    ),
    "an empty response": ({**TEXTS, "chosen": ""}, one("p", "", "r")),
    "a NUL": ({**TEXTS, "chosen": "a\0b"}, one("p", "a\0b", "r")),
    "a very long prompt": (
        {**TEXTS, "prompt": "0123456789" * 10_000},
        one("0123456789" * 10_000, "c", "r"),
    ),
    "best of n": (
        {"prompt": "p", "chosen": "c", "rejected": ["r", "s", "t"]},
        one("p", "c", "r", more_rejected=("s", "t")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_row_is_read(shape: str, tmp_path: Path) -> None:
    row, expected = SHAPES[shape]
    is_text = all(isinstance(value, str) for value in row.values())
    for ending in FORMATS if is_text else LISTS:
        pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", [row]))
        assert pairs.table.schema == SCHEMA
        assert as_pairs(pairs.table, [0]) == expected
        assert pairs.notes == ()


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_reads_back_what_was_written(ending: str, tmp_path: Path) -> None:
    """In any order of columns; those that are not ours are dropped."""
    filled = {"turns": "", "more_chosen": [], "more_rejected": []}
    expected = [
        {**row, "id": str(row["id"]), "key": f"{row['subset']}:{row['id']}", **filled}
        for row in FULL
    ]
    for rows in (FULL, [dict(reversed([*row.items(), ("note", "x")])) for row in FULL]):
        pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", rows))
        assert pairs.table.schema == SCHEMA
        assert pairs.table.to_pylist() == expected
        assert (pairs.notes, pairs.left_out) == ((), ())
    table = read_pairs(write_rows(tmp_path / f"my-own.{ending}", [TEXTS, TEXTS])).table
    assert table["key"].to_pylist() == ["my-own:1", "my-own:2"]
    assert {*table["chosen_model"].to_pylist(), *table["rejected_model"].to_pylist()} == {"unknown"}


LINE, HEAD = json.dumps(TEXTS).encode(), b"prompt,chosen,rejected\n"


@pytest.mark.parametrize(
    ("name", "content", "chosen"),
    [
        pytest.param("MINE.CSV", HEAD + b"p,c,r\n", ["c"], id="capitals"),
        pytest.param("mine.jsonl", b"\xef\xbb\xbf" + LINE + b"\r\n\r\n  \n", ["c"], id="CRLF"),
        pytest.param(
            "mine.jsonl", LINE.replace(b'"c"', '"a\u2028b\x85c"'.encode()),
            ["a\u2028b\x85c"], id="a line ends at a newline alone",
        ),
        pytest.param("mine.json", LINE + b"\n" + LINE, ["c", "c"], id="lines in .json"),
        pytest.param("mine.json", b"\n" * 200_000 + b"[" + LINE + b"]", ["c"], id="blank lines"),
        pytest.param(
            "mine.json", b'\xef\xbb\xbf [\n ' + LINE + b" ,\r\n\t" + LINE + b"\n]\n", ["c", "c"],
            id="a list over lines",
        ),
        pytest.param(
            "mine.csv", HEAD + b"p,007,x\np,NA,x\np,1.50,x\np,2024-01-01,x\np,,x\n",
            ["007", "NA", "1.50", "2024-01-01", ""], id="what looks like no text",
        ),
        pytest.param(
            "mine.csv", HEAD + b'p,"' + "é\n".encode() * 500_000 + b'",x\n',
            ["é\n" * 500_000], id="a cell of a megabyte",
        ),
    ],
)  # fmt: skip
def test_odd_ways_of_writing_a_file_are_read(
    name: str, content: bytes, chosen: list[str], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_pairs(tmp_path / name).table["chosen"].to_pylist() == chosen


def test_a_source_says_how_it_is_found_again_and_follows_its_content(tmp_path: Path) -> None:
    first = read_jsonl(tmp_path, TEXTS).source
    again = read_jsonl(tmp_path, TEXTS).source
    other = read_jsonl(tmp_path, {**TEXTS, "chosen": "d"}).source
    assert first == again and first.revision != other.revision
    assert str(first) == f"mine.jsonl@{first.revision}"
    commit = "168d848cdbbea9764fae4a544dc9ca1e6cca4931"
    source = PairSource("hub", "org/name", "test", commit)
    assert parse_hub_id(str(source)) == HubId("org/name", "test", commit)
    demo = read_pairs(DEMO_PAIRS, "demo").source
    assert (demo.kind, demo.name) == ("demo", "demo pairs")


@pytest.mark.parametrize("content", [None, b"{broken", b"", LINE + b'\n{"prompt": "p"}'])
def test_only_the_name_on_screen_is_told(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "a1b2.jsonl"
    if content is not None:
        path.write_bytes(content)
    try:
        pairs = read_pairs(path, name="my own.jsonl")
    except KnownError as error:
        assert "my own.jsonl" in str(error) and "a1b2" not in str(error)
    else:
        assert (pairs.source.name, pairs.table["key"].to_pylist()) == ("my own.jsonl", ["my own:1"])
        assert pairs.notes == ("my own.jsonl, row 2: chosen is null; the row is left out.",)


def test_pairs_are_taken_in_the_order_asked_for_whatever_stands_beside_them(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        TEXTS,
        {**TEXTS, "prompt": TALK},
        {**TEXTS, "chosen_model": "unkown", "id": 9},
    ]
    table = read_jsonl(tmp_path, *rows).table
    taken = as_pairs(table, [2, 1, 0])
    assert [(pair.key, len(pair.turns)) for pair in taken] == [
        *(("mine:9", 0), ("mine:2", 4), ("mine:1", 0)),
    ]
    assert table["chosen_model"].to_pylist() == ["unknown"] * 3
    assert tuple(taken[1].messages) == TURNS


# Rows of several responses, in the documented shape of RewardBench 2; made up.

SEVERAL = [
    {
        "id": "0", "prompt": "Name a colour.", "chosen": ["Red."], "rejected": ["No.", "Dog.", "7"],
        "num_correct": 1, "num_incorrect": 3, "total_completions": 4,
        "models": ["human", "model-a", "unkown", None], "subset": "Precise IF",
        "additional_metadata": {"category": "made up", "models": ["x"]},
    },
    {
        "id": "tied:1", "prompt": "Name any colour.", "chosen": ["Red.", "Blue."],
        "rejected": ["No."], "num_correct": 2, "num_incorrect": 1, "total_completions": 3,
        "models": ["model-a", "model-b", "model-c"], "subset": "Ties",
        "additional_metadata": {"category": "made up", "models": ["x"]},
    },
]  # fmt: skip


@pytest.mark.parametrize("ending", LISTS)
def test_the_responses_after_the_first_are_kept_with_their_models(
    ending: str, tmp_path: Path
) -> None:
    pairs = read_pairs(write_rows(tmp_path / f"test.{ending}", SEVERAL))
    assert (pairs.table.schema, pairs.notes) == (SCHEMA, ())
    unknown = [{"text": text, "model": "unknown"} for text in ("Dog.", "7")]
    one, two = pairs.table.to_pylist()
    assert (one["key"], one["chosen_model"], one["rejected_model"]) == (
        *("Precise IF:0", "human", "model-a"),
    )
    assert (one["more_chosen"], one["more_rejected"]) == ([], unknown)
    assert (two["key"], two["chosen_model"], two["rejected_model"]) == (
        *("Ties:tied:1", "model-a", "model-c"),
    )
    assert two["more_chosen"] == [{"text": "Blue.", "model": "model-b"}]
    assert as_pairs(pairs.table, [1]) == [
        Pair("Ties:tied:1", "Ties", "Name any colour.", "Red.", "No.", more_chosen=("Blue.",))
    ]


@pytest.mark.parametrize("models", [None, [], ["a"], ["a", "b", "c", "d"], "a"])
def test_models_that_do_not_fit_the_responses_name_none(models: object, tmp_path: Path) -> None:
    row = {"prompt": "p", "chosen": ["c", "d"], "rejected": ["r"], "models": models}
    row["subset"] = "Ties"
    first, second = read_jsonl(tmp_path, row, {**row, "chosen_model": "x"}).table.to_pylist()
    assert (first["chosen_model"], second["chosen_model"]) == ("unknown", "x")
    assert first["more_chosen"] == second["more_chosen"] == [{"text": "d", "model": "unknown"}]


# Properties.


def repaired(text: str) -> str:
    """What a text is after JSON, which joins surrogates, and after the repair of lone ones."""
    joined: str = json.loads(json.dumps(text))
    return re.sub("[\ud800-\udfff]", "\ufffd", joined)


any_text = st.text(st.characters(), max_size=8)
full_row = st.fixed_dictionaries(
    dict.fromkeys(TEXTS, any_text),
    optional={"subset": any_text, "id": any_text, "chosen_model": any_text, "note": any_text},
)
any_row = st.dictionaries(st.sampled_from([*TEXTS, "id", "note"]), any_text)
any_turn = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": any_text}
)


@settings(max_examples=25)
@given(rows=st.lists(st.one_of(full_row, any_row), max_size=5))
def test_rows_of_texts_load_back_or_are_refused(rows: list[dict[str, str]]) -> None:
    kept = [(number, row) for number, row in enumerate(rows, 1) if TEXTS.keys() <= row.keys()]
    keys = [
        repaired(f"{row.get('subset', 'mine')}:{row.get('id', number)}") for number, row in kept
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(Path(folder) / "mine.jsonl", rows)
        try:
            table = read_pairs(path).table
        except KnownError:
            assert len(set(keys)) < len(keys) or not kept
            return
    assert table["key"].to_pylist() == keys
    for column in TEXTS:
        assert table[column].to_pylist() == [repaired(row[column]) for _, row in kept]


@settings(max_examples=25)
@given(talk=st.lists(any_turn, min_size=1, max_size=4))
def test_any_messages_load_back(talk: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        [pair] = as_pairs(read_jsonl(Path(folder), {**TEXTS, "prompt": talk}).table, [0])
    assert pair.messages == [Message(turn["role"], repaired(turn["content"])) for turn in talk]


# Real files.


@pytest.fixture(scope="module")
def real(shared_data: Path) -> Pairs:
    return read_pairs(shared_data / "reward-bench" / "filtered.parquet")


def test_the_real_benchmark_is_read_whole(real: Pairs) -> None:
    rows = real.table.to_pylist()
    subsets = [row["subset"] for row in rows]
    assert {subset: subsets.count(subset) for subset in set(subsets)} == COUNTS
    assert (len(rows), real.notes) == (2985, ())
    twice = [row["key"] for row in rows if row["id"] == "3692"]
    assert twice == ["donotanswer:3692", "hep-python:3692"]
    some: list[dict[str, Any]] = [row for row in rows if row["subset"] == "math-prm"]
    means = [sum(len(row[column]) for row in some) / len(some) for column in TEXTS]
    assert means == pytest.approx((161.6, 524.6, 1213.1), abs=0.1)


# Large files.


def test_rows_beyond_a_batch_are_read_and_counted_on_and_told(tmp_path: Path) -> None:
    """The split `raw` has 5,123 rows; every format says how far it is."""
    n = BATCH_ROWS + 5
    rows = [{**TEXTS, "rejected": None if row == n - 1 else "y"} for row in range(n)]
    for ending, total in (("parquet", n), ("csv", None), ("jsonl", None)):
        steps: list[Step] = []
        path = write_rows(tmp_path / f"big.{ending}", rows)
        pairs = read_pairs(path, tell=steps.append)
        assert (steps[0], steps[-1]) == (Step("reading", 0, total), Step("reading", n, total))
        if ending != "csv":  # which has no null
            assert pairs.table["key"][-1].as_py() == f"big:{n - 1}" and len(pairs.table) == n - 1
            said = f"big.{ending}, row {n}: rejected is null; the row is left out."
            assert pairs.notes == (said,)


def limited(path: Path, **limits: int) -> tuple[str, list[Step]]:
    steps: list[Step] = []
    with pytest.raises(KnownError) as caught:
        read_pairs(path, limits=Limits(**limits), tell=steps.append)
    return str(caught.value), steps


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_that_is_too_large_is_not_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine.{ending}"
    path.write_bytes(b"no pairs at all" * 100_000)
    assert limited(path, megabytes=1)[0] == (
        f"mine.{ending} is 1.5 MB large; at most 1 MB are read here (EXPLORER_MAX_DATASET_MB)."
    )
    few = write_rows(path, [TEXTS] * 3)
    assert read_pairs(few, limits=Limits(rows=3, megabytes=1)).table.num_rows == 3


def test_many_rows_of_parquet_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mine.parquet", [TEXTS] * 1_001)
    said, steps = limited(path, rows=1_000)
    assert said == "mine.parquet has 1,001 rows; at most 1,000 are read here (EXPLORER_MAX_ROWS)."
    assert steps == []


@pytest.mark.parametrize(
    ("name", "start", "row", "end"),
    [
        ("mine.csv", HEAD, b"p,c,r\n", b"broken\n"),
        ("mine.jsonl", b"", LINE + b"\n", b"{broken\n"),
        ("mine.json", b"[", LINE + b",", b"broken"),
    ],
)
def test_reading_many_rows_stops_at_the_limit(
    name: str, start: bytes, row: bytes, end: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(start + row * 20_000 + end)
    said, steps = limited(tmp_path / name, rows=5_000)
    assert said == (
        f"{name} has more than 5,000 rows; at most 5,000 are read here (EXPLORER_MAX_ROWS)."
    )
    assert steps[-1].done <= 5_000


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """A text of a megabyte lies in the file once, and stands in 5,000 rows."""
    path = tmp_path / "mine.parquet"
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 5_000), pa.array(["x" * 1_000_000]))
    short = pa.array(["p"] * 5_000)
    pq.write_table(pa.table({"prompt": short, "chosen": long, "rejected": short}), path)
    assert path.stat().st_size < 200_000
    pool: Any = pa.default_memory_pool()
    before = pool.max_memory()
    assert limited(path, megabytes=10)[0] == (
        "mine.parquet unpacks to more than 80 MB of text, 8 times what a file may have here "
        "(EXPLORER_MAX_DATASET_MB)."
    )
    assert pool.max_memory() <= max(before, 100_000_000)


def test_a_file_that_says_that_it_unpacks_to_too_much_is_not_begun(tmp_path: Path) -> None:
    texts = ["x" * 100_000 + str(number) for number in range(100)]
    table = pa.table(dict.fromkeys(TEXTS, texts))
    path = tmp_path / "mine.parquet"
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    said, steps = limited(path, megabytes=1)
    assert "unpacks to more than 8 MB of text" in said
    assert steps == []
