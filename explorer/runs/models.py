"""Models as they are asked for: looked at, fetched, and the one of them that is warm."""

import threading
import time
from dataclasses import dataclass, replace

from explorer.core.caches import LruCache
from explorer.core.settings import Settings
from explorer.runs.gpu_calls import Placed
from explorer.runs.orders import ModelOrder
from explorer.runs.visitors import Visitor
from scoring.engine.scorer import Scorer
from scoring.families import WarmScorer
from scoring.hub.access import Hub
from scoring.limits import Tell
from scoring.models.devices import Device, FitsOn, placed, present_device
from scoring.models.finding import Asked, Found
from scoring.models.locating import locate
from scoring.models.preview import Preview, preview, previewed
from scoring.models.threads import wait_briefly
from scoring.spec import BASELINES, ModelSpec, RunSettings

SAME_SECONDS = 600.0
"""For how long what a name meant is taken for what it means."""
KEPT = 16


class ModelStore:
    """What a name means, for whom, and the last model that was loaded. Callable from any thread."""

    def __init__(self, settings: Settings, hub: Hub) -> None:
        wait_briefly()
        self._settings = settings
        self._hub = hub
        self._warm = WarmScorer()
        self._previews = LruCache[Preview](KEPT)
        self._known: _Known | None = None

    def preview(self, visitor: Visitor, order: ModelOrder) -> Preview:
        """What is known of a model before its weights are fetched.

        Raises:
            KnownError: there is none, it is not allowed, or no reward model.
        """
        asked = (replace(order, settings=RunSettings()), visitor.token, _minutes())
        return self._previews.get_or_create(
            asked,
            lambda: preview(
                order.model, self._settings.model_policy, self._hub, **_asked(visitor, order)
            ),
        )

    def device(self) -> Device:
        """Where models are computed here, and what is free there."""
        return present_device(self._settings.device, self._warm.held_bytes)

    def settings_of(self, order: ModelOrder, looked: Preview, device: Device) -> RunSettings:
        """How a run would compute: on the owner's device, over all GPUs where one is too small."""
        return placed(self._on_device(order), looked, device)

    def is_warm(self, visitor: Visitor, order: ModelOrder) -> bool:
        """Whether a model is in memory as it is asked for."""
        if self._is_placed(order):
            return True
        known = self._known
        asked = (order, visitor.token)
        return known is not None and known.asked == asked and self._warm.is_warm(*known.meaning)

    def warm(self, visitor: Visitor, order: ModelOrder) -> Scorer | None:
        """The model as it is in memory; None where it is not. Nothing is asked for or loaded."""
        if self._is_placed(order):
            return Placed(order)
        known = self._known
        if known is None or not self.is_warm(visitor, order):
            return None
        return self._warm.get(*known.meaning)

    def load(
        self, visitor: Visitor, order: ModelOrder, tell: Tell, stop: threading.Event
    ) -> Scorer:
        """The model, ready to score: the warm one where it is meant, else loaded now.

        Raises:
            Stopped: `stop` was set.
            KnownError: there is none, it does not fit in memory, or it cannot be loaded.
        """
        if self._is_placed(order):
            return Placed(order)
        asked, known = (order, visitor.token), self._known
        if known is None or known.asked != asked or known.seconds_old > SAME_SECONDS:
            known = _Known(asked, time.monotonic(), self._located(visitor, order, tell, stop))
            # What was to be fetched lies here now.
            self._known, self._previews = known, LruCache(KEPT)
        spec, settings = known.meaning
        return self._warm.get(spec, settings, tell=tell, stop=stop)

    def release(self) -> None:
        """Let the warm model go; its memory is free then."""
        self._warm.release()

    def _is_placed(self, order: ModelOrder) -> bool:
        """Whether it is of the models that ZeroGPU has from the start."""
        return self._settings.zero_gpu and order.model not in BASELINES

    def _on_device(self, order: ModelOrder) -> RunSettings:
        return replace(order.settings, device=self._settings.device)

    def _located(
        self, visitor: Visitor, order: ModelOrder, tell: Tell, stop: threading.Event
    ) -> tuple[ModelSpec, RunSettings]:
        fitting = _Fitting(self.device(), self._on_device(order))
        spec = locate(
            order.model,
            self._settings.model_policy,
            self._hub,
            check=fitting,
            tell=tell,
            stop=stop,
            **_asked(visitor, order),
        )
        return spec, fitting.settings


class _Fitting:
    """The check of `locate` that a model fits; then, how it is placed."""

    def __init__(self, device: Device, settings: RunSettings) -> None:
        self.settings = settings
        self._device = device

    def __call__(self, found: Found) -> None:
        FitsOn(self._device, self.settings)(found)
        self.settings = placed(self.settings, previewed(found), self._device)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was asked for, with whose token, when, by `time.monotonic`, and what it meant."""

    asked: tuple[ModelOrder, object]
    asked_at: float
    meaning: tuple[ModelSpec, RunSettings]

    @property
    def seconds_old(self) -> float:
        """How long ago it was asked."""
        return time.monotonic() - self.asked_at


def _asked(visitor: Visitor, order: ModelOrder) -> Asked:
    return {
        "token": visitor.token,
        "family": order.family,
        "reference": order.reference,
        "reading": order.reading,
        "url": order.url,
    }


def _minutes() -> int:
    """Changes when what a name meant is asked anew."""
    return int(time.monotonic() // SAME_SECONDS)
