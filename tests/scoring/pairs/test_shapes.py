import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring.errors import KnownError
from scoring.pairs.opening import SCHEMA, as_pairs, read_pairs
from scoring.pairs.rows import BATCH_ROWS
from scoring.spec import Message, Pair
from tests.scoring.pairs.test_opening import write_rows

ASK = {"role": "user", "content": "Name a colour."}
SYSTEM = {"role": "system", "content": "Be brief."}
GOOD = {"role": "assistant", "content": "Red."}
BAD = {"role": "assistant", "content": "No."}


def read(folder: Path, *rows: dict[str, Any]) -> Any:
    path = folder / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pairs = read_pairs(path)
    return as_pairs(pairs.table, range(pairs.table.num_rows))


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "Name a colour.", "chosen": "Red.", "rejected": "No."},
        {"question": "Name a colour.", "chosen": "Red.", "rejected": "No."},
        {"input": "Name a colour.", "chosen": "Red.", "rejected": "No."},
        {"prompt": None, "input": "Name a colour.", "chosen": "Red.", "rejected": "No."},
        {"prompt": [ASK], "chosen": "Red.", "rejected": "No."},
        {"prompt": [ASK], "chosen": [GOOD], "rejected": [BAD]},
        {"prompt": "Name a colour.", "chosen": [GOOD], "rejected": "No."},
        {"chosen": [ASK, GOOD], "rejected": [ASK, BAD]},
        {"prompt": "Name a colour.", "chosen": [ASK, GOOD], "rejected": [ASK, BAD]},
    ],
)
def test_all_shapes_hold_the_same_texts(row: dict[str, Any], tmp_path: Path) -> None:
    (pair,) = read(tmp_path, row)
    assert (pair.prompt, pair.chosen, pair.rejected) == ("Name a colour.", "Red.", "No.")
    assert pair.turns == ()


def test_a_conversation_before_the_responses_is_the_prompt(tmp_path: Path) -> None:
    (pair,) = read(tmp_path, {"chosen": [SYSTEM, ASK, GOOD], "rejected": [SYSTEM, ASK, BAD]})
    assert pair.turns == (Message(**SYSTEM), Message(**ASK))
    assert pair.prompt == "System: Be brief.\n\nUser: Name a colour."
    assert (pair.chosen, pair.rejected) == ("Red.", "No.")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"chosen": [ASK, GOOD], "rejected": [SYSTEM, ASK, BAD]},
            "not answer the same messages",
        ),
        ({"chosen": [ASK, GOOD], "rejected": "No."}, "not answer the same messages"),
        ({"chosen": [GOOD], "rejected": [BAD]}, "no prompt, neither in a column nor before"),
        (
            {"chosen": [ASK], "rejected": [ASK]},
            "last message is of the user, not the assistant",
        ),
        ({"prompt": [], "chosen": "Red.", "rejected": "No."}, "prompt: a list without messages"),
        (
            {"prompt": "p", "chosen": ["Red.", None], "rejected": ["No."]},
            "column chosen, response 2: null, must be text.",
        ),
        (
            {"prompt": "p", "chosen": ["Red."], "rejected": [5]},
            "column rejected, response 1: a number, must be text.",
        ),
        (
            {"prompt": "p", "chosen": [GOOD, "Red."], "rejected": ["No."]},
            "column chosen, message 2: its role is 'None'",
        ),
        (
            {"prompt": "p", "chosen": ["Red."], "rejected": ["No."], "models": ["a", 5]},
            "column models, name 2: a number, must be text.",
        ),
        (
            {"prompt": "Other?", "chosen": [ASK, GOOD], "rejected": [ASK, BAD]},
            "column chosen: its messages before the last are not those of prompt",
        ),
    ],
)
def test_what_fits_no_shape_is_named(row: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(KnownError, match=r"mine\.jsonl, row 1") as caught:
        read(tmp_path, row)
    assert said in str(caught.value)


def test_a_missing_response_leaves_its_row_out(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [{"chosen": [ASK, GOOD], "rejected": [ASK, BAD]}, {"chosen": [ASK, GOOD]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pairs = read_pairs(path)
    assert pairs.table.num_rows == 1
    assert pairs.notes == ("mine.jsonl, row 2: rejected is null; the row is left out.",)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"prompt": "p", "chosen": [], "rejected": ["No."]}, "chosen is an empty list"),
        ({"prompt": "p", "chosen": ["Red."], "rejected": []}, "rejected is an empty list"),
        ({"prompt": None, "chosen": ["Red."], "rejected": ["No."]}, "prompt is null"),
        ({"prompt": "p", "chosen": None, "rejected": ["No."]}, "chosen is null"),
    ],
)
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_list_without_responses_leaves_its_row_out(
    ending: str, row: dict[str, Any], why: str, tmp_path: Path
) -> None:
    rows = [{"prompt": "p", "chosen": ["Red."], "rejected": ["No."]}, row]
    pairs = read_pairs(write_rows(tmp_path / f"mine.{ending}", rows))
    assert (pairs.table.num_rows, pairs.left_out) == (1, (1,))
    assert pairs.notes == (f"mine.{ending}, row 2: {why}; the row is left out.",)


SEVERAL = [
    {
        "id": "0",
        "prompt": "Name a colour.",
        "chosen": ["Red."],
        "rejected": ["No.", "Dog.", "7"],
        "num_correct": 1,
        "num_incorrect": 3,
        "total_completions": 4,
        "models": ["human", "model-a", "unkown", None],
        "subset": "Precise IF",
        "additional_metadata": {"category": "made up", "models": ["x"]},
    },
    {
        "id": "tied:1",
        "prompt": "Name any colour.",
        "chosen": ["Red.", "Blue."],
        "rejected": ["No."],
        "num_correct": 2,
        "num_incorrect": 1,
        "total_completions": 3,
        "models": ["model-a", "model-b", "model-c"],
        "subset": "Ties",
        "additional_metadata": {"category": "made up", "models": ["x"]},
    },
]
"""Made-up rows in the documented shape of RewardBench 2."""


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "json"])
def test_the_responses_after_the_first_are_kept(ending: str, tmp_path: Path) -> None:
    pairs = read_pairs(write_rows(tmp_path / f"test.{ending}", SEVERAL))
    assert pairs.table.schema == SCHEMA
    assert pairs.table.to_pylist() == [
        {
            "key": "Precise IF:0",
            "id": "0",
            "subset": "Precise IF",
            "prompt": "Name a colour.",
            "chosen": "Red.",
            "rejected": "No.",
            "chosen_model": "human",
            "rejected_model": "model-a",
            "turns": "",
            "more_chosen": [],
            "more_rejected": [
                {"text": "Dog.", "model": "unknown"},
                {"text": "7", "model": "unknown"},
            ],
        },
        {
            "key": "Ties:tied:1",
            "id": "tied:1",
            "subset": "Ties",
            "prompt": "Name any colour.",
            "chosen": "Red.",
            "rejected": "No.",
            "chosen_model": "model-a",
            "rejected_model": "model-c",
            "turns": "",
            "more_chosen": [{"text": "Blue.", "model": "model-b"}],
            "more_rejected": [],
        },
    ]
    assert pairs.notes == ()
    assert as_pairs(pairs.table, [1]) == [
        Pair("Ties:tied:1", "Ties", "Name any colour.", "Red.", "No.", more_chosen=("Blue.",))
    ]


def test_a_list_of_one_response_is_that_response(tmp_path: Path) -> None:
    listed = {"prompt": "p", "chosen": ["Red."], "rejected": ["No."], "chosen_model": "a"}
    plain = {"prompt": "p", "chosen": "Red.", "rejected": "No.", "chosen_model": "a"}
    tables = [
        read_pairs(write_rows(tmp_path / "mine.jsonl", [row])).table for row in (listed, plain)
    ]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("models", [None, [], ["a"], ["a", "b", "c", "d"], "a"])
def test_models_that_do_not_fit_the_responses_name_none(models: object, tmp_path: Path) -> None:
    row = {"prompt": "p", "chosen": ["c", "d"], "rejected": ["r"], "models": models}
    row["subset"] = "Ties"
    named = {**row, "chosen_model": "x"}
    path = write_rows(tmp_path / "mine.jsonl", [row, named])
    first, second = read_pairs(path).table.to_pylist()
    assert (first["chosen_model"], second["chosen_model"]) == ("unknown", "x")
    assert first["more_chosen"] == second["more_chosen"] == [{"text": "d", "model": "unknown"}]


def test_lone_surrogates_in_further_responses_are_replaced_and_counted(tmp_path: Path) -> None:
    row = {
        "prompt": "p",
        "chosen": ["c", "a\ud800"],
        "rejected": ["r"],
        "models": ["", "\udc00", ""],
        "subset": "Ties",
    }
    pairs = read_pairs(write_rows(tmp_path / "mine.jsonl", [row]))
    assert pairs.table["more_chosen"].to_pylist() == [[{"text": "a\ufffd", "model": "\ufffd"}]]
    assert pairs.notes == ("mine.jsonl: 2 broken characters (lone surrogates) shown as \ufffd.",)


def test_rows_beyond_a_batch_are_read_and_counted_on(tmp_path: Path) -> None:
    n = BATCH_ROWS + 5
    rows = {name: ["x"] * n for name in ("prompt", "chosen", "rejected")}
    rows["rejected"] = [None if row == n - 1 else "y" for row in range(n)]  # type: ignore[misc]
    pq.write_table(pa.table(rows), tmp_path / "big.parquet")
    pairs = read_pairs(tmp_path / "big.parquet")
    assert pairs.table.num_rows == n - 1
    assert pairs.notes == (f"big.parquet, row {n}: rejected is null; the row is left out.",)
    assert pairs.table["key"][n - 2].as_py() == f"big:{n - 1}"
