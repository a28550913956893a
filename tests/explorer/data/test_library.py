import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
from tests.support.hub_server import HubServer, Repo, served_hub


def jsonl(n: int, mark: str = "text", chosen: str = "yes") -> bytes:
    """So many pairs as a file."""
    rows = [{"prompt": f"{mark} {at}", "chosen": chosen, "rejected": "no"} for at in range(n)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


TWO = Repo({"data/raw.jsonl": jsonl(5), "data/filtered.jsonl": jsonl(4)})
REPOS = {
    "datasets/org/one": Repo({"test.jsonl": jsonl(3)}),
    "datasets/org/script": Repo({"script.py": b"raise SystemExit", "loader.txt": b""}),
    "datasets/org/two": TWO,
    "datasets/org/gated": Repo(refusal=(403, "GatedRepo")),
    "datasets/org/large": Repo({"test.jsonl": jsonl(5000)}),
    "datasets/org/long": Repo({"test.jsonl": jsonl(60)}),
    "datasets/org/broken": Repo({"test.jsonl": b'{"prompt": "p",\n'}),
}


def data_asked(server: HubServer) -> list[str]:
    """The data files of which a byte was asked for."""
    got = (request.path for request in server.requests if request.method == "GET")
    return [path for path in got if "/resolve/" in path and not path.endswith("README.md")]


def file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub, to which the server's token must not be sent."""
    with served_hub(REPOS, tmp_path / "hub", monkeypatch) as server:
        yield server


Make = Callable[..., Library]


@pytest.fixture
def make(tmp_path: Path, server: HubServer) -> Make:
    """Makes a library with settings of one's own."""

    def library(**settings: object) -> Library:
        chosen = Settings(home=tmp_path / "home", **settings)  # type: ignore[arg-type]
        hub = Hub(chosen.offline)
        return Library(pair_sources(chosen, hub), hub, chosen)

    return library


@pytest.fixture
def library(make: Make) -> Library:
    return make(public=True)


def refusal(library: Library, wanted: object) -> str:
    with pytest.raises(KnownError) as error:
        library.open(wanted)
    return str(error.value)


def test_the_offers_have_the_published_counts_and_can_be_asked_for() -> None:
    counts = {offer.wanted: offer.rows for offer in offers()}
    assert [each for each in counts if not parse_hub_id(named_dataset(each) or each)] == ["demo"]
    assert counts["allenai/reward-bench:filtered"] == 2985
    assert counts["demo"] == len(DEMO_PAIRS.read_bytes().splitlines())


def test_a_dataset_is_fetched_and_found_from_then_on_without_the_network(
    library: Library, server: HubServer, make: Make
) -> None:
    table = library.open("org/two:raw")
    assert (table.id, len(table)) == (f"org/two:raw@{TWO.commit}", 5)
    assert library.find(table.id) is library.get(table.id) is table
    assert table in library.all()
    assert [path.rpartition("/")[2] for path in data_asked(server)] == ["raw.jsonl"]
    one = make().open("org/one")
    server.requests.clear()
    assert library.open(table.id) is table
    again = make(offline=True)
    assert again.open("org/one").id == again.open(one.id).id == one.id
    assert server.requests == []


REFUSED = {
    "org/gated": "org/gated is gated",
    "org/unknown": "There is no public dataset 'org/unknown' on the Hub",
    "org/one@nowhere": "org/one has no revision 'nowhere'",
    "org/two": "org/two:SPLIT; it has filtered, raw",
    "org/script": "code, which is never run; the Hub may have its rows as org/script@refs",
    "org/large": "0.1 MB",
}
MALFORMED = {"org/long": "50", "org/broken": "line 1 is not JSON"}


def test_what_cannot_be_had_is_said_and_leaves_the_rest_in_place(
    make: Make, server: HubServer, subtests: pytest.Subtests
) -> None:
    """Where that is known before, not a byte of its data is fetched."""
    library = make(public=True, max_dataset_megabytes=0.1, max_rows=50)
    before = library.all()
    for wanted, said in (REFUSED | MALFORMED).items():
        with subtests.test(wanted):
            server.requests.clear()
            assert said in refusal(library, wanted)
            assert library.all() == before
            assert bool(data_asked(server)) == (wanted in MALFORMED)
    assert len(library.open("org/one")) == 3


def test_a_third_load_at_once_is_refused_until_another_ends(library: Library) -> None:
    held, go = threading.Barrier(3), threading.Event()

    def load(wanted: str) -> PairTable:
        def hold(step: Step) -> None:
            if step.doing == "reading" and not go.is_set():
                held.wait(PATIENCE)
                assert go.wait(PATIENCE)

        return library.open(wanted, hold)

    with ThreadPoolExecutor(2) as pool:
        loads = [pool.submit(load, wanted) for wanted in ("org/two:raw", "org/one")]
        held.wait(PATIENCE)
        assert "busy" in refusal(library, "org/broken")
        assert library.open("demo").source.kind == "demo"
        go.set()
        assert [len(each.result(PATIENCE)) for each in loads] == [5, 3]
    assert "is not JSON" in refusal(library, "org/broken")


def test_only_who_knows_the_id_sees_an_uploaded_file(library: Library, tmp_path: Path) -> None:
    """And nobody else a pair that was typed."""
    path = file(tmp_path / "received.CSV", b"prompt,chosen,rejected\n" + b"p,c,r\n" * 7)
    table = library.upload(path, "SECRET.CSV")
    assert (len(table), table.source.kind, table.source.name) == (7, "file", "SECRET.CSV")
    path.unlink()
    assert library.open(table.id) is library.find(table.id) is table
    assert table not in library.all()
    with pytest.raises(KnownError) as error:
        library.upload(file(tmp_path / "x.jsonl", b"no JSON"), "x.jsonl")
    assert "line 1 is not JSON" in str(error.value) and str(tmp_path) not in str(error.value)
    assert library.find("SECRET.CSV") is None
    typed = library.typed("Which?", "this", "that")
    assert library.typed("Which?", "this", "that") is typed
    assert library.find(typed.id) is None and typed.id not in {each.id for each in library.all()}


def test_a_hostile_name_is_cut_to_what_can_be_shown() -> None:
    for name, kept in (
        ("../../etc/pairs.csv", "pairs.csv"),
        ("a\x00b\n\x1b[31m\u202epairs.csv", "ab[31mpairs.csv"),
        ("\ud800.csv", "upload.csv"),
        ("Paare für Ärzte 对.csv", "Paare für Ärzte 对.csv"),
    ):
        assert upload_name(name, ".csv") == kept


def test_the_least_recently_seen_are_dropped_and_those_of_the_start_never(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(library: Library, mark: str) -> str:
        path = file(tmp_path / f"{mark}.jsonl", jsonl(20, mark * 600))
        return library.upload(path, path.name).id

    other = make()
    room = int(3.5 * other.get(small(other, "a")).arrow.nbytes)
    monkeypatch.setattr(limits, "LEAST_KEPT_BYTES", room)
    library = make(max_dataset_megabytes=0.02)
    start = library.get(None)
    first, second, third = (small(library, mark) for mark in "abc")
    assert library.find(first) is not None  # seen again, so the second is now the oldest
    small(library, "d")
    assert library.find(first) and library.find(third) and not library.find(second)
    assert library.get(second) is library.get(start.id) is start
    assert "once more if it is not here any more" in refusal(library, second)


WISHES: tuple[object, ...] = (
    None, b"demo", ["demo"], " \n", "x", "org/one" * 1_000_000, "../" * 40 + "etc/passwd",
    "/etc/passwd.csv", "~/x.jsonl", "org/..", "org/one:a:b", "org/one\x00", "\ud800",
    "https://huggingface.co/datasets/org/one", "mine.jsonl@0123456789ab",
)  # fmt: skip


def test_a_hostile_wish_is_refused_in_a_sentence(library: Library, server: HubServer) -> None:
    for wanted in WISHES:
        said = refusal(library, wanted)
        assert "org/name:split@revision" in said and len(said) < 500 and said.encode()
        assert library.find(wanted) is None
        assert library.get(wanted) is library.get(None)
    assert server.requests == []


def test_a_path_is_read_on_ones_own_machine_only(make: Make, tmp_path: Path) -> None:
    own, public = make(), make(public=True)
    path = str(file(tmp_path / "mine.jsonl", jsonl(2)))
    table = own.open(path)
    assert (len(table), table.source.name) == (2, "mine.jsonl")
    assert own.open(path) is table
    said = [refusal(public, each) for each in (path, path + "x", path + "x" * 50)]
    assert "is not here" in said[0] and path not in said[2]
    assert said[0].replace(repr(path[:40]), "") == said[1].replace(repr(path[:40]), "")


def test_what_a_worker_read_is_the_same_and_lies_on_the_disk(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs too much is refused, and the next is read."""
    text = jsonl(3000, "línea 🤔", "yes " * 999) + jsonl(1, "línea 🤔", "no")
    path = file(tmp_path / "a.jsonl", text)
    here = read_pairs(path)
    monkeypatch.setattr(limits, "APART_BYTES", 0)
    before = pa.total_allocated_bytes()
    table = library.upload(path, "a.jsonl")
    assert pa.total_allocated_bytes() - before < 1_000_000 < table.arrow.nbytes
    assert table.arrow.equals(here.table)
    assert table.remarks == here.notes != ()

    monkeypatch.setattr(limits, "READ_BYTES", 50_000_000)
    monkeypatch.setattr(limits, "BYTES_A_BYTE", 1)
    several = json.dumps({"prompt": "p", "chosen": ["c"], "rejected": ["r"] * 200_000}).encode()
    large = file(tmp_path / "x.jsonl", (several + b"\n") * 40)
    with pytest.raises(KnownError, match=r"Reading the pairs needed more than the 0\.1 GB allowed"):
        library.upload(large, "x.jsonl")
    assert len(library.upload(file(tmp_path / "y.jsonl", jsonl(3)), "y.jsonl")) == 3


@pytest.mark.parametrize("public", [True, False])
def test_what_strangers_open_is_not_kept_on_the_disk(
    public: bool, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is what anybody sends."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")
    monkeypatch.setattr("scoring.pairs.opening.LEAST_BYTES", 0)
    library = make(public=public)
    assert len(library.open("org/one")) == 3
    library.upload(file(tmp_path / "sent.jsonl", jsonl(5)), "sent.jsonl")
    assert len([*(tmp_path / "datasets").rglob("*.arrow")]) == (0 if public else 1)
