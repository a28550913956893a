"""Token counts: right, told step by step, stoppable, counted once, and kept on disk."""

import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from explorer.core import workers
from explorer.core.settings import DEMO_PAIRS
from explorer.core.workers import run_in_new_worker
from explorer.data import tokens
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import Step
from scoring.models.finding import ModelPolicy
from scoring.pairs.opening import SCHEMA, Pairs, PairSource, read_pairs
from scoring.tasks import count_tokens
from tests.conftest import DEMO_MODEL, ROOT, workers_of
from tests.explorer.conftest import Serve
from tests.support.hub_server import Repo
from tests.support.stepping import stepwise, told_by

COLUMNS = ("prompt", "chosen", "rejected")


def table_of(texts: list[str], revision: str = "0") -> PairTable:
    """Pairs with these texts as prompt, and others as responses."""
    numbers = [str(row) for row in range(len(texts))]
    columns: dict[str, list[Any]] = {
        field.name: numbers if field.type == pa.large_string() else [[] for _ in texts]
        for field in SCHEMA
    }
    columns["prompt"] = texts
    table = pa.table(columns, schema=SCHEMA)
    return PairTable(Pairs(PairSource("file", "made up", None, revision), table))


@pytest.fixture
def fresh() -> PairTable:
    """The demo pairs, none of which was counted."""
    return PairTable(read_pairs(DEMO_PAIRS, kind="demo"))


@pytest.fixture
def counter(tmp_path: Path, hub: Hub) -> TokenCounter:
    return TokenCounter(tmp_path, hub, ModelPolicy(DEMO_MODEL))


@dataclass
class Counted:
    """steps: of the count, each once; while it waits the last one is told again."""

    name: str
    steps: list[Step]


def finished(counter: TokenCounter, table: PairTable, wanted: object = "demo") -> Counted:
    name, steps = told_by(lambda tell: counter.count(table, wanted, tell=tell))
    return Counted(name, [step for step in dict.fromkeys(steps) if step.doing == "reading"])


def small_batches(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(tokens, "_BATCH_ROWS", rows)


def stored(folder: Path) -> list[Path]:
    return sorted((folder / "tokens").iterdir())


def test_counts_are_those_of_the_models_own_tokenizer(
    counter: TokenCounter, fresh: PairTable
) -> None:
    from transformers import AutoTokenizer

    own = AutoTokenizer.from_pretrained(DEMO_MODEL)
    name = finished(counter, fresh).name
    for column in COLUMNS:
        texts = fresh.arrow.column(column).to_pylist()
        expected = [len(ids) for ids in own(texts, add_special_tokens=False)["input_ids"]]
        assert fresh.lengths(column, "tokens", name).tolist() == expected  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="it looks at /proc")
def test_a_stopped_count_leaves_nothing_and_goes_on_where_it_was(
    counter: TokenCounter, fresh: PairTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_batches(monkeypatch, 10)
    counting = stepwise(partial(counter.count, fresh, "demo"))
    before = workers_of(os.getpid())
    while next(counting).done < 20:
        pass
    counting.close()
    assert workers_of(os.getpid()) <= before
    assert fresh.tokens == {}
    assert not (tmp_path / "tokens").exists()
    again = finished(counter, fresh)
    assert again.steps[0].done >= 20
    whole = PairTable(fresh.pairs)
    finished(TokenCounter(tmp_path / "other", Hub(True), ModelPolicy(DEMO_MODEL)), whole)
    for column in COLUMNS:
        assert np.array_equal(fresh.tokens[again.name][column], whole.tokens[again.name][column])


def test_those_who_ask_at_once_share_the_work(
    counter: TokenCounter, fresh: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []

    def noting(task: Any, *given: Any, **how: Any) -> Any:
        begun.append(task)
        return run_in_new_worker(task, *given, **how)

    monkeypatch.setattr(tokens, "run_in_new_worker", noting)
    found: list[Counted] = []
    threads = [
        threading.Thread(target=lambda: found.append(finished(counter, fresh))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len({each.name for each in found}) == 1
    assert begun.count(count_tokens) == 1


def test_a_count_is_read_from_disk_by_the_next_start(
    counter: TokenCounter, fresh: PairTable, tmp_path: Path, hub: Hub
) -> None:
    name = finished(counter, fresh).name
    assert [path.suffix for path in stored(tmp_path)] == [".npz"]
    later, same = TokenCounter(tmp_path, hub, ModelPolicy(None)), PairTable(fresh.pairs)
    assert later.known(same, name)
    for column in COLUMNS:
        assert np.array_equal(same.tokens[name][column], fresh.tokens[name][column])
    assert finished(later, PairTable(fresh.pairs), name).steps == []


def broken_files(good: bytes, rows: int, folder: Path) -> dict[str, bytes]:
    other, right = folder / "made.npz", np.ones(rows, dtype=np.int32)
    np.savez(other, prompt=right, chosen=right)
    return {
        "empty": b"",
        "cut": good[: len(good) // 2],
        "spoilt": good[:80] + b"\0" * 60 + good[140:],
        "no zip": b"PK\3\4 and nothing",
        "another array": other.read_bytes(),
    }


@pytest.mark.parametrize("how", ["empty", "cut", "spoilt", "no zip", "another array"])
def test_a_broken_file_is_ignored_and_replaced(
    how: str, counter: TokenCounter, fresh: PairTable, tmp_path: Path
) -> None:
    name = finished(counter, fresh).name
    (path,) = stored(tmp_path)
    path.write_bytes(broken_files(path.read_bytes(), len(fresh), tmp_path)[how])
    again = PairTable(fresh.pairs)
    assert not counter.known(again, name)
    assert again.tokens == {}
    assert finished(counter, again, "demo").steps != []
    assert counter.known(PairTable(fresh.pairs), name)


def test_other_pairs_of_the_same_name_are_counted_anew(counter: TokenCounter) -> None:
    name = finished(counter, table_of(["a dog"], "one")).name
    assert counter.known(table_of(["a dog"], "one"), name)
    assert not counter.known(table_of(["a dog"], "two"), name)
    assert not counter.known(table_of(["a dog", "b"], "one"), name)
    assert not counter.known(table_of(["a doggy"], "one"), name)


def test_only_the_newest_counts_are_kept(
    counter: TokenCounter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_KEPT_ON_DISK", 2)
    names = [finished(counter, table_of(["a dog"], revision)).name for revision in "abc"]
    assert len(stored(tmp_path)) == 2
    assert counter.known(table_of(["a dog"], "c"), names[-1])


@pytest.mark.parametrize("wanted", [None, "", "  ", 7, ["demo"], {"a": 1}, True])
def test_no_tokenizer_at_all_is_refused(
    wanted: object, counter: TokenCounter, fresh: PairTable
) -> None:
    with pytest.raises(KnownError, match=r"No tokenizer was given\. Give a folder, a Hub id"):
        finished(counter, fresh, wanted)


def test_a_broken_tokenizer_is_told_and_can_be_mended(
    counter: TokenCounter, fresh: PairTable, tmp_path: Path
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0", "model": {}}))
    with pytest.raises(KnownError, match=r"own@.{12} cannot be used: "):
        finished(counter, fresh, str(folder))
    shutil.copy(DEMO_MODEL / "tokenizer.json", folder)
    assert finished(counter, fresh, str(folder)).name in fresh.tokens


# A stranger's tokenizer


def replacing(pattern: str, content: str, times: int = 1) -> bytes:
    """A tokenizer that does so before all else."""
    normalizer = {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
    normalizers = {"type": "Sequence", "normalizers": [normalizer] * times}
    return json.dumps(json.loads(WHOLE) | {"normalizer": normalizers}).encode()


WHOLE = (DEMO_MODEL / "tokenizer.json").read_bytes()
HOSTILE = {
    "endless": (replacing("(x+x+)+y", ""), 5.0, r"took longer than the 7 s"),
    "grows": (replacing("x", "x" * 999, times=3), 300.0, r"needed more than the 2 GB"),
}


@pytest.mark.parametrize("name", [pytest.param("endless", marks=pytest.mark.slow), "grows"])
def test_a_hostile_tokenizer_is_one_sentence_and_the_next_count_works(
    name: str,
    hub_repos: dict[str, Repo],
    tmp_path: Path,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, seconds, limit = HOSTILE[name]
    hub_repos["models/org/hostile"] = Repo({"tokenizer.json": written})
    monkeypatch.setattr(workers, "TEXT_SECONDS", seconds)
    counter, page, answered = TokenCounter(tmp_path, Hub(), ModelPolicy(DEMO_MODEL)), serve(), 0
    table = table_of([("x" * 22 + " ") * 8_700])
    told = rf"^Counting tokens {limit} .*, and was stopped\. Choose another tokenizer\.$"
    with pytest.raises(KnownError, match=told):
        for _ in stepwise(partial(counter.count, table, "org/hostile")):
            with page.open("app_id") as answer:
                answered += answer.status == 200
    assert answered
    assert finished(counter, table).name in table.tokens


@pytest.mark.parametrize("typed", ["org/whole", "org/parts@main", "org/parts@refs/pr/1"])
def test_strangers_count_with_listed_tokenizers_only(
    typed: str, hub_repos: dict[str, Repo], tmp_path: Path, demo: PairTable
) -> None:
    hub_repos |= {"models/org/whole": Repo({}), "models/org/parts": Repo({"tokenizer.json": WHOLE})}
    policy = ModelPolicy(DEMO_MODEL, local_folders=False, models=frozenset({"org/parts"}))
    counter = TokenCounter(tmp_path, Hub(), policy)
    with pytest.raises(KnownError, match=r"give oobabooga/llama-tokenizer, org/parts or demo\."):
        told_by(lambda tell: counter.count(demo, typed, tell=tell))
    name, _ = told_by(lambda tell: counter.count(demo, "org/parts", tell=tell))
    assert counter.known(demo, name)
    fresh = TokenCounter(tmp_path / "fresh", Hub(), policy)
    assert told_by(lambda tell: fresh.count(demo, name, tell=tell))[0] == name
    with pytest.raises(KnownError, match=r"not 0{40}\. Give org/parts"):
        told_by(lambda tell: fresh.count(demo, f"org/parts@{'0' * 40}", tell=tell))


def test_a_tokenizer_of_the_hub_is_fetched_once(
    hub_repos: dict[str, Repo], tmp_path: Path, fresh: PairTable
) -> None:
    hub_repos["models/org/whole"] = Repo({"tokenizer.json": WHOLE, "model.safetensors": b"weights"})
    counter = TokenCounter(tmp_path, Hub(), ModelPolicy(DEMO_MODEL))
    name, steps = told_by(lambda tell: counter.count(fresh, "org/whole", tell=tell))
    assert {step.doing for step in steps} == {"asking", "fetching", "reading"}
    assert name == f"org/whole@{hub_repos['models/org/whole'].commit}"
    assert [path.name for path in (tmp_path / "hub").rglob("snapshots/*/*")] == ["tokenizer.json"]
    del fresh.tokens[name]
    shutil.rmtree(tmp_path / "tokens")
    _, steps = told_by(lambda tell: counter.count(fresh, "org/whole", tell=tell))
    assert "fetching" not in {step.doing for step in steps}


def test_this_process_reads_no_tokenizer(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from explorer.core.settings import Settings
from explorer.stores import open_stores

stores = open_stores(Settings(home=Path({str(tmp_path)!r}), pairs="demo", offline=True))
print(stores.counter.count(stores.pairs.get(None), "demo"))
print(sorted({{"tokenizers", "torch", "transformers"}} & sys.modules.keys()))
"""
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    name, loaded = ran.stdout.splitlines()
    assert name.startswith("demo@") and loaded == "[]"
