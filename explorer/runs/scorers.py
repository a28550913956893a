"""The one model that is warm, and whose turn it is to score with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from explorer.core.settings import Settings
from explorer.runs.gpu_calls import PlacedModel
from explorer.runs.models import ModelStore, WarmModel
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Follow, Progress
from explorer.runs.queue import Queue, Turn
from explorer.runs.quotas import Quotas
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import Step

_POLL_SECONDS = 0.4
"""Between two looks at how far the queue, or a loading, is."""
LEAST_SECONDS = 3.0
"""That a run's turn counts for, however short: what it leaves on the disk stays there."""
BRIEF_SECONDS = 1.0
"""How long what is short waits for others' turns to end."""

USED_UP = "You have used up your scoring time for this hour."


class Scorers:
    """Whoever scores here takes a turn. Callable from any thread."""

    def __init__(self, settings: Settings, hub: Hub) -> None:
        self.models = ModelStore(settings, hub)
        self.quotas = Quotas(settings)
        self._queue = Queue()

    @contextmanager
    def turn(self, visitor: Visitor, *, is_short: bool = False) -> Iterator[Turn]:
        """A place in the queue, until the end of the context.

        is_short: whether it is for a pair and not for a run; nothing of it stays on the disk.

        Raises:
            KnownError: the queue is full, or the visitor has no seconds left in this hour.
        """
        self.quotas.check(visitor)
        owner = visitor.owner or visitor.session
        with self._queue.join(owner, visitor.address, is_short=is_short) as turn:
            try:
                yield turn
            finally:
                if turn.lasted:
                    least = 0.0 if is_short else LEAST_SECONDS
                    self.quotas.spend(visitor, max(least, turn.lasted))

    def ready(
        self, visitor: Visitor, order: ModelOrder, turn: Turn, progress: Progress, tell: Follow
    ) -> WarmModel | PlacedModel:
        """Wait for the turn, then for the model.

        progress: what is told meanwhile, but for its stage.

        Raises:
            KnownError: no such model, it cannot be loaded, or the visitor has no seconds left, or
                uses them up while it is.
        """
        while not turn.wait(_POLL_SECONDS):
            people, seconds = turn.ahead()
            tell(replace(progress, stage="waiting", ahead=people, wait_seconds=seconds))
        self.quotas.check(visitor)
        progress = replace(progress, stage="loading")
        tell(progress)

        def bounded(step: Step) -> None:
            if self.used_up(visitor, turn):
                raise KnownError(USED_UP)
            tell(replace(progress, step=step))

        return self.models.load(visitor, order, bounded)

    @contextmanager
    def brief(self, visitor: Visitor) -> Iterator[Turn]:
        """A turn at once, for what is too short to stand in the queue.

        Raises:
            KnownError: others score, or the visitor has no seconds left.
        """
        self.quotas.check(visitor)
        owner = visitor.owner or visitor.session
        with self._queue.first(owner, BRIEF_SECONDS, visitor.address) as turn:
            try:
                yield turn
            finally:
                self.quotas.spend(visitor, turn.lasted)

    def used_up(self, visitor: Visitor, turn: Turn) -> bool:
        """Whether a turn has taken what its visitor had left of the seconds of this hour."""
        left = self.quotas.left(visitor)
        return left is not None and turn.lasted >= left
