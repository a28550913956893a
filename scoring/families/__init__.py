"""Families of reward models: one way each of turning pairs into rewards, or a rule without one."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

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
    _check_asking(spec, settings)
    is_judge = spec.family in ("judge", "rater") and not spec.url
    if is_judge and settings.truncation_side == "right":
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
    return _maker(spec, settings)(spec, settings)


def _check_asking(spec: ModelSpec, settings: RunSettings) -> None:
    """Refuse settings of judges that write answers where they have no meaning."""
    default = RunSettings()
    names = ("judge_prompt", "max_tokens", "temperature")
    given = [name for name in names if getattr(settings, name) != getattr(default, name)]
    if not given or (spec.url and spec.family in ("judge", "rater")):
        return
    if spec.family not in ("judge", "rater") or trained_question(spec.name):
        raise KnownError(
            f"--{given[0].replace('_', '-')} is of judges and raters that write answers; "
            f"{spec.name}, a {spec.family}, is read without any."
        )
    if settings.judge_prompt == "probabilities":
        raise KnownError(
            f"--{given[0].replace('_', '-')} is of answers that are written; {spec.name} is read "
            "without any, by the probabilities of labels: give a --judge-prompt, such as upstream."
        )


def keep_answers(scorer: Scorer, folder: Path | None, part: str = "") -> None:
    """Have a judge's answers kept in the folder of a run, so that none is paid for twice.

    folder: None keeps none. part: names the file of one of several processes.

    Raises:
        KnownError: the folder cannot be used.
    """
    if scorer.spec.family in ("judge", "rater"):
        from scoring.families.chat import BaseJudge

        if isinstance(scorer, BaseJudge):
            scorer.keep(folder, part)


def report_answers(scorer: Scorer, tell: Callable[[int, int], None]) -> None:
    """Have it told how many answers of a judge's pack there are, and of how many, as they come."""
    if hasattr(scorer, "tell"):
        scorer.tell = tell


def troubles_of(scorer: Scorer) -> list[str]:
    """What went wrong more than once while it scored, a sentence each."""
    return scorer.troubles.told() if hasattr(scorer, "troubles") else []


def _maker(spec: ModelSpec, settings: RunSettings) -> Callable[[ModelSpec, RunSettings], Scorer]:
    if spec.family in BASELINES:
        return Baseline
    if spec.family == "served":
        from scoring.families.served import Served

        return Served
    if spec.family in ("judge", "rater"):
        if spec.url:
            from scoring.families.chat import ChatJudge

            return ChatJudge
        if settings.judge_prompt != "probabilities":
            from scoring.families.writer import WritingJudge

            return WritingJudge
        from scoring.families.judge import Judge

        return Judge
    if spec.family == "pairrm":
        from scoring.families.pairrm import PairRM

        return PairRM
    if spec.family == "classifier":
        from scoring.families.classifier import Classifier

        return Classifier
    from scoring.families.dpo import Policy

    return Policy


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
