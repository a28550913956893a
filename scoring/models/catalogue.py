"""What is known of some models and does not stand in their files: catalogue.toml."""

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from scoring.spec import Family


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A well-known model; what was not set with the RewardBench board is "" or None.

    reference: the Hub id of a DPO policy's reference model. length: of a sequence, in tokens.
    template: the name of upstream's chat template; "" means the tokenizer's own.
    batch: pairs in a batch; None if upstream has no configuration of it.
    quantized: whether its weights were to be cut to 8 bits. licence: as its card says.
    """

    family: Family
    reference: str = ""
    template: str = ""
    batch: int | None = None
    dtype: str = ""
    length: int | None = None
    quantized: bool = False
    licence: str = ""


@cache
def catalogue() -> dict[str, Any]:
    """The content of catalogue.toml."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def known_models() -> dict[str, KnownModel]:
    """All models by their Hub ids."""
    names = {each.name for each in fields(KnownModel)}
    return {
        model["id"]: KnownModel(**{name: model[name] for name in names & model.keys()})
        for model in catalogue()["models"]
    }


@cache
def board_models() -> dict[str, KnownModel]:
    """Models that upstream has a configuration of, by their Hub ids."""
    return {name: model for name, model in known_models().items() if model.batch is not None}
