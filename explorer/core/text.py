"""The words on screen: one entry a key in assets/text.toml."""

import tomllib
from functools import cache

from explorer.core.settings import ASSETS


def text(key: str, **values: object) -> str:
    """The words for a key, with `{name}` places filled in.

    Raises:
        KeyError: there is no such key, or a place was not given a value.

    >>> text("pager.page", page=1, pages=60)
    'Page 1 of 60'
    """
    return _texts()[key].format(**values) if values else _texts()[key]


@cache
def _texts() -> dict[str, str]:
    tables = tomllib.loads((ASSETS / "text.toml").read_text(encoding="utf-8"))
    return {
        f"{table}.{key}": words.strip()
        for table, entries in tables.items()
        for key, words in entries.items()
    }
