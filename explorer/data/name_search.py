"""Search among names by regular expressions: commas between alternatives, spaces between words."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.validation import repaired
from explorer.data.search import LONGEST_QUERY
from scoring.errors import KnownError
from scoring.hub.access import first_line


def matching_names(names: Sequence[str], search: str) -> list[bool]:
    """Whether each name matches what is looked for, upper or lower case.

    Commas stand between alternatives; of one, all words must match, each a regular expression.
    RE2 does it, whose time grows with the names alone. An empty search matches all.

    Raises:
        KnownError: an expression that cannot be used, by name.

    >>> matching_names(["a/Llama-3", "b/gemma", "c/phi"], "llama , ^b/")
    [True, True, False]
    >>> matching_names(["a/Llama-3-8B", "b/8b-llama", "c/llama"], "8b llama")
    [True, True, False]
    """
    alternatives = [part.split() for part in search.split(",") if part.strip()]
    if not alternatives:
        return [True] * len(names)
    texts = [name.encode("utf-8", "replace").decode("utf-8") for name in names]
    array = pa.array([*texts, ""], pa.large_string())  # an empty one refuses no expression
    found = {word: _match(array, word) for words in alternatives for word in words}
    return [
        any(all(found[word][place] for word in words) for words in alternatives)
        for place in range(len(names))
    ]


def checked_search(value: object) -> str:
    """A search from a value that anybody may have sent.

    Raises:
        KnownError: no text, too long, or an expression that cannot be used.

    >>> checked_search(" llama,8b ")
    'llama,8b'
    """
    if value is not None and not isinstance(value, str):
        raise KnownError(f"A search must be text, not {type(value).__name__}.")
    found = repaired(value or "").strip()
    if len(found) > LONGEST_QUERY:
        raise KnownError(
            f"A search may have {LONGEST_QUERY} characters; this one has {len(found):,}."
        )
    matching_names([], found)
    return found


def _match(texts: "pa.Array[Any]", pattern: str) -> list[bool]:
    try:
        found: Any = pc.match_substring_regex(texts, f"(?:{pattern})", ignore_case=True)
    except pa.ArrowInvalid as error:
        reason = first_line(error).removeprefix("Invalid regular expression: ")
        raise KnownError(
            f"{pattern[:80]!r} is no regular expression that can be used here ({reason}). The "
            "syntax is RE2's: no lookahead, no backreferences. Spaces and commas stand between "
            "expressions."
        ) from error
    return [bool(yes) for yes in found.to_pylist()]
