"""What a person looks at of models, as the value of an address.

Models stand on a board, or a few of them side by side on the pairs that they share.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from explorer.core.address import Address, at_most, choice, flag, several, some_of, text, token
from explorer.core.links import as_dropped
from explorer.core.validation import repaired
from explorer.data.filters import LONGEST_NAME
from explorer.data.search import checked_search
from explorer.reader.links import MODELS_TAB
from explorer.results.board import Ranking
from explorer.results.ensembles import WAYS, Way
from explorer.results.field import MAJORITY
from explorer.stats.aggregate import Missing, Ties
from explorer.stats.rules import PRIOR_KEY, PRIOR_PAIRS, RULES, V1
from scoring.benchmarks import benchmarks
from scoring.results.files import LONGEST_MODEL

ModelsPanel = Literal["board", "compare", "scatter", "agreement", "ensembles"]
"""The board, or a way to compare."""
MODELS_PANELS: tuple[ModelsPanel, ...] = get_args(ModelsPanel)
_TABLES_OF_OTHERS = {board.beside for each in benchmarks().values() for board in each.boards}
BOARD_BENCHMARKS: dict[str, str] = {
    each.key: each.title for name, each in benchmarks().items() if name not in _TABLES_OF_OTHERS
}
"""Key -> title of those that have a board; prior sets are a table of the first."""
BoardTable = Literal["sections", "subsets", "prior"]
TABLES: tuple[BoardTable, ...] = get_args(BoardTable)
RuleOption = Literal["official", "paper", "prior-full"]
RULE_OPTIONS: tuple[RuleOption, ...] = get_args(RuleOption)
ModelType = Literal[
    "Seq. Classifier", "Custom Classifier", "DPO", "DPO Ref. Free", "Generative", "unknown"
]
MODEL_TYPES: tuple[ModelType, ...] = get_args(ModelType)
TIES: tuple[Ties, ...] = get_args(Ties)
MISSING: tuple[Missing, ...] = get_args(Missing)
ChartName = Literal["", "length", "agreement", "difficulty", "size", "tradeoff"]
"""What is drawn above the table; "" for nothing."""
CHARTS: tuple[ChartName, ...] = get_args(ChartName)

FACTS = ("model", "organisation", "licence", "type", "size")
"""Columns before the score that any table may have; rank is the order itself."""
FAILURES = "failures"
"""The last column, of models whose pairs can be looked at."""
WORDS = FACTS[:-1]
"""Those of words."""
OPTIONAL = ("organisation", "licence")
"""Columns that are shown where they are asked for."""
_SECTIONS = tuple(dict.fromkeys(name for each in benchmarks().values() for name in each.groups))
_SCORES = tuple(
    dict.fromkeys(
        name
        for rule in RULES.values()
        for name in ("score", *rule.parts, *rule.sections, *rule.subsets, *PRIOR_PAIRS)
    )
)
BOARD_COLUMNS: tuple[str, ...] = (*FACTS, *_SCORES, FAILURES)
"""Every column that any table has; one of the same name in two of them stands here once."""
NUMBER_COLUMNS = tuple(dict.fromkeys(("size", *_SCORES)))
"""Columns of numbers that a chart may show."""
HIDEABLE = tuple(
    dict.fromkeys(column for column in BOARD_COLUMNS if column not in ("model", *OPTIONAL))
)
DIGITS = (1, 2, 3, 4)
MOST_PINS = 50
LETTERS = "ABCD"
"""What the compared models are called in tables, in their order."""
MOST_MODELS = len(LETTERS)
MOST_MEMBERS = 8
"""Of an ensemble."""


_name = at_most(LONGEST_NAME)


def _model(name: str) -> str:
    if not 0 < len(name) <= LONGEST_MODEL:
        raise ValueError(name)
    return repaired(name)


@dataclass(frozen=True)
class ModelsState(Address):
    """What is looked at of models.

    search: regular expressions with commas between, one of which a listed model's name matches.
    own: whether the visitor's own runs and files are listed.
    types: kinds of models to keep; () keeps all.
    prior_sets: whether they count half in RewardBench's score.
    rule: "paper" has prior sets in any case, and XSTest's counts swapped; "prior-full" gives them
        the weight of a section.
    sort: a column of `BOARD_COLUMNS`, after a "-" if its highest values come first; "" for the
        rank.
    hidden: columns that are not shown. added: those of `OPTIONAL` that are.
    pins: models on top, whatever is filtered.
    open: the model whose drawer is open; "" for none.
    ticked: the first of two models that are to be compared; "" for none.
    intervals: whether they are shown in tables. digits: decimals of a score in percent.
    x, y: of `NUMBER_COLUMNS`, the axes of the trade-off chart; "" for the default.
    a: the model that is compared; "" for none yet.
    b: what it is compared with: another model, or `MAJORITY` of all others.
    more: further models; none beside the majority.
    section: of the pairs that are compared; "" for all.
    members, way: of the ensemble.
    results: the token of files that the visitor added; "" for what everybody sees.
    """

    TAB = MODELS_TAB
    panel: ModelsPanel = "board"
    search: str = ""
    own: bool = True
    benchmark: str = V1.name
    table: BoardTable = "sections"
    types: tuple[ModelType, ...] = ()
    prior_sets: bool = False
    rule: RuleOption = "official"
    ties: Ties = "official"
    missing: Missing = "left out"
    sort: str = ""
    hidden: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    open: str = ""
    ticked: str = ""
    intervals: bool = False
    digits: int = 1
    chart: ChartName = ""
    x: str = ""
    y: str = ""
    a: str = ""
    b: str = MAJORITY
    more: tuple[str, ...] = ()
    section: str = ""
    members: tuple[str, ...] = ()
    way: Way = "mean"
    results: str = ""
    PARAMETERS = (
        choice("panel", MODELS_PANELS),
        choice("board", tuple(BOARD_BENCHMARKS), "benchmark"),
        choice("table", TABLES),
        text("models", checked_search, "search"),
        some_of("type", MODEL_TYPES, "types"),
        flag("prior", "prior_sets"),
        choice("rule", RULE_OPTIONS),
        choice("ties", TIES),
        choice("missing", MISSING),
        choice("by", (*BOARD_COLUMNS, *(f"-{each}" for each in BOARD_COLUMNS)), "sort"),
        some_of("hide", HIDEABLE, "hidden"),
        some_of("show", OPTIONAL, "added"),
        several("pin", _model, MOST_PINS, "pins"),
        text("model", _name, "open"),
        text("chosen", _name, "ticked"),
        flag("intervals", "intervals"),
        choice("digits", DIGITS),
        flag("without-own", "own", on=False),
        choice("plot", CHARTS, "chart"),
        choice("x", NUMBER_COLUMNS),
        choice("y", NUMBER_COLUMNS),
        text("a", _name),
        text("b", _name),
        several("with", _name, MOST_MODELS, "more"),
        choice("section", _SECTIONS),
        several("member", _model, MOST_MEMBERS, "members"),
        choice("way", WAYS),
        text("results", token),
    )

    @property
    def compares(self) -> bool:
        """Whether models stand side by side, and not on a board."""
        return self.panel != "board"

    @property
    def named(self) -> tuple[str, ...]:
        """The models that are compared, without the majority."""
        return tuple(each for each in (self.a, self.b, *self.more) if each not in ("", MAJORITY))

    @property
    def column(self) -> str:
        """The column that rows are sorted by; "" for the rank."""
        return self.sort.removeprefix("-")

    @property
    def is_ascending(self) -> bool:
        """Whether the lowest values come first."""
        return not self.sort.startswith("-")

    @property
    def ranking(self) -> Ranking:
        """How the models of the board are ranked."""
        return Ranking(rule_of(self), self.ties, self.missing, self.own)

    def settled(self) -> tuple["ModelsState", tuple[str, ...]]:
        """The state with each compared model once, as many as can be, and those left out."""
        named = [("b", self.b), *(("with", each) for each in self.more)]
        kept: list[str] = []
        dropped = []
        for name, model in named:
            if model == MAJORITY and name == "b":
                continue
            if (
                self.a
                and model not in ("", MAJORITY, self.a, *kept)
                and len(kept) < MOST_MODELS - 1
            ):
                kept.append(model)
            elif model:  # a form sends an empty field for the majority
                dropped.append(as_dropped(name, model))
        return replace(self, b=(*kept, MAJORITY)[0], more=tuple(kept[1:])), tuple(dropped)

    def toggling(self, column: str) -> str:
        """The link that shows a column, or hides it."""
        field = "added" if column in OPTIONAL else "hidden"
        return self.href(**{field: self.toggled(field, column)})

    def sorted_by(self, column: str) -> str:
        """The link that sorts by a column, or turns the order round if rows are sorted by it."""
        starts_low = column in (*WORDS, FAILURES)
        is_low = starts_low if column != self.column else not self.is_ascending
        return self.href(sort=column if is_low else f"-{column}")

    def ticking(self, model: str) -> str:
        """The link that ticks a model, unticks it, or compares it with the one that is ticked."""
        if model == self.ticked:
            return self.href(ticked="")
        if not self.ticked:
            return self.href(ticked=model, open="")
        return self.comparing(a=self.ticked, b=model)

    def comparing(self, **models: Any) -> str:
        """The link that shows models side by side."""
        fields = {**COMPARES_NOTHING, "panel": "compare", "open": "", "ticked": "", **models}
        return self.href(**fields)

    def reset(self) -> str:
        """The link to the board with all models and the official rule."""
        listed = ("search", "own", "types", "sort", "hidden", "added")
        ranked = ("prior_sets", "rule", "ties", "missing")
        return self.href(**{name: getattr(ModelsState, name) for name in (*listed, *ranked)})


COMPARES_NOTHING: dict[str, Any] = {"more": (), "section": "", "members": (), "way": "mean"}
"""Fields that depend on the models that are compared, as they are by default."""


def rule_of(state: ModelsState) -> str:
    """The rule of a state's board.

    >>> rule_of(ModelsState(prior_sets=True)), rule_of(ModelsState(table="prior", rule="paper"))
    ('v1_prior', 'prior_all')
    """
    if state.benchmark != V1.name:
        return state.benchmark
    table = RULES[PRIOR_KEY if state.table == "prior" else V1.name]
    option = "prior-half" if state.prior_sets and state.rule == "official" else state.rule
    boards = (board for board in table.benchmark.boards if board.option == option)
    return next((board.name for board in boards), table.name)


def type_of(model_type: str | None) -> ModelType:
    """The kind that a file's own word for it belongs to."""
    if model_type is not None and "generative" in model_type.lower():
        return "Generative"
    return next((each for each in MODEL_TYPES if each == model_type), "unknown")


def type_words(model_type: str | None) -> str:
    """What it is called on screen: its kind, or a file's own word that is of no kind; "" for none.

    >>> type_words("Generative RM"), type_words("Other"), type_words(None)
    ('Generative', 'Other', '')
    """
    kind = type_of(model_type)
    return kind if kind != "unknown" else model_type or ""
