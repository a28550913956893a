"""How the page is launched: its routes, and guards before Gradio, all plain ASGI."""

import asyncio
import errno
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from anyio import to_thread
from fastapi.exceptions import RequestValidationError
from gradio.route_utils import FnIndexInferError
from gradio.utils import get_upload_folder
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from explorer.core.address_view import START_VIEW
from explorer.core.clients import client_address
from explorer.core.errors import disk_is_full
from explorer.core.settings import ASSETS, Settings
from explorer.core.sites import OwnSite

MOST_POSTED_BYTES = 800_000
"""Of a request of a public server that is neither an upload nor a form for a file: a typed pair has
three texts, whose characters programs write in up to twelve bytes. Elsewhere texts are longer, and
it is `MOST_FORM_BYTES`."""
BYTES_OF_VALUE = 80
"""Of a request, for each value in it: many small ones take a hundred times their size in memory."""
_SESSION = "explorer.session"
MOST_FORM_BYTES = 4_000_000
"""Of a form for a file: a browser sends all its notes along for a report."""
_LARGEST_UPLOADS = 20
"""Files of the largest size whose room all uploads have that lie on the disk."""
_LOOK_BYTES = 8_000_000
"""Of an upload, between two looks at how much room there is."""
_LEFT_SECONDS = 3600
"""After which a part of an upload is taken for the rest of one that broke off."""
_REST = re.compile(r"tmp[a-z0-9_]{8}")
MOST_EVENTS = 64
"""Of all visitors, that wait in the queue."""
MOST_OF_ADDRESS = MOST_EVENTS // 2
"""Events of one address whose answers are still to be read, and uploads that it sends at once."""
UNREAD_SECONDS = 600.0
"""After which an event is forgotten whose answer nobody read."""
MOST_PAGES = 4
"""Made at once, some 10 ms each."""
MOST_SESSIONS = 300
"""Open pages that are remembered, some 0.16 MB each; the one that did nothing for longest goes."""
_END_OF_STREAM = b'"msg":"close_stream"'
_ANSWERED = b'"msg":"process_completed"'
_EVENT = re.compile(rb'"event_id":"([0-9a-f]{32})"')
_GIVEN_BY_NAME = ("call/v2/", "component_server", "queue/join", "run/", "api/")
"""Routes that look up what is posted without looking whether it is there."""
_FIRST_SCRIPTS = ("storage.js", "idiomorph/idiomorph.min.js", "go.js")
"""Run before anything is drawn."""
ABOUT = "Browse preference benchmarks, score reward models, and see where they fail."
_CARD = re.compile(rb'<meta\s[^>]*"(?:og|twitter):[^>]*>')
"""Of Gradio, which speak of Gradio."""
CONNECTIONS = 10_000
"""That may be open at once, where the system allows it."""


def _plotly(_: Request) -> Response:
    from plotly.offline import get_plotlyjs

    headers = {"Cache-Control": "max-age=86400"}
    return Response(get_plotlyjs(), media_type="text/javascript", headers=headers)


def _not_taken(_: Request, error: Exception) -> Response:
    """Says that the disk does not take an upload."""
    if isinstance(error, ClientDisconnect):
        return Response()  # to nobody
    if not disk_is_full(error):
        raise error
    words = "The disk of this server is full: the file was not accepted. Try again later."
    return PlainTextResponse(words, status_code=507)


def _no_endpoint(request: Request, error: Exception) -> Response:
    path = request.url.path
    if isinstance(error, FnIndexInferError) or path.removeprefix("/gradio_api/").startswith(
        _GIVEN_BY_NAME
    ):
        return PlainTextResponse("There is no such endpoint or argument.", status_code=404)
    raise error


def _not_understood(_: Request, __: Exception) -> Response:
    """Repeats nothing of what was posted: not all of it can be written as JSON."""
    return PlainTextResponse("This request is not understood.", status_code=422)


class Bounded:
    """Refuses bodies that are too large, are no JSON, or name files elsewhere, before Gradio reads
    them: it fetches whatever the address of a posted file leads to, and keeps what a page sent.

    The session that a body names is left in the scope, as `_SESSION`.
    """

    def __init__(self, app: ASGIApp, posted_bytes: int, uploads_bytes: int | None) -> None:
        """posted_bytes: of a request that is no upload and no form; it may have a value each
            `BYTES_OF_VALUE`.

        uploads_bytes: of all uploads that lie on the disk; None means no limit.
        """
        self._app = app
        self._posted_bytes = posted_bytes
        self._uploads_bytes = uploads_bytes
        self._uploading = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
        elif scope["path"] == "/gradio_api/upload":
            self._uploading += 1
            try:
                await self._app(scope, self._watched(receive), send)
            finally:
                self._uploading -= 1
        else:
            await self._whole(scope, receive, send)

    def _watched(self, receive: Receive) -> Receive:
        taken = looked = 0

        async def watched() -> Message:
            nonlocal taken, looked
            message = await receive()
            taken += len(message.get("body", b""))
            if taken >= looked:
                looked = taken + _LOOK_BYTES
                deletes_rest = self._uploading == 1
                n_bytes = await to_thread.run_sync(_uploaded_bytes, deletes_rest)
                if self._uploads_bytes is not None and n_bytes > self._uploads_bytes:
                    raise OSError(errno.ENOSPC, "uploads have no room")
            return message

        return watched

    async def _whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_form = scope["path"].startswith("/files/")
        most = MOST_FORM_BYTES if is_form else self._posted_bytes
        body, is_more = bytearray(), True
        said = Headers(scope=scope).get("content-length", "")
        while is_more and len(body) <= most and not (said.isdecimal() and int(said) > most):
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            is_more = message.get("more_body", False)
        most_values = self._posted_bytes // BYTES_OF_VALUE
        session, why = ("", "") if is_form or is_more else _checked(bytes(body), most_values)
        status, scope[_SESSION] = 400, session
        if is_more or len(body) > most:
            kilobytes = f"{most // 1000:,} KB, not counting files"
            status, why = 413, f"This request is too large: the limit is {kilobytes}."
        if why:
            await PlainTextResponse(why, status_code=status)(scope, receive, send)
            return
        rest: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replayed() -> Message:
            return rest.pop() if rest else await receive()

        await self._app(scope, replayed, send)


def _checked(body: bytes, most_values: int) -> tuple[str, str]:
    """The session that a posted body names, and what is wrong as far as it is said here."""
    if body.startswith(b"--"):  # a form
        return "", ""
    outside = b"".join(body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    if sum(map(outside.count, (b",", b"[", b"{"))) > most_values:
        return "", f"This request has too many values: the limit is {most_values:,}."
    try:
        posted = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return "", "This request is not JSON in UTF-8."
    session = posted.get("session_hash") if isinstance(posted, dict) else ""
    return session[:200] if isinstance(session, str) else "", _file_elsewhere(posted)


def _file_elsewhere(posted: object) -> str:
    """Why a file that is posted as an address is refused; "" where there is none."""
    parts = [posted]
    while parts:
        part = parts.pop()
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        path = part.get("path") if isinstance(part, dict) else None
        if isinstance(path, str) and path.strip().lower().startswith(("http:", "https:")):
            return "Upload a file from your own machine: this server fetches none from an address."
    return ""


def _uploaded_bytes(deletes_rest: bool) -> int:
    """Of all uploads on the disk, in blocks of 4 KB.

    deletes_rest: whether parts of uploads that broke off are deleted. They have names that a
        library gave them, and lie beside the folders of whole ones.
    """
    total, root = 0, get_upload_folder()
    for folder, _, names in os.walk(root):
        for path in map(Path(folder).joinpath, names):
            with suppress(OSError):  # it was deleted meanwhile
                status = path.stat()
                is_rest = deletes_rest and folder == root and _REST.fullmatch(path.name)
                if is_rest and time.time() - status.st_mtime > _LEFT_SECONDS:
                    path.unlink()
                else:
                    total += max(status.st_size, 4096)
    return total


class FairShare:
    """Lets an address have a share of the queue and of uploads, and a stream come to its end.

    A page leaves a stream of answers that has told its end. Where Gradio hears of that in time, it
    takes the page for gone and drops what the page's next stream is about to wait for.
    """

    def __init__(self, app: ASGIApp, *, proxies: int) -> None:
        """proxies: as of `client_address`."""
        self._app = app
        self._proxies = proxies
        self._unread: dict[bytes, tuple[str, str, float]] = {}  # event -> address, session, when
        self._asking = Counter[str]()  # address -> posts under way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        path, method = str(scope.get("path")), scope.get("method")
        is_call = path.startswith("/gradio_api/call/")
        is_asked = is_call or path in ("/gradio_api/queue/join", "/gradio_api/upload")
        if method == "POST" and is_asked:
            await self._taken(scope, receive, send)
        elif method == "GET" and (is_call or path == "/gradio_api/queue/data"):
            await self._read(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _taken(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = self._address(scope)
        soonest = time.monotonic() - UNREAD_SECONDS
        self._unread = {name: each for name, each in self._unread.items() if each[2] > soonest}
        n_unread = sum(of == address for of, *_ in self._unread.values())
        if address and n_unread + self._asking[address] >= MOST_OF_ADDRESS:
            why = "Too many requests from your address are still being answered. Try again soon."
            await PlainTextResponse(why, status_code=503)(scope, receive, send)
            return

        async def noted(message: Message) -> None:
            for event in _EVENT.findall(message.get("body", b"")):
                self._unread[event] = address, scope.get(_SESSION, ""), time.monotonic()
            await send(message)

        self._asking[address] += 1
        try:
            await self._app(scope, receive, noted)
        finally:
            self._asking[address] -= 1
            self._asking += Counter()  # without those that ask nothing

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_over = False

        async def relayed(message: Message) -> None:
            nonlocal is_over
            body = message.get("body", b"")
            is_over = is_over or _END_OF_STREAM in body
            if _ANSWERED in body:
                self._forget(*_EVENT.findall(body))
            await send(message)

        async def heard() -> Message:
            message = await receive()
            if is_over and message["type"] == "http.disconnect":
                await asyncio.Event().wait()  # until the stream has ended, and this with it
            return message

        try:
            await self._app(scope, heard, relayed)
        finally:
            asked = parse_qs(scope["query_string"].decode(errors="replace"))
            [session] = asked.get("session_hash", [""])[:1]
            name, address = scope["path"].rpartition("/")[2].encode(), self._address(scope)
            mine = [
                event
                for event, (of, its_session, _when) in self._unread.items()
                if of == address and (event == name or its_session == session[:200] != "")
            ]
            self._forget(*mine)

    def _address(self, scope: Scope) -> str:
        peer, forwarded = scope.get("client"), Headers(scope=scope).get("x-forwarded-for")
        return client_address(peer and peer[0], forwarded, proxies=self._proxies)

    def _forget(self, *events: bytes) -> None:
        for event in events:
            self._unread.pop(event, None)


class OnePage:
    """Leaves addresses to the page: Gradio looks for another one by the parameter `page`.

    A few pages are made at once, so that a crowd that opens them takes no thread from others.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._making = asyncio.Semaphore(MOST_PAGES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if not _is_page(scope):
            await self._app(scope, receive, send)
            return
        async with AsyncExitStack() as turn:
            await turn.enter_async_context(self._making)

            async def send_and_free(message: Message) -> None:
                await turn.aclose()  # whoever reads slowly holds up nobody
                await send(message)

            await self._app({**scope, "query_string": b""}, receive, send_and_free)


class LinkCard:
    """Links to the page are shown with its own title, sentence and picture, not Gradio's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; the page's length is said once it is known."""
        head: list[Message] = []

        async def send_with_card(message: Message) -> None:
            if message["type"] == "http.response.start":
                head.append(message)
                return
            if head:
                asked = Request(scope)
                scheme = asked.headers.get("x-forwarded-proto", scope["scheme"])
                root = asked.base_url.replace(scheme="https" if scheme == "https" else "http")
                body = _with_card(message.get("body", b""), str(root))
                message, start = {**message, "body": body}, head.pop()
                MutableHeaders(scope=start)["Content-Length"] = str(len(body))
                await send(start)
            await send(message)

        await self._app(scope, receive, send_with_card if _is_page(scope) else send)


def _is_page(scope: Scope) -> bool:
    return bool(scope["type"] == "http" and scope["path"] == "/")


def _with_card(page: bytes, root: str) -> bytes:
    """A page with what is shown of links to it. root: its address, with a slash at its end."""
    title, picture = "RewardBench Explorer", escape(f"{root}card.png")
    about = {"title": title, "description": ABOUT, "image": picture, "type": "website"}
    tags = "".join(f'<meta property="og:{name}" content="{about[name]}">' for name in about)
    tags += '<meta name="twitter:card" content="summary_large_image">'
    tags += f'<meta name="description" content="{ABOUT}">'
    return _CARD.sub(b"", page).replace(b"</head>", f"{tags}</head>".encode(), 1)


def launched(settings: Settings, routes: Sequence[Route] = ()) -> dict[str, Any]:
    """How the page is launched. routes: of files to take away."""
    most = settings.max_upload_bytes
    *first, go = ((ASSETS / name).read_text(encoding="utf-8") for name in _FIRST_SCRIPTS)
    scripts = (*first, f"{START_VIEW} = (element, trigger, server) => {{{go}}};")
    return {
        "head": "".join(f"<script>{script}</script>" for script in scripts),
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
                Route("/card.png", lambda _: FileResponse(ASSETS / "card.png")),
                *routes,
            ],
            "exception_handlers": {
                OSError: _not_taken,
                ClientDisconnect: _not_taken,
                FnIndexInferError: _no_endpoint,
                RequestValidationError: _not_understood,
                KeyError: _no_endpoint,
                TypeError: _no_endpoint,
            },
            "middleware": [
                Middleware(OwnSite, settings.hosts, any_name=settings.any_name),
                Middleware(OnePage),
                Middleware(LinkCard),
                Middleware(FairShare, proxies=settings.proxies),
                Middleware(
                    Bounded,
                    MOST_POSTED_BYTES if settings.public else MOST_FORM_BYTES,
                    _LARGEST_UPLOADS * most if most else None,
                ),
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
    # Else Gradio makes a table of 10,000 events after each event, which nobody reads.
    os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(10**9))
    sys.setswitchinterval(0.001)  # seconds: answers are small, and many wait for each other
    allow_connections()
