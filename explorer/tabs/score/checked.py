"""The Score tab's check of a run against what is published of its model."""

from dataclasses import dataclass
from typing import Any

from explorer.core.parts import guarded
from explorer.results.boardroom import BoardRoom
from explorer.results.boards import Ranking
from explorer.results.fields import Fields
from explorer.runs.running import Runs
from explorer.tabs.score.published_html import published_html
from explorer.tabs.score.run_check import check_run


@dataclass(frozen=True)
class RunChecked:
    """The callback. `where` is (results id, table id, visitor)."""

    runs: Runs
    fields: Fields
    room: BoardRoom

    @guarded
    def check(self, run_id: object, *where: Any) -> str:
        """Both numbers with their difference; "" where there is no run or nothing was scored."""
        name = self.fields.name_of(run_id, *where)
        if not name:
            return ""
        run, field = self.runs.open(run_id, where[2]), self.fields.of(name, *where)
        board = self.room.board(where[0], Ranking(own=False))
        return published_html(check_run(run, field, board))
