import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.core.files import METADATA
from explorer.data import export as exports
from explorer.data.export import (
    FORMATS,
    Format,
    batches,
    export,
    export_name,
)
from explorer.data.table import PairTable, Rows
from scoring.errors import KnownError
from scoring.pairs.opening import SCHEMA, TEXT_COLUMNS, Pairs, PairSource, read_pairs
from scoring.pairs.shapes import transcript
from scoring.spec import Message
from tests.support.golden_files import check_golden

TURNS = [Message("system", "Be brief."), Message("user", "Hi."), Message("assistant", "=Yes?")]
SOURCE = PairSource("file", "mine.jsonl", None, "0123456789ab")


def pair(number: object, **changed: Any) -> dict[str, Any]:
    """A row of a checked table; turns: as messages, more_*: as (text, model)."""
    texts = (*TEXT_COLUMNS, "chosen_model", "rejected_model")
    row: dict[str, Any] = {name: f"{name} {number}" for name in texts}
    row |= {"subset": "s", "id": str(number), "turns": (), "more_chosen": (), "more_rejected": ()}
    row |= changed
    if row["turns"]:
        row["prompt"] = transcript(row["turns"])
    row["turns"] = json.dumps(row["turns"], ensure_ascii=False) if row["turns"] else ""
    for side in ("more_chosen", "more_rejected"):
        row[side] = [{"text": text, "model": model} for text, model in row[side]]
    return {**row, "key": f"{row['subset']}:{row['id']}"}


def table_of(*rows: dict[str, Any], source: PairSource = SOURCE, chunk: int = 2) -> PairTable:
    """A table in chunks, as they are after reading."""
    chunks = [rows[begin : begin + chunk] for begin in range(0, len(rows), chunk)]
    tables = [pa.Table.from_pylist([*each], schema=SCHEMA) for each in chunks]
    return PairTable(Pairs(source, pa.concat_tables(tables)))


def all_of(table: PairTable) -> Rows:
    return np.arange(len(table))


def written(
    table: PairTable, form: Format, folder: Path, rows: Sequence[int] | None = None
) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"pairs.{form}"
    export(table, all_of(table) if rows is None else np.array(rows), form, path)
    return path


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts)
models = texts.filter(lambda name: name != "unkown")  # is mended on reading


def tables(*, several: bool) -> st.SearchStrategy[PairTable]:
    """Tables of hostile texts. several: with responses of a side besides the first."""
    further = st.lists(st.tuples(texts, models), max_size=2 if several else 0)
    rows = st.builds(
        pair,
        texts | st.integers(-5, 10**20),
        subset=st.just("Ties") if several else texts,
        **dict.fromkeys(TEXT_COLUMNS, texts),
        **dict.fromkeys(("chosen_model", "rejected_model"), models),
        turns=st.lists(messages, min_size=2, max_size=3) | st.just([]),
        more_chosen=further,
        more_rejected=further,
    )
    listed = st.lists(rows, min_size=1, max_size=5, unique_by=lambda row: row["key"])
    return listed.map(lambda rows: table_of(*rows))


@settings(max_examples=50)
@given(tables(several=False), tables(several=True))
def test_any_table_comes_back_as_it_was_and_csv_is_run_by_none(
    tmp_path_factory: pytest.TempPathFactory, plain: PairTable, several: PairTable
) -> None:
    folder = tmp_path_factory.getbasetemp()
    for table, form in ((plain, "parquet"), (several, "parquet"), (plain, "jsonl")):
        path = written(table, form, folder)  # type: ignore[arg-type]
        assert read_pairs(path).table.to_pylist() == table.arrow.to_pylist()
    path = written(several, "csv", folder)
    assert len(read_pairs(path).table) == len(several)
    with path.open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for row in csv.reader(file, strict=True) for cell in row]
    assert not [cell for cell in cells if cell.lstrip()[:1] in {*"=+-@＝＋－＠"} or "\0" in cell]


def test_the_real_split_comes_back_as_upstreams_file(
    real: PairTable, shared_data: Path, tmp_path: Path
) -> None:
    path = written(real, "parquet", tmp_path)
    upstream = pq.read_table(shared_data / "reward-bench" / "filtered.parquet")
    assert pq.read_table(path).cast(upstream.schema).equals(upstream)


def test_ids_are_numbers_only_where_all_are(tmp_path: Path) -> None:
    for row_id in ("007", "9" * 19, "９", "x"):
        table = table_of(pair(1), pair(row_id))
        assert pq.read_schema(written(table, "parquet", tmp_path)).field("id").type == pa.string()
        for rows, ids in (([0, 1], ["1", row_id]), ([0], [1])):
            lines = written(table, "jsonl", tmp_path, rows).read_text("utf-8").splitlines()
            assert [json.loads(line)["id"] for line in lines] == ids


SEVERAL = pair(7, more_chosen=[("c2", "m2")], more_rejected=[("r2", "m3"), ("r3", "m4")])


def test_further_responses_are_written_as_rewardbench_2_writes_them(tmp_path: Path) -> None:
    one, seven = pq.read_table(written(table_of(pair(1), SEVERAL), "parquet", tmp_path)).to_pylist()
    assert seven == {
        "prompt": "prompt 7",
        "chosen": ["chosen 7", "c2"],
        "rejected": ["rejected 7", "r2", "r3"],
        "models": ["chosen_model 7", "m2", "rejected_model 7", "m3", "m4"],
        "num_correct": 2,
        "num_incorrect": 3,
        "total_completions": 5,
        "subset": "s",
        "id": 7,
    }
    assert one["chosen"] == ["chosen 1"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_pairs_conversations_and_further_responses_are_written(form: Any, tmp_path: Path) -> None:
    quoted = pair(2, turns=TURNS, chosen='a "b", c\nd')
    path = written(table_of(pair(1), quoted, SEVERAL), form, tmp_path)
    check_golden(Path(__file__).parent / "exports" / f"pairs.{form}", path.read_bytes().decode())


@pytest.mark.parametrize("form", FORMATS)
def test_the_rows_are_written_in_the_order_given_and_a_place_of_the_server_is_not_named(
    tmp_path: Path, form: Format
) -> None:
    table = table_of(*map(pair, range(5)))
    kept = PairTable(read_pairs(written(table, form, tmp_path, [4, 1, 0])))
    assert kept.keys == [table.keys[row] for row in (4, 1, 0)]
    for place in ("no folder/x", "x" * 300):
        with pytest.raises(KnownError, match=r"cannot be written: .*Choose another") as refused:
            export(table, all_of(table), form, tmp_path / place)
        assert str(tmp_path) not in str(refused.value)
    with pytest.raises(KnownError, match="no pair to export"):
        export(table, np.array([], dtype=np.int64), form, tmp_path / "x")
    assert [each.name for each in tmp_path.iterdir()] == [f"pairs.{form}"]


def test_long_texts_are_written_few_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [pair(number) for number in range(9)]
    rows[2] = pair(2, chosen="x" * 5_000)
    rows[4] = pair(4, more_rejected=[("é" * 500, "m")])
    table = table_of(*rows)
    whole = written(table, "jsonl", tmp_path / "whole").read_bytes()
    monkeypatch.setattr(exports, "BATCH_BYTES", 1_000)
    assert [each.num_rows for each in batches(table.arrow, all_of(table))] == [2, 1, 1, 1, 4]
    assert written(table, "jsonl", tmp_path).read_bytes() == whole


def test_parquet_says_where_its_pairs_are_from_and_how_they_were_chosen(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    table = table_of(pair(1), source=PairSource("hub", "org/name", "test", commit))
    selection = ["search: é\n\ud800", "subset: s"]
    export(table, all_of(table), "parquet", tmp_path / "x.parquet", selection)
    metadata = pq.read_schema(tmp_path / "x.parquet").metadata
    assert json.loads(metadata[METADATA]) == {
        "source": f"org/name:test@{commit}",
        "revision": commit,
        "selection": selection,
    }


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (PairSource("hub", "allenai/reward-bench", "filtered", "0"), "reward-bench-filtered-2"),
        (PairSource("file", "mine.jsonl", None, "0"), "mine-2"),
        (PairSource("file", "..\\..\r\n<b>日本\0.csv", None, "0"), "b-2"),
        (PairSource("file", "/etc/日本.csv", "../x", "0"), "pairs-x-2"),
        (PairSource("hub", "a/" + "v1.5" * 99, None, "0"), ("v1-5" * 99)[:60] + "-2"),
    ],
)
def test_a_file_is_named_after_its_source(source: PairSource, name: str) -> None:
    table = table_of(pair(1), pair(2), source=source)
    assert export_name(table, all_of(table), "csv") == f"{name}-pairs.csv"
