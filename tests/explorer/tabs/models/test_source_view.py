"""A visitor's files beside the leaderboard: sent to the page, and taken from its route of files."""

import csv
import json
import urllib.request
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from urllib.parse import urlencode

import pytest

from explorer.core.served import launched
from explorer.core.settings import Settings
from explorer.page import Page, build_page
from explorer.stores import open_stores
from explorer.tabs.models.source_view import BoardSource, _by_name
from tests.conftest import PATIENCE
from tests.explorer.posting import Visitor, sent_file
from tests.explorer.tabs.models.published import A

MINE = {"model": "<b>mine</b>", "model_type": "DPO", "hep-go": 0.5}


@pytest.fixture(scope="module")
def server(published: Path, home: Path, uploads: Path) -> Iterator[Visitor]:
    settings = Settings(home, pairs="demo", results=str(published), offline=True, public=True)
    stores = open_stores(settings)
    page, routes = build_page(stores)
    page.launch(
        _frontend=False,
        **launched(settings, routes),
        prevent_thread_lock=True,
        quiet=True,
    )
    yield Visitor(page)
    page.close()


def visitor(server: Visitor, secret: str) -> Visitor:
    """A new page of a browser that keeps a secret."""
    new = Visitor(server.page)
    new.data(Page.open, {"BrowserState": secret})
    return new


def send(visitor: Visitor, name: str, values: object) -> str:
    """Send a file; gives the token of the visitor's files."""
    file = visitor.upload(name, json.dumps(values).encode())
    _, _, token = visitor.data(BoardSource.upload, {"upload-results": [file]})
    return str(token)


def board(server: Visitor, token: str, secret: str) -> list[str]:
    """The models that a browser finds in the file of an address."""
    query = urlencode({"tab": "models", "results": token})
    asked = urllib.request.Request(
        f"{server.page.local_url}files/models/board.csv?{query}",
        data=urlencode({"secret": secret}).encode(),
    )
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        text = answer.read().decode("utf-8-sig")
    return [row["model"] for row in csv.DictReader(StringIO(text))]


def test_files_stand_beside_the_others_for_their_sender_alone(
    server: Visitor, uploads: Path
) -> None:
    mine = visitor(server, "one")
    token = send(mine, "mine.json", MINE)
    assert "<b>mine</b> (uploaded)" in board(server, token, "one")
    for secret in ("another", "", token):
        assert A in board(server, token, secret)
        assert "<b>mine</b> (uploaded)" not in board(server, token, secret)
    more = send(mine, "more.json", {**MINE, "model": "more"})
    both = board(server, more, "one")
    assert {"<b>mine</b> (uploaded)", "more (uploaded)"} <= {*both}
    assert not list(uploads.rglob("m*e.json"))
    assert mine.data(BoardSource.without)[-1] == ""


def test_what_is_no_result_is_refused(server: Visitor) -> None:
    mine = visitor(server, "one")
    file = mine.upload("no.json", b"[1]")
    told = mine.refused(BoardSource.upload, {"upload-results": [file]})
    assert "None of these files holds results" in told
    for sent in (None, [], 7, "x.json", [sent_file("/etc/passwd")]):
        assert not mine.post(BoardSource.upload, {"upload-results": sent})["success"]
    assert A in board(server, "", "one")


def test_files_of_one_name_are_all_read() -> None:
    files = [Path("/a/model.json"), Path("/b/model.json")]
    assert _by_name(files) == {"model.json": files[0], "2 model.json": files[1]}
