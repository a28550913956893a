"""Scoring as a program asks for it: plain numbers, a stream, one clear message for nonsense."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from gradio_client import Client  # type: ignore[import-untyped]
from gradio_client.exceptions import AppError  # type: ignore[import-untyped]

from explorer.api.scoring import ScoreEndpoints, publish_scoring
from explorer.core.settings import Settings
from explorer.stores import open_stores

TEXTS = {"prompt": "Say hi.", "chosen": "Hello there!", "rejected": "No."}

Open = Callable[..., Client]


@pytest.fixture(scope="module")
def open_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Serves the endpoints alone, with given settings; gives a program's view of them."""
    pages = []

    def start(**changes: Any) -> Client:
        home = changes.pop("home", None) or tmp_path_factory.mktemp("home")
        stores = open_stores(replace(Settings(home=home, pairs="demo", offline=True), **changes))
        with gr.Blocks() as page:
            publish_scoring(ScoreEndpoints(stores.runs, stores.pairs, stores.settings))
        page.queue(default_concurrency_limit=8).launch(
            _frontend=False, prevent_thread_lock=True, quiet=True
        )
        pages.append(page)
        return Client(page.local_url, verbose=False)

    yield start
    for page in pages:
        page.close()


def refused(client: Client, name: str, **arguments: Any) -> str:
    with pytest.raises(AppError) as caught:
        client.predict(api_name=name, **arguments)
    assert "<script>" not in str(caught.value)
    return str(caught.value)


def test_nothing_is_kept_of_what_a_program_scores(open_client: Open, tmp_path: Path) -> None:
    client = open_client(home=tmp_path, public=True)
    client.predict(api_name="/score_selection", model="longer", per_subset=1)
    client.predict(api_name="/score_pair", model="longer", **TEXTS)
    assert not (tmp_path / "runs").exists() or list((tmp_path / "runs").iterdir()) == []


def test_the_seconds_of_a_program_are_counted_by_its_address(open_client: Open) -> None:
    client = open_client(public=True, seconds_per_hour=1e-9)
    assert "used up your scoring time" in refused(client, "/score_pair", model="longer", **TEXTS)
    another = Client(client.src, verbose=False)
    assert "Try again in" in refused(another, "/score_pair", model="longer", **TEXTS)
    assert "Try again in" in refused(another, "/score_selection", model="longer")
