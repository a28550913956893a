"""Families of reward models: one way each of turning pairs into rewards, or a rule without one."""

import random
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from scoring.engine.formatting import Prepared
from scoring.engine.scorer import Scorer, TextScorer, Traits
from scoring.errors import KnownError
from scoring.models.files import trained_question
from scoring.spec import BASELINES, ModelSpec, Pair, RunSettings, text_hash


def open_scorer(spec: ModelSpec, settings: RunSettings) -> Scorer:
    """A located model, loaded or connected, ready to score.

    Raises:
        KnownError: it cannot be loaded, or the settings do not suit its family.
    """
    if settings.upstream_compatible and spec.family != "classifier":
        raise KnownError(
            f"Upstream's run_rm.py scores classifiers; {spec.name} is a {spec.family}, which "
            "--upstream-compatible has no meaning for."
        )
    if settings.beta != RunSettings().beta and spec.family != "dpo":
        raise KnownError(f"Beta is of family dpo; {spec.family} has no use for it.")
    is_judge = spec.family in ("judge", "rater")
    default = RunSettings()
    names = ("judge_prompt", "max_tokens", "temperature")
    given = [name for name in names if getattr(settings, name) != getattr(default, name)]
    if given and not (is_judge and spec.url):
        option = f"--{given[0].replace('_', '-')}"
        if not is_judge or trained_question(spec.name):
            raise KnownError(
                f"{option} is of judges and raters that write answers; "
                f"{spec.name}, a {spec.family}, is read without any."
            )
        if settings.judge_prompt == "probabilities":
            raise KnownError(
                f"{option} is of answers that are written; {spec.name} is read without any, by the "
                "probabilities of labels: give a --judge-prompt, such as upstream."
            )
    if is_judge and not spec.url and settings.truncation_side == "right":
        raise KnownError(
            "A judge is asked at the end of its text, which --truncation-side right would cut off. "
            "Leave it at left."
        )
    reads_texts = spec.url or spec.family in (*BASELINES, "served", "pairrm")
    if settings.chat_template and reads_texts:
        raise KnownError(
            f"{spec.name}, a {spec.family}, is given texts and no chat template: leave "
            f"--chat-template {settings.chat_template} out."
        )
    scorer: Scorer = _class_of(spec, settings)(spec, settings)
    return scorer


def _class_of(spec: ModelSpec, settings: RunSettings) -> Any:
    if spec.family in BASELINES:
        return Baseline
    name = _CLASSES[spec.family]
    if spec.family in ("judge", "rater") and spec.url:
        name = "chat.ChatJudge"
    elif spec.family in ("judge", "rater") and settings.judge_prompt != "probabilities":
        name = "writer.WritingJudge"
    module, _, class_name = name.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), class_name)


_CLASSES = {
    "classifier": "classifier.Classifier",
    "dpo": "dpo.Policy",
    "logprob-sum": "dpo.Policy",
    "logprob-mean": "dpo.Policy",
    "pairrm": "pairrm.PairRM",
    "judge": "judge.Judge",
    "rater": "judge.Judge",
    "served": "served.Served",
}
"""Module and class of each family that has a model; imported when it is used, for torch is slow."""


def keep_answers(scorer: Scorer, folder: Path | None, part: str = "") -> None:
    """Keep a judge's answers in the folder of a run, and take those there: none is paid twice.

    folder: None keeps none. part: names the file of one of several processes.

    Raises:
        KnownError: the folder cannot be used.
    """
    if hasattr(scorer, "keep"):
        scorer.keep(folder, part)


def report_answers(scorer: Scorer, on_answers: Callable[[int, int], None]) -> None:
    """Call on_answers with the number of a judge's answers, and of those that its pack needs."""
    if hasattr(scorer, "on_answers"):
        scorer.on_answers = on_answers


def troubles_of(scorer: Scorer) -> list[str]:
    """A sentence on each kind of error that came more than once while it scored."""
    return scorer.errors.sentences() if hasattr(scorer, "errors") else []


_READINGS = {
    "random": "a random number, seeded by the run's seed and the pair's texts",
    "longer": "characters of the response",
    "shorter": "minus the characters of the response",
}


class Baseline(TextScorer):
    """Random, the longer response, or the shorter one."""

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        self.spec = spec
        self._seed = settings.seed
        self.traits = Traits(reading=_READINGS[spec.family], path="no model")

    def rewards(self, pack: Sequence[Prepared]) -> list[tuple[float, float]]:
        """Two numbers a pair."""
        return [self._rewards(prepared.pair) for prepared in pack]

    def _rewards(self, pair: Pair) -> tuple[float, float]:
        if self.spec.family == "random":
            name = text_hash(pair.prompt, pair.chosen, pair.rejected)
            drawn = random.Random(f"{self._seed}:{name}")  # noqa: S311 - a coin, not a secret
            return drawn.random(), drawn.random()
        sign = 1 if self.spec.family == "longer" else -1
        return float(sign * len(pair.chosen)), float(sign * len(pair.rejected))


def label_weights(spec: ModelSpec, n_labels: int) -> tuple[tuple[float, ...], str]:
    """What each label weighs in the reward, and that in words.

    Raises:
        KnownError: there are several labels and no reading, or it does not fit them.
    """
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
