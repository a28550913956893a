"""What a state shows of models: a board of them, or a few on the pairs that they share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.core.links import as_dropped
from explorer.core.text import text
from explorer.data.facets import Mask
from explorer.data.search import matching_names
from explorer.data.table import PairTable
from explorer.reader.reading import READER_ACTS, ListedRows, read_on
from explorer.results.board import Board
from explorer.results.boards import SeenBoard
from explorer.results.field import MAJORITY, Doubles, Field
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import V1
from explorer.stats.uncertainty import subsets_by
from explorer.tabs.models.state import FACTS, ModelsState, move, type_of
from scoring.errors import KnownError, shown
from scoring.limits import Step

if TYPE_CHECKING:
    import pandas as pd

MOST_BOARD_ROWS = 300
"""Models that are written to the page; the search finds the others."""
COLUMN_OF = {"type": "model_type"}
"""Columns that a board's table has by another name."""


def columns_of(board: Board, state: ModelsState) -> tuple[str, ...]:
    """The columns of the state's table, hidden ones too."""
    of_sections = state.table == "sections" or state.benchmark == "v2"
    return (*FACTS, *(board.rule.sections if of_sections else board.subsets))


def shown_columns(board: Board, state: ModelsState) -> tuple[str, ...]:
    """The columns that are not hidden."""
    return tuple(column for column in columns_of(board, state) if column not in state.hidden)


def shown_rows(board: Board, state: ModelsState) -> "pd.DataFrame":
    """The rows to show: pinned ones first, then those that pass the filters, in the state's order.

    Raises:
        KnownError: the search cannot be used.
    """
    table = board.table if state.own else board.table[~board.table["own"]]
    pinned = table.index.get_indexer(state.pins)
    pinned = pinned[pinned >= 0]
    passing = np.array(matching_names([*table.index], state.search), np.bool_)
    passing[pinned] = False
    if state.types:
        passing &= table["own"] | table["model_type"].map(type_of).isin(state.types)
    rest = np.flatnonzero(passing)
    column = COLUMN_OF.get(state.sort, state.sort)
    if column in table:  # what has nothing there comes last in either direction
        values = table[column].iloc[rest].set_axis(rest)
        rest = values.sort_values(ascending=state.ascending, kind="stable", key=_folded).index
    return table.take([*pinned, *rest])


def _folded(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Texts without upper and lower case."""
    return column.str.casefold() if column.dtype == object else column


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A board as a state shows it.

    rows: as `shown_rows` gives them.
    tables: gives the pairs whose texts are at hand.
    step: how far it was read and measured just before it was looked at; None where no more is done.
    refused: why not all of it could be; "" where it could.
    """

    state: ModelsState
    seen: SeenBoard
    rows: "pd.DataFrame"
    tables: Callable[[], Sequence[PairTable]]
    step: Step | None = None
    refused: str = ""

    @property
    def board(self) -> Board:
        """What is ranked."""
        return self.seen.board

    @property
    def unread(self) -> int:
        """Files with results of each pair that were not read yet."""
        return self.seen.unread

    def drawn_by_pairs(
        self, matrix: OutcomeMatrix, most: int = MOST_BOARD_ROWS
    ) -> tuple["pd.DataFrame", list[str]]:
        """The rows that are drawn by their outcomes, and what is to be said of the others."""
        rows = self.rows[self.rows["by_pairs"] & self.rows.index.isin(matrix.models)]
        notes = [self.not_read] if self.unread else []
        if without := len(self.rows) - len(rows):
            notes.append(text("chart.without_pairs", n=f"{without:,}"))
        if len(rows) > most:
            notes.append(text("chart.cut", n=f"{most:,}"))
        return rows.head(most), notes

    @property
    def not_read(self) -> str:
        """Why outcomes are missing, and what to do."""
        if not self.unread:
            return text("chart.no_pairs")
        return text("chart.unread", n=f"{self.unread:,}")


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Models beside each other, as a state shows them.

    state: settled.
    outcomes: (models, pairs) of a, of b, and of more; no row where nothing is compared.
    shared: pairs that are known of all of them; all where nothing is compared.
    looked_at: pairs of the section.
    listed: shared pairs of the section that some of them win and others do not; those that a loses
        first, and of these, as of the rest, those that most models of the field win.
    """

    state: ModelsState
    field: Field
    outcomes: Doubles
    shared: Mask
    looked_at: Mask
    listed: ListedRows

    def sought(self, models: Sequence[str]) -> list[str]:
        """Those of some models that are listed: the search finds them, and own runs are wanted."""
        found = zip(models, matching_names(models, self.state.search), strict=True)
        hidden = () if self.state.own else self.field.runs
        return [model for model, yes in found if yes and model not in hidden]


ModelsScene = Ranked | Compared
"""By the panel of its state."""


@dataclass(frozen=True, slots=True)
class ModelsData:
    """The models that a session can look at.

    ranked: gives the board of a state. field_of: gives the field that a model is in, of "" any;
    raises `KnownError` where it is in none.
    """

    ranked: Callable[[ModelsState], Ranked]
    field_of: Callable[[str], Field]


def compared(state: ModelsState, field: Field) -> Compared:
    """What a state shows of a field.

    Raises:
        KnownError: a model that the field has not.
    """
    rows = [field.outcomes(state.a)] if state.a else []
    rows += [field.rival(state.a, other) for other in (state.b, *state.more)] if state.a else []
    outcomes = np.array(rows).reshape(len(rows), len(field.table))
    shared: Mask = np.logical_and.reduce(~np.isnan(outcomes))
    looked_at = in_section(field, state.section)
    wins = outcomes == 1
    differing = np.flatnonzero(shared & looked_at & wins.any(axis=0) & ~wins.all(axis=0))
    if len(differing):
        order = np.lexsort((field.difficulty(state.a).share[differing], wins[0][differing]))
        differing = differing[order]
    listed = ListedRows(field.table, differing)
    source = field.table.id if field.has_texts else ""
    reading = replace(replace(state.reading, page=1).settled(listed), page=1)
    settled = replace(state, source=source, reading=reading)
    return Compared(settled, field, outcomes, shared, looked_at, listed)


def shown_again(state: ModelsState, models: ModelsData) -> tuple[ModelsScene, tuple[str, ...]]:
    """What a state shows, as far as it can be shown here, and what of it cannot, as a link says it.

    Raises:
        KnownError: a search that cannot be used.
    """
    if not state.compares:
        return _on_board(models.ranked(state))
    fitted, dropped = fitting(state, models.field_of)
    return compared(fitted, models.field_of(fitted.a)), dropped


def _on_board(now: Ranked) -> tuple[Ranked, tuple[str, ...]]:
    """A board without what is open or chosen of models that it has not."""
    state, rows = now.state, now.board.rows
    dropped: tuple[str, ...] = ()
    if state.open and state.open not in rows:
        dropped += (as_dropped("model", state.open),)
        state = replace(state, open="")
    if state.ticked and not (state.ticked in rows and rows[state.ticked]["opens"]):
        dropped += (as_dropped("chosen", state.ticked),)
        state = replace(state, ticked="")
    return replace(now, state=state), dropped


def next_scene(
    state: ModelsState, models: ModelsData, act: str, sent: Mapping[str, Any]
) -> ModelsScene:
    """What is shown after one act of a person. sent: what came with it, by anybody.

    Raises:
        KnownError: an act that there is not, a value that it cannot have, or models that have
            results of different pairs.
    """
    field_of = models.field_of
    if state.compares and act in READER_ACTS:
        now = compared(state, _common_field(state, field_of))
        reading = replace(read_on(now.state.reading, now.listed, act, sent.get("value")), page=1)
        return replace(now, state=replace(now.state, reading=reading))
    moved = move(state, act, sent)
    if act == "open" and moved.open not in ("", *models.ranked(moved).board.rows):
        raise KnownError(
            f"There is no model {shown(moved.open)} on this board. Choose another board or model."
        )
    if not moved.compares or not state.compares:
        return shown_again(moved, models)[0]
    if moved.a != state.a:
        field_of(moved.a)  # raises where it has no results
        moved, _ = fitting(moved, field_of)
    field = _common_field(moved, field_of)
    if (moved.named, moved.section) == (state.named, state.section):
        return compared(moved, field)
    now = compared(replace(moved, reading=replace(state.reading, key="")), field)
    # The pair that is read stays where they differ in it still.
    kept = replace(state.reading.anew(now.listed), page=1)
    return replace(now, state=replace(now.state, reading=kept))


def _common_field(state: ModelsState, field_of: Callable[[str], Field]) -> Field:
    """The field that all models of a state are in, or a `KnownError`."""
    field = field_of(state.a)
    for model in (*state.named, *state.members):
        if model not in field.place_of:
            raise _other_pairs(model, field_of(model), state.a, field)
    return field


def fitting(
    state: ModelsState, field_of: Callable[[str], Field]
) -> tuple[ModelsState, tuple[str, ...]]:
    """A state as far as it can be shown here, and what of it cannot, as a link says it."""
    try:
        field = field_of(state.a)
    except KnownError as error:
        return replace(state.alone(), reading=state.reading), (str(error),)
    dropped: list[str] = []
    others: tuple[str, ...] = ()
    for model in (each for each in (state.b, *state.more) if each != MAJORITY):
        if model in field.place_of:
            others += (model,)
        else:
            try:
                dropped.append(str(_other_pairs(model, field_of(model), state.a, field)))
            except KnownError as error:
                dropped.append(str(error))
    members = tuple(each for each in state.members if each in field.place_of)
    dropped += [as_dropped("member", each) for each in state.members if each not in members]
    fitted = replace(state, b=(*others, MAJORITY)[0], more=others[1:], members=members)
    return fitted, tuple(dropped)


def subsets_in(field: Field, section: str) -> tuple[str, ...]:
    """The subsets of the field's pairs that a section of RewardBench has; of "" all."""
    ruled = subsets_by(V1, field.matrix.pairs).names
    names = zip(field.matrix.pairs.names, ruled, strict=True)
    return tuple(name for name, rule in names if not section or V1.section_of(rule) == section)


def in_section(field: Field, section: str) -> Mask:
    """Which pairs of the field are of a section; of "" all."""
    pairs, wanted = field.matrix.pairs, subsets_in(field, section)
    mask: Mask = np.array([name in wanted for name in pairs.names], np.bool_)[pairs.codes]
    return mask


def _other_pairs(model: str, of_model: Field, other: str, of_other: Field) -> KnownError:
    if not other:
        return KnownError(f"Choose a model with results of the same pairs as {shown(model)} first.")
    return KnownError(
        f"{shown(model)} and {shown(other)} have results of different pairs, so they cannot be "
        f"compared: {of_model.table.caption} Against: {of_other.table.caption} "
        "Choose a model with results of the same pairs, or score both on them."
    )
