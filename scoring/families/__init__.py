"""Families of reward models: one way of turning pairs into rewards each."""

from collections.abc import Callable

from scoring.engine.scorer import Scorer
from scoring.errors import KnownError
from scoring.spec import BASELINES, ModelSpec, RunSettings


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
