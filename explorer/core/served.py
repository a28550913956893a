"""What of Gradio is served otherwise than it would: configuration, queue, uploads, other sites."""

import inspect
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from typing import Any

import gradio as gr
from gradio.route_utils import get_hostname
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from explorer.core.parts import disk_is_full, errors_shown
from explorer.core.settings import Settings
from explorer.core.text import text

LOOK_SECONDS = 0.01
"""After which an idle queue looks for events again. Gradio's own 0.001 take 6 % of a core."""
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
        return config

    async def postprocess_data(self, *given: Any) -> Any:
        """Gradio's, which copies exports: of what fails there it would tell nothing."""
        with errors_shown():
            return await super().postprocess_data(*given)


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
    return PlainTextResponse(text("error.disk"), status_code=507)


class OwnSite:
    """Refuses what pages of other sites ask of a server that answers under some names alone.

    Gradio only keeps its answers from them, after it did what they asked, and that not where a site
    calls itself this server's name (DNS rebinding). Starlette's own guard reads no Origin.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        """hosts: without ports; empty for any."""
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        app, headers = self._app, Headers(scope=scope) if scope["type"] == "http" else {}
        asked = {get_hostname(headers[name]) for name in ("host", "origin") if name in headers}
        if self._hosts and not asked <= self._hosts:
            names = ", ".join(sorted(self._hosts))
            app = PlainTextResponse(text("error.site", names=names), status_code=403)
        await app(scope, receive, send)


def launched(settings: Settings) -> dict[str, Any]:
    """How the page is launched."""
    return {
        "footer_links": [],
        "run_history": False,
        "share": False,
        "ssr_mode": False,
        "max_file_size": settings.max_upload_bytes,
        "app_kwargs": {
            "exception_handlers": {OSError: _not_taken, ClientDisconnect: _not_taken},
            "middleware": [Middleware(OwnSite, settings.hosts)],
        },
    }


def queued(page: gr.Blocks) -> gr.Blocks:
    """The page with its queue."""
    page.queue(default_concurrency_limit=8, max_size=64)
    page._queue.sleep_when_free = LOOK_SECONDS
    return page
