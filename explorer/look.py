"""How the open pair is looked at: a part of a view that a link carries."""

from dataclasses import dataclass

from explorer.data.search import Query
from explorer.diffs import DIFFS, Diff
from scoring.errors import KnownError, shown

_NO_QUERY = Query()


@dataclass(frozen=True, slots=True)
class Look:
    """How the reader shows a pair.

    diff: what is compared to mark the differences.
    query: what was searched for; its hits are marked.
    spaces: whether white space and characters that cannot be seen are shown.
    rendered: whether texts are shown as the Markdown they may be, without any marks.
    """

    diff: Diff = "auto"
    query: Query = _NO_QUERY
    spaces: bool = False
    rendered: bool = False


def checked_diff(value: object) -> Diff:
    """A diff from a value that anybody may have sent; None is "auto".

    Raises:
        KnownError: there is no such diff.

    >>> checked_diff("words"), checked_diff(None)
    ('words', 'auto')
    """
    diff = next((known for known in DIFFS if known == ("auto" if value is None else value)), None)
    if diff is None:
        raise KnownError(f"Differences are shown as {', '.join(DIFFS)}, not {shown(value)}.")
    return diff
