"""The Models tab as a view: whose runs and files are shown, measuring, files, what is computed."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from urllib.parse import quote_plus

import pytest

from explorer.runs.visitors import Visitor
from explorer.tabs.models.view import ModelsView
from scoring.errors import KnownError
from scoring.record import Run
from tests.support.html_reading import HtmlReading
from tests.support.published import (
    ME,
    STRANGER,
    A,
    B,
    measured,
    name_of,
    open_models,
    upload,
    write_run,
    written,
)

MEANS = {"model": "<b>file</b>", "model_type": "DPO", "hep-go": 0.5}
pytestmark = pytest.mark.usefixtures("no_bug")


@pytest.fixture
def run(models: ModelsView) -> Iterator[Run]:
    """A run of `ME`."""
    made = write_run(models, "<b>mine</b>", 30)
    yield made
    models.fields.runs.store.delete(made.id, ME)


def names(html: str) -> list[str]:
    """The models of a table, in its order."""
    return HtmlReading(html).of_class["name"]


@pytest.mark.parametrize(
    "link",
    ["&model={}&chosen={}&pin={}", f"&panel=compare&a={A}&b={B}&with={{}}"],
)
def test_a_private_run_is_to_others_as_one_that_is_gone(
    link: str, models: ModelsView, run: Run
) -> None:
    name = quote_plus(name_of(run, models))
    mine, gone = (
        f"?tab=models{link.replace('{}', name.replace('mine', word))}" for word in ("mine", "gone")
    )
    assert "&lt;b&gt;mine" in "".join(measured(models, mine).values())
    for other in (STRANGER, Visitor(run.id)):
        found = measured(models, mine, other)
        as_gone = {region: html.replace("mine", "gone") for region, html in found.items()}
        assert as_gone == measured(models, gone, other)
        assert run.id not in "".join(found.values())
        understood = models.regions(mine, other)[0]
        assert understood.replace("mine", "gone") == models.regions(gone, other)[0]


def test_a_run_is_there_as_soon_as_it_is_and_hidden_where_own_runs_are(models: ModelsView) -> None:
    before = names(measured(models, "?tab=models")["table"])
    run = write_run(models, "later", 20)
    assert [*before, name_of(run, models)] == names(written(models, "?tab=models")["table"])
    assert names(written(models, "?tab=models&without-own=1")["table"]) == before
    models.fields.runs.store.delete(run.id, ME)
    assert names(written(models, "?tab=models")["table"]) == before


def test_uploaded_files_are_to_others_as_files_that_are_gone(
    models: ModelsView, tmp_path: Path
) -> None:
    token, gone = upload(models, tmp_path, mine=MEANS), "0" * 32
    mine = f"?tab=models&results={token}&model=%3Cb%3Efile%3C/b%3E+%28uploaded%29"
    for other in (STRANGER, Visitor(token)):
        found = measured(models, mine, other)
        assert found == measured(models, mine.replace(token, gone), other)
        assert "no longer here" in found["bar"] and token not in "".join(found.values())
        assert models.regions(mine, other)[0] == models.regions(mine.replace(token, gone), ME)[0]
    table = measured(models, f"?tab=models&results={token}")["table"]
    assert "<b>file</b> (uploaded)" in names(table)
    with pytest.raises(KnownError, match="no model to export"):
        query = f"?tab=models&results={token}&models=uploaded"
        models.as_view().files["board.csv"](query, STRANGER, "")


def test_status_is_looked_at_again_while_a_board_is_measured_and_not_after(
    published: Path, tmp_path: Path, may_read: Event
) -> None:
    models = open_models(tmp_path / "home", published)
    now = written(models, "?tab=models")
    assert "data-refresh" in now["status"] and "Tie group" not in now["table"]
    may_read.set()
    after = measured(models, "?tab=models")
    assert after["status"].strip() == "" and "Tie group" in after["table"]
    assert after["below"] != now["below"]  # the files and the words of what was measured


def test_a_search_that_cannot_be_used_lists_all_models_beside_another(models: ModelsView) -> None:
    query = "?tab=models&panel=agreement&a=org/plain"
    bare, found = measured(models, query), written(models, f"{query}&models=(")
    assert HtmlReading(found["table"]).words == HtmlReading(bare["table"]).words
