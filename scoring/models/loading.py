"""A located model's weights and tokenizer in memory; what cannot be right is refused."""

import logging
import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.utils import logging as transformers_logging

from scoring.engine.attention import is_by_hand
from scoring.engine.formatting import Formatter, UpstreamFormatter
from scoring.errors import KnownError, first_line
from scoring.limits import OnProgress, Step
from scoring.models import adapters
from scoring.models.devices import check_dtype, chosen_dtype, present_device
from scoring.models.files import WEIGHT_FILES, check_indexes
from scoring.models.heads import HeadedModel, format_shape
from scoring.spec import DEVICE_NAMES, QUANTIZED, Dtype, ModelSpec, RunSettings

logger = logging.getLogger(__name__)

_LEAST_TOKENS = 8  # below which a tokenizer's limit is an error
_MOST_A_BYTE = 8  # weights for a byte of a quantised model's files: of one bit each
_OPERATIONS = {"cuda": 8e14, "mps": 2e12, "cpu": 5e10}
"""Operations of a pack, which a GPU is taken to do in two seconds and others in one."""
_FEWEST, _MOST = 512, {"cuda": 32_768, "mps": 8192, "cpu": 8192}
"""Tokens of a pack. On one H200, 32,768 are best for 0.6B and for 8B."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model in memory, in evaluation mode on its device, with its tokenizer.

    left_out: names of weights that its files have beside its base model and its class does not.
    """

    spec: ModelSpec
    model: Any
    tokenizer: Any
    left_out: tuple[str, ...] = ()

    @property
    def dtype(self) -> str:
        """The dtype of its weights, such as "bfloat16" or "8bit"."""
        packed = (each for each in QUANTIZED if getattr(self.model, f"is_loaded_in_{each}", False))
        return next(packed, str(self.model.dtype).removeprefix("torch."))

    def formatter(self, settings: RunSettings) -> Formatter:
        """How this model's conversations become tokens."""
        limits = [_positions(self.model), self.tokenizer.model_max_length]
        kind = UpstreamFormatter if settings.upstream_compatible else Formatter
        made = kind(self.tokenizer, min(limit for limit in limits if limit), settings)
        if isinstance(self.model, HeadedModel):
            self._check_reading(made)
            made.ending, made.question = self.model.ending, self.model.question
            gate = self.tokenizer(self.model.turn, add_special_tokens=False).input_ids
            made.gate = tuple(gate) if self.model.turn else ()
        return made

    def _check_reading(self, formatter: Formatter) -> None:
        for id_, token in self.model.tokens.items():
            if self.tokenizer.convert_ids_to_tokens(id_) != token:
                raise KnownError(
                    f"{self.spec.name} is read at token {id_:,}, {token}, and its tokenizer has no "
                    "such token there. Give the tokenizer that its authors published."
                )
        if self.model.question and not formatter.cuts_left:
            raise KnownError(
                f"{self.spec.name} is asked a question behind each text, which would be cut off: "
                "leave --truncation-side out."
            )

    def budget(self, settings: RunSettings) -> int:
        """Tokens of a pack: as set, else one or two seconds of work that fit in memory."""
        if settings.budget is not None:
            return settings.budget
        model, embeddings = self.model, self.model.get_input_embeddings().weight
        weights = sum(each.numel() for each in model.parameters()) - embeddings.numel()
        fitting = None
        if model.device.type == "cuda":
            unused = torch.cuda.memory_reserved(model.device)
            unused -= torch.cuda.memory_allocated(model.device)
            free = torch.cuda.mem_get_info(model.device)[0] + unused
            # What a token needs in a layer, about: where its feed-forward is widest.
            width = embeddings.shape[1]
            inner = getattr(model.config.get_text_config(), "intermediate_size", None)
            a_token = (10 * width + 3 * (inner or 4 * width)) * model.dtype.itemsize
            fitting = free // 2 // a_token
        return pack_tokens(model.device.type, weights, fitting)


def pack_tokens(kind: str, weights: int, fitting: int | None = None) -> int:
    """Tokens of a pack, a power of two, on a kind of device.

    weights: of a model but for its embeddings. fitting: tokens that memory holds; None if unknown.

    >>> pack_tokens("cuda", 7_500_000_000), pack_tokens("cuda", 440_000_000)
    (32768, 32768)
    >>> pack_tokens("cuda", 7_500_000_000, fitting=24_000), pack_tokens("cuda", 70_000_000_000)
    (16384, 4096)
    >>> pack_tokens("cpu", 2_200_000), pack_tokens("cpu", 440_000_000)
    (8192, 512)
    """
    kind = kind if kind in _OPERATIONS else "cuda"
    tokens = _OPERATIONS[kind] / (2 * max(1, weights))
    if fitting is not None:
        tokens = min(tokens, fitting)
    least_power: int = 1 << max(0, int(tokens).bit_length() - 1)
    return min(max(_FEWEST, least_power), _MOST[kind])


def load(spec: ModelSpec, settings: RunSettings, auto_class: Any) -> Loaded:
    """Load a located model on a device and in a dtype.

    auto_class: the class that builds it: the name of one of transformers', itself, or a head.
    A `KnownError` says what of it is missing, broken, of another kind, or too large.
    """
    if spec.family == "pairrm" and settings.device == "spread":  # it runs on one device
        settings = replace(settings, device="auto")
    device = _device(settings)
    try:
        check_indexes(Path(spec.full_model.folder), spec.full_model.name)
        model, tokenizer, info = _build(spec, settings, auto_class, device)
    except (KnownError, MemoryError):
        raise
    except torch.OutOfMemoryError as error:
        raise KnownError(
            f"{spec.name} does not fit in the memory of {device}. Use a smaller model, a dtype of "
            "two bytes, or more GPUs (--device spread)."
        ) from error
    except Exception as error:  # a stranger's folder makes these libraries raise anything
        logger.info("loading %s failed", spec.name, exc_info=True)
        raise KnownError(f"{spec.name} could not be loaded: {first_line(error)}") from error
    _check_loaded(spec.name, tokenizer, info)
    config = model.config.get_text_config()
    if config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    known = (f"{model.base_model_prefix}.", "lm_head.")
    left_out = sorted(name for name in info["unexpected_keys"] if not name.startswith(known))
    return Loaded(spec, model.eval().requires_grad_(False), tokenizer, tuple(left_out))


def _build(spec: ModelSpec, settings: RunSettings, auto_class: Any, device: str) -> Any:
    folder = spec.full_model.folder
    if Path(folder, adapters.CONFIG).exists():  # transformers would load what it names
        raise KnownError(
            f"{spec.full_model.name} holds a whole model and the config of an adapter, "
            f"{adapters.CONFIG}. Move one of them to a folder of its own."
        )
    weights = adapters.load_weights(Path(spec.folder)) if spec.is_adapter else {}
    is_headed = isinstance(auto_class, type) and issubclass(auto_class, HeadedModel)
    own: dict[str, Any] = {"trust_remote_code": spec.own_code}
    if is_headed:
        config = auto_class.config_of(folder)
        builder = build = auto_class.model_class(type(config))
    else:
        builder = getattr(transformers, auto_class) if isinstance(auto_class, str) else auto_class
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, **own)
        if spec.is_adapter:
            config.num_labels = adapters.label_count(weights, config)
        build = partial(builder.from_config, **own)
        own["config"] = config
    with torch.device("meta"):
        skeleton = build(config)
    _check_room(spec.full_model, skeleton)
    if is_headed:
        own = {"config": config, "state_dict": auto_class.weights_of(folder, config)}
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        (spec.tokenizer or spec).folder,
        local_files_only=True,
        trust_remote_code=spec.own_code and spec.tokenizer is None,
        **({"config": config} if spec.is_adapter else {}),  # its class, as of the merged model
    )
    is_spread = settings.device == "spread"
    bf16 = device.startswith("cuda") and torch.cuda.is_bf16_supported(including_emulation=False)
    dtype = chosen_dtype(settings.dtype, has_bf16=bf16, family=spec.family)
    packed = _packed_weights(
        dtype, device, auto_class.parts if is_headed else ("score", "classifier")
    )
    with _without_remarks() if spec.is_adapter else nullcontext():
        model, info = builder.from_pretrained(
            folder if own.get("state_dict") is None else None,
            local_files_only=True,
            dtype=torch.float16 if packed else getattr(torch, dtype),
            **packed,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are reported later
            **own,
            # sdpa drops caps and sinks, some versions of transformers in silence.
            **({"attn_implementation": "eager"} if is_by_hand(skeleton) else {}),
            **(
                {"device_map": "auto" if is_spread else {"": device}} if is_spread or packed else {}
            ),
        )
    if is_headed:
        model.add_files(folder)
    model = model if is_spread or packed else model.to(device)
    if spec.is_adapter:
        model = adapters.merge(model, weights, spec, info)
    return model, tokenizer, info


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Keep transformers from saying that a base has no head, which its adapter brings."""
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)


def _packed_weights(dtype: Dtype, device: str, head: Iterable[str]) -> dict[str, Any]:
    """Arguments of `from_pretrained` that pack weights but the head's; none if they stay."""
    if dtype not in QUANTIZED:
        return {}
    check_dtype(dtype, device.partition(":")[0])
    config = transformers.BitsAndBytesConfig(
        **{f"load_in_{dtype}": True},
        bnb_4bit_compute_dtype=torch.float16,
        llm_int8_skip_modules=["lm_head", *head],
    )
    return {"quantization_config": config}


def _check_room(spec: ModelSpec, skeleton: Any) -> None:
    # A config that asks for more weights than there are is refused before they take memory.
    folder = Path(spec.folder)
    n_bytes = sum(path.stat().st_size for kind in WEIGHT_FILES for path in folder.glob(kind))
    if "quantization_config" in skeleton.config.to_dict():
        n_bytes *= _MOST_A_BYTE
    n_parameters = sum(parameter.numel() for parameter in skeleton.parameters())
    if n_parameters > n_bytes:
        raise KnownError(
            f"{spec.name} could not be loaded: its config asks for {n_parameters:,} weights, and "
            f"its files have room for {n_bytes:,}."
        )


def _check_loaded(name: str, tokenizer: Any, info: dict[str, Any]) -> None:
    if info["mismatched_keys"]:
        tensor, there, asked = min(info["mismatched_keys"])
        raise KnownError(
            f"{name} could not be loaded: its {tensor} is of {format_shape(there)}, and its "
            f"config says {format_shape(asked)}."
        )
    if info["missing_keys"]:
        raise KnownError(
            f"{name} is not a whole reward model: its weights lack "
            f"{', '.join(sorted(info['missing_keys'])[:3])}, so its scores would be random."
        )
    limit = tokenizer.model_max_length
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < _LEAST_TOKENS:
        raise KnownError(f"{name} could not be loaded: its tokenizer allows {limit!r} tokens.")


def _positions(model: Any) -> int:
    config = model.config.get_text_config()
    limit: int = getattr(config, "max_position_embeddings", None) or sys.maxsize
    if limit < 0:  # of a model that counts none, such as XLNet
        limit = sys.maxsize
    rope = getattr(config, "rope_parameters", None) or {}
    if rope.get("rope_type") == "longrope":
        # Beyond it, every sequence of the same forward pass is computed in another way.
        limit = rope.get("original_max_position_embeddings") or limit
    base = getattr(model, model.base_model_prefix, None)
    table = getattr(getattr(base, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    # RoBERTa and its kin count positions from behind the padding's own.
    return limit if padding is None else limit - padding - 1


def _device(settings: RunSettings) -> str:
    if not DEVICE_NAMES.fullmatch(settings.device):
        raise KnownError(
            f"There is no device {settings.device!r}; auto, cpu, cuda, cuda:N, mps and spread are "
            "allowed."
        )
    if settings.device not in ("auto", "spread"):
        try:
            torch.empty(0, device=settings.device)
        except (RuntimeError, AssertionError) as error:
            raise KnownError(
                f"There is no device {settings.device!r} here: {first_line(error)}"
            ) from error
        return settings.device
    device = present_device(settings.device)
    if device.unused:
        logger.warning("Scoring on the CPU: %s", device.unused)
    return device.kind


@contextmanager
def report_loading(tell: OnProgress) -> Iterator[None]:
    """Report each weight that is loaded inside, in place of the bars of transformers."""

    def reported(items: Iterable[Any]) -> Iterator[Any]:
        total = len(items) if isinstance(items, Sized) else None
        for done, each in enumerate(items):
            tell(Step("loading", done, total))
            yield each
        tell(Step("loading", total or 0, total))

    before = transformers_logging.set_tqdm_hook(
        lambda _, args, __: transformers_logging.EmptyTqdm(reported(args[0] if args else ()))
    )
    try:
        yield
    finally:
        transformers_logging.set_tqdm_hook(before)
