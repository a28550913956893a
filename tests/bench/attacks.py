"""What one address can do to a server: its memory, and how long everybody else waits meanwhile.

Each attack gets an app of its own with the demo pairs: posts of short strings to an event of the
page, as large as a body may be; questions to the views of tabs that make no sense. Prints what came
of it, the memory of the server and its processes, and the longest plain GET meanwhile. Linux only.
"""

import json
import random
import secrets
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scoring.models.memory import group_bytes
from tests.support.serving import LOG, started

BODY_BYTES = 250_000
POSTS, QUESTIONS, MOST_SECONDS = 32, 10_000, 600
WORDS = (
    "tab model models pairs subset hep-go q (x+x+)+y regex 1 sort -margin panel slices lengths "
    "review page \u00b2 -5 999999999999 source /etc/passwd demo open range chosen.chars.1.2 nan: "
    "slice * \ud800 <script>alert(1)</script> ../../x main bar board tokenizer results \u0000 %00"
).split(" ")
Attack = Callable[[Any, int], tuple[str, Any]]
"""Where under gradio_api a server with this config is posted what, by number."""


def post(url: str, sent: Any = None) -> int | str:
    """The status of an answer that is read to its end, or the name of an error; None is a GET."""
    body = None if sent is None else json.dumps(sent, separators=(",", ":")).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            answer.read()
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except OSError as error:
        return type(error).__name__


def strings(config: Any, _: int) -> tuple[str, Any]:
    """Short strings for the event that takes most."""
    events = config["dependencies"]
    event = max(events, key=lambda each: len(each["inputs"]) * (each.get("queue") is not False))
    data = [["10"] * (BODY_BYTES // len('"10",')), *(None for _ in event["inputs"][1:])]
    asked = {"data": data, "fn_index": event["id"], "session_hash": secrets.token_hex(5)}
    return "queue/join", asked


def nonsense(config: Any, number: int) -> tuple[str, Any]:
    """A question to a view, now and then a large or a deep one."""
    chance = random.Random(number)

    def value(depth: int) -> Any:
        name = chance.choice(WORDS)
        address = "?" + "&".join(f"{chance.choice(WORDS)}={chance.choice(WORDS)}" for _ in range(9))
        if depth and chance.random() < 0.2:
            return {each: value(depth - 1) for each in chance.sample(WORDS, 4)}
        return chance.choice([name, address, address * 40, name * 4_000, None, -1, 1e308, [name]])

    views = [each for each in config["components"] if 'class="view"' in str(each["props"])]
    asked = {name: value(6) for name in ("query", "known", "only", "action", "secret")}
    asked = {"data": asked, "component_id": chance.choice(views)["id"], "fn_name": "render"}
    return "component_server", asked | {"session_hash": secrets.token_hex(5)}


def measure(attack: Attack, n: int, at_once: int) -> None:
    """Start a server, attack it, and print what it took."""
    with TemporaryDirectory() as home, started(Path(home), EXPLORER_PAIRS="demo") as (address, app):
        with urllib.request.urlopen(f"{address}/config", timeout=300) as answer:
            config = json.load(answer)
        over, began, before = threading.Event(), time.monotonic(), group_bytes(app.pid)
        sizes, waits = [before], [0.0]

        def look() -> None:
            while not over.wait(0.05):
                asked = time.monotonic()
                post(f"{address}/gradio_api/app_id")
                waits.append(time.monotonic() - asked)
                sizes.append(group_bytes(app.pid))

        def ask(number: int) -> int | str:
            if time.monotonic() - began > MOST_SECONDS:
                return "not sent"
            path, sent = attack(config, number)
            return post(f"{address}/gradio_api/{path}", sent)

        threading.Thread(target=look).start()
        try:
            with ThreadPoolExecutor(at_once) as pool:
                statuses = Counter(pool.map(ask, range(n)))
        finally:
            over.set()
        took = time.monotonic() - began
        time.sleep(10)
        after = group_bytes(app.pid)
        tracebacks = Path(home, LOG).read_text(encoding="utf-8").count("Traceback")
    print(
        f"{n} posts of {attack.__name__} ({dict(statuses)}) in {took:.1f} s: memory "
        f"{before / 1e6:,.0f} MB before, {max(sizes) / 1e6:,.0f} at most, {after / 1e6:,.0f} after "
        f"10 s; a plain GET {max(waits):.2f} s at most; {tracebacks} tracebacks",
        flush=True,
    )


if __name__ == "__main__":
    measure(strings, POSTS, POSTS)
    measure(nonsense, QUESTIONS, 8)
