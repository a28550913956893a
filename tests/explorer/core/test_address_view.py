"""What links and keys say, and what a view answers: regions that differ, or one sentence."""

import asyncio
import re
import threading
import time
from collections.abc import Iterator
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
from explorer.core.error_view import guarded
from explorer.core.files import File
from explorer.core.html import KEYS, help_html
from explorer.core.links import LONGEST_LINK, MOST_DROPPED
from explorer.core.theme import SCRIPTS
from explorer.tabs.models.state import MOST_PINS, ModelsState
from scoring.errors import KnownError
from tests.conftest import PATIENCE

ASKED = Question("?q=1", {}, (), "", "")


def regions_of(query: str, visitor: Any, sent: Sent) -> tuple[str, Regions]:
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


def test_regions_that_differ_or_are_asked_for_alone_are_sent_and_actions_lead_elsewhere() -> None:
    first = answer(VIEW, ASKED, "me")
    assert first["regions"] == {"head": "?q=1", "who": "<b>me"}
    known = Question("?q=2", first["etags"], (), "", "")
    assert answer(VIEW, known, "me")["regions"] == {"head": "?q=2"}
    alone = answer(VIEW, Question("?q=1", {}, ("who", "gone"), "", ""), "me")
    assert alone["regions"] == {"who": "<b>me"} and {*alone["etags"]} == {"who"}
    pressed = Question.parse({"action": "turn", "sent": {"value": "1", "other": 5}})
    assert answer(VIEW, pressed, "me")["query"] == "turned=me1"
    refused = answer(VIEW, Question.parse({"action": "explode"}), "me")
    assert refused == {"error": "There is no action 'explode' here. Reload the page."}


def test_an_error_shows_its_cause_or_that_it_is_ours(caplog: pytest.LogCaptureFixture) -> None:
    def fails(query: str, visitor: Any, sent: Sent) -> tuple[str, Regions]:
        raise KnownError("No such board.") if visitor == "me" else ValueError("inner secret")

    assert answer(View("walk", fails), ASKED, "me") == {"error": "No such board."}
    assert caplog.records == []
    shown = answer(View("walk", fails), ASKED, "you")["error"]
    assert "inner secret" not in shown and "inner secret" in caplog.text


def test_a_stream_keeps_what_it_gave_before_it_failed_in_inert_text_and_ends_its_work() -> None:
    ended: list[bool] = []

    def work() -> Iterator[int]:
        try:
            yield 1
        finally:
            ended.append(True)

    @guarded
    def stream() -> Iterator[int]:
        yield next(steps := work())
        raise KnownError(f"Give a number, not <b> {steps}.")

    values = stream()
    assert next(values) == 1
    with pytest.raises(gr.Error, match="Give a number, not &lt;b&gt;") as shown:
        next(values)
    assert ended and shown.value.__cause__ is not None


def test_who_waits_too_long_is_told_so_and_is_answered_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(address_view, "PATIENCE_SECONDS", 0.05)
    over = threading.Event()

    def slow(query: str, visitor: Any, sent: Sent) -> tuple[str, Regions]:
        assert over.wait(PATIENCE)
        return query, {}

    async def ask_all() -> list[Any]:
        with gr.Blocks():
            part = build_view(View("walk", slow), "", lambda *asked: "me")
        asks = [part.server_fns[-1]({}, gr.Request(), None, None) for _ in range(MOST_ANSWERS + 1)]
        waiting = [asyncio.create_task(each) for each in asks]
        await waiting[-1]
        over.set()
        return await asyncio.gather(*waiting)

    *answered, refused = asyncio.run(ask_all())
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
    signed_in: dict[str, object] = {}

    async def with_session(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "session": {"oauth_info": signed_in}}, receive, send)

    me = {"preferred_username": "me", "name": "Me", "profile": "", "picture": ""}
    for seconds_left, name in ((60, "me"), (-60, "")):
        signed_in |= {"userinfo": me, "expires_at": time.time() + seconds_left}
        assert TestClient(with_session).get("/files/walk/list.csv?q=1").text == f"q=1|{name}"


def test_every_key_is_explained_and_the_script_answers_to_it() -> None:
    assert re.findall(r"<kbd>(.+?)</kbd>", help_html()) == list(KEYS)
    script = SCRIPTS[0].read_text(encoding="utf-8")
    for key in ", ".join(KEYS).split(", "):
        assert re.search(rf'[{{ ]{re.escape(key)}: "|=== "{re.escape(key)}"', script), key


# Links.


PLAIN = ModelsState()
LONG = "x=" + "x" * LONGEST_LINK
PINS = tuple(str(number) for number in range(MOST_PINS))
LINKS: dict[str, tuple[str, ModelsState, tuple[str, ...]]] = {
    "a part each of several, each once": ("pin=b&pin=b&pin=a", ModelsState(pins=("b", "a")), ()),
    "what Gradio and Spaces write is not told": ("__theme=dark&logs=build&view=api", PLAIN, ()),
    "more of one kind than there may be": (
        "&".join(f"pin={each}" for each in (*PINS, "x")), ModelsState(pins=PINS), ("pin=x",),
    ),
    "half a letter": ("a=%ff\ud800", ModelsState(a="\ufffd\ufffd"), ()),
    "of many that mean nothing some": ("x=1&" * 99, PLAIN, (*["x=1"] * MOST_DROPPED, "…")),
    "names of its fields and its class": ("own=1&TAB=x", PLAIN, ("own=1", "TAB=x")),
    "more is cut between two parts": (f"digits=3&{LONG}", ModelsState(digits=3), ("…",)),
}  # fmt: skip


@pytest.mark.parametrize(("query", "state", "dropped"), LINKS.values(), ids=LINKS)
def test_a_link_may_say_anything(query: str, state: ModelsState, dropped: tuple[str, ...]) -> None:
    assert ModelsState.parse(query) == (state, dropped)
