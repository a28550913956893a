"""The app with models that take their time, so that a run is under way for as long as one looks.

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
from scoring.spec import Pair, ScoredPack

SECONDS_A_PACK = 2.0


def main() -> None:
    """Serve the app until it is interrupted."""
    packs, token_rewards = WarmModel.packs, WarmModel.token_rewards

    def slowly(*of: Any) -> Generator[ScoredPack | None, None, None]:
        for pack in packs(*of):
            yield pack
            time.sleep(SECONDS_A_PACK if pack else 0)

    def slowly_read(model: WarmModel, pair: Pair, wait: Callable[[object], None]) -> TokenRewards:
        for _ in range(int(SECONDS_A_PACK / EVERY_SECONDS)):
            time.sleep(EVERY_SECONDS)
            wait(None)
        return token_rewards(model, pair, wait)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WarmModel, "packs", slowly)
        patch.setattr(WarmModel, "token_rewards", slowly_read)
        app.main()


if __name__ == "__main__":
    main()
