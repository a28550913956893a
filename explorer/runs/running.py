"""Runs of this server: started, followed, stopped, gone on with; their packs scored and kept."""

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from explorer.core.errors import BUG
from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.runs.cards import RunCard, card_of, change_card, serialize_card
from explorer.runs.gpu_calls import PlacedModel
from explorer.runs.live import LiveRuns
from explorer.runs.models import WarmModel
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Follow, Progress
from explorer.runs.scorers import USED_UP, Scorers
from explorer.runs.selections import Selection, selected_by_keys
from explorer.runs.store import RunStore
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError, Stopped, counted, first_line
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.probing.token_rewards import TokenRewards
from scoring.record import Run, Status, locked, new_folder, resume, stored_runs
from scoring.spec import Pair, Plan, RunFacts, ScoredPair
from scoring.summary import tie_worth
from scoring.sure import SequentialMonitor, SureInterval, SureRule
from scoring.tasks import Ready

logger = logging.getLogger(__name__)

NO_PAIRS = (
    "No pairs are selected. Widen the filter on the Pairs tab, or choose a number per subset."
)


def press_to_load(model: str) -> str:
    """What is told where a model would have to be loaded for what is typed."""
    return (
        f"Click Score this pair to load {model[:100]!r}. The rewards below are of the pair scored "
        "last."
    )


@dataclass(frozen=True, slots=True)
class Rewarded:
    """Pairs that were scored without being a run, and what their rewards rest on.

    message: why no more are scored after them; "" where nothing hinders that.
    """

    scored: tuple[ScoredPair, ...]
    facts: RunFacts
    message: str = ""


class Runs:
    """Scoring on this server. One scores at a time, in the order in which they came."""

    def __init__(self, settings: Settings, hub: Hub) -> None:
        self._settings = settings
        self.store = RunStore(settings)
        self.live = LiveRuns(self.store)
        self.scorers = Scorers(settings, hub)

    def start(
        self,
        visitor: Visitor,
        order: ModelOrder,
        selection: Selection,
        tell: Follow,
        sure: SureRule | None = None,
    ) -> None:
        """Score a selection; what is scored is kept on disk.

        Args:
            visitor: to whom the run belongs.
            order: what to score with.
            selection: what to score.
            tell: is told how far it is, at last how it ended.
            sure: ends the run as soon as a number is that sure; None for all pairs.

        Raises:
            KnownError: before anything is scored: too many or no pairs, no such model, or rows of
                several responses where a number is to be sure.
            A run that fails later ends with stage "failed" and keeps its pairs.
        """
        if sure is not None and selection.n_several:
            raise KnownError(
                "Early stopping needs one chosen and one rejected response per row. "
                f"{counted(selection.n_several, 'selected row has', 'selected rows have')} more. "
                "Turn Stop early off, or choose other pairs."
            )
        self._turn(visitor, order, selection, tell, sure=sure)

    def resume(
        self, visitor: Visitor, run_id: object, table_of: Callable[[Run], PairTable], tell: Follow
    ) -> None:
        """Go on with a run that was stopped, failed or killed.

        Args:
            visitor: who asks for it.
            run_id: of the run.
            table_of: gives the pairs of a run, or raises a KnownError where they are not at hand.
            tell: as of `start`.

        Raises:
            KnownError: it is not the visitor's, is whole, is under way, was made
                with other settings than it would go on with; as of `start`.
        """
        run = self.store.opened_own(run_id, visitor)
        card = card_of(run)
        order = card.order
        if run.status == "finished":
            raise KnownError("This run is finished: all its pairs are scored.")
        if card.wrong:
            raise KnownError(card.wrong)
        if order is None:
            raise KnownError(
                "What this run was asked for is not known, so it cannot go on here. Go on with "
                "it on the command line (--resume), or score anew."
            )
        table = table_of(run)
        _, keys = run.plan()
        selection = replace(selected_by_keys(table, keys), words=run.facts.selection)
        with locked(run.folder):
            self._turn(visitor, order, selection, tell, former=run)

    def rewards(
        self,
        visitor: Visitor,
        order: ModelOrder,
        pairs: Sequence[Pair],
        tell: Follow = lambda progress: None,
        *,
        only_warm: bool = False,
    ) -> Rewarded:
        """Score a few pairs at once, without a run.

        tell: is told how far it is once its turn has come. only_warm: whether the model may not be
        loaded.

        Raises:
            KnownError: others score, no such model, it is not warm and may not be loaded, or too
                many pairs.
        """
        order = self._order_for(pairs, order)
        with self.scorers.brief(visitor) as turn:
            loading = Progress("loading", len(pairs))
            tell(loading)
            if only_warm:
                model = self.scorers.models.warm(visitor, order)
                if model is None:
                    raise KnownError(press_to_load(order.model))
            else:
                model = self.scorers.ready(visitor, order, turn, loading, tell)
            running = replace(loading, stage="running")
            ready = model.ready(pairs, order.settings, wait=lambda _: tell(running))
            rows: list[ScoredPair] = []
            with closing(model.packs(ready.plan)) as packs:
                for pack in packs:
                    rows += pack.rows if pack else ()
                    tell(running)
            return Rewarded(tuple(rows), ready.facts)

    def rewarding(
        self,
        visitor: Visitor,
        order: ModelOrder,
        pairs: Sequence[Pair],
        tell: Callable[[Progress | Rewarded], None],
    ) -> None:
        """Score pairs without a run, in turn.

        tell: gets the progress while it waits and loads, then each pack; while one takes long, no
            pairs a few times a second.

        Raises:
            KnownError: no such model, or too many pairs.
        """
        progress, order = Progress("waiting", len(pairs)), self._order_for(pairs, order)
        with self.scorers.turn(visitor) as turn:
            model = self.scorers.ready(visitor, order, turn, progress, tell)
            loading = replace(progress, stage="loading")
            ready = model.ready(pairs, order.settings, wait=lambda _: tell(loading))
            with closing(model.packs(ready.plan)) as packs:
                for pack in packs:
                    rows, used_up = pack.rows if pack else (), self.scorers.used_up(visitor, turn)
                    tell(Rewarded(rows, ready.facts, USED_UP if used_up else ""))
                    if used_up:
                        return

    def token_rewards(
        self, visitor: Visitor, order: ModelOrder, pair: Pair, tell: Follow
    ) -> TokenRewards:
        """A pair's rewards token by token, in turn.

        tell: is told who is served before and how far the loading is.

        Raises:
            KnownError: the model cannot be had, or it has none.
        """
        with self.scorers.turn(visitor, is_short=True) as turn:
            progress = Progress("loading", 1)
            model = self.scorers.ready(visitor, order, turn, progress, tell)
            return model.token_rewards(pair, wait=lambda _: tell(progress))

    def check_pairs(self, n_pairs: int) -> None:
        """Whether so many pairs may be scored at once.

        Raises:
            KnownError: they are too many, or none.
        """
        if not n_pairs:
            raise KnownError(NO_PAIRS)
        most = self._settings.max_pairs
        if most is not None and n_pairs > most:
            raise KnownError(
                f"A run may have {counted(most, 'pair', 'pairs')} here, and {n_pairs:,} are "
                "selected. Narrow the filter, or choose fewer per subset."
            )

    def _order_for(self, pairs: Sequence[Pair], order: ModelOrder) -> ModelOrder:
        """The order as it is for these pairs; raises as `check_pairs`."""
        self.check_pairs(sum((len(pair.responses) + 1) // 2 for pair in pairs))
        return order.for_pairs(pairs)

    def _turn(
        self,
        visitor: Visitor,
        order: ModelOrder,
        selection: Selection,
        tell: Follow,
        *,
        former: Run | None = None,
        sure: SureRule | None = None,
    ) -> None:
        """As of `start`. former: a stored run that goes on, locked; None for a new one."""
        self.check_pairs(selection.n_pairs)
        pairs = as_pairs(selection.table.arrow, selection.rows.tolist())
        order = self._order_for(pairs, order)
        self.scorers.quotas.check(visitor)
        if self._settings.public and not (visitor.owner and visitor.session):
            raise KnownError("The page is still loading. Press again in a moment.")
        progress, seed = Progress("waiting", len(pairs), former), order.settings.seed
        subsets = {pair.key: pair.subset for pair in pairs}
        if sure is not None:
            SequentialMonitor(subsets, seed, sure)  # refuses what cannot be, before anybody waits
        with self.scorers.turn(visitor) as turn:
            try:
                model = self.scorers.ready(visitor, order, turn, progress, tell)
                loading = replace(progress, stage="loading")
                about = selection.table.id, selection.words
                ready = model.ready(pairs, order.settings, *about, lambda _: tell(loading))
            except Stopped:
                tell(replace(progress, stage="stopped"))
                return
            worth = tie_worth(model.spec.family, pairs[0].benchmark)
            watch = None if sure is None else SequentialMonitor(subsets, seed, sure, worth)
            keys = [pair.key for pair in pairs]
            folder = former.folder if former else new_folder(self.store.folder)

            def assess(progress: Progress, newly: Sequence[ScoredPair]) -> Progress:
                turn.seconds = progress.seconds_left
                if self.scorers.used_up(visitor, turn):
                    progress = replace(progress, message=USED_UP)
                return replace(progress, sure=watch.add(newly)) if watch else progress

            with nullcontext() if former else locked(folder):
                if former is None:
                    card = RunCard(visitor.owner, order=order, typed=selection.typed)
                    begun = _begin(folder, ready, keys, card)
                else:
                    begun = _go_on(former, ready, keys)
                try:
                    _record(begun, model, assess, tell)
                finally:
                    if watch:
                        _save_interval(begun.run, watch.now)


@dataclass(frozen=True, slots=True)
class _StartedRun:
    """A run that can be scored: its packs, and those of them that are done."""

    run: Run
    plan: Plan
    done: frozenset[int] = frozenset()


def _begin(folder: Path, ready: Ready, keys: Sequence[str], card: RunCard) -> _StartedRun:
    """A new run of whom its card names.

    folder: its own, locked by the caller. keys: of its pairs, in the order they were made ready.

    Raises:
        KnownError: the disk does not take it; nothing of it is left then.
    """
    newest = next(iter(stored_runs(folder.parent)), None)
    try:
        after = newest.started if newest else 0.0
        about = serialize_card(card)
        run = Run.create(folder, ready.facts, ready.plan, keys, after=after, about=about)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise KnownError(
            f"Runs cannot be kept on this disk: {error.strerror or first_line(error)}. Make room, "
            "or set EXPLORER_HOME to a folder that can be written."
        ) from error
    return _StartedRun(run, ready.plan)


def _go_on(former: Run, ready: Ready, keys: Sequence[str]) -> _StartedRun:
    """A stored run with what is left of its packs; its card says where it went on otherwise.

    Raises:
        KnownError: it is another run than is asked for, or the disk does not take it.
    """
    try:
        run, done, notes = resume(former, ready.facts, keys)
        change_card(
            former,
            lambda card: replace(
                card, sure=None, notes=tuple(dict.fromkeys((*card.notes, *notes)))
            ),
        )
    except OSError as error:
        raise KnownError(
            f"The disk does not take it: {error.strerror or first_line(error)}. Make room."
        ) from error
    return _StartedRun(run, run.plan()[0], frozenset(done))


def _save_interval(run: Run, sure: SureInterval) -> None:
    """Write down how sure a run was at its end; where that fails it stays as it is."""
    try:
        change_card(run, lambda card: replace(card, sure=sure))
    except (OSError, KnownError):
        logger.exception("how sure run %s was could not be written", run.id[:15])


_Assess = Callable[[Progress, Sequence[ScoredPair]], Progress]
"""Gives a progress, of which the latter pairs are new, with what else there is to say of it."""


def _record(
    begun: _StartedRun, model: WarmModel | PlacedModel, assess: _Assess, tell: Follow
) -> None:
    """Score the packs of a run that are not done, each written to disk before it is told of.

    What was scored stays. While a pack takes long, the progress before it is told again.

    Args:
        begun: its pairs are ready in `model`.
        model: what scores.
        assess: is asked after each pack; what is sure or has a message ends there.
        tell: is told at last how the run ended.
    """
    run, plan, done = begun.run, begun.plan, begun.done
    total = sum(map(len, plan))
    before = tuple(run.rows()) if done else ()
    progress = Progress("running", total, run, before, run.seconds)
    status: Status = "stopped"
    started = time.monotonic()
    try:
        if before:
            progress = assess(progress, before)
            tell(progress)
        left = Plan(()) if progress.is_sure or progress.message else plan
        with (
            closing(model.packs(left, done, run.folder)) as packs,
            closing(run.record(packs)) as kept,
        ):
            for pack in kept:
                if pack is None:
                    tell(progress)
                    continue
                scored: tuple[ScoredPair, ...] = progress.scored + pack.rows
                seconds = run.seconds + time.monotonic() - started
                progress = assess(replace(progress, scored=scored, seconds=seconds), pack.rows)
                tell(progress)
                if progress.is_sure or progress.message:
                    break
    except Stopped:
        pass
    except KnownError as error:
        status, progress = "failed", replace(progress, message=str(error))
    except OSError as error:
        message = f"The disk does not take what was scored: {first_line(error)}."
        status, progress = "failed", replace(progress, message=message)
    except Exception:
        status = "failed"
        logger.exception("run %s failed", run.id[:15])
        progress = replace(progress, message=BUG)
    finally:
        if status != "failed" and len(progress.scored) == total:
            status, progress = "finished", replace(progress, message="")
        run = _ended(run, status, progress.seconds)
    tell(replace(progress, stage=status, run=run, seconds=run.seconds))


def _ended(run: Run, status: Status, seconds: float) -> Run:
    """Write down how a run ended; where the disk refuses even that, the page still says it."""
    try:
        return run.mark_ended(status)
    except (OSError, KnownError):
        logger.exception("the end of run %s could not be written", run.id[:15])
        return replace(run, status=status, seconds=seconds)
