"""The Models tab as anyone may post to it: it shows, exports or refuses, and stands after."""

import json
import logging
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.core.settings import Settings
from explorer.page import Page
from explorer.reader.session import Session
from explorer.results.board import Ranking
from explorer.results.boards import BoardMeasuring
from explorer.runs.cards import RunCard, write_card
from explorer.runs.visitors import owner_of
from explorer.stats.rules import PRIOR_SCORED
from explorer.stores import open_stores
from explorer.tabs.models.acts_view import ModelsTab
from explorer.tabs.models.state import MOST_PINS
from scoring.limits import Step
from tests.explorer.board_data import coin_flips, write_results
from tests.explorer.boards import (
    HOSTILE,
    acted,
    by_name,
    models,
    opened,
    reading,
    tab_on,
)
from tests.explorer.browsing import posted, stays
from tests.explorer.conftest import Serve
from tests.explorer.filling import Filled, filled
from tests.explorer.posting import Visitor
from tests.explorer.results.test_own import run_of

SHARES = {"org/llama-8b": 0.95, "org/alike-70b": 0.94, "org/gemma-2b": 0.2, HOSTILE[0]: 0.5}
NONSENSE: list[Any] = [None, 1e300, True, "\ud800", "x" * 10**5, [[]], ["x"] * 10**4, {"a": {}}]
ACTS = (
    "benchmark", "table", "search", "types", "prior_sets", "rule", "ties", "missing", "hidden",
    "pins", "digits", "own", "pin", "unpin", "sort", "pick", "open", "ticked", "chart",
)  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    outcomes = {name: coin_flips(share) for name, share in SHARES.items()}
    folder = write_results(tmp_path_factory.mktemp("results"), outcomes)
    (folder / "pref-sets").mkdir()
    prior = {"model": "org/llama-8b", **dict.fromkeys(PRIOR_SCORED, 0.5)}
    (folder / "pref-sets" / "llama.json").write_text(json.dumps(prior))
    return folder


@pytest.fixture(scope="module")
def server(serve: Serve, results: Path) -> Visitor:
    return serve(public=True, results=str(results))


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    """Somebody new, whose page was opened."""
    new = Visitor(server.page)
    opened(new, "?tab=leaderboard")
    return new


@pytest.fixture(autouse=True)
def no_bug(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever is posted, nothing may fail in a way that nobody thought of."""
    yield
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []


def refused(visitor: Visitor, name: object, /, **sent: Any) -> str:
    return visitor.refused(ModelsTab.act, event_data=posted(name, **sent))


def stands(visitor: Visitor) -> bool:
    """Whether the board is what it was when it was opened."""
    shown = acted(visitor, "reset")
    return f"{len(SHARES)} of {len(SHARES)} models" in shown["told"] and shown["address"] == ""


# What acts show.


def test_acts_change_what_is_shown_and_its_address(visitor: Visitor) -> None:
    assert models(acted(visitor, "search", value="LLAMA, 70b$")) == [
        "org/llama-8b",
        "org/alike-70b",
    ]
    acted(visitor, "sort", value="Chat")
    shown = acted(visitor, "pin", value="org/gemma-2b")
    assert models(shown)[0] == "org/gemma-2b" and len(models(shown)) == 3
    link = shown["address"]
    assert "models=" in link and "by=-Chat" in link and "pin=org/gemma-2b" in link
    assert models(opened(Visitor(visitor.page), f"?tab=leaderboard&{link}")) == models(shown)


def test_a_row_opens_a_drawer_which_a_link_and_the_next_act_keep(visitor: Visitor) -> None:
    shown = acted(visitor, "open", value="org/gemma-2b")
    assert "org/gemma-2b" in shown["drawer"] and "model=org/gemma-2b" in shown["address"]
    assert "org/gemma-2b" in acted(visitor, "digits", value=2)["drawer"]
    linked = opened(Visitor(visitor.page), f"?tab=models&{shown['address']}")
    assert "Open its" in linked["drawer"]
    assert acted(visitor, "open", value="")["drawer"] == ""
    assert "no model" in refused(visitor, "open", value="gone")
    gone = opened(Visitor(visitor.page), "?tab=models&model=gone&chosen=gone")
    assert "model=gone" in gone["told"] and "chosen=gone" in gone["told"]


def test_two_models_that_are_ticked_are_compared(visitor: Visitor) -> None:
    measured(visitor)
    first = acted(visitor, "ticked", value="org/gemma-2b")
    assert "chosen=org/gemma-2b" in first["address"] and "org/gemma-2b" in first["told"]
    assert "chosen" not in acted(visitor, "ticked", value="org/gemma-2b")["address"]
    acted(visitor, "ticked", value="org/gemma-2b")
    both = acted(visitor, "ticked", value="org/llama-8b")
    assert both["address"].startswith("panel=compare&a=org/gemma-2b&b=org/llama-8b")
    assert "compare-cell" in both["table"] and "short-board" in both["drawer"]
    assert models(acted(visitor, "panel", value="board"))


def test_models_that_are_pinned_are_compared(visitor: Visitor) -> None:
    measured(visitor)
    assert "Compare pinned" not in acted(visitor, "pin", value="org/gemma-2b")["head"]
    head = acted(visitor, "pin", value="org/llama-8b")["head"]
    assert "a=org/llama-8b&amp;b=org/gemma-2b" in head and "Compare pinned" in head


def test_where_nothing_is_compared_yet_the_models_are_offered_by_rank(visitor: Visitor) -> None:
    measured(visitor)
    ensembles = acted(visitor, "panel", value="ensembles")
    assert "An ensemble combines" in ensembles["table"] and "a-name" not in ensembles["head"]
    for panel in ("agreement", "compare"):
        bare = acted(visitor, "panel", value=panel)
        assert bare["drawer"].count('data-act="a"') == 4
    chosen = acted(visitor, "a", value="org/gemma-2b")
    assert chosen["drawer"].count('data-act="b"') == 4


def test_a_link_to_a_model_without_results_says_so_until_others_are_compared(
    visitor: Visitor,
) -> None:
    measured(visitor)
    opened(visitor, "?tab=models&panel=compare&a=org/gemma-2b&b=org/gone")
    # The browser turns to the tab that the link opened.
    assert "org/gone" in acted(visitor, "turned")["told"]
    assert "org/gone" not in acted(visitor, "b", value="org/llama-8b")["told"]


def test_sessions_do_not_see_each_other(visitor: Visitor) -> None:
    acted(visitor, "pin", value="org/gemma-2b")
    other = Visitor(visitor.page)
    opened(other, "?tab=leaderboard")
    assert models(acted(other, "digits", value=2))[0] == "org/llama-8b"
    assert models(acted(visitor, "digits", value=2))[0] == "org/gemma-2b"


def measured(visitor: Visitor) -> Filled:
    """The tab once its page asked often enough how far it is."""
    shown = by_name(visitor.data(ModelsTab.show))
    while shown["timer"]["active"]:
        time.sleep(0.05)
        shown = by_name(visitor.data(ModelsTab.act, event_data={"act": "again"}))
    return by_name(visitor.data(ModelsTab.show)) if stays(shown["table"]) else shown


def test_ranks_and_ties_come_without_a_press(visitor: Visitor) -> None:
    acted(visitor, "missing", value="loss")
    shown = measured(visitor)
    assert not shown["measure"]["visible"] and shown["status"] == ""
    assert "Tie group" in shown["table"] and "count as one draw" in shown["about"]
    assert "not read" not in shown["told"]
    again = acted(visitor, "again")
    assert stays(again["table"]) and not again["timer"]["active"]


def test_with_prior_sets_sections_alone_are_measured(visitor: Visitor) -> None:
    acted(visitor, "prior_sets", value=True)
    shown = measured(visitor)
    assert not shown["measure"]["visible"]
    assert "Tie group" not in shown["table"] and "binomial" in shown["about"]
    prior = acted(visitor, "table", value="prior")
    assert models(prior) == ["org/llama-8b"] and not prior["measure"]["visible"]


class DoneMeanwhile(BoardMeasuring):
    """Answers only when all is measured, as on a machine that is busy with others."""

    def begin(self, *asked: Any) -> Step | None:
        while super().begin(*asked) is not None:
            time.sleep(0.01)
        return None


def test_what_ends_while_the_board_is_drawn_is_shown(results: Path, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home", pairs="demo", results=str(results), offline=True)
    stores = open_stores(settings)
    tab = replace(tab_on(stores), measuring=DoneMeanwhile(stores.boards))
    shown = filled(tab.parts, tab.show(Session()))
    assert "Tie group" in shown.table and not shown.timer.active


def test_what_could_not_be_had_is_told_and_can_be_tried_again(
    results: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    settings = Settings(tmp_path / "home", pairs="demo", results=str(folder), offline=True)
    stores = open_stores(settings)
    tab, session = tab_on(stores), Session()
    stores.boards.unread(None, Ranking())  # its files are listed
    for file in (folder / "eval-set-scores" / "org").iterdir():
        file.unlink()
        file.symlink_to(tmp_path / "nothing")
    for ask in (tab.show, tab.measure):
        shown = filled(tab.parts, ask(session))
        while shown.timer.active:
            shown = filled(tab.parts, tab.show(session))
        assert "0000.json: it cannot be opened" in shown.status
        assert "Warnings about per-pair results: 4" in shown.about
        assert shown.measure["visible"] and "org/llama-8b" in shown.table


def test_of_a_benchmark_without_results_bundled_ones_are_shown_and_it_is_said(
    visitor: Visitor,
) -> None:
    shown = acted(visitor, "benchmark", value="v2")
    assert "Bundled figures of 140 models: RewardBench 2 leaderboard" in shown["about"]
    assert not shown["measure"]["visible"] and "LMUnit" in shown["table"]
    assert shown["below"]["visible"] and "RewardBench 2" in shown["about"]
    again = acted(visitor, "benchmark", value="v1")
    assert "4 of 4" in again["told"] and again["below"]["visible"]


# Nonsense.


@pytest.mark.parametrize("act", ACTS)
def test_any_value_of_an_act_is_taken_or_refused_in_few_words(visitor: Visitor, act: str) -> None:
    for value in NONSENSE:
        sent = dict.fromkeys(("value", "names", "among", "model", "column"), value)
        message = visitor.post(ModelsTab.act, event_data=posted(act, facet="columns", **sent))
        assert message["success"] or 0 < len(message["output"]["error"]) < 1500
    acted(visitor, "pins", value=[])
    assert stands(visitor)


@pytest.mark.parametrize("act", ["explode", "", "__class__", "reset ", None, 5, ["sort"], {}])
def test_an_act_that_there_is_not_is_refused(visitor: Visitor, act: object) -> None:
    assert "There is no act" in refused(visitor, act, value=1)
    assert stands(visitor)


@pytest.mark.parametrize("event", [None, 5, "sort", [], {"sent": 1}, {"act": "sort", "sent": []}])
def test_an_event_that_is_none_changes_nothing(visitor: Visitor, event: Any) -> None:
    message = visitor.post(ModelsTab.act, event_data=event)
    assert not message["success"] and len(message["output"]["error"]) < 1500
    assert stands(visitor)


@pytest.mark.parametrize("column", ["no such column", "Chat ", "", 5, None, ["Chat"]])
def test_a_column_that_there_is_not_can_be_no_ones(visitor: Visitor, column: Any) -> None:
    assert "column" in refused(visitor, "hidden", value=[column])
    message = visitor.post(ModelsTab.act, event_data=posted("sort", value=column))
    assert message["success"] is (column == "")
    assert stands(visitor)


def test_a_column_of_another_table_leaves_the_order(visitor: Visitor) -> None:
    shown = acted(visitor, "sort", value="Focus")
    assert models(shown)[0] == "org/llama-8b" and len(models(shown)) == len(SHARES)


def test_10000_pins_are_refused(visitor: Visitor) -> None:
    names = [f"org/model-{number}" for number in range(10_000)]
    assert f"{MOST_PINS} models can be pinned" in refused(visitor, "pins", value=names)
    link = "&".join(f"pin={name}" for name in names)
    shown = opened(visitor, f"?tab=leaderboard&{link}")
    assert len(models(shown)) == len(SHARES)
    assert shown["address"].count("pin=") == MOST_PINS
    assert "Ignored in the link" in shown["told"]


@pytest.mark.parametrize(
    "search",
    ["(a+)+$", "(a|a)*b", "(.*)*x", "((a{1,30}){1,30})", "a?" * 200, "|" * 499, ".*" * 200],
)
def test_every_search_comes_to_an_end(visitor: Visitor, search: str) -> None:
    message = visitor.post(ModelsTab.act, event_data=posted("search", value=search))
    assert message["success"] or "no regular expression" in message["output"]["error"]
    assert stands(visitor)


@pytest.mark.parametrize("search", ["(", "[", "*", r"(?=x)", r"(a)\1", "a{9999}", "llama,("])
def test_what_is_no_search_is_refused_and_the_rows_stay(visitor: Visitor, search: str) -> None:
    acted(visitor, "search", value="llama")
    told = str(visitor.data(ModelsTab.act, event_data=posted("search", value=search)))
    assert "no regular expression" in told and "note wrong" in told
    assert models(acted(visitor, "digits", value=2)) == ["org/llama-8b"]


@pytest.mark.parametrize("link", [None, 5, [], {"a": 1}, "", "?", "%", "\ud800", "x" * 10**6])
def test_after_any_link_the_board_is_there_when_it_is_turned_to(
    visitor: Visitor, link: Any
) -> None:
    new = Visitor(visitor.page)
    new.data(Page.open, {"Textbox": link})
    assert len(models(by_name(new.data(ModelsTab.act, event_data={"act": "turned"})))) == len(
        SHARES
    )


def test_what_a_link_says_wrongly_is_told_as_text(visitor: Visitor) -> None:
    shown = opened(visitor, f"?tab=leaderboard&by={HOSTILE[1]}&digits=9&{HOSTILE[0]}=1&board=v1")
    notes = reading(shown["told"]).of_class["note"]
    for words in ("digits=9", f"by={HOSTILE[1]}", HOSTILE[0]):
        assert any("Ignored in the link" in note and words in note for note in notes)


@pytest.mark.parametrize("state", NONSENSE, ids=lambda value: repr(value)[:20])
def test_a_posted_state_is_not_looked_at(visitor: Visitor, state: Any) -> None:
    shown = by_name(visitor.data(ModelsTab.show, {"State": state, "BrowserState": None}))
    assert len(models(shown)) == len(SHARES)


def test_a_run_that_ended_since_is_there_when_the_tab_is_turned_to(
    visitor: Visitor, home: Path
) -> None:
    visitor.data(Page.open, {"BrowserState": "the secret of another"})
    assert not models(by_name(visitor.data(ModelsTab.show)))[len(SHARES) :]
    run = run_of(home / "runs", {"hep-go:3": (1.0, 0.0)})
    write_card(run.folder, RunCard(owner_of(None, "the secret of another")))
    turned = {"act": "turned"}
    shown = by_name(visitor.data(ModelsTab.act, event_data=turned))
    assert f"{len(SHARES) + 1} of {len(SHARES) + 1} models" in shown["told"]
    again = by_name(visitor.data(ModelsTab.act, event_data=turned))
    assert all(stays(again[name]) for name in ("told", "table", "chart.plot"))


def test_a_run_is_on_the_board_of_its_owner_alone(visitor: Visitor, home: Path) -> None:
    run = run_of(home / "runs", {"hep-go:3": (1.0, 0.0)})
    write_card(run.folder, RunCard(owner_of(None, "the secret of one")))
    visitor.data(Page.open, {"BrowserState": "the secret of one"})
    mine = by_name(visitor.data(ModelsTab.show))
    assert any("<b>mine</b> (your run of" in name for name in models(mine))
    assert run.id not in json.dumps(mine)
    for secret in (None, "", "another", run.id, {"owner": "x"}):
        stranger = Visitor(visitor.page)
        stranger.data(Page.open, {"BrowserState": secret})
        assert len(models(by_name(stranger.data(ModelsTab.show)))) == len(SHARES)
