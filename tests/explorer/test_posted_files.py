"""Files and counts through the page's own events: uploads, exports, tokens."""

import errno
import json
import resource
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import urlopen

import pytest

from explorer.core import served
from scoring.models.finding import DEMO_NAME
from tests.conftest import PATIENCE, until
from tests.explorer.conftest import Serve
from tests.support.browsing import followed, opening, uploading
from tests.support.pair_files import parquet_bytes
from tests.support.posting import Visitor

ROWS = [{"prompt": f"p{n}", "chosen": "yes", "rejected": "no", "subset": "mine"} for n in range(3)]
MEGABYTE = 1_000_000


def jsonl(rows: list[dict[str, Any]] = ROWS) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True, max_rows=1000, max_dataset_megabytes=0.2)


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    """Somebody new."""
    return Visitor(server.page)


def still_there(visitor: Visitor) -> bool:
    """Whether the demo pairs are still what is told of."""
    return "Demo pairs: 188 pairs" in visitor.render("data", "?source=")["regions"]["bar"]


def upload(visitor: Visitor, file: dict[str, Any]) -> tuple[str, str]:
    """Open a file that was sent; as of `opening`."""
    return opening(visitor, "upload", json.dumps([file["path"]]))


# Uploads


def test_an_uploaded_file_is_opened_and_deleted(visitor: Visitor) -> None:
    file = visitor.upload("mine.jsonl", jsonl())
    assert Path(file["path"]).is_file()
    _, opened = upload(visitor, file)
    shown = followed(visitor, f"?source={quote(opened)}")
    assert "<b>3</b> of 3 pairs" in shown["bar"] and 'data-key="mine:1"' in shown["pair"]
    assert "source=mine.jsonl@" in shown.query
    assert not Path(file["path"]).exists()


def test_somebody_elses_upload_is_not_shown_to_who_does_not_know_its_name(visitor: Visitor) -> None:
    secret = jsonl([{**ROWS[0], "prompt": "secret"}])
    _, source = uploading(visitor, "secret.jsonl", secret)
    other = Visitor(visitor.page)
    for by in ("", None, other.session, source):
        assert source not in str(other.render("data", "", secret=by))
    shown = followed(other, "?source=secret.jsonl")
    assert "not open here" in shown["bar"] and "secret" not in shown["pair"]


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
    file = visitor.upload(name, content)
    assert told in upload(visitor, file)[0]
    assert still_there(visitor)
    assert not Path(file["path"]).exists()


def test_a_file_that_is_too_large_is_not_taken(visitor: Visitor) -> None:
    with pytest.raises(HTTPError) as refused:
        visitor.upload("large.jsonl", b" " * MEGABYTE)
    assert refused.value.code == 413 and still_there(visitor)


@pytest.mark.skipif(sys.platform != "linux", reason="a file's size is bound by resource limits")
def test_a_full_disk_is_said(visitor: Visitor) -> None:
    bounds = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, bounds[1]))
    try:
        with pytest.raises(HTTPError) as refused:
            visitor.upload("mine.jsonl", jsonl(ROWS * 999))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, bounds)
    assert refused.value.code == 507 and b"disk of this server is full" in refused.value.read()
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


def test_a_path_outside_of_the_uploads_is_refused(visitor: Visitor) -> None:
    for path in ("/etc/passwd", "../../etc/passwd", "assets/demo/pairs.jsonl"):
        told, opened = opening(visitor, "upload", json.dumps([path]))
        assert "No file was uploaded" in told and opened == ""
    assert Path("assets/demo/pairs.jsonl").is_file() and still_there(visitor)


@pytest.mark.parametrize("action", ["open", "upload"])
def test_nobody_in_particular_opens_nothing_on_a_public_server(
    action: str, visitor: Visitor
) -> None:
    path = visitor.upload("mine.jsonl", jsonl())["path"]
    sent = {"value": DEMO_NAME if action == "open" else json.dumps([path])}
    assert "whose it is" in visitor.render("data", "", action=action, sent=sent)["error"]


def test_an_export_without_pairs_or_that_the_disk_does_not_take_is_told_of(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(query: str) -> str:
        with pytest.raises(HTTPError) as told:
            urlopen(f"{visitor.page.local_url}files/pairs/pairs.csv{query}", timeout=PATIENCE)
        assert told.value.code == 422
        return told.value.read().decode()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    assert "no pair to export" in refused("?q=no+such+words")
    monkeypatch.setattr("explorer.tabs.pairs.exports.export", full)
    assert "disk of this server is full" in refused("")


def test_tokens_are_counted_drawn_and_filtered_by(visitor: Visitor) -> None:
    query = f"?{urlencode({'panel': 'lengths', 'unit': 'tokens', 'tokenizer': DEMO_NAME})}"
    after = f"?{visitor.render('pairs', query, action='count')['query']}"
    until(lambda: "data-refresh" not in followed(visitor, after)["main"])
    shown = followed(visitor, after)
    assert f"Counted by {DEMO_NAME}@" in shown["main"] and "data-plot" in shown["main"]
    ranged = f"?{shown.query}&range=chosen.tokens.1.20.{shown.state.tokenizer}"
    assert "chosen tokens 1 to 20" in followed(Visitor(visitor.page), ranged)["bar"]
