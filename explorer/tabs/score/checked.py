"""The Score tab's check of a run against what is published of its model."""

from dataclasses import dataclass

from explorer.core.parts import guarded
from explorer.reader.session import Session
from explorer.results.board import Ranking
from explorer.results.boards import Boards
from explorer.results.fields import Fields
from explorer.runs.running import Runs
from explorer.tabs.score.published_html import published_html
from explorer.tabs.score.run_check import check_run


@dataclass(frozen=True)
class RunChecked:
    """The callback."""

    runs: Runs
    fields: Fields
    boards: Boards

    @guarded
    def check(self, session: Session) -> str:
        """Both numbers with their difference; "" where there is no run or nothing was scored."""
        name = self.fields.name_of(session.run_id, *session.where)
        if not name:
            return ""
        run = self.runs.open(session.run_id, session.visitor)
        field = self.fields.of(name, *session.where)
        board = self.boards.board(session.results_id, Ranking(own=False))
        return published_html(check_run(run, field, board))
