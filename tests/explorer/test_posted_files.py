"""Files and counts through the page's own events: uploads, exports, tokens."""

import errno
import json
import resource
import socket
import sys
import urllib.request
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core import served
from scoring.models.finding import DEMO_NAME
from tests.conftest import PATIENCE, until
from tests.explorer.conftest import Serve
from tests.support.browsing import Answered, followed, opening, uploading
from tests.support.pair_files import parquet_bytes
from tests.support.posting import Visitor

ROWS = [{"prompt": f"p{n}", "chosen": "yes", "rejected": "no", "subset": "mine"} for n in range(3)]
MEGABYTE = 1_000_000


def jsonl(rows: list[dict[str, Any]] = ROWS) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


FILES = {"mine.jsonl": jsonl(), "mine.parquet": parquet_bytes(ROWS)}


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True, max_rows=1000, max_dataset_megabytes=0.2)


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    """Somebody new."""
    return Visitor(server.page)


def turned(visitor: Visitor, opened: tuple[str, str]) -> Answered:
    """The tab after what was opened was turned to, as the page does by itself."""
    return followed(visitor, f"?source={quote(opened[1])}")


def caption(visitor: Visitor, source: str = "") -> str:
    """What the head of the page says of the pairs on screen."""
    return str(visitor.render("data", f"?source={quote(source)}")["regions"]["bar"])


def still_there(visitor: Visitor) -> bool:
    """Whether the demo pairs are still what is told of."""
    return "Demo pairs: 188 pairs" in caption(visitor)


def upload(visitor: Visitor, file: dict[str, Any]) -> tuple[str, str]:
    """Open a file that was sent; as of `opening`."""
    return opening(visitor, "upload", json.dumps([file["path"]]))


# Uploads


@pytest.mark.parametrize("name", FILES)
def test_an_uploaded_file_is_opened_and_deleted(name: str, visitor: Visitor) -> None:
    file = visitor.upload(name, FILES[name])
    assert Path(file["path"]).is_file()
    shown = turned(visitor, upload(visitor, file))
    assert "<b>3</b> of 3 pairs" in shown["bar"] and 'data-key="mine:1"' in shown["pair"]
    assert f"source={name}@" in shown.query
    assert not Path(file["path"]).exists()


def test_somebody_elses_upload_is_not_shown_to_who_does_not_know_its_name(visitor: Visitor) -> None:
    secret = jsonl([{**ROWS[0], "prompt": "secret"}])
    _, source = uploading(visitor, "secret.jsonl", secret)
    other = Visitor(visitor.page)
    for by in ("", None, other.session, source):
        assert source not in str(other.render("data", "", secret=by))
    shown = followed(other, "?source=secret.jsonl")
    assert "not open here" in shown["bar"] and "secret" not in shown["pair"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("mine.parquet", b"PAR1 no", "mine.parquet"),
        ("long.jsonl", jsonl([ROWS[0]] * 1001), "at most 1,000 are read here"),
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
    assert refused.value.code == 413
    assert still_there(visitor)


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


def test_a_file_whose_texts_are_too_large_is_refused(visitor: Visitor) -> None:
    file = BytesIO()
    row = {"prompt": "p" * MEGABYTE, "chosen": "y" * MEGABYTE, "rejected": "n" * MEGABYTE}
    pq.write_table(pa.Table.from_pylist([row]), file, compression="zstd")
    sent = visitor.upload("bomb.parquet", file.getvalue())
    assert "unpacks to more than 1.6 MB" in upload(visitor, sent)[0]
    assert still_there(visitor) and not Path(sent["path"]).exists()


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../../etc/passwd", "assets/demo/pairs.jsonl", "x"]
)
def test_a_path_outside_of_the_uploads_is_refused(path: str, visitor: Visitor) -> None:
    told, opened = opening(visitor, "upload", json.dumps([path]))
    assert "No file was uploaded" in told and opened == ""
    assert Path("/etc/passwd").is_file() and Path("assets/demo/pairs.jsonl").is_file()
    assert still_there(visitor)


@pytest.mark.parametrize("action", ["open", "upload"])
def test_nobody_in_particular_opens_nothing_on_a_public_server(
    action: str, visitor: Visitor
) -> None:
    path = visitor.upload("mine.jsonl", jsonl())["path"]
    sent = {"value": DEMO_NAME if action == "open" else json.dumps([path])}
    assert "whose it is" in visitor.render("data", "", action=action, sent=sent)["error"]


# Exports


def fetched(visitor: Visitor, name: str, query: str, **sent: str) -> tuple[int, str, bytes]:
    """What the route of files answers: status, name of the file, content. sent: by POST."""
    body = urlencode(sent).encode() if sent else None
    request = urllib.request.Request(f"{visitor.page.local_url}files/pairs/{name}{query}", body)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            head = answer.headers["content-disposition"]
            return answer.status, head.split('"')[1], answer.read()
    except HTTPError as error:
        return error.code, "", error.read()


def test_an_export_without_pairs_or_that_the_disk_does_not_take_is_told_of(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, told = fetched(visitor, "pairs.csv", "?q=no+such+words")
    assert status == 422 and b"no pair to export" in told

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("explorer.tabs.pairs.exports.export", full)
    status, _, told = fetched(visitor, "pairs.csv", "")
    assert status == 422 and b"disk of this server is full" in told


# Tokens


def counted(visitor: Visitor, tokenizer: str) -> Answered:
    """The lengths in tokens, once they are counted or refused."""
    query = f"?{urlencode({'panel': 'lengths', 'unit': 'tokens', 'tokenizer': tokenizer})}"
    after = f"?{visitor.render('pairs', query, action='count')['query']}"
    until(lambda: "data-refresh" not in followed(visitor, after)["main"])
    return followed(visitor, after)


def test_tokens_are_counted_drawn_and_filtered_by(visitor: Visitor) -> None:
    shown = counted(visitor, DEMO_NAME)
    assert f"Counted by {DEMO_NAME}@" in shown["main"] and "data-plot" in shown["main"]
    assert "188" in shown["main"] and "in tokens" in shown["main"]
    tokenizer = shown.state.tokenizer
    ranged = followed(visitor, f"?{shown.query}&range=chosen.tokens.1.20.{tokenizer}")
    assert "chosen tokens 1 to 20" in ranged["bar"]
    assert followed(Visitor(visitor.page), f"?{ranged.query}")["bar"] == ranged["bar"]
