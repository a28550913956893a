"""The page as a whole: what it opens, how it is wired, and what a press need not do again."""

import json
import sys
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.sources import Sources
from explorer.page import FILES_SECONDS, build_page
from explorer.results.board import Ranking
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from scoring.results import order as pair_order
from tests.conftest import PATIENCE
from tests.support.beginning import baseline_run, begun
from tests.support.board_data import coin_flips, write_results


def test_a_page_has_the_designed_endpoints_and_a_visit_is_sent_little(stores: Stores) -> None:
    page = build_page(stores)[0]
    public = [event.api_name for event in page.fns.values() if event.api_visibility != "private"]
    results = ["leaderboard", "failures", "compare", "pair", "hardest", "search_pairs"]
    scoring = ["score_pair", "score_selection", "models", "runs", "start_run", "run"]
    assert public == results + scoring
    html = "".join(str(part.value) for part in page.blocks.values() if isinstance(part, gr.HTML))
    assert stores.pairs.get(None).keys[0] not in html, "pairs come when it is opened"
    config = page.get_config_file()
    assert len(json.dumps(config, default=str, separators=(",", ":"))) < 120_000
    shown = [each for each in config["components"] if each["type"] != "api"]
    assert len(shown) < 60 and len(config["dependencies"]) < 40
    assert page.delete_cache == FILES_SECONDS and FILES_SECONDS[1] <= 24 * 3600
    # A stream for a state is a connection for as long as a page is open, and a browser has six.
    assert not [each for each in page.blocks.values() if isinstance(each, gr.State | gr.Timer)]
    loads = [each for each in page.fns.values() if any(kind == "load" for _, kind in each.targets)]
    assert [each for each in loads if each.fn is not None] == []


def test_both_shelves_are_fetched_in_the_background_and_nothing_without_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, bool]] = []
    monkeypatch.setattr(Sources, "fetch", lambda shelf, online: asked.append((shelf, online)))
    stores = open_stores(Settings(home=tmp_path, offline=True))
    assert {online for _, online in asked} == {False}
    assert stores.pairs.get(None).source.kind == "demo"
    assert stores.pairs.find(stores.pairs.sources.best) is stores.pairs.get("no such source")
    assert stores.runs.store.visible([]) == [] == list(tmp_path.iterdir())
    asked.clear()
    stores = open_stores(Settings(home=tmp_path))
    assert asked == [(stores.pairs.sources, True), (stores.results.sources, True)]


N_RUNS, PACK = 70, 4
"""More runs than any cache of whole ones would hold."""


def test_a_pack_of_a_run_makes_nothing_anew_but_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither are published results put in order again, nor are other runs read."""
    outcomes = {f"org/m{number}": coin_flips(number / 10) for number in range(1, 9)}
    results = str(write_results(tmp_path / "results", outcomes))
    stores = open_stores(Settings(tmp_path, pairs="demo", results=results, offline=True))
    assert stores.results.wait_read(PATIENCE)
    table, me = stores.pairs.get(None), Visitor()
    for _ in range(N_RUNS):
        baseline_run(stores.runs.store.folder, table, PACK)
    ordered, align = list[int](), pair_order.align
    opened, listens = list[Path](), [True]

    def counting(found: pair_order.PairOrder, *others: Any) -> pair_order.Alignment:
        ordered.append(len(found))
        return align(found, *others)

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if listens and event == "open":
            opened.append(Path(str(arguments[0])))

    sys.addaudithook(hear)  # nothing takes it away again
    monkeypatch.setattr("explorer.stats.matrix.align", counting)
    looked: list[int] = []
    for now in begun(stores.runs, "me", "longer", table, np.arange(96), budget=1024):
        if now.run is None or now.stage != "running" or not now.scored:
            continue
        ordered.clear()
        opened.clear()
        name = stores.fields.name_of(now.run.id, None, "", me)
        field = stores.fields.of(name, None, "", me)
        stores.boards.board(None, Ranking(), me)
        n_scored = len(now.scored)
        assert int(field.known(name).sum()) == n_scored
        if looked:  # what stood there before is read by now
            read = {path.parent for path in opened if path.name == "rewards.jsonl"}
            assert set(ordered) == {n_scored} and read == {now.run.folder}
        looked.append(n_scored)
    listens.clear()
    assert len(looked) > 3
