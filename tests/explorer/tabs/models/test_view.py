"""The Models tab as a view: whose runs and files are shown, measuring, files, what is computed."""

import csv
import logging
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from threading import Event
from urllib.parse import quote_plus

import pyarrow.parquet as pq
import pytest

from explorer.core.address_view import Question, Regions, Sent, answer
from explorer.core.links import LONGEST_LINK
from explorer.results import library
from explorer.runs.visitors import Visitor
from explorer.tabs.models.board_html import share_group
from explorer.tabs.models.exports import BOARD_FORMATS
from explorer.tabs.models.state import MODELS_PANELS, ModelsState
from explorer.tabs.models.view import ModelsView
from scoring.errors import KnownError
from scoring.record import Run
from tests.conftest import until
from tests.support.boards import reading
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

NOBODY = Visitor()
MEANS = {"model": "<b>file</b>", "model_type": "DPO", "hep-go": 0.5}


@pytest.fixture(autouse=True)
def no_bug(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever is asked, nothing may fail in a way that nobody thought of."""
    yield
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []


@pytest.fixture
def run(models: ModelsView) -> Iterator[Run]:
    """A run of `ME`."""
    made = write_run(models, "<b>mine</b>", 30)
    yield made
    models.fields.runs.store.delete(made.id, ME)


def names(html: str) -> list[str]:
    """The models of a table, in its order."""
    return reading(html).of_class["name"]


# Whose runs and files.


@pytest.mark.parametrize(
    "link",
    ["", "&model={}", "&chosen={}", "&pin={}", *(f"&panel={each}&a={{}}" for each in MODELS_PANELS),
     f"&panel=compare&a={A}&b={{}}", f"&panel=compare&a={A}&b={B}&with={{}}",
     f"&panel=ensembles&member={A}&member={{}}"],
)  # fmt: skip
def test_a_private_run_is_to_others_as_one_that_is_gone(
    link: str, models: ModelsView, run: Run
) -> None:
    name = name_of(run, models)
    mine, gone = (f"?tab=models{link.format(quote_plus(name.replace('mine', word)))}"
                  for word in ("mine", "gone"))  # fmt: skip
    assert "&lt;b&gt;mine" in "".join(measured(models, mine).values())
    for other in (STRANGER, NOBODY, Visitor(run.id)):
        found = {region: html.replace("mine", "gone") for region, html in
                 measured(models, mine, other).items()}  # fmt: skip
        assert found == measured(models, gone, other)
        assert run.id not in "".join(found.values())
        assert (
            models.regions(mine, other)[0].replace("mine", "gone")
            == (models.regions(gone, other)[0])
        )


def test_runs_of_one_name_are_each_persons_own(models: ModelsView) -> None:
    runs = [write_run(models, "twin", n, who=who) for n, who in ((20, ME), (30, STRANGER))]
    for who, n, other in ((ME, 20, 30), (STRANGER, 30, 20), (ME, 20, 30)):
        table = measured(models, "?tab=models", who)["table"]
        assert f"{n} of 2,985 pairs" in table and f"{other} of 2,985 pairs" not in table
    for run, who in zip(runs, (ME, STRANGER), strict=True):
        models.fields.runs.store.delete(run.id, who)


def test_a_run_is_there_as_soon_as_it_is_and_hidden_where_own_runs_are(models: ModelsView) -> None:
    before = names(measured(models, "?tab=models")["table"])
    run = write_run(models, "later", 20)
    assert [*before, name_of(run, models)] == names(written(models, "?tab=models")["table"])
    assert names(written(models, "?tab=models&without-own=1")["table"]) == before
    for panel, region in (("compare", "drawer"), ("agreement", "table")):
        query = f"?tab=models&panel={panel}&a={A}"
        assert "later" in written(models, query)[region]
        assert "later" not in written(models, f"{query}&without-own=1")[region]
    models.fields.runs.store.delete(run.id, ME)
    assert names(written(models, "?tab=models")["table"]) == before


def test_uploaded_files_are_to_others_as_files_that_are_gone(
    models: ModelsView, tmp_path: Path
) -> None:
    token, gone = upload(models, tmp_path, mine=MEANS), "0" * 32
    for link in ("", "&panel=compare", "&model=%3Cb%3Efile%3C/b%3E+%28uploaded%29"):
        mine = f"?tab=models&results={token}{link}"
        understood, _ = models.regions(mine, ME)
        assert f"results={token}" in understood
        for other in (STRANGER, NOBODY, Visitor(token)):
            found = measured(models, mine, other)
            assert found == measured(models, mine.replace(token, gone), other)
            assert "no longer here" in found["bar"] and token not in "".join(found.values())
            assert (
                models.regions(mine, other)[0] == models.regions(mine.replace(token, gone), ME)[0]
            )
    table = measured(models, f"?tab=models&results={token}")["table"]
    assert "<b>file</b> (uploaded)" in names(table)
    assert (
        "(uploaded)" not in written(models, f"?tab=models&results={token}&without-own=1")["table"]
    )
    with pytest.raises(KnownError, match="no model to export"):
        models.as_view().files["board.csv"](
            f"?tab=models&results={token}&models=uploaded", STRANGER, ""
        )


def test_files_that_made_room_are_gone_and_said_to_be(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "_KEPT", 1)
    models = open_models(tmp_path / "home", published)
    first, second = (upload(models, tmp_path, mine=MEANS) for _ in range(2))
    assert "no longer here" in written(models, f"?tab=models&results={first}")["bar"]
    assert "(uploaded)" in written(models, f"?tab=models&results={second}")["table"]


# Measuring.


def test_status_is_looked_at_again_while_a_board_is_measured_and_not_after(
    published: Path, tmp_path: Path, may_read: Event
) -> None:
    models = open_models(tmp_path / "home", published)
    now = written(models, "?tab=models")
    assert "data-refresh" in now["status"] and "Tie group" not in now["table"]
    may_read.set()
    assert not any("data-refresh" in html for name, html in now.items() if name != "status")
    after = measured(models, "?tab=models")
    assert after["status"].strip() == "" and "Tie group" in after["table"]
    assert after["below"] != now["below"]  # the files and the words of what was measured


def test_what_could_not_be_had_is_said_until_it_is_measured_again(
    published: Path, tmp_path: Path, may_read: Event
) -> None:
    folder = tmp_path / "results"
    shutil.copytree(published, folder)
    models = open_models(tmp_path / "home", folder)
    hidden, pairs = tmp_path / "hidden", folder / "eval-set-scores"
    models.boards.library.get(None)  # its files are listed
    pairs.rename(hidden)
    pairs.mkdir()
    for file in hidden.iterdir():
        (pairs / file.name).symlink_to(tmp_path / "nothing")
    may_read.set()
    found = measured(models, "?tab=models")
    assert "0.json: it cannot be opened" in found["status"]
    assert 'data-action="measure"' in found["status"] and names(found["table"])
    shutil.rmtree(pairs)
    hidden.rename(pairs)
    assert measured(models, "?tab=models")["status"] == found["status"]
    asked = Question("?tab=models&digits=2", {}, (), "measure", "")
    answered = answer(models.as_view(), asked, ME)
    assert answered["query"] == "tab=models&digits=2"
    assert "data-refresh" in answered["regions"]["status"]
    assert "Tie group" in measured(models, "?tab=models")["table"]


def test_the_board_says_of_two_models_whether_they_share_a_tie_group(models: ModelsView) -> None:
    measured(models, "?tab=models")
    board = models.boards.board(None, ModelsState().ranking)
    a, b, plain, hostile = list(board.table.index[board.table["rank"].notna()])
    assert not share_group(board, a, b) and share_group(board, plain, hostile)


def test_newer_results_are_looked_for_in_the_background(models: ModelsView) -> None:
    asked = Question("?tab=models&digits=2", {}, (), "refresh", "")
    assert answer(models.as_view(), asked, ME)["query"] == "tab=models&digits=2"
    until(lambda: "data-refresh" not in written(models, "?tab=models")["status"])


# What is computed.


@pytest.mark.parametrize("query", ["?tab=models&model=" + A, f"?tab=models&panel=compare&a={A}"])
def test_regions_that_are_asked_for_alone_compute_no_other(query: str, models: ModelsView) -> None:
    measured(models, query)
    made = Counter[str]()

    def regions(query: str, visitor: object, _: Sent) -> tuple[str, Regions]:
        understood, found = models.regions(query, visitor)  # type: ignore[arg-type]

        def counted(name: str) -> str:
            made[name] += 1
            return found[name]()

        return understood, {name: partial(counted, name) for name in found}

    view = replace(models.as_view(), regions=regions)
    for only in (("status",), ("table", "drawer"), ("nothing",)):
        made.clear()
        found = answer(view, Question(query, {}, only, "", ""), ME)
        assert made == Counter({*only} - {"nothing"}) and found["regions"].keys() == made.keys()


def test_neither_a_table_nor_a_chart_is_written_before_it_is_asked_for(
    published: Path, tmp_path: Path
) -> None:
    models = open_models(tmp_path / "home", published)
    query = "?tab=models&plot=agreement"
    answer(models.as_view(), Question(query, {}, ("bar", "status", "drawer"), "", ""), ME)
    assert len(models.written) == 0
    answer(models.as_view(), Question(query, {}, ("table",), "", ""), ME)
    assert len(models.written) == 1


@pytest.mark.parametrize(
    "query",
    ["", "&table=subsets&plot=difficulty", "&model=" + A, "&board=v2&plot=tradeoff",
     f"&panel=compare&a={A}&b={B}&with=org/plain", f"&panel=scatter&a={A}&b={B}",
     "&panel=ensembles"],
)  # fmt: skip
def test_the_same_address_gives_the_same_html(
    query: str, models: ModelsView, published: Path, tmp_path: Path
) -> None:
    first = measured(models, f"?tab=models{query}")
    assert written(models, f"?tab=models{query}") == first
    understood, _ = models.regions(f"?tab=models{query}", ME)
    assert written(models, f"?{understood}") == first
    elsewhere = measured(open_models(tmp_path, published), f"?tab=models{query}")
    assert elsewhere | {"own": first["own"]} == first  # where it says when it was refreshed


# Files.


def names_in(form: str, content: bytes) -> list[str]:
    """The models that a file has, in its order."""
    if form == "parquet":
        return [str(name) for name in pq.read_table(BytesIO(content))["model"].to_pylist()]
    if form == "csv":
        return [row["model"] for row in csv.DictReader(StringIO(content.decode("utf-8-sig")))]
    lines = content.decode().splitlines()
    if form == "md":
        return [line.split("|")[2].strip() for line in lines if line.startswith("| ")][2:]
    return [line.split(" & ")[1] for line in lines if line.endswith("\\\\")][1:]


@pytest.mark.parametrize("form", BOARD_FORMATS)
def test_the_rows_that_an_address_shows_are_a_file(form: str, tmp_path: Path) -> None:
    models = open_models(tmp_path)
    query = "tab=models&models=%5Eopenbmb/&by=model&hide=size"
    shown = names(measured(models, query)["table"])
    file = models.as_view().files[f"board.{form}"](query, NOBODY, "")
    assert len(shown) == 4 and names_in(form, b"".join(file.parts)) == shown
    assert file.name.endswith(f"-sections.{form}")
    for link, words in (("models=nobody", "no model to export"), ("models=(", "Invalid regex")):
        with pytest.raises(KnownError, match=words):
            models.as_view().files[f"board.{form}"](link, NOBODY, "")


def test_a_file_has_the_runs_of_who_asks_alone(models: ModelsView, run: Run) -> None:
    make = models.as_view().files["board.csv"]
    found = {
        visitor: names_in("csv", b"".join(make("tab=models", visitor, "").parts))
        for visitor in (ME, STRANGER)
    }
    assert {*found[ME]} - {*found[STRANGER]} == {name_of(run, models)}


# Anything that is asked.


@pytest.mark.parametrize(
    "query",
    ["", "?", "%", "\ud800", "x" * 10**6, "&" * LONGEST_LINK, "a=" + "x" * 900 + "&b=\0",
     *(f"models={each}" for each in ("(a+)+$", "(.*)*x", "((a{1,30}){1,30})", "a?" * 200,
                                     "|" * 499, "[", r"(?=x)", r"(a)%5C1", "a{9999}", "llama,(")),
     "by=Focus", "board=v2&table=prior&rule=paper&plot=length&prior=1", "a=%00&panel=compare",
     "panel=ensembles&member=" + "&member=".join("abcdefgh"), "tab=pairs&a=m"],
    ids=lambda query: repr(query)[:30],
)  # fmt: skip
def test_any_address_is_answered(query: str, models: ModelsView) -> None:
    for link in (query, f"{query}&plot=tradeoff", f"{query}&panel=compare&a={A}"):
        found = answer(models.as_view(), Question(link, {}, (), "", ""), STRANGER)
        assert "error" not in found and len(found["regions"]) == 7
        assert len(found["query"]) <= 3 * LONGEST_LINK
    assert answer(models.as_view(), Question(query, {}, (), "explode", ""), ME)["error"]


@pytest.mark.parametrize("panel", ["scatter", "agreement", "ensembles"])
def test_a_search_that_cannot_be_used_lists_all_models_beside_another(
    panel: str, models: ModelsView
) -> None:
    a = "org/plain"  # which has no rewards
    query = f"?tab=models&panel={panel}&a={a}"
    bare, found = measured(models, query), written(models, f"{query}&models=(")
    assert reading(found["table"]).words == reading(bare["table"]).words


def test_before_anything_was_read_it_says_what_to_do(tmp_path: Path) -> None:
    found = written(open_models(tmp_path), "?tab=models&panel=compare")
    assert "No per-pair results" in found["table"] and "tab=score" in found["table"]
