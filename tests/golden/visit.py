"""The app as its visitors have it, over HTTP alone: endpoints, files, tabs by their addresses."""

import json
import re
from typing import Any, NamedTuple

import httpx

from explorer.reader.links import tab_of
from tests.conftest import PATIENCE, until
from tests.golden.reading import Outline
from tests.support.posting import Stranger

GOES_ON = re.compile(r'data-refresh="[123]?\d{1,3}"')
"""Whether an end is awaited; what is looked at less often waits for what others may begin."""
OF_THE_MACHINE = "card"
"""A region that says how much memory is free, and how long a model takes here."""


class Server:
    """A running app."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=5 * PATIENCE)

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
    """The page in one browser, opened by a link, once nothing goes on in it.

    head, html: of the page, and of the open tab. told: what was refused, as it said. fields: what
    the fields of the page hold.
    """

    def __init__(self, server: Server, link: str) -> None:
        self.link, self._visitor = link, Stranger(str(server.http.base_url))
        self.told: list[str] = []
        self.fields: dict[str, str] = {}
        self.head = self.html = ""
        self.view()

    def view(self, **posted: object) -> None:
        """Fill the head, and the open tab as its address says.

        posted: an action, and what is sent with it.
        """
        self.head = self._render("data", "?tab=data", {})
        self.html = self._render(tab_of(self.link), self.link, posted)

    def _render(self, tab: str, link: str, posted: dict[str, object]) -> str:
        _, skeleton = self._visitor.component(tab)
        names = re.findall(r'data-region="(\w+)"', skeleton)
        written: list[str] = []

        def is_done() -> bool:
            answer = self._visitor.render(tab, link, **{"sent": self.fields, **posted})
            posted.clear()
            self.told += [answer["error"]] if "error" in answer else []
            regions = answer.get("regions", {})
            written[:] = [regions.get(name, "") for name in names if name != OF_THE_MACHINE]
            return not GOES_ON.search("".join(written))

        until(is_done)
        return "".join(written)

    def trigger(self, tab: str, name: str, link: str, **sent: str) -> None:
        """Press what begins an event of a tab, with what the form of an address says, and see it
        to its end.

        sent: what the fields of the page hold from now on.
        """
        self.fields |= sent
        message = self._visitor.press(tab, name, link, sent=self.fields, secret="")
        output = message["output"]
        if not message["success"]:
            self.told.append(str(output.get("error")))
        self.link = (message["success"] and output["data"][0]) or link
        self.view()

    def screen(self) -> Screen:
        """The open tab from top to bottom, and what was refused."""
        outline = Outline(self.html)
        return Screen(outline.lines + self.told, outline.links)
