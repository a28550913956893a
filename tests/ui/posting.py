"""Post to an app's events as anyone may: by number, with any value, past every widget."""

import json
import secrets
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gradio as gr


@dataclass
class Visitor:
    """A stranger with an HTTP client. Each has a session of their own."""

    page: gr.Blocks
    session: str = field(default_factory=lambda: secrets.token_hex(5))

    def post(self, callback: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
        """Run an event with the values given for some elements, the rest as the page has them.

        Args:
            callback: the function behind the event.
            values: element id, or "BrowserState" -> what is sent in its place.

        Returns:
            The last message of the stream: `success` and `output`.
        """
        index, event = next(
            (number, fn)
            for number, fn in self.page.fns.items()
            if getattr(fn.fn, "__qualname__", "") == callback.__qualname__
        )
        data = [
            values.get(part.elem_id or type(part).__name__, getattr(part, "value", None))
            for part in event.inputs
        ]
        body = {"data": data, "fn_index": index, "session_hash": self.session}
        self._open("queue/join", json.dumps(body).encode()).close()
        with self._open(f"queue/data?session_hash={self.session}") as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    message: dict[str, Any] = json.loads(line[6:])
                    if message["msg"] == "process_completed":
                        return message
        raise AssertionError("the stream ended before the event was done")

    def refused(self, callback: Callable[..., Any], values: dict[str, Any]) -> str:
        """Run an event that must fail; what the visitor is told."""
        message = self.post(callback, values)
        assert not message["success"], "the event succeeded"
        return str(message["output"]["error"])

    def told(self, callback: Callable[..., Any], values: dict[str, Any]) -> str:
        """Run an event that refuses by its first output, or fails; what the visitor is told."""
        message = self.post(callback, values)
        if not message["success"]:
            return str(message["output"]["error"])
        status = str(message["output"]["data"][0])
        assert "refused" in status, "the event succeeded"
        return status

    def _open(self, path: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.page.local_url}gradio_api/{path}",
            data=body,
            headers={"Content-Type": "application/json"},
        )
        return urllib.request.urlopen(request, timeout=60)
