"""What a public Space answers to anyone who posts to its events and acts: one clear sentence."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from explorer.core.address_view import Question, View, answer
from explorer.core.links import LONGEST_LINK
from explorer.page import views_of
from explorer.runs.visitors import Visitor as Person
from explorer.stores import Stores
from tests.conftest import until
from tests.explorer.conftest import Serve
from tests.support.browsing import followed
from tests.support.posting import Visitor

NONSENSE: dict[str, Any] = {
    "nothing": None,
    "nested lists": [[["nested"]], [None]],
    "a long text": "x" * 40_000,
    "many parameters without names": "?" + "&" * 40_000,
    "an address of the Pairs tab": "?q=(&regex=1&slice=x&model=gone&against=y&a=%00",
    "one of the Models tab": "?tab=models&board=v2&rule=paper&plot=length&by=-&models=[",
    "a lone surrogate": "\ud800",
    "what has parts": {"value": "\ud800", "keys": None, "model": 1.5},
    "a file": {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
}
ME = Person("browser:me", "page")
pytestmark = pytest.mark.usefixtures("no_bug")


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True, max_pairs=50)


@pytest.fixture(scope="module")
def views(stores: Stores) -> list[View]:
    found = views_of(stores)
    return [getattr(found, each.name).as_view() for each in fields(found)]


def is_clear(told: str | None) -> bool:
    """Whether a visitor is told nothing, or by Gradio of their value, or in few words by us."""
    return told is None or told.startswith("Value: ") or len(told) < 1000


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE)
def test_every_event_question_and_act_refuses_nonsense_clearly(
    nonsense: Any, visitor: Visitor, views: list[View], capfd: pytest.CaptureFixture[str]
) -> None:
    for number, event in visitor.page.fns.items():
        if event.fn is not None:
            message = visitor.post_to(number, [nonsense] * len(event.inputs), nonsense)
            assert is_clear(message["output"].get("error")), (event.api_name, message)
    for posted_too in ({}, dict.fromkeys(("known", "only", "secret", "sent"), nonsense)):
        for tab in ("pairs", "data", "models", "score", "try", "about"):
            found = visitor.render(tab, nonsense, **posted_too)
            assert "error" not in found and found["regions"], (tab, found)
            assert len(found["query"]) <= 3 * LONGEST_LINK
    for view in views:
        for action in view.actions:
            for query in (nonsense, "?run=x&model=org/none&source=x&results=0"):
                posted = {"query": query, "action": action, "sent": nonsense}
                told = answer(view, Question.parse(posted), ME)
                assert is_clear(told.get("error")), (view.tab, action)
    assert f"{Path.cwd()}/explorer/" not in capfd.readouterr().err
    shown = followed(visitor, "?section=Chat")
    assert "<b>40</b> of 188 pairs" in shown["bar"] and 'class="pair' in shown["pair"]


def test_a_run_is_seen_by_its_owner_alone(visitor: Visitor, home: Path) -> None:
    mine, score = visitor.session, "?tab=score&model=longer&which=filter&pairs=subset%3Dhep-go"
    [address] = visitor.press("score", "start", score)["output"]["data"]

    def status() -> str:
        return str(visitor.render("score", address, secret=mine)["regions"]["status"])

    until(lambda: "status finished" in status())
    assert "8 pairs" in status(), "what the tab Pairs lists"
    [folder] = (home / "runs").iterdir()
    run, [name] = folder.name, own_models(visitor, mine)
    link = f"?model={quote(name)}"
    assert "your run of" in followed(visitor, link, secret=mine)["head"]
    assert run in listed(visitor, mine)

    stranger = Visitor(visitor.page)
    opened = f"?tab=score&panel=runs&run={run}"
    for secret in ("another", None, run, [mine]):
        assert own_models(stranger, secret) == []
        told = str(stranger.render("pairs", link, secret=secret))
        assert "There are no per-pair results of a model" in told
        assert run not in listed(stranger, secret)
        for act in ("rename", "share", "remove", "publish-look", "publish-send"):
            sent = {"value": run if act == "remove" else "1"}
            told = stranger.render("score", opened, action=act, sent=sent, secret=secret)["error"]
            assert "no such run" in told.lower(), act
        stranger.render("score", opened, action="stop", secret=secret)
        assert "There is no such run" in str(stranger.render("score", opened, secret=secret))
    visitor.render("score", opened, action="share", sent={"value": "1"}, secret=mine)
    assert run in listed(stranger, None)
    visitor.render("score", opened, action="remove", sent={"value": run}, secret=mine)
    assert not folder.exists()


def listed(visitor: Visitor, secret: object) -> str:
    """The list of runs as a visitor sees it."""
    return str(visitor.render("score", "?tab=score&panel=runs", secret=secret)["regions"]["runs"])


def own_models(visitor: Visitor, secret: object) -> list[str]:
    """Runs of a visitor's own that can be picked."""
    shown = visitor.render("pairs", "", secret=secret)["regions"]["head"]
    return re.findall(r'<option value="([^"]*your run of[^"]*)"', shown)
