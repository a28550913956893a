"""What a state of the list of pairs shows: which pairs, in which order, how many of each kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from explorer.core.links import as_dropped
from explorer.core.text import text
from explorer.data.conditions import condition_of
from explorer.data.facets import Mask
from explorer.data.filters import Filtered, Filters, matching_rows, select
from explorer.data.library import Library
from explorer.data.table import PairTable, Rows
from explorer.data.tokens import TokenCounter
from explorer.reader.reading import READER_ACTS, ListedRows, read_on
from explorer.reader.session import Session
from explorer.reader.state import (
    BY_LENGTH,
    BY_OUTCOME,
    OF_OUTCOMES,
    FieldKind,
    PairsState,
    fitting,
    margins_written,
    move,
)
from explorer.results.field import MAJORITY, OUTCOMES, Doubles, Field
from explorer.results.fields import Fields
from explorer.stats.duels import CELLS, cells_of
from explorer.stats.margins import confident_losses, near_misses
from scoring.errors import KnownError


@dataclass(frozen=True, slots=True)
class SeenPairs:
    """The pairs that a state is of, and what models made of them.

    field: None where that is not looked at.
    crowd: what published models made of them, where that is known.
    is_counted: whether the tokens of a tokenizer are at hand.
    """

    table: PairTable
    field: Field | None = None
    crowd: Field | None = None
    is_counted: Callable[[str], bool] = lambda _: False

    @property
    def has_texts(self) -> bool:
        """Whether their texts are at hand."""
        return self.field is None or self.field.has_texts


PairsOf = Callable[[PairsState], SeenPairs]
"""Gives the pairs of a state, or a `KnownError` where they or its model's results are not here."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What a state shows.

    state: settled: its page and its open pair are there.
    filtered: what passes its filters and is of its kind.
    listed: the same rows in the order of the list.
    passing: rows that pass, of whatever kind. counts: kind -> how many of these it has.
    """

    state: PairsState
    pairs: SeenPairs
    filtered: Filtered
    listed: ListedRows
    passing: Rows
    counts: Mapping[str, int]

    @property
    def table(self) -> PairTable:
        """The pairs that are looked at."""
        return self.pairs.table

    @property
    def field(self) -> Field | None:
        """What models made of them; None where that is not looked at."""
        return self.pairs.field

    @property
    def known(self) -> Field:
        """The same, for what is shown only where it is looked at, else a `KnownError`."""
        if self.pairs.field is None:
            raise KnownError("No outcomes stand beside these pairs. Choose whose first.")
        return self.pairs.field

    @property
    def open_row(self) -> int | None:
        """The row of the open pair; None where none is open."""
        return self.table.row_of(self.state.reading.key) if self.state.reading.key else None


@dataclass(frozen=True)
class Scenes:
    """Makes what sessions see of the pairs: tables, and what models made of them."""

    library: Library
    counter: TokenCounter
    fields: Fields

    def pairs_of(self, session: Session, state: PairsState) -> SeenPairs:
        """The pairs of a state; where outcomes are looked at, those that they are of.

        Raises:
            KnownError: they are not here any more, or there is no such model.
        """
        field = self._field_of(session, state) if state.outcomes else None
        table = self.library.here(state.source) if field is None else field.table
        for each in state.filters.ranges:
            self.counter.known(table, each.tokenizer)  # fetches what is on disk
        crowd = next((each for each in self.fields.published() if each.table is table), None)
        return SeenPairs(table, field, crowd, partial(self.counter.known, table))

    def of(self, session: Session, state: PairsState) -> Scene:
        """What a state shows to a session; raises as `pairs_of` and `scene`."""
        return scene(state, self.pairs_of(session, state))

    def now(self, session: Session) -> Scene:
        """What a session sees; raises as `of`."""
        return self.of(session, session.seen(PairsState))

    def with_texts(self, session: Session) -> PairTable:
        """The pairs that a session looks at, for what needs their texts.

        Raises:
            KnownError: as of `pairs_of`, or the texts are not at hand.
        """
        pairs = self.pairs_of(session, session.seen(PairsState))
        if not pairs.has_texts:
            raise KnownError(text("fails.no_texts"))
        return pairs.table

    def _field_of(self, session: Session, state: PairsState) -> Field:
        """The field that a model is in; of all together that of the pairs, else the largest."""
        where = session.results_id, state.source, session.visitor
        if state.model:
            return self.fields.of(state.model, *where)
        for field in self.fields.all(*where):
            if field.table.id == state.source and field.n_models:
                return field
        return self.fields.largest(*where)


def scene(state: PairsState, pairs: SeenPairs) -> Scene:
    """What a state shows.

    Raises:
        KnownError: a model or a condition that the pairs have not, a search that takes too long, or
            a range that needs tokens that were not counted.
    """
    table, field, among = pairs.table, pairs.field, _among(state, pairs)
    counts: dict[str, int] = {}
    kind = state.shown_kind
    if field is None or kind is None:
        filtered = select(table, state.filters, among)
        passing = filtered.rows
    else:
        passing = _passing(state, pairs, among)
        masks = kind_masks(field, state.model)
        counts = {each: int(mask[passing].sum()) for each, mask in masks.items()}
        of_kind = masks[kind]
        filtered = select(table, state.filters, of_kind if among is None else among & of_kind)
    listed = ListedRows(table, ordered(state, pairs, filtered.rows))
    panel = "pairs" if field is None and state.panel in OF_OUTCOMES else state.panel
    reading = state.reading.settled(listed)
    settled = replace(state, source=table.id, panel=panel, reading=reading)
    return Scene(settled, pairs, filtered, listed, passing, counts)


def _passing(state: PairsState, pairs: SeenPairs, among: Mask | None) -> Rows:
    passing = matching_rows(pairs.table, state.filters)
    return passing if among is None else passing[among[passing]]


def with_any_margin(now: Scene, field: Field) -> Rows:
    """The rows that are listed, or would be with any margin, in table order."""
    state, kind = replace(now.state, margins=None), now.state.shown_kind
    if now.state.margins is None or kind is None:
        return now.filtered.rows
    passing = _passing(state, now.pairs, _among(state, now.pairs))
    return passing[kind_masks(field, state.model)[kind][passing]]


def next_scene(state: PairsState, pairs_of: PairsOf, act: str, sent: Mapping[str, Any]) -> Scene:
    """What is shown after one act of a person.

    sent: what came with it, by anybody.

    Raises:
        KnownError: an act that there is not, a value that it cannot have, or a search that takes
            too long.
    """
    if act in READER_ACTS:
        now = scene(state, pairs_of(state))
        reading = read_on(now.state.reading, now.listed, act, sent.get("value"))
        return replace(now, state=replace(now.state, reading=reading))
    moved = move(state, act, sent)
    pairs = pairs_of(moved)
    if (moved.outcomes, moved.model) != (state.outcomes, state.model):
        moved = _of_model(moved, pairs)
    if act == "margin" and moved.margins and not _has_margins(moved, pairs):
        raise KnownError(text("fails.rewards_missing"))
    if replace(moved, panel=state.panel, chart=state.chart) == state:
        return scene(moved, pairs)
    now = scene(replace(moved, reading=replace(state.reading, key="", page=1)), pairs)
    if moved.sort != state.sort or (moved.model and not state.model):
        return now
    # The pair that is read stays where it still passes, but the list begins at its first page.
    reading = replace(state.reading.anew(now.listed), page=1)
    return replace(now, state=replace(now.state, reading=reading))


def shown_again(state: PairsState, pairs_of: PairsOf) -> tuple[Scene, tuple[str, ...]]:
    """What a state shows, as far as it can be shown here, and what of it cannot, as a link says it.

    Raises:
        KnownError: as of `scene`.
    """
    dropped: tuple[str, ...] = ()
    try:
        pairs = pairs_of(state)
        if pairs.field is not None and state.against not in ("", MAJORITY):
            pairs.field.place(state.against)
    except KnownError as error:
        dropped = (str(error),)
        state = replace(state.of(None), slices=())
        try:
            pairs = pairs_of(state)
        except KnownError:  # of the results that were looked at, the texts are not at hand
            state = state.on("")
            pairs = pairs_of(state)
        state = _of_model(state, pairs)
    if state.margins and not _has_margins(state, pairs):
        dropped = (*dropped, as_dropped("margin", margins_written(state.margins)))
        state = replace(state, margins=None)
    fitted, left = fitting(state, pairs.table, pairs.is_counted)
    return scene(fitted, pairs), (*dropped, *left)


def at_its_pair(now: Scene) -> Scene:
    """The same with the list turned to the page on which the open pair stands, where it does."""
    reading = now.state.reading
    if now.listed.place_of(reading.key) is None:
        return now
    return replace(now, state=replace(now.state, reading=reading.anew(now.listed)))


def rows_with(now: Scene, filters: Filters) -> Rows:
    """The rows that a scene would show with other filters, in table order."""
    if now.field is None and not now.state.slices:
        return matching_rows(now.table, filters)
    return scene(replace(now.state, filters=filters), now.pairs).filtered.rows


def kind_masks(field: Field, model: str) -> dict[str, Mask]:
    """Kind -> the pairs of it; of all models together where `model` is "".

    "all" are the pairs of the model's file, "missing" those of them without an outcome.
    """
    if not model:
        hard, telling = field.hardest, field.telling
        rows = {"hard": hard, "telling": telling.best, "negative": telling.negative}
        masks = {kind: np.zeros(len(field.table), np.bool_) for kind in rows}
        for kind, of_kind in rows.items():
            masks[kind][of_kind] = True
        return masks | {"every": np.ones(len(field.table), np.bool_)}
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


def list_order(state: PairsState, field: Field | None) -> str:
    """What the list is sorted by: as asked, else what fits what is shown; "" for table order."""
    if state.sort or field is None:
        return state.sort
    if not state.model:
        by_kind: dict[FieldKind, str] = {"telling": "-telling", "negative": "telling"}
        return by_kind.get(state.field_kind, "-difficulty")
    if not field.has_rewards(state.model):
        return "-surprise"
    return "-margin" if state.kind in ("wins", "near") else "margin"


def measured(state: PairsState, pairs: SeenPairs, what: str) -> Doubles:
    """What a list can be sorted by, of each pair; NaN where it is not known.

    "surprise": how far the model is from what the share of the others that win let expect, 0 to 1.
    """
    table, field = pairs.table, pairs.field
    model, length = state.model, next((each for each in BY_LENGTH if each == what), None)
    if length is not None:
        return table.lengths(length, "chars").astype(np.float64)
    if field is not None and what == "difficulty":
        return field.difficulty(model).share
    if field is not None and what == "telling":
        return field.telling.correlation
    if field is None or not model:
        return np.full(len(table), np.nan)
    if what == "margin":
        return field.margins(model)
    surprise: Doubles = np.abs(field.outcomes(model) - field.others_win(model))
    return surprise


def ordered(state: PairsState, pairs: SeenPairs, rows: Rows) -> Rows:
    """Rows, given in table order, in the order of the list; what is not known comes last."""
    order = list_order(state, pairs.field)
    if not order:
        return rows
    values = measured(state, pairs, order.removeprefix("-"))[rows]
    in_order: Rows = rows[np.argsort(-values if order.startswith("-") else values, kind="stable")]
    return in_order


def _among(state: PairsState, pairs: SeenPairs) -> Mask | None:
    """Pairs that fulfil the conditions, stand in the cell and have one of the margins, of whatever
    kind; None for all.
    """
    masks = [condition_of(pairs.table, each).mask for each in state.slices]
    field = pairs.field
    if field is not None and state.model and state.against:
        outcomes, rival = field.outcomes(state.model), field.rival(state.model, state.against)
        masks.append(cells_of(outcomes, rival) == CELLS.index(state.cell))
    if field is not None and state.model and state.margins:
        margins, (low, high) = field.margins(state.model), state.margins
        masks.append(margins >= (-np.inf if low is None else low))
        masks.append(margins <= (np.inf if high is None else high))
    return np.logical_and.reduce(masks) if masks else None


def _has_margins(state: PairsState, pairs: SeenPairs) -> bool:
    """Whether any margin of the model that is looked at is known."""
    return pairs.field is not None and bool(state.model) and pairs.field.has_rewards(state.model)


def _of_model(state: PairsState, pairs: SeenPairs) -> PairsState:
    """A state as far as another model's pairs can show it."""
    field = pairs.field
    if field is None and state.sort.removeprefix("-") in BY_OUTCOME:
        state = replace(state, sort="")
    if state.model and state.kind in ("near", "confident") and not _has_margins(state, pairs):
        state = replace(state, kind="losses")
    if state.source and state.source != pairs.table.id:
        whose = replace(state.on(pairs.table.id), kind=state.kind, field_kind=state.field_kind)
        return replace(whose, outcomes=state.outcomes, model=state.model)
    return state
