"""What a person looks at, as the query string of a link, and back; a link may say anything.

A tab lists the parts of its link once, as the `Parameter`s of a `Codec` beside its state.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl, urlencode

from explorer.core.validation import one_of, repaired
from scoring.errors import KnownError, shown

LONGEST_LINK = 20_000
"""Characters of a query string that are looked at."""
MOST_DROPPED = 20
"""Parts that mean nothing that are named."""
IGNORED = ("tab", "view", "__theme", "__sign", "logs")
"""What Gradio and Spaces write into an address for themselves."""

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A name in links, and the value in a state that it stands for.

    path: the attributes that lead to the value, with dots between; "" for the state itself.
    read: the value after one such part, from the value before it and the part's text; raises
        `ValueError` or `KeyError` where that means nothing.
    write: the texts of a value, a part each.
    check: what an act may set it to, from anything posted, or a `KnownError`; None where none does.
    last: whether it is read after all other parts, because they say what it may be.
    """

    name: str
    path: str
    read: Callable[[Any, str], Any]
    write: Callable[[Any], Iterable[str]]
    check: Callable[[object], Any] | None = None
    last: bool = False

    def texts(self, state: Any) -> tuple[str, ...]:
        """Of the value in a state."""
        return tuple(self.write(attrgetter(self.path)(state) if self.path else state))

    def after(self, state: Any, text: str) -> Any:
        """The state after one more part of a link."""
        return _changed(state, self.path, lambda before: self.read(before, text))


def choice(name: str, path: str, options: Sequence[Any], what: str = "") -> Parameter:
    """One of some options. what: its name in errors, where an act sets it."""
    by_text = {str(option): option for option in options if option != ""}
    check = (lambda value: one_of(what, options, value)) if what else None
    return Parameter(name, path, lambda _, text: by_text[text], lambda value: (str(value),), check)


def flag(name: str, path: str, what: str = "", *, on: bool = True) -> Parameter:
    """True or False. on: which of the two is written, as "1". what: as of `choice`."""
    by_text = {"1": on}
    check = (lambda value: one_of(what, (True, False), value)) if what else None
    return Parameter(
        name, path, lambda _, text: by_text[text], lambda value: ["1"] * (value is on), check
    )


def checked(name: str, path: str, check: Callable[[Any], Any]) -> Parameter:
    """What a check makes of a text."""
    return Parameter(name, path, lambda _, text: check(text), lambda value: (str(value),), check)


def several(name: str, path: str, check: Callable[[object], Sequence[str]]) -> Parameter:
    """A tuple of texts, a part each. check: what it makes of them all, after each part."""
    return Parameter(name, path, lambda before, text: check((*before, text)), tuple, check)


def within(path: str, parameters: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Those of a state that is itself a value in another, at a path."""
    return tuple(replace(each, path=f"{path}.{each.path}") for each in parameters)


@dataclass(frozen=True, slots=True)
class Decoded(Generic[S]):
    """What a link asks for, and the parts of it that mean nothing, to be told."""

    state: S
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Codec(Generic[S]):
    """The links of a state. `decode(encode(state)).state == state` up to `LONGEST_LINK` characters.

    usual: the state of an empty link; values as it has them are not written.
    parameters: in the order in which they are written.

    >>> @dataclass(frozen=True)
    ... class Walk:
    ...     pace: str = "slow"
    ...     stops: tuple[str, ...] = ()
    >>> fields = (choice("by", "pace", ("slow", "fast"), "A pace"), several("at", "stops", tuple))
    >>> link = Codec(Walk(), fields)
    >>> link.encode(Walk("fast", ("a", "b")))
    'by=fast&at=a&at=b'
    >>> link.decode("?at=a&by=far&x=1")
    Decoded(state=Walk(pace='slow', stops=('a',)), dropped=('by=far', 'x=1'))
    >>> link.moved(Walk(), "pace", "fast")
    Walk(pace='fast', stops=())
    """

    usual: S
    parameters: tuple[Parameter, ...]

    def encode(self, state: S) -> str:
        """The query string of a state, without "?"."""
        return written(self.parts(state))

    def parts(self, state: S) -> list[tuple[str, str]]:
        """The parts of a link, by name, in their order."""
        parts = []
        for each in self.parameters:
            texts = each.texts(state)
            if texts != each.texts(self.usual):
                parts += [(each.name, text) for text in texts]
        return parts

    def decode(self, query_string: object, onto: S | None = None) -> Decoded[S]:
        """The state that a link asks for; what it says wrongly is dropped and named.

        query_string: with or without its "?". onto: has what the link does not speak of; None for
        the usual.
        """
        if not isinstance(query_string, str):
            return Decoded(self.usual, (shown(query_string),))
        known = {each.name: each for each in self.parameters}
        late = [each.name for each in self.parameters if each.last]
        parts, dropped = parts_of(query_string)
        parts.sort(key=lambda part: late.index(part[0]) if part[0] in late else -1)
        state = self.usual if onto is None else onto
        for name, text in parts:
            if name in IGNORED:
                continue
            try:
                state = known[name].after(state, text)
            except (KeyError, ValueError):
                dropped.append(as_dropped(name, text))
        return Decoded(state, first_dropped(dropped))

    def moved(self, state: S, path: str, value: object) -> S:
        """The state after an act that sets the value at a path to what anybody may have posted.

        Raises:
            KnownError: no act does, or the value cannot be that.
        """
        check = next((each.check for each in self.parameters if each.path == path), None)
        if check is None:
            raise KnownError(f"There is no act {shown(path)}.")
        moved: S = _changed(state, path, lambda _: check(value))
        return moved


def _changed(state: Any, path: str, change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(state)
    name, _, rest = path.partition(".")
    return replace(state, **{name: _changed(getattr(state, name), rest, change)})


def written(parts: Iterable[tuple[str, str]]) -> str:
    """A query string, without "?", that a person can read.

    >>> written([("subset", "hep-rust"), ("q", "a&b"), ("source", "org/name@1")])
    'subset=hep-rust&q=a%26b&source=org/name@1'
    """
    return urlencode(list(parts), safe="/:@")


def parts_of(query_string: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Names and values of a query string, with or without its "?", and "…" where it was cut.

    >>> parts_of("?a=1&b=%C3%A9&c")
    ([('a', '1'), ('b', 'é'), ('c', '')], [])
    """
    query_string, dropped = query_string.removeprefix("?"), []
    if len(query_string) > LONGEST_LINK:
        # What the cut goes through would say something else.
        query_string, dropped = query_string[: LONGEST_LINK + 1].rpartition("&")[0], ["…"]
    return parse_qsl(repaired(query_string), keep_blank_values=True, errors="replace"), dropped


def as_dropped(name: str, value: str) -> str:
    """A part that means nothing, as it is told."""
    return f"{name}={value}"[:80]


def first_dropped(dropped: list[str]) -> tuple[str, ...]:
    """The first of the parts that mean nothing."""
    return tuple(dropped if len(dropped) <= MOST_DROPPED else [*dropped[:MOST_DROPPED], "…"])
