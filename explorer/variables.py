"""Environment variables, taken apart: numbers, switches, folders and lists.

Every function raises `KnownError`, naming the variable, its value and what is allowed.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from scoring.errors import KnownError
from scoring.hub.access import parse_hub_id
from scoring.models.policy import DEMO
from scoring.spec import BASELINES

OFF = ("", "0", "false", "no")
ON = ("1", "true", "yes")


def number(environ: Mapping[str, str], name: str, default: float | None) -> float | None:
    """A positive number, "none" for no limit, or the default where nothing is set.

    >>> number({"X": "2.5"}, "X", 1), number({}, "X", 1), number({"X": "none"}, "X", 1)
    (2.5, 1, None)
    """
    text = environ.get(name, "").strip()
    if not text:
        return default
    if text.lower() == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e12:
        raise KnownError(f"{name} is {text!r}; it must be a number above 0, or none.")
    return value


def switch(environ: Mapping[str, str], name: str) -> bool:
    """Whether a variable is on.

    >>> switch({"X": "yes"}, "X"), switch({}, "X")
    (True, False)
    """
    text = environ.get(name, "").strip().lower()
    if text not in (*OFF, *ON):
        raise KnownError(f"{name} is {text!r}; it must be 0 or 1.")
    return text in ON


def folder(environ: Mapping[str, str], name: str, default: str) -> Path:
    """A folder, with its user's home for a tilde."""
    text = environ.get(name) or default
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise KnownError(f"{name} is {text!r}; there is no such user.") from error


def listed(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """What stands between commas, each once; nothing where nothing is set.

    >>> listed({"X": " a, b,,a "}, "X")
    ('a', 'b')
    """
    parts = (part.strip() for part in environ.get(name, "").split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def models(environ: Mapping[str, str], name: str, *, folders: bool) -> tuple[str, ...]:
    """Models as they are typed. folders: whether some may lie on this machine.

    >>> models({"X": "org/a, org/b@v1"}, "X", folders=False)
    ('org/a', 'org/b@v1')
    """
    found = listed(environ, name)
    for each in found:
        hub_id = parse_hub_id(each)
        is_id = hub_id is not None and hub_id.split is None
        if not (is_id or folders or each in (DEMO, *BASELINES)):
            raise KnownError(
                f"{name} names {each!r}; it must hold ids of the Hub such as org/name or "
                "org/name@revision, with commas between them."
            )
    return found


def addresses(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Addresses of servers, without a slash at their end.

    >>> addresses({"X": "http://gpu:8000/v1/"}, "X")
    ('http://gpu:8000/v1',)
    """
    found = listed(environ, name)
    for each in found:
        if "@" in each:
            raise KnownError(
                f"{name} has an address with a user or a password. Leave them out: the key of a "
                "server belongs in OPENAI_API_KEY."
            )
        if not _is_address(each):
            raise KnownError(
                f"{name} names {each!r}; it must hold addresses such as http://localhost:8000/v1, "
                "with commas between them."
            )
    return tuple(each.rstrip("/") for each in found)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
