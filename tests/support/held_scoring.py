"""`python -m scoring`, which after some packs scores no more, so that it can be stopped."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from scoring import __main__
from scoring.spec import ScoredPack

HOURS = 4 * 3600.0


def main(given: list[str], packs: int) -> int:
    """The command line's exit code. packs: after which it waits."""
    from scoring.run import score

    def held(*of: Any, **more: Any) -> Iterator[ScoredPack]:
        for place, pack in enumerate(score(*of, **more)):
            if place == packs:
                time.sleep(HOURS)
            yield pack

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scoring.run.score", held)
        return __main__.main(given)
