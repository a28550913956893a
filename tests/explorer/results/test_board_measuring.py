"""Boards measured for whoever asks first: once for all, and told when to ask again."""

import shutil
import threading
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.api.boards import leaderboard_json
from explorer.core.settings import Settings
from explorer.results.board_measuring import BoardMeasuring
from explorer.results.boardroom import BoardRoom
from explorer.results.boards import Ranking
from explorer.stats.uncertainty import Measuring
from explorer.stores import open_stores
from explorer.tabs.models.state import TIES
from scoring.limits import Step
from tests.explorer.board_data import coin_flips, write_results

RANKING = Ranking(own=False)
SHARES = {"org/best": 0.95, "org/alike": 0.95, "org/worst": 0.2}


class Watched(BoardRoom):
    """A room that tells which views were measured, and goes on only when it may."""

    def __init__(self, room: BoardRoom) -> None:
        self.__dict__.update(room.__dict__)
        self.views: list[Ranking] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def measuring(
        self, results_id: object, view: Ranking, own: object = ()
    ) -> Generator[Step | Measuring, None, None]:
        self.views.append(view)
        for step in super().measuring(results_id, view, own):
            yield step
            self.may_go_on.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    outcomes = {name: coin_flips(share, seed=at) for at, (name, share) in enumerate(SHARES.items())}
    return write_results(tmp_path / "results", outcomes)


@pytest.fixture
def room(folder: Path) -> Watched:
    """A server that was started just now, with nothing in its home."""
    settings = Settings(folder.parent / "home", pairs="demo", results=str(folder), offline=True)
    return Watched(open_stores(settings).room)


def test_who_asks_first_gets_a_measured_board(room: Watched) -> None:
    measuring = BoardMeasuring(room, patience=600)
    assert measuring.measured(RANKING) is None and measuring.refused(RANKING) == ""
    rows = room.board(None, RANKING).rows
    assert {row.model: row.tie_group for row in rows} == {
        "org/best": 1, "org/alike": 1, "org/worst": 2,
    }  # fmt: skip
    assert measuring.measured(RANKING) is None and room.views == [RANKING]


def test_where_it_takes_longer_one_is_told_when_to_ask_again(room: Watched) -> None:
    room.may_go_on.clear()
    measuring = BoardMeasuring(room, patience=0.01)
    seconds = measuring.measured(RANKING)
    assert seconds is not None and 1 <= seconds <= 60
    body = leaderboard_json(room.board(None, RANKING), seconds)
    assert (body["measuring"], body["retry_after_seconds"]) == (True, seconds)
    assert len(body["rows"]) == 3 and not any(row["tie_group"] for row in body["rows"])
    room.may_go_on.set()
    while measuring.measured(RANKING) is not None:
        time.sleep(0.01)
    assert all(row.tie_group for row in room.board(None, RANKING).rows) and room.views == [RANKING]


def test_many_who_ask_at_once_start_one_measurement_of_each_board(room: Watched) -> None:
    """Also where they ask for several boards: one is measured after the other."""
    room.may_go_on.clear()
    measuring = BoardMeasuring(room, patience=0.01)
    views = [replace(RANKING, ties=ties) for ties in TIES]
    views += [replace(view, rule="v1_prior") for view in views]
    with ThreadPoolExecutor(16) as pool:
        assert None not in pool.map(measuring.measured, views * 16)
        assert len(room.views) == 1
        room.may_go_on.set()
        while set(pool.map(measuring.measured, views * 4)) != {None}:
            pass
    assert Counter(room.views) == Counter(views)


def test_what_cannot_be_read_is_told_and_not_tried_at_every_call(
    room: Watched, folder: Path
) -> None:
    room.may_go_on.clear()
    measuring = BoardMeasuring(room, patience=600)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(measuring.measured, RANKING)
        while not room.views:
            time.sleep(0.01)
        shutil.rmtree(folder / "eval-set-scores")
        room.may_go_on.set()
        assert asked.result() is None
    assert measuring.refused(RANKING) == str(room.refused(None, RANKING)[0])
    assert [measuring.measured(RANKING) for _ in range(5)] == [None] * 5 and room.views == [RANKING]
