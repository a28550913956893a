"""`python -m scoring` again and again, where nothing is installed but what is named.

    alone.py PACKAGES COMMANDS

PACKAGES: distributions with commas between them; what they declare that they need is there, too.
COMMANDS: a JSON list of lists of arguments. The first that fails ends this with its exit code.
"""

import importlib.metadata
import json
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent.parent


def with_needed(packages: list[str]) -> set[str]:
    """These distributions, and all that they declare to need without extras."""
    found: set[str] = set()
    left = list(packages)
    while left:
        name = canonicalize_name(left.pop())
        if name not in found:
            found.add(name)
            for written in importlib.metadata.requires(name) or ():
                needed = Requirement(written)
                if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                    left.append(needed.name)
    return found


def hide_all_but(packages: set[str]) -> None:
    """Make the modules of all other distributions, and the rest of this project, as if not here."""
    every = importlib.metadata.packages_distributions()
    hidden = {name for name, of in every.items() if not packages & set(map(canonicalize_name, of))}
    hidden |= {"app", "explorer", "tests"}

    class Declared(PathFinder):
        @classmethod
        def find_spec(
            cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
        ) -> ModuleSpec | None:
            if fullname.partition(".")[0] in hidden:
                return None
            return super().find_spec(fullname, path, target)

    sys.meta_path[:] = [BuiltinImporter, FrozenImporter, Declared]


if __name__ == "__main__":
    hide_all_but(with_needed(sys.argv[1].split(",")))
    sys.path[0] = str(ROOT)
    for arguments in json.loads(sys.argv[2]):
        sys.argv[1:] = arguments
        try:
            runpy.run_module("scoring", run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            if ended.code:
                raise
