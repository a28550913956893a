"""A visitor's files beside the leaderboard: sent to the page, and taken from its route of files."""

import csv
import json
import time
import urllib.request
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from urllib.parse import urlencode

import pytest

from explorer.core.served import launched
from explorer.core.settings import Settings
from explorer.page import build_page
from explorer.stores import open_stores
from explorer.tabs.models.view import _by_name
from tests.conftest import PATIENCE
from tests.support.browsing import links_in
from tests.support.posting import Visitor
from tests.support.published import A

MINE = {"model": "<b>mine</b>", "model_type": "DPO", "hep-go": 0.5}


@pytest.fixture(scope="module")
def server(published: Path, home: Path, uploads: Path) -> Iterator[Visitor]:
    settings = Settings(home, pairs="demo", results=str(published), offline=True, public=True)
    stores = open_stores(settings)
    page, routes = build_page(stores)
    page.launch(**launched(settings, routes), quiet=True)
    yield Visitor(page)
    page.close()


def send(server: Visitor, secret: str, name: str, values: object, results: str = "") -> str:
    """Send a file beside those of a token; what is told, or the token of all."""
    file = server.upload(name, json.dumps(values).encode())
    return sent(server, secret, json.dumps([file["path"]]), results)


def sent(server: Visitor, secret: str, value: str, results: str = "") -> str:
    query = f"?tab=models&results={results}"
    posted: dict[str, object] = {"action": "upload", "sent": {"value": value}}
    while True:
        answer = server.render("models", query, secret=secret, **posted)
        if "error" in answer:
            return str(answer["error"])
        own, posted = answer["regions"]["own"], {}
        if "data-refresh" not in own:
            break
        time.sleep(0.05)
    [link, *_] = [*links_in(own, "Show them"), ""]
    return link.partition("results=")[2] or own


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
    token = send(server, "one", "mine.json", MINE)
    assert "<b>mine</b> (uploaded)" in board(server, token, "one")
    for secret in ("another", "", token):
        assert A in board(server, token, secret)
        assert "<b>mine</b> (uploaded)" not in board(server, token, secret)
        own = server.render("models", "?tab=models", secret=secret)["regions"]["own"]
        assert token not in own
    more = send(server, "one", "more.json", {**MINE, "model": "more"}, token)
    both = board(server, more, "one")
    assert {"<b>mine</b> (uploaded)", "more (uploaded)"} <= {*both}
    assert not list(uploads.rglob("m*e.json"))


def test_what_is_no_result_is_refused(server: Visitor) -> None:
    assert "None of these files holds results" in send(server, "one", "no.json", [1])
    for value in ("", "[]", "7", '["x.json"]', '["/etc/passwd"]'):
        assert "No file was uploaded" in sent(server, "one", value)
    assert "whose it is" in sent(server, "", '["x.json"]')
    assert A in board(server, "", "one")


def test_files_of_one_name_are_all_read() -> None:
    files = [Path("/a/model.json"), Path("/b/model.json")]
    assert _by_name(files) == {"model.json": files[0], "2 model.json": files[1]}
