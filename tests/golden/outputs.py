"""Every output of the app, by name, as its visitors get them: answers, links, files, commands."""

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from tests.conftest import DEMO_MODEL, DEMO_PAIRS, REAL_DATA, ROOT, until
from tests.golden.visit import Page, Server
from tests.support.serving import environment, started

Set = Literal["demo", "real"]
Output = tuple[str, Any]
"""A name, and an answer, what a page shows, or a file's name and content."""

NAMES: dict[Set, dict[str, str]] = {
    "demo": {
        "a": "baseline/longer", "b": "baseline/shorter", "c": "baseline/random",
        "d": "golden/demo", "key": "hep-go:900149", "other": "llmbar-natural:900050",
    },
    "real": {
        "a": "RLHFlow/RewardModel-Mistral-7B-for-DPA-v1", "b": "openbmb/UltraRM-13b",
        "c": "baseline/longer", "d": "baseline/shorter",
        "key": "hep-go:3856", "other": "llmbar-natural:2534",
    },
}  # fmt: skip
LINKS = Path(__file__).with_name("links.txt").read_text().split()
"""{a} to {d} stand for models, {key} and {other} for pairs."""
_SORTED = "?section=Reasoning&sort=-chosen&panel=export"
EXPORTS = [
    (_SORTED, "pairs", "export", ("csv", "parquet", "jsonl")),
    ("?model={a}", "outcomes", "fail-export", ("csv", "jsonl", "md")),
]
"""A link, what files of it are called, and in names of outputs, and in which formats."""
BUNDLED = [link for link in LINKS if "tab=models" in link and "panel=" not in link]
SETTINGS = {"TZ": "UTC", "OMP_NUM_THREADS": "1"}
TEXTS = {"prompt": "Say hello.", "chosen": "Hello, and welcome!", "rejected": "No."}


def outputs(which: Set, home: Path) -> Iterator[Output]:
    """Every output of a set, one after the other. home: an empty folder."""
    pairs = DEMO_PAIRS if which == "demo" else REAL_DATA / "reward-bench" / "filtered.parquet"
    results = home / "results"
    yield from _commands(which, pairs, home, results)
    if which == "demo":
        (home / "bundled").mkdir()
        with started(home / "bundled", **SETTINGS, EXPLORER_PAIRS="demo") as (address, _):
            server = Server(address)
            yield from _links(server, BUNDLED, "bundled", {"a": "RLHFlow/ArmoRM-Llama3-8B-v0.1"})
            for benchmark in ("v1", "v2"):
                yield f"bundled /leaderboard {benchmark}", _board(server, benchmark=benchmark)
    else:
        published = REAL_DATA / "reward-bench-results"
        for file in published.rglob("*.json"):
            copied = results / file.relative_to(published)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(file.read_bytes())
    names = NAMES[which]
    shown = "demo" if which == "demo" else str(pairs)
    settings = SETTINGS | {"EXPLORER_PAIRS": shown, "EXPLORER_RESULTS": str(results)}
    with started(home, GRADIO_TEMP_DIR=str(home / "files"), **settings) as (address, _):
        server = Server(address)
        yield from _answers(server, names)
        yield from _links(server, LINKS, "link", names)
        yield from _files(server, names)
        yield from _review_and_probe(server)
        yield from _runs(server)


def _commands(which: Set, pairs: Path, home: Path, results: Path) -> Iterator[Output]:
    """What `python -m scoring` says and writes, which the app then shows as results."""
    models: Sequence[str] = ("longer", "shorter", "random", str(DEMO_MODEL))
    for model in models if which == "demo" else models[:2]:
        name, out = Path(model).name, home / "scored" / Path(model).name
        asked = ["--model", model, "--pairs", str(pairs), "--out", str(out), "--json", "--offline"]
        asked += ["--name", "golden/demo"] if name == DEMO_MODEL.name else ["--seed", "7"]
        done = subprocess.run(
            [sys.executable, "-m", "scoring", *asked, "--device", "cpu", "--dtype", "float32"],
            cwd=ROOT, env=environment(home, **SETTINGS, HF_HUB_OFFLINE="1"), capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        yield f"scoring {name}", ("said.json", done.stdout.encode())
        written = sorted(each for each in out.rglob("*") if each.is_file())
        for file in written if name in ("longer", DEMO_MODEL.name) else ():
            yield f"scoring {name} {file.relative_to(out)}", (file.name, file.read_bytes())
        for folder in ("eval-set", "eval-set-scores"):
            shutil.copytree(out / folder, results / folder, dirs_exist_ok=True)


def _board(server: Server, **arguments: Any) -> Any:
    """The leaderboard, once it is measured."""

    def is_measured() -> bool:
        found = server.ask("leaderboard", **arguments)
        return "complete" not in found or found["complete"][0]["retry_after_seconds"] is None

    until(is_measured)
    return server.ask("leaderboard", **arguments)


def _answers(server: Server, names: dict[str, str]) -> Iterator[Output]:
    """What the public endpoints answer."""
    a, b, c, key = (names[each] for each in ("a", "b", "c", "key"))
    asked: list[tuple[str, dict[str, Any]]] = [
        ("hardest", {}),
        ("hardest", {"limit": 3}),
        ("hardest", {"limit": 0}),
        *(("failures", {"model": model, "limit": 3000}) for model in (a, b, c)),
        ("failures", {"model": a, "subset": "hep-go"}),
        ("failures", {"model": a, "subset": "gone"}),
        ("failures", {"model": a, "section": "Reasoning"}),
        ("failures", {"model": "gone", "limit": 3}),
        ("compare", {"model_a": a, "model_b": b}),
        ("compare", {"model_a": b, "model_b": c}),
        ("compare", {"model_a": b, "model_b": c, "section": "Safety"}),
        ("compare", {"model_a": a, "model_b": a}),
        ("pair", {"key": key}),
        ("search_pairs", {"text": "the", "filters": {"section": ["Chat"]}, "sort": "-chosen"}),
        ("pair", {"key": "gone:1"}),
        *(("score_pair", {"model": model, **TEXTS}) for model in ("longer", "demo", "gone/gone")),
        ("score_selection", {"model": "longer", "per_subset": 2, "seed": 3}),
        ("score_selection", {"model": "demo", "per_subset": 1}),
        ("score_selection", {"model": "shorter", "keys": [key, names["other"]]}),
        ("runs", {}),
        ("models", {}),
    ]
    for name, arguments in asked:
        yield f"/{name} {arguments}", server.ask(name, **arguments)
    for benchmark in ("v1", "v2", "v3"):
        for prior in (False, True):
            for ties in ("official", "half"):
                rule = {"benchmark": benchmark, "prior_sets": prior, "ties": ties}
                yield f"/leaderboard {rule}", _board(server, **rule)
    described = server.http.get("gradio_api/info").json()["named_endpoints"]
    for name, told in described.items():
        yield f"description of {name}", {**told, "code_snippets": None}


def _links(
    server: Server, links: Sequence[str], kind: str, names: dict[str, str]
) -> Iterator[Output]:
    """What links open."""
    for link in links:
        yield f"{kind} {link}", Page(server, link.format_map(defaultdict(str, names))).screen()


def _files(server: Server, names: dict[str, str]) -> Iterator[Output]:
    """The files that buttons write, and those of the board."""
    for form in ("csv", "parquet", "md", "tex"):
        yield f"file of board.{form}", server.file(f"files/models/board.{form}?tab=models")
    for link, name, button, forms in EXPORTS:
        for form in forms:
            file = server.file(f"files/pairs/{name}.{form}{link.format_map(names)}")
            yield f"file of {button}-{form} at {link}", file


def _review_and_probe(server: Server) -> Iterator[Output]:
    """A review of a few pairs, and the bias probe of a baseline, whose rewards are whole."""
    query = "?panel=review&subset=hep-go"
    yield "review", Page(server, query).screen()
    yield "keys of a review", server.file(f"files/pairs/review.keys{query}")
    page = Page(server, "?tab=try")
    page.trigger("try", "probe", "?tab=try&model=longer&per-subset=1")
    yield "probe", page.screen()
    for form in ("summary", "pairs"):
        yield f"probe {form}", server.file(f"files/try/probe-{form}.csv")


def _runs(server: Server) -> Iterator[Output]:
    """A run that is made on the page: its report, its place in each tab, its files."""
    page = Page(server, "?tab=score")
    page.trigger("score", "start", "?tab=score&model=longer&which=subset&per-subset=5&seed=1")
    runs = server.ask("runs")["complete"][0]["runs"]
    yield "/runs after one", runs
    yield "report of a run", Page(server, "?tab=score").screen()
    query = f"?tab=score&panel=runs&run={runs[0]['id']}"
    page = Page(server, query)
    yield "open run", page.screen()
    for form in ("csv", "jsonl", "json"):
        yield f"run as {form}", server.file(f"files/score/run.{form}{query}")
    for link in re.findall(r" -> (\?tab=(?!score).*)", "\n".join(page.screen().links)):
        yield f"link of a run to {link.partition('&')[0]}", Page(server, link).screen()
