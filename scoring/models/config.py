"""What a model's config says of it: how it can score, or why it cannot."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import KnownError
from scoring.spec import Family, Reading

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


@dataclass(frozen=True, slots=True)
class Config:
    """A config that was read and allows the model to be scored.

    values: what it holds.
    own_code: whether the model brings Python of its own.
    why: in one sentence, what its family was taken from; "" where the family was given.
    """

    values: dict[str, Any]
    family: Family
    own_code: bool
    why: str

    @property
    def architecture(self) -> str:
        """The first that is named; "" where none is."""
        return next(iter(_architectures(self.values)), "")

    def number(self, *names: str) -> int | None:
        """The first of these values that is a whole number above 0, looked for in the parts, too.

        Models of several parts keep the sizes of their language model in "text_config".
        """
        inner = self.values.get("text_config")
        for part in (self.values, inner if isinstance(inner, dict) else {}):
            for name in names:
                value = part.get(name)
                if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                    return value
        return None

    @property
    def dtype(self) -> str:
        """In which dtype the weights are said to be stored; "" where it is not said."""
        value = self.values.get("dtype") or self.values.get("torch_dtype")
        return value.removeprefix("torch.") if isinstance(value, str) else ""


def read_config(
    path: Path,
    name: str,
    family: Family | None,
    reading: Reading | None,
    *,
    trusted: bool,
) -> Config:
    """Read a config, and refuse before any weights are read what cannot be a reward model here.

    Args:
        path: of config.json.
        name: of the model, for messages.
        family: how it is to score; None means what its architecture speaks for.
        reading: which of several labels is the reward.
        trusted: whether the model's own code may run.

    Raises:
        KnownError: it cannot be read, or the model cannot score so.
    """
    try:
        values = dict(json.loads(path.read_text(encoding="utf-8")))
        architectures = _architectures(values)
        labels = len(dict(values.get("id2label") or {})) or values.get("num_labels", 2)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise KnownError(f"{name} is not a transformers model: no readable config.json.") from error
    own_code = "auto_map" in values
    if own_code and not trusted:
        raise KnownError(f"{name} needs code of its own, which is not run here.")
    why = "" if family else _why(architectures)
    family = family or _recognised(name, architectures)
    kind = _NEEDS[family]
    if architectures and not own_code and not any(kind in each for each in architectures):
        raise KnownError(
            f"{name} is a {', '.join(architectures)}; the family {family} needs a …{kind}…."
        )
    if family == "classifier" and labels != 1 and reading is None:
        raise KnownError(
            f"{name} has {labels} labels; a reward model has one, and which of several would be "
            "the reward is not known unless it is declared (--label or --label-weights)."
        )
    return Config(values, family, own_code, why)


def _architectures(values: dict[str, Any]) -> list[str]:
    return [str(kind) for kind in values.get("architectures") or ()]


def _why(architectures: list[str]) -> str:
    if not architectures:
        return "Its config names no architecture; a sequence classifier is supposed."
    kinds = [kind for family, kind in _KINDS.items() if _NEEDS[family] in architectures[0]]
    return f"Its architecture, {architectures[0][:80]}, is {kinds[0] if kinds else 'its own'}."


def _recognised(name: str, architectures: list[str]) -> Family:
    """The family that an architecture speaks for."""
    for family in ("classifier", "pairrm"):
        if not architectures or any(_NEEDS[family] in each for each in architectures):
            return "classifier" if family == "classifier" else "pairrm"
    if any("CausalLM" in each for each in architectures):
        raise KnownError(
            f"{name} is a {', '.join(architectures)}, which can score in several ways; say which "
            "(family dpo with a reference model, logprob-sum, logprob-mean, judge or rater). "
            "Without a word, only sequence classifiers with one label are scored."
        )
    raise KnownError(
        f"{name} is a {', '.join(architectures)}; sequence classifiers, causal language models "
        "and PairRM are scored."
    )
