"""The Failures tab on runs of the demo model: what is listed, opened, linked, and refused."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.pairs.fail_parts_view import UNOPENED, FailsShown
from explorer.tabs.pairs.fail_state import FAIL_LINK, PANELS, FailView, fail_scene
from explorer.tabs.pairs.fails_view import Failures
from explorer.tabs.pairs.kinds import kinds_html
from explorer.tabs.pairs.rewards_view import RewardsView
from scoring.record import Run
from scoring.spec import ScoredPair
from tests.explorer.beginning import begun
from tests.explorer.browsing import act, stays
from tests.explorer.html_reading import is_told_as_our_own

WHERE: tuple[Any, ...] = (None, None, Visitor(), {})


@pytest.fixture(scope="module")
def run(stores: Stores, demo: PairTable) -> Run:
    """A run of the demo model on some demo pairs."""
    *_, last = begun(stores.runs, "me", "demo", demo, np.arange(0, 188, 3), "every third")
    assert last.run is not None and last.stage == "finished"
    return last.run


@pytest.fixture(scope="module")
def other(stores: Stores, demo: PairTable) -> Run:
    """A run of a baseline on more of them."""
    *_, last = begun(stores.runs, "me", "longer", demo, np.arange(0, 188, 2), "every second")
    assert last.run is not None
    return last.run


@pytest.fixture
def tab(stores: Stores, run: Run, other: Run) -> Failures:
    return Failures(stores.fields, stores.settings)


def name_of(tab: Failures, run: Run) -> str:
    return tab.fields.name_of(run.id, *WHERE[:3])


def named(values: Sequence[Any]) -> dict[str, Any]:
    """The outputs by name; columns and rewards have several each."""
    rewards = [f"rewards {at}" for at in range(RewardsView.N)]
    several: dict[str, list[str]] = {"columns": [*PANELS], "rewards": rewards}
    flat = [each for name in FailsShown._fields for each in several.get(name, [name])]
    return dict(zip(flat, values, strict=True))


def lost(run: Run) -> list[ScoredPair]:
    """Pairs that the run lost, the worst first."""
    rows = [pair for pair in run.rows() if pair.outcome == "loss"]
    return sorted(rows, key=lambda pair: pair.margin or 0.0)


def listed(shown: dict[str, Any]) -> list[str]:
    return re.findall(r'scope="row"[^>]*><button[^>]*>(.+?)</button>', shown["pairs"])


def test_a_run_that_was_just_scored_opens_at_its_worst_pair(tab: Failures, run: Run) -> None:
    shown = named(tab.turn_to(run.id, FailView(), *WHERE))
    keys = [pair.key for pair in lost(run)]
    assert len(keys) > 5
    assert listed(shown) == keys[:25]
    assert shown["seen"].view.reading.key == keys[0]
    assert f'data-key="{keys[0]}"' in shown["pair"]
    margins = re.findall(r'data-label="margin">(.+?)</td>', shown["pairs"])
    assert len(margins) == min(25, len(keys))
    assert "every third" in shown["facts"]
    assert shown["address"].startswith("model=")


def test_the_reader_shows_rewards_lengths_and_who_else_fails(tab: Failures, run: Run) -> None:
    pair = named(tab.turn_to(run.id, FailView(), *WHERE))["pair"]
    worst = lost(run)[0]
    assert f"{worst.chosen_tokens:,} tokens" in pair
    assert "No other model has a result of this pair" in pair and is_told_as_our_own(pair)
    assert tag_free(pair).count("demo (your run of") >= 1


def tag_free(html: str) -> str:
    return re.sub("<[^>]+>", " ", html)


def test_an_act_goes_on_from_the_open_pair(tab: Failures, run: Run) -> None:
    seen = named(tab.turn_to(run.id, FailView(), *WHERE))["seen"]
    keys = [pair.key for pair in lost(run)]
    for place in (1, 2):
        shown = named(tab.act(act("step", value=1), seen, *WHERE))
        seen = shown["seen"]
        assert seen.view.reading.key == keys[place]
        assert f"{place + 1} of {len(keys)}" in shown["reader_bar"]


def test_a_link_shows_the_same(tab: Failures, run: Run) -> None:
    seen = named(tab.turn_to(run.id, FailView(), *WHERE))["seen"]
    shown = named(tab.act(act("slice", value="longer:rejected"), seen, *WHERE))
    *again_shown, _ = tab.open(f"?tab=failures&{shown['address']}", run.id, None, *WHERE)
    again = named(again_shown)
    assert again["seen"] == shown["seen"]
    assert again["pairs"] == shown["pairs"]


def test_a_link_of_another_tab_changes_nothing(tab: Failures) -> None:
    *values, followed = tab.open("?tab=browse&model=x", "new", "run", *WHERE)
    assert all(stays(value) for value in values) and followed == "run"


def test_a_link_goes_before_a_run_that_was_scored_since(tab: Failures, run: Run) -> None:
    link = f"?tab=failures&{FAIL_LINK.encode(FailView(field_kind='every'))}"
    *shown, followed = tab.open(link, run.id, "earlier", *WHERE)
    assert followed == run.id
    *same, _ = tab.follow(run.id, followed, named(shown)["seen"], *WHERE)
    assert named(same)["seen"].model == ""


def test_nothing_is_shown_before_the_address_was_looked_at(tab: Failures, run: Run) -> None:
    *shown, followed = tab.follow(run.id, UNOPENED, FailView(), *WHERE)
    assert all(stays(value) for value in shown) and followed == UNOPENED
    *filled, _ = tab.open("?tab=browse", None, UNOPENED, *WHERE)
    assert named(filled)["head"]  # the tab may be open already


def test_a_link_to_a_model_that_is_not_here_says_so(tab: Failures) -> None:
    *values, followed = tab.open("?tab=failures&model=<b>gone", None, UNOPENED, *WHERE)
    shown = named(values)
    assert followed is None
    assert shown["seen"].model == ""
    assert "no results of each pair of a model" in tag_free(shown["bar"])
    assert "<b>gone" not in shown["bar"]


def test_what_kind_of_pairs_it_fails_is_listed(tab: Failures, run: Run) -> None:
    seen = replace(FailView(name_of(tab, run)), panel="kinds")
    shown = named(tab.show(seen, *WHERE))
    assert "Worst slices" in shown["kinds"] and "rejected longer" in shown["kinds"]
    assert stays(shown["pairs"])


def test_without_texts_subsets_are_compared_still(tab: Failures, run: Run) -> None:
    now = fail_scene(FailView(name_of(tab, run)), tab.fields.of(name_of(tab, run), *WHERE[:3]))
    bare = replace(now, field=replace(now.field, has_texts=False))
    html = kinds_html(bare)
    assert "section Chat" in html and "rejected longer" not in html


def test_rewards_are_drawn_where_they_are_known(tab: Failures, run: Run) -> None:
    seen = replace(FailView(name_of(tab, run)), panel="rewards")
    shown = named(tab.show(seen, *WHERE))
    assert "calibration error" in shown["rewards 0"]
    assert all(shown[f"rewards {at}"]["visible"] for at in range(1, 4))
    none = named(tab.show(FailView(panel="rewards"), *WHERE))
    assert "Choose a model" in none["rewards 0"] and none["rewards 1"]["visible"] is False


def test_all_models_together_show_what_most_fail(tab: Failures) -> None:
    shown = named(tab.show(FailView(field_kind="every"), *WHERE))
    assert "188 of 188" in shown["bar"]
    assert "Most fail" in shown["head"]


def test_what_cannot_be_is_refused_beside_what_is_shown(tab: Failures, run: Run) -> None:
    seen = FailView(name_of(tab, run))
    for name, sent in (("model", {"value": "gone"}), ("search", {"words": "(", "regex": True})):
        shown = named(tab.act(act(name, **sent), seen, *WHERE))
        assert "wrong" in shown["bar"] and stays(shown["pairs"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("open", "gone:1"),
        ("open", None),
        ("step", "x"),
        ("turn", 1e300),
        ("diff", "<b>"),
        ("kind", "hard"),
        ("slice", "longer:nobody"),
        ("fly", 1),
    ],
)
def test_an_act_that_is_none_is_refused(name: str, value: object, tab: Failures, run: Run) -> None:
    with pytest.raises(gr.Error) as refused:
        tab.act(act(name, value=value), FailView(name_of(tab, run)), *WHERE)
    assert "of ours" not in refused.value.message


@pytest.mark.parametrize("run_id", [None, "", "no-such-run", "../runs", 5, ["x"], "\ud800"])
def test_a_run_that_there_is_not_leaves_what_is_shown(run_id: object, tab: Failures) -> None:
    assert named(tab.turn_to(run_id, FailView(), *WHERE))["seen"].model == ""


def test_a_new_run_is_turned_to_once(tab: Failures, run: Run, other: Run) -> None:
    *shown, followed = tab.follow(run.id, None, FailView(), *WHERE)
    assert (named(shown)["seen"].model, followed) == (name_of(tab, run), run.id)
    seen = FailView(name_of(tab, other))
    *shown, _ = tab.follow(run.id, followed, seen, *WHERE)
    assert named(shown)["seen"].model == seen.model
