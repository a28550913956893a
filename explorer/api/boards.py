"""The public endpoint on leaderboards, for programs and agents."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import gradio as gr

from explorer.core.files import as_json
from explorer.core.parts import guarded
from explorer.core.text import text
from explorer.results.board import Board, Row
from explorer.results.boards import BoardMeasuring, Boards
from explorer.tabs.models.state import ModelsState, move, ranking_of


@dataclass(frozen=True)
class BoardEndpoints:
    """What can be asked without a browser. Types are checked here: Gradio does not.

    measuring: of the boards of `boards`.
    """

    boards: Boards
    measuring: BoardMeasuring

    @guarded
    def leaderboard(
        self,
        benchmark: Literal["v1", "v2"] = "v1",
        prior_sets: bool = False,
        ties: Literal["official", "half", "loss"] = "official",
    ) -> dict[str, Any]:
        """The leaderboard of reward models, best first.

        Tie groups, intervals of ranks and paired intervals are measured from each pair's results
        when they are first asked for. Where that takes more than a few seconds, the rows come
        without them, "measuring" is true, and "retry_after_seconds" says when to ask again.

        Args:
            benchmark: "v1" for RewardBench, "v2" for RewardBench 2.
            prior_sets: whether prior test sets count half in RewardBench's score.
            ties: "official" counts equal scores of a pair as half a win for judges and as nothing
                for others, "half" as half a win for all; which are equal is known where results
                have rewards. "loss" is the former name of "official", and is answered as that.

        Returns:
            {"source": where the results are from, "remarks": what is to be known of the numbers,
            a sentence each, "measuring": true or false, "retry_after_seconds": whole seconds while
            it is true, else null, "rows": a list of {"rank", "model", "model_type", "score",
            "sections": {name: score}, "interval": 95 % interval of the score, [low, high],
            "paired": whether that comes from results of each pair, "rank_interval": 95 % interval
            of the rank, [best, worst], "tie_group": models that tests at 5 % do not tell from its
            best}}. Scores are 0 to 1, unrounded; what is not known is null.
        """
        state = ModelsState(own=False)
        counted = "official" if ties == "loss" else ties
        asked = {"benchmark": benchmark, "prior_sets": prior_sets, "ties": counted}
        for act, value in asked.items():
            state = move(state, act, {"value": value})
        ranking = ranking_of(state)
        left = self.measuring.measured(ranking)
        refused = self.measuring.refused(ranking)
        return leaderboard_json(self.boards.board(None, ranking), left, refused)


def leaderboard_json(
    board: Board, seconds_left: int | None = None, refused: str = ""
) -> dict[str, Any]:
    """A board for programs: scores from 0 to 1, unrounded; None where unknown.

    seconds_left: until it will be measured, about; None where it is, or cannot be.
    refused: why not all of it was measured; "" where it was.
    """
    source = board.source
    missing = [text("board.not_measured", reason=refused)] if refused else []
    return as_json(
        {
            "source": {
                "kind": source.kind,
                "name": source.name,
                "revision": source.revision,
                "date": source.date,
                "rule": board.rule.name,
                "ties": board.ties,
                "missing": board.missing,
            },
            "remarks": [*board.remarks, *missing],
            "measuring": seconds_left is not None,
            "retry_after_seconds": seconds_left,
            "rows": [_row(row, board.rule.sections) for row in board.rows.values()],
        }
    )


def _row(row: Row, sections: Iterable[str]) -> dict[str, Any]:
    interval, ranks = ([row[name] for name in ends] for ends in (_INTERVAL, _RANKS))
    return {
        **{name: row[name] for name in ("rank", "model", "model_type", "score")},
        "sections": {name: row[name] for name in sections},
        "interval": None if None in interval else interval,
        "paired": row["paired"],
        "rank_interval": None if None in ranks else ranks,
        "tie_group": row["tie_group"],
    }


_INTERVAL, _RANKS = ("score_low", "score_high"), ("best_rank", "worst_rank")


def publish_boards(endpoints: BoardEndpoints) -> None:
    """Make the endpoints part of the page that is being built."""
    gr.api(endpoints.leaderboard, api_name="leaderboard")
