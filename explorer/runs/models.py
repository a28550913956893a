"""Models as they are asked for: looked at, fetched, loaded, and the one of them that is warm.

All of that is done by workers, within limits: one for each look and each download, and one that
holds the warm model and scores with it. With another model comes another worker.
"""

import threading
import time
from collections.abc import Callable, Collection, Generator, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from explorer.core.caches import LruCache
from explorer.core.fetching import LOOK_BYTES, LOOK_SECONDS, fetching
from explorer.core.settings import Settings
from explorer.core.work import repeated
from explorer.core.workers import (
    BYTES_A_CHARACTER,
    GIGABYTE,
    TEXT_BYTES,
    Limit,
    Worker,
    run_in_new_worker,
    text_limit,
)
from explorer.runs.gpu_calls import PlacedModel
from explorer.runs.model_list import resolve_model
from explorer.runs.orders import ModelOrder
from explorer.runs.visitors import Visitor
from scoring.engine.packing import keep_compiled_in
from scoring.errors import KnownError
from scoring.families.server import KEY_VARIABLE
from scoring.hub.access import Hub, Listing, parse_hub_id
from scoring.limits import OnProgress, Step, ignore_progress
from scoring.models.devices import Device, check_fits, chosen_dtype, placed, present_device
from scoring.models.finding import MOST_CONFIG_BYTES, LocatedModel, ModelOptions, fetch_model, find
from scoring.paths import COMPILED
from scoring.probing.token_rewards import TokenRewards
from scoring.spec import BASELINES, JUDGES, ModelSpec, Pair, Plan, RunSettings, ScoredPack
from scoring.tasks import Ready, call, load_model, make_ready, reward_tokens, score_packs

SAME_SECONDS = 600.0
"""For how long what a name meant is taken for what it means."""
_MOST_PREVIEWS = 16
LOOKS_AT_ONCE = 2
LOAD_SECONDS, LOAD_BYTES_A_SECOND = 60.0, 50_000_000
"""What a loading has for all, and for weights besides."""
SCORE_BYTES = 3 * GIGABYTE
"""What a forward pass may need beside the model, where strangers use the server."""
MOST_KEPT = (SCORE_BYTES - TEXT_BYTES) // BYTES_A_CHARACTER
"""Characters for whose tokens there is memory there."""


class WarmModel:
    """A model that a worker holds. One thread at a time may use it: whose turn it is."""

    def __init__(self, worker: Worker, spec: ModelSpec, *, strict: bool, on_cpu: bool) -> None:
        """strict: whether strangers use it. on_cpu: whether its memory is the processors'."""
        self.spec = spec
        self._worker = worker
        self._strict = strict
        self._on_cpu = on_cpu

    def ready(
        self,
        pairs: Sequence[Pair],
        settings: RunSettings,
        source: str = "",
        selection: str = "",
        wait: Callable[[object], None] = lambda step: None,
    ) -> Ready:
        """Make pairs ready to be scored.

        wait: is called a few times a second; where it raises, this ends.

        Where strangers use the server all of them are, within limits: their templates and
        tokenizers may take any time. Else pairs are made ready while others are computed.

        Raises:
            KnownError: the template fails, or limits are met.
        """
        given = (pairs, settings, source, selection, self._strict)
        limit = self._limit("Preparing the pairs", pairs)
        ready: Ready = self._worker.run(make_ready, *given, limit=limit, tell=wait)
        return ready

    def packs(
        self, plan: Plan, done: Collection[int] = (), folder: Path | None = None
    ) -> Generator[ScoredPack | None, None, None]:
        """The packs of what was made ready; None now and then, so that it can be left in between.

        folder: of the run, where a server's answers are kept; None keeps none.

        Raises:
            KnownError: one cannot be scored, or the worker died.
        """
        n_bytes = SCORE_BYTES if self._strict and self._on_cpu else None
        limit = Limit("Scoring", None, n_bytes, self._on_cpu)
        yield from self._worker.stream(score_packs, plan, frozenset(done), folder, limit=limit)

    def token_rewards(
        self, pair: Pair, wait: Callable[[object], None] = lambda step: None
    ) -> TokenRewards:
        """A pair's rewards token by token. wait: as of `ready`.

        Raises:
            KnownError: the model has none, or limits are met.
        """
        limit = self._limit("Computing token rewards", [pair])
        rewards: TokenRewards = self._worker.run(reward_tokens, pair, limit=limit, tell=wait)
        return rewards

    def _limit(self, doing: str, pairs: Sequence[Pair]) -> Limit:
        n = _characters(pairs)
        kept = min(n, MOST_KEPT) if self._strict else n
        return text_limit(doing, n, kept=kept, in_addresses=self._on_cpu)


def _characters(pairs: Sequence[Pair]) -> int:
    """Of the texts that a template is given: the prompt with each response."""
    return sum(
        len(pair.responses) * sum(len(turn.content) for turn in pair.messages)
        + sum(map(len, pair.responses))
        for pair in pairs
    )


class ModelStore:
    """What a name means, for whom, and the last model that was loaded. Callable from any thread."""

    def __init__(self, settings: Settings, hub: Hub) -> None:
        keep_compiled_in(settings.home / COMPILED)
        self._settings = settings
        self._hub = hub
        self._worker = Worker()
        self._kept: tuple[ModelSpec, RunSettings] | None = None
        self._held = 0
        self._previews = LruCache[LocatedModel](_MOST_PREVIEWS)
        self._known: _Known | None = None
        self._looking = threading.Lock()
        self._looks = threading.BoundedSemaphore(LOOKS_AT_ONCE)
        self._device: Device | None = None

    def preview(self, visitor: Visitor, order: ModelOrder) -> LocatedModel:
        """What is known of a model before its weights are fetched.

        Raises:
            KnownError: there is none, it is not allowed, or no reward model.
        """
        return self._previews.get_or_create(
            _previewed(visitor, order), lambda: self._looked(visitor, order)
        )

    def is_previewed(self, visitor: Visitor, order: ModelOrder) -> bool:
        """Whether `preview` answers at once."""
        return _previewed(visitor, order) in self._previews

    def device(self) -> Device:
        """Where models are computed here, and what is free there."""
        if self._settings.zero_gpu:
            return present_device(self._settings.device)
        with self._looking:
            if self._device is None:
                limit = Limit("Inspecting the device", LOOK_SECONDS)
                self._device = run_in_new_worker(
                    call, present_device, self._settings.device, limit=limit
                )
        return self._device.now(self._held)

    def settings_of(self, order: ModelOrder, looked: LocatedModel, device: Device) -> RunSettings:
        """How a run would compute: on the owner's device, over all GPUs where one is too small."""
        return placed(self._on_device(order), looked, device)

    def is_warm(self, visitor: Visitor, order: ModelOrder) -> bool:
        """Whether a model is in memory as it is asked for."""
        if self._is_placed(order):
            return True
        known = self._known
        asked = (order, visitor.token)
        return known is not None and known.asked == asked and self._holds(*known.meaning)

    def warm(self, visitor: Visitor, order: ModelOrder) -> WarmModel | PlacedModel | None:
        """The model as it is in memory; None where it is not. Nothing is asked for or loaded."""
        if self._is_placed(order):
            return PlacedModel(order)
        known = self._known
        if known is None or not self.is_warm(visitor, order):
            return None
        return self._loaded(known.meaning[0])

    def load(
        self, visitor: Visitor, order: ModelOrder, tell: OnProgress = ignore_progress
    ) -> WarmModel | PlacedModel:
        """The model, ready to score: the warm one where it is meant, else loaded now.

        tell: is told each step; where it raises, the loading ends and no model is warm.

        Raises:
            KnownError: there is none, it does not fit in memory, or it cannot be loaded.
        """
        if self._is_placed(order):
            return PlacedModel(order)
        asked, known = (order, visitor.token), self._known
        now = time.monotonic()
        if known is None or known.asked != asked or now - known.asked_at > SAME_SECONDS:
            known = _Known(asked, now, *self._located(visitor, order, tell))
            # What was to be fetched lies here now.
            self._known, self._previews = known, LruCache(_MOST_PREVIEWS)
        spec, settings = known.meaning
        if not self._holds(spec, settings):
            self._load(spec, settings, known.preview, repeated(tell, Step("loading")))
        return self._loaded(spec)

    def release(self) -> None:
        """Let the warm model go; its memory is free then."""
        self._kept, self._held = None, 0
        self._worker.end()

    def _load(
        self,
        spec: ModelSpec,
        settings: RunSettings,
        preview: LocatedModel,
        tell: Callable[[Step | None], None],
    ) -> None:
        self.release()
        # The key is for the servers that the owner named.
        self._worker = Worker(knows=[KEY_VARIABLE] if spec.url else ())
        limit = Limit("Inspecting the device", LOOK_SECONDS)
        given = (present_device, self._settings.device)
        self._device = device = self._worker.run(call, *given, limit=limit, tell=tell)
        before = self._worker.resident_bytes()
        dtype = chosen_dtype(settings.dtype, has_bf16=device.has_bf16, family=preview.spec.family)
        weights = max(preview.memory_bytes(dtype), preview.weight_bytes)
        limit = Limit(
            "Loading the model",
            LOAD_SECONDS + weights / LOAD_BYTES_A_SECOND,
            2 * weights + TEXT_BYTES,
            device.kind == "cpu",
        )
        try:
            self._worker.run(load_model, spec, settings, limit=limit, tell=tell)
        except BaseException:
            self.release()
            raise
        self._kept = (spec, _of_model(spec, settings))
        self._held = max(0, self._worker.resident_bytes() - before)

    def _loaded(self, spec: ModelSpec) -> WarmModel:
        on_cpu = self._device is not None and self._device.kind == "cpu"
        return WarmModel(self._worker, spec, strict=self._settings.public, on_cpu=on_cpu)

    def _holds(self, spec: ModelSpec, settings: RunSettings) -> bool:
        return self._kept == (spec, _of_model(spec, settings)) and self._worker.is_alive()

    def _is_placed(self, order: ModelOrder) -> bool:
        """Whether it is of the models that ZeroGPU has from the start."""
        return self._settings.zero_gpu and order.model not in BASELINES

    def _on_device(self, order: ModelOrder) -> RunSettings:
        return replace(order.settings, device=self._settings.device)

    def _looked(
        self, visitor: Visitor, order: ModelOrder, tell: OnProgress = ignore_progress
    ) -> LocatedModel:
        policy = self._settings.model_policy
        if not order.url:
            order = replace(order, model=resolve_model(order.model, self._settings))
        first = Step("loading")
        if parse_hub_id(order.model.strip()) is not None:
            first = Step("asking")
            self._hub.reachable()
            with suppress(KnownError):
                self._hub.quota.make_room(MOST_CONFIG_BYTES)
        look = partial(find, **_model_options(visitor, order))
        given = (look, order.model, policy, self._hub)
        limit = Limit("Inspecting the model", LOOK_SECONDS, LOOK_BYTES, in_addresses=True)
        told, slots = repeated(tell, first), self._looks
        looked: LocatedModel = run_in_new_worker(
            call, *given, limit=limit, tell=told, online=True, slots=slots
        )
        return looked

    def _located(
        self, visitor: Visitor, order: ModelOrder, tell: OnProgress
    ) -> tuple[tuple[ModelSpec, RunSettings], LocatedModel]:
        model = self._looked(visitor, order, tell)
        device, settings = self.device(), self._on_device(order)
        check_fits(model, device, settings)

        def fetch(listing: Listing, names: Sequence[str]) -> str:
            return fetching(self._hub, listing, names, visitor.token, tell=tell)

        spec = fetch_model(model, self._hub, fetch)
        return (spec, placed(settings, model, device)), model


@dataclass(frozen=True, slots=True)
class _Known:
    """What was asked for, with whose token, when, by `time.monotonic`, and what it meant."""

    asked: tuple[ModelOrder, object]
    asked_at: float
    meaning: tuple[ModelSpec, RunSettings]
    preview: LocatedModel


def _of_model(spec: ModelSpec, settings: RunSettings) -> RunSettings:
    """The settings that a scorer in memory depends on: the seed is that of rules and judges."""
    has_seed = spec.family in (*BASELINES, *JUDGES)
    return settings if has_seed else replace(settings, seed=RunSettings().seed)


def _previewed(visitor: Visitor, order: ModelOrder) -> Hashable:
    """What one preview is of."""
    return replace(order, settings=RunSettings()), visitor.token, time.monotonic() // SAME_SECONDS


def _model_options(visitor: Visitor, order: ModelOrder) -> ModelOptions:
    return {
        "token": visitor.token,
        "family": order.family,
        "reference": order.reference,
        "reading": order.reading,
        "tokenizer": order.tokenizer,
        "url": order.url,
    }
