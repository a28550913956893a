"""The files of a model: which of them loading needs, and what tells one state from another."""

import fnmatch
import hashlib
from collections.abc import Iterable
from pathlib import Path

from scoring.errors import KnownError

WEIGHTS = ("*.safetensors", "*.bin")
_SMALL_FILES = ["*.json", "*.model", "*.txt", "*.jinja"]
_TOKENIZERS = ("tokenizer.json", "*.model", "vocab.*", "*.tiktoken")
_DIGEST_BYTES = 2**26


def wanted_files(names: Iterable[str], *, own_code: bool = False) -> list[str]:
    """The files of a repository that loading needs: one format of weights, nothing in folders.

    >>> wanted_files(["config.json", "a.safetensors", "a.bin", "onnx/config.json", "README.md"])
    ['config.json', 'a.safetensors']
    """
    top = [name for name in names if "/" not in name]
    weights = next((kind for kind in WEIGHTS if fnmatch.filter(top, kind)), WEIGHTS[0])
    wanted = (*_SMALL_FILES, weights, *(["*.py"] if own_code else []))
    return [name for name in top if any(fnmatch.fnmatch(name, kind) for kind in wanted)]


def weight_files(names: Iterable[str]) -> list[str]:
    """Those of the files that hold weights.

    >>> weight_files(["config.json", "b.safetensors", "a.safetensors"])
    ['a.safetensors', 'b.safetensors']
    """
    return sorted(name for name in names if any(fnmatch.fnmatch(name, kind) for kind in WEIGHTS))


def check_tokenizer(names: Iterable[str], model: str) -> None:
    """Whether a tokenizer is among a model's files.

    Raises:
        KnownError: there is none.
    """
    if not any(fnmatch.fnmatch(name, kind) for name in names for kind in _TOKENIZERS):
        raise KnownError(
            f"{model} could not be loaded: it has no tokenizer. Put the tokenizer's files beside "
            "its weights, or choose a model that has them."
        )


def folder_digest(folder: Path) -> str:
    """12 hex digits that change with what the folder holds.

    Over each file's name and content; of a file too large to be read for this, over its size and
    the time of its last change.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        stat = path.stat()
        digest.update(f"{path.name}:{stat.st_size}:".encode())
        large = stat.st_size > _DIGEST_BYTES
        digest.update(str(stat.st_mtime_ns).encode() if large else path.read_bytes())
    return digest.hexdigest()[:12]
