"""What docs say that `scoring/` needs is all that it needs."""

import ast
import importlib.metadata
import re
import sys

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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
    found: set[str] = set()
    for path in (ROOT / "scoring").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
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
