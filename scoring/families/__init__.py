"""Families of reward models: one way each of turning pairs into rewards, or a rule without one."""

import random
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import Rewards, Scorer, Traits
from scoring.errors import KnownError
from scoring.families.prompts import OURS
from scoring.models.files import trained_question
from scoring.models.heads import builder_of
from scoring.spec import BASELINES, JUDGES, ModelSpec, RunSettings, text_hash

_CLASSES: dict[str, str] = {
    "classifier": ".classifier.Classifier",
    **dict.fromkeys(("dpo", "logprob-sum", "logprob-mean"), ".dpo.Policy"),
    "pairrm": ".pairrm.PairRM",
    **dict.fromkeys(JUDGES, ".judge.Judge"),
    "served": ".server.Served",
}
_READINGS = {
    "random": "a random number, seeded by the run's seed and the pair's texts",
    "longer": "characters of the response",
    "shorter": "minus the characters of the response",
}


def open_scorer(spec: ModelSpec, settings: RunSettings) -> Scorer:
    """Load or connect a located model, or raise a `KnownError`, also for unsuitable settings."""
    _check_settings(spec, settings)
    scorer: Scorer = _class_of(spec, settings)(spec, settings)
    return scorer


def _class_of(spec: ModelSpec, settings: RunSettings) -> Any:
    name = _CLASSES.get(spec.family, "Baseline")
    if spec.family == "pairrm" and spec.folder and isinstance(builder_of(spec), type):
        name = _CLASSES["classifier"]  # with a head that compares
    if spec.family in JUDGES and spec.url:
        name = ".chat.ChatJudge"
    elif spec.family in JUDGES and settings.judge_prompt not in OURS:
        name = ".judge.WritingJudge"
    module, _, class_name = name.rpartition(".")
    # Imported when it is used, for torch is slow.
    return getattr(import_module(f"{__name__}{module}"), class_name)


def _check_settings(spec: ModelSpec, settings: RunSettings) -> None:
    is_judge, is_here = spec.family in JUDGES, not spec.url
    has_question = is_here and trained_question(spec.name)
    can_write = is_judge and not has_question
    writes = can_write and (not is_here or settings.judge_prompt not in OURS)
    reads_template = is_here and spec.family not in (*BASELINES, "served", "pairrm")
    writing = "judges and raters that write answers"
    with_prompt = f"{writing} (behind a server, or here with a --judge-prompt such as upstream)"
    meanings = {
        "upstream_compatible": (spec.family == "classifier", "classifiers, as of run_rm.py"),
        "beta": (spec.family == "dpo", "models of family dpo"),
        "judge_prompt": (can_write or settings.judge_prompt in OURS, writing),
        "max_tokens": (writes, with_prompt),
        "temperature": (writes, with_prompt),
        "repeats": (writes, with_prompt),
        "truncation_side": (
            not (is_judge and is_here),
            "models that are not asked at the end of their text, which it would cut off",
        ),
        "chat_template": (
            reads_template and not (spec.family == "judge" and has_question),
            "models of this machine that read conversations, not texts or a question of their own",
        ),
    }
    default = RunSettings()
    for name, (is_suitable, models) in meanings.items():
        value = getattr(settings, name)
        if value != getattr(default, name) and not is_suitable:
            option = f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
            raise KnownError(
                f"{option} is for {models}, which {spec.name} (family {spec.family}) is not: leave "
                "it out."
            )
    if settings.repeats > 1 and is_here and not settings.temperature:
        raise KnownError(
            f"--repeats {settings.repeats} asks the same again, and at temperature 0 {spec.name} "
            "writes the same again: give a --temperature above 0, or leave --repeats out."
        )


class Baseline(Scorer):
    """Random, the longer response, or the shorter one."""

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        self.spec = spec
        self._seed = settings.seed
        self._traits = Traits(reading=_READINGS[spec.family], path="no model")

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """As of `Scorer`."""
        pairs = [prepared.pair for prepared in pack]
        if self.spec.family == "random":
            names = [text_hash(p.prompt, p.chosen, p.rejected) for p in pairs]
            coins = [random.Random(f"{self._seed}:{name}") for name in names]  # noqa: S311
            return [(coin.random(), coin.random()) for coin in coins]
        sign = 1 if self.spec.family == "longer" else -1
        return [(float(sign * len(p.chosen)), float(sign * len(p.rejected))) for p in pairs]


def label_weights(spec: ModelSpec, n_labels: int) -> tuple[tuple[float, ...], str]:
    """Return what each label weighs in the reward, and that in words, or raise a `KnownError`."""
    reading = spec.reading
    if reading is None:
        if n_labels != 1:
            raise KnownError(
                f"{spec.name} has {n_labels} labels, and which of them is the reward is not "
                "known: declare one (--label INDEX) or a weight for each (--label-weights W,W,…)."
            )
        return (1.0,), "its one label"
    if isinstance(reading, int):
        if not 0 <= reading < n_labels:
            raise KnownError(
                f"{spec.name} has {n_labels} labels; there is no label {reading} "
                f"(0 to {n_labels - 1} are allowed)."
            )
        weights = tuple(float(label == reading) for label in range(n_labels))
        return weights, f"label {reading} of {n_labels}"
    if len(reading) != n_labels:
        raise KnownError(
            f"{spec.name} has {n_labels} labels, and {len(reading)} weights were given."
        )
    return reading, f"labels weighted {', '.join(f'{weight:g}' for weight in reading)}"
