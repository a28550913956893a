"""What a person looks at of models, as one value, its link, and the acts that change it.

Models stand on a board, or a few of them beside each other on the pairs that they share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

from explorer.core.links import Codec, Decoded, Parameter, checked, choice, flag, several
from explorer.core.validation import one_of, repaired, some_of
from explorer.data.search import checked_search
from explorer.reader.links import COMPARE, MODELS_TAB, named_tab, tab_of
from explorer.reader.reading import FIRST_READING, Reading
from explorer.reader.state import PAIRS_LINK
from explorer.results.board import Ranking
from explorer.results.ensembles import WAYS, Way
from explorer.results.field import MAJORITY, checked_model
from explorer.stats.aggregate import Missing, Ties
from explorer.stats.rules import PRIOR, PRIOR_PAIRS, V2_PAIRS, RuleName
from scoring.benchmark import SECTIONS, SUBSETS
from scoring.errors import KnownError, shown
from scoring.results.files import LONGEST_MODEL

ModelsPanel = Literal["board", "compare", "scatter", "agreement", "ensembles"]
"""The board, or a way to compare."""
MODELS_PANELS: tuple[ModelsPanel, ...] = get_args(ModelsPanel)
BoardBenchmark = Literal["v1", "v2"]
BOARD_BENCHMARKS: tuple[BoardBenchmark, ...] = get_args(BoardBenchmark)
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
"""What is drawn below the table; "" for nothing."""
CHARTS: tuple[ChartName, ...] = get_args(ChartName)

FACTS = ("model", "type", "size", "score")
"""Columns of every table; rank is the order itself."""
BOARD_COLUMNS: tuple[str, ...] = (*FACTS, *SECTIONS, PRIOR, *SUBSETS, *PRIOR_PAIRS, *V2_PAIRS)
"""Every column that any table has. No two have the same name but Safety, of both benchmarks."""
NUMBER_COLUMNS = tuple(dict.fromkeys(column for column in BOARD_COLUMNS if column not in FACTS[:2]))
"""Columns of numbers."""
HIDEABLE = tuple(dict.fromkeys(column for column in BOARD_COLUMNS if column != "model"))
DIGITS = (1, 2, 3, 4)
MOST_PINS = 50
WHOSE_PAIRS = ("", *SECTIONS)
"""The section whose pairs are compared; "" for all."""
LETTERS = "ABCD"
"""What the compared models are called in tables, in their order."""
MOST_MODELS = len(LETTERS)
MOST_MEMBERS = 8
"""Of an ensemble."""


@dataclass(frozen=True, slots=True)
class ModelsState:
    """What is looked at of models.

    search: regular expressions with commas between, one of which a listed model's name matches.
    own: whether the person's own runs and files are listed.
    types: kinds of models to keep, in the order of `MODEL_TYPES`; () keeps all.
    prior_sets: whether they count half in RewardBench's score.
    rule: "paper" has prior sets in any case, and XSTest's counts swapped; "prior-full" gives them
        the weight of a section.
    sort: a column of `BOARD_COLUMNS`; "" for the rank, of which `ascending` is False.
    hidden: columns that are not shown, in the order of `HIDEABLE`.
    pins: models on top, whatever is filtered.
    open: the model whose drawer is open; "" for none.
    ticked: the first of two models that are to be compared; "" for none.
    digits: decimals of a score in percent.
    x, y: of `NUMBER_COLUMNS`, what the trade-off sets against each other; "" for the usual one.
    a: the model that is compared; "" for none yet.
    b: what it is compared with: another, or `explorer.results.field.MAJORITY` of all others.
    more: further models; none beside the majority.
    section: one of `WHOSE_PAIRS`.
    members, way: of the ensemble.
    source: of the pairs; "" where their texts are not at hand.
    reading: of the pairs in which the compared differ; its page is 1.
    """

    panel: ModelsPanel = "board"
    search: str = ""
    own: bool = True
    benchmark: BoardBenchmark = "v1"
    table: BoardTable = "sections"
    types: tuple[ModelType, ...] = ()
    prior_sets: bool = False
    rule: RuleOption = "official"
    ties: Ties = "official"
    missing: Missing = "left out"
    sort: str = ""
    ascending: bool = False
    hidden: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    open: str = ""
    ticked: str = ""
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
    source: str = ""
    reading: Reading = FIRST_READING

    @property
    def compares(self) -> bool:
        """Whether models stand beside each other, and not on a board."""
        return self.panel != "board"

    @property
    def named(self) -> tuple[str, ...]:
        """The models that are compared, without the majority."""
        return tuple(each for each in (self.a, self.b, *self.more) if each not in ("", MAJORITY))

    def alone(self) -> "ModelsState":
        """The same with nothing compared."""
        return _as_usual(self, "a", "b", "more", "section", "members", "way", "source", "reading")


def ranking_of(state: ModelsState) -> Ranking:
    """How the models of a state's board are ranked."""
    return Ranking(rule_of(state), state.ties, state.missing, state.own)


def rule_of(state: ModelsState) -> RuleName:
    """The rule of a state's board.

    >>> rule_of(ModelsState(prior_sets=True)), rule_of(ModelsState(table="prior", rule="paper"))
    ('v1_prior', 'prior_all')
    """
    if state.benchmark == "v2":
        return "v2"
    if state.table == "prior":
        return "prior_all" if state.rule == "paper" else "prior"
    if state.rule == "paper":
        return "paper"
    if state.rule == "prior-full":
        return "v1_prior_full"
    return "v1_prior" if state.prior_sets else "v1"


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


def move(state: ModelsState, act: str, sent: Mapping[str, Any]) -> ModelsState:
    """The state after an act that is no step of reading.

    Args:
        state: as it is.
        act: a field of `ModelsState`, of which the second model that is "ticked" is compared with
            the first; "pin" and "unpin" a model; "reset" what is listed on the
            board; "add" and "remove" a further model to compare; "swap" a and b; "pick" the ticked
            `names` of the `facet` "types", "members", or of "columns" `among` those offered.
        sent: what came with it, by anybody: `value`, of b "" for the majority; for "sort" also
            `ascending`, without which sorting by the same column again turns the order round.

    Raises:
        KnownError: an act that there is not, or a value that it cannot have.
    """
    value = sent.get("value")
    change = _ACTS.get(act)
    if change is not None:
        return change(state, value)
    if act == "sort":
        return _sorted_by(state, value, sent.get("ascending"))
    if act == "pick" and sent.get("facet") == "columns":
        return _showing(state, sent.get("names"), sent.get("among"))
    if act == "pick":
        act, value = "members" if sent.get("facet") == "members" else "types", sent.get("names")
    return MODELS_LINK.moved(state, act, value)


def _checked_pins(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise KnownError(f"What is pinned must be a list of names, not {shown(values)}.")
    pins = tuple(dict.fromkeys(map(_name, values)))
    if len(pins) > MOST_PINS:
        raise KnownError(f"{MOST_PINS} models can be pinned, not {len(pins):,}. Unpin one first.")
    return pins


def _checked_members(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise KnownError(f"Members are a list of models, not {shown(values)}.")
    if len(values) > MOST_MEMBERS:
        raise KnownError(
            f"An ensemble may have {MOST_MEMBERS} members here, not {len(values):,}. Take one away."
        )
    return tuple(name for name in dict.fromkeys(map(checked_model, values)) if name)


def _distinct(state: ModelsState) -> ModelsState:
    """The state, or a `KnownError`: a model stands twice, or where another must be chosen first."""
    early = (state.b != MAJORITY and not state.a) or (state.more and state.b == MAJORITY)
    if early or "" in (state.b, *state.more):
        raise KnownError("Choose a model, then the one that it is compared with, then others.")
    every = (state.a, state.b, *state.more)
    twice = next((each for place, each in enumerate(every) if each in every[:place]), None)
    if twice is not None or MAJORITY in state.more:
        raise KnownError(f"{shown(twice or MAJORITY)} cannot stand twice. Choose another model.")
    if len(every) > MOST_MODELS:
        raise KnownError(f"{MOST_MODELS} models can be compared, not {len(every):,}. Drop one.")
    return state


def _as_usual(state: ModelsState, *names: str) -> ModelsState:
    return replace(state, **{name: getattr(ModelsState(), name) for name in names})


def _reset(state: ModelsState, _: object) -> ModelsState:
    return _as_usual(
        state, "search", "own", "types", "prior_sets", "rule", "ties", "missing", "sort",
        "ascending", "hidden",
    )  # fmt: skip


def _name(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_MODEL:
        raise KnownError(f"A model is pinned by its name, not by {shown(value)}.")
    return repaired(value)


def _pin(state: ModelsState, value: object) -> ModelsState:
    return replace(state, pins=_checked_pins((*_unpin(state, value).pins, value)))


def _unpin(state: ModelsState, value: object) -> ModelsState:
    model = _name(value)
    return replace(state, pins=tuple(each for each in state.pins if each != model))


def _showing(state: ModelsState, names: object, among: object) -> ModelsState:
    """The state with these columns of those offered; others stay hidden or not."""
    wanted, offered = (some_of("A column", HIDEABLE, each) for each in (names, among))
    hidden = {*state.hidden}.difference(offered) | {*offered}.difference(wanted)
    return replace(state, hidden=tuple(column for column in HIDEABLE if column in hidden))


def _sorted_by(state: ModelsState, value: object, ascending: object) -> ModelsState:
    column = one_of("A column to sort by", ("", *BOARD_COLUMNS), value)
    if not column:
        return replace(state, sort="", ascending=False)
    if ascending is None:
        text = column in ("model", "type")
        ascending = not state.ascending if column == state.sort else text
    return replace(state, sort=column, ascending=ascending is True)


def _with_a(state: ModelsState, value: object) -> ModelsState:
    model = checked_model(value)
    return _distinct(replace(state, a=model)) if model else state.alone()


def _with_b(state: ModelsState, value: object) -> ModelsState:
    model = checked_model(value)
    if not model and state.more:
        return replace(state, b=state.more[0], more=state.more[1:])
    return _distinct(replace(state, b=model or MAJORITY))


def _add(state: ModelsState, model: object) -> ModelsState:
    return _distinct(replace(state, more=(*state.more, checked_model(model))))


def _remove(state: ModelsState, model: object) -> ModelsState:
    return replace(state, more=tuple(each for each in state.more if each != model))


def _swap(state: ModelsState, _: object) -> ModelsState:
    if state.b == MAJORITY:
        raise KnownError("The majority of the others is no model: choose one to swap with.")
    return replace(state, a=state.b, b=state.a)


def _tick(state: ModelsState, value: object) -> ModelsState:
    model = checked_model(value)
    if not model or not state.ticked or model == state.ticked:
        return replace(state, ticked="" if model == state.ticked else model, open="")
    fresh = replace(state.alone(), panel="compare", open="", ticked="")
    return replace(fresh, a=state.ticked, b=model)


_ACTS = {
    "reset": _reset, "ticked": _tick, "pin": _pin, "unpin": _unpin, "a": _with_a, "b": _with_b,
    "add": _add, "remove": _remove, "swap": _swap,
}  # fmt: skip


def _by(state: ModelsState, value: str) -> ModelsState:
    column = one_of("A column to sort by", BOARD_COLUMNS, value.removeprefix("-"))
    return replace(state, sort=column, ascending=not value.startswith("-"))


def _order(state: ModelsState) -> list[str]:
    """`-Chat` with the highest first, as lengths are written in links of the Pairs tab."""
    return [state.sort if state.ascending else f"-{state.sort}"] if state.sort else []


def _one(name: str) -> Parameter:
    """The model `a` or `b`."""

    def read(state: ModelsState, model: str) -> ModelsState:
        named: Any = {name: checked_model(model)}
        return _distinct(replace(state, **named))

    return Parameter(name, "", read, lambda state: (getattr(state, name),), last=True)


_ONCE_PANELS: dict[str, ModelsPanel] = {
    "table": "compare",
    **{each: each for each in MODELS_PANELS[2:]},
}
_READING = ("source", "pair", "diff", "spaces", "markdown")
"""The parts that are written as in links of the Pairs tab; steps of reading change them."""
MODELS_LINK = Codec(
    ModelsState(),
    (
        choice("panel", "panel", MODELS_PANELS, "A panel"),
        Parameter("part", "panel", lambda _, value: _ONCE_PANELS[value], lambda _: ()),
        choice("board", "benchmark", BOARD_BENCHMARKS, "A benchmark"),
        choice("table", "table", TABLES, "A table"),
        checked("models", "search", checked_search),
        several("type", "types", partial(some_of, "A type", MODEL_TYPES)),
        flag("prior", "prior_sets", "Prior sets"),
        choice("rule", "rule", RULE_OPTIONS, "A rule"),
        choice("ties", "ties", TIES, "A tie"),
        choice("missing", "missing", MISSING, "What is missing"),
        Parameter("by", "", _by, _order),
        several("hide", "hidden", partial(some_of, "A column", HIDEABLE)),
        several("pin", "pins", _checked_pins),
        checked("model", "open", checked_model),
        checked("chosen", "ticked", checked_model),
        choice("digits", "digits", DIGITS, "Decimals"),
        flag("without-own", "own", "Own runs", on=False),
        choice("plot", "chart", CHARTS, "A chart"),
        choice("x", "x", ("", *NUMBER_COLUMNS), "A column of numbers"),
        choice("y", "y", ("", *NUMBER_COLUMNS), "A column of numbers"),
        _one("a"),
        _one("b"),
        Parameter("with", "", _add, lambda state: state.more, last=True),
        choice("section", "section", WHOSE_PAIRS, "A section"),
        several("member", "members", _checked_members),
        choice("way", "way", WAYS, "A way"),
        *(replace(each, check=None) for each in PAIRS_LINK.parameters if each.name in _READING),
    ),
)
"""Such as `board=v2&models=llama,8b&type=DPO&by=-Chat&pin=org/name&digits=2`, or
`panel=scatter&a=org/new&b=org/old&with=org/third&section=Chat+Hard&pair=donotanswer:2`."""


def decode_models(query_string: object, before: ModelsState | None = None) -> Decoded[ModelsState]:
    """What a link asks of the Models tab; of one of another tab, nothing.

    before: what was looked at; its board stays, where the link does not ask for another.

    >>> decode_models("?tab=compare&a=m").state == ModelsState("compare", a="m")
    True
    """
    if tab_of(query_string) != MODELS_TAB:
        return Decoded(ModelsState())
    panel: ModelsPanel = "compare" if named_tab(query_string) == COMPARE else "board"
    onto = replace((before or MODELS_LINK.usual).alone(), panel=panel)
    return MODELS_LINK.decode(query_string, onto)
