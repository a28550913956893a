"""Which tokenizer is meant by what a person types, who may use it, and how it counts."""

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.models.finding import MOST_TOKENIZER_MEGABYTES, ModelPolicy
from scoring.models.tokenizers import encoder, find_tokenizer, tokenizer_errors
from scoring.spec import ModelSpec
from tests.conftest import DEMO_MODEL
from tests.support.hub_server import HubServer, Repo, served_hub
from tests.support.named_rows import by_sentence
from tests.support.refusals import refusal
from tests.support.small_models import CLOSED, OFFLINE, OPEN

WHOLE = (DEMO_MODEL / "tokenizer.json").read_bytes()
WORDS = "\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "##s")).encode()
BERT = json.dumps({"tokenizer_class": "BertTokenizer"}).encode()
PARTS = {"vocab.txt": WORDS, "tokenizer_config.json": BERT}
LARGE = b" " * (MOST_TOKENIZER_MEGABYTES * 1_000_000 + 1)
REPOS = {
    "models/org/whole": Repo({"model.safetensors": b"weights", "tokenizer.json": WHOLE}),
    "models/org/parts": Repo({**PARTS, "model.safetensors": b"weights", "onnx/vocab.txt": b""}),
    "models/org/none": Repo({"README.md": b"#", "config.json": b"{}"}),
    "models/org/large": Repo({"tokenizer.json": LARGE}),
    "models/org/broken": Repo({"tokenizer.json": b'{"version": "1.0"}'}),
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub whose visitor has a token, which must not be sent."""
    with served_hub(REPOS, tmp_path / "hub", monkeypatch) as hub:
        yield hub


def located(typed: str, policy: ModelPolicy = OPEN, hub: Hub = OFFLINE) -> ModelSpec:
    """A tokenizer, once its files are there."""
    found = find_tokenizer(typed, policy, hub)
    if found.listing is None:
        return found.spec
    return replace(found.spec, folder=str(hub.fetch(found.listing, [*found.sizes], token=False)))


def test_the_revision_of_a_folder_follows_its_tokenizer_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(WHOLE)
    first, bundled = located(str(tmp_path)), located("demo", CLOSED)
    assert (first.folder, bundled.folder) == (str(tmp_path), str(DEMO_MODEL))
    assert first.revision == bundled.revision
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    assert located(first.pinned) == first
    (tmp_path / "tokenizer.json").write_bytes(WHOLE + b"\n")
    assert located(str(tmp_path)).revision != first.revision


@pytest.mark.parametrize(
    ("typed", "policy", "said"),
    by_sentence(
        *(
            (typed, CLOSED, "used here: give oobabooga/llama-tokenizer or demo")
            for typed in ("/etc", "{folder}", "../x", "")
        ),
        ("demo@0123456789ab", OPEN, "at revision .{12}, not 0123456789ab"),
        ("{folder}", OPEN, "it has no tokenizer"),
        ("org/large", OPEN, r"org/large is 100\.0 MB large; at most 100 MB"),
        ("org/none", OPEN, "org/none could not be loaded: it has no tokenizer"),
    ),
)
def test_what_is_no_tokenizer_here_is_refused_before_it_is_fetched(
    typed: str, policy: ModelPolicy, said: str, folder: Path, server: HubServer
) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(KnownError, match=said):
        located(typed.format(folder=folder), policy, Hub())
    assert server.fetched == set()


@pytest.mark.parametrize(("repo", "files"), [("whole", ["tokenizer.json"]), ("parts", PARTS)])
def test_only_the_files_of_a_tokenizer_are_fetched(
    repo: str, files: Collection[str], server: HubServer
) -> None:
    assert f"org/{repo} is not on this machine" in refusal(located, f"org/{repo}")
    spec = located(f"org/{repo}", hub=Hub())
    assert server.fetched == {path.name for path in Path(spec.folder).iterdir()} == {*files}
    assert spec.pinned == f"org/{repo}@{REPOS[f'models/org/{repo}'].commit}"
    again = located(spec.pinned)
    assert (again.pinned, again.folder) == (spec.pinned, spec.folder)
    if repo == "parts":
        assert list(encoder(again)(["a dog", "dogs", "", "a cat"])) == [2, 2, 0, 2]


class PanicException(BaseException):
    """As compiled code calls its own faults."""


def test_a_tokenizer_that_fails_is_told_in_one_sentence_and_an_interruption_goes_through(
    server: HubServer, tmp_path: Path
) -> None:
    told = r"The tokenizer org/broken cannot be used: ."
    with pytest.raises(KnownError, match=told), tokenizer_errors("org/broken"):
        encoder(located("org/broken", hub=Hub()))
    with pytest.raises(KnownError, match=told), tokenizer_errors("org/broken"):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), tokenizer_errors("org/broken"):
        raise KeyboardInterrupt
    (tmp_path / "tokenizer.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02")
    said = r"has no tokenizer\.json, and what it has .* Give a copy of it with a tokenizer\.json"
    with pytest.raises(KnownError, match=said):
        list(encoder(located(str(tmp_path)))(["a"]))
