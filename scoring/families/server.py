"""Requests to a model's server, several at once and retried, and reward models behind one."""

import json
import logging
import math
import os
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import UTC
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Any, TypeVar

import httpx

from scoring.engine.formatting import Conversation, Prepared, conversations
from scoring.engine.scorer import TEXTS_A_PACK, Rewards, Scorer, Traits
from scoring.errors import KnownError, first_line
from scoring.families import label_weights
from scoring.spec import Message, ModelSpec, RunSettings, as_objects

logger = logging.getLogger(__name__)

KEY_VARIABLE = "OPENAI_API_KEY"  # of the environment, with the key that a server is sent
GIVE_UP = 50  # requests that fail in a row until the server is taken to refuse everything
CONNECT_SECONDS, READ_SECONDS = 10.0, 180.0  # longest waits: to connect, and for more bytes
TRIES = 5
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0  # seconds between tries; they double
LONGEST_RETRY_AFTER = 600.0  # seconds of a pause that a server may ask for
PROBE = (Message("user", "What is 2 + 2?"), Message("assistant", "It is 4."))
"""Scored when a reward model is connected to, to learn how it answers."""
_SWITCHES = ("use_activation", "activation", "softmax")
"""Names of the switch of the sigmoid or softmax over the labels, newest vLLM first."""
_ROUTES: dict[str, tuple[str, dict[str, Any]]] = {
    "/classify": ("probs", {}),
    "/pooling": ("data", {"task": "classify"}),  # else it gives a reward for each token
}
"""Path -> the field of the answer's data with the labels, and more fields of a request."""

X = TypeVar("X")
Y = TypeVar("Y")


class RequestFailed(Exception):  # noqa: N818 - it failed, which is no error of ours
    """A request without a usable answer. The text says why and holds no key.

    status: of the answer; 0 if there is none.
    refuses_all: whether every other request would be answered so too.
    """

    def __init__(self, why: str, status: int = 0) -> None:
        super().__init__(why)
        self.status = status
        self.refuses_all = 300 <= status < 400 or status in (401, 403, 404, 405)


class ErrorTally(Counter[str]):
    """Errors that end no run, counted by kind; the first of each kind is logged."""

    _lock = threading.Lock()

    def add(self, kind: str, detail: str) -> None:
        """Count an error. kind: as a sentence begins. detail: logged with the first one."""
        with self._lock:
            self[kind] += 1
            if self[kind] == 1:
                logger.warning("%s: %s", kind, detail)

    def sentences(self) -> list[str]:
        """Return the counts of kinds that came more than once."""
        with self._lock:
            return [f"{kind}: {n:,} times in all." for kind, n in self.items() if n > 1]


class Server:
    """A server that any number of threads may ask; a `KnownError` for a wrong address or key.

    url: paths are appended to it. parallel: requests that it gets at once, at least 1.
    """

    def __init__(self, url: str, parallel: int) -> None:
        _check_address(url)
        self.url = url.rstrip("/")
        self.errors = ErrorTally()
        self._parallel = parallel
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            # httpx would repeat it in an error.
            raise KnownError(
                f"The environment variable {KEY_VARIABLE} holds characters that no key has."
            )
        self._answered = False
        self._not_before = 0.0
        self._failures_in_a_row = count(1)
        self._lock = threading.Lock()
        self._thread = threading.local()
        authorization = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.Client(
            headers={"Content-Type": "application/json", **authorization},
            timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=parallel, max_keepalive_connections=parallel),
            # A proxy or .netrc of the environment would get the texts, or change the key.
            trust_env=False,
            follow_redirects=False,
        )
        # A scorer is let go while others may still ask by it: the last who does hangs up.
        weakref.finalize(self, self._client.close)

    def traits(self, reading: str, template: str) -> Traits:
        """Return the traits of a model behind it. A pack keeps all its requests busy."""
        return Traits(
            reading=reading,
            path=f"asked over the network, {self._parallel} at once",
            budget=max(TEXTS_A_PACK, self._parallel),
            template=template,
            libraries=("httpx",),
        )

    def each(self, function: Callable[[X], Y], items: Iterable[X]) -> dict[X, Y]:
        """Return results of a posting function by item, without failed ones, or a `KnownError`."""
        stop = threading.Event()

        def ask(item: X) -> Y | None:
            self._thread.stop = stop
            try:
                return None if stop.is_set() else self._ask(function, item)
            except CancelledError:
                return None
            except BaseException:
                stop.set()
                raise

        threads = ThreadPoolExecutor(self._parallel)
        try:
            answers = {item: threads.submit(ask, item) for item in dict.fromkeys(items)}
            for answer in wait(answers.values(), return_when=FIRST_EXCEPTION).done:
                answer.result()  # raises what ended it, without waiting for those under way
            results = {item: answer.result() for item, answer in answers.items()}
            return {item: result for item, result in results.items() if result is not None}
        finally:
            stop.set()
            threads.shutdown(wait=False, cancel_futures=True)

    def _ask(self, function: Callable[[X], Y], item: X) -> Y | None:
        try:
            answer = function(item)
        except RequestFailed as failure:
            if failure.refuses_all:
                raise self.hopeless(failure) from failure
            self.errors.add(f"A request to {self.url} failed, its pair is missing", str(failure))
            in_a_row = next(self._failures_in_a_row)
            if in_a_row >= GIVE_UP:
                raise KnownError(
                    f"The server at {self.url} failed {in_a_row} requests in a row; the last: "
                    f"{failure}. Whole packs are kept: check the server, and go on."
                ) from failure
            return None
        self._failures_in_a_row = count(1)
        return answer

    def post(self, path: str, body: dict[str, Any], read: Callable[[Any], Y]) -> Y:
        """Send one request, again where that may help, and read its answer.

        Raises RequestFailed for a refusal or another answer than expected, a `KnownError` if no
        connection can be made, and CancelledError if it belongs to a call of `each` that is over.

        read: takes what is wanted out of the answer's JSON; may raise as any look-up does.
        """
        content = json.dumps(body).encode()
        stop = getattr(self._thread, "stop", threading.Event())
        for tried in range(1, TRIES + 1):
            if stop.wait(max(0.0, self._not_before - time.monotonic())):
                raise CancelledError
            try:
                response = self._client.post(self.url + path, content=content)
            except httpx.RequestError as error:
                is_refused = isinstance(error, httpx.ConnectError) and not self._answered
                is_unreached = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if is_refused or (is_unreached and tried == TRIES):
                    kept = " Whole packs that it scored are kept." if self._answered else ""
                    raise KnownError(
                        f"The server at {self.url} cannot be reached: {first_line(error)}. Check "
                        f"that it runs and that the address is right.{kept}"
                    ) from None
                slow = isinstance(error, httpx.TimeoutException)
                failure = RequestFailed("it took too long" if slow else first_line(error))
            else:
                self._answered = True
                if response.is_success:
                    return _read(response, read)
                failure = self._refusal(response)
                if response.status_code != 429 and response.status_code < 500:
                    raise failure
                pause = _seconds(response.headers.get("Retry-After", ""))
                until = time.monotonic() + min(LONGEST_RETRY_AFTER, pause)
                with self._lock:  # no thread asks before, since a limit is one for all
                    self._not_before = max(self._not_before, until)
            if tried < TRIES:
                # At random, so that not all threads come back at once.
                pause = FIRST_PAUSE * 2.0 ** (tried - 1) * random.uniform(0.5, 1)  # noqa: S311
                stop.wait(min(LONGEST_PAUSE, pause))
        raise failure

    def hopeless(self, failure: RequestFailed) -> KnownError:
        """Return the error that ends a run, of a failure that every request would share."""
        if failure.status in (401, 403):
            why = f"does not accept the key in {KEY_VARIABLE}" if self._key else "wants a key"
            return KnownError(
                f"The server at {self.url} {why} ({failure.status}): set the environment variable "
                f"{KEY_VARIABLE} to a key of that server."
            )
        return KnownError(
            f"The server at {self.url} refuses what it is asked: {failure}. Check its address "
            "(that of an OpenAI-compatible server ends in /v1) and the model's name."
        )

    def _refusal(self, response: httpx.Response) -> RequestFailed:
        status = response.status_code
        if status in (401, 403):  # a refused key is not repeated, not even in parts
            return RequestFailed(f"it answered {status}", status)
        words = response.headers.get("Location", "") if response.is_redirect else _message(response)
        if self._key:
            words = words.replace(self._key, "...")
        words = " ".join(words.split())[:200].rstrip(".")
        return RequestFailed(f"it answered {status}" + (f", {words}" if words else ""), status)


def _check_address(url: str) -> None:
    try:
        address = httpx.URL(url)
        address.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise KnownError(f"{url!r} is no address of a server: {first_line(error)}.") from error
    if address.userinfo:
        raise KnownError(
            f"The server's address holds a user or a password. Leave them out, and put the key in "
            f"the environment variable {KEY_VARIABLE}."
        )
    complete = address.scheme in ("http", "https") and address.host
    if not complete or (address.port or 1) > 65_535:
        raise KnownError(
            f"{url!r} is no address of a server; one looks like http://localhost:8000/v1."
        )


def _read(response: httpx.Response, read: Callable[[Any], Y]) -> Y:
    try:
        return read(response.json())
    except json.JSONDecodeError:
        why = "its answer is not JSON"
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
        why = "its answer has another shape than this protocol's"
    raise RequestFailed(why, response.status_code)


def _message(response: httpx.Response) -> str:
    try:
        message = response.json()
    except (ValueError, RecursionError):
        return response.text
    for name in ("error", "message", "detail"):
        if isinstance(message, dict) and name in message:
            message = message[name]
    return str(message)


def _seconds(header: str) -> float:
    """Return what a Retry-After header asks for; 0 if it cannot be read.

    >>> [_seconds(header) for header in ("2", "soon", "-1", "Wed, 21 Oct 2015 07:28:00 GMT")]
    [2.0, 0.0, 0.0, 0.0]
    """
    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(ValueError, OverflowError):
        until = parsedate_to_datetime(header)
        aware = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, aware.timestamp() - time.time())
    return 0.0


class Served(Scorer):
    """Family served: a reward model behind vLLM, which applies its chat template itself.

    It is asked as vLLM documents (POST /classify and POST /pooling, both with `messages`), but was
    tested against a small server of our own alone. The server cuts nothing: a longer conversation
    than it allows is refused, and its pair is missing. Raises a `KnownError` for a server without
    such a reward model, or with several labels and no reading.
    """

    def __init__(self, spec: ModelSpec, settings: RunSettings) -> None:
        self.spec = spec
        root = spec.url.rstrip("/").removesuffix("/v1")
        self._server = Server(root, settings.parallel)
        n_labels = self._find_route()
        switch = self._find_switch()
        self._switch = switch or _SWITCHES[0]
        self._weights, reading = label_weights(spec, n_labels)
        if switch is None:
            logger.warning(
                "%s gives values from 0 to 1, and its server has no switch for that: large rewards "
                "may be equal",
                spec.name,
            )
            reading += ", maybe after a sigmoid or softmax"
        else:
            reading += f", raw ({switch} off)"
        reading += f", from POST {self._route}"
        self._traits = self._server.traits(reading, "the server's own")

    def error_counts(self) -> list[str]:
        """As of `Scorer`."""
        return self._server.errors.sentences()

    def rewards(self, pack: Sequence[Prepared]) -> Rewards:
        """As of `Scorer`, or KnownError: the server cannot be reached, or refuses everything."""
        sides = [tuple(each) for each in conversations([prepared.pair for prepared in pack])]
        reward_of = self._server.each(self._reward, sides)
        rewards = [reward_of.get(side, math.nan) for side in sides]
        return list(zip(rewards[::2], rewards[1::2], strict=True))

    def _reward(self, conversation: Conversation) -> float:
        labels = self._labels(conversation, {self._switch: False})
        if len(labels) != len(self._weights):
            raise RequestFailed(f"its answer has {len(labels)} labels, not {len(self._weights)}")
        return sum(weight * label for weight, label in zip(self._weights, labels, strict=True))

    def _find_route(self) -> int:
        # Choose the first route that is answered, and return its number of labels.
        tried = []
        for self._route in _ROUTES:
            try:
                return len(self._labels(PROBE, {_SWITCHES[0]: False}))
            except RequestFailed as failure:
                if failure.refuses_all and failure.status not in (404, 405):
                    raise self._server.hopeless(failure) from failure
                tried.append(f"to POST {self._route} with messages, {failure}")
        raise KnownError(
            f"The server at {self._server.url} gives no rewards under the model name "
            f"{self.spec.name}: {'; '.join(tried)}. Start it with vllm serve MODEL --runner "
            "pooling --convert classify, and give the name that it serves the model under."
        )

    def _find_switch(self) -> str | None:
        # The name that switches the activation off; None if no name makes a difference. A server
        # ignores names that it does not know. So one is believed where values lie outside of 0 to
        # 1, as none do after an activation, or where off and on differ.
        for name in _SWITCHES:
            with suppress(RequestFailed):
                off = self._labels(PROBE, {name: False})
                if not all(0 <= label <= 1 for label in off):
                    return name
                on = self._labels(PROBE, {name: True})
                pairs = zip(off, on, strict=False)
                if not all(math.isclose(*pair, rel_tol=1e-3) for pair in pairs):
                    return name
        return None

    def _labels(self, conversation: Conversation, switch: dict[str, bool]) -> tuple[float, ...]:
        field, more = _ROUTES[self._route]
        body = {
            "model": self.spec.name,
            "messages": as_objects(conversation),
            "add_generation_prompt": False,
            **more,
            **switch,
        }

        def read(answer: Any) -> tuple[float, ...]:
            labels = answer["data"][0][field]
            if not isinstance(labels, list) or not labels:
                raise TypeError("labels come as a list")
            is_by_token = any(isinstance(label, list) for label in labels)
            return () if is_by_token else tuple(map(float, labels))

        labels = self._server.post(self._route, body, read)
        if not labels:
            raise KnownError(
                f"The server at {self._server.url} gives a reward for each token, not one for a "
                f"conversation, as a reward model should; serve {self.spec.name} as a sequence "
                "classifier (vllm serve MODEL --runner pooling --convert classify)."
            )
        return labels
