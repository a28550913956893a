"""The app with models that take their time for many pairs, so that a run is under way as one looks.

Usage: python -m tests.e2e.slow_app
"""

import time
from collections.abc import Generator
from typing import Any

import pytest

import app
from explorer.runs.models import WarmModel
from scoring.spec import Plan, ScoredPack

SECONDS_A_PACK, MANY = 2.0, 150


def main() -> None:
    """Serve the app until it is interrupted."""
    packs = WarmModel.packs

    def slowly(
        model: WarmModel, plan: Plan, *more: Any
    ) -> Generator[ScoredPack | None, None, None]:
        for pack in packs(model, plan, *more):
            yield pack
            time.sleep(SECONDS_A_PACK if pack and sum(map(len, plan)) > MANY else 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WarmModel, "packs", slowly)
        app.main()


if __name__ == "__main__":
    main()
