"""Pairs that were read once are mapped from the disk from then on."""

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest

from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.sources import pair_sources
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import NO_LIMITS, Limits, Step
from scoring.pairs.opening import SCHEMA, Pairs, read_pairs
from tests.support.hub_server import HubServer, Repo, use_hub


def rows(n: int, mark: str = "") -> bytes:
    row = {"prompt": f"prompt {mark}", "chosen": "c" * 1000, "rejected": "r" * 1000}
    written = [{**row, "id": number} for number in range(n)]
    written.append({**row, "id": "none", "chosen": None})
    return "".join(json.dumps(each) + "\n" for each in written).encode()


Read = Callable[..., tuple[Pairs, list[Step]]]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where mapped tables are kept; here even small sets are, and nobody is asked."""

    def nobody(*_: object, **__: object) -> NoReturn:
        pytest.fail("the network was asked")

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf" / "datasets")
    monkeypatch.setattr("scoring.pairs.opening.LEAST_BYTES", 0)
    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    return tmp_path / "hf" / "datasets"


@pytest.fixture
def read(cache: Path, tmp_path: Path) -> Read:
    def read_one(content: bytes, limits: Limits = NO_LIMITS) -> tuple[Pairs, list[Step]]:
        steps: list[Step] = []
        (tmp_path / "mine.jsonl").write_bytes(content)
        pairs = read_pairs(tmp_path / "mine.jsonl", limits=limits, tell=steps.append, on_disk=True)
        return pairs, steps

    return read_one


def arrow_files(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*.arrow"))


def test_what_was_read_once_is_mapped_from_then_on(read: Read) -> None:
    before = pa.total_allocated_bytes()
    first, steps = read(rows(2000))
    again, told = read(rows(2000))
    assert (steps[-1].done, told) == (2001, [])
    assert (again.source, again.notes, again.left_out) == (first.source, first.notes, (2000,))
    assert again.table.equals(first.table)
    assert again.table.schema.equals(SCHEMA, check_metadata=True)
    assert again.table.nbytes > 4_000_000 > pa.total_allocated_bytes() - before


def test_one_revision_of_a_set_is_kept_and_one_that_is_broken_written_anew(
    read: Read, cache: Path
) -> None:
    read(rows(3))
    (old,) = arrow_files(cache)
    first, steps = read(rows(4, "changed"))
    assert (len(first.table), steps[-1].done) == (4, 5)
    for broken in (b"broken", b""):
        (file,) = arrow_files(cache)
        assert file != old
        file.unlink()  # what is mapped stays whole
        file.write_bytes(broken)
        again, _ = read(rows(4, "changed"))
        assert again.table.equals(first.table)


def test_errors_and_limits_are_those_of_reading_wherever_nothing_is_kept(
    read: Read, cache: Path
) -> None:
    with pytest.raises(KnownError, match=r"mine\.jsonl: line 4 is not JSON"):
        read(rows(2) + b"{")
    assert arrow_files(cache) == []
    read(rows(3))
    with pytest.raises(KnownError, match=r"mine\.jsonl has 4 rows; at most 3"):
        read(rows(3), Limits(rows=3))
    shutil.rmtree(cache.parent)
    cache.parent.write_bytes(b"a file where the folder should be")
    assert len(read(rows(3))[0].table) == 3


@pytest.mark.parametrize("public", [True, False])
def test_what_strangers_open_is_not_kept_on_the_disk(
    public: bool, read: Read, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", cache)
    monkeypatch.setattr("scoring.pairs.opening.LEAST_BYTES", 0)
    settings: Any = Settings(home=tmp_path / "home", public=public)
    with HubServer({"datasets/org/one": Repo({"test.jsonl": rows(3)})}) as server:
        use_hub(server.url, tmp_path / "hub", monkeypatch)
        hub = Hub()
        library = Library(pair_sources(settings, hub), hub, settings)
        assert len(library.open("org/one")) == 3
    kept = arrow_files(cache)
    assert len(kept) == (0 if public else 1)
    (tmp_path / "sent.jsonl").write_bytes(rows(5))
    assert len(library.upload(tmp_path / "sent.jsonl", "sent.jsonl")) == 5
    assert arrow_files(cache) == kept
