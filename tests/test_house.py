"""The rules that keep the parts apart: who may import whom, and what an import may do."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from scoring.benchmarks import bundled_benchmarks
from tests.conftest import ROOT

HEAVY = {"torch", "transformers", "tokenizers", "datasets", "gradio", "pandas", "plotly"}

IMPORT_WITHOUT_NETWORK = """
import importlib, json, sys

NETWORK = ("socket.__new__", "socket.getaddrinfo")
asked, loaded = [], []
sys.addaudithook(lambda event, _: event in NETWORK and asked.append(event))
for names in json.loads(sys.argv[1]):
    for name in names:
        importlib.import_module(name)
    loaded.append(sorted(sys.modules))
print(json.dumps([asked, *loaded]))
"""


def modules_of(package: str) -> list[str]:
    """A package and all its modules, found without importing any."""
    files = [path.relative_to(ROOT) for path in sorted((ROOT / package).rglob("*.py"))]
    return [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]


def is_in(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


WITH_TORCH = {
    "scoring.run",
    "scoring.models.loading",
    *(f"scoring.engine.{name}" for name in ("attention", "forward", "vocabulary")),
    *(f"scoring.families.{name}" for name in ("classifier", "dpo", "judge", "local", "pairrm")),
}
SCORING, EXPLORER = modules_of("scoring"), modules_of("explorer")
TORCH_FREE = [name for name in SCORING if name not in WITH_TORCH]
_CORE_VIEWS = ("address_view", "error_view", "served", "theme", "uploads")
WITH_GRADIO = ("explorer.page", "explorer.api", *(f"explorer.core.{name}" for name in _CORE_VIEWS))
_PURE = tuple(f"explorer.{room}" for room in ("core", "data", "stats", "runs", "results"))
PURE = [name for name in EXPLORER if is_in(name, *_PURE) and not is_in(name, *WITH_GRADIO)]
UI = [name for name in EXPLORER if name not in PURE]
ROOMS = ("scoring", "core", "data", "stats", "runs", "results", "reader", "tabs")
"""From the ground up: a module imports from its own room and from those before it."""


def import_afresh(*rooms: list[str]) -> tuple[list[str], list[set[str]]]:
    """What is asked of the network when rooms are imported in turn, and what is loaded by then."""
    command = [sys.executable, "-c", IMPORT_WITHOUT_NETWORK, json.dumps(rooms)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    asked, *loaded = json.loads(done.stdout)
    return asked, [set(each) for each in loaded]


def source_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(source_of(module).read_text(encoding="utf-8"))


@cache
def imports_of(module: str) -> set[str]:
    """Every module that a module imports, at whatever depth of functions and classes."""
    package = ".".join(source_of(module).relative_to(ROOT).parts[:-1])
    found: set[str] = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return found


def test_importing_all_but_the_ui_asks_no_network_and_loads_nothing_heavy() -> None:
    assert set(SCORING) - set(TORCH_FREE) == WITH_TORCH
    assert {"explorer.data.table", "explorer.results"} <= set(PURE)
    asked, (scorer, loaded) = import_afresh(TORCH_FREE, PURE)
    assert asked == []
    assert scorer & (HEAVY | {"explorer"}) == set()
    assert set(PURE) | set(TORCH_FREE) <= loaded
    assert loaded & HEAVY == set()


def test_importing_the_ui_waits_with_torch_until_someone_scores() -> None:
    assert {"explorer.tabs.pairs.view", "explorer.core.theme"} <= set(UI)
    _, (loaded,) = import_afresh(UI)
    assert set(UI) <= loaded
    assert loaded & {"torch", "transformers", "datasets", "plotly", *WITH_TORCH} == set()


def imported(modules: list[str], *packages: str) -> list[str]:
    """What of some packages is imported by which of the modules."""
    return [
        f"{module} imports {name}"
        for module in modules
        for name in sorted(imports_of(module))
        if is_in(name, *packages)
    ]


def room_of(module: str) -> str:
    """The room that a module of the project stands in.

    >>> room_of("scoring.hub.access"), room_of("explorer.core.html")
    ('scoring', 'core')
    """
    return module.removeprefix("explorer.").split(".")[0]


def test_rooms_import_downwards_alone_no_tab_another_and_nothing_the_app() -> None:
    found = imported(UI, "app")
    for module in SCORING + EXPLORER:
        if room_of(module) in ROOMS:
            allowed = ("explorer", *ROOMS[: ROOMS.index(room_of(module)) + 1])
            above = [name for name in EXPLORER if room_of(name) not in allowed]
            found += imported([module], "app", *above)
    tabs = {name.split(".")[2] for name in EXPLORER if name.startswith("explorer.tabs.")}
    for tab in sorted(tabs):
        ours = [name for name in EXPLORER if is_in(name, f"explorer.tabs.{tab}")]
        found += imported(ours, *(f"explorer.tabs.{other}" for other in tabs - {tab}))
    assert found == []


def test_at_most_22_modules_stand_side_by_side_and_the_app_only_joins_them() -> None:
    files = [source_of(name) for name in SCORING + EXPLORER]
    rooms = Counter(path.parent for path in files if path.name != "__init__.py")
    assert {room: n for room, n in rooms.items() if n > 22} == {}
    assert len((ROOT / "app.py").read_text(encoding="utf-8").splitlines()) <= 60


def test_the_scorer_imports_nothing_of_the_app_and_gradio_is_imported_by_views() -> None:
    assert imported(SCORING, "gradio", "explorer") == []
    others = [name for name in EXPLORER if not is_in(name, *WITH_GRADIO)]
    assert imported([name for name in others if not name.endswith("view")], "gradio") == []


NAMING_BENCHMARKS = (
    "scoring.benchmark scoring.hub.access scoring.results explorer.data.rebuilding"
).split()
"""The default dataset, RewardBench's own names, rebuilding it, and readers of upstream's files."""


def test_benchmarks_are_named_in_their_table_alone() -> None:
    """Keys, datasets, subsets and boards; a section such as Math may be a word of its own."""
    names = {
        name
        for each in bundled_benchmarks().values()
        for name in (
            *(each.name, each.short, *each.named_datasets.values(), *each.counts),
            *(board.name for board in each.boards),
        )
        if name and not name.isalpha()
    }
    found = [
        f"{module}:{node.lineno}: {node.value!r}"
        for module in SCORING + EXPLORER
        if not is_in(module, *NAMING_BENCHMARKS)
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert found == [], "take them from scoring.benchmarks"


BUDGETS: dict[str, int] = {
    "scoring": 14_700,
    "explorer/core": 3_750,
    "explorer/data": 4_200,
    "explorer/stats": 2_250,
    "explorer/results": 3_650,
    "explorer/runs": 2_950,
    "explorer/tabs": 11_200,
    "explorer/api": 1_500,
    "explorer": 200,
    "tests": 28_000,
    "templates": 3_000,
    "scripts": 1_600,
}
"""Lines that a room may have, blank ones and docstrings too. A change lowers its rooms' rows to
what it left, rounded up to a hundred; a row is raised only in a commit that says what for.
"""
_OURS = [path for room in ("explorer", "scoring", "tests") for path in (ROOT / room).rglob("*")]
_OURS += [path for path in (ROOT / "assets").glob("*.*") if path.suffix == ".js"]


def budget_room(path: Path) -> str | None:
    """The row of the budgets that a file counts into; None where it has none."""
    room, *inner = path.relative_to(ROOT).parts
    if path.suffix == ".py":
        if room != "explorer" or len(inner) == 1:
            return room
        return "explorer/tabs" if inner[0] == "reader" else f"explorer/{inner[0]}"
    return {".html": "templates", ".js": "scripts"}.get(path.suffix)


def test_no_room_has_more_lines_than_its_budget_which_the_page_on_design_tells() -> None:
    lines: Counter[str] = Counter()
    for path in _OURS:
        if (room := budget_room(path)) is not None and path.is_file():
            lines[room] += len(path.read_bytes().splitlines())
    assert lines.keys() == BUDGETS.keys()
    over = {room: (n, BUDGETS[room]) for room, n in lines.items() if n > BUDGETS[room]}
    assert over == {}, "lines, and the budget"
    loose = {room: (n, BUDGETS[room]) for room, n in lines.items() if n <= BUDGETS[room] - 200}
    assert loose == {}, "lower these rows to what is there, rounded up to a hundred"
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    numbers = {int(each.replace(",", "")) for each in re.findall(r"\| ([\d,]+) \|$", page, re.M)}
    others = {"tests", "templates", "scripts"}
    assert numbers == {n for room, n in BUDGETS.items() if room not in others}


_WORDS = (
    "told tell telling said say wrote went anew again seen shown asked begun meant kept beside "
    "apart alone whole left given drawn"
).split()
"""Of names they say too little: verbs of speech, participles in place of things, adverbs."""
_ANY = "|".join(_WORDS)
_POOR = rf"def (?:\w*_)?(?:{_ANY})(?:_\w*)?\(|class \w*(?:{_ANY.title()})(?![a-z])"
_WAIT = r"\.(?:sleep|wait_for_timeout)\(|^ +while .*:\n +pass$"
_WAITING = r"tests/(?!support|bench|gpu|lent_gpu|conftest).*\.py"
_HOSTILE = r"^\s*(?:HOSTILE|NONSENSE)\b.* = "
HABITS: dict[str, tuple[int, str, str]] = {
    "imports of a test by another": (0, r"tests/.*\.py", r"^from tests\b.*\btest_"),
    "files of tests above 450 lines": (1, r"tests/.*\.py", r"\A(?:.*\n){451}"),
    "waits of a test's own": (10, _WAITING, _WAIT),
    "hostile texts outside tests/support": (8, r"tests/(?!support).*\.py", _HOSTILE),
    "names with words that say too little": (46, r"(?:explorer|scoring)/.*\.py", _POOR),
    "lines of templates and scripts above 120 characters": (30, r".*\.(?:html|js)", "^.{121,}$"),
}
"""What is to go: how often it may be found, which may only fall, in which files, and its form."""


def test_habits_only_fall() -> None:
    r"""
    >>> given = "from tests.a.test_b import c\nHOSTILE = 1\n while x:\n  pass\ndef said_it(): ..."
    >>> [len(re.findall(form, given, re.M)) for _, _, form in HABITS.values()]
    [1, 0, 1, 1, 1, 0]
    """
    for habit, (most, files, form) in HABITS.items():
        where: Counter[str] = Counter()
        for path in _OURS:
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and re.fullmatch(files, name):
                where[name] += len(re.findall(form, path.read_text(encoding="utf-8"), re.M))
        assert where.total() <= most, f"{habit}: {+where}"
        assert where.total() > most - 10, f"lower what is allowed of {habit}"
