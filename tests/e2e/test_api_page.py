"""The page that describes the endpoints: Gradio's, opened by its address or a link."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_app, pair, troubles_of

pytestmark = pytest.mark.e2e


def test_an_address_opens_it_and_so_does_the_header_once_it_was_left(
    demo_app: str, leaving: Page
) -> None:
    troubles = troubles_of(leaving)
    open_app(leaving, f"{demo_app}/?view=api&section=Safety")
    described = leaving.get_by_role("dialog")
    expect(described).to_contain_text("/failures")
    expect(described).to_contain_text("The pairs that a model or a run loses or ties")
    expect(described).to_contain_text("A margin is the chosen reward minus the rejected reward")
    leaving.locator(".api-docs .backdrop").click(position={"x": 20, "y": 300})
    expect(described).to_have_count(0)
    expect(pair(leaving)).to_be_visible()
    expect(leaving.locator("#pairs")).not_to_contain_text("view=api")
    assert "view=api" not in leaving.url and "section=Safety" in leaving.url
    leaving.locator("#header").get_by_role("link", name="API", exact=True).click()
    expect(described).to_contain_text("/search_pairs")
    assert troubles == []
