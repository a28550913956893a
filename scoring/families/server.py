"""Requests to a model's server: several at once, retried, and never with the key in an error."""

import json
import logging
import os
import random
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from scoring.engine.scorer import TEXTS_A_PACK, Traits
from scoring.errors import KnownError
from scoring.hub.access import first_line

logger = logging.getLogger(__name__)

KEY_VARIABLE = "OPENAI_API_KEY"
"""The environment variable with the key that a server is sent."""
GIVE_UP = 50
"""Requests that fail one after the other until the server is taken to refuse everything."""
_QUOTED = 200
"""Characters of a server's own words that are repeated."""
_LAST_PORT = 65_535

X = TypeVar("X")
Y = TypeVar("Y")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server is waited for, in seconds.

    connect, read: until a connection stands, and until something is heard on it.
    tries: how often a request is sent before it has failed.
    wait: before the second try; doubled before each further one.
    longest: between two tries at most, where the server asks for nothing.
    most_asked: that a server is left alone where it asks for that.
    """

    connect: float = 10
    read: float = 180
    tries: int = 5
    wait: float = 0.5
    longest: float = 60
    most_asked: float = 600


PATIENCE = Patience()


class RequestFailed(Exception):  # noqa: N818 - it failed, which is no error of ours
    """A request without a usable answer. The text says why and holds no key.

    status: what the server answered with; 0 where it did not.
    """

    def __init__(self, why: str, status: int = 0) -> None:
        super().__init__(why)
        self.status = status
        self.refuses_all = 300 <= status < 400 or status in (401, 403, 404, 405)
        """Whether every other request would be answered so too."""


class ErrorTally:
    """Errors that end no run: each kind is logged when it first comes, and counted."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, kind: str, detail: str) -> None:
        """kind: as a sentence begins. detail: what is logged of the first one."""
        with self._lock:
            self._counts[kind] += 1
            if self._counts[kind] == 1:
                logger.warning("%s: %s", kind, detail)

    def clear(self) -> None:
        """Count from 0."""
        with self._lock:
            self._counts.clear()

    def sentences(self) -> list[str]:
        """How often each kind came that came more than once."""
        with self._lock:
            return [f"{kind}: {n:,} times in all." for kind, n in self._counts.items() if n > 1]


class Server:
    """One server, as asked from any number of threads."""

    def __init__(
        self,
        url: str,
        parallel: int,
        patience: Patience = PATIENCE,
        errors: ErrorTally | None = None,
    ) -> None:
        """
        url: paths are appended to it.
        parallel: requests that it gets at once.
        errors: counts the requests that fail.

        Raises:
            KnownError: the address, the number or the key in the environment cannot be used.
        """
        _check_address(url)
        if parallel < 1:
            raise KnownError(f"A server gets at least 1 request at once, not {parallel}.")
        self.url = url.rstrip("/")
        self.errors = errors or ErrorTally()
        self._parallel = parallel
        self._patience = patience
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            # httpx would repeat it in an error.
            raise KnownError(
                f"The environment variable {KEY_VARIABLE} holds characters that no key has."
            )
        self._answered = False
        self._not_before = 0.0
        self._failures_in_a_row = 0
        self._lock = threading.Lock()
        self._thread = threading.local()
        authorization = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.Client(
            headers={"Content-Type": "application/json", **authorization},
            timeout=httpx.Timeout(patience.read, connect=patience.connect, pool=None),
            limits=httpx.Limits(max_connections=parallel, max_keepalive_connections=parallel),
            # A proxy or .netrc of the environment would get the texts, or change the key.
            trust_env=False,
            follow_redirects=False,
        )
        # A scorer is let go while others may still ask by it: the last who does hangs up.
        weakref.finalize(self, self._client.close)

    def traits(self, reading: str, template: str) -> Traits:
        """What the numbers of a model behind it rest on. A pack keeps all its requests busy."""
        return Traits(
            reading=reading,
            path=f"asked over the network, {self._parallel} at once",
            budget=max(TEXTS_A_PACK, self._parallel),
            template=template,
            libraries=("httpx",),
        )

    def each(self, function: Callable[[X], Y], items: Iterable[X]) -> list[Y | None]:
        """What a function that asks gives for every item; None where its request finally failed.

        Raises:
            KnownError: the server cannot be reached, or refuses everything.
        """
        over = threading.Event()

        def ask(item: X) -> Y | None:
            self._thread.over = over
            try:
                return None if over.is_set() else self._count_failures(function, item)
            except CancelledError:
                return None
            except BaseException:
                over.set()
                raise

        threads = ThreadPoolExecutor(self._parallel)
        try:
            answers = [threads.submit(ask, item) for item in items]
            for answer in wait(answers, return_when=FIRST_EXCEPTION).done:
                answer.result()  # raises what ended it, without waiting for those under way
            return [answer.result() for answer in answers]
        finally:
            over.set()
            threads.shutdown(wait=False, cancel_futures=True)

    def post(self, path: str, body: dict[str, Any], read: Callable[[Any], Y]) -> Y:
        """Send one request, again where that may help, and read its answer.

        read: takes what is wanted out of the answer's JSON; may raise as any look-up does.

        Raises:
            RequestFailed: there is no answer, it is a refusal, or it has another shape.
            KnownError: no connection can be made.
            CancelledError: `each`, of which it is one, is over.
        """
        content = json.dumps(body).encode()
        patience, over = self._patience, getattr(self._thread, "over", threading.Event())
        for tried in range(1, patience.tries + 1):
            if over.wait(max(0.0, self._not_before - time.monotonic())):
                raise CancelledError
            try:
                response = self._client.post(self.url + path, content=content)
            except httpx.RequestError as error:
                is_refused = isinstance(error, httpx.ConnectError) and not self._answered
                is_unreached = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if is_refused or (is_unreached and tried == patience.tries):
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
                asked = min(patience.most_asked, _seconds(response.headers.get("Retry-After", "")))
                until = time.monotonic() + asked
                with self._lock:  # no thread asks before, since a limit is one for all
                    self._not_before = max(self._not_before, until)
            if tried < patience.tries:
                # At random, so that not all threads come back at once.
                pause = patience.wait * 2.0 ** (tried - 1) * random.uniform(0.5, 1)  # noqa: S311
                over.wait(min(patience.longest, pause))
        raise failure

    def hopeless(self, failure: RequestFailed) -> KnownError:
        """The error that ends a run, of a failure that every request would share."""
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

    def _count_failures(self, function: Callable[[X], Y], item: X) -> Y | None:
        try:
            answer = function(item)
        except RequestFailed as failure:
            if failure.refuses_all:
                raise self.hopeless(failure) from failure
            self.errors.add(f"A request to {self.url} failed, its pair is missing", str(failure))
            with self._lock:
                self._failures_in_a_row += 1
                in_a_row = self._failures_in_a_row
            if in_a_row >= GIVE_UP:
                raise KnownError(
                    f"The server at {self.url} failed {in_a_row} requests in a row; the last: "
                    f"{failure}. Whole packs are kept: see to the server, and go on."
                ) from failure
            return None
        with self._lock:
            self._failures_in_a_row = 0
        return answer

    def _refusal(self, response: httpx.Response) -> RequestFailed:
        status = response.status_code
        if status in (401, 403):  # a refused key is not repeated, not even in parts
            return RequestFailed(f"it answered {status}", status)
        words = response.headers.get("Location", "") if response.is_redirect else _words(response)
        if self._key:
            words = words.replace(self._key, "...")
        words = " ".join(words.split())[:_QUOTED].rstrip(".")
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
    if not complete or (address.port or 1) > _LAST_PORT:
        raise KnownError(
            f"{url!r} is no address of a server; one looks like http://localhost:8000/v1."
        )


def _read(response: httpx.Response, read: Callable[[Any], Y]) -> Y:
    try:
        return read(response.json())
    except json.JSONDecodeError:
        why = "its answer is no JSON"
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError):
        why = "its answer has another shape than this protocol's"
    raise RequestFailed(why, response.status_code)


def _words(response: httpx.Response) -> str:
    try:
        found = response.json()
    except (ValueError, RecursionError):
        return response.text
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and name in found:
            found = found[name]
    return str(found)


def _seconds(header: str) -> float:
    """What a Retry-After header asks for; 0 where it says nothing that is understood.

    >>> [_seconds(header) for header in ("2", "soon", "-1", "Wed, 21 Oct 2015 07:28:00 GMT")]
    [2.0, 0.0, 0.0, 0.0]
    """
    with suppress(ValueError):
        return max(0.0, float(header))
    with suppress(ValueError, OverflowError):
        until = parsedate_to_datetime(header)
        aware = until if until.tzinfo else until.replace(tzinfo=UTC)
        return max(0.0, (aware - datetime.now(UTC)).total_seconds())
    return 0.0
