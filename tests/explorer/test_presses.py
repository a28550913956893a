"""What a press need not do: list the results again, or read and order what did not change."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.page import views_of
from explorer.results.board import Ranking
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.pairs.view import PairsView
from scoring.record import Run, locked, new_folder
from scoring.results import order as pair_order
from scoring.spec import Plan, ScoredPack, ScoredPair
from tests.conftest import PATIENCE, until
from tests.support.board_data import coin_flips, write_results
from tests.support.browsing import answered_of, scenes_on
from tests.support.run_facts import MADE_UP

ME = (None, "", Visitor())
N_RUNS, PACK = 70, 4
"""More runs than any cache of whole ones would hold."""
LISTS = ("os.scandir", "os.listdir")
_heard: list[tuple[str, str]] = []
"""(event, path) of what is listed or opened. A hook that listens is never taken away again."""


@pytest.fixture(scope="module", autouse=True)
def listening() -> Iterator[None]:
    on = [True]

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if on and event in (*LISTS, "open"):
            _heard.append((event, str(arguments[0])))

    sys.addaudithook(hear)
    yield
    on.clear()


def heard(folder: Path, *events: str) -> list[Path]:
    """What was listed or opened below a folder since `_heard` was cleared."""
    return [Path(path) for event, path in _heard if event in events and str(folder) in path]


@pytest.fixture
def ordered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many outcomes were put in the order of a table or a board, each time that some were."""
    lengths: list[int] = []
    align = pair_order.align

    def counting(found: pair_order.PairOrder, *others: Any) -> pair_order.Alignment:
        lengths.append(len(found))
        return align(found, *others)

    monkeypatch.setattr("explorer.stats.matrix.align", counting)
    return lengths


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outcomes = {f"org/m{number}": coin_flips(number / 10) for number in range(1, 9)}
    return write_results(tmp_path_factory.mktemp("results"), outcomes)


@pytest.fixture
def stores(folder: Path, tmp_path: Path) -> Stores:
    """All is read; nothing was looked at yet."""
    stores = open_stores(Settings(tmp_path, pairs="demo", results=str(folder), offline=True))
    assert stores.results.wait_read(PATIENCE)
    return stores


def test_a_press_lists_no_results_until_newer_ones_are_looked_for(
    stores: Stores, folder: Path
) -> None:
    models, pairs = views_of(stores).models, PairsView(scenes_on(stores), stores.settings)
    for _ in range(2):
        _heard.clear()
        for panel in ("by=-Chat", "panel=agreement&a=org/m3"):
            _, regions = models.regions(f"?tab=models&{panel}", Visitor())
            assert all(write() is not None for write in regions.values())
        answered_of(pairs, "model=org/m3&show=all")
    assert heard(folder, *LISTS) == []
    models.refresh("", Visitor())
    until(lambda: heard(folder, *LISTS) != [])


def run_of(stores: Stores, number: int, n_packs: int, *, texts: bool = True) -> Run:
    """A run of all demo pairs, of which so many packs are scored. texts: whether they are here."""
    table = stores.pairs.get(None)
    packs = tuple(tuple(range(at, at + PACK)) for at in range(0, len(table), PACK))
    facts = replace(MADE_UP, model=f"org/mine-{number}", pairs=table.id, n_pairs=188)
    run = Run.create(new_folder(stores.runs.store.folder), facts, Plan(packs), table.keys)
    for pack in range(n_packs):
        record(stores, run, pack, texts=texts)
    return run


def record(stores: Stores, run: Run, pack: int, *, texts: bool = True) -> None:
    table = stores.pairs.get(None)
    scored = tuple(
        ScoredPair(
            table.keys[at],
            table.subset_of(at),
            table.hashes[at] if texts else f"other {at}",
            at % 3,
            1.0,
            1,
            1,
        )
        for at in range(pack * PACK, (pack + 1) * PACK)
    )
    list(run.record([ScoredPack(pack, scored, 1)]))


def test_a_pack_of_a_run_makes_nothing_anew_but_that_run(
    stores: Stores, ordered: list[int]
) -> None:
    """Neither are published results put in order again, nor are other runs read, be their texts
    here or not.
    """
    for number in range(N_RUNS):
        run_of(stores, number, 2, texts=number % 3 > 0).mark_ended("finished")
    running = run_of(stores, N_RUNS, 3)
    with locked(running.folder):
        name = stores.fields.name_of(running.id, *ME)
        stores.boards.board(None, Ranking(), Visitor())
        for pack in range(3, 9):
            record(stores, running, pack)
            ordered.clear()
            _heard.clear()
            field = stores.fields.of(name, *ME)
            stores.boards.board(None, Ranking(), Visitor())
            n_scored = (pack + 1) * PACK
            assert int(field.known(name).sum()) == n_scored and set(ordered) == {n_scored}
            files = heard(stores.runs.store.folder, "open")
            assert {path.parent for path in files if path.name == "rewards.jsonl"} == {
                running.folder
            }
    np.testing.assert_array_equal(field.margins(name)[:PACK], [at % 3 - 1 for at in range(PACK)])
