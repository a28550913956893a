"""The address of a tab as a value: what a link says, and the links that lead on from it.

The state of a tab is a frozen dataclass that lists its parameters once. A link may say anything.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from explorer.core.links import IGNORED, as_dropped, first_dropped, parts_of, written
from explorer.core.validation import repaired
from scoring.errors import shown

LONGEST_FIELD = 500
"""Characters of a field of a form whose value an address holds."""
_LONGEST_TOKEN = 64


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an address, and the field of the state that it sets.

    read: the value of a text; raises `ValueError` or `KeyError` if it has none.
    write: the text of a value.
    most: how many values the field holds, as a tuple; None for a field of one value.
    """

    name: str
    field: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str
    most: int | None = None


def choice(name: str, options: Sequence[Any], field: str = "") -> Parameter:
    """One of some options; "" cannot be asked for."""
    by_text = {str(option): option for option in options if option != ""}
    return Parameter(name, field or name, by_text.__getitem__)


def flag(name: str, field: str, *, on: bool = True) -> Parameter:
    """True or False. on: which of the two is written, as "1"."""
    return Parameter(name, field, {"1": on}.__getitem__, lambda value: "1")


def text(name: str, check: Callable[[str], str], field: str = "") -> Parameter:
    """What a check makes of a text."""
    return Parameter(name, field or name, check)


def several(name: str, check: Callable[[str], Any], most: int, field: str = "") -> Parameter:
    """At most so many different texts, each as a check makes it."""
    return Parameter(name, field or name, check, most=most)


def some_of(name: str, options: Sequence[Any], field: str = "") -> Parameter:
    """Any of some options, each once."""
    by_text = {str(option): option for option in options}
    return several(name, by_text.__getitem__, len(options), field)


def at_most(most: int) -> Callable[[str], str]:
    """A check of a text: so many characters, half a character repaired."""

    def check(value: str) -> str:
        if len(value) > most:
            raise ValueError(value)
        return repaired(value)

    return check


def whole_number(name: str, most: int, field: str = "") -> Parameter:
    """A whole number, 1 to so many."""

    def check(value: str) -> int:
        if not (value.isascii() and value.isdecimal() and 1 <= int(value) <= most):
            raise ValueError(value)
        return int(value)

    return Parameter(name, field or name, check)


def form_field(name: str) -> Parameter:
    """What stands in a field of a form, as it was typed. name: of the field of the state."""
    return text(name.replace("_", "-"), at_most(LONGEST_FIELD), name)


def token(value: str) -> str:
    """A check of the random name of a visitor's files."""
    if not (value.isascii() and value.isalnum() and len(value) <= _LONGEST_TOKEN):
        raise ValueError(value)
    return value


class Address:
    """Base of the states of tabs. Their fields have defaults, which addresses leave out.

    >>> @dataclass(frozen=True)
    ... class Walk(Address):
    ...     TAB = "walk"
    ...     pace: str = "slow"
    ...     stops: tuple[str, ...] = ()
    ...     PARAMETERS = (choice("pace", ("slow", "fast")), several("at", str, 9, "stops"))
    >>> state, dropped = Walk.parse("?tab=walk&at=a&at=b&pace=far&x=1")
    >>> state, dropped
    (Walk(pace='slow', stops=('a', 'b')), ('pace=far', 'x=1'))
    >>> state.href(pace="fast"), state.href(stops=state.toggled("stops", "a"))
    ('?tab=walk&pace=fast&at=a&at=b', '?tab=walk&at=b')
    """

    TAB: ClassVar[str]
    PARAMETERS: ClassVar[tuple[Parameter, ...]]

    @classmethod
    def parse(cls, query: object) -> tuple[Self, tuple[str, ...]]:
        """The state that a query string asks for, and the parts of it that mean nothing."""
        if not isinstance(query, str):
            return cls(), (shown(query),)
        parts, dropped = parts_of(query)
        known = {each.name: each for each in cls.PARAMETERS}
        found: dict[str, Any] = {}
        for name, value in parts:
            if name in IGNORED:
                continue
            try:
                parameter = known[name]
                read = parameter.read(value)
                if parameter.most is not None:
                    read = tuple(dict.fromkeys((*found.get(parameter.field, ()), read)))
                    if len(read) > parameter.most:
                        raise ValueError(read)
                found[parameter.field] = read
            except (KeyError, ValueError):
                dropped.append(as_dropped(name, value))
        state, unfit = cls(**found).settled()
        return state, first_dropped([*dropped, *unfit])

    def settled(self) -> tuple[Self, tuple[str, ...]]:
        """The state without fields that contradict others, and those as parts of a link."""
        return self, ()

    def href(self, **changes: Any) -> str:
        """The link to this state with some fields changed."""
        state: Any = replace(self, **changes) if changes else self  # type: ignore[type-var]
        return "?" + written([("tab", self.TAB), *state.parts()])

    @property
    def query_string(self) -> str:
        """The same without "?" and without the tab."""
        return written(self.parts())

    def parts(self, *without: str) -> Iterator[tuple[str, str]]:
        """Names and texts of what is not as by default, without those of some names."""
        for each in self.PARAMETERS:
            value = getattr(self, each.field)
            if value != getattr(type(self), each.field) and each.name not in without:
                for one in value if each.most is not None else (value,):
                    yield each.name, each.write(one)

    def toggled(self, field: str, value: str) -> tuple[str, ...]:
        """The values of a field with one more, or without it if it is there."""
        values: tuple[str, ...] = getattr(self, field)
        return (
            tuple(each for each in values if each != value) if value in values else (*values, value)
        )
