"""Boards of a source: which pairs they are of, whose models are on them, and how they get sure."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.results.board import Board, Ranking
from explorer.results.boards import BoardMeasuring, Boards, BoardView
from explorer.runs.cards import RunCard, change_card
from explorer.runs.listing import listed_runs
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.models.board_html import board_html
from explorer.tabs.models.ranked import Ranked, visible_rows
from explorer.tabs.models.state import TIES, ModelsState
from explorer.tabs.pairs.fail_report import scores_of
from scoring.benchmark import COUNTS, SUBSETS
from scoring.limits import Step, ignore_progress
from scoring.pairs.opening import read_pairs
from scoring.summary import summarise_run
from tests.conftest import PATIENCE, until
from tests.support.beginning import finished
from tests.support.board_data import EVERY, coin_flips, own_run, write_results
from tests.support.files import write_jsonl
from tests.support.stepping import told_by

RANKING, PUBLISHED, JUDGEBENCH = Ranking(), Ranking(own=False), Ranking("judgebench")
ME = Visitor("browser:me", session="me")
SHARES = {"org/best": 0.95, "org/alike": 0.95, "org/worst": 0.2}
REWARDS = {"hep-go:3": (1.0, 0.0), "donotanswer:2": (0.0, 1.0)}


def write_shares(folder: Path, subsets: Sequence[str] = EVERY * 4) -> Path:
    """Results of the models of `SHARES`, of pairs of these subsets."""
    shares = enumerate(SHARES.items())
    flips = {model: coin_flips(share, len(subsets), at) for at, (model, share) in shares}
    return write_results(folder, flips, subsets)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_shares(tmp_path / "results")


def server(home: Path, **settings: Any) -> Stores:
    """A server that was started just now, once it has read its results."""
    stores = open_stores(Settings(home / "home", pairs="demo", offline=True, **settings))
    assert stores.boards.library.wait_read(PATIENCE)
    return stores


def groups(board: Board) -> dict[str, int | None]:
    return {model: row["tie_group"] for model, row in board.rows.items()}


def own_rows(board: Board) -> list[dict[str, Any]]:
    return [row for row in board.rows.values() if row["own"]]


def test_a_board_is_bare_until_its_pairs_are_read_and_then_measured(
    folder: Path, may_read: threading.Event
) -> None:
    settings = Settings(folder.parent / "home", pairs="demo", results=str(folder), offline=True)
    boards = open_stores(settings).boards
    measuring = BoardMeasuring(boards, patience=0.01)
    bare = boards.board(None, RANKING).rows
    assert {*bare} == {*SHARES}
    assert not any(row["by_pairs"] or row["paired"] or row["tie_group"] for row in bare.values())
    assert measuring.begin(None, RANKING) == Step("reading") and measuring.measured(RANKING)

    may_read.set()
    assert boards.library.wait_read(PATIENCE)
    read = boards.board(None, RANKING).rows.values()
    assert all(row["by_pairs"] and not row["tie_group"] for row in read)

    steps = told_by(lambda tell: boards.measure(None, RANKING, (), tell))[1]
    assert {step.doing for step in steps} == {"measuring"}
    assert steps[-1].done == steps[-1].total
    sure = boards.board(None, RANKING)
    assert groups(sure) == {"org/best": 1, "org/alike": 1, "org/worst": 2}
    for model, row in sure.rows.items():
        assert row["by_pairs"] and row["paired"] and row["best_rank"]
        assert row["score"] == pytest.approx(bare[model]["score"])
    half = boards.board(None, Ranking(ties="half", missing="loss"))
    assert set(groups(half).values()) == {None}  # that was not measured


# Own runs.


def test_an_own_run_of_all_pairs_leaves_ranks_and_ties_to_the_published(tmp_path: Path) -> None:
    """It has the intervals of the tab Score, whether they were measured or not."""
    whole = [subset for subset, n in COUNTS.items() for _ in range(n)]
    results = write_shares(tmp_path / "results", whole)
    stores = server(tmp_path, results=str(results))
    boards, wins = stores.boards, enumerate(coin_flips(0.6, len(whole), 9))
    run = own_run(
        tmp_path / "home" / "runs", {f"{whole[at]}:{at}": (won, 1 - won) for at, won in wins}
    )
    known = summarise_run(run.rows(), run.facts).intervals
    assert [each.interval for each in listed_runs(stores.runs.store, ME).lines] == [known.total]
    name = stores.fields.name_of(run.id, None, None, ME)
    overall = scores_of(stores.fields.of(name, None, None, ME), name).overall
    assert overall and overall.interval == known.score
    of_sections = {name: each for name, each in known.sections.items() if name}
    for _ in range(2):
        [mine] = own_rows(boards.board(None, RANKING))
        assert mine["paired"] and all(mine[f"{section}_paired"] for section in of_sections)
        for name, interval in {"score": known.score, **of_sections}.items():
            assert (mine[f"{name}_low"], mine[f"{name}_high"]) == pytest.approx(interval)
        boards.measure(None, RANKING)
    alone, board = boards.board(None, PUBLISHED), boards.board(None, RANKING)
    assert groups(alone) == {"org/best": 1, "org/alike": 1, "org/worst": 2}
    assert [row for row in board.rows.values() if not row["own"]] == [*alone.rows.values()]
    [mine] = own_rows(board)
    assert (mine["rank"], mine["best_rank"], mine["tie_group"]) == (3, None, None)
    assert not any("tie groups leave them out" in remark for remark in board.remarks)


def test_on_a_public_server_a_run_is_its_owners_alone(folder: Path) -> None:
    boards = server(folder.parent, results=str(folder), public=True).boards
    run = own_run(folder.parent / "home" / "runs", REWARDS)
    change_card(run, lambda _: RunCard(ME.owner))
    for other in ((), ME.owner, Visitor(), Visitor("browser:she"), {"owner": ME.owner}):
        assert own_rows(boards.board(None, RANKING, other)) == []
    assert len(own_rows(boards.board(None, RANKING, Visitor(ME.owner)))) == 1


# Measured in the background.


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
    """Of a server with nothing in its home."""
    return Watched(server(folder.parent, results=str(folder)).boards)


def test_each_board_is_measured_once_for_all_who_look_at_it_and_nobody_waits(
    boards: Watched, folder: Path
) -> None:
    """One after the other, and once for what is published, whoever's own models stand beside it."""
    own_run(folder.parent / "home" / "runs", REWARDS)
    measuring = BoardMeasuring(boards, patience=0.01)
    views = [replace(PUBLISHED, ties=ties) for ties in TIES]
    looks = [(PUBLISHED, ()), (RANKING, ()), (RANKING, ME), *((view, ()) for view in views)]
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda look: measuring.begin(None, *look), looks * 3))
        assert None not in pool.map(measuring.measured, views)
        assert len(own_rows(boards.board(None, RANKING, ME))) == 1, "while it goes on"
        assert len(boards.views) == 1
        boards.may_go_on.set()
        until(lambda: {*pool.map(measuring.measured, views)} == {None})
    assert not any(measuring.begin(None, *look) for look in looks)
    assert Counter(boards.views) == Counter(views)
    for look in looks:
        rows = boards.board(None, *look).rows.values()
        assert all(row["tie_group"] for row in rows if not row["own"])


def test_what_cannot_be_measured_is_told_and_not_tried_at_every_call(
    boards: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.stats.uncertainty.MOST_PAIRS", 2)
    boards.may_go_on.set()
    measuring = BoardMeasuring(boards, patience=600)
    assert [measuring.measured(PUBLISHED) for _ in range(5)] == [None] * 5
    assert "measured on 2 pairs at most" in measuring.refused(PUBLISHED)
    assert boards.views == [PUBLISHED]


# Which pairs a board is of, where runs, uploads and published outputs list them differently.

SOURCES = ("mmlu-pro-law", "livebench-reasoning", "livebench-math", "livecodebench")
JUDGED = [
    {
        "pair_id": f"id-{at}",
        "source": SOURCES[at % 4],
        "question": f"question {at}",
        "response_model": "gpt",
        "response_A": "a" * (at % 5 + 1),
        "response_B": "bbb",
        "label": "A>B" if at % 3 else "B>A",
    }
    for at in range(350)
]
"""Pairs as JudgeBench's file has them, as many as its split gpt has."""


def outputs(path: Path, model: str) -> Path:
    """JudgeBench's own outputs of all pairs: rewards that win those whose label is A."""
    judgments = [
        {"judgment": {"judge_model": model, "scores": scores}, "decision": decision}
        for scores, decision in (((1.5, 0.0), "A>B"), ((0.0, 1.5), "B>A"))
    ]
    names = ("pair_id", "source", "label")
    rows = [{**{name: row[name] for name in names}, "judgments": judgments} for row in JUDGED]
    return write_jsonl(path, rows)


def known(view: BoardView) -> dict[str, int]:
    """Model -> of how many pairs its outcome is known; runs by their model alone."""
    assert view.outcomes is not None
    names = [name.partition(" (your")[0] for name in view.outcomes.models]
    return dict(zip(names, (~np.isnan(view.outcomes.outcomes)).sum(axis=1).tolist(), strict=True))


def test_runs_uploads_and_outputs_of_one_benchmark_stand_on_one_board_and_compare(
    tmp_path: Path,
) -> None:
    """Also runs of a part of its pairs, which are measured by the whole; on no other board."""
    judgebench = PairTable(read_pairs(write_jsonl(tmp_path / "judgebench.jsonl", JUDGED)))
    (folder := tmp_path / "outputs").mkdir()
    outputs(folder / "org_b.jsonl", "org/b")
    write_jsonl(folder / "notes.jsonl", [{"no": "output"}])
    stores = server(tmp_path, outputs=folder)
    stores.pairs._opened[judgebench.id] = judgebench
    before = stores.boards.seen(None, RANKING, ME)
    for model, n in (("shorter", 60), ("random", 60), ("longer", len(JUDGED))):
        finished(stores.runs, model, judgebench, np.arange(n))
    files = {"a.jsonl": outputs(tmp_path / "a.jsonl", "org/a")}
    sent = stores.boards.library.upload(None, files, owner=ME.owner)
    view = stores.boards.seen(sent.id, JUDGEBENCH, ME)
    parts, written = {"baseline/random": 60, "baseline/shorter": 60}, "org/b (JudgeBench)"
    whole = dict.fromkeys(("baseline/longer", "org/a (uploaded)", written), len(JUDGED))
    assert known(view) == {**parts, **whole}
    assert [each.file for each in view.left_out if each.whole] == ["notes.jsonl"]
    state = ModelsState(benchmark=JUDGEBENCH.rule)
    html = board_html(Ranked(state, view, visible_rows(view.board, state), list))
    assert html.count("60 of 350 pairs") == 2 and "350 of 350" not in html
    own = next(name for name in view.board.rows if "longer" in name)
    assert view.board.rows[own]["rank"] is not None
    results = stores.boards.library.get(None)
    assert results.caption_of("judgebench") == "Folder outputs: 1 model."
    assert results.caption_of("rmb") == "No published results of RMB, pairs."
    assert "RewardBench paper" in results.caption and view.board.source.name == "outputs"
    margins = [1.5 if at % 3 else -1.5 for at in range(len(JUDGED))]
    field = stores.fields.of(own, sent.id, None, ME)
    assert sorted(field.margins("org/a (uploaded)").tolist()) == sorted(margins)
    field = stores.fields.of(written, None, judgebench.id, ME)
    assert field.table is judgebench and field.verdict(written, 1).chosen_reward == 1.5
    view = stores.boards.seen(None, RANKING, ME)
    assert (view.outcomes, view.left_out, dict(view.apart)) == (None, before.left_out, {})


def test_m_reward_bench_has_reward_benchs_score_by_language(tmp_path: Path) -> None:
    rows = [
        {"language": language, "id": subset, "subset": subset, "prompt": f"{language} {subset}",
         "chosen": chosen, "rejected": "rr", "chosen_model": "a", "rejected_model": "b"}
        for language, chosen in (("deu_Latn", "cccc"), ("zho_Hans", "c"))
        for subset in SUBSETS
    ]  # fmt: skip
    table = PairTable(read_pairs(write_jsonl(tmp_path / "many.jsonl", rows)))
    stores = server(tmp_path)
    finished(stores.runs, "longer", table, np.arange(len(table)))
    [row] = stores.boards.seen(None, Ranking("m-rewardbench"), ME).board.rows.values()
    scores = row["deu_Latn"], row["zho_Hans"], row["zho_Hant"]
    assert scores == (pytest.approx(1), 0, None) and row["score"] == pytest.approx(0.5)
    assert row["deu_Latn_low"] < 1 and row["zho_Hans_high"] > 0
