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
from scoring.benchmark import section_of
from tests.explorer.conftest import Serve
from tests.support.beginning import begun
from tests.support.board_data import FOUR, coin_flips, write_results

CELLS = ("both", "only_a", "only_b", "neither")
N_REAL = 20


def asked(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    found = client.predict(api_name=f"/{name}", **arguments)
    assert isinstance(found, dict)
    return found


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
