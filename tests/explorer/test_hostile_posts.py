"""Files and posts of anybody and of other sites, past every widget: what takes memory, disk, queue
or time from others is refused, and what is a file of pairs is read.
"""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit

import pytest
from gradio import processing_utils
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from explorer.core import served
from explorer.core.sites import OwnSite
from scoring.models.finding import DEMO_NAME
from tests.conftest import PATIENCE, until
from tests.explorer.conftest import Serve
from tests.support.browsing import followed, opening
from tests.support.local_server import LocalServer
from tests.support.pair_files import parquet_bytes
from tests.support.posting import Visitor, sent_file

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"
"""Two addresses that strangers have."""
ROWS = [{"prompt": f"p{n}", "chosen": "yes", "rejected": "no", "subset": "mine"} for n in range(3)]
MEGABYTE = 1_000_000
UPLOAD = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nhi\r\n--x--\r\n'
FORM = {"Content-Type": "multipart/form-data; boundary=x"}
"""What a browser sends for any site without asking first."""


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True, max_rows=1000, max_dataset_megabytes=0.2)


def jsonl(rows: list[dict[str, Any]] = ROWS) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def answered(
    by: Visitor, method: str, path: str, body: Any, headers: dict[str, str], address: str = HERE
) -> tuple[int, str]:
    """The status and the text of an answer to who has that address."""
    host = str(urlsplit(str(by.page.local_url)).netloc)
    browser = HTTPConnection(host, timeout=PATIENCE, source_address=(address, 0))
    browser.request(method, path, body, headers)
    answer = browser.getresponse()
    told = answer.status, answer.read().decode()
    browser.close()
    return told


def sent(
    to: Visitor, path: str, body: bytes | Iterator[bytes], address: str = HERE
) -> tuple[int, str]:
    """What who posts that is answered."""
    headers = {"Content-Type": "application/json"}
    return answered(to, "POST", f"/gradio_api/{path}", body, headers, address)


def endpoint(visitor: Visitor, name: str) -> int:
    """The number of its event."""
    fns = visitor.page.fns.items()
    return next(int(number) for number, each in fns if each.api_name == name)


def still_served(visitor: Visitor) -> bool:
    """Whether the demo pairs are still what is told of."""
    return "Demo pairs: 188 pairs" in visitor.render("data", "?source=")["regions"]["bar"]


# Bodies


def test_a_body_that_is_too_large_is_refused_unread(visitor: Visitor) -> None:
    large = json.dumps({"data": [[]] * 1_500_000, "fn_index": 0, "session_hash": "a"}).encode()
    parts = (large[start : start + 2**16] for start in range(0, len(large), 2**16))
    for path, body in (("queue/join", parts), ("call/models", large)):
        status, told = sent(visitor, path, body)
        assert status == 413 and "the limit is 800 KB" in told
    with pytest.raises(HTTPError) as refused:
        visitor.upload("large.jsonl", b" " * MEGABYTE)
    assert refused.value.code == 413 and still_served(visitor)


BAD: list[tuple[str, bytes, str]] = [
    ("queue/join", b'{"data": ["\xff"]}', "not JSON"),
    ("call/models", b"[" * 9_000, "not JSON"),
    ("component_server", b"[" * 90_000, "too many values: the limit is 10,000"),
    ("queue/join", b'{"data": ["\\"", "\\\\", ' + b"[]," * 9_990 + b"1]}", "too many values"),
    ("call/v2/nope", b"{}", ""),
    ("component_server", b'{"component_id": 99999, "fn_name": "a", "session_hash": "a"}', ""),
    ("queue/join", b'{"data": [], "fn_index": -1, "session_hash": "a"}', ""),
    ("queue/join", b'{"data": [], "fn_index": 1e400}', ""),
    ("reset", b'"\\ud800"', ""),
    ("run/models", b'{"data": []}', "queue"),
    ("api/x", b'{"data": []}', "no such endpoint"),
]


def test_a_body_of_no_sense_is_refused_in_a_line(visitor: Visitor) -> None:
    for path, body, words in BAD:
        status, told = sent(visitor, path, body)
        assert status in (400, 404, 422) and len(told) < 300 and words in told, (path, body[:60])
    assert still_served(visitor)


# Addresses


ADDRESSES = (
    *("file=http://{host}/x", "file=HTTPS://{host}/x", "file=//http://{host}/x"),
    *("file=%68ttp://{host}/x", "file/https%3A//{host}/x", "file=ftp://{host}/x"),
    *("proxy=http://{host}/x", "dev/reload"),
)


def test_nothing_is_fetched_from_an_address_for_anybody(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()

    async def address_of(_: str) -> str:  # Gradio would not ask this machine itself
        return "127.0.0.1"

    monkeypatch.setattr("safehttpx.async_validate_url", address_of)
    monkeypatch.setattr(processing_utils, "PUBLIC_HOSTNAME_WHITELIST", ["127.0.0.1"])
    with LocalServer(Other) as other:
        for file in (sent_file(f"{other.url}/a.jsonl"), [{"deep": sent_file(f"{other.url}/b")}]):
            asks = {"data": [file], "fn_index": endpoint(visitor, "pair"), "session_hash": "a"}
            for path in ("queue/join", "call/pair", "component_server"):
                status, told = sent(visitor, path, json.dumps(asks).encode())
                assert status == 400 and "fetches none from an address" in told
        host = f"other.example:{urlsplit(other.url).port}"
        for address in ADDRESSES:
            with pytest.raises(HTTPError) as refused:
                visitor.open(address.format(host=host)).close()
            assert refused.value.code == 404, address
    assert requests == [] and still_served(visitor)


# Files


def test_an_uploaded_file_is_opened_deleted_and_shown_to_who_knows_its_name(
    visitor: Visitor,
) -> None:
    file = visitor.upload("mine.jsonl", jsonl())
    assert Path(file["path"]).is_file()
    _, opened = opening(visitor, "upload", json.dumps([file["path"]]))
    shown = followed(visitor, f"?source={quote(opened)}")
    assert "<b>3</b> of 3 pairs" in shown["bar"] and 'data-key="mine:1"' in shown["pair"]
    assert "source=mine.jsonl@" in shown.query
    assert not Path(file["path"]).exists()
    other = Visitor(visitor.page)
    for by in ("", None, other.session, opened):
        assert opened not in str(other.render("data", "", secret=by))
    assert "not open here" in followed(other, "?source=mine.jsonl")["bar"]


LARGE = {"prompt": "p" * MEGABYTE, "chosen": "y" * MEGABYTE, "rejected": "n" * MEGABYTE}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("mine.parquet", b"PAR1 no", "mine.parquet"),
        ("long.jsonl", jsonl([ROWS[0]] * 1001), "at most 1,000 are read here"),
        ("bomb.parquet", parquet_bytes([LARGE]), "unpacks to more than 1.6 MB"),
    ],
)
def test_a_file_that_is_none_is_refused_deleted_and_the_present_pairs_stay(
    name: str, content: bytes, told: str, visitor: Visitor
) -> None:
    path = visitor.upload(name, content)["path"]
    assert told in opening(visitor, "upload", json.dumps([path]))[0]
    assert still_served(visitor) and not Path(path).exists()


def test_a_path_outside_of_the_uploads_is_refused_and_one_of_nobody_in_particular(
    visitor: Visitor,
) -> None:
    for path in ("/etc/passwd", "../../etc/passwd", "assets/demo/pairs.jsonl"):
        told, opened = opening(visitor, "upload", json.dumps([path]))
        assert "No file was uploaded" in told and opened == ""
    assert Path("assets/demo/pairs.jsonl").is_file() and still_served(visitor)
    path = visitor.upload("mine.jsonl", jsonl())["path"]
    for action, value in (("open", DEMO_NAME), ("upload", json.dumps([path]))):
        refused = visitor.render("data", "", action=action, sent={"value": value})["error"]
        assert "whose it is" in refused


def test_uploads_have_so_much_room_and_no_more(visitor: Visitor, uploads: Path) -> None:
    filler = uploads / "filler"
    filler.write_bytes(bytes(4_100_000))
    with pytest.raises(HTTPError) as refused:
        visitor.upload("mine.jsonl", jsonl())
    assert refused.value.code == 507 and b"disk of this server is full" in refused.value.read()
    filler.unlink()
    assert visitor.upload("mine.jsonl", jsonl())["path"]


def test_what_is_left_of_an_upload_that_broke_off_is_deleted_with_a_later_one(
    visitor: Visitor, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, address = set(uploads.rglob("*")), urlsplit(visitor.page.local_url)
    head = (
        f"POST /gradio_api/upload HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 9999\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
        '--x\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\nabc'
    )
    with socket.create_connection((address.hostname, address.port)) as left:
        left.sendall(head.encode())
        until(lambda: set(uploads.rglob("*")) > before)
    [rest] = {each for each in uploads.glob("*") if each.is_file()} - before
    visitor.upload("mine.jsonl", jsonl())
    assert rest.exists()  # it may be of an upload that goes on
    (another := uploads / "notes.txt").touch()
    monkeypatch.setattr(served, "_LEFT_SECONDS", 0.0)
    # none is deleted while the server still takes the one that broke off for one that goes on
    until(lambda: bool(visitor.upload("mine.jsonl", jsonl())) and not rest.exists())
    assert another.exists()


# The queue


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


def test_what_is_remembered_of_visitors_is_bounded(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "MOST_SESSIONS", 3)
    server = serve(public=True)
    visitors = [Visitor(server.page) for _ in range(5)]
    for each in visitors:
        followed(each, "")
    remembered = server.page.state_holder.session_data
    assert [*remembered] == [each.session for each in visitors[2:]]
    links = {each.open(f"deep_link?session_hash={each.session}").read() for each in visitors[3:]}
    assert len(links) == 1  # nothing of what is shown is written to the disk


# Pages of other sites


def asked(server: Visitor, host: str, origin: str | None) -> list[tuple[int, str]]:
    """How the server answers who opens its page and who sends it a file, called so by a site."""
    port = urlsplit(str(server.page.local_url)).port
    headers = {"Host": f"{host}:{port}"} | ({"Origin": origin} if origin else {})
    opened = answered(server, "GET", "/", None, headers)
    return [opened, answered(server, "POST", "/gradio_api/upload", UPLOAD, headers | FORM)]


NAMES, SPACE = "127.0.0.1, ::1, localhost", "me-space.hf.space"
SITES: dict[str, tuple[dict[str, Any], list[tuple[str, str | None, str]]]] = {
    "on one's own machine": ({}, [
        ("LOCALHOST", None, ""),
        ("127.0.0.1", "http://localhost:3000", ""),
        ("[::1]", None, ""),
        ("127.0.0.1", "https://other.example", NAMES),
        ("localhost", "null", NAMES),
        ("127.0.0.1", "http://localhost.other.example", NAMES),
        ("other.example", "http://other.example", NAMES),  # whose name leads here by now
        ("other.example", None, NAMES),
    ]),
    "for all": ({"public": True}, [
        (SPACE, None, ""),
        (SPACE, f"https://{SPACE}", ""),
        (SPACE, "https://huggingface.co", ""),  # its frame
        (SPACE, "null", "another site"),
        (SPACE, "https://huggingface.co.other.example", "another site"),
        (SPACE, "https://a.hf.space", "another site"),
    ]),
    "under every address": ({"server_name": "0.0.0.0"}, [
        ("192.168.1.7", "http://192.168.1.7:7860", ""),
        ("gpu-box.local", "http://gpu-box.local:7860", ""),
        ("gpu-box.local", "https://other.example", "another site"),
        ("127.0.0.1", "https://other.example", "another site"),
        ("192.168.1.7", "http://localhost:3000", "another site"),
        ("other.example", "http://other.example", "EXPLORER_PROXIES=1"),
    ]),
}  # fmt: skip
"""A server -> its settings, and who asks: by which name, from which site, and why that is refused.
"""


@pytest.mark.parametrize("where", SITES)
def test_a_server_answers_under_its_own_names_and_no_other_site(
    where: str, serve: Serve, uploads: Path
) -> None:
    settings, askers = SITES[where]
    server = serve(**settings)
    for host, origin, why_not in askers:
        before = {*uploads.rglob("*")}
        for status, words in asked(server, host, origin):
            assert status == (403 if why_not else 200) and why_not in words, (host, origin)
        assert not why_not or {*uploads.rglob("*")} == before


def test_who_signed_in_is_nobody_to_another_sites_page() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen = Request(scope)
        who = {"user": seen.session.get("user"), "cookie": seen.headers.get("cookie")}
        await JSONResponse(who)(scope, receive, send)

    async def signed_in(scope: Scope, receive: Receive, send: Send) -> None:
        """As Gradio's middleware for sessions, which stands before ours."""
        await OwnSite(app, frozenset(), any_name=True)(
            {**scope, "session": {"user": "ana"}}, receive, send
        )

    client = TestClient(signed_in, base_url="https://me-space.hf.space")
    for told, name in (
        ({"origin": "https://me-space.hf.space"}, "ana"),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "ana"),  # into a frame
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, None),  # an image
    ):
        seen = client.get("/gradio_api/info", headers={"cookie": "session=ana", **told}).json()
        assert seen == {"user": name, "cookie": name and "session=ana"}
