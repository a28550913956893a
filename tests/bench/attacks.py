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
from urllib.error import HTTPError

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scoring.models.memory import group_bytes
from tests.support.serving import LOG, started

BODY_BYTES = 250_000
SETTLE_SECONDS = 10.0
LOOK_SECONDS = 0.05
NUMBERS = (("posts", 32), ("questions", 10_000), ("seconds", 600))
MOST_NESTED = 6
QUESTION = ("query", "known", "only", "action", "secret")
WORDS = (
    "tab", "model", "models", "pairs", "subset", "hep-go", "q", "(x+x+)+y", "regex", "1", "sort",
    "-margin", "panel", "slices", "rewards", "lengths", "review", "page", "\u00b2", "-5", "9" * 30,
    "source", "/etc/passwd", "demo", "open", "a", "b", "range", "chosen.chars.1.2", "margin",
    "nan:", "slice", "longer:rejected", "against", "*", "\ud800", "<img src=x onerror=alert(1)>",
    "../../x", "count", "paper", "measure", "main", "bar", "board", "tokenizer",
    "results", "\u0000", "%00",
)  # fmt: skip
Attack = Callable[[str, float], str]
"""Attacks a server at an address until a time of the monotonic clock; returns what came of it."""


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


def post_strings(n: int) -> Attack:
    """Post so many bodies at once, each in a session of its own."""

    def attack(address: str, deadline: float) -> str:
        with urllib.request.urlopen(f"{address}/config", timeout=300) as answer:
            events = json.load(answer)["dependencies"]
        event = max(events, key=lambda each: len(each["inputs"]) * (each.get("queue") is not False))
        strings = [f"{number % 90 + 10}" for number in range(BODY_BYTES // len('"10",'))]
        data = [strings, *(None for _ in event["inputs"][1:])]
        asked = {"data": data, "fn_index": event["id"], "session_hash": "{session}"}
        body = json.dumps(asked, separators=(",", ":"))

        def post(_: int) -> int | str:
            if time.monotonic() > deadline:
                return "not sent"
            sent = body.replace("{session}", secrets.token_hex(5)).encode()
            return get(f"{address}/gradio_api/queue/join", sent)

        with ThreadPoolExecutor(n) as pool:
            answers = Counter(pool.map(post, range(n)))
        outcome = ", ".join(f"{count} x {answer}" for answer, count in answers.items())
        return f"{len(body) / 1e6:.1f} MB each: {outcome}"

    return attack


def nonsense(chance: random.Random, depth: int = 0) -> object:
    """A value as anybody may post it, now and then a large or a deep one."""
    name = chance.choice(WORDS)
    address = "&".join(f"{chance.choice(WORDS)}={chance.choice(WORDS)}" for _ in range(9))
    values: list[Callable[[], object]] = [
        lambda: name, lambda: f"?{address}", lambda: f"?{address}" * 40, lambda: name * 4_000,
        lambda: None, lambda: True, lambda: -1, lambda: 1e308, lambda: [name] * 100,
    ]  # fmt: skip
    if depth < MOST_NESTED:
        values += [
            lambda: [nonsense(chance, depth + 1) for _ in range(3)],
            lambda: {each: nonsense(chance, depth + 1) for each in chance.sample(WORDS, 4)},
        ]
    return chance.choice(values)()


def ask_nonsense(n: int) -> Attack:
    """Post so many questions, eight at once."""

    def attack(address: str, deadline: float) -> str:
        with urllib.request.urlopen(f"{address}/config", timeout=300) as answer:
            components = json.load(answer)["components"]
        views = [
            each["id"] for each in components if 'class="view"' in str(each["props"].get("value"))
        ]

        def ask(number: int) -> tuple[int | str, float]:
            chance = random.Random(number)
            data = {name: nonsense(chance) for name in QUESTION if chance.random() < 0.7}
            asked = {
                "component_id": chance.choice(views),
                "fn_name": "render",
                "session_hash": secrets.token_hex(5),
                "data": data if chance.random() < 0.9 else nonsense(chance),
            }
            if time.monotonic() > deadline:
                return "not sent", 0.0
            began = time.monotonic()
            status = get(f"{address}/gradio_api/component_server", json.dumps(asked).encode())
            return status, time.monotonic() - began

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, range(n)))
        answers = Counter(status for status, _ in found)
        outcome = ", ".join(f"{count} x {answer}" for answer, count in answers.items())
        seconds = sorted(each for _, each in found)
        return f"{outcome}; p95 {seconds[int(0.95 * n)]:.2f} s, {seconds[-1]:.2f} s at most"

    return attack


@contextmanager
def repeated(work: Callable[[], float], seconds: float) -> Iterator[list[float]]:
    """Numbers that work gives again and again, in a thread of its own."""
    found, over = [work()], threading.Event()

    def run() -> None:
        while not over.wait(seconds):
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


def measure(name: str, attack: Attack, seconds: float) -> None:
    """Start a server, attack it, and print what it took."""
    with TemporaryDirectory() as home, started(Path(home), EXPLORER_PAIRS="demo") as (address, app):
        usual = [get_seconds(f"{address}/") for _ in range(3)][-1]
        before = group_bytes(app.pid)
        with (
            repeated(lambda: group_bytes(app.pid), LOOK_SECONDS) as sizes,
            repeated(lambda: get_seconds(f"{address}/gradio_api/app_id"), LOOK_SECONDS) as waits,
        ):
            began = time.monotonic()
            outcome = attack(address, began + seconds)
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
    measure(f"{asked.posts} posts, unread", post_strings(asked.posts), asked.seconds)
    measure(f"{asked.questions} questions", ask_nonsense(asked.questions), asked.seconds)


if __name__ == "__main__":
    main()
