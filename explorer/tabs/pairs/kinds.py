"""What kind of pairs a model fails: its worst slices, and what it wins under each condition."""

from explorer.core.html import note, render
from explorer.core.text import text
from explorer.data.conditions import KINDS, conditions
from explorer.reader.scene import Scene
from explorer.tabs.pairs.slice_tests import LEAST_RIVALS
from explorer.tabs.pairs.slices import SliceResult, WorstSlices, by_condition, worst_slices

SURPRISING = 0.05

COLUMNS = ("slice", "won", "interval", "others", "expected", "difference", "n", "p")
_OF_TESTS = ("expected", "difference", "p")
"""Columns that are known where slices are tested."""


def kinds_html(now: Scene) -> str:
    """The worst slices of two conditions, then every condition, kind by kind."""
    state, field = now.state, now.known
    if not state.model:
        return note(text("fails.kinds_model"))
    known = conditions(field.table)
    if not field.has_texts:
        known = tuple(each for each in known if each.kind in ("section", "subset"))
    outcome, others = field.outcomes(state.model), field.others(state.model)
    worst = worst_slices(outcome, others, known, clusters=field.clusters)
    results = by_condition(outcome, others, known, clusters=field.clusters)
    by_kind = {
        kind: of_kind
        for kind in KINDS
        if (of_kind := [each for each in results if each.conditions[0].kind == kind])
    }
    columns = [name for name in COLUMNS if worst.tested or name not in _OF_TESTS]
    rivals = f"{worst.rivals:,}"
    return render(
        "tabs/pairs/kinds.html",
        said=_said(worst),
        worst=worst,
        by_kind=by_kind,
        columns=columns,
        heads=[text(f"fails.slice_{name}", rivals=rivals) for name in columns],
        surprise=_surprise,
    )


def _said(worst: WorstSlices) -> str:
    rivals = f"{worst.rivals:,}"
    if not worst.tested:
        return text("fails.few_rivals", least=str(LEAST_RIVALS), rivals=rivals)
    looked_at, n = f"{worst.looked_at:,}", f"{worst.significant:,}"
    return text("fails.worst_about", rivals=rivals, looked_at=looked_at, n=n)


def _surprise(result: SliceResult) -> str:
    """Whether a slice is lost, or won, significantly more often than expected, as a class."""
    difference = result.difference
    if difference is None or result.p_adjusted > SURPRISING:
        return ""
    return "worse" if difference < 0 else "better"
