"""Rows of tables, named by what they say."""

from typing import Any

import pytest


def by_sentence(*rows: tuple[Any, ...]) -> list[Any]:
    """Rows whose last value is the sentence that is said, which is their name, too."""
    return [pytest.param(*row, id=str(row[-1])[:70]) for row in rows]
