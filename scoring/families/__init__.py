"""Families of reward models: one way of turning pairs into rewards each."""

import threading
from collections.abc import Callable
from dataclasses import replace

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.limits import Step, Tell, tell_nobody
from scoring.models.load_steps import loading_told
from scoring.models.memory import give_back, resident_bytes
from scoring.spec import BASELINES, ModelSpec, RunSettings
from scoring.stopping import check_stop


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
    return _maker(spec)(spec, settings)


def _maker(spec: ModelSpec) -> Callable[[ModelSpec, RunSettings], Scorer]:
    if spec.family in BASELINES:
        from scoring.families.baseline import Baseline

        return Baseline
    if spec.family == "served":
        from scoring.families.served import Served

        return Served
    if spec.family in ("judge", "rater"):
        if spec.url:
            from scoring.families.chat import ChatJudge

            return ChatJudge
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


def _loaded(
    spec: ModelSpec, settings: RunSettings, tell: Tell, stop: threading.Event | None
) -> Scorer:
    if not spec.folder:
        return open_scorer(spec, settings)
    tell(Step("loading"))
    with loading_told(tell, stop):
        return open_scorer(spec, settings)


class WarmScorer:
    """Keeps the last model in memory, since most people score one model again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[ModelSpec, RunSettings, Scorer] | None = None
        self._held = 0

    @property
    def held_bytes(self) -> int:
        """About how much of the processors' memory is free once the warm model is let go."""
        return self._held

    def is_warm(self, spec: ModelSpec, settings: RunSettings) -> bool:
        """Whether `get` has this model in memory; it does not wait for one that is loading."""
        kept = self._kept
        return kept is not None and kept[:2] == (spec, _of_model(spec, settings))

    def get(
        self,
        spec: ModelSpec,
        settings: RunSettings,
        *,
        tell: Tell = tell_nobody,
        stop: threading.Event | None = None,
    ) -> Scorer:
        """The model, loaded now unless it is the warm one; the former one is let go first.

        Args:
            spec: from `models.locate`.
            settings: of the run; a model serves runs with any seed.
            tell: is told how far the loading is.
            stop: set it from anywhere to end the loading at the next weight. What is loaded then
                but for its check stays warm.

        Raises:
            Stopped: `stop` is set.
            KnownError: it cannot be loaded, or the settings do not suit its family.
        """
        with self._lock:
            kept = self._kept
            if kept is None or not self.is_warm(spec, settings):
                kept = None
                self._let_go()
                check_stop(stop)
                _maker(spec)  # what is imported for it is not the model's
                before = resident_bytes()
                scorer = _loaded(spec, settings, tell, stop)
                self._kept = kept = (spec, _of_model(spec, settings), scorer)
                self._held = max(0, resident_bytes() - before)
            check_stop(stop)
            return kept[2]

    def release(self) -> None:
        """Let the warm model go, whichever it is; its memory is free then."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        self._kept, self._held = None, 0
        give_back()


def _of_model(spec: ModelSpec, settings: RunSettings) -> RunSettings:
    """The settings that a scorer in memory depends on: the seed is that of a rule alone."""
    return settings if spec.family in BASELINES else replace(settings, seed=RunSettings().seed)
