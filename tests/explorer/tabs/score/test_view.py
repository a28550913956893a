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

from explorer.api.scoring import runs_json
from explorer.core.address_view import NOTHING_SENT, Sent
from explorer.data.table import PairTable
from explorer.page import views_of
from explorer.results.own import own_names
from explorer.runs.cards import card_of, change_card
from explorer.runs.listing import PAGE_RUNS
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.score.exports import RUN_FORMATS
from explorer.tabs.score.state import read_score
from explorer.tabs.score.view import ScoreView
from scoring.command.arguments import parse
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.results.exchange import EXCHANGE_FORMATS
from tests.conftest import PATIENCE, until
from tests.support.beginning import begun, finished, stopped
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
    _, written = score.regions(query_of(asked), who, sent)
    return {name: write() for name, write in written.items()}


def words(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


def scored(
    score: ScoreView, sent: Sent = NOTHING_SENT, who: Visitor = ME, **asked: Any
) -> dict[str, str]:
    """What is shown at the end of a run that is started with a form."""
    address = score.start(query_of({"model": "longer", **asked}), who, sent)
    until(lambda: not score.runs.live.of(who))
    _, written = score.regions(address, who, NOTHING_SENT)
    return {name: write() for name, write in written.items()}


# Which pairs


@pytest.mark.parametrize(
    ("asked", "sent", "said"),
    [
        ({}, {}, "188 pairs selected"),
        ({"which": "subset", "pairs": "section=Chat"}, {}, "92 pairs selected"),
        ({"which": "subset", "per-subset": 1, "seed": 7}, {}, "23 pairs selected"),
        ({"which": "keys"}, {"keys": "{first}, {first};\n{last}"}, "2 pairs selected"),
        (
            {"which": "typed"},
            {"prompt": "[user]\nHi.", "chosen": "Hello.", "rejected": "No."},
            "1 pair selected",
        ),
        ({"which": "keys"}, {"keys": MARKUP}, "Not found among these pairs"),
        ({"which": "keys"}, {"keys": "{first}; no:such"}, "(demo pairs): 'no:such'. A key is"),
        ({"which": "subset", "per-subset": "²"}, {}, "Pairs per subset is '²'"),
        ({"which": "failed", "failed": MARKUP}, {}, "There are no per-pair results"),
        ({"which": "typed"}, {"prompt": "a", "chosen": "b"}, "The rejected response is empty"),
        ({"pairs": "section=Nowhere"}, {}, "188 pairs selected"),
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


@pytest.mark.parametrize(
    ("asked", "given", "told"),
    [
        ({}, "", ""),
        ({"pairs": "section=Chat"}, "--pairs demo --out", "This scores all pairs"),
        ({"which": "subset", "per_subset": 7}, "--per-subset 7", "the first 7 of each subset"),
        ({"reading": "-1,1", "max_length": 9}, "--label-weights=-1,1 --max-length 9", ""),
        ({"judge_prompt": "upstream", "temperature": "0.5", "max_tokens": 99},
         "--judge-prompt upstream --max-tokens 99 --temperature 0.5", ""),
        ({"family": "dpo", "reference": "org/a b"}, "--ref-model org/a b", ""),
    ],
)  # fmt: skip
def test_the_command_line_says_what_the_form_does(
    asked: dict[str, Any], given: str, told: str, score: ScoreView
) -> None:
    html = regions(score, **asked)["command"]
    line, _, below = html.partition("<pre")[2].partition(">")[2].partition("</pre>")
    python, dash_m, module, *arguments = shlex.split(unescape(line))
    assert (python, dash_m, module) == ("python", "-m", "scoring")
    parse(arguments)  # the command takes it
    assert arguments[0] == "--model" and arguments[-2:] == ["--out", "my-run"]
    below = words(below.partition("</details>")[0]).strip()
    assert given in " ".join(arguments) and told in below and bool(told) == bool(below)


# The model


def test_an_address_looks_at_no_model_of_the_hub(score: ScoreView) -> None:
    shown = regions(score, model="org/<b>rm")
    assert "Check this model" in shown["card"] and "<b>rm" not in shown["card"]
    address = "?tab=score&model=org/rm"
    assert score.look(address, ME, {}) == address
    until(lambda: "data-refresh" not in regions(score, model="org/rm")["card"])
    assert "org/rm is not on this machine" in regions(score, model="org/rm")["card"]
    assert "Check this model" in regions(score, who=YOU, model="org/rm")["card"]


def test_the_hub_is_searched_and_what_is_found_is_taken(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    online = replace(stores, settings=replace(stores.settings, offline=False), hub=Hub())
    score = views_of(online).score
    info = {"pipeline_tag": "text-classification", "downloads": 5}
    with served_hub({"models/org/small-rm": Repo(info=info)}, tmp_path, monkeypatch):
        assert "found" not in regions(score, find="rm")["found"].replace('class="found"', "")
        score.find("?tab=score&find=rm", ME, {})
        until(lambda: "1 model found" in words(regions(score, find="rm")["found"]))
        assert "org/small-rm" in regions(score, find="rm")["found"]
    taken = score.take("?tab=score&find=rm", ME, {"value": "org/small-rm"})
    assert read_score(taken)[0].model == "org/small-rm"


# A run


def test_a_run_is_reported_listed_and_seen_by_its_owners_pages_alone(
    score: ScoreView, shared: ScoreView
) -> None:
    shown = scored(shared, which="subset", per_subset=1)
    assert "Finished" in shown["status"] and "23 of 23 pairs" in words(shown["numbers"])
    assert "Against published results" in shown["check"]
    [run] = shared.runs.store.own(ME)
    assert run.id in shown["latest"] and f"run={run.id}" in shown["bar"]
    mine, other = regions(shared, run=run.id), regions(shared, who=YOU, run=run.id)
    assert "23 of 23 pairs" in words(mine["numbers"])
    assert "There is no such run" in other["bar"] and run.id not in str(other)
    gone = regions(shared, who=YOU, run="20200101-000000-0000000000000000")
    assert words(gone["bar"]) == words(other["bar"])  # somebody else's is as one that is gone


def test_why_a_run_was_refused_is_told_beside_the_report_of_the_last(score: ScoreView) -> None:
    scored(score, which="subset", per_subset=1)
    shown = scored(score, model="no-one/no-such-model")
    assert "no-one/no-such-model is not on this machine" in shown["status"]
    assert "23 of 23 pairs" in words(shown["numbers"])
    assert "disabled" not in shown["buttons"].split("stop")[0]


def test_every_page_sees_the_run_that_waits_without_another_runs_numbers_and_stops_it(
    score: ScoreView,
) -> None:
    scored(score, which="subset", per_subset=1)
    with score.runs.scorers.turn(SHE):
        address = score.start("?tab=score&model=longer", ME, {})
        for query in (address, "?tab=score"):
            _, written = score.regions(query, ME, {})
            assert "ahead of you in the queue" in written["status"]()
            for name in ("status", "latest", "buttons"):
                assert "data-refresh" in written[name]()
            start, stop = re.findall(r"<button[^>]*>", written["buttons"]())
            assert "disabled" in start and 'id="stop"' in stop
            numbers = written["numbers"]()
            assert "No pairs yet" in numbers and "23 of 23" not in words(numbers)
        listed = regions(score, panel="runs")["runs"]
        assert "Waiting: longer" in listed and "data-refresh" in listed
        score.stop("?tab=score", ME, {})
        until(lambda: not score.runs.live.of(ME))
        _, written = score.regions(address, ME, {})
        assert "topped" in written["status"]() and "data-refresh" not in written["status"]()


def test_nobody_stops_anothers_run(shared: ScoreView) -> None:
    with shared.runs.scorers.turn(SHE):
        address = shared.start("?tab=score&model=longer", ME, {})
        shared.stop(address, YOU, {})
        shared.stop("?tab=score", YOU, {})
        [live] = shared.runs.live.of(ME)
        assert not live.stop.is_set()
    assert live.ended.wait(PATIENCE)


def test_a_stopped_run_is_gone_on_with(score: ScoreView, stores: Stores, demo: PairTable) -> None:
    stream = begun(stores.runs, "me", "longer", demo, np.arange(60), budget=200)
    next(now for now in stream if now.scored)
    run = stopped(stream).run
    assert run is not None and run.rows()
    n = 60 - len(run.rows())
    listed = regions(score, panel="runs", run=run.id)["runs"]
    assert f"Resume ({n} pairs left)" in words(listed)
    assert "Resume" in regions(score, run=run.id)["status"]
    address = score.resume("?tab=score&panel=runs", ME, {"value": run.id})
    until(lambda: not score.runs.live.of(ME))
    assert len(run.rows()) == 60 and read_score(address)[0].panel == "new"
    now, written = score.regions(address, ME, {})
    assert "Finished" in written["status"]() and now.endswith(f"run={run.id}")


# The list


def test_a_run_is_named_shared_and_removed_in_two_steps(
    score: ScoreView, stores: Stores, demo: PairTable
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(4))
    query = f"?tab=score&panel=runs&run={run.id}"
    assert score.rename(query, ME, {"value": MARKUP}) == query
    assert card_of(run).title == MARKUP
    assert MARKUP not in regions(score, panel="runs", run=run.id)["runs"]
    score.share(query, ME, {"value": "1"})
    assert card_of(run).public and "checked" in regions(score, panel="runs", run=run.id)["runs"]
    score.share(query, ME, {"value": ""})
    assert not card_of(run).public
    assert "Yes, delete it" not in regions(score, panel="runs", run=run.id)["runs"]
    assert "Yes, delete it" in regions(score, panel="runs", run=run.id, delete=1)["runs"]
    assert score.remove(query, ME, {"value": run.id}) == "?tab=score&panel=runs"
    assert not run.folder.exists()


def test_who_does_not_own_a_public_run_can_look_at_it_and_change_nothing(
    shared: ScoreView, stores: Stores, demo: PairTable
) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(4))
    change_card(run, lambda _: replace(card_of(run), public=True))
    query = f"?tab=score&panel=runs&run={run.id}"
    for who, is_own in ((ME, True), (YOU, False)):
        shown = regions(shared, who=who, panel="runs", run=run.id)["runs"]
        assert "4 / 4" in words(shown)
        assert ("Delete…" in shown) is ("run-owned" in shown) is is_own
    for change in (shared.rename, shared.share, shared.remove):
        with pytest.raises(KnownError, match="There is no such run"):
            change(query, YOU, {"value": run.id if change == shared.remove else "1"})
    assert run.folder.exists() and not card_of(run).title


@pytest.mark.parametrize("content", [b'{"facts": {"mod', b'{"facts": {"model": 5}}'])
def test_a_damaged_run_is_listed_and_removed_and_harms_no_other(
    content: bytes,
    score: ScoreView,
    stores: Stores,
    demo: PairTable,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other, run = (finished(stores.runs, "longer", demo, np.arange(n)) for n in (4, 5))
    (run.folder / "run.json").write_bytes(content)
    caplog.clear()
    listed = regions(score, panel="runs")["runs"]
    assert other.id in listed and f"{run.id} is damaged" in listed
    assert other.id in [each["id"] for each in runs_json(stores.runs.store, ME)["runs"]]
    assert own_names(stores.runs.store.visible(ME), ())
    score.remove("?tab=score&panel=runs", ME, {"value": run.id})
    listed = regions(score, panel="runs")["runs"]
    assert not run.folder.exists() and run.id not in listed and other.id in listed
    assert not [record for record in caplog.records if record.exc_info]


def test_many_runs_come_on_pages_newest_first_and_are_searched(
    score: ScoreView, stores: Stores, demo: PairTable
) -> None:
    finished(stores.runs, "shorter", demo, np.arange(1))
    runs = [finished(stores.runs, "longer", demo, np.arange(1)) for _ in range(PAGE_RUNS + 1)]
    first = regions(score, panel="runs")["runs"]
    assert first.count("<tr") == PAGE_RUNS + 1 and "Page 1 of 2" in words(first)
    assert runs[-1].id in first and runs[0].id not in first
    second = regions(score, panel="runs", page=9)["runs"]
    assert second.count("<tr") == 3 and runs[0].id in second
    found = regions(score, search=" SHORT ")["latest"]
    assert found.count("run-row") == 1 and "shorter" in found
    assert "panel=compare&amp;a=" in regions(score)["latest"]
    assert "No run has this in its name" in regions(score, search="gone")["latest"]


# Files


def test_files_of_a_run_are_its_owners(shared: ScoreView, stores: Stores, demo: PairTable) -> None:
    run = finished(stores.runs, "longer", demo, np.arange(3))
    query, files = f"?tab=score&run={run.id}", shared.as_view().files
    for form in RUN_FORMATS:
        file = shared.file(form, query, ME, "")
        content = b"".join(file.parts).decode()
        assert file.name.endswith(form) and all(row.key in content for row in run.rows())
        with pytest.raises(KnownError, match="There is no such run"):
            shared.file(form, query, YOU, "")
    with pytest.raises(KnownError, match="'demo pairs' is none: export every-eval-ever"):
        files["run.eval-results"](query, ME, "")  # which are of datasets on the Hub
    run.update(lambda now: replace(now, facts=replace(now.facts, pairs="org/pairs:test@1")))
    for name in (f"run.{form}" for form in EXCHANGE_FORMATS):
        assert name in regions(shared, run=run.id)["bar"]
        content = b"".join(files[name](query, ME, "").parts).decode()
        assert "baseline/longer" in content or "org/pairs" in content
        private = (str(run.folder), demo.cells(0)["prompt"], run.id)
        assert not any(each in content for each in private)
        with pytest.raises(KnownError, match="There is no such run"):
            files[name](query, YOU, "")
