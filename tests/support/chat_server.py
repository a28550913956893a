"""A small real HTTP server that answers as a model's server does, or fails as one does."""

import json
import math
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, NamedTuple

from tests.support.local_server import Handler, LocalServer


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with.

    body: sent as JSON; as it is, where it is bytes.
    wait: seconds before it is sent.
    cut: bytes of the body that are announced but never sent.
    """

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0
    cut: int = 0


class Asked(NamedTuple):
    """A request as it came in, and when."""

    path: str
    body: dict[str, Any]
    authorization: str | None
    at: float


class ChatServer(LocalServer):
    """Answers every POST by a function of its path and body, while it is entered.

    at_once: of each request, how many were under way with it.
    """

    def __init__(self, answer: Callable[[str, dict[str, Any]], Answer]) -> None:
        self.asked: list[Asked] = []
        self.at_once: list[int] = []
        under_way: set[int] = set()
        over = self._over = threading.Event()
        model = self

        class Model(Handler):
            disable_nagle_algorithm = True

            def do_POST(self) -> None:  # noqa: N802 - so http.server calls it
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                key = self.headers.get("Authorization")
                model.asked.append(Asked(self.path, body, key, time.monotonic()))
                under_way.add(id(self))
                model.at_once.append(len(under_way))
                try:
                    given = answer(self.path, body)
                    over.wait(given.wait)
                finally:
                    under_way.discard(id(self))
                self._send(given)

            def _send(self, given: Answer) -> None:
                raw = given.body
                content = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
                self.send_response(given.status)
                for name, value in given.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content) + given.cut))
                self.end_headers()
                self.wfile.write(content)
                self.close_connection = given.cut > 0

        super().__init__(Model)

    def __exit__(self, *error: object) -> None:
        self._over.set()
        super().__exit__(*error)


def in_turn(*answers: Answer) -> Callable[[str, dict[str, Any]], Answer]:
    """Answers given one after the other, the last one for ever."""
    left = chain(answers, repeat(answers[-1]))
    return lambda path, body: next(left)


def error(status: int, message: str = "no", **headers: str) -> Answer:
    """A refusal in the shape that OpenAI's server and vLLM give it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer({"error": {"message": message, "type": "x", "code": status}}, status, named)


def said(text: str | None, first: Mapping[str, float] | None = None) -> Answer:
    """A chat completion. first: probabilities of the first token, with `logprobs` of the answer."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text}}
    if first is not None:
        top = [
            {"token": token, "logprob": math.log(p) if p else -9999.0, "bytes": None}
            for token, p in first.items()
        ]
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    return Answer({"id": "chat", "object": "chat.completion", "choices": [choice]})


def shown(body: dict[str, Any]) -> tuple[str, str]:
    """The responses that a judge is shown as A and as B."""
    found = re.search(
        r"\[Start of response A\]\n(.*)\n\[End of response A\]\n\n"
        r"\[Start of response B\]\n(.*)\n\[End of response B\]",
        body["messages"][0]["content"],
        re.DOTALL,
    )
    assert found is not None, body
    return found[1], found[2]


def nowhere() -> str:
    """An address on which nothing listens."""
    server = LocalServer(Handler)
    server.server_close()
    return server.url
