"""`scoring/` by itself: docs say all that it needs, and its threads do not spin."""

import importlib.metadata
import os
import re
import sys

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import scoring
from tests.conftest import ROOT


def with_needed(packages: list[str]) -> set[str]:
    """These distributions, and all that they declare to need without extras."""
    found: set[str] = set()
    left = list(packages)
    while left:
        name = canonicalize_name(left.pop())
        if name not in found:
            found.add(name)
            needed = map(Requirement, importlib.metadata.requires(name) or ())
            left += [
                each.name
                for each in needed
                if each.marker is None or each.marker.evaluate({"extra": ""})
            ]
    return found


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
    owners = importlib.metadata.packages_distributions()
    needed = with_needed(named)
    others = {name for name in imported() if not needed & {*map(canonicalize_name, owners[name])}}
    assert others == set()


def test_threads_wait_briefly_unless_the_owner_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    scoring.wait_briefly()
    assert os.environ["GOMP_SPINCOUNT"] == "7"
    monkeypatch.delenv("GOMP_SPINCOUNT")
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    scoring.wait_briefly()
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.delenv("OMP_WAIT_POLICY")
    scoring.wait_briefly()
    assert os.environ["GOMP_SPINCOUNT"] == scoring.SPINS
