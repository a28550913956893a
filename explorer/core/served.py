"""What of Gradio is served otherwise than it would: configuration, queue, requests."""

import asyncio
import errno
import inspect
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from typing import Any

import gradio as gr
from gradio import queueing, route_utils, routes
from gradio.route_utils import FnIndexInferError, GradioMultiPartParser, MultiPartException
from gradio.utils import get_function_params, get_upload_folder
from gradio_client.utils import (  # type: ignore[import-untyped]
    is_file_obj_with_meta,
    is_http_url_like,
    traverse,
)
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.core.address_view import START_VIEW
from explorer.core.addresses import client_address
from explorer.core.errors import disk_is_full
from explorer.core.settings import ASSETS, Settings
from explorer.core.sites import FOREIGN, OwnSite, is_foreign
from scoring.errors import counted

LOOK_SECONDS = 0.01
"""After which an idle queue looks for events again. Gradio's own 0.001 take 6 % of a core."""
MOST_POSTED_BYTES = 4_000_000
"""Of a request that is no upload. A browser sends all its notes along for a report."""
MOST_POSTED_LISTS = 200_000
"""Lists and objects in it: 4 MB of empty ones are 0.2 GB in memory."""
_LARGEST_UPLOADS = 20
"""Files of the largest size whose room all uploads and exports have that lie on the disk."""
_LOOK_BYTES = 8_000_000
"""Of an upload, between two looks at how much room there is."""
MOST_EVENTS = 64
"""Of all visitors, that wait in the queue."""
MOST_OF_ADDRESS = MOST_EVENTS // 2
"""Events of one address whose answers are still to come or to be read."""
UNREAD_SECONDS = 60.0
"""After which an answer that nobody reads is let go."""
MOST_SESSIONS = 300
"""Open pages that are remembered, some 0.16 MB each; the one that did nothing for longest goes."""
_END_OF_STREAM = b'"msg":"close_stream"'
_FIRST_SCRIPTS = ("storage.js", "idiomorph/idiomorph.min.js")
"""Run before anything is drawn."""
CONNECTIONS = 10_000
"""That may be open at once, where the system allows it."""
_UNREAD = {"key", "skip_api", "preserved_by_key", "max_batch_size", "stream_every"}
_OF_ENDPOINTS = {"api_info", "api_info_as_input", "api_info_as_output", "example_inputs"}


class LeanBlocks(gr.Blocks):  # type: ignore[misc]
    """A page whose configuration, which every visit is sent, leaves out what nothing reads."""

    def get_config_file(self) -> Any:
        """Gradio's, without the types of what no endpoint takes or gives.

        What an event is not is left out, too: a browser takes what is missing for null or false;
        but an event of which it is not told that it passes the queue by goes through the queue.
        """
        config = super().get_config_file()
        unasked = inspect.signature(gr.HTML).parameters["js_on_load"].default
        public = [fn for fn in self.fns.values() if fn.api_visibility == "public"]
        documented = {each._id for fn in public for each in (*fn.inputs, *fn.outputs)}
        for component in config["components"]:
            unread = _UNREAD if component["id"] in documented else _UNREAD | _OF_ENDPOINTS
            _leave_out(component, unread)
            _leave_out(component["props"], unread)
            component["component_class_id"] = component["type"]
            if component["props"].get("js_on_load") == unasked:  # listens to clicks, for nobody
                del component["props"]["js_on_load"]
        for event in config["dependencies"]:
            _leave_out(event, _UNREAD)
            is_not = {name for name, value in event.items() if value is None or value is False}
            _leave_out(event, is_not - {"queue"})
            if event.get("show_progress") == "hidden":  # else each answer goes over all components
                event["show_progress_on"] = []
        return config

    def validate_inputs(self, block_fn: Any, inputs: list[Any]) -> None:
        """Gradio's, after which it fetches whatever the address of a posted file leads to.

        Arguments of an endpoint that come after all that were posted are as by default: who posts
        them by their places need not know of new ones.
        """
        traverse(inputs, _no_address, is_file_obj_with_meta)
        if block_fn.api_visibility == "public":
            left = get_function_params(block_fn.fn)[len(inputs) :]
            if needed := [name for name, has_default, *_ in left if not has_default]:
                told = f"This endpoint needs: {', '.join(needed)}."
                raise gr.Error(told, print_exception=False)
            inputs += [default for _, _, default, _ in left]
        super().validate_inputs(block_fn, inputs)


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _first_scripts() -> Iterator[str]:
    yield from map(_asset, _FIRST_SCRIPTS)
    yield f"{START_VIEW} = (element, trigger, server) => {{{_asset('go.js')}}};"


def _plotly(_: Request) -> Response:
    from plotly.offline import get_plotlyjs

    headers = {"Cache-Control": "max-age=86400"}
    return Response(get_plotlyjs(), media_type="text/javascript", headers=headers)


def _no_address(file: dict[str, Any]) -> None:
    if is_http_url_like(str(file.get("path"))):
        raise gr.Error(
            (
                "Upload a file from your own machine: this server does not fetch files from an "
                "address."
            ),
            print_exception=False,
        )


def _leave_out(told: dict[str, Any], names: set[str]) -> None:
    for name in names & told.keys():
        del told[name]


def _not_taken(_: Request, error: Exception) -> Response:
    """Says that the disk does not take an upload. Nothing stays of one that ends before its end.

    Gradio itself leaves what came of it, and the disk full.
    """
    for frame, _line in walk_tb(error.__traceback__):
        for file in getattr(frame.f_locals.get("self"), "_files_to_close_on_error", ()):
            with suppress(OSError):
                file.close()
            Path(file.name).unlink(missing_ok=True)
    if isinstance(error, ClientDisconnect):
        return Response()  # to nobody
    if not disk_is_full(error):
        raise error
    return PlainTextResponse(
        (
            "The disk of this server is full: the file was not accepted. Try again later, or "
            "with a smaller one."
        ),
        status_code=507,
    )


def _no_endpoint(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("There is no such endpoint.", status_code=404)


class OwnCors(route_utils.CustomCORSMiddleware):  # type: ignore[misc]
    """Gradio's, for this server's own pages: it lets any page read answers to its visitor."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; pages of other sites may not read it, and are told so where they ask before."""
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        if not is_foreign(headers):
            await super().__call__(scope, receive, send)
        elif "access-control-request-method" in headers:
            await PlainTextResponse(FOREIGN, status_code=403)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


class Bounded:
    """Refuses what is too large before anything reads it, however it is sent."""

    def __init__(self, app: ASGIApp, uploads_bytes: int | None) -> None:
        """uploads_bytes: of all uploads that lie on the disk; None means no limit."""
        self._app = app
        self._uploads_bytes = uploads_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        is_upload = str(scope.get("path")).endswith("/gradio_api/upload")
        taken = looked = lists = 0

        async def bounded() -> Message:
            nonlocal taken, looked, lists
            message = await receive()
            body = message.get("body", b"")
            taken += len(body)
            if is_upload and taken >= looked:
                self._check_room()
                looked = taken + _LOOK_BYTES
            lists += 0 if is_upload else body.count(b"[") + body.count(b"{")
            if not is_upload and (taken > MOST_POSTED_BYTES or lists > MOST_POSTED_LISTS):
                raise HTTPException(413, _too_large())
            return message

        said = Headers(scope=scope).get("content-length", "") if scope["type"] == "http" else ""
        if not is_upload and said.isdecimal() and int(said) > MOST_POSTED_BYTES:
            await PlainTextResponse(_too_large(), status_code=413)(scope, receive, send)
        else:
            await self._app(scope, bounded, send)

    def _check_room(self) -> None:
        if self._uploads_bytes is not None and _folder_bytes() > self._uploads_bytes:
            raise OSError(errno.ENOSPC, "uploads have no room")


class OnePage:
    """Leaves addresses to the page: Gradio looks for another one by the parameter `page`."""

    def __init__(self, app: ASGIApp) -> None:
        """app: what answers."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        is_page = scope["type"] == "http" and scope["path"] == "/"
        await self._app({**scope, "query_string": b""} if is_page else scope, receive, send)


class CompleteStreams:
    """Lets a stream of answers that has told its end come to it.

    The page leaves it then. Where Gradio hears of that in time, it takes the page for gone and
    drops what the page's next stream is about to wait for.
    """

    def __init__(self, app: ASGIApp) -> None:
        """app: what answers."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        is_over = False

        async def told(message: Message) -> None:
            nonlocal is_over
            is_over = is_over or _END_OF_STREAM in message.get("body", b"")
            await send(message)

        async def heard() -> Message:
            message = await receive()
            if is_over and message["type"] == "http.disconnect":
                await asyncio.Event().wait()  # until the stream has ended, and this with it
            return message

        is_stream = str(scope.get("path")).endswith("/queue/data")
        await (self._app(scope, heard, told) if is_stream else self._app(scope, receive, send))


def _too_large() -> str:
    lists = counted(MOST_POSTED_LISTS, "list or object", "lists and objects")
    return (
        f"This request is too large: the limit is {MOST_POSTED_BYTES // 10**6} MB, and {lists}, "
        "not counting files. Upload it as a file instead."
    )


def _folder_bytes() -> int:
    total = 0
    for folder, _, names in os.walk(get_upload_folder()):
        for name in names:
            with suppress(OSError):  # it was deleted meanwhile
                total += (Path(folder) / name).stat().st_size
    return total


class _FilesOnly(GradioMultiPartParser):  # type: ignore[misc]
    """Gradio's, which keeps the fields of a form in memory. No upload has any."""

    def on_part_data(self, *given: Any) -> None:
        if self._current_part.file is None:
            raise MultiPartException("A form may hold files alone.")
        super().on_part_data(*given)


class FairQueue(queueing.Queue):  # type: ignore[misc]
    """Gradio's, in which one address has a share, and an answer that nobody reads is let go."""

    def __init__(self, proxied: bool, **given: Any) -> None:
        """proxied: as of `client_address`."""
        super().__init__(**given)
        self._proxied = proxied
        self._asked: dict[queueing.Event, float | None] = {}  # -> when it was seen to be answered

    async def push(self, body: Any, request: Any, username: str | None) -> Any:
        """Put an event into the queue, or say why not."""
        self._let_go()
        address = self._address(request)
        n_asked = sum(self._address(event.request) == address for event in self._asked)
        if address and n_asked >= MOST_OF_ADDRESS:
            return (
                False,
                "Too many requests from your address are still being answered. Try again in a "
                "minute.",
                "queue_full",
            )
        pushed = await super().push(body, request, username)
        if pushed[0] and (event := self.event_ids_to_events.get(pushed[1])):
            self._asked[event] = None
        return pushed

    async def process_events(self, events: Any, *given: Any, **named: Any) -> None:
        """Gradio's. What was posted goes with the answer, whoever reads it."""
        try:
            await super().process_events(events, *given, **named)
        finally:
            for event in events:
                event.data = None

    def compute_analytics_summary(self, _: Any) -> Any:
        """Nothing: nobody reads it, and Gradio makes a table of 10,000 events after each event."""
        return self.cached_event_analytics_summary

    def _address(self, request: Any) -> str:
        peer = request.client.host if request.client else None
        forwarded = request.headers.get("x-forwarded-for")
        return client_address(peer, forwarded, proxied=self._proxied)

    def _let_go(self) -> None:
        now, answers = time.monotonic(), self.pending_messages_per_session
        for event, answered in list(self._asked.items()):
            session, unread = event.session_hash, self.pending_event_ids_session
            is_there = event._id in unread.get(session, ()) and session in answers
            if event._id in self.event_ids_to_events:
                continue
            if not (is_there and event.alive):
                del self._asked[event]
            elif answered is None:
                self._asked[event] = now
            elif now - answered > UNREAD_SECONDS:
                del self._asked[event]
                unread[session].discard(event._id)
                if not unread[session]:
                    del unread[session], answers[session]


def launched(settings: Settings, routes: Sequence[Route] = ()) -> dict[str, Any]:
    """How the page is launched. routes: of files to take away."""
    most = settings.max_upload_bytes
    return {
        "head": "".join(f"<script>{script}</script>" for script in _first_scripts()),
        "prevent_thread_lock": True,
        "_frontend": False,  # else it asks itself for the page, and a busy machine is too slow
        "footer_links": ["api"],  # not shown; without it no address opens the page of endpoints
        "run_history": False,
        "share": False,
        "ssr_mode": False,
        "max_file_size": most,
        "state_session_capacity": MOST_SESSIONS,
        "app_kwargs": {
            "routes": [
                Mount("/katex", StaticFiles(directory=ASSETS / "katex")),
                Route("/plotly.min.js", _plotly),
                *routes,
            ],
            "exception_handlers": {
                OSError: _not_taken,
                ClientDisconnect: _not_taken,
                FnIndexInferError: _no_endpoint,
            },
            "middleware": [
                Middleware(OwnSite, settings.hosts, any_name=settings.any_name),
                Middleware(CompleteStreams),
                Middleware(OnePage),
                Middleware(Bounded, _LARGEST_UPLOADS * most if most else None),
            ],
        },
    }


def allow_connections() -> None:
    """Let this process have as many open as the system allows, up to some thousands.

    A shell's usual 1,024 are soon held by visitors who do nothing.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, CONNECTIONS)
    if resource.RLIM_INFINITY != soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def prepare_for_many() -> None:
    """Set this process up for many visitors at once."""
    os.environ.setdefault("GRADIO_TEMP_DIR", get_upload_folder())  # else looked up at each answer
    sys.setswitchinterval(0.001)  # seconds: answers are small, and many wait for each other
    allow_connections()


def queued(page: gr.Blocks, settings: Settings) -> gr.Blocks:
    """The page with its queue."""
    routes.CustomCORSMiddleware = OwnCors
    route_utils.GradioMultiPartParser = _FilesOnly
    page.queue(default_concurrency_limit=8, api_open=False)
    page._queue = FairQueue(
        settings.proxied,
        live_updates=True,
        concurrency_count=page.max_threads,
        update_intervals=1,
        max_size=MOST_EVENTS,
        blocks=page,
        default_concurrency_limit=8,
    )
    page._queue.sleep_when_free = LOOK_SECONDS
    return page
