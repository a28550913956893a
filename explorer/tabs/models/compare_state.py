"""What a person compares, as one value, and the steps from it to the next."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from explorer.core.links import Codec, Parameter, as_dropped, choice, several
from explorer.reader.reading import ACTS, FIRST, ListedRows, Reading, read_on
from explorer.reader.state import PAIRS_LINK
from explorer.results.ensembles import WAYS, Way
from explorer.results.field import MAJORITY, Doubles, Field, Mask, checked_model
from explorer.stats.rules import V1
from explorer.stats.uncertainty import subsets_by
from scoring.errors import KnownError, shown

Panel = Literal["table", "scatter", "agreement", "ensembles"]
PANELS: tuple[Panel, ...] = get_args(Panel)
SECTIONS = ("", *V1.sections)
"""Whose pairs are looked at; "" for all."""
MOST_MODELS = 4
MOST_MEMBERS = 8
"""Of an ensemble."""
FieldOf = Callable[[str], Field]
"""Gives the field that a model is in, of "" any; raises `KnownError` where it is in none."""


@dataclass(frozen=True, slots=True)
class CompareState:
    """What the Compare tab shows.

    a: the model; "" for none yet.
    b: what it is compared with: another, or `explorer.results.field.MAJORITY` of all others.
    more: further models; none beside the majority.
    section: one of `SECTIONS`.
    members, way: of the ensemble.
    source: of the pairs; "" where their texts are not at hand.
    reading: of the pairs in which the compared differ; its page is 1.
    """

    a: str = ""
    b: str = MAJORITY
    more: tuple[str, ...] = ()
    section: str = ""
    panel: Panel = "table"
    members: tuple[str, ...] = ()
    way: Way = "mean"
    source: str = ""
    reading: Reading = FIRST

    @property
    def named(self) -> tuple[str, ...]:
        """The models that are compared, without the majority."""
        return tuple(each for each in (self.a, self.b, *self.more) if each not in ("", MAJORITY))


@dataclass(frozen=True, slots=True, eq=False)
class CompareScene:
    """What a view shows of its field.

    view: settled.
    outcomes: (models, pairs) of a, of b, and of more; no row where nothing is compared.
    shared: pairs that are known of all of them; all where nothing is compared.
    looked_at: pairs of the section.
    listed: shared pairs of the section that some of them win and others do not; those that a loses
        first, and of these, as of the rest, those that most models of the field win.
    """

    view: CompareState
    field: Field
    outcomes: Doubles
    shared: Mask
    looked_at: Mask
    listed: ListedRows


def compare_scene(view: CompareState, field: Field) -> CompareScene:
    """What a view shows.

    Raises:
        KnownError: a model that the field has not.
    """
    rows = [field.outcomes(view.a)] if view.a else []
    rows += [field.rival(view.a, other) for other in (view.b, *view.more)] if view.a else []
    outcomes = np.array(rows).reshape(len(rows), len(field.table))
    shared: Mask = np.logical_and.reduce(~np.isnan(outcomes))
    looked_at = in_section(field, view.section)
    wins = outcomes == 1
    differing = np.flatnonzero(shared & looked_at & wins.any(axis=0) & ~wins.all(axis=0))
    if len(differing):
        order = np.lexsort((field.difficulty(view.a).share[differing], wins[0][differing]))
        differing = differing[order]
    listed = ListedRows(field.table, differing)
    source = field.table.id if field.has_texts else ""
    settled = replace(view, source=source, reading=_settled(view.reading, listed))
    return CompareScene(settled, field, outcomes, shared, looked_at, listed)


def next_compare_scene(
    view: CompareState, field_of: FieldOf, act: str, sent: Mapping[str, Any]
) -> CompareScene:
    """What is shown after one act of a person.

    Args:
        view: as it is.
        field_of: see `FieldOf`.
        act: its name.
        sent: what came with it, by anybody.

    Raises:
        KnownError: an act that there is not, a value that it cannot have, or models that have
            results of different pairs.
    """
    if act in ACTS:
        now = compare_scene(view, common_field(view, field_of))
        reading = replace(read_on(now.view.reading, now.listed, act, sent.get("value")), page=1)
        return replace(now, view=replace(now.view, reading=reading))
    moved = move_compare(view, act, sent)
    if moved.a != view.a:
        field_of(moved.a)  # raises where it has no results
        moved, _ = fitting_compare(moved, field_of)
    field = common_field(moved, field_of)
    if (moved.named, moved.section) == (view.named, view.section):
        return compare_scene(moved, field)
    now = compare_scene(replace(moved, reading=replace(view.reading, key="")), field)
    # The pair that is read stays where they differ in it still.
    kept = replace(view.reading.anew(now.listed), page=1)
    return replace(now, view=replace(now.view, reading=kept))


def move_compare(view: CompareState, act: str, sent: Mapping[str, Any]) -> CompareState:
    """The view after an act that is no step of reading.

    act: "a" and "b" a model, of b "" for the majority; "add" and "remove" a further one; "swap" a
        and b; "section", "panel", "way" with a `value`; "pick" the `names` of members.

    Raises:
        KnownError: an act that there is not, or a value that it cannot have.

    >>> move_compare(CompareState("org/new", "org/old"), "swap", {}).a
    'org/old'
    """
    value = sent.get("value")
    if act == "a":
        model = checked_model(value)
        return distinct(replace(view, a=model) if model else CompareState(panel=view.panel))
    if act == "b":
        model = checked_model(value)
        if not model and view.more:
            return replace(view, b=view.more[0], more=view.more[1:])
        return distinct(replace(view, b=model or MAJORITY))
    if act == "add":
        return _with(view, value)
    if act == "remove":
        return replace(view, more=tuple(each for each in view.more if each != value))
    if act == "swap":
        if view.b == MAJORITY:
            raise KnownError("The majority of the others is no model: choose one to swap with.")
        return replace(view, a=view.b, b=view.a)
    if act in ("section", "panel", "way"):
        return COMPARE_LINK.moved(view, act, value)
    if act == "pick":
        return replace(view, members=checked_members(sent.get("names")))
    raise KnownError(f"There is no act {shown(act)}.")


def distinct(view: CompareState) -> CompareState:
    """The view, if its models can stand side by side at all.

    Raises:
        KnownError: one is named twice, there are too many, or one stands where another must be
            chosen before it.
    """
    early = (view.b != MAJORITY and not view.a) or (view.more and view.b == MAJORITY)
    if early or "" in (view.b, *view.more):
        raise KnownError("Choose a model, then the one that it is compared with, then others.")
    every = (view.a, view.b, *view.more)
    twice = next((each for place, each in enumerate(every) if each in every[:place]), None)
    if twice is not None or MAJORITY in view.more:
        raise KnownError(f"{shown(twice or MAJORITY)} cannot stand twice. Choose another model.")
    if len(every) > MOST_MODELS:
        raise KnownError(f"{MOST_MODELS} models can be compared, not {len(every):,}. Drop one.")
    return view


def checked_members(values: object) -> tuple[str, ...]:
    """Names of models, each once.

    Raises:
        KnownError: no list of names, or too many.
    """
    if not isinstance(values, list | tuple):
        raise KnownError(f"Members are a list of models, not {shown(values)}.")
    if len(values) > MOST_MEMBERS:
        raise KnownError(
            f"An ensemble may have {MOST_MEMBERS} members here, not {len(values):,}. Take one away."
        )
    return tuple(name for name in dict.fromkeys(map(checked_model, values)) if name)


def common_field(view: CompareState, field_of: FieldOf) -> Field:
    """The field that all models of a view are in.

    Raises:
        KnownError: one has no results here, or results of other pairs.
    """
    field = field_of(view.a)
    for model in (*view.named, *view.members):
        if model not in field.place_of:
            raise _other_pairs(model, field_of(model), view.a, field)
    return field


def fitting_compare(view: CompareState, field_of: FieldOf) -> tuple[CompareState, tuple[str, ...]]:
    """A view as far as it can be shown here, and what of it cannot, as a link says it."""
    try:
        field = field_of(view.a)
    except KnownError as error:
        return CompareState(panel=view.panel, reading=view.reading), (str(error),)
    dropped: list[str] = []

    def there(model: str) -> bool:
        try:
            if model not in field.place_of:
                raise _other_pairs(model, field_of(model), view.a, field)
        except KnownError as error:
            dropped.append(str(error))
        return model in field.place_of

    others = tuple(each for each in (view.b, *view.more) if each != MAJORITY and there(each))
    members = tuple(each for each in view.members if each in field.place_of)
    dropped += [as_dropped("member", each) for each in view.members if each not in members]
    fitted = replace(view, b=(*others, MAJORITY)[0], more=others[1:], members=members)
    return fitted, tuple(dropped)


def subsets_in(field: Field, section: str) -> tuple[str, ...]:
    """The subsets of the field's pairs that a section of RewardBench has; of "" all."""
    ruled = subsets_by(V1, field.matrix.pairs).names
    names = zip(field.matrix.pairs.names, ruled, strict=True)
    return tuple(name for name, rule in names if not section or V1.section_of(rule) == section)


def in_section(field: Field, section: str) -> Mask:
    """Which pairs of the field are of a section; of "" all."""
    pairs = field.matrix.pairs
    wanted = subsets_in(field, section)
    has = np.array([name in wanted for name in pairs.names], np.bool_)
    mask: Mask = has[pairs.codes]
    return mask


def _other_pairs(model: str, of_model: Field, other: str, of_other: Field) -> KnownError:
    if not other:
        return KnownError(f"Choose a model with results of the same pairs as {shown(model)} first.")
    return KnownError(
        f"{shown(model)} and {shown(other)} have results of different pairs, so they cannot be "
        f"compared: {of_model.table.caption} Against: {of_other.table.caption} "
        "Choose a model with results of the same pairs, or score both on them."
    )


def _settled(reading: Reading, listed: ListedRows) -> Reading:
    return replace(replace(reading, page=1).settled(listed), page=1)


def _with(view: CompareState, model: object) -> CompareState:
    return distinct(replace(view, more=(*view.more, checked_model(model))))


def _one(name: str) -> Parameter:
    """The model `a` or `b`."""

    def read(view: CompareState, model: str) -> CompareState:
        named: Any = {name: checked_model(model)}
        return distinct(replace(view, **named))

    return Parameter(name, "", read, lambda view: (getattr(view, name),), last=True)


READING = ("source", "pair", "diff", "spaces", "markdown")
"""The parts that are written as in links of the Pairs tab."""
COMPARE_LINK = Codec(
    CompareState(),
    (
        _one("a"),
        _one("b"),
        Parameter("with", "", _with, lambda view: view.more, last=True),
        choice("section", "section", SECTIONS, "A section"),
        choice("part", "panel", PANELS, "A panel"),
        several("member", "members", checked_members),
        choice("way", "way", WAYS, "A way"),
        *(each for each in PAIRS_LINK.parameters if each.name in READING),
    ),
)
"""Such as `a=org/new&b=org/old&with=org/third&section=Chat+Hard&part=scatter&pair=hep-rust:7`."""
