"""What a person looks at of a model's failures, as one value, and the steps from it to the next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.core.links import Codec, as_dropped, checked, choice, several, within
from explorer.data.conditions import condition_of
from explorer.data.filters import LONGEST_NAME, Selection, matching_rows, select
from explorer.data.table import Rows
from explorer.reader.reading import ACTS, ListedRows, read_on
from explorer.reader.state import PAIRS_LINK, View, filters_after, fitting
from explorer.results.field import MAJORITY, OUTCOMES, Doubles, Field, Mask, checked_model
from explorer.stats.duels import CELLS, Cell, cells_of
from explorer.stats.margins import confident_losses, near_misses
from scoring.errors import KnownError, shown

Kind = Literal["losses", "ties", "missing", "near", "confident", "wins", "all"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Of one model. "near": losses and ties that were close; "confident": losses that were clear."""
FieldKind = Literal["hard", "telling", "negative", "every"]
FIELD_KINDS: tuple[FieldKind, ...] = get_args(FieldKind)
"""Of all models: pairs that most fail, that tell good models from bad, that may be mislabelled."""
Order = Literal[
    "", "margin", "-margin", "difficulty", "-difficulty", "length", "-length", "surprise",
    "-surprise", "telling", "-telling",
]  # fmt: skip
ORDERS: tuple[Order, ...] = get_args(Order)
"""What the list is sorted by, "-" for the greatest first; "" for what fits the kind."""
Panel = Literal["pairs", "kinds", "rewards"]
PANELS: tuple[Panel, ...] = get_args(Panel)
EVERYTHING = View()
MOST_SLICES = 4
"""Conditions that can be joined."""


@dataclass(frozen=True, slots=True)
class FailView:
    """What the Failures tab shows.

    model: whose failures; "" for all models together.
    kind: of one model; field_kind: of all.
    slices: ids of conditions of which a pair must fulfil all.
    against, cell: pairs that this and another model win or lose so, where `against` names one, or
        `explorer.results.field.MAJORITY`.
    view: filters, and where the person is in the list; its source names the table.
    """

    model: str = ""
    kind: Kind = "losses"
    field_kind: FieldKind = "hard"
    slices: tuple[str, ...] = ()
    order: Order = ""
    against: str = ""
    cell: Cell = "only_b"
    panel: Panel = "pairs"
    view: View = EVERYTHING


@dataclass(frozen=True, slots=True)
class FailScene:
    """What a view shows of its field.

    view: settled. selection: what passes its filters and is of its kind. listed: the same rows in
    the order of the list. passing: rows that pass, of whatever kind. counts: kind -> how many of
    these it has.
    """

    view: FailView
    field: Field
    selection: Selection
    listed: ListedRows
    passing: Rows
    counts: Mapping[str, int]


def fail_scene(view: FailView, field: Field) -> FailScene:
    """What a view shows.

    Raises:
        KnownError: a model or a condition that the field has not, or a search that takes too long.
    """
    kinds = kind_masks(field, view.model)
    base = _base(view, field)
    passing = matching_rows(field.table, view.view.filters)
    passing = passing[base[passing]]
    counts = {kind: int(mask[passing].sum()) for kind, mask in kinds.items()}
    of_kind = base & kinds[view.kind if view.model else view.field_kind]
    selection = select(field.table, view.view.filters, of_kind)
    rows = ordered(view, field, selection.rows)
    listed = ListedRows(field.table, rows)
    reading = view.view.reading.settled(listed)
    settled = replace(view.view, source=field.table.id, reading=reading)
    return FailScene(replace(view, view=settled), field, selection, listed, passing, counts)


def next_fail_scene(
    view: FailView, field_of: Callable[[str], Field], act: str, sent: Mapping[str, Any]
) -> FailScene:
    """What is shown after one act of a person.

    Args:
        view: as it is.
        field_of: the field that a model is in, "" being all of them.
        act: its name.
        sent: what came with it, by anybody.

    Raises:
        KnownError: an act that there is not, or a value that it cannot have.
    """
    if act in ACTS:
        now = fail_scene(view, field_of(view.model))
        reading = read_on(now.view.view.reading, now.listed, act, sent.get("value"))
        return replace(now, view=_reading(now.view, reading))
    moved = move_fails(view, act, sent)
    field = field_of(moved.model)
    if moved.model != view.model:
        moved = _fitting(moved, field)
    if replace(moved, panel=view.panel) == view:
        return fail_scene(moved, field)
    first = replace(view.view.reading, key="", page=1)
    now = fail_scene(_reading(moved, first), field)
    if moved.order != view.order or (moved.model != view.model and not view.model):
        return now
    # The pair that is read stays where it is still in the list, which begins at its first page.
    kept = replace(view.view.reading.anew(now.listed), page=1)
    return replace(now, view=_reading(now.view, kept))


def move_fails(view: FailView, act: str, sent: Mapping[str, Any]) -> FailView:
    """The view after an act that is no step of reading.

    act: "model", "kind", "sort", "panel", "against", "cell" with a `value`; "slice" and "unslice"
        with the id of a condition, "slices" with a list of them; or one of the filters.

    Raises:
        KnownError: an act that there is not, or a value that it cannot have.

    >>> move_fails(FailView(), "slice", {"value": "longer:rejected"}).slices
    ('longer:rejected',)
    """
    value = sent.get("value")
    if act == "model":
        return replace(_without_rival(view), model=checked_model(value))
    if act == "kind":
        return FAIL_LINK.moved(view, "kind" if view.model else "field_kind", value)
    if act in ("sort", "panel", "cell"):
        return FAIL_LINK.moved(view, "order" if act == "sort" else act, value)
    if act == "against":
        rival = checked_model(value)
        return replace(view, against=rival, kind="all") if rival else _without_rival(view)
    if act in ("slice", "unslice"):
        others = tuple(each for each in view.slices if each != value)
        return replace(view, slices=checked_slices((*others, value) if act == "slice" else others))
    if act == "slices":
        return replace(view, slices=checked_slices(value), panel="pairs")
    if act == "reset":
        return FailView(view.model, view.kind, view.field_kind, panel=view.panel)
    return replace(view, view=replace(view.view, filters=filters_after(view.view, act, sent)))


def _without_rival(view: FailView) -> FailView:
    """The view of the model alone."""
    usual = FailView()
    kind = usual.kind if view.against else view.kind
    return replace(view, against=usual.against, cell=usual.cell, kind=kind)


def checked_slices(values: object) -> tuple[str, ...]:
    """Ids of conditions; whether they are of a table, the scene says.

    Raises:
        KnownError: no list of ids, or too many.
    """
    if not isinstance(values, list | tuple) or not all(
        isinstance(each, str) and len(each) <= LONGEST_NAME for each in values
    ):
        raise KnownError(f"Slices are a list of ids, not {shown(values)}.")
    if len(values) > MOST_SLICES:
        raise KnownError(f"{MOST_SLICES} slices can be joined, not {len(values):,}. Drop one.")
    return tuple(dict.fromkeys(values))


def kind_masks(field: Field, model: str) -> dict[str, Mask]:
    """Kind -> the pairs of it; of all models together where `model` is "".

    "all" are the pairs of the model's file, "missing" those of them without an outcome.
    """
    n = len(field.table)
    if not model:
        rows = {
            "hard": field.hardest.rows,
            "telling": field.telling.best,
            "negative": field.telling.negative,
            "every": np.arange(n),
        }
        return {kind: _mask(n, each) for kind, each in rows.items()}
    codes, place = field.codes(model), field.place(model)
    held = field.matrix.held[place]
    chosen, rejected = field.matrix.chosen[place], field.matrix.rejected[place]
    of_code = {outcome: (codes == at) & held for at, outcome in enumerate(OUTCOMES)}
    return {
        "losses": of_code["loss"],
        "ties": of_code["tie"],
        "missing": of_code["missing"],
        "near": near_misses(chosen, rejected) & ~of_code["win"],
        "confident": confident_losses(chosen, rejected) & of_code["loss"],
        "wins": of_code["win"],
        "all": held,
    }


def order_of(view: FailView, field: Field) -> Order:
    """What the list is sorted by: as asked, else what fits what is shown."""
    if view.order:
        return view.order
    if not view.model:
        by_kind: dict[FieldKind, Order] = {"telling": "-telling", "negative": "telling"}
        return by_kind.get(view.field_kind, "-difficulty")
    if not field.has_rewards(view.model):
        return "-surprise"
    return "-margin" if view.kind in ("wins", "near") else "margin"


def measures(view: FailView, field: Field, what: str) -> Doubles:
    """What a list can be sorted by, of each pair; NaN where it is not known.

    "surprise": how far the model is from what the share of the others that win let expect, 0 to 1.
    """
    if what == "difficulty":
        return field.difficulty(view.model).share
    if what == "length":
        return field.table.lengths("difference", "chars").astype(np.float64)
    if what == "telling":
        return field.telling.correlation
    if not view.model:
        return np.full(len(field.table), np.nan)
    if what == "margin":
        return field.margins(view.model)
    surprise: Doubles = np.abs(field.outcomes(view.model) - field.others_win(view.model))
    return surprise


def ordered(view: FailView, field: Field, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows in the order of the list; what is not known comes last."""
    order = order_of(view, field)
    values = measures(view, field, order.removeprefix("-"))[rows]
    ordered: NDArray[np.int64] = rows[
        np.argsort(-values if order.startswith("-") else values, kind="stable")
    ]
    return ordered


def _base(view: FailView, field: Field) -> Mask:
    """Pairs that fulfil the conditions, and stand in the cell, whatever their kind."""
    base = np.ones(len(field.table), np.bool_)
    for each in view.slices:
        base &= condition_of(field.table, each).mask
    if view.model and view.against:
        cells = cells_of(field.outcomes(view.model), field.rival(view.model, view.against))
        base &= cells == CELLS.index(view.cell)
    return base


def fitting_fails(
    view: FailView, field_of: Callable[[str], Field]
) -> tuple[FailView, tuple[str, ...]]:
    """A view as far as it can be shown here, and what of it cannot, as a link says it.

    field_of: the field that a model is in, "" being all of them; raises `KnownError` where none is.
    """
    dropped = []
    try:
        field = field_of(view.model)
        if view.against and view.against != MAJORITY:
            field.place(view.against)
    except KnownError as error:
        dropped.append(str(error))
        view = replace(view, model="", against="", slices=())
        field = field_of("")
    known, gone = [], []
    for each in view.slices:
        try:
            condition_of(field.table, each)
            known.append(each)
        except KnownError:
            gone.append(as_dropped("slice", each))
    fitted, notes = fitting(view.view, field.table, lambda _: False)
    return replace(view, slices=tuple(known), view=fitted), (*dropped, *gone, *notes)


def _fitting(view: FailView, field: Field) -> FailView:
    """A view as far as another model's field can show it."""
    if view.model and view.kind in ("near", "confident") and not field.has_rewards(view.model):
        view = replace(view, kind="losses")
    if view.view.source and view.view.source != field.table.id:
        return replace(view, slices=(), view=view.view.on(field.table.id))
    return view


def _reading(view: FailView, reading: Any) -> FailView:
    return replace(view, view=replace(view.view, reading=reading))


def _mask(n: int, rows: NDArray[np.integer]) -> Mask:
    mask = np.zeros(n, np.bool_)
    mask[rows] = True
    return mask


FAIL_LINK = Codec(
    FailView(),
    (
        checked("model", "model", checked_model),
        choice("show", "kind", KINDS, "A kind"),
        choice("pairs", "field_kind", FIELD_KINDS, "A kind"),
        several("slice", "slices", checked_slices),
        choice("by", "order", ORDERS, "An order"),
        checked("against", "against", checked_model),
        choice("cell", "cell", CELLS, "A cell"),
        choice("part", "panel", PANELS, "A panel"),
        *within("view", PAIRS_LINK.parameters),
    ),
)
"""Such as `model=org/name&show=near&slice=longer:rejected&by=-surprise&pair=hep-rust:7`."""
