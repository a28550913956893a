"""The app with models that take their time, so that a run is under way for as long as one looks.

Usage: python -m tests.e2e.slow_app
"""

import time
from collections.abc import Generator
from typing import Any

import pytest

import app
from explorer.runs.models import WarmModel
from scoring.spec import ScoredPack

SECONDS_A_PACK = 2.0


def main() -> None:
    """Serve the app until it is interrupted."""
    packs = WarmModel.packs

    def slowly(*of: Any) -> Generator[ScoredPack | None, None, None]:
        for pack in packs(*of):
            yield pack
            time.sleep(SECONDS_A_PACK if pack else 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WarmModel, "packs", slowly)
        app.main()


if __name__ == "__main__":
    main()
