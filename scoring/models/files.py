"""The files of a model: which of them loading needs, and what config and weights say of it."""

import fnmatch
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from scoring.errors import KnownError, shown
from scoring.models.heads import architectures_of, find_head, own_name
from scoring.spec import Family, LabelWeights

WEIGHT_FILES = ("*.safetensors", "*.bin")
_SMALL_FILES = ["*.json", "*.model", "*.txt", "*.jinja"]
_HEAD_FILES = ["regression_layer.pt", "gating_layer.pt"]
"""Weights of a head that lie beside the others; see `models.heads`."""
_TOKENIZERS = ("tokenizer.json", "*.model", "vocab.*", "*.tiktoken")
_DIGEST_BYTES = 2**26


def wanted_files(names: Iterable[str], *, own_code: bool = False) -> list[str]:
    """The files of a repository that loading needs: one format of weights, nothing in folders.

    >>> wanted_files(["config.json", "a.safetensors", "a.bin", "onnx/config.json", "README.md"])
    ['config.json', 'a.safetensors']
    """
    top = [name for name in names if "/" not in name]
    weights = next((kind for kind in WEIGHT_FILES if fnmatch.filter(top, kind)), WEIGHT_FILES[0])
    wanted = (*_SMALL_FILES, *_HEAD_FILES, weights, *(["*.py"] if own_code else []))
    return [name for name in top if any(fnmatch.fnmatch(name, kind) for kind in wanted)]


def weight_files(names: Iterable[str]) -> list[str]:
    """Those of the files that hold weights.

    >>> weight_files(["config.json", "b.safetensors", "a.safetensors"])
    ['a.safetensors', 'b.safetensors']
    """
    return sorted(
        name for name in names if any(fnmatch.fnmatch(name, kind) for kind in WEIGHT_FILES)
    )


def check_tokenizer(names: Iterable[str], model: str) -> None:
    """Raise a `KnownError` where there is no tokenizer among a model's files."""
    if not any(fnmatch.fnmatch(name, kind) for name in names for kind in _TOKENIZERS):
        raise KnownError(
            f"{model} could not be loaded: it has no tokenizer. Put the tokenizer's files beside "
            "its weights, or choose a model that has them."
        )


def check_indexes(folder: Path, model: str) -> None:
    """Raise a `KnownError` unless indexes name files beside them alone: transformers loads any."""
    for index in sorted(folder.glob("*.index.json")):
        try:
            names = set(dict(json.loads(index.read_text(encoding="utf-8"))["weight_map"]).values())
            wrong = [name for name in names if not _is_adjacent(index, name)]
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise KnownError(
                f"{model} could not be loaded: its {index.name} cannot be read."
            ) from error
        if wrong:
            raise KnownError(
                f"{model} could not be loaded: its {index.name} names "
                f"{shown(min(map(str, wrong)))}, which is not among its files."
            )


def _is_adjacent(index: Path, name: object) -> bool:
    return isinstance(name, str) and Path(name).name == name and (index.parent / name).is_file()


def folder_digest(folder: Path, names: Iterable[str]) -> str:
    """12 hex digits that change with name and content of each file, or the time of a large one."""
    digest = hashlib.sha256()
    for name in sorted(names):
        stat = (folder / name).stat()
        digest.update(f"{name}:{stat.st_size}:".encode())
        large = stat.st_size > _DIGEST_BYTES
        digest.update(str(stat.st_mtime_ns).encode() if large else (folder / name).read_bytes())
    return digest.hexdigest()[:12]


_NEEDS: dict[str, str] = {
    "classifier": "SequenceClassification",
    "dpo": "CausalLM",
    "logprob-sum": "CausalLM",
    "logprob-mean": "CausalLM",
    "judge": "CausalLM",
    "rater": "CausalLM",
    "pairrm": "PairRM",
}
"""Family -> what the name of its models' architecture holds."""
_KINDS = {"classifier": "a sequence classifier", "pairrm": "a PairRM"}


def read_config(
    path: Path,
    name: str,
    family: Family | None,
    reading: LabelWeights | None,
    *,
    trusted: bool,
) -> tuple[dict[str, Any], Family, bool, str]:
    """Read a config, and refuse before any weights are read what cannot be a reward model here.

    name: of the model, for messages. family: None means what its architecture speaks for.
    trusted: whether the model's own code may run.

    Returns what it holds; the family; whether the model brings Python of its own; and in one
    sentence what its family was taken from ("" where it was given).

    Raises:
        KnownError: it cannot be read, or the model cannot score so.
    """
    try:
        values = dict(json.loads(path.read_text(encoding="utf-8")))
        architectures = architectures_of(values)
        labels = len(dict(values.get("id2label") or {})) or values.get("num_labels", 2)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise KnownError(f"{name} is not a transformers model: no readable config.json.") from error
    has_head = find_head(name, architectures) is not None
    own_code = "auto_map" in values and not has_head
    if own_code and not trusted:
        raise KnownError(f"{name} needs code of its own, which is not run here.")
    why = ""
    if family is None:
        family, why = _recognize(name, values, has_head=has_head)
    suits = (
        _suits(family, values)
        or (family == "classifier" and has_head)
        or (family == "judge" and trained_question(name) == "SteamSHP")
    )
    if architectures and not own_code and not suits:
        raise KnownError(
            f"{name} is a {', '.join(architectures)}; the family {family} needs a "
            f"…{_NEEDS[family]}…."
        )
    if family == "classifier" and labels != 1 and reading is None and not has_head:
        raise KnownError(
            f"{name} has {labels} labels; a reward model has one, and which of several would be "
            "the reward is not known unless it is declared (--label or --label-weights)."
        )
    return values, family, own_code, why


PAIR_QUESTIONS = {"steamshp": "SteamSHP", "pair-preference-model": "pair-preference"}
"""A part of the name, in small letters, of judges that were trained to answer one question -> that
question, as of `families.prompts`."""


def trained_question(name: str) -> str:
    """What a judge of that name was trained to be asked; "" for any other model.

    >>> trained_question("stanfordnlp/SteamSHP-flan-t5-xl"), trained_question("steamshp/x")
    ('SteamSHP', '')
    """
    own = own_name(name)
    return next((asked for part, asked in PAIR_QUESTIONS.items() if part in own), "")


def _suits(family: Family, values: dict[str, Any]) -> bool:
    """Whether an architecture can score so; of causal language models there are three names.

    Models that see pictures, too, are called ForConditionalGeneration as encoder-decoders are; they
    keep their language model in "text_config".
    """
    names = [_NEEDS[family]]
    if names == ["CausalLM"]:
        names.append("LMHeadModel")
        if isinstance(values.get("text_config"), dict) and not values.get("is_encoder_decoder"):
            names.append("ForConditionalGeneration")
    return any(name in each for name in names for each in architectures_of(values))


def _recognize(name: str, values: dict[str, Any], *, has_head: bool) -> tuple[Family, str]:
    """The family that a name or an architecture speaks for, and why in one sentence."""
    asked, architectures = trained_question(name), architectures_of(values)
    if asked:
        return "judge", f"By its name it is a judge that is asked one question, {asked}."
    if not architectures:
        why = "Its config names no architecture; a sequence classifier is supposed."
        return "classifier", why
    kinds = [kind for family, kind in _KINDS.items() if _NEEDS[family] in architectures[0]]
    kinds += ["a classifier with a head that is known here"] if has_head else []
    why = f"Its architecture, {architectures[0][:80]}, is {kinds[0] if kinds else 'its own'}."
    if has_head or _suits("classifier", values):
        return "classifier", why
    if _suits("pairrm", values):
        return "pairrm", why
    if _suits("judge", values):
        raise KnownError(
            f"{name} is a {', '.join(architectures)}, which can score in several ways; say which "
            "(family dpo with a reference model, logprob-sum, logprob-mean, judge or rater). "
            "Without a word, only sequence classifiers with one label are scored."
        )
    raise KnownError(
        f"{name} is a {', '.join(architectures)}; sequence classifiers, causal language models "
        "and PairRM are scored."
    )


_LONGEST_HEADER = 100_000_000
"""Bytes; the format allows no more."""
_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
"""Dtype -> bytes of a number."""


def counted_weights(files: Iterable[Path]) -> dict[str, int]:
    """How many numbers of each dtype, such as "BF16", safetensors files say that they hold.

    Source: the format, https://huggingface.co/docs/safetensors: eight bytes for the length of a
    JSON header, then the header. Empty where a file is none of these, or broken.
    """
    found: dict[str, int] = {}
    try:
        for path in files:
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                if not 2 <= length <= min(_LONGEST_HEADER, path.stat().st_size):
                    return {}
                header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            for tensor in header.values():
                dtype, shape = str(tensor["dtype"]), [int(size) for size in tensor["shape"]]
                if any(size < 0 for size in shape):
                    return {}
                found[dtype] = found.get(dtype, 0) + math.prod(shape)
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return {}
    return found


def main_dtype(weights: Mapping[str, int]) -> str:
    """The dtype of most of the numbers, as torch calls it; "" where there are none.

    >>> main_dtype({"BF16": 8_000, "F32": 10}), main_dtype({"F8_E4M3": 1}), main_dtype({})
    ('bfloat16', 'f8_e4m3', '')
    """
    most = max(weights, key=weights.__getitem__, default="")
    return _DTYPES.get(most, most.lower())


def find_number(config: Mapping[str, Any], *names: str) -> int | None:
    """The first of these values that is a whole number above 0, with those of the text part.

    Models of several parts keep the sizes of their language model in "text_config".
    """
    inner = config.get("text_config")
    for part in (config, inner if isinstance(inner, dict) else {}):
        for value in map(part.get, names):
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
