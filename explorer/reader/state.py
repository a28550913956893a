"""What a person looks at of pairs, as the value of an address.

The list is of pairs alone, or of pairs with what a model, or all models together, made of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, ClassVar, Literal, get_args

from explorer.core.address import (
    Address,
    Parameter,
    at_most,
    choice,
    flag,
    several,
    text,
    token,
    whole_number,
)
from explorer.core.links import written
from explorer.data.facets import FACETS, Facet
from explorer.data.filters import LONGEST_NAME, MOST_NAMES, Filters, LengthRange, ranges_in_order
from explorer.data.lengths import MEASURED, SCALES, Measured, Scale
from explorer.data.search import LONGEST_QUERY, PLACES, Query, Where
from explorer.data.table import MEASURES, UNITS, Measure, Unit
from explorer.reader.diffs import DIFFS, Diff
from explorer.reader.reading import Display
from explorer.results.judged import JUDGED, Judged
from explorer.stats.duels import CELLS, Cell

PairsPanel = Literal["pairs", "lengths", "slices", "rewards", "review", "export"]
PAIRS_PANELS: tuple[PairsPanel, ...] = get_args(PairsPanel)
OF_OUTCOMES: tuple[PairsPanel, ...] = ("slices", "rewards")
"""Those that there are where outcomes are looked at."""
OutcomeKind = Literal[
    "failures", "losses", "ties", "missing", "near", "confident", "wins", "all", "only1", "only2",
    "only3",
]  # fmt: skip
OUTCOME_KINDS: tuple[OutcomeKind, ...] = get_args(OutcomeKind)
"""Of one model. "near": losses and ties that were close; "confident": losses that were clear;
"only1": rows that are won but for the first part of their benchmark's rule."""
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
MOST_SLICES = 4
"""Conditions that can be joined."""
MOST_PAGES = 10**7


_name, _searched = at_most(LONGEST_NAME), at_most(LONGEST_QUERY)


def _range(value: str) -> LengthRange:
    measure, unit, low, high, *tokenizer = value.split(".", 4)
    ends = (int(low) if low else None, int(high) if high else None)
    return LengthRange.of(measure, unit, *ends, "".join(tokenizer))


def range_written(one: LengthRange) -> str:
    """`chosen.chars.10.200`, an open end empty, a tokenizer last."""
    ends = ["" if end is None else str(end) for end in (one.low, one.high)]
    return ".".join([one.measure, one.unit, *ends, *([one.tokenizer] if one.tokenizer else [])])


def _margins(value: str) -> Margins:
    low, high = (_margin(end) for end in value.split(":"))
    if (low is None and high is None) or (low is not None and high is not None and low > high):
        raise ValueError(value)
    return low, high


def _margin(value: str) -> float | None:
    found = float(value) if value else None
    if found is not None and not isfinite(found):
        raise ValueError(value)
    return found


def margins_written(margins: Margins) -> str:
    """`-0.5:1.25`, an open end empty."""
    return ":".join("" if end is None else repr(end).removesuffix(".0") for end in margins)


def _facet(facet: Facet) -> Parameter:
    return several(facet, _name, MOST_NAMES)


@dataclass(frozen=True)
class PairsState(Address):
    """What is looked at of pairs.

    source: `PairTable.id`; "" for the best there is.
    results: the token of files that the visitor added; "" for what everybody sees.
    section to column5: names of a facet, one of which a pair must have; () keeps all.
    words, where, regex, case: what is searched for, as of `Query`; `words` may be no expression.
    ranges: lengths to keep, in the order of `ranges_in_order`.
    slices: ids of conditions of which a pair must fulfil all.
    sort: one of `SORTS`.
    model: whose outcomes stand beside the pairs; "" for those of all models together, None for
        none: then what follows has no meaning.
    kind: which pairs of one model; field_kind: of all.
    margins: of that model, which pairs must have; None for any, or none.
    wins: how many published models must win a pair; None for any number.
    verdict, judge_words: what an answer of that judge says, and holds; "" for any.
    against, cell: pairs that this and another model win or lose so, where `against` names one, or
        `explorer.results.field.MAJORITY`.
    key: of the open pair; "" for the first of the page.
    keep: of the pair that stays open if it is listed. random: open any. Neither is in a link that
        is shown.
    page: of the list, from 1, unless the open pair is in it.
    diff, spaces, rendered: how the reader shows a pair, as of `Display`.
    chart, unit, scale, by_subset: what the lengths panel draws. more: its table has all columns.
    tokenizer: the one whose tokens are counted, as `PairTable.tokens` names it or as it was typed;
        "" for none.
    """

    TAB: ClassVar[str] = "pairs"
    source: str = ""
    results: str = ""
    section: tuple[str, ...] = ()
    subset: tuple[str, ...] = ()
    chosen_model: tuple[str, ...] = ()
    rejected_model: tuple[str, ...] = ()
    longer: tuple[str, ...] = ()
    length: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    column1: tuple[str, ...] = ()
    column2: tuple[str, ...] = ()
    column3: tuple[str, ...] = ()
    column4: tuple[str, ...] = ()
    column5: tuple[str, ...] = ()
    words: str = ""
    where: Where = "all"
    regex: bool = False
    case: bool = False
    ranges: tuple[LengthRange, ...] = ()
    slices: tuple[str, ...] = ()
    sort: str = ""
    model: str | None = None
    kind: OutcomeKind = "losses"
    field_kind: FieldKind = "hard"
    margins: Margins | None = None
    wins: Margins | None = None
    verdict: Judged = ""
    judge_words: str = ""
    against: str = ""
    cell: Cell = "only_b"
    key: str = ""
    keep: str = ""
    random: bool = False
    page: int = 1
    diff: Diff = "auto"
    spaces: bool = False
    rendered: bool = False
    panel: PairsPanel = "pairs"
    chart: Measured = "responses"
    unit: Unit = "chars"
    scale: Scale = "log"
    by_subset: bool = False
    more: bool = False
    tokenizer: str = ""
    PARAMETERS: ClassVar[tuple[Parameter, ...]] = (
        text("model", _name),
        choice("show", OUTCOME_KINDS, "kind"),
        choice("pairs", FIELD_KINDS, "field_kind"),
        Parameter("margin", "margins", _margins, margins_written),
        Parameter("wins", "wins", _margins, margins_written),
        choice("verdict", JUDGED),
        text("judge", _searched, "judge_words"),
        several("slice", _name, MOST_SLICES, "slices"),
        text("against", _name),
        choice("cell", CELLS),
        text("source", _name),
        text("results", token),
        *map(_facet, FACETS),
        text("q", _searched, "words"),
        choice("in", PLACES, "where"),
        flag("regex", "regex"),
        flag("case", "case"),
        Parameter("range", "ranges", _range, range_written, most=len(MEASURES) * len(UNITS)),
        choice("sort", SORTS),
        whole_number("list-page", MOST_PAGES, "page"),
        text("pair", _name, "key"),
        text("keep", _name),
        flag("random", "random"),
        choice("diff", DIFFS),
        flag("spaces", "spaces"),
        flag("markdown", "rendered"),
        choice("panel", PAIRS_PANELS),
        choice("chart", MEASURED),
        choice("unit", UNITS),
        choice("scale", SCALES),
        flag("by-subset", "by_subset"),
        flag("more", "more"),
        text("tokenizer", _name),
    )

    @property
    def outcomes(self) -> bool:
        """Whether outcomes of models are looked at."""
        return self.model is not None

    @property
    def listed_kind(self) -> OutcomeKind | FieldKind | None:
        """Which pairs are listed by what models made of them; None where that has no say."""
        if self.model is None:
            return None
        return self.kind if self.model else self.field_kind

    @property
    def query(self) -> Query:
        """What is searched for."""
        words = self.words if self.regex else self.words.strip()
        return Query(words, self.where, self.regex, self.case)

    @property
    def display(self) -> Display:
        """How the reader shows a pair."""
        return Display(self.diff, self.query, self.spaces, self.rendered)

    @property
    def filters(self) -> Filters:
        """Which pairs are kept by what they are themselves."""
        picked = {facet: tuple(sorted(getattr(self, facet))) for facet in FACETS}
        chosen = tuple((facet, names) for facet, names in picked.items() if names)
        return Filters(chosen, self.ranges, self.query)

    @property
    def listed_link(self) -> str:
        """What of it says which pairs are listed, in which order, as a link."""
        shown_apart = (
            "pair", "keep", "random", "list-page", "diff", "spaces", "markdown", "panel", "chart",
            "unit", "scale", "by-subset", "more", "tokenizer",
        )  # fmt: skip
        return written(self.parts(*shown_apart))

    def settled(self) -> tuple["PairsState", tuple[str, ...]]:
        """The state with one range of a kind, the last."""
        return replace(self, ranges=ranges_in_order(self.ranges)), ()

    def narrowed(self, **changes: Any) -> str:
        """The link to other pairs: the list begins anew. A script may add `keep` to it."""
        return self.href(**{"key": "", "page": 1, **changes})

    def on(self, source: str) -> "PairsState":
        """The same of another table, as far as it makes sense there: nothing picked or open."""
        kept = ("results", "sort", "diff", "spaces", "rendered", "panel", "chart", "unit")
        names = (*kept, "scale", "by_subset", "more", "tokenizer")
        return changed(PairsState(source), {name: getattr(self, name) for name in names})

    def of(self, model: str | None) -> "PairsState":
        """The same with the outcomes of another model, of all, or of none."""
        alone = replace(self.alone(), model=model, margins=None, verdict="", judge_words="")
        if model is None:
            return replace(alone, kind="losses", field_kind="hard")
        return replace(alone, kind="losses") if self.against else alone

    def alone(self) -> "PairsState":
        """The same beside no other model."""
        return replace(self, against="", cell="only_b")

    def unfiltered(self) -> "PairsState":
        """The same with every pair of its kind."""
        usual = PairsState()
        searched = ("words", "where", "regex", "case", "ranges", "slices", "margins", "wins")
        names = (*FACETS, *searched, "verdict", "judge_words", "key", "page")
        return changed(self.alone(), {each: getattr(usual, each) for each in names})


def changed(state: PairsState, changes: Mapping[str, Any]) -> PairsState:
    """A state with some fields changed, by their names."""
    return replace(state, **changes)


def every_pair(model: str) -> PairsState:
    """All pairs of a model, whatever it made of them."""
    return PairsState(model=model, kind="all")
