"""The Models and the Pairs tab on published results: what is a visitor's own is to others as what
is gone, and what is read or measured meanwhile is shown once it is there.
"""

from dataclasses import replace
from pathlib import Path
from threading import Event
from urllib.parse import quote_plus

import pytest

from explorer.reader.state import PairsState
from explorer.runs.visitors import Visitor
from explorer.tabs.models.view import ModelsView
from scoring.errors import KnownError
from tests.conftest import until
from tests.support.browsing import answered_of
from tests.support.html_reading import HtmlReading
from tests.support.published import (
    ME,
    STRANGER,
    A,
    B,
    measured,
    name_of,
    open_models,
    pairs_beside,
    upload,
    write_run,
    written,
)

pytestmark = pytest.mark.usefixtures("no_bug")


def seen(models: ModelsView, query: str, who: Visitor) -> dict[str, str]:
    """What a tab shows a visitor of an address, and the address as it is understood."""
    if query.startswith("?tab=models"):
        return {**measured(models, query, who), "address": models.regions(query, who)[0]}
    found = answered_of(pairs_beside(models), query, who)
    return {**found, "address": found.query}


@pytest.mark.parametrize(
    "link",
    [
        "?tab=models&model={}&chosen={}&pin={}",
        f"?tab=models&panel=compare&a={A}&b={B}&with={{}}",
        "?tab=pairs&model={}&show=all&panel=rewards",
        f"?tab=pairs&model={A}&against={{}}",
    ],
)
def test_a_private_run_is_to_others_as_one_that_is_gone(link: str, models: ModelsView) -> None:
    run = write_run(models, "<b>mine</b>", 30)
    name = quote_plus(name_of(run, models))
    mine, gone = (link.replace("{}", name.replace("mine", word)) for word in ("mine", "gone"))
    assert "&lt;b&gt;mine" in "".join(seen(models, mine, ME).values())
    for other in (STRANGER, Visitor(run.id)):
        found = seen(models, mine, other)
        as_gone = {region: html.replace("mine", "gone") for region, html in found.items()}
        assert as_gone == seen(models, gone, other)
        assert run.id not in "".join(found.values())
    with pytest.raises(KnownError, match="No outcomes stand beside"):
        pairs_beside(models).as_view().files["outcomes.csv"](f"model={name}", STRANGER, "")
    models.fields.runs.store.delete(run.id, ME)


def names(html: str) -> list[str]:
    """The models of a table, in its order."""
    return HtmlReading(html).of_class["name"]


def test_uploaded_files_are_to_others_as_files_that_are_gone(
    models: ModelsView, tmp_path: Path
) -> None:
    means = {"model": "<b>file</b>", "model_type": "DPO", "hep-go": 0.5}
    token, gone = upload(models, tmp_path, mine=means), "0" * 32
    mine = f"?tab=models&results={token}&model=%3Cb%3Efile%3C/b%3E+%28uploaded%29"
    for other in (STRANGER, Visitor(token)):
        found = seen(models, mine, other)
        assert found == seen(models, mine.replace(token, gone), other)
        assert "no longer here" in found["bar"] and token not in "".join(found.values())
    table = measured(models, f"?tab=models&results={token}")["table"]
    assert "<b>file</b> (uploaded)" in names(table)
    with pytest.raises(KnownError, match="no model to export"):
        query = f"?tab=models&results={token}&models=uploaded"
        models.as_view().files["board.csv"](query, STRANGER, "")


def test_a_run_is_there_as_soon_as_it_is_and_hidden_where_own_runs_are(models: ModelsView) -> None:
    before = names(measured(models, "?tab=models")["table"])
    run = write_run(models, "later", 20)
    assert [*before, name_of(run, models)] == names(written(models, "?tab=models")["table"])
    assert names(written(models, "?tab=models&without-own=1")["table"]) == before
    models.fields.runs.store.delete(run.id, ME)
    assert names(written(models, "?tab=models")["table"]) == before


def test_what_is_read_and_measured_is_shown_once_it_is_there(
    published: Path, tmp_path: Path, may_read: Event
) -> None:
    models = open_models(tmp_path, published)
    view, asked = pairs_beside(models), "model=org/plain&show=all&q=the"
    board, outcomes = written(models, "?tab=models"), answered_of(view, asked)
    assert f'value="{A}"' in answered_of(view)["head"], "it can be picked already"
    assert all("data-refresh" in shown["status"] for shown in (board, outcomes))
    assert "Tie group" not in board["table"]
    assert outcomes.state == PairsState(model="org/plain", kind="all", words="the")
    may_read.set()
    until(lambda: not answered_of(view, asked)["status"])
    shown = answered_of(view, asked)
    assert replace(shown.state, source="") == outcomes.state and "pair-row" in shown["main"]
    after = measured(models, "?tab=models")
    assert after["status"].strip() == "" and "Tie group" in after["table"]
    assert after["below"] != board["below"]  # the files and the words of what was measured
