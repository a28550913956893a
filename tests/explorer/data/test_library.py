import csv
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.settings import DEMO_PAIRS, Settings
from explorer.data import library as limits
from explorer.data.library import Library, upload_name
from explorer.data.offers import offers
from explorer.data.sources import pair_sources
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


def comma_separated(rows: list[Row]) -> bytes:
    file = StringIO()
    writer = csv.DictWriter(file, ["prompt", "chosen", "rejected"])
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


ONE = Repo({"test.jsonl": jsonl(rows(3))})
TWO = Repo({"data/raw.jsonl": jsonl(rows(5)), "data/filtered.jsonl": jsonl(rows(4))})
SEVERAL = Repo(
    {
        "README.md": b"---\nconfigs:\n"
        b"- {config_name: easy, data_files: [{split: test, path: easy/*}]}\n"
        b"- {config_name: hard, data_files: [{split: test, path: hard/*}]}\n---\n",
        "easy/0.jsonl": jsonl(rows(2)),
        "hard/0.jsonl": jsonl(rows(3)),
        "hard/1.parquet": parquet(rows(4)),
    }
)
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
    "datasets/org/long": Repo({"test.csv": comma_separated(rows(60))}),
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
        return [
            request.path
            for request in self.server.requests
            if request.method == "GET"
            and "/resolve/" in request.path
            and not request.path.endswith("README.md")
        ]

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


@dataclass
class Told:
    """The steps that were told; holds the load at the first of a kind until `go` is set."""

    hold: str = ""
    steps: list[Step] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def __call__(self, step: Step) -> None:
        self.steps.append(step)
        if step.doing == self.hold and not self.held.is_set():
            self.held.set()
            assert self.go.wait(PATIENCE)

    @property
    def doing(self) -> list[str]:
        """What was done, in order, each once."""
        return list(dict.fromkeys(step.doing for step in self.steps))


def refusal(library: Library, wanted: object) -> str:
    with pytest.raises(KnownError) as error:
        library.open(wanted)
    return str(error.value)


def test_the_offers_have_the_published_counts_and_can_be_asked_for() -> None:
    counts = {offer.wanted: offer.rows for offer in offers()}
    assert len(counts) == len(offers()) == 28
    assert [each for each in counts if parse_hub_id(named_dataset(each) or each) is None] == [
        "demo"
    ]
    prior = [offer.rows or 0 for offer in offers() if offer.group == "Prior sets"]
    assert (len(prior), sum(prior)) == (9, 43_175)
    assert counts["allenai/reward-bench:filtered"] == 2985
    assert counts["allenai/reward-bench-2:test"] == 1865
    assert counts["demo"] == len(DEMO_PAIRS.read_bytes().splitlines())


# From the Hub.


def test_a_dataset_is_fetched_and_found_from_then_on_without_the_network(world: World) -> None:
    table = world.library.open("org/two:raw")
    assert (table.id, len(table)) == (f"org/two:raw@{TWO.commit}", 5)
    assert world.library.find(table.id) is world.library.get(table.id) is table
    assert table in world.library.all()
    assert [path.rpartition("/")[2] for path in world.data_asked] == ["raw.jsonl"]
    world.server.requests.clear()
    told = Told()
    assert world.library.open(table.id, told) is table
    assert (world.server.requests, told.steps) == ([], [])


@pytest.mark.parametrize(
    ("wanted", "n_rows", "named"),
    [
        ("org/one", 3, "org/one:test"),
        ("org/several", 2, "org/several:test"),
        ("org/several:test", 2, "org/several:test"),
        ("org/several:hard/test", 7, "org/several:hard/test"),
    ],
)
def test_each_configuration_can_be_opened(
    world: World, wanted: str, n_rows: int, named: str
) -> None:
    table = world.library.open(wanted)
    commit = REPOS[f"datasets/{wanted.partition(':')[0]}"].commit
    assert (len(table), table.id) == (n_rows, f"{named}@{commit}")
    assert world.library.open(f"{wanted}@{commit}") is table


REFUSED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gated": ("org/gated", "org/gated is gated", {}),
    "gated as its files are asked for": ("org/late-gated", "org/late-gated is gated", {}),
    "unknown": ("org/unknown", "There is no public dataset 'org/unknown' on the Hub", {}),
    "of no such revision": ("org/one@nowhere", "org/one has no revision 'nowhere'", {}),
    "two splits, and none named": ("org/two", "org/two:SPLIT; it has filtered, raw", {}),
    "of no such split": ("org/two:test", "org/two:SPLIT; it has filtered, raw", {}),
    "of no such configuration": ("org/several:easy/test", "it has test, hard/test.", {}),
    "no pairs": ("org/text", "it has no file that can be read here.", {}),
    "a script": (
        "org/script",
        "but code, which is never run; the Hub may have its rows as org/script@refs",
        {},
    ),
    "too large": ("org/large", "0.1 MB", {"max_dataset_megabytes": 0.1}),
}
MALFORMED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "too many rows": ("org/long", "50", {"max_rows": 50}),
    "no JSON": ("org/broken", "line 1 is not JSON", {}),
    "other columns": ("org/odd", "has no column", {}),
    "cut off": ("org/cut", f"{SHARDS[1]} cannot be read as .parquet", {}),
}


@pytest.mark.parametrize("case", [*REFUSED, *MALFORMED])
def test_what_cannot_be_had_is_said_and_leaves_the_rest_in_place(make: Make, case: str) -> None:
    """Where that is known before, not a byte of its data is fetched."""
    wanted, said, settings = (REFUSED | MALFORMED)[case]
    world = make(public=True, **settings)
    before = world.library.all()
    assert said in refusal(world.library, wanted)
    assert world.library.all() == before
    assert bool(world.data_asked) == (case in MALFORMED)
    assert len(world.library.open("org/one")) == 3


def test_a_fetched_dataset_opens_without_the_hub(make: Make) -> None:
    table = make().library.open("org/one")
    again = make(offline=True)
    assert again.library.open("org/one").id == table.id
    assert again.library.open(table.id) is again.library.get(table.id)


# Several visitors at once.


def test_a_third_load_at_once_is_refused_until_another_ends(world: World) -> None:
    busy = [Told(hold="reading"), Told(hold="reading")]
    with ThreadPoolExecutor(2) as pool:
        loads = [
            pool.submit(world.library.open, wanted, told)
            for wanted, told in zip(("org/two:raw", "org/one"), busy, strict=True)
        ]
        assert all(told.held.wait(PATIENCE) for told in busy)
        assert "busy" in refusal(world.library, "org/broken")
        path = world.file("mine.jsonl", jsonl(rows(2)))
        with pytest.raises(KnownError, match="busy"):
            world.library.upload(path, "mine.jsonl")
        assert world.library.open("demo").source.kind == "demo"
        for told in busy:
            told.go.set()
        assert [len(load.result(PATIENCE)) for load in loads] == [5, 3]
    assert "is not JSON" in refusal(world.library, "org/broken")


# Uploads.


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.parquet", parquet),
        ("a.jsonl", jsonl),
        ("a.csv", comma_separated),
        ("A.CSV", comma_separated),
    ],
)
def test_a_file_is_uploaded(world: World, name: str, write: Callable[[list[Row]], bytes]) -> None:
    path = world.file(f"received{Path(name).suffix}", write(rows(7)))
    told = Told()
    table = world.library.upload(path, name, told)
    assert (len(table), table.source.kind, table.source.name) == (7, "file", name)
    assert told.doing == ["reading"]
    path.unlink()
    assert world.library.open(table.id) is table
    assert world.server.requests == []


def test_only_who_knows_the_id_sees_an_uploaded_file(world: World) -> None:
    table = world.library.upload(world.file("x.jsonl", jsonl(rows(2))), "secret.jsonl")
    assert world.library.find(table.id) is table
    assert table not in world.library.all()
    assert world.library.find("secret.jsonl") is None
    assert world.library.find(f"secret.jsonl@{'0' * 12}") is None


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x", jsonl(rows(1)), "x is not a file of pairs: its ending must be one of .parquet"),
        ("x.jsonl", b"no JSON", "line 1 is not JSON"),
    ],
)
def test_a_file_that_is_none_of_pairs_is_refused(
    world: World, name: str, content: bytes, said: str
) -> None:
    before = world.library.all()
    with pytest.raises(KnownError) as error:
        world.library.upload(world.file(name, content), name)
    assert said in str(error.value)
    assert str(world.folder) not in str(error.value)
    assert world.library.all() == before


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("pairs.csv", "pairs.csv"),
        ("../../etc/pairs.csv", "pairs.csv"),
        ("C:\\mine\\pairs.csv", "pairs.csv"),
        ("a\x00b\n\x1b[31m\u202epairs.csv", "ab[31mpairs.csv"),
        ("\ud800.csv", "upload.csv"),
        ("", "upload.csv"),
        ("/", "upload.csv"),
        ("Paare für Ärzte 对.csv", "Paare für Ärzte 对.csv"),
        ("<b>x</b>.csv", "b>.csv"),
        ("pairs.exe", "pairs.exe.csv"),
    ],
)
def test_a_hostile_name_is_cut_to_what_can_be_shown(name: str, kept: str) -> None:
    assert upload_name(name, ".csv") == kept


# What is kept.


def small(world: World, mark: str) -> str:
    """The id of an uploaded table of about 13 kB."""
    path = world.file(f"{mark}.jsonl", jsonl(rows(20, mark * 600)))
    return world.library.upload(path, path.name).id


def test_the_least_recently_seen_are_dropped_and_those_of_the_start_never(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make()
    room = int(3.5 * other.library.get(small(other, "a")).arrow.nbytes)
    monkeypatch.setattr("explorer.data.library.LEAST_KEPT_BYTES", room)
    library = (world := make(max_dataset_megabytes=0.02)).library
    start = library.get(None)
    first = small(world, "a")
    second, third = small(world, "b"), small(world, "c")
    assert library.find(first) is not None  # seen again, so the second is now the oldest
    fourth = small(world, "d")
    held = [library.find(item) is not None for item in (first, second, third, fourth)]
    assert held == [True, False, True, True]
    assert library.get(second) is start
    assert library.get(start.id) is start
    assert "once more if it is not here any more" in refusal(library, second)


# Whatever is asked for.


WISHES: dict[str, object] = {
    "nothing": None, "a number": 1.5, "bytes": b"demo", "a list": ["demo"], "a mapping": {"id": 1},
    "an empty text": "", "blanks": " \n", "a word": "x", "the name of what is here": "Demo pairs",
    "a very long text": "x" * 10_000_000, "a very long id": "org/one" * 1_000_000,
    "a path upwards": "../" * 40 + "etc/passwd", "a path": "/etc/passwd.csv", "a home": "~/x.jsonl",
    "an owner's folder": "org/..", "two splits": "org/one:a:b",
    "an address": "https://huggingface.co/datasets/org/one", "a NUL": "org/one\x00",
    "a lone surrogate": "\ud800", "an upload of nobody": "mine.jsonl@0123456789ab",
}  # fmt: skip


@pytest.mark.parametrize("wanted", WISHES.values(), ids=[*WISHES])
def test_a_hostile_wish_is_refused_in_a_sentence(world: World, wanted: object) -> None:
    said = refusal(world.library, wanted)
    assert "org/name:split@revision" in said
    assert len(said) < 500
    assert said.encode()
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


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of any size are read by workers."""
    monkeypatch.setattr(limits, "APART_BYTES", 0)


@pytest.mark.parametrize(
    ("name", "write"), [("a.parquet", parquet), ("a.jsonl", jsonl), ("a.csv", comma_separated)]
)
def test_what_a_worker_read_is_the_same_and_lies_on_the_disk(
    make: Make,
    tmp_path: Path,
    name: str,
    write: Callable[[list[Row]], bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = [{**row, "chosen": "yes " * 999} for row in rows(3000, "línea 🤔")]
    path = tmp_path / name
    path.write_bytes(write([*long, {**long[0], "chosen": "no"}]))
    here = read_pairs(path, name=name)
    monkeypatch.setattr(limits, "APART_BYTES", 0)
    before, told = pa.total_allocated_bytes(), Told()
    table = make(public=True).library.upload(path, name, told)
    assert pa.total_allocated_bytes() - before < 1_000_000 < table.arrow.nbytes
    assert table.arrow.equals(here.table)
    assert table.remarks == here.notes != ()
    assert "reading" in told.doing


SEVERAL_EACH = json.dumps({"prompt": "p", "chosen": ["c"], "rejected": ["r"] * 200_000}).encode()


def test_a_file_that_needs_too_much_is_refused_and_the_page_answers_meanwhile(
    make: Make, apart: None, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "READ_BYTES", 50_000_000)
    monkeypatch.setattr(limits, "BYTES_A_BYTE", 1)
    library, page, answered = make(public=True).library, serve(), 0
    large = make().file("x.jsonl", (SEVERAL_EACH + b"\n") * 40)
    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(library.upload, large, "x.jsonl")
        while not reading.done():
            with page.open("app_id") as answer:
                answered += answer.status == 200
    with pytest.raises(KnownError, match=r"Reading the pairs needed more than the 0\.1 GB allowed"):
        reading.result()
    assert answered
    assert len(library.upload(make().file("y.jsonl", jsonl(rows(3))), "y.jsonl")) == 3
