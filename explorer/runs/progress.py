"""How far a run is, as its page is told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from scoring.limits import Step
from scoring.record import Run, Status
from scoring.spec import ScoredPair
from scoring.sure import SureInterval

Stage = Literal["refused", "waiting", "loading", "left"] | Status


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    stage: "refused"; "waiting" for its turn or "loading" before anything is scored; then
        "running", then how it ended; "left" for a run under way that cannot be followed here: it is
        another person's, or another server's.
    total: pairs the run has in all.
    run: None until the model of a new run is loaded.
    scored: every pair so far, in the order they were scored.
    seconds: that scoring them took, also before the run went on; the loading of the model not
        counted.
    message: what went wrong, for the stages "refused" and "failed".
    ahead: people whose turn comes first, while it waits; wait_seconds: how long they will take
        together, None where that is not known.
    step: what the loading is at; None where it does not say.
    sure: how sure the number is that the run is to be sure of; None where it is of none.
    """

    stage: Stage
    total: int
    run: Run | None = None
    scored: tuple[ScoredPair, ...] = ()
    seconds: float = 0.0
    message: str = ""
    ahead: int = 0
    wait_seconds: float | None = None
    step: Step | None = None
    sure: SureInterval | None = None

    @property
    def is_sure(self) -> bool:
        """Whether that is sure enough; the run ends then."""
        return self.sure is not None and self.sure.is_enough

    @property
    def rate(self) -> float | None:
        """Pairs a second; None before the first."""
        return len(self.scored) / self.seconds if self.scored and self.seconds else None

    @property
    def seconds_left(self) -> float | None:
        """How long the pairs that are left will take; None where that is not known."""
        return (self.total - len(self.scored)) / self.rate if self.rate else None


Follow = Callable[[Progress], None]
"""Gets how far a run is, a few times a second; where it raises `Stopped`, the run ends."""
