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


def test_after_retry_the_hub_is_shown_and_no_token_is_sent(page: Page, tmp_path: Path) -> None:
    repos = {"datasets/allenai/reward-bench": Repo(refusal=(503, ""))}
    told = {"EXPLORER_OFFLINE": "0", "HF_TOKEN": "hf_secret"}
    with (
        HubServer(repos) as hub,
        serving(tmp_path, HF_ENDPOINT=hub.url, **told) as address,
    ):
        open_app(page, address)
        expect(page.locator("#dataset-caption")).to_contain_text("Demo pairs")
        retry = page.get_by_role("button", name="Retry").first
        expect(retry).to_be_visible()
        repos["datasets/allenai/reward-bench"] = _benchmark(tmp_path)
        retry.click()
        page.get_by_role("link", name="Show these pairs").click()
        expect(page.locator("#dataset-caption")).to_contain_text("RewardBench · 2 pairs")
        expect(page.locator(".pair .prompt .body")).to_have_text("Which is bigger?")
        open_tab(page, "Models")
        words = "Not shown: allenai/reward-bench-results: There is no public dataset"
        expect(page.get_by_text(words)).to_be_visible()
        open_tab(page, "Score")
        choose_model(page, "some/model")
        page.locator("#start").click()
        expect(page.locator(".status.refused")).to_contain_text("Change what is marked")
        card = page.locator("#model-card")
        expect(card).to_contain_text("There is no public model 'some/model'")
        assert {request.authorization for request in hub.requests} == {None}
    assert any("some/model" in request.path for request in hub.requests)


def test_an_address_opens_what_programs_ask_and_so_does_the_header_once_it_was_left(
    app: App, leaving: Page
) -> None:
    troubles = troubles_of(leaving)
    open_app(leaving, f"{app.address}/?view=api&section=Safety")
    described = leaving.get_by_role("dialog")
    expect(described).to_contain_text("The pairs that a model or a run loses or ties")
    leaving.locator(".api-docs .backdrop").click(position={"x": 20, "y": 300})
    expect(described).to_have_count(0)
    expect(pair(leaving)).to_be_visible()
    assert "view=api" not in leaving.url and "section=Safety" in leaving.url
    leaving.locator("#header").get_by_role("link", name="API", exact=True).click()
    expect(described).to_contain_text("/search_pairs")
    assert troubles == []
