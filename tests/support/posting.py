"""Post to an app's events as anyone may: by number, with any value, past every widget."""

import json
import secrets
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gradio as gr
from gradio.state_holder import SessionState

from tests.conftest import PATIENCE


@dataclass
class Visitor:
    """A stranger with an HTTP client. Each has a session of their own."""

    page: gr.Blocks
    session: str = field(default_factory=lambda: secrets.token_hex(5))

    def post(
        self,
        callback: Callable[..., Any],
        values: dict[str, Any] | None = None,
        event_data: Any = None,
    ) -> dict[str, Any]:
        """Run an event with the values given for some elements, the rest as the page has them.

        Args:
            callback: the function behind the event; of several such events the first that takes
                the most of the values.
            values: element id, or the name of a component's class such as "BrowserState" -> what is
                sent in its place.
            event_data: what the event itself says, as `gr.EventData` has it.

        Returns:
            The last message of the stream: `success` and `output`.
        """
        return self.post_to(*self.event(callback, values or {}), event_data)

    def event(self, callback: Callable[..., Any], values: dict[str, Any]) -> tuple[int, list[Any]]:
        """The number of the event that `post` runs, and all its values."""
        events = [
            number
            for number, event in self.page.fns.items()
            if function_name(event.fn) == function_name(callback)
            and getattr(callback, "args", ()) in ((), getattr(event.fn, "args", ()))
        ]
        inputs = {number: self.page.fns[number].inputs for number in events}
        index = max(events, key=lambda number: len(values.keys() & set(map(_name, inputs[number]))))
        return index, [values.get(_name(part), _own(part)) for part in inputs[index]]

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

    async def answer_here(self, index: int, data: list[Any], event_data: Any = None) -> None:
        """What a server does with a post, without one: in a task of its own, until it is done.

        Raises:
            Exception: whatever it is that the visitor would be told of.
        """
        number, event = self.session, gr.EventData(None, event_data)
        asked = gr.Request(session_hash=number, client={"host": "127.0.0.1"}, headers={})
        chunks, more = None, True
        while more:
            answer = await self.page.process_api(
                self.page.fns[index],
                list(data),
                state=self._state,
                request=asked,
                iterator=chunks,
                session_hash=number,
                event_data=event,
            )
            chunks, more = answer["iterator"], answer["is_generating"]

    @cached_property
    def _state(self) -> SessionState:
        return SessionState(self.page)

    def data(
        self,
        callback: Callable[..., Any],
        values: dict[str, Any] | None = None,
        event_data: Any = None,
    ) -> list[Any]:
        """Run an event that must succeed; what it fills its outputs with."""
        message = self.post(callback, values, event_data)
        assert message["success"], message["output"]
        filled: list[Any] = message["output"]["data"]
        return filled

    def refused(
        self,
        callback: Callable[..., Any],
        values: dict[str, Any] | None = None,
        event_data: Any = None,
    ) -> str:
        """Run an event that must fail; what the visitor is told."""
        message = self.post(callback, values, event_data)
        assert not message["success"], "the event succeeded"
        return str(message["output"]["error"])

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


def function_name(callback: Any) -> str:
    """What a callback is called, bound to its first arguments or not."""
    return str(getattr(getattr(callback, "func", callback), "__qualname__", ""))


def _name(part: Any) -> str:
    return part.elem_id or type(part).__name__


def _own(part: Any) -> Any:
    """What the page sends for an element that nobody touched; of a State it sends nothing."""
    return None if isinstance(part, gr.State) else getattr(part, "value", None)
