"""From what a person typed to a reward model in memory."""

import fnmatch
import hashlib
import importlib.metadata
import json
import logging
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from scoring.errors import KnownError
from scoring.formatting import Formatter
from scoring.hub import Hub, first_line, parse_hub_id
from scoring.paths import is_folder, typed_path
from scoring.spec import ModelSpec, RunFacts, RunSettings

logger = logging.getLogger(__name__)

DEMO = "demo"
DEMO_NAMES = (DEMO, "assets/demo/model")
WEIGHTS = ("*.safetensors", "*.bin")
_SMALL_FILES = ["*.json", "*.model", "*.txt", "*.jinja"]
SHORTEST = 8
"""Tokens below which a tokenizer's limit is an error."""
_TOKENIZERS = ("tokenizer.json", "*.model", "vocab.*", "*.tiktoken")
_DIGEST_BYTES = 2**26


@dataclass(frozen=True, slots=True)
class ModelPolicy:
    """What the owner of this machine allows.

    demo: folder of the bundled model.
    local_folders: whether any folder of this machine may be loaded.
    max_gigabytes: the largest model fetched from the Hub, in 10^9 bytes; None means no limit.
    """

    demo: Path
    local_folders: bool = True
    max_gigabytes: float | None = None


def locate(
    typed: str, policy: ModelPolicy, hub: Hub, *, token: str | Literal[False] = False
) -> ModelSpec:
    """Find the model a person typed, downloading it where need be.

    Args:
        typed: "demo", a local folder, or a Hub id `org/name[@revision]`.
        policy: what is allowed here.
        hub: decides whether the network is used.
        token: the visitor's own token; False sends none.

    Raises:
        KnownError: nothing was typed, it is not allowed, not found, or not a reward model.
    """
    typed = typed.strip()
    if not typed:
        raise KnownError("No model was given. Type a Hub id (org/name), a folder, or demo.")
    if typed in DEMO_NAMES:
        return _local_spec(DEMO, policy.demo)
    hub_id = parse_hub_id(typed)
    looks_local = typed.startswith(("/", ".", "~", "\\")) or hub_id is None
    if policy.local_folders and (looks_local or is_folder(typed_path(typed))):
        return _local_spec(typed, typed_path(typed))
    if looks_local or hub_id is None or hub_id.split:
        allowed = "a Hub id such as org/name, or demo"
        if policy.local_folders:
            allowed = f"a folder, {allowed}"
        raise KnownError(f"{typed[:200]!r} is not a model that can be used here: give {allowed}.")
    listing = hub.look(hub_id, "model", token=token)
    if "config.json" not in listing.sizes:
        raise KnownError(f"{hub_id.repo} is not a transformers model: it has no config.json.")
    names = _wanted(listing.sizes)
    n_bytes = sum(listing.sizes[name] for name in names)
    if policy.max_gigabytes is not None and n_bytes > policy.max_gigabytes * 1e9:
        raise KnownError(
            f"{hub_id.repo} is {n_bytes / 1e9:.1f} GB large; "
            f"at most {policy.max_gigabytes:g} GB are allowed here."
        )
    _check_config(hub.fetch(listing, ["config.json"], token=token) / "config.json", hub_id.repo)
    folder = hub.fetch(listing, names, token=token)
    return ModelSpec(hub_id.repo, str(folder), folder.name)


def _wanted(names: Iterable[str]) -> list[str]:
    """The files of a repository that loading needs: one format of weights, nothing in folders.

    >>> _wanted(["config.json", "a.safetensors", "a.bin", "onnx/config.json", "README.md"])
    ['config.json', 'a.safetensors']
    """
    top = [name for name in names if "/" not in name]
    weights = next((kind for kind in WEIGHTS if fnmatch.filter(top, kind)), WEIGHTS[0])
    wanted = (*_SMALL_FILES, weights)
    return [name for name in top if any(fnmatch.fnmatch(name, kind) for kind in wanted)]


def _local_spec(name: str, folder: Path) -> ModelSpec:
    if not is_folder(folder):
        raise KnownError(f"There is no model {name[:200]!r}: it is neither a folder nor a Hub id.")
    _check_config(folder / "config.json", name)
    if not any(path for pattern in WEIGHTS for path in folder.glob(pattern)):
        raise KnownError(f"The folder {name} has no weights: no {' or '.join(WEIGHTS)}.")
    return ModelSpec(name, str(folder), _folder_digest(folder))


def _check_config(config: Path, name: str) -> None:
    """Refuse, before any weights are read, what cannot be a reward model here."""
    try:
        values = dict(json.loads(config.read_text(encoding="utf-8")))
        architectures = [str(kind) for kind in values.get("architectures") or ()]
        labels = len(dict(values.get("id2label") or {})) or values.get("num_labels", 2)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise KnownError(f"{name} is not a transformers model: no readable config.json.") from error
    if "auto_map" in values:
        raise KnownError(f"{name} needs code of its own, which is not run here.")
    if architectures and not any("SequenceClassification" in kind for kind in architectures):
        raise KnownError(
            f"{name} is a {', '.join(architectures)}; only sequence classifiers with one label "
            "are scored so far."
        )
    if labels != 1:
        raise KnownError(
            f"{name} has {labels} labels; a reward model has one, and which of several would be "
            "the reward is not known."
        )


def _folder_digest(folder: Path) -> str:
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


class RewardModel:
    """A model in memory with its tokenizer; made by `load`."""

    def __init__(self, spec: ModelSpec, model: Any, tokenizer: Any) -> None:
        self.spec = spec
        self.model = model
        self.tokenizer = tokenizer

    def formatter(self, settings: RunSettings) -> Formatter:
        """How this model's conversations become tokens."""
        limits = [_positions(self.model), self.tokenizer.model_max_length]
        return Formatter(self.tokenizer, min(limit for limit in limits if limit), settings)

    def facts(
        self, settings: RunSettings, pairs: str, n_pairs: int, selection: str = ""
    ) -> RunFacts:
        """Everything that a number scored with this model rests on."""
        formatter = self.formatter(settings)
        return RunFacts(
            model=self.spec.name,
            revision=self.spec.revision,
            family=self.spec.family,
            device=str(self.model.device),
            dtype=str(self.model.dtype).removeprefix("torch."),
            max_length=formatter.max_length,
            truncation_side=settings.truncation_side,
            template=formatter.template,
            pairs=pairs,
            n_pairs=n_pairs,
            seed=settings.seed,
            selection=selection,
            versions={name: importlib.metadata.version(name) for name in ("torch", "transformers")},
        )


def _positions(model: Any) -> int:
    """How long a sequence the model has positions for."""
    limit: int = getattr(model.config, "max_position_embeddings", None) or sys.maxsize
    base = getattr(model, model.base_model_prefix, None)
    table = getattr(getattr(base, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    # RoBERTa and its kin count positions from behind the padding's own.
    return limit if padding is None else limit - padding - 1


def load(spec: ModelSpec, settings: RunSettings) -> RewardModel:
    """Load a located model, ready to score.

    Raises:
        KnownError: weights or tokenizer are missing, broken or not those of a reward model.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    device = _device(settings)
    dtype = _dtype(settings, device)
    if not any(path for pattern in _TOKENIZERS for path in Path(spec.folder).glob(pattern)):
        raise KnownError(f"{spec.name} could not be loaded: it has no tokenizer.")
    try:
        _check_shape(spec)
        tokenizer = AutoTokenizer.from_pretrained(
            spec.folder, local_files_only=True, trust_remote_code=False
        )
        model, info = AutoModelForSequenceClassification.from_pretrained(
            spec.folder,
            local_files_only=True,
            trust_remote_code=False,
            dtype=dtype,
            output_loading_info=True,
        )
    except KnownError:
        raise
    except Exception as error:  # a stranger's folder makes these libraries raise anything
        logger.exception("loading %s failed", spec.name)
        raise KnownError(f"{spec.name} could not be loaded: {first_line(error)}") from error
    if info["missing_keys"]:
        raise KnownError(
            f"{spec.name} is not a whole reward model: its weights lack "
            f"{', '.join(sorted(info['missing_keys'])[:3])}, so its scores would be random."
        )
    if not isinstance(getattr(model, "score", None), torch.nn.Linear):
        model = model.float()  # its head cannot be run apart, and heads are float32
    limit = tokenizer.model_max_length
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < SHORTEST:
        raise KnownError(f"{spec.name} could not be loaded: its tokenizer allows {limit!r} tokens.")
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    try:
        model = model.eval().requires_grad_(False).to(device)
    except torch.OutOfMemoryError as error:
        raise KnownError(f"{spec.name} does not fit in the memory of {device}.") from error
    return RewardModel(spec, model, tokenizer)


def _check_shape(spec: ModelSpec) -> None:
    """Refuse a config that asks for more weights than there are, before memory is taken for them.

    Raises:
        KnownError: there is less than a byte for each parameter.
    """
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    folder = Path(spec.folder)
    n_bytes = sum(path.stat().st_size for kind in WEIGHTS for path in folder.glob(kind))
    config = AutoConfig.from_pretrained(spec.folder, local_files_only=True, trust_remote_code=False)
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(config)
    n_parameters = sum(parameter.numel() for parameter in model.parameters())
    if n_parameters > n_bytes:
        raise KnownError(
            f"{spec.name} could not be loaded: its config asks for {n_parameters:,} weights, and "
            f"its files have {n_bytes:,} bytes."
        )


class WarmModel:
    """Keeps the last model in memory, since most people score one model again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: tuple[ModelSpec, str, str] | None = None
        self._model: RewardModel | None = None

    def get(self, spec: ModelSpec, settings: RunSettings) -> RewardModel:
        """The model, loaded now unless it is the warm one; the former one is let go first."""
        key = (spec, settings.device, settings.dtype)
        with self._lock:
            if self._model is None or self._key != key:
                self._model = None
                self._model, self._key = load(spec, settings), key
            return self._model


def _device(settings: RunSettings) -> str:
    import torch

    if settings.device != "auto":
        return settings.device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _dtype(settings: RunSettings, device: str) -> Any:
    """float32 but on CUDA, where bf16 is used if the card has it."""
    import torch

    if settings.dtype != "auto":
        return getattr(torch, settings.dtype)
    bf16 = device == "cuda" and torch.cuda.is_bf16_supported()
    return torch.bfloat16 if bf16 else torch.float32
