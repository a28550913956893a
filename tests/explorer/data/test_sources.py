import gc
import json
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from explorer.core.settings import DEMO_PAIRS, Settings
from explorer.data.sources import MOST_SOURCES, Candidate, Sources, pair_sources
from explorer.data.table import PairTable
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.limits import OnProgress, Step
from scoring.pairs.opening import read_pairs
from tests.conftest import PATIENCE, until
from tests.explorer.conftest import PutInCache

BENCHMARK = "allenai/reward-bench:filtered"

pair = json.dumps({"prompt": "p", "chosen": "c", "rejected": "r"}).encode()


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The attempts to reach the network; each fails."""
    attempts: list[str] = []

    def refuse(*args: object, **kwargs: object) -> None:
        attempts.append(f"{args} {kwargs}")
        raise OSError("no sockets here")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return attempts


def sources_for(wanted: str | None, tmp_path: Path) -> Sources[PairTable]:
    return pair_sources(Settings(home=tmp_path / "home", pairs=wanted), Hub(offline=True))


# Which pairs are shown.


@pytest.mark.parametrize(
    ("wanted", "cached", "shown", "passed_over"),
    [
        (None, [], "demo", [BENCHMARK]),
        (None, ["allenai/reward-bench"], BENCHMARK, []),
        ("{tmp}/mine.jsonl", ["allenai/reward-bench"], "mine.jsonl", []),
        ("me/mine", ["allenai/reward-bench", "me/mine"], "me/mine:test", []),
        ("demo", ["allenai/reward-bench"], "demo", []),
        ("other/dataset", ["allenai/reward-bench"], BENCHMARK, ["other/dataset"]),
    ],
    ids=[
        "nothing", "a download", "the owner's file", "the owner's dataset", "the demo",
        "not here",
    ],
)  # fmt: skip
def test_the_best_that_is_here_is_shown(
    wanted: str | None,
    cached: list[str],
    shown: str,
    passed_over: list[str],
    tmp_path: Path,
    put_in_cache: PutInCache,
) -> None:
    for repo in cached:
        name = "data/filtered-00000-of-00001" if "reward-bench" in repo else "test"
        put_in_cache(repo, {f"{name}.jsonl": pair})
    (tmp_path / "mine.jsonl").write_bytes(pair)
    sources = sources_for(wanted and wanted.format(tmp=tmp_path), tmp_path)
    sources.fetch()
    sources.wait(PATIENCE)
    assert sources.best.startswith(shown) and list(sources.passed_over) == passed_over


@pytest.mark.parametrize(
    ("wanted", "label", "reason"),
    [
        ("nonsense spec", "EXPLORER_PAIRS=nonsense spec", "its ending must be one of"),
        ("org/missing.csv", "EXPLORER_PAIRS=org/missing.csv", "There is no file org/missing.csv"),
        ("{tmp}/broken.jsonl", "EXPLORER_PAIRS={tmp}/broken.jsonl", "line 1 is not JSON"),
        ("org/name:a@main", "org/name:a@main", "is not on this machine"),
    ],
)
def test_each_thing_that_is_not_shown_has_its_reason(
    tmp_path: Path, wanted: str, label: str, reason: str
) -> None:
    (tmp_path / "broken.jsonl").write_bytes(b"this is no pair")
    sources = sources_for(wanted.format(tmp=tmp_path), tmp_path)
    assert sources.get(None).source.kind == "demo"
    assert list(sources.passed_over) == [label.format(tmp=tmp_path), BENCHMARK]
    assert reason in sources.passed_over[label.format(tmp=tmp_path)]


def test_offline_opens_no_socket(tmp_path: Path, no_sockets: list[str]) -> None:
    sources = sources_for("org/name", tmp_path)
    sources.retry()
    sources.wait(PATIENCE)
    assert not sources.fetching
    assert sources.get(None).source.kind == "demo"
    assert no_sockets == []


def test_opening_asks_no_network_even_where_it_may(tmp_path: Path, no_sockets: list[str]) -> None:
    sources = pair_sources(Settings(home=tmp_path, pairs="org/name"), Hub())
    assert sources.get(None).source.kind == "demo"
    assert no_sockets == []


def test_a_hub_that_does_not_answer_leaves_the_demo_and_says_why(
    tmp_path: Path, no_sockets: list[str]
) -> None:
    sources = pair_sources(Settings(home=tmp_path), Hub())
    sources.fetch()
    sources.wait(PATIENCE)
    assert sources.get(None).source.kind == "demo"
    assert "the Hub does not answer" in sources.passed_over[BENCHMARK]
    assert no_sockets != []


# Sources of things of our own.


@dataclass(frozen=True)
class Item:
    id: str
    caption: str = ""
    remarks: tuple[str, ...] = ()


def absent() -> Item:
    raise KnownError("It is not here.")


def sources_of(*candidates: Candidate[Item]) -> Sources[Item]:
    return Sources(candidates, Hub(offline=True))


def bundled(name: str = "bundled") -> Candidate[Item]:
    return Candidate(name, lambda: Item(name))


def remote(name: str, give: Callable[[], Item]) -> Candidate[Item]:
    return Candidate(name, absent, give)


def fetched(sources: Sources[Item]) -> Sources[Item]:
    sources.fetch()
    sources.wait(PATIENCE)
    assert not sources.fetching
    return sources


@contextmanager
def held_back(item: Item) -> Iterator[tuple[Callable[[], Item], threading.Event, list[Item]]]:
    """A remote that gives its item when the event is set, and what it gave so far."""
    arrive = threading.Event()
    given: list[Item] = []

    def give() -> Item:
        assert arrive.wait(PATIENCE)
        given.append(item)
        return item

    try:
        yield give, arrive, given
    finally:
        arrive.set()


def test_what_arrives_becomes_the_best_and_the_old_id_still_resolves() -> None:
    with held_back(Item("hub")) as (give, arrive, _):
        sources = sources_of(remote("hub", give), bundled())
        assert (sources.best, sources.fetching) == ("bundled", False)
        assert sources.passed_over == {"hub": "It is not here."}
        sources.fetch()
        assert (sources.best, sources.fetching) == ("bundled", True)
        arrive.set()
        sources.wait(PATIENCE)
    assert (sources.best, sources.fetching) == ("hub", False)
    assert sources.passed_over == {}
    assert sources.get("bundled") == Item("bundled")
    assert sources.get("unknown") == Item("hub")
    assert sources.all() == [Item("bundled"), Item("hub")]


def test_what_is_better_is_shown_before_all_of_it_is_read() -> None:
    may_read = threading.Event()

    def read_rest(item: Item, tell: OnProgress) -> Item:
        if item.id != "bundled":
            tell(Step("reading", 1, 2))
            assert may_read.wait(PATIENCE)
        return replace(item, caption="all of it")

    hub = remote("hub", lambda: Item("hub@1"))
    sources = Sources([hub, bundled()], Hub(offline=True), read_rest)
    try:
        sources.fetch()
        until(lambda: sources.step == Step("reading", 1, 2))
        assert sources.get(None) == Item("hub@1"), "better than what was shown"
        may_read.set()
        sources.wait(PATIENCE)
        assert (sources.get(None), sources.step) == (Item("hub@1", "all of it"), None)
    finally:
        may_read.set()


def test_while_the_rest_of_a_newer_revision_is_read_the_former_is_shown_whole() -> None:
    may_read = threading.Event()

    def read_rest(item: Item, tell: OnProgress) -> Item:
        if item.id == "hub@2":
            tell(Step("reading", 1, 2))
            assert may_read.wait(PATIENCE)
        return replace(item, caption="all of it")

    hub = Candidate("hub", lambda: Item("hub@1"), lambda: Item("hub@2"))
    sources = Sources([hub], Hub(offline=True), read_rest)
    try:
        sources.fetch()
        until(lambda: sources.step == Step("reading", 1, 2))
        assert sources.get(None) == Item("hub@1", "all of it") and sources.fetching
    finally:
        may_read.set()
    sources.wait(PATIENCE)
    assert sources.get(None) == Item("hub@2", "all of it")


def test_what_cannot_be_read_in_the_background_is_told_and_the_rest_stands() -> None:
    def read_rest(item: Item, _: OnProgress) -> Item:
        raise ZeroDivisionError("of the reader")

    sources = Sources([bundled()], Hub(offline=True), read_rest)
    sources.fetch(online=False)
    sources.wait(PATIENCE)
    assert "of the reader" in sources.unread
    assert (sources.get(None), sources.step, sources.asked) == (Item("bundled"), None, None)


def test_of_many_revisions_a_few_stay_in_memory_and_what_is_looked_at_does() -> None:
    made: list[weakref.ref[PairTable]] = []
    pairs = read_pairs(DEMO_PAIRS, kind="demo")

    def newest() -> PairTable:
        table = PairTable(replace(pairs, source=replace(pairs.source, revision=f"{len(made)}")))
        made.append(weakref.ref(table))
        return table

    sources = Sources([Candidate("pairs", newest)], Hub(offline=True))
    looked_at = sources.best
    for _ in range(20):
        assert sources.get(looked_at).id == looked_at
        sources.fetch(again=True)
        sources.wait(PATIENCE)
    gc.collect()
    assert sources.get(None).source.revision == "20" and sources.all()[-1] is sources.get(None)
    assert sum(each() is not None for each in made) == len(sources.all()) == MOST_SOURCES


def test_the_most_preferred_that_arrives_is_taken_and_less_preferred_are_not_asked() -> None:
    asked: list[str] = []

    def give(name: str) -> Callable[[], Item]:
        def arrives() -> Item:
            asked.append(name)
            return Item(name)

        return arrives

    sources = sources_of(remote("own", give("own")), remote("hub", give("hub")), bundled())
    assert fetched(sources).best == "own"
    assert asked == ["own"]


def broken() -> Item:
    raise KnownError("The Hub says no.")


def buggy() -> Item:
    raise ZeroDivisionError("division by zero\nand more")


@pytest.mark.parametrize(
    ("give", "reason"),
    [(broken, "The Hub says no."), (buggy, "it could not be read: division by zero")],
)
def test_a_remote_that_fails_leaves_the_shelf_standing_and_its_reason(
    give: Callable[[], Item], reason: str
) -> None:
    sources = fetched(sources_of(remote("hub", give), bundled()))
    assert sources.best == "bundled"
    assert sources.passed_over == {"hub": reason}
    assert fetched(sources).all() == [Item("bundled")]


class RetriedHub(Hub):
    """Counts how often it was told to probe again."""

    retries = 0

    def retry(self) -> None:
        self.retries += 1
        super().retry()


def test_retry_asks_the_hub_anew() -> None:
    up = threading.Event()
    hub = RetriedHub(offline=True)
    sources = fetched(
        Sources([remote("hub", lambda: Item("hub") if up.is_set() else broken()), bundled()], hub)
    )
    assert (sources.passed_over, hub.retries) == ({"hub": "The Hub says no."}, 0)
    up.set()
    sources.retry()
    sources.wait(PATIENCE)
    assert (sources.best, sources.passed_over, hub.retries) == ("hub", {}, 1)


def test_fetching_while_fetching_asks_once() -> None:
    with held_back(Item("hub")) as (give, arrive, given):
        sources = sources_of(remote("hub", give), bundled())
        callers = [threading.Thread(target=sources.fetch) for _ in range(20)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(PATIENCE)
        assert sources.fetching
        arrive.set()
        sources.wait(PATIENCE)
    assert len(given) == 1


# Looking for something newer.


def refreshed(sources: Sources[Item]) -> Sources[Item]:
    sources.retry(again=True)
    sources.wait(PATIENCE)
    return sources


def test_a_refresh_reads_the_owners_own_choice_again_and_a_start_does_not() -> None:
    versions = iter(["own@1", "own@2"])
    sources = sources_of(Candidate("own", lambda: Item(next(versions))), bundled())
    assert fetched(sources).best == "own@1"
    assert refreshed(sources).best == "own@2"
