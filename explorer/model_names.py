"""What a model's name tells: its size, and the marks that upstream gives it."""

import re
import tomllib
from functools import cache

from explorer.core.settings import ASSETS

MODELS = ASSETS / "models.toml"

# "1_8b" is a size, but "Llama_3_8B" ends in one of 8.
_SIZE = re.compile(
    r"(?:(?<![\w.])[01]_[0-9]{1,3}|(?:(?<![\w.])|(?<=_))[0-9]{1,4}(?:\.[0-9]{1,3})?)([bBmM])"
    r"(?![A-Za-z0-9])",
    re.ASCII,
)

# Archangel's models are called pythia2-8b and llama13b.
_AFTER_FAMILY = re.compile(r"(?:pythia|llama)([0-9]{1,3})(?:-([0-9]))?b(?![A-Za-z0-9])", re.ASCII)


def size_of(model: str) -> float | None:
    """Parameters in 10^9, where the model's name states one size.

    >>> [size_of(name) for name in ("a/RM-13B-v2", "a/internlm2-1_8b-reward", "a/rm-435M")]
    [13.0, 1.8, 0.435]
    >>> size_of("a/archangel_sft-kto_pythia2-8b"), size_of("a/archangel_sft_llama30b")
    (2.8, 30.0)
    >>> [size_of(name) for name in ("70b/rm", "a/Mixtral-8x7B", "a/ppo-13b-uf-70b-rm")]
    [None, None, None]
    """
    name = model.partition("/")[2] or model
    after_family = _AFTER_FAMILY.search(name)
    if after_family:
        return float(f"{after_family[1]}.{after_family[2] or 0}")
    found = {
        float(match[0][:-1].replace("_", ".")) * (0.001 if match[1] in "mM" else 1)
        for match in _SIZE.finditer(name)
    }
    return round(found.pop(), 6) if len(found) == 1 else None


def marks_of(model: str) -> tuple[str, ...]:
    """Upstream's marks of a model."""
    return tuple(mark for mark, models in _marked().items() if model in models)


@cache
def _marked() -> dict[str, frozenset[str]]:
    lists = tomllib.loads(MODELS.read_text(encoding="utf-8"))
    return {mark: frozenset(models) for mark, models in lists.items()}
