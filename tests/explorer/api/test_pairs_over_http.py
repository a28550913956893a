"""The public endpoints on pairs as a program asks them: published results alone, plain numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradio_client import Client  # type: ignore[import-untyped]
from gradio_client.exceptions import AppError  # type: ignore[import-untyped]

from explorer.data.table import PairTable
from explorer.stores import Stores
from tests.explorer.conftest import Serve
from tests.support.beginning import begun
from tests.support.board_data import FOUR, coin_flips, write_results


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
