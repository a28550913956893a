"""The Score tab: which pairs are chosen, what a run shows, what its owner can do with it."""

import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from explorer.core.address_view import NOTHING_SENT, Sent
from explorer.data.table import PairTable
from explorer.page import views_of
from explorer.reader.state import PairsState
from explorer.runs.cards import card_of
from explorer.runs.listing import PAGE_RUNS
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.score.exports import RUN_FORMATS
from explorer.tabs.score.state import ScoreState, read_score
from explorer.tabs.score.view import ScoreView
from scoring.command.arguments import parse
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.results.exchange import EXCHANGE_FORMATS
from scoring.sure import SureRule
from tests.conftest import until
from tests.support.beginning import finished
from tests.support.hostile import MARKUP
from tests.support.hub_server import Repo, served_hub

ME, YOU = Visitor("browser:me", "page"), Visitor("browser:you", "other")
SHE = Visitor(session="other", address="2")
"""Somebody who scores, so that others wait."""


@pytest.fixture
def score(stores: Stores) -> ScoreView:
    """Of a server that has no runs yet."""
    shutil.rmtree(stores.runs.store.folder, ignore_errors=True)
    return views_of(stores).score


@pytest.fixture
def shared(score: ScoreView, stores: Stores) -> ScoreView:
    """Of a server for people who do not know each other, with the same runs."""
    return views_of(open_stores(replace(stores.settings, public=True))).score


def query_of(asked: Mapping[str, Any]) -> str:
    """The address with these parameters, in whose names "_" stands for "-"."""
    return "?tab=score&" + urlencode({name.replace("_", "-"): each for name, each in asked.items()})


def regions(
    score: ScoreView, sent: Sent = NOTHING_SENT, who: Visitor = ME, **asked: Any
) -> dict[str, str]:
    """What an address shows."""
    return {name: write() for name, write in score.regions(query_of(asked), who, sent)[1].items()}


def words(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


def scored(score: ScoreView, **asked: Any) -> dict[str, str]:
    """What is shown at the end of a run that is started with a form."""
    address = score.start(query_of({"model": "longer", **asked}), ME, {})
    until(lambda: not score.runs.live.of(ME))
    return {name: write() for name, write in score.regions(address, ME, {})[1].items()}


@pytest.mark.parametrize(
    ("asked", "sent", "said"),
    [
        ({}, {}, "188 pairs selected"),
        ({"which": "subset", "pairs": "section=Chat"}, {}, "92 pairs selected"),
        ({"which": "subset", "per-subset": 1, "seed": 7}, {}, "23 pairs selected"),
        ({"which": "keys"}, {"keys": "{first}, {first};\n{last}"}, "2 pairs selected"),
        ({"which": "typed"}, {"prompt": "Hi.", "chosen": "Hello.", "rejected": "No."}, "1 pair"),
        ({"which": "keys"}, {"keys": MARKUP}, "Not found among these pairs"),
        ({"which": "keys"}, {"keys": "{first}; no:such"}, "(demo pairs): 'no:such'. A key is"),
        ({"pairs": "q=no+such+words"}, {}, "No pairs are selected"),
    ],
)
def test_how_many_pairs_are_chosen_is_said(
    asked: dict[str, Any], sent: dict[str, str], said: str, score: ScoreView, demo: PairTable
) -> None:
    keys = {"first": demo.keys[0], "last": demo.keys[-1]}
    sent = {name: value.format_map(keys) if "{" in value else value for name, value in sent.items()}
    told = regions(score, sent, **asked)["selected"]
    assert said in words(told) and MARKUP not in told


def test_only_what_says_which_pairs_are_listed_is_kept_of_the_pairs_tab() -> None:
    query = "section=Safety&q=sorry&pair=x:1&panel=lengths&list-page=4&sort=chosen&diff=words"
    state, dropped = read_score(f"?tab=score&pairs={query.replace('&', '%26')}")
    assert state.pairs == "section=Safety&q=sorry" and not dropped
    assert state.listed == PairsState.parse("?section=Safety&q=sorry")[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_length": "half"}, "The max length is 'half'"),
        ({"temperature": "nan"}, "The temperature is nan"),
        ({"family": "guess"}, "The family is 'guess'"),
        ({"reading": "a,b"}, "A label is its number"),
        ({"sure": True, "width": "inf"}, "points"),
    ],
)
def test_an_order_that_is_none_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    state = ScoreState(**changes)
    with pytest.raises(KnownError, match=said):
        _ = state.order, state.rule


def test_numbers_are_read_as_they_are_typed() -> None:
    filled = ScoreState(reading="0.5,1", sure=True, number="score", width="2.5")
    assert (filled.order.reading, filled.rule) == ((0.5, 1.0), SureRule("score", 0.025))


@pytest.mark.parametrize(
    ("asked", "given", "told"),
    [
        ({"pairs": "section=Chat"}, "--pairs demo --out", "This scores all pairs"),
        ({"which": "subset", "per_subset": 7}, "--per-subset 7", "the first 7 of each subset"),
        ({"family": "dpo", "reference": "org/a b"}, "--ref-model org/a b", ""),
    ],
)
def test_the_command_line_says_what_the_form_does(
    asked: dict[str, Any], given: str, told: str, score: ScoreView
) -> None:
    html = regions(score, **asked)["command"]
    line, _, below = html.partition("<pre")[2].partition(">")[2].partition("</pre>")
    python, dash_m, module, *arguments = shlex.split(unescape(line))
    assert (python, dash_m, module) == ("python", "-m", "scoring")
    parse(arguments)  # the command takes it
    below = words(below.partition("</details>")[0]).strip()
    assert given in " ".join(arguments) and told in below and bool(told) == bool(below)


def test_what_was_filled_in_wrongly_is_refused_and_nothing_is_scored(score: ScoreView) -> None:
    for wrong in ({"per_subset": "many"}, {"seed": "{}"}):
        assert "status refused" in scored(score, which="subset", **wrong)["status"]
    with pytest.raises(KnownError, match="means nothing here"):
        score.start(query_of({"model": "x" * 501}), ME, {})
    assert not score.runs.store.own(ME)


def test_an_address_looks_at_no_model_of_the_hub(score: ScoreView) -> None:
    shown = regions(score, model="org/<b>rm")
    assert "Check this model" in shown["card"] and "<b>rm" not in shown["card"]
    address = "?tab=score&model=org/rm"
    assert score.look(address, ME, {}) == address
    until(lambda: "data-refresh" not in regions(score, model="org/rm")["card"])
    assert "org/rm is not on this machine" in regions(score, model="org/rm")["card"]


def test_the_hub_is_searched_and_what_is_found_is_taken(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    online = replace(stores, settings=replace(stores.settings, offline=False), hub=Hub())
    score = views_of(online).score
    info = {"pipeline_tag": "text-classification", "downloads": 5}
    with served_hub({"models/org/small-rm": Repo(info=info)}, tmp_path, monkeypatch):
        score.find("?tab=score&find=rm", ME, {})
        until(lambda: "1 model found" in words(regions(score, find="rm")["found"]))
        assert "org/small-rm" in regions(score, find="rm")["found"]
    taken = score.take("?tab=score&find=rm", ME, {"value": "org/small-rm"})
    assert read_score(taken)[0].model == "org/small-rm"


def test_a_run_is_reported_listed_and_seen_by_its_owners_pages_alone(shared: ScoreView) -> None:
    shown = scored(shared, which="subset", per_subset=1)
    assert "Finished" in shown["status"] and "23 of 23 pairs" in words(shown["numbers"])
    assert "Against published results" in shown["check"]
    [run] = shared.runs.store.own(ME)
    assert run.id in shown["latest"] and f"run={run.id}" in shown["bar"]
    other = regions(shared, who=YOU, run=run.id)
    assert "There is no such run" in other["bar"] and run.id not in str(other)
    gone = regions(shared, who=YOU, run="20200101-000000-0000000000000000")
    assert words(gone["bar"]) == words(other["bar"])  # somebody else's is as one that is gone
    shown = scored(shared, model="no-one/no-such-model")  # whose refusal leaves the report
    assert "no-one/no-such-model is not on this machine" in shown["status"]
    assert "23 of 23 pairs" in words(shown["numbers"])


def test_every_page_sees_the_run_that_waits_without_another_runs_numbers_and_stops_it(
    shared: ScoreView,
) -> None:
    """Every page of its owner, that is."""
    scored(shared, which="subset", per_subset=1)
    with shared.runs.scorers.turn(SHE):
        address = shared.start("?tab=score&model=longer", ME, {})
        [live] = shared.runs.live.of(ME)
        for query in (address, "?tab=score"):
            shared.stop(query, YOU, {})
            assert not live.stop.is_set()
            _, written = shared.regions(query, ME, {})
            assert "ahead of you in the queue" in written["status"]()
            for name in ("status", "latest", "buttons"):
                assert "data-refresh" in written[name]()
            start, stop = re.findall(r"<button[^>]*>", written["buttons"]())
            assert "disabled" in start and 'id="stop"' in stop
            numbers = written["numbers"]()
            assert "No pairs yet" in numbers and "23 of 23" not in words(numbers)
        assert "Waiting: longer" in regions(shared, panel="runs")["runs"]
        shared.stop("?tab=score", ME, {})
        until(lambda: not shared.runs.live.of(ME))
        _, written = shared.regions(address, ME, {})
        assert "topped" in written["status"]() and "data-refresh" not in written["status"]()


def test_a_run_is_named_shared_and_removed_in_two_steps_by_its_owner_alone(
    shared: ScoreView, stores: Stores, demo: PairTable
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(4))
    query = f"?tab=score&panel=runs&run={run.id}"
    assert shared.rename(query, ME, {"value": MARKUP}) == query
    shared.share(query, ME, {"value": "1"})
    for change in (shared.rename, shared.share, shared.remove):
        with pytest.raises(KnownError, match="There is no such run"):
            change(query, YOU, {"value": run.id if change == shared.remove else "0"})
    assert card_of(run).title == MARKUP and card_of(run).public
    for who, is_own in ((ME, True), (YOU, False)):
        shown = regions(shared, who=who, panel="runs", run=run.id)["runs"]
        assert "4 / 4" in words(shown) and MARKUP not in shown
        assert ("Delete…" in shown) is ("run-owned" in shown) is ("checked" in shown) is is_own
        assert "Yes, delete it" not in shown
    assert "Yes, delete it" in regions(shared, panel="runs", run=run.id, delete=1)["runs"]
    assert shared.remove(query, ME, {"value": run.id}) == "?tab=score&panel=runs"
    assert not run.folder.exists()


def test_many_runs_come_on_pages_newest_first_and_are_searched(
    score: ScoreView, stores: Stores, demo: PairTable
) -> None:
    models = ["shorter", *["longer"] * (PAGE_RUNS + 1)]
    runs = [finished(stores.runs, model, demo, np.arange(1)) for model in models]
    first, second = (regions(score, panel="runs", page=page)["runs"] for page in (1, 9))
    assert (first.count("<tr"), second.count("<tr")) == (PAGE_RUNS + 1, 3)
    assert runs[-1].id in first and runs[0].id in second and "Page 1 of 2" in words(first)
    found = regions(score, search=" SHORT ")["latest"]
    assert found.count("run-row") == 1 and "shorter" in found


def test_files_of_a_run_are_its_owners(shared: ScoreView, stores: Stores, demo: PairTable) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(3))
    query, files = f"?tab=score&run={run.id}", shared.as_view().files
    with pytest.raises(KnownError, match="'demo pairs' is none: export every-eval-ever"):
        files["run.eval-results"](query, ME, "")  # which are of datasets on the Hub
    run.update(lambda now: replace(now, facts=replace(now.facts, pairs="org/pairs:test@1")))
    for form in (*RUN_FORMATS, *EXCHANGE_FORMATS):
        content = b"".join(files[f"run.{form}"](query, ME, "").parts).decode()
        if form in EXCHANGE_FORMATS:
            private = (str(run.folder), demo.cells(0)["prompt"], run.id)
            assert not any(each in content for each in private)
        else:
            assert all(row.key in content for row in run.rows())
        with pytest.raises(KnownError, match="There is no such run"):
            files[f"run.{form}"](query, YOU, "")
