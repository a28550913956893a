"""What a view answers to whatever is asked: regions that differ, and one sentence if it cannot."""

import asyncio
import logging
import threading
import time
from typing import Any

import gradio as gr
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.core import address_view
from explorer.core.address_view import (
    MOST_ANSWERS,
    Question,
    Regions,
    Sent,
    View,
    answer,
    build_view,
    file_route,
)
from explorer.core.files import File
from scoring.errors import KnownError
from tests.conftest import PATIENCE

ASKED = Question("?q=1", {}, (), "", "")


def regions_of(query: str, visitor: Any, sent: Sent) -> tuple[str, Regions]:
    """Two regions, of which one says who asks."""
    return query.removeprefix("?"), {"head": lambda: query, "who": lambda: f"<b>{visitor}"}


def no_file(query: str, visitor: Any, sent: str) -> File:
    raise KnownError("There is nothing to export.")


def a_file(query: str, visitor: Any, sent: str) -> File:
    return File("list.csv", iter([query.encode(), b"|", visitor, sent.encode()]))


VIEW = View(
    "walk",
    regions_of,
    {"turn": lambda query, visitor, sent: f"?turned={visitor}{sent.get('value', '')}"},
    {"list.csv": a_file, "none": no_file},
)


def test_only_regions_that_differ_or_are_asked_for_alone_are_sent() -> None:
    first = answer(VIEW, ASKED, "me")
    assert first["regions"] == {"head": "?q=1", "who": "<b>me"}
    known = Question("?q=2", first["etags"], (), "", "")
    assert answer(VIEW, known, "me")["regions"] == {"head": "?q=2"}
    assert answer(VIEW, known, "you")["regions"] == {"head": "?q=2", "who": "<b>you"}
    alone = answer(VIEW, Question("?q=1", {}, ("who", "gone"), "", ""), "me")
    assert alone["regions"] == {"who": "<b>me"} and {*alone["etags"]} == {"who"}


def test_an_action_leads_to_an_address_and_one_that_there_is_not_is_refused() -> None:
    pressed = Question.parse({"action": "turn", "sent": {"value": "1", "other": 5}})
    assert answer(VIEW, pressed, "me")["query"] == "turned=me1"
    refused = answer(VIEW, Question("", {}, (), "explode", ""), "me")
    assert refused == {"error": "There is no action 'explode' here. Reload the page."}


def test_an_error_shows_its_cause_or_that_it_is_ours(caplog: pytest.LogCaptureFixture) -> None:
    def fails(query: str, visitor: Any, sent: Sent) -> tuple[str, Regions]:
        raise KnownError("No such board.") if visitor == "me" else ValueError("inner secret")

    assert answer(View("walk", fails), ASKED, "me") == {"error": "No such board."}
    assert caplog.records == []
    shown = answer(View("walk", fails), ASKED, "you")["error"]
    assert "inner secret" not in shown and "inner secret" in caplog.text
    assert caplog.records[0].levelno == logging.ERROR


def test_who_waits_too_long_is_told_so_and_is_answered_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(address_view, "PATIENCE_SECONDS", 0.05)
    over = threading.Event()

    def slow(query: str, visitor: Any, sent: Sent) -> tuple[str, Regions]:
        assert over.wait(PATIENCE)
        return query, {}

    async def ask_all() -> tuple[Any, list[Any]]:
        with gr.Blocks():
            part = build_view(View("walk", slow), "", lambda *asked: "me")
        render = part.server_fns[-1]
        waiting = [
            asyncio.create_task(render({}, gr.Request(), None, None)) for _ in range(MOST_ANSWERS)
        ]
        await asyncio.sleep(0)
        refused = await render({}, gr.Request(), None, None)
        over.set()
        return refused, await asyncio.gather(*waiting)

    refused, answered = asyncio.run(ask_all())
    assert refused == {"busy": True}
    assert [each["regions"] for each in answered] == [{}] * MOST_ANSWERS


def test_a_file_is_of_an_address_and_of_whoever_posts_the_secret() -> None:
    route = file_route(VIEW, lambda request, profile, token, secret: secret.encode())
    client = TestClient(Starlette(routes=[route]))
    got = client.get("/files/walk/list.csv?q=1")
    assert (got.status_code, got.text) == (200, "q=1|")
    assert got.headers["content-disposition"] == 'attachment; filename="list.csv"'
    posted = client.post("/files/walk/list.csv?q=1", data={"secret": "mine"})
    assert posted.text == "q=1|mine"
    for name, status, words in (("none", 422, "nothing to export"), ("gone", 404, "no such file")):
        answered = client.get(f"/files/walk/{name}")
        assert answered.status_code == status and words in answered.text


def test_a_file_is_of_who_is_signed_in_still() -> None:
    def identify(request: gr.Request, profile: gr.OAuthProfile | None, *_: object) -> bytes:
        return profile.username.encode() if profile else b""

    app = Starlette(routes=[file_route(VIEW, identify)])
    me = {"preferred_username": "me", "name": "Me", "profile": "", "picture": ""}
    for seconds_left, name in ((60, "me"), (-60, "")):
        signed_in = {"userinfo": me, "expires_at": time.time() + seconds_left}

        async def with_session(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "session": {"oauth_info": signed_in}}, receive, send)  # noqa: B023

        assert TestClient(with_session).get("/files/walk/list.csv?q=1").text == f"q=1|{name}"
