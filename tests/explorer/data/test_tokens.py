"""Token counts: right, told step by step, stoppable, counted once, and kept on disk."""

import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from explorer.core import workers
from explorer.data import tokens
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.models.finding import ModelPolicy
from tests.conftest import DEMO_MODEL, workers_of
from tests.support.files import write_json
from tests.support.hub_server import Repo
from tests.support.stepping import stepwise, told_by
from tests.support.tables import row, small_table


def table_of(texts: list[str], revision: str = "0") -> PairTable:
    """Pairs with these texts as prompt."""
    pairs = small_table(*(row(prompt=text) for text in texts)).pairs
    return PairTable(replace(pairs, source=replace(pairs.source, revision=revision)))


@pytest.fixture
def fresh(demo: PairTable) -> PairTable:
    """The demo pairs, none of which was counted."""
    return PairTable(demo.pairs)


@pytest.fixture
def counter(tmp_path: Path, hub: Hub) -> TokenCounter:
    return TokenCounter(tmp_path, hub, ModelPolicy(DEMO_MODEL))


def finished(counter: TokenCounter, table: PairTable, wanted: object = "demo") -> tuple[str, bool]:
    """The tokenizer's name, and whether anything was counted."""
    name, steps = told_by(lambda tell: counter.count(table, wanted, tell=tell))
    return name, any(step.doing == "reading" for step in steps)


def check_counts(table: PairTable, name: str) -> None:
    """The counts are those of the model's own tokenizer."""
    from transformers import AutoTokenizer

    own = AutoTokenizer.from_pretrained(DEMO_MODEL)
    for column, counts in table.tokens[name].items():
        texts = table.arrow.column(column).to_pylist()
        expected = [len(ids) for ids in own(texts, add_special_tokens=False)["input_ids"]]
        assert counts.tolist() == expected


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
    check_counts(fresh, name)


def test_a_count_is_read_from_disk_by_the_next_start_and_a_broken_file_is_replaced(
    counter: TokenCounter, fresh: PairTable, tmp_path: Path, hub: Hub
) -> None:
    """This process reads no tokenizer."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("tokenizers", "transformers", "torch"):
            patch.setitem(sys.modules, module, None)  # to import it is an error
        name, _ = finished(counter, fresh)
    check_counts(fresh, name)
    [path] = (tmp_path / "tokens").iterdir()
    later, same = TokenCounter(tmp_path, hub, ModelPolicy(None)), PairTable(fresh.pairs)
    assert finished(later, same, name) == (name, False)
    check_counts(same, name)
    good, right = path.read_bytes(), np.ones(len(fresh), dtype=np.int32)
    np.savez(tmp_path / "other.npz", prompt=right, chosen=right)
    again, other = PairTable(fresh.pairs), (tmp_path / "other.npz").read_bytes()
    for broken in (good[: len(good) // 2], good[:80] + b"\0" * 60 + good[140:], other):
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
    for texts, revision in ((["a dog"], "two"), (["a doggy"], "one")):
        assert not counter.known(table_of(texts, revision), name)
    for revision in ("two", "three"):
        finished(counter, table_of(["a dog"], revision))
    assert counter.known(table_of(["a dog"], "three"), name)
    assert len([*(tmp_path / "tokens").iterdir()]) == 2


WHOLE = (DEMO_MODEL / "tokenizer.json").read_bytes()


def test_a_broken_tokenizer_or_a_hostile_one_is_one_sentence_and_can_be_mended(
    counter: TokenCounter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hostile one makes of each letter a thousand million, before all else."""
    more = {"type": "Replace", "pattern": {"Regex": "x"}, "content": "x" * 999}
    normalizers = {"type": "Sequence", "normalizers": [more] * 3}
    monkeypatch.setattr(workers, "TEXT_BYTES", 300_000_000)
    table, path = table_of(["x" * 22]), tmp_path / "own" / "tokenizer.json"
    for values, told in (
        ({"version": "1.0", "model": {}}, r"own@.{12} cannot be used: "),
        (json.loads(WHOLE) | {"normalizer": normalizers},
         r"^Counting tokens needed more than .*, and was stopped\. Choose another tokenizer\.$"),
    ):  # fmt: skip
        write_json(path, values)
        with pytest.raises(KnownError, match=told):
            finished(counter, table, str(path.parent))
    path.write_bytes(WHOLE)
    assert finished(counter, table, str(path.parent))[0] in table.tokens
    with pytest.raises(KnownError, match=r"No tokenizer was given\. Give a folder, a Hub id"):
        finished(counter, table, "  ")


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
    assert finished(counter, demo, "org/parts") == (f"org/parts@{parts.commit}", True)
    assert [path.name for path in (tmp_path / "hub").rglob("snapshots/*/*")] == ["tokenizer.json"]
    with pytest.raises(KnownError, match=r"not 0{40}\. Give org/parts"):
        finished(TokenCounter(tmp_path / "fresh", Hub(), policy), demo, f"org/parts@{'0' * 40}")
