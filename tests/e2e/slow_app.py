"""The app with models that take their time, so that a run is under way for as long as one looks.

Usage: python -m tests.e2e.slow_app
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest

import app
from scoring.spec import ScoredPack

SECONDS_A_PACK = 2.0


def main() -> None:
    """Serve the app until it is interrupted."""
    from scoring.run import score

    def slowly(*of: Any, **more: Any) -> Iterator[ScoredPack]:
        for pack in score(*of, **more):
            yield pack
            time.sleep(SECONDS_A_PACK)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scoring.run.score", slowly)
        app.main()


if __name__ == "__main__":
    main()
