"""What a person looks at in the list of pairs, as one value, its link, and the acts that change it.

The list is of pairs alone, or of pairs with what a model, or all models together, made of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal, get_args

from explorer.core.links import (
    Codec,
    Parameter,
    as_dropped,
    checked,
    choice,
    first_dropped,
    flag,
    several,
)
from explorer.core.text import text
from explorer.core.validation import one_of, whole_number
from explorer.data.conditions import condition_of
from explorer.data.facets import FACETS, Facet
from explorer.data.filters import LONGEST_NAME, NO_FILTERS, Filters, LengthRange
from explorer.data.lengths import MEASURED, Measured, measures_of
from explorer.data.search import PLACES, Query, checked_query
from explorer.data.table import UNITS, Measure, PairTable, Unit
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import FIRST_READING, Reading
from explorer.results.field import checked_model
from explorer.stats.duels import CELLS, Cell
from scoring.errors import KnownError, shown

PairsPanel = Literal["pairs", "lengths", "kinds", "rewards", "review", "export"]
PAIRS_PANELS: tuple[PairsPanel, ...] = get_args(PairsPanel)
OF_OUTCOMES: tuple[PairsPanel, ...] = ("kinds", "rewards")
"""Those that there are where outcomes are looked at."""
OutcomeKind = Literal["losses", "ties", "missing", "near", "confident", "wins", "all"]
OUTCOME_KINDS: tuple[OutcomeKind, ...] = get_args(OutcomeKind)
"""Of one model. "near": losses and ties that were close; "confident": losses that were clear."""
FieldKind = Literal["hard", "telling", "negative", "every"]
FIELD_KINDS: tuple[FieldKind, ...] = get_args(FieldKind)
"""Of all models: pairs that most fail, that tell good models from bad, that may be mislabelled."""
BY_LENGTH: tuple[Measure, ...] = ("chosen", "rejected", "difference")
"""What any list can be sorted by: characters."""
BY_OUTCOME = ("margin", "difficulty", "surprise", "telling")
"""What one can with outcomes of models."""
SORTS = ("", *(f"{sign}{each}" for each in (*BY_LENGTH, *BY_OUTCOME) for sign in ("", "-")))
"""The order of the list, "-" for the greatest first; "" for what fits."""
Margins = tuple[float | None, float | None]
"""The least and the greatest margin to keep, both among them; None leaves that end open."""
_MOST_PINNED = 4
"""Conditions that can be joined."""
MOST_PAGES = 10**7


@dataclass(frozen=True, slots=True)
class Chart:
    """What the lengths panel draws.

    tokenizer: the one whose tokens were counted, as `PairTable.tokens` names it; "" for none yet.
    """

    shown: Measured = "responses"
    unit: Unit = "chars"
    by_subset: bool = False
    tokenizer: str = ""


@dataclass(frozen=True, slots=True)
class PairsState:
    """What is looked at of the pairs.

    source: `PairTable.id`; "" for the best there is.
    slices: ids of conditions of which a pair must fulfil all.
    sort: one of `SORTS`.
    outcomes: whether what models made of the pairs stands beside them; else what follows has no
        meaning.
    model: whose; "" for those of all models together.
    kind: which pairs of one model; field_kind: of all.
    margins: of that model, which pairs must have; None for any, or none.
    against, cell: pairs that this and another model win or lose so, where `against` names one, or
        `explorer.results.field.MAJORITY`.
    """

    source: str = ""
    filters: Filters = NO_FILTERS
    slices: tuple[str, ...] = ()
    sort: str = ""
    reading: Reading = FIRST_READING
    panel: PairsPanel = "pairs"
    chart: Chart = Chart()
    outcomes: bool = False
    model: str = ""
    kind: OutcomeKind = "losses"
    field_kind: FieldKind = "hard"
    margins: Margins | None = None
    against: str = ""
    cell: Cell = "only_b"

    @property
    def shown_kind(self) -> OutcomeKind | FieldKind | None:
        """Which pairs are listed by what models made of them; None where that has no say."""
        if not self.outcomes:
            return None
        return self.kind if self.model else self.field_kind

    def on(self, source: str) -> "PairsState":
        """The same of another table, as far as it makes sense there: nothing picked or open."""
        reading = replace(self.reading, key="", page=1)
        return PairsState(
            source, sort=self.sort, reading=reading, panel=self.panel, chart=self.chart
        )

    def of(self, model: str | None) -> "PairsState":
        """The same with the outcomes of another model, of all, or of none."""
        alone = replace(self.alone(), outcomes=model is not None, model=model or "", margins=None)
        return replace(alone, kind="losses") if self.against else alone

    @property
    def listed_link(self) -> str:
        """What of it says which pairs are listed, in which order, as a link."""
        usual = PairsState()
        named = replace(self, reading=usual.reading, panel=usual.panel, chart=usual.chart)
        return PAIRS_LINK.encode(named)

    def alone(self) -> "PairsState":
        """The same beside no other model."""
        return replace(self, against="", cell="only_b")


def fitting(
    state: PairsState, table: PairTable, counted: Callable[[str], bool]
) -> tuple[PairsState, tuple[str, ...]]:
    """A state as far as it can be shown of a table, and what of it cannot, as a link says it.

    counted: whether the tokens of a tokenizer are at hand.
    """
    key, filters = state.reading.key, state.filters
    dropped = [as_dropped("pair", key)] if key and table.row_of(key) is None else []
    slices = []
    for each in state.slices:
        try:
            condition_of(table, each)
            slices.append(each)
        except KnownError:
            dropped.append(as_dropped("slice", each))
    for facet, names in filters.picked:
        known = set(table.facets[facet].names)
        dropped += [as_dropped(facet, name) for name in names if name not in known]
        filters = filters.picking(facet, [name for name in names if name in known])
    for kept in filters.ranges:
        if kept.unit == "tokens" and not counted(kept.tokenizer):
            dropped.append(text("filter.no_tokens", tokenizer=kept.tokenizer[:80]))
            filters = filters.without_range(kept)
    fitted = replace(state, source=table.id, filters=filters, slices=tuple(slices))
    return fitted, first_dropped(dropped)


def move(state: PairsState, act: str, sent: Mapping[str, Any]) -> PairsState:
    """The state after an act that is no step of reading.

    act: "sort", "panel", "model", "kind", "against", "cell" with a `value`; "margin" with a `low`
        and a `high`, of which what is not sent is open; "slice" and "unslice"
        with the id of a condition, "slices" with a list of them; "chart", "reset", or an act on the
        filters: "pick", "unpick", "search", "range", "unrange".
    sent: what came with it, by anybody.

    Raises:
        KnownError: an act that there is not, or a value that it cannot have.
    """
    value = sent.get("value")
    if act in ("sort", "panel", "cell"):
        return PAIRS_LINK.moved(state, act, value)
    if act == "chart":
        return _chart_after(state, sent)
    if act == "model":
        return state.of(None if value is None else checked_model(value))
    if act == "kind" and state.model:
        return replace(state, kind=one_of("A kind", OUTCOME_KINDS, value))
    if act == "kind":
        return replace(state, field_kind=one_of("A kind", FIELD_KINDS, value))
    if act == "against":
        rival = checked_model(value)
        if not rival:
            return replace(state.of(state.model), margins=state.margins)
        return replace(state, against=rival, kind="all")
    if act == "margin":
        return replace(state, margins=_checked_margins(sent.get("low"), sent.get("high")))
    if act in ("slice", "unslice"):
        others = tuple(each for each in state.slices if each != value)
        wanted = (*others, value) if act == "slice" else others
        return replace(state, slices=_checked_slices(wanted))
    if act == "slices":
        return replace(state, slices=_checked_slices(value), panel="pairs")
    if act == "reset":
        return replace(state.alone(), filters=NO_FILTERS, slices=(), margins=None)
    return replace(state, filters=_filters_after(state, act, sent))


def _checked_margins(low: object, high: object) -> Margins | None:
    """Margins between two ends that anybody may have sent; None where both are open.

    Raises:
        KnownError: an end is no number, or they are the wrong way round.
    """
    ends = _margin(low), _margin(high)
    if None not in ends and ends[0] > ends[1]:  # type: ignore[operator]
        raise KnownError(f"Margins cannot go from {shown(low)} to {shown(high)}.")
    return None if ends == (None, None) else ends


def _margin(value: object) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value) if isinstance(value, str | int | float) else float("nan")
    except (ValueError, OverflowError):
        number = float("nan")
    if not isfinite(number) or isinstance(value, bool):
        raise KnownError(f"A margin is a number, not {shown(value)}.")
    return number


def _checked_slices(values: object) -> tuple[str, ...]:
    """Ids of conditions; whether they are of a table, the scene says."""
    if not isinstance(values, list | tuple) or not all(
        isinstance(each, str) and len(each) <= LONGEST_NAME for each in values
    ):
        raise KnownError(f"Slices are a list of ids, not {shown(values)}.")
    if len(values) > _MOST_PINNED:
        raise KnownError(f"{_MOST_PINNED} slices can be joined, not {len(values):,}. Drop one.")
    return tuple(dict.fromkeys(values))


_TOGETHER: dict[str, Facet] = {"section": "subset", "subset": "section"}
"""Facets that are ticked as one: whole sections, or some of their subsets."""


def _filters_after(state: PairsState, act: str, values: Mapping[str, Any]) -> Filters:
    filters = state.filters
    if act == "pick":
        facet, names = values.get("facet"), values.get("names")
        if other := _TOGETHER.get(facet) if isinstance(facet, str) else None:
            filters = filters.picking(other, ())
        return filters.picking(facet, names)
    if act == "unpick":
        facet, gone = values.get("facet"), values.get("names", [values.get("name")])
        if not isinstance(gone, list):
            raise KnownError(f"What is unpicked must be a list of names, not {shown(gone)}.")
        picked = next((names for each, names in filters.picked if each == facet), ())
        return filters.picking(facet, [each for each in picked if each not in gone])
    if act == "search":
        names = ("words", "where", "regex", "case")
        asked = [values.get(name, getattr(filters.query, name)) for name in names]
        return replace(filters, query=checked_query(*asked))
    if act == "range":
        measure = values.get("measure")
        for each in measures_of(state.chart.shown) if measure is None else (measure,):
            ends = values.get("low"), values.get("high")
            chart = state.chart
            filters = filters.keeping(LengthRange.of(each, chart.unit, *ends, chart.tokenizer))
        subset = values.get("subset")
        return filters if subset is None else filters.picking("subset", [subset])
    if act == "unrange":
        return filters.without_range(
            LengthRange.of(values.get("measure"), values.get("unit"), 0, None, "")
        )
    raise KnownError(f"There is no act {shown(act)}.")


def _chart_after(state: PairsState, values: Mapping[str, Any]) -> PairsState:
    for name in ("shown", "unit"):
        if name in values:
            state = PAIRS_LINK.moved(state, f"chart.{name}", values[name])
    by_subset = values.get("by_subset", state.chart.by_subset) is True
    return replace(state, chart=replace(state.chart, by_subset=by_subset))


def _name(value: str) -> str:
    if len(value) > LONGEST_NAME:
        raise ValueError(value)
    return value


def _page(value: str) -> int:
    return whole_number("A page", int(value), 1, MOST_PAGES)


def _picked(facet: Facet) -> Parameter:
    return Parameter(
        facet,
        "filters",
        lambda filters, name: filters.picking(facet, (*filters.names(facet), name)),
        lambda filters: filters.names(facet),
    )


def _searched(query: Query, words: str) -> Query:
    return checked_query(words, query.where, query.regex, query.case)


def _ranged(filters: Filters, value: str) -> Filters:
    measure, unit, low, high, *tokenizer = value.split(".", 4)
    ends = (int(low) if low else None, int(high) if high else None)
    return filters.keeping(LengthRange.of(measure, unit, *ends, "".join(tokenizer)))


def _range_written(one: LengthRange) -> str:
    """`chosen.chars.10.200`, an open end empty, a tokenizer last."""
    ends = ["" if end is None else str(end) for end in (one.low, one.high)]
    return ".".join([one.measure, one.unit, *ends, *([one.tokenizer] if one.tokenizer else [])])


def _margins_read(value: str) -> Margins:
    low, high = value.split(":")
    found = _checked_margins(low, high)
    if found is None:
        raise ValueError(value)
    return found


def margins_written(margins: Margins) -> str:
    """`-0.5:1.25`, an open end empty."""
    return ":".join("" if end is None else repr(end).removesuffix(".0") for end in margins)


def _with_model(state: PairsState, name: str) -> PairsState:
    return replace(state, outcomes=True, model=checked_model(name))


def _once_called(name: str, path: str, options: Mapping[str, str]) -> Parameter:
    """A name that links once had for a value: it is read, and written no more."""
    return Parameter(name, path, lambda _, value: options[value], lambda _: ())


_BY = {each: each for each in SORTS} | {"length": "difference", "-length": "-difference"}

PAIRS_LINK = Codec(
    PairsState(),
    (
        Parameter("model", "", _with_model, lambda state: [state.model] * state.outcomes),
        choice("show", "kind", OUTCOME_KINDS),
        choice("pairs", "field_kind", FIELD_KINDS),
        Parameter(
            "margin",
            "margins",
            lambda _, value: _margins_read(value),
            lambda margins: [margins_written(margins)] if margins else [],
        ),
        several("slice", "slices", _checked_slices),
        checked("against", "against", checked_model),
        choice("cell", "cell", CELLS, "A cell"),
        checked("source", "source", _name),
        *map(_picked, FACETS),
        Parameter("q", "filters.query", _searched, lambda query: (query.words,), last=True),
        choice("in", "filters.query.where", PLACES),
        flag("regex", "filters.query.regex"),
        flag("case", "filters.query.case"),
        Parameter("range", "filters", _ranged, lambda filters: map(_range_written, filters.ranges)),
        choice("sort", "sort", SORTS, "An order"),
        _once_called("by", "sort", _BY),
        checked("list-page", "reading.page", _page),
        checked("pair", "reading.key", _name),
        choice("diff", "reading.diff", DIFFS),
        flag("spaces", "reading.spaces"),
        flag("markdown", "reading.rendered"),
        choice("panel", "panel", PAIRS_PANELS, "A panel"),
        _once_called("part", "panel", {each: each for each in PAIRS_PANELS}),
        choice("chart", "chart.shown", MEASURED, "A chart"),
        choice("unit", "chart.unit", UNITS, "A unit"),
        flag("by-subset", "chart.by_subset"),
        checked("tokenizer", "chart.tokenizer", _name),
    ),
)
"""Such as `model=org/name&show=near&slice=longer:rejected&source=org/name:test@168d...&q=unwrap`;
"model=" asks for all models together."""
