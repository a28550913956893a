"""The files of a model: which of them loading needs, and what config and weights say of it."""

import fnmatch
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from scoring.errors import KnownError, shown
from scoring.models.heads import HeadedModel, architectures_of, find_head, own_name
from scoring.spec import Family, LabelWeights

WEIGHT_FILES = ("*.safetensors", "*.bin")
_SMALL_FILES = ("*.json", "*.model", "*.txt", "*.jinja", "regression_layer.pt", "gating_layer.pt")
_TOKENIZERS = ("tokenizer.json", "*.model", "vocab.*", "*.tiktoken")


def wanted_files(names: Iterable[str], *, own_code: bool = False) -> list[str]:
    """The files of a repository that loading needs: one format of weights, nothing in folders.

    >>> wanted_files(["config.json", "a.safetensors", "a.bin", "onnx/config.json", "README.md"])
    ['config.json', 'a.safetensors']
    """
    top = [name for name in names if "/" not in name]
    weights = next((kind for kind in WEIGHT_FILES if fnmatch.filter(top, kind)), WEIGHT_FILES[0])
    wanted = (*_SMALL_FILES, weights, *(["*.py"] if own_code else []))
    # transformers would follow an adapter that lies beside a whole model to its base.
    unwanted = "adapter_*" if "config.json" in top else ""
    return [
        name for name in top if _is_one_of(name, wanted) and not fnmatch.fnmatch(name, unwanted)
    ]


def weight_files(names: Iterable[str]) -> list[str]:
    """The names of files of weights, sorted."""
    return sorted(name for name in names if _is_one_of(name, WEIGHT_FILES))


def _is_one_of(name: str, kinds: Iterable[str]) -> bool:
    return any(fnmatch.fnmatch(name, kind) for kind in kinds)


def has_tokenizer(names: Iterable[str]) -> bool:
    """Whether there is a tokenizer among a model's files."""
    return any(_is_one_of(name, _TOKENIZERS) for name in names)


def check_tokenizer(names: Iterable[str], model: str) -> None:
    """Raise a `KnownError` if there is no tokenizer among a model's files."""
    if not has_tokenizer(names):
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


_NEEDS: dict[Family, str] = {"classifier": "SequenceClassification", "pairrm": "PairRM"}
"""Part of the name of a family's architectures; of all others it is "CausalLM"."""


def read_config(
    path: Path,
    name: str,
    family: Family | None,
    reading: LabelWeights | None,
    *,
    trusted: bool,
    is_base: bool = False,
) -> tuple[dict[str, Any], Family, bool, str]:
    """Read a config, or raise a `KnownError` for what cannot be a reward model here.

    Returns the config, the family, whether the model brings Python of its own, and in one sentence
    what the family was taken from ("" if it was given).

    family: None means that of its architecture. trusted: whether the model's own code may run.
    is_base: whether it is an adapter's base, which may be a language model without a head.
    """
    try:
        values = dict(json.loads(path.read_text(encoding="utf-8")))
        architectures = architectures_of(values)
        labels = len(dict(values.get("id2label") or {})) or values.get("num_labels", 2)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise KnownError(f"{name} is not a transformers model: no readable config.json.") from error
    head = find_head(name, architectures)
    own_code = "auto_map" in values and head is None
    if own_code and not trusted:
        raise KnownError(f"{name} needs code of its own, which is not run here.")
    why = ""
    if family is None:
        family, why = _recognize(name, values, head)
    suits = (
        _suits(family, values)
        or (head is not None and family == head.family)
        or (family == "judge" and trained_question(name) == "SteamSHP")
        or (is_base and _suits("judge", values))
    )
    if architectures and not own_code and not suits:
        raise KnownError(
            f"{name} is a {', '.join(architectures)}; the family {family} needs a "
            f"…{_NEEDS.get(family, 'CausalLM')}…."
        )
    if family == "classifier" and labels != 1 and reading is None and not (head or is_base):
        raise KnownError(
            f"{name} has {labels} labels; a reward model has one, and which of several would be "
            "the reward is not known unless it is declared (--label or --label-weights)."
        )
    return values, family, own_code, why


def trained_question(name: str) -> str:
    """The question, as of `families.prompts`, that a judge of that name was trained on; else "".

    >>> trained_question("stanfordnlp/SteamSHP-flan-t5-xl"), trained_question("steamshp/x")
    ('SteamSHP', '')
    """
    own = own_name(name)
    if "steamshp" in own:
        return "SteamSHP"
    return "pair-preference" if "pair-preference-model" in own else ""


def _suits(family: Family, values: dict[str, Any]) -> bool:
    names = [_NEEDS.get(family, "CausalLM")]
    if names == ["CausalLM"]:
        names.append("LMHeadModel")
        # Models that see pictures, too, are called as encoder-decoders are.
        if isinstance(values.get("text_config"), dict) and not values.get("is_encoder_decoder"):
            names.append("ForConditionalGeneration")
    return any(name in each for name in names for each in architectures_of(values))


def _recognize(
    name: str, values: dict[str, Any], head: type[HeadedModel] | None
) -> tuple[Family, str]:
    question, architectures = trained_question(name), architectures_of(values)
    if question:
        return "judge", f"By its name it is a judge that is asked one question, {question}."
    if not architectures:
        why = "Its config names no architecture; a sequence classifier is assumed."
        return "classifier", why
    kind = f"a {head.family} with a head that is known here" if head else "its own"
    if _NEEDS["classifier"] in architectures[0]:
        kind = "a sequence classifier"
    elif _NEEDS["pairrm"] in architectures[0]:
        kind = "a PairRM"
    why = f"Its architecture, {architectures[0][:80]}, is {kind}."
    if head or _suits("classifier", values):
        return head.family if head else "classifier", why
    if _suits("pairrm", values):
        return "pairrm", why
    what = f"{name} is a {', '.join(architectures)}"
    if _suits("judge", values):
        raise KnownError(
            f"{what}, which can score in several ways; say which (family dpo with a reference "
            "model, logprob-sum, logprob-mean, judge or rater). Without a family, only sequence "
            "classifiers with one label are scored."
        )
    raise KnownError(f"{what}; sequence classifiers, causal language models and PairRM are scored.")


BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "8bit": 1, "4bit": 0.5}
"""Dtype -> bytes of a number."""


def count_weights(files: Iterable[Path]) -> dict[str, int]:
    """Numbers of each dtype, such as "BF16", in safetensors files; empty if one is broken."""
    from safetensors import SafetensorError, safe_open

    found: Counter[str] = Counter()
    try:
        for path in files:
            with safe_open(path, "np") as weights:
                for part in map(weights.get_slice, weights.keys()):
                    found[part.get_dtype()] += math.prod(part.get_shape())
    except (OSError, SafetensorError):
        return {}
    return found


def find_number(config: Mapping[str, Any], *names: str) -> int | None:
    """The first of these values that is a whole number above 0, in a config or its text part."""
    inner = config.get("text_config")
    for part in (config, inner if isinstance(inner, dict) else {}):
        for value in map(part.get, names):
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
