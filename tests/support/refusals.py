"""What is told where something cannot be done."""

from collections.abc import Callable
from typing import Any

import pytest

from scoring.errors import KnownError


def refusal(do: Callable[..., object], *given: Any, **options: Any) -> str:
    """The one sentence of a `KnownError`, which must come."""
    with pytest.raises(KnownError) as caught:
        do(*given, **options)
    return str(caught.value)
