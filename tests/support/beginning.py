"""Runs of the tests' own, begun as the page begins them."""

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from pathlib import Path

from explorer.data.table import PairTable, Rows
from explorer.runs.orders import ModelOrder
from explorer.runs.progress import Progress
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor
from scoring.engine.scorer import facts
from scoring.errors import Stopped
from scoring.families import open_scorer
from scoring.pairs.opening import as_pairs
from scoring.record import Run, new_folder
from scoring.run import make_job, score
from scoring.spec import ModelSpec, RunSettings
from tests.support.stepping import stepwise


def begun(
    runs: Runs,
    who: str,
    model: object,
    table: PairTable,
    rows: Rows,
    words: str = "",
    *,
    budget: int | None = None,
) -> Generator[Progress, None, None]:
    """A run, which goes on whenever its next progress is asked for.

    who: the page that begins it, and to whom it belongs. budget: tokens of a pack.
    """
    order = small_packs(ModelOrder.of({"model": model}), budget)
    visitor = Visitor(f"browser:{who}", session=who)
    selection = Selection(table, rows, words)
    return stepwise(partial(runs.start, visitor, order, selection))


def small_packs(order: ModelOrder, budget: int | None) -> ModelOrder:
    """The order with so many tokens in a pack, so that few pairs fill several."""
    return replace(order, settings=replace(order.settings, budget=budget))


def finished(runs: Runs, model: object, table: PairTable, rows: Rows) -> Run:
    """A run that went to its end."""
    *_, last = begun(runs, "me", model, table, rows)
    assert last.run is not None and last.stage == "finished"
    return last.run


def stopped(stream: Generator[Progress, None, None]) -> Progress:
    """What a run says last when it is stopped now."""
    return [stream.throw(Stopped("It was stopped.")), *stream][-1]


def baseline_run(home: Path, table: PairTable, n: int, model: str = "baseline/longer") -> Run:
    """A finished run of the first n pairs of a table, by a model that counts characters."""
    pairs = as_pairs(table.arrow, range(n))
    scorer = open_scorer(ModelSpec(model, "", "", "longer"), RunSettings())
    job = make_job(pairs, scorer, 0)
    told = facts(scorer, RunSettings(), table.id, n, "4 of each subset, seed 0")
    made = Run.create(new_folder(home), told, job.plan, [pair.key for pair in pairs])
    list(made.record(score(job, scorer)))
    return made.mark_ended("finished")
