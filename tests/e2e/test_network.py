"""With a Hub that answers the page opens on what lies here; programs have a page of their own."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App, choose_model, open_app, open_tab, pair, troubles_of
from tests.support.hub_server import HubServer, Repo
from tests.support.serving import serving

pytestmark = pytest.mark.e2e


def _benchmark(folder: Path) -> Repo:
    rows: dict[str, list[Any]] = {
        "prompt": ["Which is bigger?", "Which is older?"],
        "chosen": ["This one.", "That one."],
        "rejected": ["None.", "Both."],
        "subset": ["mt-bench-easy", "hep-go"],
        "id": [1, 2],
    }
    pq.write_table(pa.table(rows), folder / "filtered.parquet")
    return Repo(
        {"data/filtered-00000-of-00001.parquet": (folder / "filtered.parquet").read_bytes()}
    )


def test_the_hub_is_shown_and_no_token_is_sent(page: Page, tmp_path: Path) -> None:
    repos = {"datasets/allenai/reward-bench": _benchmark(tmp_path)}
    with (
        HubServer(repos) as hub,
        serving(
            tmp_path, EXPLORER_OFFLINE="0", HF_ENDPOINT=hub.url, HF_TOKEN="hf_secret"
        ) as address,
    ):
        open_app(page, address)
        bar = page.locator("#dataset-caption")
        expect(bar).to_contain_text("reward-bench filtered · 2 pairs")
        expect(page.locator(".pair .prompt .body")).to_have_text("Which is bigger?")
        open_tab(page, "Models")
        expect(
            page.get_by_text("Not shown: allenai/reward-bench-results: There is no public dataset")
        ).to_be_visible()
        open_tab(page, "Score")
        choose_model(page, "some/model")
        page.locator("#start").click()
        expect(page.locator(".status.refused")).to_contain_text("Change what is marked")
        card = page.locator("#model-card")
        expect(card).to_contain_text("There is no public model 'some/model'")
        assert {request.authorization for request in hub.requests} == {None}
    assert any("some/model" in request.path for request in hub.requests)


def test_after_retry_what_arrives_is_offered(page: Page, tmp_path: Path) -> None:
    repos: dict[str, Repo] = {}
    repos["datasets/allenai/reward-bench"] = Repo(refusal=(503, ""))
    with (
        HubServer(repos) as hub,
        serving(tmp_path, EXPLORER_OFFLINE="0", HF_ENDPOINT=hub.url) as address,
    ):
        open_app(page, address)
        expect(page.locator("#dataset-caption")).to_contain_text("Demo pairs")
        retry = page.get_by_role("button", name="Retry").first
        expect(retry).to_be_visible()
        page.set_viewport_size({"width": 1366, "height": 768})
        open_tab(page, "Models")
        first = page.get_by_test_id("board-row").first.bounding_box()
        assert first is not None and first["y"] < 240, "below what is said of pairs and results"
        open_tab(page, "Pairs")
        repos["datasets/allenai/reward-bench"] = _benchmark(tmp_path)
        retry.click()
        page.get_by_role("link", name="Show these pairs").click()
        expect(page.locator("#dataset-caption")).to_contain_text("filtered · 2 pairs")
        expect(page.get_by_test_id("result-count")).to_contain_text("2 of 2")


def test_an_address_opens_what_programs_ask_and_so_does_the_header_once_it_was_left(
    app: App, leaving: Page
) -> None:
    troubles = troubles_of(leaving)
    open_app(leaving, f"{app.address}/?view=api&section=Safety")
    described = leaving.get_by_role("dialog")
    expect(described).to_contain_text("The pairs that a model or a run loses or ties")
    expect(described).to_contain_text("A margin is the chosen reward minus the rejected reward")
    leaving.locator(".api-docs .backdrop").click(position={"x": 20, "y": 300})
    expect(described).to_have_count(0)
    expect(pair(leaving)).to_be_visible()
    assert "view=api" not in leaving.url and "section=Safety" in leaving.url
    leaving.locator("#header").get_by_role("link", name="API", exact=True).click()
    expect(described).to_contain_text("/search_pairs")
    assert troubles == []
