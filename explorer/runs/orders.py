"""What a person asks to score with, as typed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, get_args

from explorer.core.validation import checked_integer
from scoring.engine.formatting import named_template
from scoring.errors import KnownError, shown
from scoring.families.prompts import prompt_for
from scoring.spec import FAMILIES, Dtype, Family, JudgePrompt, LabelWeights, Pair, RunSettings

_LONGEST_ID = 500
MOST_TOKENS = 1_000_000
MOST_LABELS = 1_000
MOST_REPEATS = 100
LARGEST = 1e18
"""Of a number that is typed."""
MOST_SEED = 2**32 - 1
_STORED = (
    "max_length", "dtype", "seed", "beta", "chat_template", "judge_prompt", "max_tokens",
    "temperature", "repeats",
)  # fmt: skip
_PROMPTS: tuple[JudgePrompt, ...] = get_args(JudgePrompt)
_DTYPES: tuple[Dtype, ...] = get_args(Dtype)


@dataclass(frozen=True, slots=True)
class ModelOrder:
    """A model and how it is to score, before anything is looked up.

    model: "demo", a Hub id, a folder, or the name of a server's model.
    family: how it scores; None means what the catalogue or its config says.
    reference: of a DPO policy; "" for none or what the catalogue knows.
    reading: which of several labels is the reward.
    tokenizer: what lends it a tokenizer; "" for its own.
    url: of the server that runs the model; "" where it runs here.
    """

    model: str
    family: Family | None = None
    reference: str = ""
    reading: LabelWeights | None = None
    tokenizer: str = ""
    url: str = ""
    settings: RunSettings = field(default_factory=RunSettings)

    @classmethod
    def of(cls, values: object) -> "ModelOrder":
        """From what was posted or stored, whatever it is; what is left out is as by default.

        Args:
            values: "model" and maybe "family", "reference", "reading", "tokenizer", "url", and
                "settings" with maybe "max_length", "dtype", "seed",
                "beta", "chat_template", "judge_prompt", "max_tokens", "temperature" and "repeats".

        Raises:
            KnownError: a value is none that is allowed.

        >>> ModelOrder.of({"model": " org/name ", "settings": {"dtype": "bfloat16"}}).settings.dtype
        'bfloat16'
        >>> ModelOrder.of({"model": "demo", "family": "guess"})
        Traceback (most recent call last):
        scoring.errors.KnownError: ...
        """
        if not isinstance(values, Mapping):
            raise KnownError(f"A model is asked for by names with values, not {shown(values)}.")
        how = values.get("settings") or {}
        if not isinstance(how, Mapping):
            raise KnownError(f"Settings are names with values, not {shown(how)}.")
        return cls(
            _name("A model", values.get("model")),
            _among("family", values.get("family") or None, (None, *FAMILIES)),
            _name("A reference model", values.get("reference") or ""),
            _reading(values.get("reading")),
            _name("A tokenizer", values.get("tokenizer") or ""),
            _name("An address", values.get("url") or ""),
            replace(
                RunSettings(),
                max_length=_whole("max length", how.get("max_length"), 1, MOST_TOKENS),
                dtype=_among("dtype", how.get("dtype") or "auto", _DTYPES),
                seed=_whole("seed", how.get("seed"), 0, MOST_SEED) or 0,
                beta=_number("beta", how.get("beta", 1.0)),
                chat_template=_template(how.get("chat_template") or ""),
                judge_prompt=_among(
                    "judge's prompt", how.get("judge_prompt") or _PROMPTS[0], _PROMPTS
                ),
                max_tokens=_whole("number of answer tokens", how.get("max_tokens"), 1, MOST_TOKENS),
                temperature=_temperature(how.get("temperature") or 0.0),
                repeats=_whole("number of repeats", how.get("repeats"), 1, MOST_REPEATS) or 1,
            ),
        )

    def for_pairs(self, pairs: Sequence[Pair]) -> "ModelOrder":
        """The same, with the prompt that upstream's judges have for these pairs."""
        prompt = prompt_for(self.settings.judge_prompt, self.family, self.model, pairs)
        return replace(self, settings=replace(self.settings, judge_prompt=prompt))

    def stored(self) -> dict[str, Any]:
        """As `of` takes it; JSON can hold it."""
        how = {name: getattr(self.settings, name) for name in _STORED}
        return {**asdict(self), "settings": how}


def _name(what: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_ID:
        raise KnownError(
            f"{what} is named by at most {_LONGEST_ID} characters of text, not {shown(value)}."
        )
    return value.strip()


def _among(what: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    if value in allowed:
        return value
    names = ", ".join(str(each) for each in allowed if each is not None)
    raise KnownError(f"The {what} is {shown(value)}; {names} are allowed.")


def _temperature(value: Any) -> float:
    found = _number("temperature", value)
    if found < 0:
        raise KnownError(f"The temperature is {shown(value)}; 0 is the least.")
    return found


def _template(value: object) -> str:
    name = _name("A chat template", value)
    if name:
        named_template(name)
    return name


def _whole(what: str, value: Any, low: int, high: int) -> int | None:
    """None where nothing is said, which a browser says by a 0 once it has shown an empty field."""
    if value in (None, "") or (value == 0 and value is not False and low > 0):
        return None
    return checked_integer(f"The {what}", value, low, high)


def _number(what: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not -LARGEST <= value <= LARGEST:
        raise KnownError(f"The {what} is {shown(value)}; it must be a number.")
    return float(value)


def _reading(value: Any) -> LabelWeights | None:
    """An index, or a weight for each label.

    >>> _reading(2), _reading([1, -0.5]), _reading(""), _reading("0.5, 1"), _reading("3")
    (2, (1.0, -0.5), None, (0.5, 1.0), 3)
    """
    if value is None or value in ("", []):
        return None
    if isinstance(value, str):
        try:
            value = [float(part) for part in value.split(",")]
        except ValueError as error:
            raise KnownError(
                f"A label is its number, or a weight for each with commas, not {shown(value)}."
            ) from error
        if len(value) == 1:
            [value] = value
    if isinstance(value, list | tuple):
        if len(value) > MOST_LABELS:
            raise KnownError(f"There are {len(value):,} weights; at most {MOST_LABELS:,} labels.")
        return tuple(_number("weight of a label", each) for each in value)
    return _whole("label", value, 0, MOST_LABELS)
