"""`scoring/` alone: what it needs, how its threads wait, and what a path is, typed or on disk."""

import os
import re
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import scoring
from scoring.paths import is_file, is_folder, typed_path
from tests.conftest import ROOT


def imported() -> set[str]:
    """Packages that modules of scoring/ import, at whatever depth of functions and classes."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "scoring").rglob("*.py")]
    lines = r"^ *(?:from (\w+)[\w.]* import|import (\w+)[\w.]*(?: as| *#|,|$))"
    found = {one or other for text in texts for one, other in re.findall(lines, text, re.M)}
    return found - {"scoring", *sys.stdlib_module_names}


def test_scoring_imports_what_docs_name_which_is_declared() -> None:
    page = (ROOT / "docs" / "scoring.md").read_text(encoding="utf-8")
    [sentence] = re.findall(r"`scoring/` runs alone: it needs ([^.]*)\.", page)
    named = re.findall(r"`([\w-]+)`", sentence)
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    assert {*named} <= {re.split(r"[=<>\[]", line)[0] for line in lines}
    owners = packages_distributions()
    needed = {*map(canonicalize_name, named)}
    for each in (Requirement(line) for name in named for line in requires(name) or ()):
        if each.marker is None or each.marker.evaluate({"extra": ""}):
            needed.add(canonicalize_name(each.name))
    others = {name for name in imported() if not needed & {*map(canonicalize_name, owners[name])}}
    assert others == set()


def test_threads_wait_briefly_unless_the_owner_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases: list[tuple[dict[str, str], str | None]] = [
        ({"GOMP_SPINCOUNT": "7"}, "7"),
        ({"OMP_WAIT_POLICY": "active"}, None),
        ({}, scoring.SPINS),
    ]
    for owners, spins in cases:
        with monkeypatch.context() as patch:
            patch.setattr(os, "environ", owners)
            scoring.wait_briefly()
        assert owners.get("GOMP_SPINCOUNT") == spins


def test_a_tilde_is_the_persons_home_and_other_text_is_taken_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert typed_path("~/models") == Path("/home/ada/models")
    for text in ("", "a b", "~no-such-user/x", "org/name", "a\0b"):
        assert typed_path(text) == Path(text)


def test_what_lies_there_is_told_apart_also_by_names_that_none_can_have(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    impossible = [Path("x" * 300), Path("a\0b"), Path("/".join(["x" * 200] * 50))]
    paths = [file, tmp_path, file / "x", tmp_path / "gone", *impossible]
    assert [path for path in paths if is_file(path)] == [file]
    assert [path for path in paths if is_folder(path)] == [tmp_path]
