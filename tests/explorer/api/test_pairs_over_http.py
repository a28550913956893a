"""The public endpoints on pairs as a program asks them: published results alone, plain numbers."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradio_client import Client  # type: ignore[import-untyped]
from gradio_client.exceptions import AppError  # type: ignore[import-untyped]

from explorer.data.table import PairTable
from explorer.stores import Stores
from scoring.benchmark import SECTIONS, section_of
from tests.explorer.conftest import Serve
from tests.support.beginning import begun
from tests.support.board_data import FOUR, coin_flips, write_results
from tests.support.boards import HOSTILE

SHARES = {"org/best": 0.95, "org/worst": 0.2, HOSTILE[0]: 0.5}
CELLS = ("both", "only_a", "only_b", "neither")
N_REAL = 20


@pytest.fixture(scope="module")
def client(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Client:
    outcomes = {name: coin_flips(share, 80) for name, share in SHARES.items()}
    results = write_results(tmp_path_factory.mktemp("results"), outcomes, FOUR)
    return Client(serve(public=True, results=str(results)).page.local_url, verbose=False)


def asked(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    found = client.predict(api_name=f"/{name}", **arguments)
    assert isinstance(found, dict)
    return found


def test_results_that_were_not_read_are_read_first(client: Client) -> None:
    """This comes first, of a server whose results nobody has read."""
    rows = asked(client, "failures", model="org/worst", limit=3000)["rows"]
    lost = 80 - sum(coin_flips(0.2, 80))
    assert len(rows) == lost and {each["outcome"] for each in rows} == {"loss"}
    assert rows[0]["margin"] is None and type(rows[0]["difficulty"]) is float
    assert {each["subset"] for each in rows} == {
        "mt-bench-easy", "mt-bench-hard", "donotanswer", "hep-go",
    }  # fmt: skip
    some = asked(client, "failures", model="org/worst", subset="hep-go", limit=2)["rows"]
    assert len(some) == 2 and {each["subset"] for each in some} == {"hep-go"}


def test_the_board_that_was_seen_before_knows_what_was_read(client: Client) -> None:
    asked(client, "hardest")
    assert all(row["paired"] for row in asked(client, "leaderboard")["rows"])


def test_two_models_are_compared_by_section(client: Client) -> None:
    found = asked(client, "compare", model_a="org/best", model_b=HOSTILE[0])
    assert found.keys() == {*CELLS, "score_a", "score_b", "p_value", "sections"}
    assert sum(found[cell] for cell in CELLS) == 80 and found["only_a"] > found["only_b"]
    assert type(found["both"]) is int and type(found["p_value"]) is float
    assert found["sections"].keys() == SECTIONS.keys()
    for name, part in found["sections"].items():
        assert part.keys() == {*CELLS, "score_a", "score_b", "p_value"}
        assert 0 <= part["score_b"] <= part["score_a"] <= 1
        assert sum(part[cell] for cell in CELLS) == 20, name
    same = asked(client, "compare", model_a="org/best", model_b="org/best")
    assert (same["only_a"], same["only_b"], same["p_value"]) == (0, 0, 1.0)


def test_a_pair_is_told_with_all_outcomes(client: Client) -> None:
    key = asked(client, "hardest", limit=1)["rows"][0]["key"]
    found = asked(client, "pair", key=key)
    assert found["key"] == key and found["section"] == section_of(found["subset"])
    assert [each["model"] for each in found["outcomes"]] == sorted(SHARES)
    assert {each["outcome"] for each in found["outcomes"]} <= {"win", "loss"}
    assert found["outcomes"][0]["chosen_reward"] is None


def test_a_pair_of_the_table_that_is_shown_needs_no_results(
    client: Client, demo: PairTable
) -> None:
    found = asked(client, "pair", key=demo.key_of(7))
    assert (found["chosen"], found["outcomes"]) == (demo.cells(7)["chosen"], [])


def test_runs_are_told_to_no_program(
    serve: Serve, stores: Stores, demo: PairTable, tmp_path: Path
) -> None:
    """On one's own machine the page shows all runs, an endpoint none."""
    *_, last = begun(stores.runs, "me", "longer", demo, np.arange(20), "some")
    assert last.run is not None
    name = stores.fields.name_of(last.run.id, None, None, [])
    assert "longer" in name
    results = write_results(tmp_path, {"org/best": coin_flips(0.95, 80)}, FOUR)
    client = Client(serve(public=False, results=str(results)).page.local_url, verbose=False)
    assert asked(client, "pair", key=demo.key_of(0))["outcomes"] == []
    with pytest.raises(AppError, match="no per-pair results"):
        asked(client, "failures", model=name)


@pytest.fixture(scope="module")
def real_client(
    serve: Serve, shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Client, dict[str, dict[str, Any]]]:
    """A server of some real models' results, and what stands in their files."""
    root, files = tmp_path_factory.mktemp("real"), {}
    source = shared_data / "reward-bench-results"
    for path in sorted((source / "eval-set-scores").rglob("*.json"))[:N_REAL]:
        values = json.loads(path.read_text(encoding="utf-8"))
        files[values["model"]] = values
        for folder in ("eval-set-scores", "eval-set"):
            where = root / folder / path.relative_to(source / "eval-set-scores")
            original = source / folder / path.relative_to(source / "eval-set-scores")
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_bytes(original.read_bytes())
    pairs = str(shared_data / "reward-bench" / "filtered.parquet")
    visitor = serve(public=True, results=str(root), pairs=pairs)
    return Client(visitor.page.local_url, verbose=False), files


def test_real_counts_are_those_of_the_files(
    real_client: tuple[Client, dict[str, dict[str, Any]]],
) -> None:
    client, files = real_client
    models = sorted(files)
    assert len(models) == N_REAL
    for a, b in pairwise(models[::5]):
        found = asked(client, "compare", model_a=a, model_b=b)
        for section, part in [("", found), *found["sections"].items()]:
            counted = dict.fromkeys(CELLS, 0)
            for one, other, subset in zip(
                files[a]["results"], files[b]["results"], files[a]["subset"], strict=True
            ):
                if not section or section_of(subset) == section:
                    counted[CELLS[3 - 2 * (one == 1) - (other == 1)]] += 1
            assert {cell: part[cell] for cell in CELLS} == counted
            assert 0 <= part["p_value"] <= 1
        rows = asked(client, "failures", model=a, limit=3000)["rows"]
        assert len(rows) == sum(each != 1 for each in files[a]["results"])
    hardest = asked(client, "hardest", limit=3000)["rows"]
    failed = np.sum([np.array(each["results"]) != 1 for each in files.values()], axis=0)
    assert [each["failed"] for each in hardest] == sorted(failed[failed > 0], reverse=True)
    told = asked(client, "pair", key=hardest[0]["key"])
    assert sum(each["outcome"] != "win" for each in told["outcomes"]) == hardest[0]["failed"]
    assert told["prompt"] and told["source"]["name"] == "filtered.parquet"
    assert all(each["item_rest"] is None or math.isfinite(each["item_rest"]) for each in hardest)
