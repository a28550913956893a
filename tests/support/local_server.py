"""A small real HTTP server on this machine, for as long as a `with` lasts."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class LocalServer:
    """Serves in a thread of its own, on a free port."""

    def __init__(
        self,
        handler: type[BaseHTTPRequestHandler],
        listener: type[ThreadingHTTPServer] = ThreadingHTTPServer,
    ) -> None:
        self._server = listener(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
