"""What a state of the list of pairs shows: which pairs, in which order, how many of each kind."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import randrange
from typing import Literal

import numpy as np

from explorer.core.links import as_dropped, first_dropped
from explorer.data.conditions import condition_of
from explorer.data.facets import FACETS, Mask
from explorer.data.filters import Filtered, LengthRange, matching_rows, select
from explorer.data.library import Library
from explorer.data.search import SeveralNamesError
from explorer.data.sources import DEMO_ID
from explorer.data.table import PairTable, Rows
from explorer.data.tokens import TokenCounter
from explorer.reader.reading import PAGE_ROWS, ListedRows, n_pages, page_holding, resolve_key
from explorer.reader.state import (
    BY_LENGTH,
    BY_OUTCOME,
    OF_OUTCOMES,
    FieldKind,
    PairsState,
    changed,
    margins_written,
)
from explorer.results.field import MAJORITY, OUTCOMES, Doubles, Field
from explorer.results.fields import Fields
from explorer.results.judged import judge_run, judged_rows
from explorer.runs.visitors import Visitor
from explorer.stats.duels import CELLS, cells_of
from explorer.stats.margins import confident_losses, near_misses
from scoring.errors import KnownError
from scoring.hub.access import parse_hub_id

FILES_GONE = (
    "The files you added are no longer here: the server keeps those of a few visitors at a time. "
    "Add them again to see them."
)
NO_TEXTS = (
    "The texts of these pairs are not loaded: results are listed by subset and key. To read "
    "them, open their dataset from the menu at the top."
)


@dataclass(frozen=True, slots=True)
class ScenePairs:
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

    def with_texts(self) -> PairTable:
        """The pairs, for what needs their texts.

        Raises:
            KnownError: these are not at hand.
        """
        if not self.has_texts:
            raise KnownError(NO_TEXTS)
        return self.table


@dataclass(frozen=True, slots=True)
class Scene:
    """What a state shows.

    state: settled: what of it cannot be shown here is gone.
    filtered: what passes its filters and is of its kind.
    listed: the same rows in the order of the list.
    passing: rows that pass, of whatever kind. counts: kind -> how many of these it has.
    key, place, page: of the open pair, "" if there is none; where it stands in the list, from 0,
        None outside; the page of the list, from 1.
    """

    state: PairsState
    pairs: ScenePairs
    filtered: Filtered
    listed: ListedRows
    passing: Rows
    counts: Mapping[str, int]
    key: str
    place: int | None
    page: int

    @property
    def table(self) -> PairTable:
        """The pairs that are looked at."""
        return self.pairs.table

    @property
    def field(self) -> Field | None:
        """What models made of them; None where that is not looked at."""
        return self.pairs.field

    @property
    def model(self) -> str:
        """The model that is looked at; "" for none, or all together."""
        return self.state.model or ""

    @property
    def known(self) -> Field:
        """The same, for what is shown only where it is looked at, else a `KnownError`."""
        if self.pairs.field is None:
            raise KnownError("No outcomes stand beside these pairs. Choose whose first.")
        return self.pairs.field

    @property
    def open_row(self) -> int | None:
        """The row of the open pair; None where none is open."""
        return self.table.row_of(self.key) if self.key else None


@dataclass(frozen=True, slots=True)
class Shown:
    """A scene, and what of its address is not shown.

    dropped: parts of a link. notes: sentences.
    missing: the id of pairs that are not here; "" if they are.
    unread: whether the model's published results are not read yet.
    asked: the state with a search that cannot be used, or a model with results not read yet.
    matching: models with what was typed for one in their names, where there are several.
    """

    scene: Scene
    asked: PairsState
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""
    unread: bool = False
    matching: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenes:
    """Makes what addresses show of the pairs: tables, and what models made of them."""

    library: Library
    counter: TokenCounter
    fields: Fields

    def shown(self, state: PairsState, visitor: Visitor) -> Shown:
        """What a state shows to a visitor, as far as it can be shown here."""
        notes: list[str] = []
        matching: list[str] = []
        wanted = state = self._known(state, visitor, notes, matching)
        results_id = self._results_id(state, visitor)
        unread = bool(state.model) and state.model in self.fields.unread_models(results_id)
        if unread:
            state = state.of(None)
        state, pairs = self._of_model(state, visitor, notes)
        state, dropped = _fitting(state, pairs)
        state = _with_key(state, pairs.table, notes)
        try:
            now = scene(state, pairs)
        except KnownError as error:  # nobody types a search without slips
            notes.append(str(error))
            now = scene(replace(state, words=""), pairs)
        asked = wanted if unread else replace(now.state, words=wanted.words)
        can_fetch = parse_hub_id(wanted.source) is not None  # an address opens no file of ours
        is_missing = can_fetch and self.library.find(wanted.source) is None
        missing = wanted.source if is_missing else ""
        return Shown(now, asked, dropped, tuple(notes), missing, unread, tuple(matching))

    def unless_first(self, query: str) -> str:
        """An address of the Pairs tab, without "?"; "" for all pairs that are shown first."""
        return "" if query == PairsState(self.library.sources.best).query_string else query

    def pairs_of(self, state: PairsState, visitor: Visitor) -> ScenePairs:
        """The pairs of a state; where outcomes are looked at, those that they are of.

        Raises:
            KnownError: they are not here any more, or there is no such model.
        """
        field = self._field_of(state, visitor) if state.outcomes else None
        table = self.library.here(state.source) if field is None else field.table
        for name in {state.tokenizer, *(each.tokenizer for each in state.ranges)}:
            self.counter.known(table, name)  # fetches what is on disk
        crowd = self.fields.crowd(table)
        return ScenePairs(table, field, crowd, partial(self.counter.known, table))

    def where(self, state: PairsState, visitor: Visitor) -> tuple[str | None, str, Visitor]:
        """Which results of which pairs a state is of, and who looks, as `Fields` takes them."""
        return self._results_id(state, visitor), state.source, visitor

    def _results_id(self, state: PairsState, visitor: Visitor) -> str | None:
        return self.fields.results.id_of_files(state.results, visitor.owner)

    def _known(
        self, state: PairsState, visitor: Visitor, notes: list[str], matching: list[str]
    ) -> PairsState:
        """The state with whole names of models and of the demo, without files that are gone."""
        if state.results and self._results_id(state, visitor) is None:
            notes.append(FILES_GONE)
            state = replace(state, results="")
        if state.source == DEMO_ID:
            state = replace(state, source=self.library.open(DEMO_ID).id)
        for name in ("model", "against"):
            if typed := getattr(state, name):
                try:
                    meant = str(self.fields.meant(typed, *self.where(state, visitor)))
                    state = changed(state, {name: meant})
                except KnownError as error:
                    if name == "model" and isinstance(error, SeveralNamesError):
                        matching += error.names
                    else:
                        notes.append(str(error))
                    state = state.of(None) if name == "model" else state.alone()
        return state

    def _of_model(
        self, state: PairsState, visitor: Visitor, notes: list[str]
    ) -> tuple[PairsState, ScenePairs]:
        """The state and its pairs; those of another table where the model's results are of it."""
        is_here = not state.source or self.library.find(state.source) is not None
        elsewhere = f"{state.source[:120]} is not open here, so other pairs are shown"
        if not is_here and not state.outcomes:
            notes.append(elsewhere)
            state = replace(state, source="")
        try:
            pairs = self.pairs_of(state, visitor)
        except KnownError as error:
            notes.append(str(error))
            state = replace(state.of(None), slices=())
            state = state if is_here else state.on("")
            pairs = self.pairs_of(state, visitor)
        if state.source and state.source != pairs.table.id:
            notes.append(
                f"None of these results are of {state.source}, so the pairs they are of are shown "
                "instead."
                if is_here
                else elsewhere
            )
            kinds = {"kind": state.kind, "field_kind": state.field_kind, "model": state.model}
            state = changed(state.on(pairs.table.id), kinds)
        if pairs.field is not None and state.against not in ("", MAJORITY):
            try:
                pairs.field.place(state.against)
            except KnownError as error:
                notes.append(str(error))
                state = state.alone()
        return state, pairs

    def _field_of(self, state: PairsState, visitor: Visitor) -> Field:
        """The field that a model is in; of all together that of the pairs, else the largest."""
        where = self.where(state, visitor)
        if state.model:
            return self.fields.of(state.model, *where)
        for field in self.fields.all(*where):
            if field.table.id == state.source and field.n_models:
                return field
        return self.fields.largest(*where)


def _fitting(state: PairsState, pairs: ScenePairs) -> tuple[PairsState, tuple[str, ...]]:
    """A state as far as it can be shown of pairs, and what of it cannot, as a link says it."""
    table, field, slices = pairs.table, pairs.field, []
    state, dropped = _fitting_judge(state, field)
    if field is None and state.sort.removeprefix("-") in BY_OUTCOME:
        state = replace(state, sort="")
    if field is None and state.panel in OF_OUTCOMES:
        state = replace(state, panel="pairs")
    if state.kind == "failures" and not (field and state.model and field.has_ties(state.model)):
        state = replace(state, kind="losses")
    if not (field and state.model and field.has_rewards(state.model)):
        if state.model and state.kind in ("near", "confident"):
            state = replace(state, kind="losses")
        if state.margins:
            dropped.append(as_dropped("margin", margins_written(state.margins)))
            state = replace(state, margins=None)
    if state.wins and (pairs.crowd is None or pairs.crowd.n_models < 2):
        dropped.append(as_dropped("wins", margins_written(state.wins)))
        state = replace(state, wins=None)
    for each in state.slices:
        try:
            condition_of(table, each)
            slices.append(each)
        except KnownError:
            dropped.append(as_dropped("slice", each))
    state = replace(state, slices=tuple(slices))
    for facet in FACETS:
        known, names = set(table.facets[facet].names), getattr(state, facet)
        dropped += [as_dropped(facet, name) for name in names if name not in known]
        state = changed(state, {facet: tuple(name for name in names if name in known)})
    for kept in state.ranges:
        if kept.unit == "tokens" and not pairs.is_counted(kept.tokenizer):
            dropped.append(
                f"a range of tokens of {kept.tokenizer[:80]}, which have not been counted here"
            )
            state = replace(state, ranges=tuple(each for each in state.ranges if each != kept))
    return replace(state, source=table.id), first_dropped(dropped)


def _fitting_judge(state: PairsState, field: Field | None) -> tuple[PairsState, list[str]]:
    """The same of what its judge wrote."""
    asked = {"verdict": state.verdict, "judge": state.judge_words}
    dropped = [as_dropped(name, value) for name, value in asked.items() if value]
    if not dropped or judge_run(field, state.model or "") is not None:
        return state, []
    return replace(state, verdict="", judge_words=""), dropped


def _with_key(state: PairsState, table: PairTable, notes: list[str]) -> PairsState:
    if not state.key:
        return state
    try:
        return replace(state, key=resolve_key(table, state.key))
    except KnownError as error:
        notes.append(str(error))
        return replace(state, key="")


def scene(state: PairsState, pairs: ScenePairs) -> Scene:
    """What a state shows, whose open pair is in the table.

    Raises:
        KnownError: a model or a condition that the pairs have not, a search that takes too long, or
            a range that needs tokens that were not counted.
    """
    table, field, among = pairs.table, pairs.field, _among(state, pairs)
    counts: dict[str, int] = {}
    kind = state.listed_kind
    if field is None or kind is None:
        filtered = select(table, state.filters, among)
        passing = filtered.rows
    else:
        passing = _passing(state, pairs, among)
        masks = kind_masks(field, state.model or "")
        counts = {each: int(mask[passing].sum()) for each, mask in masks.items()}
        of_kind = masks[kind]
        filtered = select(table, state.filters, of_kind if among is None else among & of_kind)
    listed = ListedRows(table, ordered(state, pairs, filtered.rows))
    state, key, place, page = _opened(state, listed)
    return Scene(state, pairs, filtered, listed, passing, counts, key, place, page)


def _opened(state: PairsState, listed: ListedRows) -> tuple[PairsState, str, int | None, int]:
    """The state without what only leads to a pair; the open pair, its place, the page."""
    key, n = state.key, len(listed)
    kept = listed.place_of(state.keep)
    if state.random and n:  # any but the one that is open, where there is another
        first, steps = (0, n) if kept is None or n == 1 else (kept + 1, n - 1)
        key = listed.key((first + randrange(steps)) % n)  # noqa: S311 - no secret
    elif not key and kept is not None:
        key = state.keep
    page = min(state.page, n_pages(n))
    place = listed.place_of(key)
    if place is not None:
        page = page_holding(place)
    state = replace(state, key=key, keep="", random=False, page=1 if place is not None else page)
    if not key and n:
        first = (page - 1) * PAGE_ROWS
        on_page = range(first, min(first + PAGE_ROWS, n))
        place = next((each for each in on_page if not listed.may_harm(each)), first)
        key = listed.key(place)
    return state, key, place, page


def _passing(state: PairsState, pairs: ScenePairs, among: Mask | None) -> Rows:
    passing = matching_rows(pairs.table, state.filters)
    return passing if among is None else passing[among[passing]]


def rows_with_any(now: Scene, brushed: Literal["margins", "wins"]) -> Rows:
    """The rows that are listed, or would be with any margin or any number of winning models, in
    table order.
    """
    state, kind = changed(now.state, {brushed: None}), now.state.listed_kind
    if state == now.state:
        return now.filtered.rows
    passing = _passing(state, now.pairs, _among(state, now.pairs))
    return passing if kind is None else passing[kind_masks(now.known, now.model)[kind][passing]]


def n_winning(crowd: Field) -> Doubles:
    """How many models win each pair; NaN where fewer than two outcomes are known."""
    hard = crowd.difficulty()
    return np.where(hard.known > 1, hard.known - hard.failed, np.nan)


def rows_without(now: Scene, ranges: Sequence[LengthRange]) -> Rows:
    """The rows that a scene would show without some ranges of lengths, in table order."""
    left = tuple(each for each in now.state.ranges if each not in ranges)
    return scene(replace(now.state, ranges=left), now.pairs).filtered.rows


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
        "failures": of_code["loss"] | of_code["tie"],
        "losses": of_code["loss"],
        "ties": of_code["tie"],
        "missing": of_code["missing"],
        "near": near_misses(chosen, rejected) & ~of_code["win"],
        "confident": confident_losses(chosen, rejected) & of_code["loss"],
        "wins": of_code["win"],
        "all": held,
        **_of_parts(field, model),
    }


def _of_parts(field: Field, model: str) -> dict[str, Mask]:
    """Rows in which a model fails one part of the benchmark's rule and no other."""
    credits_ = field.part_credits(model)
    is_lost = np.zeros((len(field.table), 3), np.bool_) if credits_ is None else credits_ < 1
    alone = is_lost.sum(axis=1) == 1
    return {f"only{at}": lost & alone for at, lost in enumerate(is_lost.T, start=1)}


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


def measured(state: PairsState, pairs: ScenePairs, what: str) -> Doubles:
    """What a list can be sorted by, of each pair; NaN where it is not known.

    "surprise": how far the model is from what the share of the others that win let expect, 0 to 1.
    """
    table, field = pairs.table, pairs.field
    model, length = state.model or "", next((each for each in BY_LENGTH if each == what), None)
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
    surprise: Doubles = np.abs(field.outcomes(model) - (1 - field.difficulty(model).share))
    return surprise


def ordered(state: PairsState, pairs: ScenePairs, rows: Rows) -> Rows:
    """Rows, given in table order, in the order of the list; what is not known comes last."""
    order = list_order(state, pairs.field)
    if not order:
        return rows
    values = measured(state, pairs, order.removeprefix("-"))[rows]
    in_order: Rows = rows[np.argsort(-values if order.startswith("-") else values, kind="stable")]
    return in_order


def _among(state: PairsState, pairs: ScenePairs) -> Mask | None:
    """Pairs that fulfil the conditions, stand in the cell and have one of the margins, of the
    judge's answers and of the numbers of winning models, of whatever kind; None for all.
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
    if field is not None and state.model and (state.verdict or state.judge_words):
        masks.append(judged_rows(field, state.model, state.verdict, state.judge_words))
    if pairs.crowd is not None and state.wins:
        winning, (least, most) = n_winning(pairs.crowd), state.wins
        masks.append(winning >= (0 if least is None else least))
        masks.append(winning <= (np.inf if most is None else most))
    return np.logical_and.reduce(masks) if masks else None
