"""Made-up runs, and what their numbers rest on."""

from collections.abc import Sequence
from pathlib import Path

from scoring.record import Run, new_folder
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair

MADE_UP = RunFacts(
    model="org/model", revision="abc", family="classifier", device="cpu", dtype="float32",
    max_length=4096, truncation_side="left", template="own:123", pairs="mine@123", n_pairs=3,
    seed=0,
)  # fmt: skip


def recorded_run(home: Path, facts: RunFacts, rows: Sequence[ScoredPair]) -> Run:
    """A finished run with these rows, which were scored the last first."""
    plan = Plan((tuple(reversed(range(len(rows)))),))
    run = Run.create(new_folder(home), facts, plan, [row.key for row in rows])
    list(run.record([ScoredPack(0, tuple(reversed(rows)), 1)]))
    return run.mark_ended("finished")
