"""What is told where something cannot be done."""

from collections.abc import Callable
from typing import Any

import pytest

from scoring.errors import KnownError


def by_sentence(*rows: tuple[Any, ...]) -> list[Any]:
    """Rows whose last value is the sentence that is said, which is their name, too."""
    return [pytest.param(*row, id=str(row[-1])[:70]) for row in rows]


def refusal(do: Callable[..., object], *given: Any, **options: Any) -> str:
    """The one sentence of a `KnownError`, which must come."""
    with pytest.raises(KnownError) as caught:
        do(*given, **options)
    return str(caught.value)
