"""What a person looks at in a leaderboard, as one value, and the steps from one to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

from explorer.core.links import Codec, Parameter, checked, choice, flag, several
from explorer.core.validation import one_of, repaired, some_of
from explorer.data.name_search import checked_search, matching_names
from explorer.results.board import Board, BoardRow, Ranking
from explorer.stats.aggregate import Missing, Ties
from explorer.stats.rules import PRIOR, PRIOR_PAIRS, V2_PAIRS, RuleName
from scoring.benchmark import SECTIONS, SUBSETS
from scoring.errors import KnownError, shown
from scoring.results.files import LONGEST_NAME

Benchmark = Literal["v1", "v2"]
BENCHMARKS: tuple[Benchmark, ...] = get_args(Benchmark)
Table = Literal["sections", "subsets", "prior"]
TABLES: tuple[Table, ...] = get_args(Table)
RuleOption = Literal["official", "paper", "prior-full"]
RULE_OPTIONS: tuple[RuleOption, ...] = get_args(RuleOption)
ModelType = Literal[
    "Seq. Classifier", "Custom Classifier", "DPO", "DPO Ref. Free", "Generative", "unknown"
]
MODEL_TYPES: tuple[ModelType, ...] = get_args(ModelType)
TIES: tuple[Ties, ...] = get_args(Ties)
MISSING: tuple[Missing, ...] = get_args(Missing)
Chart = Literal["", "length", "agreement", "difficulty", "size", "tradeoff"]
"""What is drawn below the table; "" for nothing."""
CHARTS: tuple[Chart, ...] = get_args(Chart)

FACTS = ("model", "type", "size", "score")
"""Columns of every table; rank is the order itself."""
COLUMNS: tuple[str, ...] = (*FACTS, *SECTIONS, PRIOR, *SUBSETS, *PRIOR_PAIRS, *V2_PAIRS)
"""Every column that any table has. No two have the same name but Safety, of both benchmarks."""
NUMBERS = tuple(dict.fromkeys(column for column in COLUMNS if column not in FACTS[:2]))
"""Columns of numbers."""
HIDEABLE = tuple(dict.fromkeys(column for column in COLUMNS if column != "model"))
DIGITS = (1, 2, 3, 4)
MOST_PINS = 50


@dataclass(frozen=True, slots=True)
class BoardState:
    """What a leaderboard shows.

    search: regular expressions with commas between; a model's name matches one of them.
    types: kinds of models to keep, in the order of `MODEL_TYPES`; () keeps all.
    prior_sets: whether they count half in RewardBench's score.
    rule: "paper" has prior sets in any case, and XSTest's counts swapped; "prior-full" gives them
        the weight of a section.
    sort: a column of `COLUMNS`; "" for the rank.
    ascending: whether the lowest is first; not set where `sort` is "".
    hidden: columns that are not shown, in the order of `HIDEABLE`.
    pins: models on top, in all tables and whatever is filtered.
    digits: decimals of a score in percent.
    own: whether the person's own runs are among the rows.
    x, y: the columns of `NUMBERS` that the trade-off sets against each other; "" for the usual one.
    """

    benchmark: Benchmark = "v1"
    table: Table = "sections"
    search: str = ""
    types: tuple[ModelType, ...] = ()
    prior_sets: bool = False
    rule: RuleOption = "official"
    ties: Ties = "official"
    missing: Missing = "left out"
    sort: str = ""
    ascending: bool = False
    hidden: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    digits: int = 1
    own: bool = True
    chart: Chart = ""
    x: str = ""
    y: str = ""


def ranking_of(view: BoardState) -> Ranking:
    """How the models of the board that a view shows are ranked."""
    return Ranking(rule_of(view), view.ties, view.missing, view.own)


def rule_of(view: BoardState) -> RuleName:
    """The rule of the board that a view shows.

    >>> rule_of(BoardState()), rule_of(BoardState(prior_sets=True)), rule_of(BoardState("v2"))
    ('v1', 'v1_prior', 'v2')
    >>> rule_of(BoardState(table="prior")), rule_of(BoardState(table="prior", rule="paper"))
    ('prior', 'prior_all')
    """
    if view.benchmark == "v2":
        return "v2"
    if view.table == "prior":
        return "prior_all" if view.rule == "paper" else "prior"
    if view.rule == "paper":
        return "paper"
    if view.rule == "prior-full":
        return "v1_prior_full"
    return "v1_prior" if view.prior_sets else "v1"


def kind_of(model_type: str | None) -> ModelType:
    """The kind that a file's own word for it belongs to.

    >>> kind_of("Generative RM PoLL"), kind_of("DPO"), kind_of("<b>"), kind_of(None)
    ('Generative', 'DPO', 'unknown', 'unknown')
    """
    if model_type is not None and "generative" in model_type.lower():
        return "Generative"
    return next((each for each in MODEL_TYPES if each == model_type), "unknown")


def columns_of(board: Board, view: BoardState) -> tuple[str, ...]:
    """The columns of the view's table, hidden ones too.

    >>> from explorer.results.published import read_snapshot
    >>> from explorer.results.board import build_board
    >>> columns_of(build_board(read_snapshot(), "v1"), BoardState())
    ('model', 'type', 'size', 'score', 'Chat', 'Chat Hard', 'Safety', 'Reasoning')
    """
    sections = tuple(board.rule.sections)
    if view.table == "sections" or view.benchmark == "v2":
        return (*FACTS, *sections)
    return (*FACTS, *board.subsets)


def shown_columns(board: Board, view: BoardState) -> tuple[str, ...]:
    """The columns that are not hidden."""
    return tuple(column for column in columns_of(board, view) if column not in view.hidden)


def shown_rows(board: Board, view: BoardState) -> list[BoardRow]:
    """The rows to show: pinned ones first, then those that pass the filters, in the view's order.

    Raises:
        KnownError: the search cannot be used.
    """
    place = {model: at for at, model in enumerate(view.pins)}
    rows = [row for row in board.rows if view.own or not row.own]
    pinned = sorted((row for row in rows if row.model in place), key=lambda row: place[row.model])
    rest = [row for row in rows if row.model not in place and _has_type(row, view)]
    found = matching_names([row.model for row in rest], view.search)
    rest = [row for row, yes in zip(rest, found, strict=True) if yes]
    return pinned + _sorted(rest, view)


def value_of(row: BoardRow, column: str) -> str | float | None:
    """What a row has in a column.

    A name of both a section and a subset means the section.
    """
    if column in FACTS:
        facts = {"model": row.model, "type": row.model_type, "size": row.size, "score": row.score}
        return facts[column]
    return row.sections[column] if column in row.sections else row.subsets.get(column)


def move_board(view: BoardState, act: str, sent: Mapping[str, Any]) -> BoardState:
    """The view after an act of a person.

    Args:
        view: as it is.
        act: a field of `BoardState`; "pin" and "unpin" a model, "show" and "hide" a column;
            "reset"; "pick" kinds of models, or columns.
        sent: what came with it, by anybody: `value`, and for "sort" also `ascending`; without the
            latter, sorting by the same column again turns the order round. With "pick" the `names`
            that are ticked, of the `facet` "types", or of "columns" `among` those offered.

    Raises:
        KnownError: an act that there is not, or a value that it cannot have.

    >>> move_board(BoardState(), "sort", {"value": "Chat"}).ascending
    False
    >>> move_board(BoardState(sort="Chat"), "sort", {"value": "Chat"}).ascending
    True
    """
    value = sent.get("value")
    if act == "reset":
        kept = ("benchmark", "table", "digits", "pins", "chart", "x", "y")
        return BoardState(**{name: getattr(view, name) for name in kept})
    if act in ("pin", "unpin"):
        model = _name(value)
        pins = tuple(each for each in view.pins if each != model)
        return replace(view, pins=checked_pins((*pins, model) if act == "pin" else pins))
    if act in ("show", "hide"):
        column = one_of("A column", HIDEABLE, value)
        others = tuple(each for each in view.hidden if each != column)
        return replace(view, hidden=in_order((*others, column) if act == "hide" else others))
    if act == "sort":
        return _sorted_by(view, value, sent.get("ascending"))
    if act == "pick" and sent.get("facet") == "columns":
        return _showing(view, sent.get("names"), sent.get("among"))
    if act == "pick":
        act, value = "types", sent.get("names")
    return BOARD_LINK.moved(view, act, value)


def in_order(columns: Sequence[str]) -> tuple[str, ...]:
    """Hidden columns, each once, in the order of `HIDEABLE`."""
    return tuple(column for column in HIDEABLE if column in columns)


def checked_pins(values: object) -> tuple[str, ...]:
    """Names of models, each once, in the order given.

    Raises:
        KnownError: no list of names, or more than `MOST_PINS`.
    """
    if not isinstance(values, list | tuple):
        raise KnownError(f"What is pinned must be a list of names, not {shown(values)}.")
    pins = tuple(dict.fromkeys(_name(value) for value in values))
    if len(pins) > MOST_PINS:
        raise KnownError(f"{MOST_PINS} models can be pinned, not {len(pins):,}. Unpin one first.")
    return pins


def _name(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        raise KnownError(f"A model is pinned by its name, not by {shown(value)}.")
    return repaired(value)


def _showing(view: BoardState, names: object, among: object) -> BoardState:
    """The view with these columns of those offered; others stay hidden or not."""
    wanted, offered = (some_of("A column", HIDEABLE, each) for each in (names, among))
    others = [column for column in view.hidden if column not in offered]
    hidden = [column for column in offered if column not in wanted]
    return replace(view, hidden=in_order([*others, *hidden]))


def _sorted_by(view: BoardState, value: object, ascending: object) -> BoardState:
    column = one_of("A column to sort by", ("", *COLUMNS), value)
    if not column:
        return replace(view, sort="", ascending=False)
    if ascending is None:
        text = column in ("model", "type")
        return replace(
            view, sort=column, ascending=not view.ascending if column == view.sort else text
        )
    return replace(view, sort=column, ascending=ascending is True)


def _has_type(row: BoardRow, view: BoardState) -> bool:
    return not view.types or row.own or kind_of(row.model_type) in view.types


def _sorted(rows: list[BoardRow], view: BoardState) -> list[BoardRow]:
    """In the view's order; those that have nothing there come last in either direction."""
    if not view.sort:
        return rows
    known = [row for row in rows if value_of(row, view.sort) is not None]
    unknown = [row for row in rows if value_of(row, view.sort) is None]

    def key(row: BoardRow) -> Any:
        value = value_of(row, view.sort)
        return value.casefold() if isinstance(value, str) else value

    return sorted(known, key=key, reverse=not view.ascending) + unknown


def _by(view: BoardState, value: str) -> BoardState:
    column = one_of("A column to sort by", COLUMNS, value.removeprefix("-"))
    return replace(view, sort=column, ascending=not value.startswith("-"))


def _order(view: BoardState) -> list[str]:
    """`-Chat` with the highest first, as lengths are written in links of the Pairs tab."""
    return [view.sort if view.ascending else f"-{view.sort}"] if view.sort else []


BOARD_LINK = Codec(
    BoardState(),
    (
        choice("board", "benchmark", BENCHMARKS, "A benchmark"),
        choice("table", "table", TABLES, "A table"),
        checked("models", "search", checked_search),
        several("type", "types", partial(some_of, "A type", MODEL_TYPES)),
        flag("prior", "prior_sets", "Prior sets"),
        choice("rule", "rule", RULE_OPTIONS, "A rule"),
        choice("ties", "ties", TIES, "A tie"),
        choice("missing", "missing", MISSING, "What is missing"),
        Parameter("by", "", _by, _order),
        several("hide", "hidden", partial(some_of, "A column", HIDEABLE)),
        several("pin", "pins", checked_pins),
        choice("digits", "digits", DIGITS, "Decimals"),
        flag("without-own", "own", "Own runs", on=False),
        choice("plot", "chart", CHARTS, "A chart"),
        choice("x", "x", ("", *NUMBERS), "A column of numbers"),
        choice("y", "y", ("", *NUMBERS), "A column of numbers"),
    ),
)
"""Such as `board=v2&models=llama,8b&type=DPO&by=-Chat&pin=org/name&digits=2`."""
