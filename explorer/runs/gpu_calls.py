"""Scoring where the GPU is lent for one call at a time: ZeroGPU.

Models are placed when the app starts, before any call; calls run in processes that are forked from
this one, of which one may serve several, and find them here. A whole run is one call, since each
waits for a GPU anew. Only sequence classifiers are placed. Elsewhere this is scoring as ever.
"""

from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.core.settings import Settings
from explorer.core.zero_gpu import on_gpu
from explorer.runs.orders import ModelOrder
from scoring.engine.formatting import Prepared
from scoring.engine.scorer import Scorer, Traits, facts
from scoring.errors import KnownError, shown
from scoring.hub.access import Hub
from scoring.models.finding import DEMO_NAME, locate
from scoring.probing.token_rewards import TokenRewards
from scoring.spec import BASELINES, ModelSpec, Pair, Plan, RunSettings, ScoredPack
from scoring.tasks import Ready

if TYPE_CHECKING:
    from scoring.models.loading import Loaded
    from scoring.run import Job

START_SECONDS = 20
"""A call needs for its model to reach the GPU and to be proved on two pairs."""
CALL_SECONDS = 600
FLOPS = 5e13
"""Operations a second that a lent GPU does at least, an eighth of what half an H200 can."""


@dataclass(frozen=True, slots=True)
class _Model:
    """A placed model. parameters: how many."""

    spec: ModelSpec
    loaded: "Loaded"
    parameters: int


_MODELS: dict[str, _Model] = {}
"""Placed models, by what is typed for them; a call that is forked can reach nothing but globals."""
_TRAITS: dict[str, Traits] = {}
"""What was found of placed models on the GPU."""
_OPENED: dict[str, Scorer] = {}
"""In a process that has the GPU: models that are ready to score."""


def place(settings: Settings, hub: Hub) -> None:
    """Place the models that may be used on the GPU, before the first call.

    Raises:
        KnownError: one cannot be had or loaded, or is no sequence classifier.
    """
    from scoring.models.heads import builder_of
    from scoring.models.loading import load

    how = RunSettings(device=settings.device)
    for name in dict.fromkeys((DEMO_NAME, *settings.models)):
        if name in BASELINES:
            continue
        spec = locate(name, settings.model_policy, hub)
        if spec.family != "classifier":
            raise KnownError(
                f"EXPLORER_MODELS names {name}, which is of family {spec.family}; on ZeroGPU only "
                "sequence classifiers are scored with."
            )
        loaded = load(spec, how, builder_of(spec))
        n_parameters = sum(each.numel() for each in loaded.model.parameters())
        _MODELS[name] = _Model(spec, loaded, n_parameters)


class PlacedModel(Scorer):
    """A placed model as this process sees it, which makes pairs ready; calls score them.

    It is used as a model that a worker holds is (`models.WarmModel`), and makes pairs ready as any
    scorer does.
    """

    def __init__(self, order: ModelOrder) -> None:
        """
        Raises:
            KnownError: the model is not placed, or is asked for in a way that it is not.
        """
        kept = _MODELS.get(order.model)
        if kept is None:
            raise KnownError(
                f"{order.model!r} is not on the GPU: {', '.join(_MODELS)} are. Choose one of them."
            )
        if order.url or order.family not in (None, kept.spec.family):
            raise KnownError(
                f"On ZeroGPU {order.model} is scored with here, as the {kept.spec.family} that it "
                f"is. Leave the family ({shown(order.family)} was given) and the server empty."
            )
        apart = order.reading is not None or order.reference or order.tokenizer
        if order.settings.dtype != "auto" or apart:
            raise KnownError(
                "On ZeroGPU models are placed once, in the GPU's own dtype and with one label. "
                "Leave the dtype, labels, reference and tokenizer as they are."
            )
        if order.model not in _TRAITS:
            _TRAITS[order.model] = traits_there(order.model)
        self.spec = kept.spec
        self.name = order.model
        self._job: Job | None = None
        self._formatter = kept.loaded.formatter(order.settings)

    @property
    def traits(self) -> Traits:
        """What its numbers rest on: its path was proved on the GPU, its lengths are this run's."""
        formatter = self._formatter
        length, template = formatter.max_length, formatter.template
        return replace(_TRAITS[self.name], max_length=length, template=template)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Both conversations of each pair as tokens."""
        return self._formatter.prepare(pairs)

    def ready(
        self,
        pairs: Sequence[Pair],
        settings: RunSettings,
        source: str = "",
        selection: str = "",
        wait: Callable[[object], None] = lambda step: None,
    ) -> Ready:
        """As of `models.WarmModel`."""
        from scoring.run import make_job

        wait(None)
        self._job = job = make_job(pairs, self, settings.seed, sample=len(pairs))
        return Ready(
            job.plan, facts(self, settings, source, len(pairs), selection, pairs[0].benchmark)
        )

    def packs(
        self, plan: Plan, done: Collection[int] = (), _: Path | None = None
    ) -> Generator[ScoredPack, None, None]:
        """As of `models.WarmModel`, in one call."""
        if self._job is None:
            raise RuntimeError("nothing was made ready")
        yield from packs_there(self.name, replace(self._job, plan=plan), frozenset(done))

    def token_rewards(
        self, pair: Pair, wait: Callable[[object], None] = lambda step: None
    ) -> TokenRewards:
        """As of `models.WarmModel`; a placed model has none."""
        from scoring.probing.token_rewards import token_rewards

        wait(None)
        return token_rewards(self, pair)


@on_gpu(lambda _: START_SECONDS)
def traits_there(name: str) -> Traits:
    """What the numbers of a placed model rest on: its path is proved where it is."""
    return _opened(name).traits


def packs_seconds(name: str, job: "Job", done: frozenset[int]) -> int:
    """The most that `packs_there` may take: from the tokens that are left and the model's size."""
    left = [pack for place, pack in enumerate(job.plan) if place not in done]
    tokens = sum(job.costs[at] for pack in left for at in pack)
    return min(CALL_SECONDS, START_SECONDS + ceil(2 * tokens * _MODELS[name].parameters / FLOPS))


@on_gpu(packs_seconds)
def packs_there(name: str, job: "Job", done: frozenset[int]) -> Generator[ScoredPack, None, None]:
    """The packs of a job that are not done, as they are scored by a placed model."""
    from scoring.run import score

    yield from score(job, _opened(name), done=done)


def _opened(name: str) -> Scorer:
    if name not in _OPENED:
        from scoring.families.classifier import Classifier

        kept = _MODELS[name]
        # Compiling takes longer than one call repays.
        _OPENED[name] = Classifier(kept.spec, RunSettings(compile="off"), kept.loaded)
    return _OPENED[name]
