"""Which tokenizer is meant by what a person types, who may use it, and how it counts."""

import json
from collections.abc import Callable, Collection, Iterator
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
from tests.support.small_models import OFFLINE

OWN = ModelPolicy(DEMO_MODEL)
PUBLIC = ModelPolicy(DEMO_MODEL, local_folders=False)
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


@pytest.fixture
def fetched(server: HubServer) -> Callable[[], set[str]]:
    """The names of the files that were fetched from the Hub."""
    return lambda: {
        each.path.rpartition("/")[2] for each in server.requests if "/resolve/" in each.path
    }


def located(typed: str, policy: ModelPolicy, hub: Hub) -> tuple[str, Path]:
    """Name and folder, once its files are there."""
    spec = fetched_tokenizer(typed, policy, hub)
    return spec.pinned, Path(spec.folder)


def fetched_tokenizer(typed: str, policy: ModelPolicy, hub: Hub) -> ModelSpec:
    found = find_tokenizer(typed, policy, hub)
    if found.listing is None:
        return found.spec
    return replace(found.spec, folder=str(hub.fetch(found.listing, [*found.sizes], token=False)))


def test_the_revision_of_a_folder_follows_its_tokenizer_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(WHOLE)
    first, folder = located(str(tmp_path), OWN, OFFLINE)
    assert folder == tmp_path
    bundled, folder = located("demo", PUBLIC, OFFLINE)
    assert (first.rpartition("@")[2], folder) == (bundled.rpartition("@")[2], DEMO_MODEL)
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    assert located(first, OWN, OFFLINE)[0] == first
    (tmp_path / "tokenizer.json").write_bytes(WHOLE + b"\n")
    assert located(str(tmp_path), OWN, OFFLINE)[0] != first


@pytest.mark.parametrize(
    ("typed", "policy", "said"),
    by_sentence(
        *(
            (typed, PUBLIC, "used here: give oobabooga/llama-tokenizer or demo")
            for typed in ("/etc", "{folder}", "../x", "")
        ),
        ("demo@0123456789ab", OWN, "at revision .{12}, not 0123456789ab"),
        ("{folder}", OWN, "it has no tokenizer"),
        ("org/large", OWN, r"org/large is 100\.0 MB large; at most 100 MB"),
        ("org/none", OWN, "org/none could not be loaded: it has no tokenizer"),
    ),
)
def test_what_is_no_tokenizer_here_is_refused_before_it_is_fetched(
    typed: str, policy: ModelPolicy, said: str, tmp_path: Path, fetched: Callable[[], set[str]]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    with pytest.raises(KnownError, match=said):
        located(typed.format(folder=tmp_path / "mine"), policy, Hub())
    assert fetched() == set()


@pytest.mark.parametrize(("repo", "files"), [("whole", ["tokenizer.json"]), ("parts", PARTS)])
def test_only_the_files_of_a_tokenizer_are_fetched(
    repo: str, files: Collection[str], fetched: Callable[[], set[str]]
) -> None:
    with pytest.raises(KnownError, match=f"org/{repo} is not on this machine"):
        located(f"org/{repo}", OWN, OFFLINE)
    name, folder = located(f"org/{repo}", OWN, Hub())
    assert fetched() == {path.name for path in folder.iterdir()} == {*files}
    assert name == f"org/{repo}@{REPOS[f'models/org/{repo}'].commit}"
    assert located(name, OWN, OFFLINE) == (name, folder)
    count = encoder(fetched_tokenizer(name, OWN, OFFLINE))
    assert repo == "whole" or list(count(["a dog", "dogs", "", "a cat"])) == [2, 2, 0, 2]


def test_a_tokenizer_that_cannot_be_read_is_told_in_one_sentence(
    server: HubServer, tmp_path: Path
) -> None:
    told = pytest.raises(KnownError, match=r"The tokenizer org/broken cannot be used: .")
    with told, tokenizer_errors("org/broken"):
        encoder(fetched_tokenizer("org/broken", OWN, Hub()))
    (tmp_path / "tokenizer.model").write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02")
    said = r"has no tokenizer\.json, and what it has .* Give a copy of it with a tokenizer\.json"
    with pytest.raises(KnownError, match=said):
        list(encoder(fetched_tokenizer(str(tmp_path), OWN, OFFLINE))(["a"]))


class PanicException(BaseException):
    """As compiled code calls its own faults."""


def test_a_fault_of_compiled_code_is_told_and_an_interruption_goes_through() -> None:
    told = pytest.raises(KnownError, match="org/name cannot be used: index out of bounds")
    with told, tokenizer_errors("org/name"):
        raise PanicException("index out of bounds")
    with pytest.raises(KeyboardInterrupt), tokenizer_errors("org/name"):
        raise KeyboardInterrupt
