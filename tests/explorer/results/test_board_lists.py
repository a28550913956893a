"""Which pairs a board is of, where runs, uploads and published outputs list them differently."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.results.board import Ranking
from explorer.results.boards import BoardView
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.models.board_html import board_html
from explorer.tabs.models.ranked import Ranked, visible_rows
from explorer.tabs.models.state import ModelsState
from scoring.benchmark import SUBSETS
from scoring.pairs.opening import read_pairs
from tests.conftest import PATIENCE
from tests.support.beginning import finished
from tests.support.files import write_jsonl

SOURCES = ("mmlu-pro-law", "livebench-reasoning", "livebench-math", "livecodebench")
N = 350
JUDGEBENCH = Ranking("judgebench")


def judged() -> list[dict[str, Any]]:
    """Pairs as JudgeBench's file has them, as many as its split gpt has."""
    return [
        {
            "pair_id": f"id-{at}",
            "source": SOURCES[at % 4],
            "question": f"question {at}",
            "response_model": "gpt",
            "response_A": "a" * (at % 5 + 1),
            "response_B": "bbb",
            "label": "A>B" if at % 3 else "B>A",
        }
        for at in range(N)
    ]


def outputs(path: Path, model: str) -> Path:
    """JudgeBench's own outputs of all pairs: rewards that win those whose label is A."""
    judgments = [
        {"judgment": {"judge_model": model, "scores": scores}, "decision": decision}
        for scores, decision in (((1.5, 0.0), "A>B"), ((0.0, 1.5), "B>A"))
    ]
    names = ("pair_id", "source", "label")
    rows = [{**{name: row[name] for name in names}, "judgments": judgments} for row in judged()]
    return write_jsonl(path, rows)


def server(home: Path, **settings: Any) -> Stores:
    stores = open_stores(Settings(home / "home", pairs="demo", offline=True, **settings))
    assert stores.boards.library.wait_read(PATIENCE)
    return stores


def table_of(path: Path, rows: Sequence[dict[str, Any]]) -> PairTable:
    return PairTable(read_pairs(write_jsonl(path, rows)))


def run(stores: Stores, table: PairTable, n: int, model: str = "longer") -> None:
    finished(stores.runs, model, table, np.arange(n))


ME = Visitor("browser:me", session="me")


def seen(stores: Stores, ranking: Ranking = JUDGEBENCH, results: str | None = None) -> BoardView:
    return stores.boards.seen(results, ranking, ME)


def known(view: BoardView) -> dict[str, int]:
    """Model -> of how many pairs its outcome is known; runs by their model alone."""
    assert view.outcomes is not None
    names = [name.partition(" (your")[0] for name in view.outcomes.models]
    return dict(zip(names, (~np.isnan(view.outcomes.outcomes)).sum(axis=1).tolist(), strict=True))


def test_runs_and_uploads_of_one_benchmark_stand_on_one_board_and_compare(tmp_path: Path) -> None:
    """Also runs of a part of its pairs, which are measured by the whole; on no other board."""
    stores = server(tmp_path)
    before = seen(stores, Ranking())
    table = table_of(tmp_path / "judgebench.jsonl", judged())
    for model in ("shorter", "random"):
        run(stores, table, 60, model)
    run(stores, table, N)
    files = {"a.jsonl": outputs(tmp_path / "a.jsonl", "org/a")}
    sent = stores.boards.library.upload(None, files, owner=ME.owner)
    view = seen(stores, results=sent.id)
    parts = {"baseline/random": 60, "baseline/shorter": 60}
    assert known(view) == {"baseline/longer": N, **parts, "org/a (uploaded)": N}
    assert not [each for each in view.left_out if each.whole]
    state = ModelsState(benchmark=JUDGEBENCH.rule)
    html = board_html(Ranked(state, view, visible_rows(view.board, state), list))
    assert html.count("60 of 350 pairs") == 2 and "350 of 350" not in html
    own = next(name for name in view.board.rows if "longer" in name)
    assert view.board.rows[own]["rank"] is not None
    field = stores.fields.of(own, sent.id, None, ME)
    margins = [1.5 if at % 3 else -1.5 for at in range(N)]
    assert sorted(field.margins("org/a (uploaded)").tolist()) == sorted(margins)
    view = seen(stores, Ranking())
    assert (view.outcomes, view.left_out, dict(view.apart)) == (None, before.left_out, {})


def test_an_owners_outputs_are_published_beside_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "outputs"
    folder.mkdir()
    outputs(folder / "org_a.jsonl", "org/a")
    write_jsonl(folder / "notes.jsonl", [{"no": "output"}])
    stores = server(tmp_path, outputs=folder)
    table = table_of(tmp_path / "judgebench.jsonl", judged())
    stores.pairs._opened[table.id] = table
    run(stores, table, N)
    view = seen(stores)
    assert known(view) == {"baseline/longer": N, "org/a (JudgeBench)": N}
    assert view.board.source.name == "outputs"
    assert [each.file for each in view.left_out if each.whole] == ["notes.jsonl"]
    results = stores.boards.library.get(None)
    assert results.caption_of("judgebench") == "Folder outputs: 1 model."
    assert results.caption_of("rmb") == "No published results of RMB, pairs."
    assert "RewardBench paper" in results.caption
    field = stores.fields.of("org/a (JudgeBench)", None, table.id, ME)
    assert field.table is table and field.verdict("org/a (JudgeBench)", 1).chosen_reward == 1.5


def test_m_reward_bench_has_reward_benchs_score_by_language(tmp_path: Path) -> None:
    sizes = {"deu_Latn": ("cccc", "rr"), "zho_Hans": ("c", "rr")}  # the longer one is right, or not
    names = ("language", "id", "prompt", "chosen", "rejected", "subset")
    rows = [
        dict(zip(names, (language, subset, f"{language} {subset}", *of, subset), strict=True))
        for language, of in sizes.items()
        for subset in SUBSETS
    ]
    models = {"chosen_model": "a", "rejected_model": "b"}
    table = table_of(tmp_path / "many.jsonl", [row | models for row in rows])
    stores = server(tmp_path)
    run(stores, table, len(table))
    [row] = seen(stores, Ranking("m-rewardbench")).board.rows.values()
    scores = row["deu_Latn"], row["zho_Hans"], row["zho_Hant"]
    assert scores == (pytest.approx(1), 0, None) and row["score"] == pytest.approx(0.5)
    assert row["deu_Latn_low"] < 1 and row["zho_Hans_high"] > 0
