"""Pairs that were read once are mapped from the disk from then on."""

import shutil
import socket
from pathlib import Path

import pyarrow as pa
import pytest

from scoring.limits import Limits, Step
from scoring.pairs.opening import SCHEMA, Pairs, read_pairs
from tests.support.files import write_jsonl
from tests.support.refusals import refusal


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where mapped tables are kept; here even small sets are, and nobody is asked."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf" / "datasets")
    monkeypatch.setattr("scoring.pairs.opening.LEAST_BYTES", 0)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("somebody was asked"))
    return tmp_path / "hf" / "datasets"


def read(cache: Path, n: int, prompt: str = "prompt") -> tuple[Pairs, list[Step]]:
    """What is read of so many pairs and a row that is none, and what was told meanwhile."""
    row = {"prompt": prompt, "chosen": "c" * 1000, "rejected": "r" * 1000}
    rows = [*({**row, "id": number} for number in range(n)), {**row, "chosen": None}]
    steps: list[Step] = []
    path = write_jsonl(cache.parent.parent / "mine.jsonl", rows)
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
