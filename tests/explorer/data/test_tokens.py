"""Token counts: right, told step by step, stoppable, counted once, and kept on disk."""

import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core import workers
from explorer.core.settings import DEMO_PAIRS
from explorer.core.workers import run_in_new_worker
from explorer.data import tokens
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.models.finding import ModelPolicy
from scoring.pairs.opening import read_pairs
from scoring.tasks import count_tokens
from tests.conftest import DEMO_MODEL, workers_of
from tests.support.hub_server import Repo
from tests.support.stepping import stepwise, told_by
from tests.support.tables import row, small_table

COLUMNS = ("prompt", "chosen", "rejected")


def table_of(texts: list[str], revision: str = "0") -> PairTable:
    """Pairs with these texts as prompt."""
    pairs = small_table(*(row(prompt=text) for text in texts)).pairs
    return PairTable(replace(pairs, source=replace(pairs.source, revision=revision)))


@pytest.fixture
def fresh() -> PairTable:
    """The demo pairs, none of which was counted."""
    return PairTable(read_pairs(DEMO_PAIRS, kind="demo"))


@pytest.fixture
def counter(tmp_path: Path, hub: Hub) -> TokenCounter:
    return TokenCounter(tmp_path, hub, ModelPolicy(DEMO_MODEL))


def finished(counter: TokenCounter, table: PairTable, wanted: object = "demo") -> tuple[str, bool]:
    """The tokenizer's name, and whether anything was counted."""
    name, steps = told_by(lambda tell: counter.count(table, wanted, tell=tell))
    return name, any(step.doing == "reading" for step in steps)


def stored(folder: Path) -> list[Path]:
    return sorted((folder / "tokens").iterdir())


def test_counts_are_those_of_the_models_own_tokenizer_which_this_process_does_not_read(
    counter: TokenCounter, fresh: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoTokenizer

    own = AutoTokenizer.from_pretrained(DEMO_MODEL)
    with monkeypatch.context() as patch:
        for module in ("tokenizers", "transformers", "torch"):
            patch.setitem(sys.modules, module, None)  # to import it is an error
        name, _ = finished(counter, fresh)
    for column in COLUMNS:
        texts = fresh.arrow.column(column).to_pylist()
        expected = [len(ids) for ids in own(texts, add_special_tokens=False)["input_ids"]]
        assert fresh.lengths(column, "tokens", name).tolist() == expected  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="it looks at /proc")
def test_a_stopped_count_leaves_nothing_and_goes_on_where_it_was(
    counter: TokenCounter, fresh: PairTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_BATCH_ROWS", 10)
    counting = stepwise(partial(counter.count, fresh, "demo"))
    before = workers_of(os.getpid())
    while next(counting).done < 20:
        pass
    counting.close()
    assert workers_of(os.getpid()) <= before
    assert fresh.tokens == {} and not (tmp_path / "tokens").exists()
    name, steps = told_by(lambda tell: counter.count(fresh, "demo", tell=tell))
    assert next(step.done for step in steps if step.doing == "reading") >= 20
    whole = PairTable(fresh.pairs)
    finished(TokenCounter(tmp_path / "other", Hub(True), ModelPolicy(DEMO_MODEL)), whole)
    for column in COLUMNS:
        assert np.array_equal(fresh.tokens[name][column], whole.tokens[name][column])


def test_those_who_ask_at_once_share_the_work(
    counter: TokenCounter, fresh: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []

    def noting(task: Any, *given: Any, **how: Any) -> Any:
        begun.append(task)
        return run_in_new_worker(task, *given, **how)

    monkeypatch.setattr(tokens, "run_in_new_worker", noting)
    with ThreadPoolExecutor(3) as pool:
        found = [*pool.map(lambda _: finished(counter, fresh)[0], range(3))]
    assert len(found) == 3 and len({*found}) == 1
    assert begun.count(count_tokens) == 1


def test_a_count_is_read_from_disk_by_the_next_start_and_a_broken_file_is_replaced(
    counter: TokenCounter, fresh: PairTable, tmp_path: Path, hub: Hub
) -> None:
    name, _ = finished(counter, fresh)
    [path] = stored(tmp_path)
    later, same = TokenCounter(tmp_path, hub, ModelPolicy(None)), PairTable(fresh.pairs)
    assert finished(later, same, name) == (name, False)
    for column in COLUMNS:
        assert np.array_equal(same.tokens[name][column], fresh.tokens[name][column])
    good, right = path.read_bytes(), np.ones(len(fresh), dtype=np.int32)
    np.savez(tmp_path / "other.npz", prompt=right, chosen=right)
    again, other = PairTable(fresh.pairs), (tmp_path / "other.npz").read_bytes()
    for broken in (b"", good[: len(good) // 2], good[:80] + b"\0" * 60 + good[140:], other):
        path.write_bytes(broken)
        assert not counter.known(again, name) and again.tokens == {}
    assert finished(counter, again) == (name, True)
    assert counter.known(PairTable(fresh.pairs), name)


def test_other_pairs_of_the_same_name_are_counted_anew_and_the_newest_counts_kept(
    counter: TokenCounter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_KEPT_ON_DISK", 2)
    name, _ = finished(counter, table_of(["a dog"], "one"))
    assert counter.known(table_of(["a dog"], "one"), name)
    for texts, revision in ((["a dog"], "two"), (["a dog", "b"], "one"), (["a doggy"], "one")):
        assert not counter.known(table_of(texts, revision), name)
    for revision in ("two", "three"):
        finished(counter, table_of(["a dog"], revision))
    assert len(stored(tmp_path)) == 2 and counter.known(table_of(["a dog"], "three"), name)


def test_no_tokenizer_at_all_is_refused(counter: TokenCounter, fresh: PairTable) -> None:
    for wanted in (None, "  ", ["demo"]):
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
    assert finished(counter, fresh, str(folder))[0] in fresh.tokens


# A stranger's tokenizer


WHOLE = (DEMO_MODEL / "tokenizer.json").read_bytes()


def test_a_hostile_tokenizer_is_one_sentence_and_the_next_count_works(
    hub_repos: dict[str, Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes of each letter a thousand million, before all else."""
    more = {"type": "Replace", "pattern": {"Regex": "x"}, "content": "x" * 999}
    normalizers = {"type": "Sequence", "normalizers": [more] * 3}
    written = json.dumps(json.loads(WHOLE) | {"normalizer": normalizers}).encode()
    hub_repos["models/org/hostile"] = Repo({"tokenizer.json": written})
    monkeypatch.setattr(workers, "TEXT_BYTES", 300_000_000)
    counter = TokenCounter(tmp_path, Hub(), ModelPolicy(DEMO_MODEL))
    table = table_of(["x" * 22])
    told = r"^Counting tokens needed more than .*, and was stopped\. Choose another tokenizer\.$"
    with pytest.raises(KnownError, match=told):
        finished(counter, table, "org/hostile")
    assert finished(counter, table)[0] in table.tokens


def test_strangers_count_with_listed_tokenizers_only_of_which_nothing_else_is_fetched(
    hub_repos: dict[str, Repo], tmp_path: Path, demo: PairTable
) -> None:
    parts = Repo({"tokenizer.json": WHOLE, "model.safetensors": b"weights"})
    hub_repos |= {"models/org/whole": Repo({}), "models/org/parts": parts}
    policy = ModelPolicy(DEMO_MODEL, local_folders=False, models=frozenset({"org/parts"}))
    counter = TokenCounter(tmp_path, Hub(), policy)
    for typed in ("org/whole", "org/parts@main", "org/parts@refs/pr/1"):
        with pytest.raises(KnownError, match=r"give oobabooga/llama-tokenizer, org/parts or demo"):
            finished(counter, demo, typed)
    assert finished(counter, demo, "org/parts") == (name := f"org/parts@{parts.commit}", True)
    assert [path.name for path in (tmp_path / "hub").rglob("snapshots/*/*")] == ["tokenizer.json"]
    fresh = TokenCounter(tmp_path / "fresh", Hub(), policy)
    assert finished(fresh, demo, name)[0] == name
    with pytest.raises(KnownError, match=r"not 0{40}\. Give org/parts"):
        finished(fresh, demo, f"org/parts@{'0' * 40}")
