"""Query strings of links: written for people, read whatever they say."""

from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode

from explorer.core.validation import repaired

LONGEST_LINK = 20_000
"""Characters of a query string that are looked at."""
MOST_DROPPED = 20
"""Parts that mean nothing that are named."""
IGNORED = ("tab", "view", "__theme", "__sign", "logs")
"""What Gradio and Spaces write into an address for themselves."""


def written(parts: Iterable[tuple[str, str]]) -> str:
    """A query string, without "?", that a person can read.

    >>> written([("subset", "hep-rust"), ("q", "a&b"), ("source", "org/name@1")])
    'subset=hep-rust&q=a%26b&source=org/name@1'
    """
    return urlencode(list(parts), safe="/:@")


def parts_of(query_string: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Names and values of a query string, with or without its "?", and "…" where it was cut.

    >>> parts_of("?a=1&b=%C3%A9&c")
    ([('a', '1'), ('b', 'é'), ('c', '')], [])
    """
    query_string, dropped = query_string.removeprefix("?"), []
    if len(query_string) > LONGEST_LINK:
        # What the cut goes through would say something else.
        query_string, dropped = query_string[: LONGEST_LINK + 1].rpartition("&")[0], ["…"]
    return parse_qsl(repaired(query_string), keep_blank_values=True, errors="replace"), dropped


def as_dropped(name: str, value: str) -> str:
    """A part that means nothing, as it is told."""
    return f"{name}={value}"[:80]


def ignored(dropped: Iterable[str]) -> list[str]:
    """A sentence on parts that mean nothing; none where there are none.

    >>> ignored(["page=²", "b=1"]), ignored([])
    (['Ignored in the link: page=² · b=1'], [])
    """
    parts = " · ".join(dropped)
    return [f"Ignored in the link: {parts}"] if parts else []


def first_dropped(dropped: list[str]) -> tuple[str, ...]:
    """The first of the parts that mean nothing."""
    return tuple(dropped if len(dropped) <= MOST_DROPPED else [*dropped[:MOST_DROPPED], "…"])
