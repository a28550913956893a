"""What is known of a model before any of its weights are fetched."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.models.files import (
    BYTES,
    architectures_of,
    counted_weights,
    main_dtype,
    weight_files,
)
from scoring.models.finding import LocatedModel
from scoring.spec import Family

_GUESSED_BYTES = 2
"""Of a weight, where neither files nor config say."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A model as its files' names, its config and the Hub's count of its weights describe it.

    name, revision: as runs will name it.
    why: in one sentence, what the family was taken from.
    architecture: of its config; "" for what has none, a baseline or a server's model.
    weight_bytes: of its files of weights, on disk.
    parameters: 0 where it has none.
    is_counted: whether they were counted in the files, else guessed from the files' size.
    dtype: in which most weights are stored, such as "bfloat16"; "" where nothing says.
    is_quantized: whether its weights stay packed in memory, whatever dtype is asked for.
    positions, vocabulary, width, layers: of its config; None where it does not say.
    own_code: whether it brings Python of its own.
    fetch_bytes: to be downloaded before it can be loaded, weights and all; 0 where it is here.
    reference: of a DPO policy.
    tokenizer: the name of what lends it a tokenizer; "" where it has its own.
    """

    name: str
    revision: str
    family: Family
    why: str
    architecture: str = ""
    weight_bytes: int = 0
    parameters: int = 0
    is_counted: bool = True
    dtype: str = ""
    is_quantized: bool = False
    positions: int | None = None
    vocabulary: int | None = None
    width: int | None = None
    layers: int | None = None
    own_code: bool = False
    fetch_bytes: int = 0
    reference: "Preview | None" = None
    tokenizer: str = ""

    @property
    def is_here(self) -> bool:
        """Whether all of it is on this machine, or nothing needs to be."""
        return self.all_fetch_bytes == 0

    @property
    def all_fetch_bytes(self) -> int:
        """What is to be downloaded, the reference included."""
        return self.fetch_bytes + (self.reference.all_fetch_bytes if self.reference else 0)

    @property
    def all_parameters(self) -> int:
        """Weights that are computed with, the reference's included."""
        return self.parameters + (self.reference.all_parameters if self.reference else 0)

    def memory_bytes(self, dtype: str) -> int:
        """What the weights take in memory in a dtype, the reference's included.

        dtype: "float32", "bfloat16" or "float16".

        >>> Preview("org/name", "", "classifier", "", parameters=8_000_000).memory_bytes("bfloat16")
        16000000
        """
        own = self.weight_bytes if self.is_quantized else self.parameters * BYTES[dtype]
        return own + (self.reference.memory_bytes(dtype) if self.reference else 0)


def preview_of(model: LocatedModel) -> Preview:
    """What is known of a model that was found."""
    spec, config = model.spec, model.config
    if config is None:
        return Preview(spec.name, spec.revision, spec.family, model.why)
    files = weight_files(model.sizes)
    weight_bytes = sum(model.sizes[name] for name in files)
    # As the files say where they are here, else as the Hub says.
    if model.listing is not None and model.listing.missing(files):
        weights = model.listing.weights
    else:
        folder = model.listing.folder if model.listing else Path(spec.folder)
        weights = counted_weights(folder / name for name in files)
    stored = config.get("dtype") or config.get("torch_dtype")
    dtype = main_dtype(weights) or (
        stored.removeprefix("torch.") if isinstance(stored, str) else ""
    )
    numbers = sum(weights.values())
    return Preview(
        name=spec.name,
        revision=spec.revision,
        family=spec.family,
        why=model.why,
        architecture=next(iter(architectures_of(config)), ""),
        weight_bytes=weight_bytes,
        parameters=numbers or weight_bytes // BYTES.get(dtype, _GUESSED_BYTES),
        is_counted=numbers > 0,
        dtype=dtype,
        is_quantized=isinstance(config.get("quantization_config"), dict),
        positions=_number(config, "max_position_embeddings", "n_positions"),
        vocabulary=_number(config, "vocab_size"),
        width=_number(config, "hidden_size", "n_embd", "d_model"),
        layers=_number(config, "num_hidden_layers", "n_layer", "num_layers"),
        own_code=spec.own_code,
        fetch_bytes=sum(
            each.sizes[name]
            for each in (model, model.tokenizer)
            if each is not None and each.listing is not None
            for name in each.listing.missing([*each.sizes])
        ),
        reference=preview_of(model.reference) if model.reference else None,
        tokenizer=model.tokenizer.spec.name if model.tokenizer else "",
    )


def _number(config: dict[str, Any], *names: str) -> int | None:
    """The first of these values that is a whole number above 0, looked for in the parts, too.

    Models of several parts keep the sizes of their language model in "text_config".
    """
    inner = config.get("text_config")
    for part in (config, inner if isinstance(inner, dict) else {}):
        for value in map(part.get, names):
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
