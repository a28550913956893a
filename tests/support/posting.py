"""Post to an app's events as anyone may: by number, with any value, past every widget."""

import json
import secrets
import urllib.request
from functools import cached_property
from typing import Any

import gradio as gr

from tests.conftest import PATIENCE


class Stranger:
    """Somebody with an HTTP client, in a session of their own. address: of the app."""

    def __init__(self, address: str) -> None:
        self.address, self.session = f"{address.rstrip('/')}/", secrets.token_hex(5)

    @cached_property
    def config(self) -> dict[str, Any]:
        """What the page of the app is made of."""
        with urllib.request.urlopen(f"{self.address}config", timeout=PATIENCE) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

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
        target = [self._view(tab), name]
        events = self.config["dependencies"]
        [index] = [each["id"] for each in events if target in map(list, each["targets"])]
        return self.post_to(index, [], {"query": query, "secret": self.session, **posted})

    def _view(self, tab: str) -> int:
        return self.component(tab)[0]

    def component(self, tab: str) -> tuple[int, str]:
        """The number of a tab's component, and its HTML before it is filled."""
        return next(
            (int(each["id"]), str(each["props"]["value"]))
            for each in self.config["components"]
            if f'data-tab="{tab}"' in str(each["props"].get("value"))
        )

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Send a file as a browser does; what is then posted in its element's place."""
        edge = secrets.token_hex(8)
        head = f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="{name}"'
        body = f"{head}\r\n\r\n".encode() + content + f"\r\n--{edge}--\r\n".encode()
        with self.open("upload", body, f"multipart/form-data; boundary={edge}") as answer:
            (path,) = json.load(answer)
        return sent_file(path, name)

    def open(self, path: str, body: bytes | None = None, kind: str = "application/json") -> Any:
        """Ask the server for what lies under gradio_api."""
        url = f"{self.address}gradio_api/{path}"
        request = urllib.request.Request(url, data=body, headers={"Content-Type": kind})
        return urllib.request.urlopen(request, timeout=PATIENCE)


class Visitor(Stranger):
    """One to a page that this process serves."""

    def __init__(self, page: gr.Blocks) -> None:
        super().__init__(page.local_url)
        self.page = page


def sent_file(path: str, name: str = "file") -> dict[str, Any]:
    """A file as a browser names it to an event."""
    return {"path": path, "orig_name": name, "meta": {"_type": "gradio.FileData"}}
