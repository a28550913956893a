"""The README's head configures a Space; it must be valid and agree with the requirements."""

import re
from pathlib import Path

import pytest
from huggingface_hub import metadata_load

from explorer.core.text import text
from explorer.reader.links import TABS

ROOT = Path(__file__).parents[1]
COLOURS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


@pytest.fixture(scope="module")
def head() -> dict[str, object]:
    return dict(metadata_load(ROOT / "README.md") or {})


def test_the_space_runs_the_gradio_that_is_pinned(head: dict[str, object]) -> None:
    assert head["sdk"] == "gradio"
    assert f"gradio=={head['sdk_version']}" in (ROOT / "requirements.txt").read_text().split()
    assert head["python_version"] == "3.12"
    assert (ROOT / str(head["app_file"])).is_file()


def test_the_card_keeps_to_the_hubs_limits(head: dict[str, object]) -> None:
    assert len(str(head["short_description"])) <= 60
    assert {head["colorFrom"], head["colorTo"]} <= COLOURS
    assert head["license"] == "apache-2.0"


def test_who_signs_in_lets_the_app_read_and_propose_and_no_more(head: dict[str, object]) -> None:
    assert head["hf_oauth"] is True
    assert head["hf_oauth_scopes"] == ["read-repos", "write-discussions"]


def test_every_setting_is_in_the_table() -> None:
    settings = (ROOT / "explorer" / "core" / "settings.py").read_text()
    wanted = set(re.findall(r'"((?:EXPLORER|GRADIO_SERVER)_\w+)"', settings))
    readme = (ROOT / "README.md").read_text()
    assert len(wanted) >= 7
    assert [name for name in sorted(wanted) if f"`{name}`" not in readme] == []


def test_every_tab_is_told_in_the_order_of_the_page() -> None:
    readme = (ROOT / "README.md").read_text().partition("## The tabs")[2].partition("\n## ")[0]
    assert re.findall(r"^- \*\*(.+?)\*\*:", readme, re.M) == [text(f"tab.{tab}") for tab in TABS]
