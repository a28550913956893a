import gc
import json
import socket
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from explorer.core.settings import Settings
from explorer.data.sources import MOST_SOURCES, Candidate, Sources, pair_sources
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import OnProgress, Step
from tests.conftest import PATIENCE, until
from tests.explorer.conftest import PutInCache

BENCHMARK = "allenai/reward-bench:filtered"

pair = json.dumps({"prompt": "p", "chosen": "c", "rejected": "r"}).encode()


def fetched(sources: Sources[Any], again: bool = False) -> Sources[Any]:
    sources.fetch(again)
    sources.wait(PATIENCE)
    assert not sources.fetching
    return sources


@pytest.mark.parametrize(
    ("wanted", "cached", "shown", "passed_over"),
    [
        (None, [], "demo", {BENCHMARK: "is not on this machine"}),
        (None, ["allenai/reward-bench"], BENCHMARK, {}),
        ("./mine.jsonl", ["allenai/reward-bench"], "mine.jsonl", {}),
        ("me/mine", ["allenai/reward-bench", "me/mine"], "me/mine:test", {}),
        ("a/b:c@main", ["allenai/reward-bench"], BENCHMARK, {"a/b:c@main": "is not on this"}),
        ("a/x.csv", [], "demo", {"EXPLORER_PAIRS=a/x.csv": "no file a/x.csv", BENCHMARK: ""}),
        ("./no.jsonl", [], "demo", {"EXPLORER_PAIRS=./no.jsonl": "JSON", BENCHMARK: ""}),
    ],
)
def test_the_best_that_is_here_is_shown_and_what_is_not_has_its_reason(
    wanted: str | None,
    cached: list[str],
    shown: str,
    passed_over: dict[str, str],
    tmp_path: Path,
    put_in_cache: PutInCache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for repo in cached:
        name = "data/filtered-00000-of-00001" if "reward-bench" in repo else "test"
        put_in_cache(repo, {f"{name}.jsonl": pair})
    Path("mine.jsonl").write_bytes(pair)
    Path("no.jsonl").write_bytes(b"this is no pair")
    settings = Settings(home=tmp_path / "home", pairs=wanted)
    sources = fetched(pair_sources(settings, Hub(offline=True)))
    assert sources.best.startswith(shown)
    assert [*sources.passed_over] == [*passed_over]
    assert all(reason in sources.passed_over[label] for label, reason in passed_over.items())


def test_a_hub_that_does_not_answer_leaves_the_demo_and_says_why_and_only_a_fetch_asks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[int] = []

    def refuse(*_: object, **__: object) -> None:
        attempts.append(1)
        raise OSError("no sockets here")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    settings = Settings(home=tmp_path, pairs="org/name")
    fetched(pair_sources(settings, Hub(offline=True)))
    sources = pair_sources(settings, Hub())
    assert sources.get(None).source.kind == "demo" and attempts == []
    assert fetched(sources).get(None).source.kind == "demo" and attempts != []
    assert "the Hub does not answer" in sources.passed_over[BENCHMARK]


@dataclass(frozen=True)
class Item:
    id: str
    caption: str = ""
    remarks: tuple[str, ...] = ()


def absent() -> Item:
    raise KnownError("It is not here.")


BUNDLED = Candidate("bundled", lambda: Item("bundled"))


def sources_of(*remotes: Callable[[], Item], hub: Hub | None = None) -> Sources[Item]:
    """What may come from the Hub, before what is bundled."""
    candidates = [Candidate(f"hub {n}", absent, give) for n, give in enumerate(remotes)]
    return Sources([*candidates, BUNDLED], hub or Hub(offline=True))


def test_what_arrives_becomes_the_best_is_asked_for_once_and_the_old_id_still_resolves() -> None:
    arrive, given = threading.Event(), list[int]()

    def give() -> Item:
        assert arrive.wait(PATIENCE)
        given.append(1)
        return Item("hub")

    sources = sources_of(give, lambda: pytest.fail("It is less preferred."))
    assert sources.passed_over == dict.fromkeys(("hub 0", "hub 1"), "It is not here.")
    with ThreadPoolExecutor(20) as pool:
        [*pool.map(lambda _: sources.fetch(), range(20))]
    assert (sources.best, sources.fetching) == ("bundled", True)
    arrive.set()
    sources.wait(PATIENCE)
    assert (sources.best, sources.fetching, given) == ("hub", False, [1])
    assert sources.get("bundled") == Item("bundled")
    assert sources.get("unknown") == Item("hub")
    assert (sources.all(), sources.passed_over) == ([Item("bundled"), Item("hub")], {})


def test_while_the_rest_of_a_newer_revision_is_read_the_former_is_shown_whole() -> None:
    """Where the rest cannot be read, that is told, and what was read before stands."""
    may_read = threading.Event()

    def read_rest(item: Item, tell: OnProgress) -> Item:
        if item.id == "hub@2":
            tell(Step("reading", 1, 2))
            assert may_read.wait(PATIENCE)
            raise ZeroDivisionError("of the reader")
        return replace(item, caption="all of it")

    hub = Candidate("hub", lambda: Item("hub@1"), lambda: Item("hub@2"))
    sources = Sources([hub], Hub(offline=True), read_rest)
    sources.fetch()
    until(lambda: sources.step == Step("reading", 1, 2))
    assert sources.get(None) == Item("hub@1", "all of it") and sources.fetching
    may_read.set()
    sources.wait(PATIENCE)
    assert (sources.get(None), sources.step) == (Item("hub@2"), None)
    assert "of the reader" in sources.unread


def test_of_many_revisions_a_few_stay_in_memory_and_what_is_looked_at_does() -> None:
    made: list[weakref.ref[Item]] = []

    def newest() -> Item:
        item = Item(f"{len(made)}")
        made.append(weakref.ref(item))
        return item

    sources = Sources([Candidate("items", newest)], Hub(offline=True))
    for _ in range(2 * MOST_SOURCES):
        assert sources.get("0") == Item("0")
        fetched(sources, again=True)
    gc.collect()
    assert sources.get(None) == Item(f"{len(made) - 1}")
    assert sum(each() is not None for each in made) == len(sources.all()) == MOST_SOURCES


def test_a_remote_that_fails_leaves_what_is_here_and_a_retry_asks_the_hub_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errors = iter([ZeroDivisionError("division by zero\nand more"), KnownError("The Hub says no.")])
    hub, retries = Hub(offline=True), list[int]()
    monkeypatch.setattr(hub, "retry", lambda: retries.append(1))

    def answer() -> Item:
        for error in errors:
            raise error
        return Item("hub")

    sources = sources_of(answer, hub=hub)
    for reason in ("it could not be read: division by zero", "The Hub says no."):
        assert fetched(sources).all() == [Item("bundled")]
        assert (sources.passed_over, retries) == ({"hub 0": reason}, [])
    sources.retry()
    sources.wait(PATIENCE)
    assert (sources.best, sources.passed_over, retries) == ("hub", {}, [1])
