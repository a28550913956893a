"""The app as its visitors have it: a server of its own, reached over HTTP alone.

Nothing of the app is imported. A page is filled as a browser fills it: by the events that its
config lists, those that follow from them, and the query string of its address.
"""

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from explorer.reader.links import tab_of
from tests.conftest import PATIENCE, ROOT
from tests.golden.reading import component_outline

PLACE = re.compile(r"window\.(location\.search|explorerViews)")
"""Whether a script passes on an address."""
GOES_ON = re.compile(r'data-refresh="[123]?\d{1,3}"')
"""Whether an end is awaited; what is looked at less often waits for what others may begin."""
OF_THE_MACHINE = ("model-card",)
"""Says how much memory is free, and how long a model takes here."""


def environment(home: Path, **settings: str) -> dict[str, str]:
    """What the app and the command line run in: no network, one thread, these settings."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("EXPLORER_")}
    kept = {"EXPLORER_HOME": str(home), "EXPLORER_OFFLINE": "1", "EXPLORER_DEVICE": "cpu"}
    machine = {
        "HF_HOME": str(home / "hf"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TZ": "UTC",
    }
    return own | kept | machine | {f"EXPLORER_{name}": each for name, each in settings.items()}


@contextmanager
def served(home: Path, **settings: str) -> Iterator["Server"]:
    """The app on a free port. settings: variables of docs/settings.md, without EXPLORER_."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {"GRADIO_SERVER_PORT": str(port), "GRADIO_TEMP_DIR": str(home / "files")}
    log = home / "log.txt"
    with log.open("w") as out:
        app = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=ROOT,
            env=environment(home, **settings) | own,
            stdout=out,
            stderr=out,
        )
    try:
        yield Server(
            f"http://127.0.0.1:{port}/", lambda: None if app.poll() is None else log.read_text()
        )
    finally:
        app.terminate()
        app.wait(PATIENCE)


class Server:
    """A running app, and the config of its page.

    ended: what an app said that has ended; None while it runs.
    """

    def __init__(self, url: str, ended: Callable[[], str | None] = lambda: None) -> None:
        self.http = httpx.Client(base_url=url, timeout=5 * PATIENCE)
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self.config = self.http.get("config").raise_for_status().json()
                return
            except httpx.HTTPError:
                if ended() is not None or time.monotonic() > until:
                    raise AssertionError(f"the app did not start: {ended()}") from None
                time.sleep(0.2)

    def ask(self, name: str, **arguments: Any) -> Any:
        """The last answer of a public endpoint; what is told where it refuses."""
        asked = self.http.post(f"gradio_api/call/v2/{name}", json=arguments).json()["event_id"]
        answer = self.http.get(f"gradio_api/call/{name}/{asked}").text
        kind, data = answer.strip().rpartition("event: ")[2].split("\ndata: ")
        return {kind: json.loads(data)}

    def file(self, address: str) -> tuple[str, bytes]:
        """The name and content of a file that a link leads to."""
        found = self.http.get(address).raise_for_status()
        return found.headers["content-disposition"].split('"')[1], found.content


class Screen(NamedTuple):
    """A tab as it is read: visible lines, and links and fields."""

    lines: list[str]
    links: list[str]


class Page:
    """The page in one browser, opened by a link; it is as its events left it.

    parts: id -> what a component is and shows; `told` is what refused events said.
    """

    def __init__(self, server: Server, link: str) -> None:
        self.server, self.link, self.session = server, link, secrets.token_hex(5)
        self.parts = {each["id"]: deepcopy(each) for each in server.config["components"]}
        self.events = server.config["dependencies"]
        self.told: list[str] = []
        self.fields: dict[str, str] = {}
        self.skeletons: dict[int, str] = {}
        self.fire(None, "load")
        tab = tab_of(link)
        self.tab = next(
            each["id"]
            for each in self.parts.values()
            if each["type"] == "tabitem" and each["props"]["id"] == tab
        )
        self.fire(self.tab, "select")
        self.view()

    def view(self, **posted: object) -> None:
        """Fill the open tab as its address says, if it is a view, once nothing goes on in it.

        posted: an action, and what is sent with it.
        """
        head = self._view("data")
        for number in [head, *self._below(self._node(self.server.config["layout"], self.tab))]:
            written = str(self.parts[number]["props"].get("value"))
            skeleton = self.skeletons.setdefault(number, written)
            if 'class="view"' not in skeleton:
                continue
            body = {"session_hash": self.session, "component_id": number, "fn_name": "render"}
            deadline = time.monotonic() + PATIENCE
            while True:
                link, told = ("?tab=data", {}) if number == head else (self.link, posted)
                asked = body | {"data": {"query": link, "sent": self.fields, **told}}
                answer = self.server.http.post("gradio_api/component_server", json=asked).json()
                self.told += [answer["error"]] if "error" in answer else []
                posted = posted if number == head else {}
                regions = answer.get("regions", {})
                names = re.findall(r'data-region="(\w+)"', skeleton)
                written = "".join(regions.get(name, "") for name in names if name != "card")
                if not GOES_ON.search(written):
                    break
                assert time.monotonic() < deadline, f"{link} goes on without end: {written}"
                time.sleep(0.2)
            self.parts[number]["props"]["value"] = written

    def _view(self, tab: str) -> int:
        return next(
            int(number)
            for number, each in self.parts.items()
            if f'data-tab="{tab}"' in self.skeletons.get(number, str(each["props"].get("value")))
        )

    def fire(self, part: int | None, name: str, said: Any = None) -> None:
        """What happens when something is done to a component, or to the page."""
        for event in self.events:
            if any(kind == name and part in (None, where) for where, kind in event["targets"]):
                self._run(event, said)

    def trigger(self, tab: str, name: str, link: str, **sent: str) -> None:
        """Press what begins an event of a tab, with what the form of an address says, and see it
        to its end.

        sent: what the fields of the page hold from now on.
        """
        self.fields |= sent
        [number] = [each for each, html in self.skeletons.items() if f'data-tab="{tab}"' in html]
        for event in self.events:
            if [number, name] in [list(each) for each in event["targets"]]:
                self._run(event, {"query": link, "sent": self.fields})
                self.link = self.parts[event["outputs"][0]]["props"]["value"] or link
        self.view()

    def press(self, button: str) -> None:
        """Press a button by its id, or by its words on the tab that is open."""
        self.fire(self.named(button), "click")

    def fill(self, element: str, value: Any) -> None:
        self.parts[self.named(element)]["props"]["value"] = value

    def named(self, name: str) -> int:
        """The component of that elem_id, else the open tab's button of those words."""
        for number, part in self.parts.items():
            if part["props"].get("elem_id") == name:
                return int(number)
        words = [
            each
            for each in self._below(self._node(self.server.config["layout"], self.tab))
            if self.parts[each]["props"].get("value") == name
        ]
        assert words, f"nothing is called {name!r}"
        return words[0]

    def written(self, button: str, element: str) -> tuple[str, bytes] | list[str]:
        """The name and content of the file that a button writes; what is told where it does not.

        element: the one that offers it.
        """
        self.fill(element, None)
        self.press(button)
        file = self.parts[self.named(element)]["props"]["value"]
        if not file:
            return self.told[-1:]
        found = self.server.http.get(f"gradio_api/file={file['path']}").raise_for_status()
        return str(file["orig_name"] or Path(file["path"]).name), found.content

    def screen(self) -> Screen:
        """The open tab from top to bottom, and the messages of refused events."""
        tab = self._node(self.server.config["layout"], self.tab)
        parts = [self.parts[each] for each in self._below(tab)]
        own = [each for each in parts if each["props"].get("elem_id") not in OF_THE_MACHINE]
        outlines = [component_outline(each) for each in own]
        return Screen(
            [line for lines, _ in outlines for line in lines] + self.told,
            [link for _, links in outlines for link in links],
        )

    def links(self, start: str) -> list[str]:
        """The addresses that the open tab links to and that start so."""
        addresses = [link.rpartition(" -> ")[2] for link in self.screen().links]
        return [each for each in addresses if each.startswith(start)]

    def _run(self, event: dict[str, Any], said: Any) -> None:
        succeeded = not event.get("backend_fn") or self._post(event, said)
        for other in self.events:
            if other.get("trigger_after") == event["id"] and succeeded != bool(
                other.get("trigger_only_on_failure")
            ):
                self._run(other, None)

    def _post(self, event: dict[str, Any], said: Any) -> bool:
        here = PLACE.search(str(event.get("js"))) is not None
        data = [self._sent(self.parts[each], here) for each in event["inputs"]]
        body = {"data": data, "fn_index": event["id"], "session_hash": self.session}
        body |= {} if said is None else {"event_data": said}
        self.server.http.post("gradio_api/queue/join", json=body).raise_for_status()
        asked = {"session_hash": self.session}
        with self.server.http.stream("GET", "gradio_api/queue/data", params=asked) as stream:
            for line in stream.iter_lines():
                message = json.loads(line[6:]) if line.startswith("data: ") else {}
                if message.get("msg") == "process_completed":
                    break
        if not message["success"]:
            self.told.append(str(message["output"].get("error")))
            return False
        for number, value in zip(event["outputs"], message["output"]["data"], strict=False):
            props = self.parts[number]["props"]
            if isinstance(value, dict) and value.get("__type__") == "update":
                props |= {name: each for name, each in value.items() if name != "__type__"}
            else:
                props["value"] = value
        for state in message["output"].get("changed_state_ids") or ():
            self.fire(state, "change")
        return True

    def _sent(self, part: dict[str, Any], here: bool) -> Any:
        if here and part["type"] == "textbox":
            return self.link
        return None if part["type"] == "state" else part["props"].get("value")

    def _node(self, node: dict[str, Any], number: int) -> dict[str, Any]:
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node["id"] == number:
                return node
            waiting += node.get("children", [])
        raise AssertionError(f"the page has no part {number}")

    def _below(self, node: dict[str, Any]) -> Iterator[int]:
        """The visible components of a part of the page, in their order."""
        if self.parts.get(node["id"], {"props": {}})["props"].get("visible", True) is True:
            yield node["id"]
            for child in node.get("children", []):
                yield from self._below(child)
