"""The words on screen and the code that shows them fit together."""

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from string import Formatter
from typing import NamedTuple

import pytest
from jinja2 import Environment, nodes

from explorer.core.settings import ASSETS, ROOT
from explorer.core.text import text

TEXTS = {
    f"{table}.{key}": words
    for table, entries in tomllib.loads((ASSETS / "text.toml").read_text("utf-8")).items()
    for key, words in entries.items()
}
SOURCES = [ROOT / "app.py", *sorted((ROOT / "explorer").rglob("*.py"))]
TEMPLATES = sorted((ROOT / "explorer").rglob("templates/*.html"))


class Use(NamedTuple):
    """A key, or a pattern of keys with a `*` for each part that is not written out.

    values: the names it gives; None where they are not written out.
    """

    place: str
    key: str
    values: frozenset[str] | None

    @property
    def keys(self) -> set[str]:
        return {key for key in TEXTS if fnmatchcase(key, self.key)}

    @property
    def written_out(self) -> int:
        """Characters of the key that the code says itself."""
        return len(self.key.replace("*", ""))


def given_values(call: ast.Call) -> frozenset[str] | None:
    names: set[str] = set()
    for keyword in call.keywords:
        if keyword.arg is not None:
            names.add(keyword.arg)
        elif isinstance(keyword.value, ast.Dict):
            keys = [ast.literal_eval(key) for key in keyword.value.keys if key is not None]
            names.update(keys)
        else:
            return None
    return frozenset(names)


def keys_asked_for(argument: ast.expr) -> Iterator[str]:
    """The keys or patterns that the first argument of `text` may be."""
    match argument:
        case ast.Constant(value=str(key)):
            yield key
        case ast.JoinedStr(values=[ast.Constant(), *_] as parts):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts
            )
        case ast.IfExp(body=body, orelse=other):
            yield from keys_asked_for(body)
            yield from keys_asked_for(other)
        case _:
            yield f"({ast.unparse(argument)})"  # is no key, so its test fails


def uses_in(path: Path) -> Iterator[Use]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="text"), args=[argument]):
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                for key in keys_asked_for(argument):
                    yield Use(place, key, given_values(node))


def keys_in_template(argument: nodes.Expr) -> Iterator[str]:
    """The same of a template."""
    match argument:
        case nodes.Const(value=str(key)):
            yield key
        case nodes.Concat(nodes=[nodes.Const(), *_] as parts):
            yield "".join(
                str(each.value) if isinstance(each, nodes.Const) else "*" for each in parts
            )
        case nodes.CondExpr(expr1=body, expr2=nodes.Expr() as other):
            yield from keys_in_template(body)
            yield from keys_in_template(other)
        case _:
            yield f"({argument})"


def uses_in_template(path: Path) -> Iterator[Use]:
    for call in Environment().parse(path.read_text("utf-8")).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "text":
            place = f"{path.relative_to(ROOT)}:{call.lineno}"
            for key in keys_in_template(call.args[0]):
                yield Use(place, key, frozenset(each.key for each in call.kwargs))


@pytest.fixture(scope="module")
def uses() -> list[Use]:
    found = [use for path in SOURCES if path.is_file() for use in uses_in(path)]
    return found + [use for path in TEMPLATES for use in uses_in_template(path)]


@pytest.fixture(scope="module")
def most_written_out(uses: list[Use]) -> dict[str, int]:
    """Key -> characters of it that are written out where the most are: there it is meant."""
    most: dict[str, int] = {}
    for use in uses:
        for key in use.keys:
            most[key] = max(use.written_out, most.get(key, 0))
    return most


def places_of(key: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(TEXTS[key]) if name is not None}


def test_the_walk_finds_texts_of_every_kind(
    uses: list[Use], most_written_out: dict[str, int]
) -> None:
    assert {"figure.lengths", "source.pairs_demo", "outcome.won"} <= most_written_out.keys()
    assert {"*" in use.key for use in uses} == {True, False}


def test_every_text_is_shown_somewhere(most_written_out: dict[str, int]) -> None:
    assert [key for key in TEXTS if key not in most_written_out] == []


def test_every_text_asked_for_is_there(uses: list[Use]) -> None:
    assert [f"{use.place} asks for {use.key!r}" for use in uses if not use.keys] == []


def test_every_place_in_a_text_is_filled_in(
    uses: list[Use], most_written_out: dict[str, int], subtests: pytest.Subtests
) -> None:
    for use in uses:
        if use.values is None:
            continue  # the place does not write its values out
        with subtests.test(place=use.place, key=use.key):
            if "*" not in use.key:
                assert places_of(use.key) == use.values
            for key in use.keys:
                if most_written_out[key] == use.written_out:
                    assert places_of(key) <= use.values, key


def test_no_text_is_empty_or_frayed() -> None:
    assert [key for key, words in TEXTS.items() if not words == words.strip() != ""] == []
    assert [key for key in TEXTS if not all(map(str.isidentifier, places_of(key)))] == []


def test_places_are_filled_in() -> None:
    assert text("list.count", n="3", total="1,000") == "3 of 1,000 pairs"
    assert text("reader.prompt") == TEXTS["reader.prompt"]


def test_one_of_anything_is_singular() -> None:
    decimals_and_verbs = {"points", "is", "was", "has", "does", "wins", "fails", "gives", "differs"}
    counted = re.compile(r"(?<![\d.])1 (?:more |other |smaller |earlier )?([a-z]+s)\b(?!/)")
    for key in TEXTS:
        words = text(key, **dict.fromkeys(places_of(key), 1))
        assert set(counted.findall(words)) <= decimals_and_verbs, f"{key}: {words}"


def test_values_are_not_templates_themselves() -> None:
    assert text("filter.remove", filter="{filter} {n}") == "Remove the filter {filter} {n}"


def test_an_unknown_key_or_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        text("no.such_key")
    with pytest.raises(KeyError):
        text("list.count", n="3")
