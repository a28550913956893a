"""What one address can do to a server: its memory, and how long everybody else waits meanwhile.

Each attack gets an app of its own with the demo pairs, on this machine alone:

- posts of short strings to an event of the page, as large as a body may be; no answer is read
- questions to the views of tabs that make no sense, or hardly any, each in a session of its own

Prints what came of it, the memory of the server and its processes (before, at most, and 10 s
after), the longest plain GET meanwhile, how long the next visitor waits for the page, and how many
tracebacks are in the log. After so many seconds nothing more is sent. Linux only.

    python tests/bench/attacks.py
    python tests/bench/attacks.py --posts 32 --questions 10000 --seconds 600
"""

import argparse
import json
import random
import secrets
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import HTTPError

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scoring.models.memory import group_bytes
from tests.support.serving import LOG, started

BODY_BYTES = 250_000
SETTLE_SECONDS, LOOK_SECONDS = 10.0, 0.05
NUMBERS = (("posts", 32), ("questions", 10_000), ("seconds", 600))
MOST_NESTED = 6
QUESTION = ("query", "known", "only", "action", "secret")
WORDS = (
    "tab model models pairs subset hep-go q (x+x+)+y regex 1 sort -margin panel slices lengths "
    "review page \u00b2 -5 999999999999 source /etc/passwd demo open range chosen.chars.1.2 nan: "
    "slice longer:rejected against * \ud800 <script>alert(1)</script> ../../x count main bar board "
    "tokenizer results \u0000 %00"
).split(" ")
Ask = Callable[[str, Any, int], int | str]
"""Posts one body of an attack to a server that has this config, by number; how it is answered."""


def get(url: str, body: bytes | None = None) -> int | str:
    """The status of an answer that is read to its end, or the name of an error."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            answer.read()
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except OSError as error:
        return type(error).__name__


def post_strings(address: str, config: Any, _: int) -> int | str:
    """Post a body of short strings to the event that takes most."""
    events = config["dependencies"]
    event = max(events, key=lambda each: len(each["inputs"]) * (each.get("queue") is not False))
    strings = [f"{number % 90 + 10}" for number in range(BODY_BYTES // len('"10",'))]
    data = [strings, *(None for _ in event["inputs"][1:])]
    asked = {"data": data, "fn_index": event["id"], "session_hash": secrets.token_hex(5)}
    body = json.dumps(asked, separators=(",", ":")).encode()
    return get(f"{address}/gradio_api/queue/join", body)


def nonsense(chance: random.Random, depth: int = 0) -> object:
    """A value as anybody may post it, now and then a large or a deep one."""
    name = chance.choice(WORDS)
    address = "?" + "&".join(f"{chance.choice(WORDS)}={chance.choice(WORDS)}" for _ in range(9))
    values = [name, address, address * 40, name * 4_000, None, True, -1, 1e308, [name] * 100]
    kind = chance.randrange(len(values) + (2 if depth < MOST_NESTED else 0))
    if kind < len(values):
        return values[kind]
    if kind == len(values):
        return [nonsense(chance, depth + 1) for _ in range(3)]
    return {each: nonsense(chance, depth + 1) for each in chance.sample(WORDS, 4)}


def ask_nonsense(address: str, config: Any, number: int) -> int | str:
    """Post a question to a view."""
    chance = random.Random(number)
    parts = [(each["id"], str(each["props"].get("value"))) for each in config["components"]]
    view = chance.choice([at for at, html in parts if 'class="view"' in html])
    data: object = {name: nonsense(chance) for name in QUESTION if chance.random() < 0.7}
    data = data if chance.random() < 0.9 else nonsense(chance)
    asked = {"component_id": view, "fn_name": "render", "session_hash": secrets.token_hex(5)}
    asked |= {"data": data}
    return get(f"{address}/gradio_api/component_server", json.dumps(asked).encode())


def attack(address: str, ask: Ask, n: int, at_once: int, deadline: float) -> str:
    """Ask so often, until a time of the monotonic clock; what came of it."""
    with urllib.request.urlopen(f"{address}/config", timeout=300) as answer:
        config = json.load(answer)

    def timed(number: int) -> tuple[int | str, float]:
        began = time.monotonic()
        status = "not sent" if began > deadline else ask(address, config, number)
        return status, time.monotonic() - began

    with ThreadPoolExecutor(at_once) as pool:
        found = list(pool.map(timed, range(n)))
    outcome = Counter(status for status, _ in found)
    seconds = sorted(each for _, each in found)
    answers = ", ".join(f"{count} x {status}" for status, count in outcome.items())
    return f"{answers}; p95 {seconds[int(0.95 * n)]:.2f} s, {seconds[-1]:.2f} s at most"


@contextmanager
def repeated(work: Callable[[], float]) -> Iterator[list[float]]:
    """Numbers that work gives again and again, in a thread of its own."""
    found, over = [work()], threading.Event()

    def run() -> None:
        while not over.wait(LOOK_SECONDS):
            found.append(work())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def get_seconds(url: str) -> float:
    began = time.monotonic()
    get(url)
    return time.monotonic() - began


def measure(name: str, ask: Ask, n: int, at_once: int, seconds: float) -> None:
    """Start a server, attack it, and print what it took."""
    with TemporaryDirectory() as home, started(Path(home), EXPLORER_PAIRS="demo") as (address, app):
        usual = [get_seconds(f"{address}/") for _ in range(3)][-1]
        before = group_bytes(app.pid)
        with (
            repeated(lambda: group_bytes(app.pid)) as sizes,
            repeated(lambda: get_seconds(f"{address}/gradio_api/app_id")) as waits,
        ):
            began = time.monotonic()
            outcome = attack(address, ask, n, at_once, began + seconds)
            took = time.monotonic() - began
            visitor = get_seconds(f"{address}/")
            time.sleep(SETTLE_SECONDS)
        after, peak = group_bytes(app.pid), max(sizes)
        tracebacks = Path(home, LOG).read_text(encoding="utf-8").count("Traceback")
    print(
        f"{name} ({outcome}), within {took:.1f} s\n"
        f"  memory: {before / 1e6:,.0f} MB before, {peak / 1e6:,.0f} MB at most"
        f" ({peak / before:.1f} times), {after / 1e6:,.0f} MB after {SETTLE_SECONDS:.0f} s\n"
        f"  a plain GET: {max(waits):.2f} s at most\n"
        f"  the page: {usual:.2f} s before, {visitor:.2f} s for the next visitor\n"
        f"  tracebacks in the log: {tracebacks}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, default in NUMBERS:
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    n_posts, n = asked.posts, asked.questions
    measure(f"{n_posts} posts, unread", post_strings, n_posts, n_posts, asked.seconds)
    measure(f"{n} questions", ask_nonsense, n, 8, asked.seconds)


if __name__ == "__main__":
    main()
