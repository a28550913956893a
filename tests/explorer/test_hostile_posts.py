"""What strangers post to take a server's memory, disk, queue or time from others."""

import json
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gradio import processing_utils

from explorer.core import served
from explorer.runs import scorers
from tests.conftest import PATIENCE, until
from tests.explorer.conftest import Serve
from tests.support.browsing import followed, uploading
from tests.support.local_server import LocalServer
from tests.support.posting import Visitor, sent_file

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"
"""Two addresses that strangers have."""
LARGE = json.dumps({"data": [[]] * 1_500_000, "fn_index": 0, "session_hash": "a"}).encode()


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True, max_dataset_megabytes=0.2)


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    return Visitor(server.page)


def sent(
    to: Visitor, path: str, body: bytes | Iterator[bytes], kind: str = "application/json", **by: str
) -> tuple[int, str]:
    """What who posts that is answered. by: address, else `HERE`."""
    address = urlsplit(str(to.page.local_url))
    source = (by.get("address", HERE), 0)
    browser = HTTPConnection(str(address.netloc), timeout=PATIENCE, source_address=source)
    browser.request("POST", f"/gradio_api/{path}", body, {"Content-Type": kind})
    answer = browser.getresponse()
    told = answer.status, answer.read().decode()
    browser.close()
    return told


def endpoint(visitor: Visitor, name: str) -> int:
    """The number of its event."""
    fns = visitor.page.fns.items()
    return next(int(number) for number, each in fns if each.api_name == name)


def still_served(visitor: Visitor) -> bool:
    return "of 188" in visitor.render("pairs")["regions"]["bar"]


# Bodies


@pytest.mark.parametrize(
    ("path", "chunked"), [("queue/join", True), ("call/models", False), ("cancel", False)]
)
def test_a_body_that_is_too_large_is_refused_unread(
    path: str, chunked: bool, visitor: Visitor
) -> None:
    parts = (LARGE[start : start + 2**16] for start in range(0, len(LARGE), 2**16))
    status, told = sent(visitor, path, parts if chunked else LARGE)
    assert status == 413 and "the limit is 800 KB" in told
    assert still_served(visitor)


BAD: list[tuple[str, bytes, str]] = [
    ("queue/join", b'{"data": ["\xff"]}', "not JSON"),
    ("call/models", b"[" * 9_000, "not JSON"),
    ("component_server", b"[" * 90_000, "too many values: the limit is 10,000"),
    ("queue/join", b'{"data": ["\\"", "\\\\", ' + b"[]," * 9_990 + b"1]}", "too many values"),
    ("call/v2/leaderboard", b'{"bogus": 1}', ""),
    ("call/v2/nope", b"{}", ""),
    ("component_server", b'{"component_id": 99999, "fn_name": "a", "session_hash": "a"}', ""),
    ("queue/join", b'{"data": [], "fn_index": -1, "session_hash": "a"}', ""),
    ("queue/join", b'{"data": [], "fn_index": 1e400}', ""),
    ("reset", b'"\\ud800"', ""),
]


def test_a_body_of_no_sense_is_refused_in_a_line(
    visitor: Visitor, subtests: pytest.Subtests
) -> None:
    for path, body, words in BAD:
        with subtests.test(path=path, body=body[:60]):
            status, told = sent(visitor, path, body)
            assert status in (400, 404, 422) and len(told) < 300 and words in told
    assert still_served(visitor)


# Files


def test_no_file_is_fetched_from_an_address(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

    monkeypatch.setattr(processing_utils, "PUBLIC_HOSTNAME_WHITELIST", ["127.0.0.1"])
    with LocalServer(Handler) as other:
        for file in (sent_file(f"{other.url}/a.jsonl"), [{"deep": sent_file(f"{other.url}/b")}]):
            asks = {"data": [file], "fn_index": endpoint(visitor, "pair"), "session_hash": "a"}
            for path in ("queue/join", "call/pair", "component_server"):
                status, told = sent(visitor, path, json.dumps(asks).encode())
                assert status == 400 and "fetches none from an address" in told
    assert asked == [] and still_served(visitor)


def test_uploads_have_so_much_room_and_no_more(visitor: Visitor, uploads: Path) -> None:
    filler = uploads / "filler"
    filler.write_bytes(bytes(4_100_000))
    form = (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nhi\r\n--x--\r\n'
    )
    status, told = sent(visitor, "upload", form, "multipart/form-data; boundary=x")
    assert status == 507 and "disk of this server is full" in told
    filler.unlink()
    assert visitor.upload("mine.jsonl", b"{}")["path"]


@pytest.mark.slow
def test_a_file_of_a_row_in_each_of_its_parts_is_read(serve: Serve) -> None:
    """Before, each part took longer than the one before it, and a slot for reading meanwhile."""
    visitor, file = serve(public=True, max_dataset_megabytes=100.0), BytesIO()
    rows = pa.table({"prompt": ["p"], "chosen": ["y"], "rejected": ["n"]})
    with pq.ParquetWriter(file, rows.schema) as parts:
        for _ in range(20_000):
            parts.write_table(rows)
    _, opened = uploading(visitor, "parts.parquet", file.getvalue())
    assert "20,000 of 20,000" in followed(visitor, f"?source={quote(opened)}")["bar"]


# Events


def test_nothing_goes_round_the_queue(visitor: Visitor) -> None:
    for path, words in (("run/models", "queue"), ("api/x", "no such endpoint")):
        status, told = sent(visitor, path, b'{"data": []}')
        assert status == 404 and words in told


def test_one_address_leaves_room_for_others_and_is_served_again_later(
    server: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = endpoint(server, "models")

    def asks(session: str, address: str = HERE) -> int:
        body = {"data": [], "fn_index": index, "session_hash": session}
        return sent(server, "queue/join", json.dumps(body).encode(), address=address)[0]

    statuses = [asks(f"unread-{n}") for n in range(2 * served.MOST_OF_ADDRESS)]
    assert statuses.count(200) <= served.MOST_OF_ADDRESS and set(statuses) == {200, 503}
    assert asks("other", ELSEWHERE) == 200
    for path in ("no/queue/data?session_hash=unread-1", "queue/data?session_hash=None"):
        with suppress(HTTPError):
            server.open(path).close()
    assert asks("too early") == 503
    with server.open("queue/data?session_hash=unread-0") as answer:
        assert b"process_completed" in answer.read()
    assert asks("again") == 200 and asks("and again") == 503
    monkeypatch.setattr(served, "UNREAD_SECONDS", 0.0)
    assert asks("and again") == 200
    assert still_served(Visitor(server.page))


def test_runs_of_no_work_are_counted_too(
    serve: Serve, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorers, "LEAST_SECONDS", PATIENCE)
    visitor = serve(public=True, seconds_per_hour=PATIENCE - 1)  # loading takes a part of it
    asked = "?tab=score&which=subset&per-subset=1&model=longer"
    before = set((home / "runs").glob("*"))

    def told() -> str:
        [address] = visitor.press("score", "start", asked)["output"]["data"]
        return str(visitor.render("score", address, secret=visitor.session)["regions"]["status"])

    assert "used up" not in told()
    until(lambda: "used up" in told())
    assert len(set((home / "runs").glob("*")) - before) == 1


# Sessions


def test_what_is_remembered_of_visitors_is_bounded(
    serve: Serve, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "MOST_SESSIONS", 3)
    server = serve(public=True)
    visitors = [Visitor(server.page) for _ in range(5)]
    for each in visitors:
        followed(each, "")
    remembered = server.page.state_holder.session_data
    assert [*remembered] == [each.session for each in visitors[2:]]
    links = set()
    for each in visitors[3:]:
        with each.open(f"deep_link?session_hash={each.session}") as answer:
            links.add(answer.read())
    assert len(links) == 1  # nothing of what is shown is written to the disk
