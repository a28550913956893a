"""A tab whose regions the server writes anew for each address, in place: `assets/go.js` asks.

The channel is one POST a question, without Gradio's queue or state. Anybody may post anything.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from types import MappingProxyType
from typing import Any

import anyio
import gradio as gr
from anyio import CapacityLimiter, Semaphore, to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from explorer.core.error_view import guarded
from explorer.core.errors import user_message
from explorer.core.files import File
from explorer.core.links import LONGEST_LINK
from explorer.core.validation import repaired
from scoring.errors import KnownError

MOST_ANSWERS = 8
"""Answers that are written at once; Gradio's own threads serve uploads and static files."""
PATIENCE_SECONDS = 2.0
"""After which a question that waits for its turn is told so."""
_MOST_KNOWN = 50
"""Regions that a question may name."""
_LONGEST_NAME = 200
_LONGEST_SENT = 3_900_000
"""Characters that a browser may send along for a file."""

_MOST_FIELDS = 20
"""Of a question, that no address holds."""

START_VIEW = "window.explorerView"
"""The script that fills a view, assets/go.js, which the page holds once."""

Regions = Mapping[str, Callable[[], str]]
"""Name of a region of a tab -> writes its HTML."""
Sent = Mapping[str, str]
"""What a browser sends beside an address: the fields with `data-sent`, and "value" of what was
pressed."""
NOTHING_SENT: Sent = MappingProxyType({})

Visitor = Any
"""Who asks, as `Identify` gives it."""
Identify = Callable[[gr.Request, gr.OAuthProfile | None, gr.OAuthToken | None, str], Visitor]
"""(request, profile, token, the browser's secret) -> who asks."""
EVENT: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""How every event of the page is wired: no public endpoint, no overlay."""


@dataclass(frozen=True)
class View:
    """What the server shows of a tab, and does for it.

    regions: (query, visitor, what is sent beside) -> the address as it is understood, without "?",
        and the regions.
    actions: name -> what changes something, from the same; gives the address that follows, or that
        and the texts that take the place of others in fields with `data-sent`, by their names.
    files: name -> a file, from query, visitor and what a browser sent along, "" for nothing; raise
        `KnownError` if there is none.
    events: of the component, that elements with `data-trigger` have.
    """

    tab: str
    regions: Callable[[str, Visitor, Sent], tuple[str, Regions]]
    actions: Mapping[str, Callable[[str, Visitor, Sent], str | tuple[str, Sent]]] = field(
        default_factory=dict
    )
    files: Mapping[str, Callable[[str, Visitor, str], File]] = field(default_factory=dict)
    events: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What was posted, as far as it makes sense.

    known: region -> the etag that the browser has. only: regions that are asked for; () for all.
    """

    query: str
    known: Mapping[str, str]
    only: tuple[str, ...]
    action: str
    secret: str
    sent: Sent = field(default_factory=dict)

    @classmethod
    def parse(cls, posted: object) -> "Question":
        """Whatever it is: what makes no sense is as if it had not been posted."""
        given = posted if isinstance(posted, dict) else {}
        known, only, sent = given.get("known"), given.get("only"), given.get("sent")
        pairs = list(known.items())[:_MOST_KNOWN] if isinstance(known, dict) else []
        names = only[:_MOST_KNOWN] if isinstance(only, list) else []
        fields = list(sent.items())[:_MOST_FIELDS] if isinstance(sent, dict) else []
        return cls(
            _text(given.get("query"), LONGEST_LINK + 1),
            {name: each for name, each in pairs if isinstance(each, str)},
            tuple(each for each in names if isinstance(each, str)),
            _text(given.get("action"), _LONGEST_NAME),
            _text(given.get("secret"), _LONGEST_NAME),
            {name: _text(each, _LONGEST_SENT) for name, each in fields},
        )


def _text(value: object, most: int) -> str:
    return repaired(value[:most]) if isinstance(value, str) else ""


def build_view(view: View, skeleton: str, identify: Identify) -> gr.HTML:
    """Lay a tab out. skeleton: elements with `data-region`, which are filled when it is seen."""
    turns, threads = Semaphore(MOST_ANSWERS), CapacityLimiter(MOST_ANSWERS)

    async def render(
        posted: object,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
    ) -> dict[str, Any]:
        question = Question.parse(posted)
        visitor = identify(request, profile, token, question.secret)
        try:
            with anyio.fail_after(PATIENCE_SECONDS):
                await turns.acquire()
        except TimeoutError:
            return {"busy": True}
        try:
            work = partial(answer, view, question, visitor)
            return await to_thread.run_sync(work, limiter=threads)
        finally:
            turns.release()

    # Gradio knows the events of a component by their names in its script.
    script = f"{START_VIEW}(element, trigger, server); // {json.dumps(view.events)}"
    return gr.HTML(
        skeleton,
        js_on_load=script,
        server_functions=[render],
        apply_default_css=False,
        elem_classes="view-block",
    )


def wire_event(
    part: gr.HTML,
    tab: str,
    name: str,
    work: Callable[[str, Visitor, Sent], str | None],
    identify: Identify,
    *,
    often: bool = False,
) -> None:
    """Let an event of a view do work through Gradio's queue, as ZeroGPU asks.

    Who waits there holds nobody up. The page shows then the address that the work gives, or anew
    the one that it shows already.

    part: what `build_view` gives for the tab. work: gets the address, who asks, and what is sent.
    often: whether it is heard while an earlier one goes on.
    """
    followed = gr.Textbox(visible=False)
    view = f"window.explorerViews.get({json.dumps(tab)})"

    @guarded
    def run(
        event: gr.EventData,
        request: gr.Request,
        profile: gr.OAuthProfile | None,
        token: gr.OAuthToken | None,
    ) -> str:
        asked = Question.parse(_event_fields(event))
        visitor = identify(request, profile, token, asked.secret)
        return work(asked.query, visitor, asked.sent) or ""

    how = {"concurrency_limit": None, "trigger_mode": "multiple" if often else "once", **EVENT}
    event = getattr(part, name)(run, None, followed, **how)
    event.success(None, followed, None, js=f"(query) => query ? {view}.go(query) : {view}.anew()")
    event.failure(None, None, None, js=f"() => {view}.anew()")


def _event_fields(event: gr.EventData) -> dict[str, Any]:
    """What a page's script sent with an event, or whoever posted one."""
    try:
        return {each.name: getattr(event, each.name, None) for each in fields(Question)}
    except TypeError:  # it is no object
        return {}


def answer(view: View, question: Question, visitor: Visitor) -> dict[str, Any]:
    """The regions that differ from what the browser has.

    Returns:
        {"query": the address as it is understood, "etags": of the regions that were asked for,
        "regions": name -> HTML of those that differ, "texts": that are to stand in fields};
        {"error": a sentence} if that failed.
    """
    texts: Sent = {}
    try:
        query = question.query
        if question.action:
            if question.action not in view.actions:
                raise KnownError(f"There is no action {question.action!r} here. Reload the page.")
            follows = view.actions[question.action](query, visitor, question.sent)
            query, texts = (follows, {}) if isinstance(follows, str) else follows
        query, regions = view.regions(query, visitor, question.sent)
        asked = [name for name in regions if not question.only or name in question.only]
        made = {name: regions[name]() for name in asked}
    except Exception as error:
        return {"error": user_message(error)}
    etags = {name: _etag(html) for name, html in made.items()}
    changed = {name: html for name, html in made.items() if question.known.get(name) != etags[name]}
    return {"query": query, "etags": etags, "regions": changed, "texts": dict(texts)}


def _etag(html: str) -> str:
    return hashlib.blake2b(html.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def file_route(view: View, identify: Identify) -> Route:
    """The route of a view's files: GET for what everybody may have, POST for a visitor's own."""
    turns, threads = Semaphore(MOST_ANSWERS), CapacityLimiter(MOST_ANSWERS)

    async def send(request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=2) if request.method == "POST" else {}
        signed_in = request.session.get("oauth_info") if "session" in request.scope else None
        if signed_in and signed_in.get("expires_at", math.inf) < time.time():
            signed_in = None
        profile = gr.OAuthProfile(signed_in["userinfo"]) if signed_in else None
        secret = _text(form.get("secret"), _LONGEST_NAME)
        visitor = identify(gr.Request(request), profile, None, secret)
        make = view.files.get(request.path_params["name"])
        if make is None:
            return PlainTextResponse("There is no such file.", status_code=404)
        try:
            with anyio.fail_after(PATIENCE_SECONDS):
                await turns.acquire()
        except TimeoutError:
            return PlainTextResponse("The server is busy. Try again soon.", status_code=503)
        try:
            sent = _text(form.get("sent"), _LONGEST_SENT)
            work = partial(make, request.url.query, visitor, sent)
            file = await to_thread.run_sync(work, limiter=threads)
        except Exception as error:
            return PlainTextResponse(user_message(error), status_code=422)
        finally:
            turns.release()
        headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
        return StreamingResponse(file.parts, media_type="application/octet-stream", headers=headers)

    return Route(f"/files/{view.tab}/{{name}}", send, methods=["GET", "POST"])
