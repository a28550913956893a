"""Pages of other sites that ask a server on one's own machine."""

from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.conftest import PATIENCE
from tests.explorer.conftest import Serve
from tests.explorer.posting import Visitor

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
        ("[::1]", "https://other.example"),
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


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
@pytest.mark.parametrize("origin", [None, "http://localhost:3000"])
def test_ones_own_machine_is_answered(own: Visitor, host: str, origin: str | None) -> None:
    assert [status for status, _ in asked(own, host, origin)] == [200, 200]


def test_a_server_for_all_answers_under_any_name_and_to_any_site(public: Visitor) -> None:
    for origin in (None, "https://me-space.hf.space", "https://other.example"):
        assert [status for status, _ in asked(public, "me-space.hf.space", origin)] == [200, 200]
