"""The words on screen: one entry a key in assets/text.toml."""

import tomllib
from functools import cache

from explorer.core.settings import ASSETS


class _Value(str):
    """What fills a place. `{n:pair|pairs}` is a number with what it counts: 1 pair, or 2 pairs."""

    __slots__ = ()

    def __format__(self, counted: str) -> str:
        one, bar, many = counted.partition("|")
        return f"{self!s} {one if self == '1' else many}" if bar else str(self)


def text(key: str, **values: object) -> str:
    """The words for a key, with `{name}` places filled in.

    A place `{n:pair|pairs}` is filled with a number and what it counts, for one and for others.

    Raises:
        KeyError: there is no such key, or a place was not given a value.

    >>> text("pager.page", page=1, pages=60)
    'Page 1 of 60'
    >>> text("board.n_pairs", n="1"), text("board.n_pairs", n="1,234")
    ('1 pair', '1,234 pairs')
    """
    words = _texts()[key]
    if "|" in words:
        values = {name: _Value(value) for name, value in values.items()}
    return words.format(**values) if values else words


@cache
def _texts() -> dict[str, str]:
    tables = tomllib.loads((ASSETS / "text.toml").read_text(encoding="utf-8"))
    return {
        f"{table}.{key}": words.strip()
        for table, entries in tables.items()
        for key, words in entries.items()
    }
