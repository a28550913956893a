"""Token counts: right, told step by step, stoppable, counted once, and kept on disk."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.settings import DEMO_PAIRS
from explorer.data import tokens
from explorer.data.table import PairTable
from explorer.data.tokens import (
    MOST_CHARS,
    MOST_MEGABYTES,
    SUGGESTED,
    Encode,
    LocatedTokenizer,
    TokenCounter,
    cut_texts,
    encoder,
    locate_tokenizer,
    refusing,
)
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import Step
from scoring.models.finding import ModelPolicy
from scoring.pairs.opening import SCHEMA, Pairs, PairSource, read_pairs
from tests.conftest import DEMO_MODEL
from tests.explorer.stepping import gone_through
from tests.hub_server import HubServer, Repo, served_hub

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
    name: str
    steps: list[Step]


def finished(counter: TokenCounter, table: PairTable, wanted: object = "demo") -> Counted:
    return Counted(*gone_through(counter.count(table, wanted)))


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


def test_the_name_carries_the_revision_and_stands_for_the_count(
    counter: TokenCounter, fresh: PairTable
) -> None:
    assert not counter.known(fresh, "demo")
    name = finished(counter, fresh).name
    assert len(name) == len("demo@") + 12
    assert list(fresh.tokens) == [name]
    assert counter.known(fresh, name)
    assert not counter.known(fresh, "demo")
    assert finished(counter, fresh, name) == Counted(name, [])


def test_each_batch_is_told(
    counter: TokenCounter, fresh: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_batches(monkeypatch, 20)
    total = len(fresh)
    done = [0, *range(20, total, 20), total]
    assert finished(counter, fresh).steps == [Step("reading", at, total) for at in done]


def test_a_stopped_count_leaves_nothing_and_goes_on_where_it_was(
    counter: TokenCounter, fresh: PairTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_batches(monkeypatch, 10)
    counting = counter.count(fresh, "demo")
    assert [next(counting).done for _ in range(3)] == [0, 10, 20]
    counting.close()
    assert fresh.tokens == {}
    assert not (tmp_path / "tokens").exists()
    again = finished(counter, fresh)
    assert again.steps[0] == Step("reading", 20, len(fresh))
    whole = PairTable(fresh.pairs)
    finished(TokenCounter(tmp_path / "other", Hub(True), ModelPolicy(DEMO_MODEL)), whole)
    for column in COLUMNS:
        assert np.array_equal(fresh.tokens[again.name][column], whole.tokens[again.name][column])


def test_who_left_without_closing_blocks_nobody(
    counter: TokenCounter, fresh: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_batches(monkeypatch, 10)
    left = counter.count(fresh, "demo")
    next(left), next(left)
    assert finished(counter, fresh).name in fresh.tokens
    assert list(left) == []


def test_those_who_ask_at_once_share_the_work(
    counter: TokenCounter, fresh: PairTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_batches(monkeypatch, 5)
    encoded: list[str] = []
    counting = threading.Lock()

    def noting(located: LocatedTokenizer) -> Encode:
        encode = encoder(located)

        def noted(texts: list[str]) -> list[int]:
            assert counting.acquire(blocking=False), "two batches at once"
            time.sleep(0.001)
            encoded.extend(texts)
            counting.release()
            return list(encode(texts))

        return noted

    monkeypatch.setattr(tokens, "encoder", noting)
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
    assert len(encoded) == 3 * len(fresh)


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
    def written(**arrays: np.ndarray) -> bytes:
        path = folder / "made.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return path.read_bytes()

    right = np.ones(rows, dtype=np.int32)
    return {
        "empty": b"",
        "cut": good[: len(good) // 2],
        "spoilt": good[:80] + b"\0" * 60 + good[140:],
        "no zip": b"PK\3\4 and nothing",
        "another array": written(prompt=right, chosen=right),
        "too short": written(prompt=right, chosen=right, rejected=right[1:]),
        "too long": written(prompt=right, chosen=right, rejected=np.ones(rows + 1, np.int32)),
        "floats": written(prompt=right, chosen=right, rejected=right.astype(float)),
        "negative": written(prompt=right, chosen=right, rejected=-right),
        "objects": written(prompt=right, chosen=right, rejected=right.astype(object)),
    }


BROKEN = ["empty", "cut", "spoilt", "no zip", "another array", "too short", "too long"]


@pytest.mark.parametrize("how", [*BROKEN, "floats", "negative", "objects"])
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


def test_a_disk_that_takes_nothing_costs_only_the_memory_of_it(
    fresh: PairTable, tmp_path: Path, hub: Hub
) -> None:
    (tmp_path / "tokens").write_text("a file where the folder should be")
    counter = TokenCounter(tmp_path, hub, ModelPolicy(DEMO_MODEL))
    assert finished(counter, fresh).name in fresh.tokens


def test_only_the_newest_counts_are_kept(
    counter: TokenCounter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_KEPT_ON_DISK", 2)
    names = [finished(counter, table_of(["a dog"], revision)).name for revision in "abc"]
    assert len(stored(tmp_path)) == 2
    assert counter.known(table_of(["a dog"], "c"), names[-1])


def test_a_table_remembers_so_many_tokenizers(
    counter: TokenCounter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.data.table.KEPT_TOKENIZERS", 2)
    table, names = table_of(["a dog"]), []
    for number in range(3):
        folder = tmp_path / f"tokenizer-{number}"
        shutil.copytree(DEMO_MODEL, folder, ignore=shutil.ignore_patterns("*.safetensors"))
        names.append(finished(counter, table, str(folder)).name)
    assert list(table.tokens) == names[1:]
    assert counter.known(table, names[0])
    assert list(table.tokens) == [names[2], names[0]]


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "a dog " * 170_000, " " * 1_000_000, "\0é\n" * 333_334]
)
def test_a_million_characters_are_cut(text: str, counter: TokenCounter) -> None:
    table = table_of([text, text[:MOST_CHARS], "a dog"])
    name = finished(counter, table).name
    cut, same, _ = table.tokens[name]["prompt"].tolist()
    assert 0 < cut == same


def test_how_many_texts_are_cut_is_known() -> None:
    long = "a" * (MOST_CHARS + 1)
    assert cut_texts(table_of([long[1:], "a dog"])) == 0
    assert cut_texts(table_of([long, "a dog", long + long])) == 2


def test_odd_texts_are_counted(counter: TokenCounter) -> None:
    table = table_of(["", "<|endoftext|>", "\ud7ff🙂", "a\r\nb"])
    name = finished(counter, table).name
    assert table.tokens[name]["prompt"][0] == 0
    assert (table.tokens[name]["prompt"][1:] > 0).all()


@pytest.mark.parametrize("wanted", [None, "", "  ", 7, ["demo"], {"a": 1}, True])
def test_no_tokenizer_at_all_is_refused(
    wanted: object, counter: TokenCounter, fresh: PairTable
) -> None:
    with pytest.raises(KnownError, match=r"No tokenizer was given\. Give a folder, a Hub id"):
        finished(counter, fresh, wanted)


@pytest.mark.parametrize(
    "name", [None, 7, "", ["demo"], "../../x", "demo\0", "\ud800", "x" * 10_000]
)
def test_anything_may_be_asked_about(name: object, counter: TokenCounter, fresh: PairTable) -> None:
    assert counter.known(fresh, name) is False


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


def test_without_a_network_the_bundled_tokenizer_is_suggested(tmp_path: Path, hub: Hub) -> None:
    assert TokenCounter(tmp_path, hub, ModelPolicy(DEMO_MODEL)).suggested() == "demo"
    assert TokenCounter(tmp_path, Hub(), ModelPolicy(DEMO_MODEL)).suggested() == SUGGESTED
    assert TokenCounter(tmp_path, hub, ModelPolicy(None)).suggested() == SUGGESTED


def test_real_pairs_have_a_known_number_of_tokens(counter: TokenCounter, real: PairTable) -> None:
    """Some three or four characters a token, and never more tokens than bytes."""
    name = finished(counter, real).name
    for column in COLUMNS:
        counts = real.tokens[name][column]
        texts: list[Any] = real.arrow.column(column).to_pylist()
        assert (counts <= [len(text.encode()) for text in texts]).all()
        assert 2.5 < real.chars[column].sum() / counts.sum() < 5


# Which tokenizer counts, and what a stranger's may not do


OWN = ModelPolicy(DEMO_MODEL)
PUBLIC = ModelPolicy(DEMO_MODEL, local_folders=False)
WHOLE = (DEMO_MODEL / "tokenizer.json").read_bytes()
WORDS = "\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "##s")).encode()
BERT = json.dumps({"tokenizer_class": "BertTokenizer"}).encode()
REPOS = {
    "models/org/whole": Repo(
        {"README.md": b"#", "model.safetensors": b"weights", "tokenizer.json": WHOLE}
    ),
    "models/org/parts": Repo(
        {
            "vocab.txt": WORDS,
            "tokenizer_config.json": BERT,
            "model.safetensors": b"weights",
            "onnx/vocab.txt": b"",
        }
    ),
    "models/org/none": Repo({"README.md": b"#", "config.json": b"{}"}),
    "models/org/large": Repo({"tokenizer.json": b" " * (MOST_MEGABYTES * 1_000_000 + 1)}),
    "models/org/broken": Repo({"tokenizer.json": b'{"version": "1.0"}'}),
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub whose visitor has a token, which must not be sent."""
    with served_hub(REPOS, tmp_path / "hub", monkeypatch) as hub:
        yield hub


@pytest.fixture
def fetched(server: HubServer) -> Callable[[], set[str]]:
    """The names of the files that were fetched from the Hub."""
    return lambda: {
        request.path.rpartition("/")[2]
        for request in server.requests
        if request.method == "GET" and "/resolve/" in request.path
    }


def located(typed: str, policy: ModelPolicy, hub: Hub) -> tuple[str, Path, list[Step]]:
    """Name, folder and steps told."""
    found, steps = gone_through(locate_tokenizer(typed, policy, hub))
    return found.name, found.folder, steps


def demo_name(hub: Hub) -> str:
    return located("demo", OWN, hub)[0]


def test_the_bundled_one_needs_no_network(hub: Hub) -> None:
    name, folder, steps = located("demo", PUBLIC, hub)
    assert name.partition("@")[0] == "demo"
    assert (folder, steps) == (DEMO_MODEL, [])
    assert located(name, PUBLIC, hub)[0] == name


def test_a_revision_that_is_not_here_is_refused(hub: Hub) -> None:
    with pytest.raises(KnownError, match=r"at revision .{12}, not 0123456789ab"):
        located("demo@0123456789ab", OWN, hub)


def test_the_revision_of_a_folder_follows_its_tokenizer_and_nothing_else(
    tmp_path: Path, hub: Hub
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(WHOLE)
    first, folder, _ = located(str(tmp_path), OWN, hub)
    assert folder == tmp_path
    assert first.rpartition("@")[2] == demo_name(hub).rpartition("@")[2]
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    assert located(first, OWN, hub)[0] == first
    (tmp_path / "tokenizer.json").write_bytes(WHOLE + b"\n")
    assert located(str(tmp_path), OWN, hub)[0] != first


@pytest.mark.parametrize("typed", ["/etc", "{folder}", "~", "../x", "x" * 300, "org/name:test", ""])
def test_strangers_get_no_folder(typed: str, tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "tokenizer.json").write_bytes(WHOLE)
    with pytest.raises(KnownError, match=r"used here: give oobabooga/llama-tokenizer or demo"):
        located(typed.format(folder=tmp_path), PUBLIC, hub)


@pytest.mark.parametrize("typed", ["org/whole", "org/parts@main", "org/parts@refs/pr/1"])
def test_strangers_count_with_listed_tokenizers_only(
    typed: str, server: HubServer, tmp_path: Path, demo: PairTable
) -> None:
    policy = replace(PUBLIC, models=frozenset({"org/parts"}))
    counter = TokenCounter(tmp_path, Hub(), policy)
    with pytest.raises(KnownError, match=r"give oobabooga/llama-tokenizer, org/parts or demo\."):
        gone_through(counter.count(demo, typed))
    assert server.requests == []
    name, _ = gone_through(counter.count(demo, "org/parts"))
    assert counter.known(demo, name)
    fresh = TokenCounter(tmp_path / "fresh", Hub(), policy)
    assert gone_through(fresh.count(demo, name))[0] == name
    with pytest.raises(KnownError, match="not a tokenizer that can be used here"):
        gone_through(fresh.count(demo, f"org/parts@{'0' * 40}"))


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(KnownError, match=r"has no tokenizer: neither tokenizer\.json"):
        located(str(tmp_path), OWN, hub)


def test_what_is_not_in_the_cache_cannot_be_had_without_a_network(hub: Hub) -> None:
    with pytest.raises(KnownError, match="org/name is not on this machine"):
        located("org/name", OWN, hub)


@pytest.mark.parametrize(
    ("repo", "files"),
    [
        ("org/whole", {"tokenizer.json"}),
        ("org/parts", {"vocab.txt", "tokenizer_config.json"}),
    ],
)
def test_only_the_files_of_a_tokenizer_are_fetched(
    repo: str, files: set[str], fetched: Callable[[], set[str]]
) -> None:
    name, folder, steps = located(repo, OWN, Hub())
    assert fetched() == {path.name for path in folder.iterdir()} == files
    assert name == f"{repo}@{REPOS[f'models/{repo}'].commit}"
    assert [step.doing for step in steps] == ["asking", "fetching"]
    assert located(name, OWN, Hub(offline=True))[:2] == (name, folder)


def test_a_large_tokenizer_is_not_fetched(fetched: Callable[[], set[str]]) -> None:
    with pytest.raises(KnownError, match="org/large is 50 MB large; at most 50 MB"):
        located("org/large", OWN, Hub())
    assert fetched() == set()


def test_a_repository_without_a_tokenizer_is_refused(fetched: Callable[[], set[str]]) -> None:
    with pytest.raises(KnownError, match="org/none has no tokenizer"):
        located("org/none", OWN, Hub())
    assert fetched() == set()


def counted(typed: str, texts: list[str]) -> list[int]:
    found, _ = gone_through(locate_tokenizer(typed, OWN, Hub()))
    return list(encoder(found)(texts))


def test_a_vocabulary_will_do_where_there_is_no_whole_tokenizer(server: HubServer) -> None:
    assert counted("org/parts", ["a dog", "dogs", "", "a cat"]) == [2, 2, 0, 2]


def test_a_broken_tokenizer_is_told_in_one_sentence(server: HubServer) -> None:
    told = pytest.raises(KnownError, match=r"The tokenizer org/broken cannot be used: .")
    with told, refusing("org/broken"):
        counted("org/broken", ["a"])


def test_a_tokenizer_that_cuts_pads_and_adds_counts_all_the_same(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, processors

    tokenizer = Tokenizer.from_str(WHOLE.decode())
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A $A", pair="$A $B", special_tokens=[]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert counted(str(tmp_path), ["a b c d e f g", "a"]) == [7, 1]


class PanicException(BaseException):
    """As compiled code calls its own faults."""


def test_a_fault_of_compiled_code_is_told_and_an_interruption_goes_through() -> None:
    told = pytest.raises(KnownError, match="org/name cannot be used: index out of bounds")
    with told, refusing("org/name"):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), refusing("org/name"):
        raise KeyboardInterrupt
