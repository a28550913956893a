"""Pages of other sites that ask a server, on one's own machine or for all."""

from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from explorer.core.sites import OwnSite
from tests.conftest import PATIENCE
from tests.explorer.conftest import Serve
from tests.support.local_server import LocalServer
from tests.support.posting import Visitor

UPLOAD = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nhi\r\n--x--\r\n'
FORM = {"Content-Type": "multipart/form-data; boundary=x"}
"""What a browser sends for any site without asking first."""


@pytest.fixture(scope="module")
def own(serve: Serve) -> Visitor:
    return serve()


@pytest.fixture(scope="module")
def public(serve: Serve) -> Visitor:
    return serve(public=True)


def asked(server: Visitor, host: str, origin: str | None) -> list[tuple[int, str]]:
    """How the server answers who opens its page and who sends it a file, called so by a site."""
    address = urlsplit(str(server.page.local_url))
    sent = {"Host": f"{host}:{address.port}"} | ({"Origin": origin} if origin else {})
    told = []
    for question in (("GET", "/", None, sent), ("POST", "/gradio_api/upload", UPLOAD, sent | FORM)):
        browser = HTTPConnection(str(address.netloc), timeout=PATIENCE)
        browser.request(*question)
        answer = browser.getresponse()
        told.append((answer.status, answer.read().decode()))
        browser.close()
    return told


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1", "https://other.example"),
        ("localhost", "null"),
        ("127.0.0.1", "http://localhost.other.example"),
        ("other.example", "http://other.example"),  # whose name leads here by now
        ("other.example", None),
    ],
)
def test_another_site_is_refused_and_told_the_names(
    own: Visitor, uploads: Path, host: str, origin: str | None
) -> None:
    before = {*uploads.rglob("*")}
    for status, words in asked(own, host, origin):
        assert status == 403 and "127.0.0.1, ::1, localhost" in words
    assert {*uploads.rglob("*")} == before


def test_ones_own_machine_is_answered(own: Visitor) -> None:
    hosts = {"LOCALHOST": None, "127.0.0.1": "http://localhost:3000", "[::1]": None}
    for host, origin in hosts.items():
        assert [status for status, _ in asked(own, host, origin)] == [200, 200]


def test_a_server_for_all_answers_its_own_page_and_the_hubs_frame_and_no_other_sites(
    public: Visitor, uploads: Path
) -> None:
    name = "me-space.hf.space"
    for origin in (None, f"https://{name}", "https://huggingface.co"):
        assert [status for status, _ in asked(public, name, origin)] == [200, 200]
    before = {*uploads.rglob("*")}
    for origin in ("null", "https://huggingface.co.other.example", "https://a.hf.space"):
        for status, told in asked(public, name, origin):
            assert status == 403 and "another site" in told
    assert {*uploads.rglob("*")} == before


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"origin": "https://me-space.hf.space"}, "ana"),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, "ana"),  # into a frame
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, None),  # an image
    ],
)
def test_who_signed_in_is_nobody_to_another_sites_page(
    told: dict[str, str], name: str | None
) -> None:
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
    answered = client.get("/gradio_api/info", headers={"cookie": "session=ana", **told}).json()
    assert answered == {"user": name, "cookie": name and "session=ana"}


def test_under_every_address_only_names_are_answered_that_no_stranger_can_own(serve: Serve) -> None:
    server = serve(server_name="0.0.0.0")
    for host in ("192.168.1.7", "gpu-box.local", "127.0.0.1"):
        assert [status for status, _ in asked(server, host, f"http://{host}:7860")] == [200, 200]
        assert asked(server, host, "https://other.example")[1][0] == 403
    for status, words in asked(server, "other.example", "http://other.example"):
        assert status == 403 and "EXPLORER_PROXIES=1" in words


ADDRESSES = (
    *("file=http://{host}/x", "file=HTTPS://{host}/x", "file=//http://{host}/x"),
    *("file=%68ttp://{host}/x", "file/https%3A//{host}/x", "file=ftp://{host}/x"),
    *("proxy=http://{host}/x", "dev/reload"),
)


def test_no_address_is_fetched_for_anybody(
    public: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    async def address_of(_: str) -> str:  # Gradio would not ask this machine itself
        return "127.0.0.1"

    monkeypatch.setattr("safehttpx.async_validate_url", address_of)
    with LocalServer(Other) as other:
        for address in ADDRESSES:
            host = f"other.example:{urlsplit(other.url).port}"
            with pytest.raises(HTTPError) as refused:
                public.open(address.format(host=host)).close()
            assert refused.value.code == 404, address
    assert requests == []
