"""README and docs: the head is as a Space wants it, links lead somewhere, nothing is missing."""

import re
from pathlib import Path

import pytest
from huggingface_hub import metadata_load

from explorer.reader.links import TABS
from tests.conftest import DOCUMENTS, ROOT


@pytest.fixture(scope="module")
def head() -> dict[str, object]:
    return dict(metadata_load(ROOT / "README.md") or {})


def test_the_card_keeps_to_the_hubs_limits_and_runs_the_gradio_that_is_pinned(
    head: dict[str, object],
) -> None:
    assert head["sdk"] == "gradio" and head["license"] == "apache-2.0"
    assert f"gradio=={head['sdk_version']}" in (ROOT / "requirements.txt").read_text().split()
    assert (ROOT / str(head["app_file"])).is_file()
    assert len(str(head["short_description"])) <= 60


def test_who_signs_in_lets_the_app_read_and_propose_and_no_more(head: dict[str, object]) -> None:
    assert head["hf_oauth"] is True
    assert head["hf_oauth_scopes"] == ["read-repos", "write-discussions"]


def test_every_setting_is_in_the_table() -> None:
    settings = (ROOT / "explorer" / "core" / "settings.py").read_text()
    wanted = set(re.findall(r'"((?:EXPLORER|GRADIO_SERVER)_\w+)"', settings))
    table = (ROOT / "docs" / "settings.md").read_text()
    assert len(wanted) >= 7
    assert [name for name in sorted(wanted) if f"| `{name}` |" not in table] == []


def test_every_tab_is_told_in_the_order_of_the_page() -> None:
    told = re.findall(r"^## (.+)$", (ROOT / "docs" / "browsing.md").read_text(), re.M)
    assert told[: len(TABS)] == ["Pairs", "Models", "Score", "Try", "About the data"]


def test_the_readme_is_short_and_leads_everywhere_in_one_step() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) < 120 and readme.count("<picture>") == 2
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)", readme))
    assert linked == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def anchors(page: Path) -> set[str]:
    """Of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", words.lower()).replace(" ", "-") for words in headings}


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    said = page.read_text()
    named = [*re.findall(r"\]\(([^)\s]+)\)", said), *re.findall(r'(?:src|srcset)="([^"]+)"', said)]
    for link in named:
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
