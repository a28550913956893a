"""Which sites' pages may ask this server, and whether in a visitor's name."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

HUB = ("https://huggingface.co", "https://hf.co")
"""Sites whose pages hold that of a Space in a frame."""
LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - as a page calls it
_INNER = (".localhost", ".local", ".lan", ".internal", ".home.arpa")
_READS = ("GET", "HEAD", "OPTIONS")
_CLOSED = re.compile(r"/gradio_api/(dev/reload$|proxy=|file[=/]\W*\w[\w+.-]+:)")
"""Routes of Gradio that nobody needs: one for its own development, where each visitor holds a
connection that looks 20 times a second, and those that fetch any address, without bounds."""

FOREIGN = (
    "A page of another site made this request, which only this server's own page and programs "
    "may make. Behind a proxy, the proxy must pass on the header Host or X-Forwarded-Host."
)


class OwnSite:
    """Refuses what pages of other sites ask, or hears them as nobody in particular.

    Gradio does what they ask, and lets them read it unless both call themselves localhost, also
    where a site calls itself this server's name (DNS rebinding). Starlette's own guard reads no
    Origin.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], *, any_name: bool) -> None:
        """hosts: names under which the server answers, without ports; empty for others, too.

        any_name: whether it answers under any name then, or under those that no stranger can own.
        """
        self._app = app
        self._hosts = hosts
        self._any_name = any_name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        app = self._app
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if refusal := self._refusal(headers, scope["method"]):
                app = PlainTextResponse(refusal, status_code=403)
            elif _CLOSED.search(scope["path"]):
                app = PlainTextResponse("", status_code=404)
            elif is_foreign(headers):
                # Images and scripts of another site's page come with the cookies of its visitor.
                kept = [each for each in scope["headers"] if each[0] != b"cookie"]
                scope = {**scope, "headers": kept, "session": {}}
        await app(scope, receive, send)

    def _refusal(self, headers: Headers, method: str) -> str:
        """Why a request is refused; "" where it is not."""
        asked = {host_name(headers[name]) for name in ("host", "origin") if name in headers}
        if self._hosts:
            if asked <= self._hosts:
                return ""
            names = ", ".join(sorted(self._hosts))
            return (
                "This server answers only under these names, and to no page of another site: "
                f"{names}. To open it under another name, set GRADIO_SERVER_NAME to it; behind a "
                "proxy, set EXPLORER_PROXIES=1."
            )
        if not self._any_name and not is_inner(host_name(headers.get("host", ""))):
            return (
                "This server answers only under addresses and names of a local network, such as "
                "192.168.1.7, gpu-box or gpu-box.local. To open it under another name, set "
                "GRADIO_SERVER_NAME to it; behind a proxy, set EXPLORER_PROXIES=1."
            )
        is_asked = "origin" in headers or method not in _READS
        return FOREIGN if is_asked and is_foreign(headers) else ""


def is_foreign(headers: Headers) -> bool:
    """Whether a page of another site asks, as its browser says. Programs say nothing, and may ask.

    Pages cannot change what is read here, nor add the header X-Forwarded-Host unasked.

    >>> own = {"host": "me-app.hf.space", "cookie": "session=me"}
    >>> is_foreign(Headers({**own, "origin": "https://me-app.hf.space"}))
    False
    >>> is_foreign(Headers({**own, "origin": "https://other.example"}))
    True
    >>> is_foreign(Headers({**own, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}))
    True
    >>> is_foreign(Headers({**own, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}))
    False
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is None:
        return site in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate"
    if site == "same-origin" or origin in HUB:
        return False
    own = {host_name(headers.get(name, "")) for name in ("host", "x-forwarded-host")}
    asks = host_name(origin)
    return asks not in own - {""} and not (asks in LOCAL and own & LOCAL)


def host_name(address: str) -> str:
    """The name in an address or in a header Host; "" where there is none.

    >>> host_name("https://Me.hf.space:443"), host_name("[::1]:7860"), host_name("http://[")
    ('me.hf.space', '::1', '')
    """
    try:
        return urlsplit(address if "://" in address else f"//{address}").hostname or ""
    except ValueError:
        return ""


def is_inner(name: str) -> bool:
    """Whether no stranger can own a name: an address, one without dots, or of an inner network.

    >>> [is_inner(each) for each in ("192.168.1.7", "::1", "gpu-box", "gpu.local", "other.example")]
    [True, True, True, True, False]
    """
    try:
        return bool(ip_address(name))
    except ValueError:
        return bool(name) and ("." not in name or name.endswith(_INNER))
