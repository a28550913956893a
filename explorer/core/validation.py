"""Values that anybody may have posted, checked against those that are known."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from scoring.errors import KnownError, shown

T = TypeVar("T")


def repaired(words: str) -> str:
    """A text without lone surrogates, which JSON lets through, and nothing that was loaded has.

    >>> repaired("a" + chr(0xD800)), repaired(chr(0xD83D) + chr(0xDE00)) == chr(0x1F600)
    ('a\ufffd', True)
    """
    return words.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def checked_integer(what: str, value: Any, low: int, high: int) -> int:
    """A whole number in a range, however it is written.

    Raises:
        KnownError: it is none, or outside.

    >>> checked_integer("page", 3.0, 1, 10)
    3
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and low <= value <= high and float(value).is_integer():
        return int(value)
    given = "empty" if value in (None, "") else shown(value)
    raise KnownError(f"{what} is {given}; it must be a whole number, {low} to {high:,}.")


def one_of(what: str, known: Sequence[T], value: object) -> T:
    """The one that equals the value.

    Raises:
        KnownError: none does.

    >>> one_of("choice", (True, 1), 1)
    1
    """
    for each in known:
        if type(each) is type(value) and each == value:
            return each
    raise KnownError(
        f"{what} is one of {', '.join(str(each) or 'none' for each in known)}, not {shown(value)}."
    )


def validated(adapter: TypeAdapter[T], values: Mapping[str, Any]) -> T:
    """What was read as a value of a dataclass, by the names and the types of its fields.

    Raises:
        KnownError: what the first wrong value is, and what it must be, as its field describes it.
    """
    try:
        return adapter.validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if isinstance(why := first.get("ctx", {}).get("error"), KnownError):
            raise why from None
        name, *inside = map(str, first["loc"])
        given = f"names {first['input']!r}" if inside else f"is {values.get(name)!r}"
        must = adapter.json_schema()["properties"][name].get("description") or first["msg"]
        raise KnownError(f"{name} {given}; {must}.") from error


def integer_if_numeric(typed: str) -> int | str:
    """The whole number that was typed; a text that is none stays, for who checks it to say so."""
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 12 else typed
