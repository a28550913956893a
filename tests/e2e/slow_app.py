"""The app with models that take their time for many pairs, and for what tells of whales.

So a run is under way, or token rewards are, for as long as one looks.

Usage: python -m tests.e2e.slow_app
"""

import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

import app
from explorer.core.work import EVERY_SECONDS
from explorer.runs.models import WarmModel
from scoring.probing.token_rewards import TokenRewards
from scoring.spec import Pair, Plan, ScoredPack

SECONDS_A_PACK, MANY, SLOW = 2.0, 150, "whale"


def main() -> None:
    """Serve the app until it is interrupted."""
    packs, token_rewards = WarmModel.packs, WarmModel.token_rewards

    def slowly(
        model: WarmModel, plan: Plan, *more: Any
    ) -> Generator[ScoredPack | None, None, None]:
        is_long = sum(map(len, plan)) > MANY
        for pack in packs(model, plan, *more):
            yield pack
            time.sleep(SECONDS_A_PACK if pack and is_long else 0)

    def slowly_read(model: WarmModel, pair: Pair, wait: Callable[[object], None]) -> TokenRewards:
        for _ in range(int(SECONDS_A_PACK / EVERY_SECONDS) if SLOW in str(pair.prompt) else 0):
            time.sleep(EVERY_SECONDS)
            wait(None)
        return token_rewards(model, pair, wait)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WarmModel, "packs", slowly)
        patch.setattr(WarmModel, "token_rewards", slowly_read)
        app.main()


if __name__ == "__main__":
    main()
