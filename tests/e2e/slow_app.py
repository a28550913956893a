"""The app with models that take their time for many pairs, so that a run is under way as one looks.

Usage: python -m tests.e2e.slow_app
"""

import time
from collections.abc import Generator
from typing import Any

import app
from explorer.runs.models import WarmModel
from scoring.spec import Plan

SECONDS_A_PACK, MANY = 2.0, 150
_PACKS = WarmModel.packs


def _slowly(model: WarmModel, plan: Plan, *more: Any) -> Generator[Any, None, None]:
    for pack in _PACKS(model, plan, *more):
        yield pack
        time.sleep(SECONDS_A_PACK if pack and sum(map(len, plan)) > MANY else 0)


if __name__ == "__main__":
    WarmModel.packs = _slowly  # type: ignore[method-assign, assignment]
    app.main()
