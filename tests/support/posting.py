"""Post to an app's events as anyone may: by number, with any value, past every widget."""

import json
import secrets
import urllib.request
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from tests.conftest import PATIENCE


@dataclass
class Visitor:
    """A stranger with an HTTP client. Each has a session of their own."""

    page: gr.Blocks
    session: str = field(default_factory=lambda: secrets.token_hex(5))

    def post_to(self, index: int, data: list[Any], event_data: Any = None) -> dict[str, Any]:
        """Run an event by its number, with these values; gives the last message of the stream."""
        body = {"data": data, "fn_index": index, "session_hash": self.session}
        body |= {} if event_data is None else {"event_data": event_data}
        self.open("queue/join", json.dumps(body).encode()).close()
        with self.open(f"queue/data?session_hash={self.session}") as stream:
            for line in stream:
                if line.startswith(b"data: "):
                    message: dict[str, Any] = json.loads(line[6:])
                    if message["msg"] == "process_completed":
                        return message
        raise AssertionError("the stream ended before the event was done")

    def render(self, tab: str, query: object = "", **posted: object) -> dict[str, Any]:
        """What a view answers to an address: the query, and its regions or an error."""
        body = {"component_id": self._view(tab), "fn_name": "render", "session_hash": self.session}
        body |= {"data": {"query": query, **posted}}
        with self.open("component_server", json.dumps(body).encode()) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def press(self, tab: str, name: str, query: object = "", **posted: object) -> dict[str, Any]:
        """Run an event of a view; the last message of its stream. The secret is the session."""
        [index] = [
            number
            for number, event in self.page.fns.items()
            if (self._view(tab), name) in event.targets
        ]
        return self.post_to(index, [], {"query": query, "secret": self.session, **posted})

    def _view(self, tab: str) -> int:
        return next(
            int(number)
            for number, part in self.page.blocks.items()
            if isinstance(part, gr.HTML) and f'data-tab="{tab}"' in str(part.value)
        )

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Send a file as a browser does; what is then posted in its element's place."""
        edge = secrets.token_hex(8)
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
        )
        body = head.encode() + content + f"\r\n--{edge}--\r\n".encode()
        kind = f"multipart/form-data; boundary={edge}"
        with self.open("upload", body, kind) as answer:
            (path,) = json.load(answer)
        return sent_file(path, name)

    def open(self, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        """Ask the server for what lies under gradio_api."""
        request = urllib.request.Request(
            f"{self.page.local_url}gradio_api/{path}", data=body, headers={"Content-Type": kind}
        )
        return urllib.request.urlopen(request, timeout=PATIENCE)


def sent_file(path: str, name: str = "file") -> dict[str, Any]:
    """A file as a browser names it to an event."""
    return {"path": path, "orig_name": name, "meta": {"_type": "gradio.FileData"}}
