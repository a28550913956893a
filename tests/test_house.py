"""The rules that keep the parts apart: who may import whom, and what an import may do."""

import ast
import json
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
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


def modules_below(folder: Path, name: str) -> Iterator[str]:
    """A package and all its modules, found without importing any."""
    yield name
    for module in pkgutil.iter_modules([str(folder)]):
        if module.ispkg:
            yield from modules_below(folder / module.name, f"{name}.{module.name}")
        else:
            yield f"{name}.{module.name}"


def is_in(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


WITH_TORCH = {"scoring.run", "scoring.models.loading"}
WITH_TORCH |= {f"scoring.engine.{name}" for name in ("attention", "forward", "vocabulary")}
_FAMILIES = ("classifier", "dpo", "judge", "local", "pairrm")
WITH_TORCH |= {f"scoring.families.{name}" for name in _FAMILIES}
SCORING = list(modules_below(ROOT / "scoring", "scoring"))
EXPLORER = list(modules_below(ROOT / "explorer", "explorer"))
TORCH_FREE = [name for name in SCORING if name not in WITH_TORCH]
WITH_GRADIO = (
    "explorer.page",
    "explorer.api",
    "explorer.core.address_view",
    "explorer.core.error_view",
    "explorer.core.served",
    "explorer.core.theme",
    "explorer.core.uploads",
)
PURE_ROOMS = ("core", "data", "stats", "runs", "results")
_PURE = tuple(f"explorer.{room}" for room in PURE_ROOMS)
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


@cache
def source_of(module: str) -> tuple[ast.Module, str]:
    """A module's syntax tree and the package that its relative imports start from."""
    path = ROOT.joinpath(*module.split("."))
    if path.is_dir():
        return ast.parse((path / "__init__.py").read_text(encoding="utf-8")), module
    source = path.with_suffix(".py").read_text(encoding="utf-8")
    return ast.parse(source), module.rpartition(".")[0]


@cache
def imports_of(module: str) -> set[str]:
    """Every module that a module imports, at whatever depth of functions and classes."""
    tree, package = source_of(module)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
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
    files = [name for name in SCORING + EXPLORER if not ROOT.joinpath(*name.split(".")).is_dir()]
    rooms = Counter(name.rpartition(".")[0] for name in files)
    assert {room: n for room, n in rooms.items() if n > 22} == {}
    assert len((ROOT / "app.py").read_text(encoding="utf-8").splitlines()) <= 60


def test_the_scorer_imports_nothing_of_the_app_and_gradio_is_imported_by_views() -> None:
    assert imported(SCORING, "gradio", "explorer") == []
    others = [name for name in EXPLORER if not is_in(name, *WITH_GRADIO)]
    assert imported([name for name in others if not name.endswith("view")], "gradio") == []


NAMING_BENCHMARKS = (
    "scoring.benchmark",
    "scoring.hub.access",
    "scoring.results",
    "explorer.data.rebuilding",
)
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
        for node in ast.walk(source_of(module)[0])
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
    "tests": 32_500,
    "templates": 3_000,
    "scripts": 1_600,
}
"""Lines that a room may have, blank ones and docstrings too. A change lowers its rooms' rows to
what it left, rounded up to a hundred; a row is raised only in a commit that says what for.
"""
WORDS = frozenset(
    "told tell telling said say wrote went anew again seen shown asked begun meant kept beside "
    "apart alone whole left given drawn".split()
)
"""Of names they say too little: verbs of speech, participles in place of things, adverbs."""
MOST_NAMES = 46
"""Functions and classes whose names have one of `WORDS`: may only fall, and 60 are wanted."""
MOST_LONG_LINES = 30
"""Lines of templates and scripts above 120 characters: may only fall."""
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


def test_no_room_has_more_lines_than_its_budget() -> None:
    lines: Counter[str] = Counter()
    for path in _OURS:
        if (room := budget_room(path)) is not None and path.is_file():
            lines[room] += len(path.read_bytes().splitlines())
    assert lines.keys() == BUDGETS.keys()
    over = {room: (n, BUDGETS[room]) for room, n in lines.items() if n > BUDGETS[room]}
    assert over == {}, "lines, and the budget"
    loose = {room: (n, BUDGETS[room]) for room, n in lines.items() if n <= BUDGETS[room] - 200}
    assert loose == {}, "lower these rows to what is there, rounded up to a hundred"


def test_the_page_on_design_has_the_budgets() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    numbers = {int(each.replace(",", "")) for each in re.findall(r"\| ([\d,]+) \|$", page, re.M)}
    others = {"tests", "templates", "scripts"}
    assert numbers == {n for room, n in BUDGETS.items() if room not in others}


def test_long_lines_of_templates_and_scripts_only_fall() -> None:
    texts = [path for path in _OURS if budget_room(path) in ("templates", "scripts")]
    lines = [(path, line) for path in texts for line in path.read_text("utf-8").splitlines()]
    long = [path.name for path, line in lines if len(line) > 120]
    assert len(long) <= MOST_LONG_LINES, f"break lines of these: {long}"
    assert len(long) > MOST_LONG_LINES - 10, "lower MOST_LONG_LINES to what is there"


def poor_names(source: str) -> list[str]:
    """Functions and classes of a module whose names have one of `WORDS`.

    >>> poor_names("def said_words(): ...\\nclass BoardLeft: ...\\ndef leftover(): ...")
    ['said_words', 'BoardLeft']
    """
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, definitions)]
    words = {name: re.findall(r"[a-z]+", re.sub("([A-Z])", r"_\1", name).lower()) for name in names}
    return [name for name in names if WORDS & {*words[name]}]


def test_names_with_empty_words_only_fall() -> None:
    sources = [path for path in _OURS if path.suffix == ".py"]
    product = [path for path in sources if not path.is_relative_to(ROOT / "tests")]
    found = [name for path in product for name in poor_names(path.read_text(encoding="utf-8"))]
    assert len(found) <= MOST_NAMES, "rename one for each new one"
    assert len(found) > MOST_NAMES - 10, "lower MOST_NAMES to what is there"


MOST_HABITS = {
    "imports of a test by another": (0, r"^from tests\b.*\btest_"),
    "files above 450 lines": (7, r"\A(?:.*\n){451}"),
    "waits of a test's own": (13, r"\.(?:sleep|wait_for_timeout)\(|^ +while .*:\n +pass$"),
    "hostile texts outside tests/support": (10, r"^\s*(?:HOSTILE|NONSENSE)\b.* = "),
}
"""Habits of tests that are to go: how often each may be found, which may only fall, and its form.
"""
_MAY = {
    "waits of a test's own": ("support", "bench", "gpu", "lent_gpu", "conftest.py"),
    "hostile texts outside tests/support": ("support",),
}
"""Folders of tests, and files, in which there may be such."""


def test_habits_of_tests_only_fall() -> None:
    r"""
    >>> given = "from tests.a.test_b import c\nHOSTILE = 1\n while x:\n  pass"
    >>> [len(re.findall(form, given, re.M)) for _, form in MOST_HABITS.values()]
    [1, 0, 1, 1]
    """
    where: dict[str, Counter[str]] = {habit: Counter() for habit in MOST_HABITS}
    for path in _OURS:
        if path.suffix == ".py" and path.is_relative_to(ROOT / "tests"):
            name = path.relative_to(ROOT / "tests")
            source = path.read_text(encoding="utf-8")
            for habit, (_, form) in MOST_HABITS.items():
                if name.parts[0] not in _MAY.get(habit, ()):
                    where[habit][name.as_posix()] += len(re.findall(form, source, re.M))
    for habit, (most, _) in MOST_HABITS.items():
        assert where[habit].total() <= most, f"{habit}: {+where[habit]}"
