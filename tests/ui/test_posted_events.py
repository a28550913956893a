"""What a public Space answers to anyone who posts to its events directly."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app import build
from explorer.settings import Settings
from explorer.ui.browse import Browse
from explorer.ui.failures import Failures
from explorer.ui.score import Score
from tests.ui.posting import Visitor

LITTLE = {"per-subset": 2, "model": "demo"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def visitor(home: Path) -> Iterator[Visitor]:
    page = build(Settings(home=home, offline=True, public=True, max_pairs=50))
    page.queue(default_concurrency_limit=8).launch(prevent_thread_lock=True, quiet=True)
    yield Visitor(page)
    page.close()


@pytest.mark.parametrize(
    "model",
    [
        "/etc",
        "../shared/demo-model",
        "~",
        ".",
        "explorer/ui",
        "assets/demo",
        "C:\\models",
        "",
        "x" * 501,
    ],
)
def test_a_model_that_is_not_allowed_is_refused(visitor: Visitor, home: Path, model: str) -> None:
    told = visitor.told(Score.start, {"model": model})
    assert "Traceback" not in told and len(told) < 500
    assert not any((home / "runs").glob("*"))


@pytest.mark.parametrize("model", [None, 5, ["demo"], {"a": 1}])
def test_a_model_that_is_no_text_is_refused(visitor: Visitor, home: Path, model: object) -> None:
    visitor.told(Score.start, {"model": model})
    assert not any((home / "runs").glob("*"))


@pytest.mark.parametrize("number", [1000, 100])
def test_more_pairs_than_allowed_are_refused(visitor: Visitor, home: Path, number: int) -> None:
    told = visitor.told(Score.start, {"per-subset": number})
    assert "at most" in told or "may have 50 pairs" in told
    assert not any((home / "runs").glob("*"))


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ("per-subset", -1),
        ("per-subset", 0),
        ("per-subset", 1e300),
        ("per-subset", "many"),
        ("per-subset", None),
        ("seed", -5),
        ("seed", {}),
        ("search", "x" * 501),
        ("search", {"a": 1}),
        ("sections", "Chat"),
        ("sections", ["no such section"]),
        ("subsets", [["nested"]]),
        ("subsets", 5),
    ],
)
def test_a_selection_that_is_none_is_refused(
    visitor: Visitor, home: Path, element: str, value: Any
) -> None:
    told = visitor.told(Score.start, {element: value})
    assert "Traceback" not in told
    assert not any((home / "runs").glob("*"))


def test_browse_refuses_a_query_that_is_too_long(visitor: Visitor) -> None:
    assert "500 characters" in visitor.refused(Browse.refresh, {"search": "x" * 501})


def test_a_subset_that_is_unknown_keeps_nothing_and_is_not_repeated(visitor: Visitor) -> None:
    message = visitor.post(Browse.refresh, {"subsets": ["<img src=http://example.org/x>"]})
    assert message["success"]
    assert "No pair matches" in message["output"]["data"][0]
    assert "example.org" not in str(message["output"])


def test_a_second_run_at_the_same_time_is_refused_at_once(visitor: Visitor) -> None:
    with ThreadPoolExecutor() as pool:
        both = [pool.submit(Visitor(visitor.page).post, Score.start, LITTLE) for _ in range(2)]
    states = [run.result()["output"]["data"][0] for run in both]
    assert sum("status finished" in state for state in states) >= 1
    assert all("status finished" in state or "one at a time" in state for state in states)


def test_a_run_is_seen_by_its_owner_alone(visitor: Visitor, home: Path) -> None:
    assert visitor.post(Score.start, LITTLE)["success"]
    run = max((home / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime)
    owner, stranger = {"BrowserState": [run.name]}, {"BrowserState": ["another"]}

    assert _choices(visitor, owner) == [run.name]
    assert visitor.post(Failures.show, {**owner, "run": run.name})["success"]
    for nobody in (stranger, {}, {"BrowserState": run.name}, {"BrowserState": {run.name: 1}}):
        assert _choices(visitor, nobody) == []
        visitor.refused(Failures.show, {**nobody, "run": run.name})
    for hostile in ("../..", "", 5, [run.name], f"../runs/{run.name}"):
        visitor.refused(Failures.show, {**owner, "run": hostile})


def _choices(visitor: Visitor, browser: dict[str, Any]) -> list[str]:
    dropdown = visitor.post(Failures.choices, browser)["output"]["data"][0]
    return [value for _, value in dropdown["choices"]]
