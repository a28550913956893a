"""Boards of a source: bare, then with the results of each pair, then measured."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.core.settings import Settings
from explorer.results.board import Board, Ranking
from explorer.results.boards import BoardMeasuring, Boards
from explorer.runs.cards import RunCard, change_card
from explorer.runs.visitors import Visitor
from explorer.stores import open_stores
from explorer.tabs.models.state import TIES
from scoring.benchmark import COUNTS
from scoring.limits import Step, ignore_progress
from scoring.summary import summarise_run
from tests.conftest import PATIENCE, until
from tests.support.board_data import coin_flips, own_run, row_in, rows_in, write_results
from tests.support.stepping import told_by

RANKING = Ranking()
SHARES = {"org/best": 0.95, "org/alike": 0.95, "org/worst": 0.2}
REWARDS: dict[str, tuple[float | None, float | None]] = {
    "hep-go:3": (1.0, 0.0),
    "donotanswer:2": (0.0, 1.0),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    outcomes = {
        model: coin_flips(share, seed=at) for at, (model, share) in enumerate(SHARES.items())
    }
    return write_results(tmp_path / "results", outcomes)


def boards_of(folder: Path, *, public: bool = False) -> Boards:
    """A server that was started just now, with its home beside the folder, once it has read."""
    settings = Settings(
        folder.parent / "home", pairs="demo", results=str(folder), offline=True, public=public
    )
    boards = open_stores(settings).boards
    assert boards.library.wait_read(PATIENCE)
    return boards


def groups(board: Board) -> dict[str, int | None]:
    return {row.model: row.tie_group for row in rows_in(board)}


def test_a_board_is_bare_until_its_pairs_are_read_and_then_measured(
    folder: Path, may_read: threading.Event
) -> None:
    settings = Settings(folder.parent / "home", pairs="demo", results=str(folder), offline=True)
    boards = open_stores(settings).boards
    measuring = BoardMeasuring(boards, patience=0.01)
    bare = boards.board(None, RANKING)
    assert {row.model for row in rows_in(bare)} == set(SHARES)
    assert not any(row.by_pairs or row.paired or row.tie_group for row in rows_in(bare))
    assert measuring.begin(None, RANKING) == Step("reading") and measuring.measured(RANKING)

    may_read.set()
    assert boards.library.wait_read(PATIENCE)
    read = boards.board(None, RANKING)
    assert all(row.by_pairs and not row.tie_group for row in rows_in(read))

    steps = told_by(lambda tell: boards.measure(None, RANKING, (), tell))[1]
    assert {step.doing for step in steps} == {"measuring"}
    assert steps[-1].done == steps[-1].total
    sure = boards.board(None, RANKING)
    assert groups(sure) == {"org/best": 1, "org/alike": 1, "org/worst": 2}
    assert all(row.by_pairs and row.paired and row.best_rank for row in rows_in(sure))
    for before in rows_in(bare):
        assert row_in(sure, before.model).score == pytest.approx(before.score)
    half = boards.board(None, Ranking(ties="half", missing="loss"))
    assert set(groups(half).values()) == {None}  # that was not measured


# Own runs.


def own_rows(board: Board) -> list[str]:
    return [row.model for row in rows_in(board) if row.own]


def test_an_own_run_of_all_pairs_leaves_ranks_and_ties_to_the_published(tmp_path: Path) -> None:
    """It has the intervals of the tab Score, whether they were measured or not."""
    whole = [subset for subset, n in COUNTS.items() for _ in range(n)]
    flips = {
        model: coin_flips(share, len(whole), at) for at, (model, share) in enumerate(SHARES.items())
    }
    boards = boards_of(write_results(tmp_path / "results", flips, whole))
    of_pairs = {
        f"{whole[at]}:{at}": (won, 1 - won) for at, won in enumerate(coin_flips(0.6, len(whole), 9))
    }
    run = own_run(tmp_path / "home" / "runs", {**of_pairs})
    known = summarise_run(run.rows(), run.facts).intervals
    for _ in range(2):
        board = boards.board(None, RANKING)
        [mine] = [row for row in rows_in(board) if row.own]
        assert mine.paired and mine.interval == pytest.approx(known.score)
        assert set(mine.paired_sections) == {*mine.section_intervals}
        for section, interval in mine.section_intervals.items():
            assert interval == pytest.approx(known.sections[section])
        boards.measure(None, RANKING)
    alone, board = boards.board(None, Ranking(own=False)), boards.board(None, RANKING)
    assert groups(alone) == {"org/best": 1, "org/alike": 1, "org/worst": 2}
    assert [row for row in rows_in(board) if not row.own] == rows_in(alone)
    [mine] = [row for row in rows_in(board) if row.own]
    assert (mine.rank, mine.best_rank, mine.tie_group) == (3, None, None)
    assert not any("tie groups leave them out" in remark for remark in board.remarks)


def test_on_a_public_server_a_run_is_its_owners_alone(folder: Path) -> None:
    boards = boards_of(folder, public=True)
    run = own_run(folder.parent / "home" / "runs", REWARDS)
    change_card(run, lambda _: RunCard("browser:me"))
    for other in ((), "browser:me", Visitor(), Visitor("browser:she"), {"owner": "browser:me"}):
        assert own_rows(boards.board(None, RANKING, other)) == []
    assert len(own_rows(boards.board(None, RANKING, Visitor("browser:me")))) == 1


# Measured in the background.

PUBLISHED = Ranking(own=False)


class Watched(Boards):
    """Boards that tell which views were measured, and go on only when they may."""

    def __init__(self, boards: Boards) -> None:
        self.__dict__.update(boards.__dict__)
        self.views: list[Ranking] = []
        self.may_go_on = threading.Event()

    def measure(
        self, results_id: object, view: Ranking, own: object = (), tell: Any = ignore_progress
    ) -> None:
        self.views.append(view)
        self.may_go_on.wait()
        super().measure(results_id, view, own, tell)


@pytest.fixture
def boards(folder: Path) -> Watched:
    """A server that was started just now, with nothing in its home."""
    return Watched(boards_of(folder))


def test_each_board_is_measured_once_for_all_who_look_at_it_and_nobody_waits(
    boards: Watched, folder: Path
) -> None:
    """One after the other, and once for what is published, whoever's own models stand beside it."""
    own_run(folder.parent / "home" / "runs", REWARDS)
    measuring, mine = BoardMeasuring(boards, patience=0.01), Visitor("browser:me")
    views = [replace(PUBLISHED, ties=ties) for ties in TIES]
    looks = [(PUBLISHED, ()), (RANKING, ()), (RANKING, mine), *((view, ()) for view in views)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda look: measuring.begin(None, *look), looks * 3))
        assert None not in pool.map(measuring.measured, views)
        assert len(own_rows(boards.board(None, RANKING, mine))) == 1, "while it goes on"
        assert len(boards.views) == 1
        boards.may_go_on.set()
        until(lambda: {*pool.map(measuring.measured, views)} == {None})
    assert not any(measuring.begin(None, *look) for look in looks)
    assert Counter(boards.views) == Counter(views)
    for look in looks:
        rows = rows_in(boards.board(None, *look))
        assert all(row.tie_group for row in rows if not row.own)


def test_what_cannot_be_measured_is_told_and_not_tried_at_every_call(
    boards: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.stats.uncertainty.MOST_PAIRS", 2)
    boards.may_go_on.set()
    measuring = BoardMeasuring(boards, patience=600)
    assert [measuring.measured(PUBLISHED) for _ in range(5)] == [None] * 5
    assert "measured on 2 pairs at most" in measuring.refused(PUBLISHED)
    assert boards.views == [PUBLISHED]
