import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from explorer.core.settings import DEMO_PAIRS, Settings
from explorer.data import library as limits
from explorer.data.library import Library, upload_name
from explorer.data.offers import offers
from explorer.data.sources import pair_sources
from explorer.data.table import PairTable
from scoring.benchmarks import named_dataset
from scoring.errors import KnownError
from scoring.hub.access import Hub, parse_hub_id
from scoring.limits import Step
from scoring.pairs.opening import read_pairs
from tests.conftest import PATIENCE
from tests.explorer.conftest import Serve
from tests.support.hub_server import HubServer, Repo, served_hub
from tests.support.pair_files import parquet_bytes as parquet

Row = dict[str, str]


def rows(n: int, mark: str = "text") -> list[Row]:
    return [
        {"prompt": f"{mark} {number}", "chosen": "yes", "rejected": "no"} for number in range(n)
    ]


def jsonl(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


ONE = Repo({"test.jsonl": jsonl(rows(3))})
TWO = Repo({"data/raw.jsonl": jsonl(rows(5)), "data/filtered.jsonl": jsonl(rows(4))})
CONFIGS = b"""---
configs:
- {config_name: easy, data_files: [{split: test, path: easy/*}]}
- {config_name: hard, data_files: [{split: test, path: hard/*}]}
---
"""
HARD = {"hard/0.jsonl": jsonl(rows(3)), "hard/1.parquet": parquet(rows(4))}
SEVERAL = Repo({"README.md": CONFIGS, "easy/0.jsonl": jsonl(rows(2)), **HARD})
SHARDS = [f"data/test-{number:05}-of-00002.parquet" for number in range(2)]
REPOS = {
    "datasets/org/one": ONE,
    "datasets/org/several": SEVERAL,
    "datasets/org/script": Repo({"script.py": b"raise SystemExit", "loader.txt": b""}),
    "datasets/org/cut": Repo({SHARDS[0]: parquet(rows(5)), SHARDS[1]: parquet(rows(5))[:-9]}),
    "datasets/org/two": TWO,
    "datasets/org/gated": Repo(refusal=(403, "GatedRepo")),
    "datasets/org/late-gated": Repo(ONE.files, (403, "GatedRepo"), "resolve"),
    "datasets/org/large": Repo({"test.jsonl": jsonl(rows(5000))}),
    "datasets/org/long": Repo({"test.jsonl": jsonl(rows(60))}),
    "datasets/org/broken": Repo({"test.jsonl": b'{"prompt": "p",\n'}),
    "datasets/org/odd": Repo({"test.csv": b"question,answer\nq,a\n"}),
    "datasets/org/text": Repo({"data.txt": b"nothing to read"}),
}


@dataclass
class World:
    """A library beside a Hub, and the folder for files of a visitor's."""

    library: Library
    server: HubServer
    folder: Path

    @property
    def data_asked(self) -> list[str]:
        """The data files of which a byte was asked for."""
        got = (request.path for request in self.server.requests if request.method == "GET")
        return [path for path in got if "/resolve/" in path and not path.endswith("README.md")]

    def file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path


Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes a world with settings of one's own. Its owner has a token, which must not be sent."""
    with served_hub(REPOS, tmp_path / "hub", monkeypatch) as server:

        def world(**settings: object) -> World:
            chosen = Settings(home=tmp_path / "home", **settings)  # type: ignore[arg-type]
            hub = Hub(chosen.offline)
            return World(Library(pair_sources(chosen, hub), hub, chosen), server, tmp_path)

        yield world


@pytest.fixture
def world(make: Make) -> World:
    return make(public=True)


def refusal(library: Library, wanted: object) -> str:
    with pytest.raises(KnownError) as error:
        library.open(wanted)
    return str(error.value)


def test_the_offers_have_the_published_counts_and_can_be_asked_for() -> None:
    counts = {offer.wanted: offer.rows for offer in offers()}
    assert len(counts) == len(offers()) == 28
    assert [each for each in counts if not parse_hub_id(named_dataset(each) or each)] == ["demo"]
    assert counts["allenai/reward-bench:filtered"] == 2985
    assert counts["allenai/reward-bench-2:test"] == 1865
    assert counts["demo"] == len(DEMO_PAIRS.read_bytes().splitlines())


# From the Hub.


def test_a_dataset_is_fetched_and_found_from_then_on_without_the_network(make: Make) -> None:
    world = make(public=True)
    table = world.library.open("org/two:raw")
    assert (table.id, len(table)) == (f"org/two:raw@{TWO.commit}", 5)
    assert world.library.find(table.id) is world.library.get(table.id) is table
    assert table in world.library.all()
    assert [path.rpartition("/")[2] for path in world.data_asked] == ["raw.jsonl"]
    one, steps = make().library.open("org/one"), list[Step]()
    world.server.requests.clear()
    assert world.library.open(table.id, steps.append) is table
    again = make(offline=True).library
    assert again.open("org/one").id == again.open(one.id).id == one.id
    assert (world.server.requests, steps) == ([], [])


def test_each_configuration_can_be_opened(world: World) -> None:
    for wanted, n_rows, named in (
        ("org/one", 3, "org/one:test"),
        ("org/several", 2, "org/several:test"),
        ("org/several:hard/test", 7, "org/several:hard/test"),
    ):
        table = world.library.open(wanted)
        commit = REPOS[f"datasets/{wanted.partition(':')[0]}"].commit
        assert (len(table), table.id) == (n_rows, f"{named}@{commit}")
        assert world.library.open(f"{wanted}@{commit}") is table


REFUSED = {
    "org/gated": "org/gated is gated",
    "org/late-gated": "org/late-gated is gated",
    "org/unknown": "There is no public dataset 'org/unknown' on the Hub",
    "org/one@nowhere": "org/one has no revision 'nowhere'",
    "org/two": "org/two:SPLIT; it has filtered, raw",
    "org/several:easy/test": "it has test, hard/test.",
    "org/text": "it has no file that can be read here.",
    "org/script": "code, which is never run; the Hub may have its rows as org/script@refs",
    "org/large": "0.1 MB",
}
MALFORMED = {
    "org/long": "50",
    "org/broken": "line 1 is not JSON",
    "org/odd": "has no column",
    "org/cut": f"{SHARDS[1]} cannot be read as .parquet",
}


def test_what_cannot_be_had_is_said_and_leaves_the_rest_in_place(
    make: Make, subtests: pytest.Subtests
) -> None:
    """Where that is known before, not a byte of its data is fetched."""
    world = make(public=True, max_dataset_megabytes=0.1, max_rows=50)
    before = world.library.all()
    for wanted, said in (REFUSED | MALFORMED).items():
        with subtests.test(wanted):
            world.server.requests.clear()
            assert said in refusal(world.library, wanted)
            assert world.library.all() == before
            assert bool(world.data_asked) == (wanted in MALFORMED)
    assert len(world.library.open("org/one")) == 3


def test_a_third_load_at_once_is_refused_until_another_ends(world: World) -> None:
    held, go = threading.Barrier(3), threading.Event()

    def load(wanted: str) -> PairTable:
        def hold(step: Step) -> None:
            if step.doing == "reading" and not go.is_set():
                held.wait(PATIENCE)
                assert go.wait(PATIENCE)

        return world.library.open(wanted, hold)

    with ThreadPoolExecutor(2) as pool:
        loads = [pool.submit(load, wanted) for wanted in ("org/two:raw", "org/one")]
        held.wait(PATIENCE)
        assert "busy" in refusal(world.library, "org/broken")
        with pytest.raises(KnownError, match="busy"):
            world.library.upload(world.file("mine.jsonl", jsonl(rows(2))), "mine.jsonl")
        assert world.library.open("demo").source.kind == "demo"
        go.set()
        assert [len(each.result(PATIENCE)) for each in loads] == [5, 3]
    assert "is not JSON" in refusal(world.library, "org/broken")


# Uploads.


def test_only_who_knows_the_id_sees_an_uploaded_file(world: World) -> None:
    path = world.file("received.CSV", b"prompt,chosen,rejected\n" + b"p,c,r\n" * 7)
    table = world.library.upload(path, "SECRET.CSV")
    assert (len(table), table.source.kind, table.source.name) == (7, "file", "SECRET.CSV")
    path.unlink()
    assert world.library.open(table.id) is world.library.find(table.id) is table
    assert table not in world.library.all()
    with pytest.raises(KnownError) as error:
        world.library.upload(world.file("x.jsonl", b"no JSON"), "x.jsonl")
    assert "line 1 is not JSON" in str(error.value) and str(world.folder) not in str(error.value)
    assert world.library.find("SECRET.CSV") is None
    assert world.library.find(f"SECRET.CSV@{'0' * 12}") is None
    assert world.server.requests == []


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/pairs.csv", "pairs.csv"),
        ("a\x00b\n\x1b[31m\u202epairs.csv", "ab[31mpairs.csv"),
        ("\ud800.csv", "upload.csv"),
        ("", "upload.csv"),
        ("Paare für Ärzte 对.csv", "Paare für Ärzte 对.csv"),
        ("<b>x</b>.csv", "b>.csv"),
    ],
)
def test_a_hostile_name_is_cut_to_what_can_be_shown(name: str, kept: str) -> None:
    assert upload_name(name, ".csv") == kept


# What is kept.


def test_the_least_recently_seen_are_dropped_and_those_of_the_start_never(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(world: World, mark: str) -> str:
        path = world.file(f"{mark}.jsonl", jsonl(rows(20, mark * 600)))
        return world.library.upload(path, path.name).id

    other = make()
    room = int(3.5 * other.library.get(small(other, "a")).arrow.nbytes)
    monkeypatch.setattr("explorer.data.library.LEAST_KEPT_BYTES", room)
    library = (world := make(max_dataset_megabytes=0.02)).library
    start = library.get(None)
    first, second, third = (small(world, mark) for mark in "abc")
    assert library.find(first) is not None  # seen again, so the second is now the oldest
    fourth = small(world, "d")
    held = [library.find(item) is not None for item in (first, second, third, fourth)]
    assert held == [True, False, True, True]
    assert library.get(second) is library.get(start.id) is start
    assert "once more if it is not here any more" in refusal(library, second)


# Whatever is asked for.


WISHES: tuple[object, ...] = (
    None, 1.5, b"demo", ["demo"], {"id": 1}, " \n", "x", "Demo pairs", "x" * 10_000_000,
    "org/one" * 1_000_000, "../" * 40 + "etc/passwd", "/etc/passwd.csv", "~/x.jsonl", "org/..",
    "org/one:a:b", "https://huggingface.co/datasets/org/one", "org/one\x00", "\ud800",
    "mine.jsonl@0123456789ab",
)  # fmt: skip


def test_a_hostile_wish_is_refused_in_a_sentence(world: World, subtests: pytest.Subtests) -> None:
    for wanted in WISHES:
        with subtests.test(repr(wanted)[:40]):
            said = refusal(world.library, wanted)
            assert "org/name:split@revision" in said and len(said) < 500 and said.encode()
            assert world.library.find(wanted) is None
            assert world.library.get(wanted) is world.library.get(None)
    assert world.server.requests == []


def test_a_path_is_read_on_ones_own_machine_only(make: Make) -> None:
    own, public = make(), make(public=True)
    path = str(own.file("mine.jsonl", jsonl(rows(2))))
    table = own.library.open(path)
    assert (len(table), table.source.name) == (2, "mine.jsonl")
    assert own.library.open(path) is table
    said = [refusal(public.library, each) for each in (path, path + "x", path + "x" * 50)]
    assert "is not here" in said[0] and path not in said[2]
    assert said[0].replace(repr(path[:40]), "") == said[1].replace(repr(path[:40]), "")


def test_a_typed_pair_is_the_same_each_time_and_nobody_elses(world: World) -> None:
    library = world.library
    table = library.typed("Which?", "this", "that")
    assert library.typed("Which?", "this", "that") is table
    assert library.typed("Which?", "this", "those").id != table.id
    assert library.find(table.id) is None and table.id not in {each.id for each in library.all()}
    assert table.caption == "A pair you typed."


# What is large is read apart.


def test_what_a_worker_read_is_the_same_and_lies_on_the_disk(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, steps = make(public=True), list[Step]()
    long = [{**row, "chosen": "yes " * 999} for row in rows(3000, "línea 🤔")]
    path = world.file("a.jsonl", jsonl([*long, {**long[0], "chosen": "no"}]))
    here = read_pairs(path)
    monkeypatch.setattr(limits, "APART_BYTES", 0)
    before = pa.total_allocated_bytes()
    table = world.library.upload(path, "a.jsonl", steps.append)
    assert pa.total_allocated_bytes() - before < 1_000_000 < table.arrow.nbytes
    assert table.arrow.equals(here.table)
    assert table.remarks == here.notes != ()
    assert "reading" in {step.doing for step in steps}


def test_a_file_that_needs_too_much_is_refused_and_the_page_answers_meanwhile(
    make: Make, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("APART_BYTES", 0), ("READ_BYTES", 50_000_000), ("BYTES_A_BYTE", 1)):
        monkeypatch.setattr(limits, name, most)
    library, page, answered = make(public=True).library, serve(), 0
    several = json.dumps({"prompt": "p", "chosen": ["c"], "rejected": ["r"] * 200_000}).encode()
    large = make().file("x.jsonl", (several + b"\n") * 40)
    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(library.upload, large, "x.jsonl")
        while not reading.done():
            with page.open("app_id") as answer:
                answered += answer.status == 200
    with pytest.raises(KnownError, match=r"Reading the pairs needed more than the 0\.1 GB allowed"):
        reading.result()
    assert answered
    assert len(library.upload(make().file("y.jsonl", jsonl(rows(3))), "y.jsonl")) == 3
