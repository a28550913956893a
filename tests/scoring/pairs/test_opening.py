import csv
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
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
from scoring.spec import Message, Pair
from tests.conftest import DEMO_PAIRS

TEXTS = {"prompt": "p", "chosen": "c", "rejected": "r"}
FULL = [
    {
        "id": 7,
        "subset": "hep-js",
        "prompt": 'Say "hi",\nthen stop.',
        "chosen": "line one\r\nline two\u2028and three",
        "rejected": " \tspaces kept ",
        "chosen_model": "human",
        "rejected_model": "GPT-4",
    },
    {
        "id": 8,
        "subset": "mt-bench-hard",
        "prompt": "Ça va? 🤔",
        "chosen": "=1+1",
        "rejected": "<b>no</b>, $x$",
        "chosen_model": "a,b",
        "rejected_model": "unknown",
    },
]
FORMATS = ("parquet", "jsonl", "json", "csv")
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """Rows as a file of the kind that its ending says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    elif path.suffix == ".csv":
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def parquet_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), sink)
    return sink.getvalue().to_pybytes()


def read_jsonl(folder: Path, *rows: Mapping[str, object]) -> Pairs:
    return read_pairs(write_rows(folder / "mine.jsonl", rows))


def error_of(path: Path) -> str:
    with pytest.raises(KnownError) as caught:
        read_pairs(path)
    return str(caught.value)


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_reads_back_what_was_written(ending: str, tmp_path: Path) -> None:
    pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", FULL))
    assert pairs.table.schema == SCHEMA
    filled = {"turns": "", "more_chosen": [], "more_rejected": []}
    assert pairs.table.to_pylist() == [
        {**row, "id": str(row["id"]), "key": f"{row['subset']}:{row['id']}", **filled}
        for row in FULL
    ]
    assert (pairs.notes, pairs.left_out) == ((), ())


@pytest.mark.parametrize("ending", FORMATS)
def test_what_is_not_given_has_defaults(ending: str, tmp_path: Path) -> None:
    rows = [TEXTS, {**TEXTS, "prompt": "q"}]
    table = read_pairs(write_rows(tmp_path / f"my-own.{ending}", rows)).table
    assert table["key"].to_pylist() == ["my-own:1", "my-own:2"]
    assert set(table["subset"].to_pylist()) == {"my-own"}
    assert set(table["chosen_model"].to_pylist() + table["rejected_model"].to_pylist()) == {
        "unknown"
    }


@pytest.mark.parametrize("ending", FORMATS)
def test_columns_that_are_not_ours_are_dropped(ending: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / f"mine.{ending}", [{**TEXTS, "note": "mine"}])
    assert read_pairs(path).table.schema == SCHEMA


def test_the_ending_may_be_in_capitals(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mine.csv", [TEXTS]).rename(tmp_path / "MINE.CSV")
    assert read_pairs(path).table.num_rows == 1


def test_json_lines_may_be_blank_and_end_in_crlf(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(TEXTS).encode() + b"\r\n\r\n  \n")
    assert read_pairs(path).table.num_rows == 1


def test_a_json_line_ends_at_a_newline_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    text = "one\u2028two\x85three"
    path.write_text(json.dumps({**TEXTS, "chosen": text}, ensure_ascii=False), encoding="utf-8")
    assert read_pairs(path).table["chosen"].to_pylist() == [text]


def test_a_json_file_may_hold_lines(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mine.jsonl", FULL).rename(tmp_path / "mine.json")
    assert read_pairs(path).table.num_rows == 2


def test_the_revision_follows_the_content(tmp_path: Path) -> None:
    first = read_jsonl(tmp_path, TEXTS).source
    again = read_jsonl(tmp_path, TEXTS).source
    other = read_jsonl(tmp_path, {**TEXTS, "chosen": "d"}).source
    assert first == again
    assert first.revision != other.revision
    assert str(first) == f"mine.jsonl@{first.revision}"


def test_a_source_of_the_hub_says_how_to_fetch_it_again() -> None:
    commit = "168d848cdbbea9764fae4a544dc9ca1e6cca4931"
    source = PairSource("hub", "org/name", "test", commit)
    assert str(source) == f"org/name:test@{commit}"
    assert parse_hub_id(str(source)) == HubId("org/name", "test", commit)


def test_a_file_may_be_called_otherwise_on_screen(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a1b2.jsonl", [TEXTS, {**TEXTS, "chosen": None}])
    pairs = read_pairs(path, name="my own.jsonl")
    assert pairs.source.name == "my own.jsonl"
    assert pairs.table["key"].to_pylist() == ["my own:1"]
    assert pairs.notes == ("my own.jsonl, row 2: chosen is null; the row is left out.",)


@pytest.mark.parametrize("content", [None, b"{broken", b""])
def test_only_the_name_on_screen_is_told(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "a1b2.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(KnownError, match=r"my own\.jsonl") as caught:
        read_pairs(path, name="my own.jsonl")
    assert "a1b2" not in str(caught.value)


def test_demo_pairs_are_called_so() -> None:
    source = read_pairs(DEMO_PAIRS, "demo").source
    assert (source.kind, source.name) == ("demo", "demo pairs")


def test_a_misspelled_model_is_the_unknown_one(tmp_path: Path) -> None:
    table = read_jsonl(tmp_path, {**TEXTS, "chosen_model": "unkown"}).table
    assert table["chosen_model"].to_pylist() == ["unknown"]


def test_as_pairs_keeps_the_order_asked_for(tmp_path: Path) -> None:
    table = read_jsonl(tmp_path, *({**TEXTS, "id": number} for number in range(4))).table
    assert [pair.key for pair in as_pairs(table, [3, 0, 2])] == ["mine:3", "mine:0", "mine:2"]


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("column", list(TEXTS))
def test_a_missing_column_is_named(column: str, ending: str, tmp_path: Path) -> None:
    row = {name: text for name, text in TEXTS.items() if name != column}
    message = error_of(write_rows(tmp_path / f"mine.{ending}", [row]))
    assert f"mine.{ending} has no column {column};" in message


def test_a_file_without_any_known_column_is_refused(tmp_path: Path) -> None:
    message = error_of(write_rows(tmp_path / "mine.parquet", [{"text": "t"}]))
    assert "mine.parquet has no column prompt or chosen or rejected" in message
    assert "--best-of" not in message


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
@pytest.mark.parametrize("row", [{"prompt": "p", "responses": ["a", "b"]}, {"messages": ["m"]}])
def test_responses_none_of_which_is_right_are_told_what_ranks_them(
    row: dict[str, Any], ending: str, tmp_path: Path
) -> None:
    message = error_of(write_rows(tmp_path / f"mine.{ending}", [row]))
    assert "Rank them with python -m scoring --best-of." in message


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "json"])
@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("chosen", 5, "a number"),
        ("chosen", 0.5, "a number"),
        ("prompt", 5, "a number"),
        ("prompt", {"role": "user", "content": "hi"}, "an object"),
        ("rejected", {"text": "no"}, "an object"),
        ("subset", 3, "a number"),
        ("chosen_model", True, "true or false"),
        ("id", True, "true or false"),
        ("id", 1.5, "a number"),
        ("id", [1], "a list"),
    ],
)
def test_a_wrong_type_is_named_with_its_place(
    column: str, value: object, said: str, ending: str, tmp_path: Path
) -> None:
    message = error_of(write_rows(tmp_path / f"mine.{ending}", [{**TEXTS, column: value}]))
    assert f"mine.{ending}, row 1, column {column}: {said}, must be" in message


def test_the_row_with_the_wrong_type_is_counted_from_one(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mine.jsonl", [TEXTS, TEXTS, {**TEXTS, "chosen": 5}])
    assert "row 3, column chosen" in error_of(path)


def test_a_key_that_stands_twice_names_both_rows(tmp_path: Path) -> None:
    rows = [{**TEXTS, "id": "a"}, {**TEXTS, "id": "b"}, {**TEXTS, "id": "a"}]
    message = error_of(write_rows(tmp_path / "mine.jsonl", rows))
    assert "mine.jsonl, row 3, column id: the key 'mine:a' stands in row 1 already" in message


def test_the_same_id_in_two_subsets_is_no_duplicate(tmp_path: Path) -> None:
    rows = [{**TEXTS, "id": 1, "subset": "a"}, {**TEXTS, "id": 1, "subset": "b"}]
    assert read_jsonl(tmp_path, *rows).table["key"].to_pylist() == ["a:1", "b:1"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.parquet", b"", "cannot be read as .parquet"),
        ("none.jsonl", b"", "has no rows"),
        ("none.json", b"", "has no rows"),
        ("none.csv", b"", "has no rows"),
        ("bom.csv", b"\xef\xbb\xbf", "has no rows"),
        ("zero.json", b"[]", "has no rows"),
        ("zero.csv", b"prompt,chosen,rejected\n", "has no rows"),
        ("blank.jsonl", b"\n \n", "has no rows"),
        ("text.parquet", b"prompt,chosen,rejected\np,c,r\n", "cannot be read as .parquet"),
        ("cut.parquet", parquet_bytes([TEXTS])[:-20], "cannot be read as .parquet"),
        ("table.jsonl", parquet_bytes([TEXTS]), ""),
        ("page.csv", b"<!doctype html>\n<p>Not found, sorry</p>\n", ""),
        ("image.json", PNG, "not a .json file in UTF-8: byte 0"),
        ("image.csv", PNG, "not a .csv file in UTF-8: byte 0"),
        ("latin.csv", "prompt,chosen,rejected\nça,c,r\n".encode("latin-1"), "byte 23"),
        ("latin.jsonl", json.dumps(TEXTS).encode() + b"\n\xe7", "not a .jsonl file in UTF-8"),
        ("wide.csv", b"prompt,chosen,rejected\np,c,r\np,c,r,x\n", "row 2 does not have 3 fields"),
        ("thin.csv", b"prompt,chosen,rejected\np,c,r\np,c\n", "row 2 does not have 3 fields"),
        ("open.csv", b'prompt,chosen,rejected\np,c,"r\n', "cannot be read as .csv"),
        ("broken.jsonl", json.dumps(TEXTS).encode() + b'\n{"prompt": \n', "line 2 is not JSON"),
        ("pretty.json", json.dumps(TEXTS, indent=1).encode(), "line 1 is not JSON"),
        ("broken.json", b'[{"prompt": "p"', "not a JSON list"),
        ("deep.json", b"[" * 100_000, "not a JSON list"),
        ("deep.jsonl", b'{"a":' * 100_000, "line 1 is not JSON"),
        ("scalar.jsonl", b'{"prompt": "p"}\n5\n', "row 2 is a number, not an object"),
        ("lists.json", b'[["p", "c", "r"]]', "row 1 is a list, not an object"),
        ("null.jsonl", b"null\n", "row 1 is null, not an object"),
    ],
)
def test_a_broken_file_is_refused_by_name(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    message = error_of(path)
    assert name in message
    assert said in message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.csv", b"prompt,chosen,rejected\n007,NA,2024-01-01\n1.50,,True\n"),
        ("mine.jsonl", b'{"prompt": "007", "chosen": "NA", "rejected": "2024-01-01"}\n'
         b'{"prompt": "1.50", "chosen": "", "rejected": "True"}\n'),
    ],
)  # fmt: skip
def test_a_text_that_looks_like_something_else_stays_as_it_is_written(
    name: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    table = read_pairs(tmp_path / name).table
    found = [table[column].to_pylist() for column in TEXTS]
    assert found == [["007", "1.50"], ["NA", ""], ["2024-01-01", "True"]]


def test_a_text_that_looks_like_a_list_stays_text_beside_one(tmp_path: Path) -> None:
    listed = {**TEXTS, "chosen": ["c", "d"], "rejected": ["r"], "subset": "ties"}
    table = read_jsonl(tmp_path, listed, {**TEXTS, "chosen": '["c"]'}).table
    assert table["chosen"].to_pylist() == ["c", '["c"]']


def test_a_csv_whose_rows_are_all_too_long_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(b"prompt,chosen,rejected\n1,p,c,r\n2,p,c,r\n")
    assert "row 1 does not have 3 fields as the header has" in error_of(tmp_path / "mine.csv")


def test_a_parquet_file_of_zero_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "zero.parquet"
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in TEXTS}), path)
    assert "zero.parquet has no rows" in error_of(path)


def test_parquet_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bytes.parquet"
    broken = pa.array([b"\xff\xfe"]).view(pa.string())
    pq.write_table(pa.table({"prompt": broken, "chosen": ["c"], "rejected": ["r"]}), path)
    assert "bytes.parquet" in error_of(path)


@pytest.mark.parametrize("name", ["mine.txt", "mine", ".csv", "mine.csv.gz"])
def test_an_unknown_ending_is_refused_with_those_allowed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("prompt,chosen,rejected\np,c,r\n", encoding="utf-8")
    message = error_of(tmp_path / name)
    assert name in message
    assert ".parquet, .jsonl, .json, .csv" in message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert error_of(tmp_path / "gone.csv") == f"There is no file {tmp_path / 'gone.csv'}."


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert "folder.csv" in error_of(tmp_path / "folder.csv")


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "a\0b.csv"])
def test_a_name_that_no_file_can_have_is_refused(name: str) -> None:
    assert error_of(Path(name)).startswith("There is no file")


def test_a_number_of_five_thousand_digits_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.jsonl"
    path.write_text('{"prompt":"p","chosen":"c","rejected":"r","id":' + "1" * 5000 + "}")
    assert "huge.jsonl" in error_of(path)


def test_a_strange_column_name_is_told_in_text_that_can_be_shown(tmp_path: Path) -> None:
    message = error_of(write_rows(tmp_path / "mine.jsonl", [{"\ud800": "x"}]))
    assert message.encode("utf-8")


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "json"])
@pytest.mark.parametrize("column", list(TEXTS))
def test_a_row_with_a_null_text_is_left_out_with_a_note(
    column: str, ending: str, tmp_path: Path
) -> None:
    rows: list[dict[str, str | None]] = [{**TEXTS}, {**TEXTS, column: None}, {**TEXTS}]
    pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", rows))
    assert pairs.table["id"].to_pylist() == ["1", "3"]
    assert pairs.left_out == (1,)
    assert pairs.notes == (f"mine.{ending}, row 2: {column} is null; the row is left out.",)


def test_a_row_that_lacks_a_text_is_left_out_too(tmp_path: Path) -> None:
    pairs = read_jsonl(tmp_path, TEXTS, {"prompt": "p", "chosen": "c"})
    assert pairs.table.num_rows == 1
    assert "row 2: rejected is null" in pairs.notes[0]


def test_a_file_whose_rows_are_all_null_is_refused(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "mine.jsonl", [{**TEXTS, "chosen": None}, {**TEXTS, "chosen": None}]
    )
    message = error_of(path)
    assert "mine.jsonl has no row whose prompt, chosen, rejected are all given" in message
    assert "mine.jsonl, row 1: chosen is null" in message


def test_lone_surrogates_are_replaced_and_counted(tmp_path: Path) -> None:
    rows = [{**TEXTS, "chosen": "a\ud800b\udfff"}, {**TEXTS, "chosen": "\ud83d\ude00"}]
    pairs = read_jsonl(tmp_path, *rows)
    assert pairs.table["chosen"].to_pylist() == ["a\ufffdb\ufffd", "😀"]
    assert pairs.notes == ("mine.jsonl: 2 broken characters (lone surrogates) shown as \ufffd.",)


def test_keys_stay_distinct_when_surrogates_are_replaced(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "mine.jsonl", [{**TEXTS, "id": "\ud800"}, {**TEXTS, "id": "\ud801"}]
    )
    assert "row 2, column id" in error_of(path)


@pytest.mark.parametrize("ending", FORMATS)
def test_nul_bytes_are_kept(ending: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / f"mine.{ending}", [{**TEXTS, "chosen": "a\0b"}])
    assert read_pairs(path).table["chosen"].to_pylist() == ["a\0b"]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_response_may_be_empty(ending: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / f"mine.{ending}", [{**TEXTS, "chosen": ""}])
    pairs = read_pairs(path)
    assert pairs.table["chosen"].to_pylist() == [""]
    assert pairs.notes == ()


@pytest.mark.parametrize("ending", FORMATS)
def test_a_very_long_prompt_is_kept_whole(ending: str, tmp_path: Path) -> None:
    prompt = "0123456789" * 10_000
    path = write_rows(tmp_path / f"mine.{ending}", [{**TEXTS, "prompt": prompt}])
    assert read_pairs(path).table["prompt"].to_pylist() == [prompt]


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


@given(rows=st.lists(st.one_of(full_row, any_row), max_size=5))
def test_rows_of_texts_load_back_or_are_refused(rows: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(Path(folder) / "mine.jsonl", rows)
        kept = [(number, row) for number, row in enumerate(rows, 1) if TEXTS.keys() <= row.keys()]
        keys = [
            repaired(f"{row.get('subset', 'mine')}:{row.get('id', number)}") for number, row in kept
        ]
        if not kept:
            error_of(path)
            return
        try:
            table = read_pairs(path).table
        except KnownError:
            assert len(set(keys)) < len(keys)
            return
    assert table["key"].to_pylist() == keys
    for column in TEXTS:
        assert table[column].to_pylist() == [repaired(row[column]) for _, row in kept]


TALK = [
    {"role": "system", "content": 'Be "brief".'},
    {"role": "user", "content": " Ça va?\n"},
    {"role": "assistant", "content": "Oui. 🤔"},
    {"role": "user", "content": "Et toi?"},
]
LISTS = ("parquet", "jsonl", "json")


@pytest.mark.parametrize("ending", LISTS)
def test_a_prompt_of_messages_is_read_as_a_transcript_and_its_turns(
    ending: str, tmp_path: Path
) -> None:
    table = read_pairs(write_rows(tmp_path / f"mine.{ending}", [{**TEXTS, "prompt": TALK}])).table
    assert table.schema == SCHEMA
    (row,) = table.to_pylist()
    assert row["prompt"] == (
        'System: Be "brief".\n\nUser:  Ça va?\n\n\nAssistant: Oui. 🤔\n\nUser: Et toi?'
    )
    turns = tuple(Message(turn["role"], turn["content"]) for turn in TALK)
    assert json.loads(row["turns"]) == [list(turn) for turn in turns]
    assert as_pairs(table, [0]) == [Pair("mine:1", "mine", row["prompt"], "c", "r", turns)]
    assert tuple(as_pairs(table, [0])[0].messages) == turns


@pytest.mark.parametrize("ending", LISTS)
def test_one_message_of_a_user_is_a_plain_prompt(ending: str, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {**TEXTS, "prompt": [{"role": "user", "content": " Hi,\nyou "}]},
    ]
    plain = [{**TEXTS, "prompt": " Hi,\nyou "}]
    listed = read_pairs(write_rows(tmp_path / f"mine.{ending}", rows)).table
    assert listed == read_pairs(write_rows(tmp_path / f"mine.{ending}", plain)).table
    assert as_pairs(listed, [0])[0].turns == ()


def test_one_message_of_another_than_the_user_stays_one(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "Be brief."}]
    (pair,) = as_pairs(read_jsonl(tmp_path, {**TEXTS, "prompt": talk}).table, [0])
    assert (pair.prompt, pair.turns) == ("System: Be brief.", (Message("system", "Be brief."),))


def test_prompts_of_text_and_of_messages_may_stand_in_one_file(tmp_path: Path) -> None:
    table = read_jsonl(tmp_path, TEXTS, {**TEXTS, "prompt": TALK[1:]}, TEXTS).table
    assert [len(pair.turns) for pair in as_pairs(table, [2, 1, 0])] == [0, 3, 0]


def test_a_text_that_looks_like_messages_is_text(tmp_path: Path) -> None:
    prompt = json.dumps(TALK)
    (pair,) = as_pairs(read_jsonl(tmp_path, {**TEXTS, "prompt": prompt}).table, [0])
    assert (pair.prompt, pair.turns) == (prompt, ())


def test_what_a_message_has_besides_is_dropped(tmp_path: Path) -> None:
    talk = [{"content": "a", "role": "user", "weight": 1}, {"content": "b", "role": "assistant"}]
    (pair,) = as_pairs(read_jsonl(tmp_path, {**TEXTS, "prompt": talk}).table, [0])
    assert pair.turns == (Message("user", "a"), Message("assistant", "b"))


ALLOWED = "system, user, assistant are allowed."
USER = {"role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], ": a list without messages."),
        (["hi"], f", message 1: its role is 'None'; {ALLOWED}"),
        ([USER, {"content": "x"}], f", message 2: its role is 'None'; {ALLOWED}"),
        ([{"role": "human", "content": "x"}], f", message 1: its role is 'human'; {ALLOWED}"),
        ([{**USER, "role": "x" * 99}], f", message 1: its role is '{'x' * 40}'; {ALLOWED}"),
        pytest.param(
            [{**USER, "role": ["user"]}], f"message 1: its role is \"['user']\"; {ALLOWED}"
        ),
        ([USER, {"role": "user"}], ", message 2: its content is null, must be text."),
        ([{**USER, "content": ["x"]}], ", message 1: its content is a list, must be text."),
        ([USER, USER, {**USER, "content": 5}], ", message 3: its content is a number, must be"),
    ],
)
def test_a_wrong_message_is_named_with_its_place(
    messages: list[object], said: str, tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "mine.jsonl", [TEXTS, {**TEXTS, "prompt": messages}])
    message = error_of(path)
    assert message.startswith("mine.jsonl, row 2, column prompt")
    assert said in message


def test_lone_surrogates_in_messages_are_replaced(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "a\ud800"}, {"role": "assistant", "content": "😀\udfff"}]
    table = read_jsonl(tmp_path, {**TEXTS, "prompt": talk}).table
    (pair,) = as_pairs(table, [0])
    assert pair.turns == (Message("user", "a\ufffd"), Message("assistant", "😀\ufffd"))
    assert pair.prompt == "User: a\ufffd\n\nAssistant: 😀\ufffd"


def test_lone_surrogates_in_messages_are_counted_once(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "a\ud800"}, {"role": "assistant", "content": "b"}]
    pairs = read_jsonl(tmp_path, {**TEXTS, "prompt": talk})
    assert pairs.notes == ("mine.jsonl: 1 broken character (lone surrogates) shown as \ufffd.",)


any_turn = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": any_text}
)


@settings(max_examples=60)
@given(talk=st.lists(any_turn, min_size=1, max_size=4))
def test_any_messages_load_back(talk: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(Path(folder) / "mine.jsonl", [{**TEXTS, "prompt": talk}])
        (pair,) = as_pairs(read_pairs(path).table, [0])
    assert pair.messages == [Message(turn["role"], repaired(turn["content"])) for turn in talk]


def test_the_real_prior_set_has_turns(shared_data: Path) -> None:
    path = shared_data / "preference-test-sets" / "anthropic_hhh.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    pairs = as_pairs(read_pairs(path).table, range(len(rows)))
    assert {pair.subset for pair in pairs} == {"anthropic_hhh"}
    assert len(pairs) == 221
    assert any(len(pair.turns) > 1 for pair in pairs)
    assert [[turn._asdict() for turn in pair.messages] for pair in pairs] == [
        [{"role": turn["role"], "content": turn["content"]} for turn in row["prompt"]]
        for row in rows
    ]


@pytest.fixture(scope="module")
def real(shared_data: Path) -> Pairs:
    return read_pairs(shared_data / "reward-bench" / "filtered.parquet")


def test_the_real_benchmark_is_read_whole(real: Pairs) -> None:
    subsets = real.table["subset"].to_pylist()
    assert {subset: subsets.count(subset) for subset in set(subsets)} == COUNTS
    assert real.table.num_rows == 2985
    assert real.notes == ()


def test_the_id_that_stands_twice_has_two_keys(real: Pairs) -> None:
    keys = [row["key"] for row in real.table.to_pylist() if row["id"] == "3692"]
    assert keys == ["donotanswer:3692", "hep-python:3692"]


@pytest.mark.parametrize(
    ("subset", "prompt", "chosen", "rejected"),
    [
        ("alpacaeval-easy", 218.6, 2064.1, 427.6),
        ("mt-bench-med", 330.7, 1028.2, 1533.2),
        ("llmbar-natural", 258.5, 294.3, 271.5),
        ("xstest-should-respond", 44.3, 727.0, 421.6),
        ("hep-js", 441.9, 234.7, 231.5),
        ("math-prm", 161.6, 524.6, 1213.1),
    ],
)
def test_texts_have_the_lengths_of_the_benchmark(
    subset: str, prompt: float, chosen: float, rejected: float, real: Pairs
) -> None:
    rows: list[dict[str, Any]] = [r for r in real.table.to_pylist() if r["subset"] == subset]
    means = [sum(len(row[column]) for row in rows) / len(rows) for column in TEXTS]
    assert means == pytest.approx([prompt, chosen, rejected], abs=0.1)


def test_a_file_in_the_shape_of_the_raw_split_is_read_whole(tmp_path: Path) -> None:
    """Made-up rows: the columns of `filtered`, and more rows, as the split `raw` has."""
    rows = [
        {
            "prompt": f"Question {number}?",
            "chosen": f"Right {number}.",
            "chosen_model": "human",
            "rejected": f"Wrong {number}.",
            "rejected_model": "unkown",
            "subset": "alpacaeval-easy" if number < 805 else "donotanswer",
            "id": number,
        }
        for number in range(5123)
    ]
    pairs = read_pairs(write_rows(tmp_path / "raw-00000-of-00001.parquet", rows))
    assert pairs.notes == ()
    subsets = pairs.table["subset"].to_pylist()
    assert (len(subsets), subsets.count("alpacaeval-easy")) == (5123, 805)
    assert set(pairs.table["rejected_model"].to_pylist()) == {"unknown"}


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_that_is_too_large_is_not_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine.{ending}"
    path.write_bytes(b"no pairs at all" * 100_000)
    with pytest.raises(KnownError) as caught:
        read_pairs(path, limits=Limits(megabytes=1))
    assert str(caught.value) == (
        f"mine.{ending} is 1.5 MB large; at most 1 MB are read here (EXPLORER_MAX_DATASET_MB)."
    )
    assert "is 1.5 MB" not in error_of(path)


def test_a_million_rows_of_parquet_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    column = pa.array(["x"] * 1000)
    pq.write_table(pa.concat_tables([pa.table([column] * 3, list(TEXTS))] * 1001), path)
    steps: list[Step] = []
    with pytest.raises(KnownError) as caught:
        read_pairs(path, limits=Limits(rows=1_000_000), tell=steps.append)
    assert str(caught.value) == (
        "mine.parquet has 1,001,000 rows; at most 1,000,000 are read here (EXPLORER_MAX_ROWS)."
    )
    assert steps == []


@pytest.mark.parametrize(
    ("name", "start", "row", "end"),
    [
        ("mine.csv", b"prompt,chosen,rejected\n", b"p,c,r\n", b"broken\n"),
        ("mine.jsonl", b"", json.dumps(TEXTS).encode() + b"\n", b"{broken\n"),
        ("mine.json", b"[", json.dumps(TEXTS).encode() + b",", b"broken"),
    ],
)
def test_reading_a_million_rows_stops_at_the_limit(
    name: str, start: bytes, row: bytes, end: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(start + row * 1_000_000 + end)
    steps: list[Step] = []
    with pytest.raises(KnownError) as caught:
        read_pairs(tmp_path / name, limits=Limits(rows=5_000), tell=steps.append)
    assert str(caught.value) == (
        f"{name} has more than 5,000 rows; at most 5,000 are read here (EXPLORER_MAX_ROWS)."
    )
    assert steps[-1].done <= 5_000


def test_as_many_rows_as_the_limit_are_read(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mine.jsonl", [TEXTS] * 3)
    assert read_pairs(path, limits=Limits(rows=3, megabytes=1)).table.num_rows == 3


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """A text of a megabyte lies in the file once, and stands in 5,000 rows."""
    path = tmp_path / "mine.parquet"
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 5_000), pa.array(["x" * 1_000_000]))
    short = pa.array(["p"] * 5_000)
    pq.write_table(pa.table({"prompt": short, "chosen": long, "rejected": short}), path)
    assert path.stat().st_size < 200_000
    pool: Any = pa.default_memory_pool()
    before = pool.max_memory()
    with pytest.raises(KnownError) as caught:
        read_pairs(path, limits=Limits(megabytes=10))
    assert str(caught.value) == (
        "mine.parquet unpacks to more than 80 MB of text, 8 times what a file may have here "
        "(EXPLORER_MAX_DATASET_MB)."
    )
    assert pool.max_memory() <= max(before, 100_000_000)


def test_a_file_that_says_that_it_unpacks_to_too_much_is_not_begun(tmp_path: Path) -> None:
    path, steps = tmp_path / "mine.parquet", list[Step]()
    texts = ["x" * 100_000 + str(number) for number in range(100)]
    table = pa.table(dict.fromkeys(TEXTS, texts))
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    with pytest.raises(KnownError, match="unpacks to more than 8 MB of text"):
        read_pairs(path, limits=Limits(megabytes=1), tell=steps.append)
    assert steps == []


def test_how_far_the_reading_is_is_told(tmp_path: Path) -> None:
    rows = [{**TEXTS, "chosen": None if number == 1 else "c"} for number in range(3)]
    for ending, total in (("parquet", 3), ("csv", None), ("jsonl", None)):
        steps: list[Step] = []
        read_pairs(write_rows(tmp_path / f"mine.{ending}", rows), tell=steps.append)
        assert steps == [Step("reading", 0, total), Step("reading", 3, total)]
