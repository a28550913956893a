"""Asking a server over HTTP: several requests at once, patiently, and never telling the key."""

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
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from scoring.errors import KnownError
from scoring.hub.access import first_line

logger = logging.getLogger(__name__)

KEY_VARIABLE = "OPENAI_API_KEY"
"""The environment variable with the key that a server is sent."""
GIVE_UP = 50
"""Requests that fail one after the other until the server is taken to refuse everything."""
_SAID = 200
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

    @property
    def refuses_all(self) -> bool:
        """Whether every other request would be answered so too."""
        return 300 <= self.status < 400 or self.status in (401, 403, 404, 405)


class Troubles:
    """What goes wrong again and again: logged when it first does, and counted."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, what: str, words: str) -> None:
        """what: the kind of trouble, as a sentence begins. words: what is said of this one."""
        with self._lock:
            self._counts[what] += 1
            is_first = self._counts[what] == 1
        if is_first:
            logger.warning("%s: %s", what, words)

    def clear(self) -> None:
        """Begin anew."""
        with self._lock:
            self._counts.clear()

    def told(self) -> list[str]:
        """How often each kind came that came more than once, a sentence each."""
        with self._lock:
            return [f"{what}: {n:,} times in all." for what, n in self._counts.items() if n > 1]


class Server:
    """One server, as asked from any number of threads."""

    def __init__(
        self,
        url: str,
        parallel: int,
        patience: Patience = PATIENCE,
        troubles: Troubles | None = None,
    ) -> None:
        """
        url: paths are appended to it.
        parallel: requests that it gets at once.
        troubles: gets the requests that fail.

        Raises:
            KnownError: the address, the number or the key in the environment cannot be used.
        """
        _check_address(url)
        if parallel < 1:
            raise KnownError(f"A server gets at least 1 request at once, not {parallel}.")
        self.url = url.rstrip("/")
        self._parallel = parallel
        self._patience = patience
        self.troubles = troubles or Troubles()
        self._key = _key()
        self._answered = False
        self._not_before = 0.0
        self._in_a_row = 0
        self._lock = threading.Lock()
        self._asking = threading.local()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(patience.read, connect=patience.connect, pool=None),
            limits=httpx.Limits(max_connections=parallel, max_keepalive_connections=parallel),
            # A proxy or .netrc of the environment would get the texts, or change the key.
            trust_env=False,
            follow_redirects=False,
        )
        # A scorer is let go while others may still ask by it: the last who does hangs up.
        weakref.finalize(self, self._client.close)

    @property
    def path(self) -> str:
        """How it is asked, in words."""
        return f"asked over the network, {self._parallel} at once"

    def each(self, function: Callable[[X], Y], items: Iterable[X]) -> list[Y | None]:
        """What a function that asks gives for every item; None where its request finally failed.

        Raises:
            KnownError: the server cannot be reached, or refuses everything.
        """
        over = threading.Event()

        def tried(item: X) -> Y | None:
            if over.is_set():
                return None
            self._asking.over = over
            try:
                return self._tried(function, item)
            except CancelledError:
                return None
            except BaseException:
                over.set()
                raise

        threads = ThreadPoolExecutor(self._parallel)
        try:
            asked = [threads.submit(tried, item) for item in items]
            for each in wait(asked, return_when=FIRST_EXCEPTION).done:
                each.result()  # raises what ended it, without waiting for those under way
            return [each.result() for each in asked]
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
        over = getattr(self._asking, "over", threading.Event())
        for tried in range(1, self._patience.tries + 1):
            if over.wait(max(0.0, self._not_before - time.monotonic())):
                raise CancelledError
            try:
                response = self._client.post(self.url + path, content=content)
            except httpx.RequestError as error:
                unreached = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                refused = isinstance(error, httpx.ConnectError) and not self._answered
                if unreached and (refused or tried == self._patience.tries):
                    raise self._unreachable(error) from None
                slow = isinstance(error, httpx.TimeoutException)
                failure = RequestFailed("it took too long" if slow else first_line(error))
            else:
                self._answered = True
                if response.is_success:
                    return _read(response, read)
                failure = self._refusal(response)
                if response.status_code != 429 and response.status_code < 500:
                    raise failure
                self._pause_all(_seconds(response.headers.get("Retry-After", "")))
            if tried < self._patience.tries:
                over.wait(self._pause(tried))
        raise failure

    def hopeless(self, failure: RequestFailed) -> KnownError:
        """What a person is told of a failure that every request would share."""
        if failure.status in (401, 403):
            told = f"does not accept the key in {KEY_VARIABLE}" if self._key else "wants a key"
            return KnownError(
                f"The server at {self.url} {told} ({failure.status}): set the environment variable "
                f"{KEY_VARIABLE} to a key of that server."
            )
        return KnownError(
            f"The server at {self.url} refuses what it is asked: {failure}. Check its address "
            "(that of an OpenAI-compatible server ends in /v1) and the model's name."
        )

    def _tried(self, function: Callable[[X], Y], item: X) -> Y | None:
        try:
            answer = function(item)
        except RequestFailed as failure:
            if failure.refuses_all:
                raise self.hopeless(failure) from failure
            with self._lock:
                self._in_a_row += 1
                in_a_row = self._in_a_row
            self.troubles.add(f"A request to {self.url} failed, its pair is missing", str(failure))
            if in_a_row >= GIVE_UP:
                raise KnownError(
                    f"The server at {self.url} failed {in_a_row} requests in a row; the last: "
                    f"{failure}. Whole packs are kept: see to the server, and go on."
                ) from failure
            return None
        with self._lock:
            self._in_a_row = 0
        return answer

    def _pause(self, tried: int) -> float:
        own = self._patience.wait * 2.0 ** (tried - 1)
        own *= random.uniform(0.5, 1)  # noqa: S311 - so that not all threads come back at once
        return min(self._patience.longest, own)

    def _pause_all(self, seconds: float) -> None:
        """Let no thread ask for so long, since a limit is one for all."""
        until = time.monotonic() + min(self._patience.most_asked, seconds)
        with self._lock:
            self._not_before = max(self._not_before, until)

    def _refusal(self, response: httpx.Response) -> RequestFailed:
        status = response.status_code
        if status in (401, 403):  # a refused key is not repeated, not even in parts
            return RequestFailed(f"it answered {status}", status)
        words = response.headers.get("Location", "") if response.is_redirect else _words(response)
        if self._key:
            words = words.replace(self._key, "...")
        words = " ".join(words.split())[:_SAID].rstrip(".")
        return RequestFailed(f"it answered {status}" + (f", {words}" if words else ""), status)

    def _unreachable(self, error: httpx.RequestError) -> KnownError:
        kept = " Whole packs that it scored are kept." if self._answered else ""
        return KnownError(
            f"The server at {self.url} cannot be reached: {first_line(error)}. Check that it runs "
            f"and that the address is right.{kept}"
        )


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


def _key() -> str:
    """The key in the environment; one that cannot stand in a header would be told in errors."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not (key.isascii() and (key.isprintable() or not key)):
        raise KnownError(
            f"The environment variable {KEY_VARIABLE} holds characters that no key has."
        )
    return key


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
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return 0.0
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
