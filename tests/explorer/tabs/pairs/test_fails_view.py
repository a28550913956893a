"""The Failures tab on runs of the demo model: what is listed, opened, linked, and refused."""

import re
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.reader.session import Session
from explorer.stores import Stores
from explorer.tabs.pairs.fail_parts_view import build_failures
from explorer.tabs.pairs.fail_state import FAIL_LINK, FailView, fail_scene
from explorer.tabs.pairs.fails_view import Failures
from explorer.tabs.pairs.kinds import kinds_html
from explorer.tabs.pairs.notes_view import remembered_notes
from scoring.record import Run
from scoring.spec import ScoredPair
from tests.explorer.beginning import begun
from tests.explorer.browsing import act, stays
from tests.explorer.filling import Filled, filled, laid_out
from tests.explorer.html_reading import is_told_as_our_own


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
    parts = laid_out(lambda: build_failures(remembered_notes()))
    return Failures(stores.fields, stores.settings, parts)


@pytest.fixture
def session() -> Session:
    return Session()


def name_of(tab: Failures, run: Run) -> str:
    return tab.fields.name_of(run.id, *Session().where)


def on(view: FailView) -> Session:
    """A page that shows this."""
    session = Session()
    session.show(view)
    return session


def of_run(tab: Failures, run: Run, session: Session) -> Filled:
    """What is shown of a run that was just scored."""
    session.run_id = run.id
    return filled(tab.parts, tab.turn_to(session, {}))


def opened(tab: Failures, link: str, session: Session) -> Filled:
    return filled(tab.parts, tab.open(link, session, {}))


def followed(tab: Failures, session: Session) -> Filled:
    return filled(tab.parts, tab.follow(session, {}))


def shown_again(tab: Failures, view: FailView) -> Filled:
    return filled(tab.parts, tab.show(on(view), {}))


def acted(tab: Failures, session: Session, name: str, **sent: Any) -> Filled:
    return filled(tab.parts, tab.act(act(name, **sent), session, {}))


def lost(run: Run) -> list[ScoredPair]:
    """Pairs that the run lost, the worst first."""
    rows = [pair for pair in run.rows() if pair.outcome == "loss"]
    return sorted(rows, key=lambda pair: pair.margin or 0.0)


def listed(shown: dict[str, Any]) -> list[str]:
    return re.findall(r'scope="row"[^>]*><button[^>]*>(.+?)</button>', shown["pairs"])


def test_a_run_that_was_just_scored_opens_at_its_worst_pair(
    tab: Failures, run: Run, session: Session
) -> None:
    shown = of_run(tab, run, session)
    keys = [pair.key for pair in lost(run)]
    assert len(keys) > 5
    assert listed(shown) == keys[:25]
    assert session.seen(FailView).view.reading.key == keys[0]
    assert f'data-key="{keys[0]}"' in shown.pair
    margins = re.findall(r'data-label="margin">(.+?)</td>', shown.pairs)
    assert len(margins) == min(25, len(keys))
    assert "every third" in shown.facts
    assert shown.address.startswith("model=")


def test_the_reader_shows_rewards_lengths_and_who_else_fails(
    tab: Failures, run: Run, session: Session
) -> None:
    pair = of_run(tab, run, session).pair
    worst = lost(run)[0]
    assert f"{worst.chosen_tokens:,} tokens" in pair
    assert "No other model has a result of this pair" in pair and is_told_as_our_own(pair)
    assert tag_free(pair).count("demo (your run of") >= 1


def tag_free(html: str) -> str:
    return re.sub("<[^>]+>", " ", html)


def test_an_act_goes_on_from_the_open_pair(tab: Failures, run: Run, session: Session) -> None:
    of_run(tab, run, session)
    keys = [pair.key for pair in lost(run)]
    for place in (1, 2):
        shown = acted(tab, session, "step", value=1)
        assert session.seen(FailView).view.reading.key == keys[place]
        assert f"{place + 1} of {len(keys)}" in shown.reader_bar


def test_a_link_shows_the_same(tab: Failures, run: Run, session: Session) -> None:
    of_run(tab, run, session)
    shown = acted(tab, session, "slice", value="longer:rejected")
    other = Session(run_id=run.id)
    again = opened(tab, f"?tab=failures&{shown.address}", other)
    assert other.seen(FailView) == session.seen(FailView)
    assert again.pairs == shown.pairs


def test_a_link_of_another_tab_changes_nothing(tab: Failures, session: Session) -> None:
    opened(tab, "?tab=browse", session)
    shown = opened(tab, "?tab=browse&model=x", session)
    assert all(stays(value) for value in shown.values())


def test_a_link_goes_before_a_run_that_was_scored_since(
    tab: Failures, run: Run, session: Session
) -> None:
    session.run_id = run.id
    opened(tab, f"?tab=failures&{FAIL_LINK.encode(FailView(field_kind='every'))}", session)
    followed(tab, session)
    assert session.seen(FailView).model == ""


def test_nothing_is_shown_before_the_address_was_looked_at(
    tab: Failures, run: Run, session: Session
) -> None:
    session.run_id = run.id
    assert all(stays(value) for value in followed(tab, session).values())
    assert opened(tab, "?tab=browse", session).head  # the tab may be open already


def test_a_link_to_a_model_that_is_not_here_says_so(tab: Failures, session: Session) -> None:
    shown = opened(tab, "?tab=failures&model=<b>gone", session)
    assert session.seen(FailView).model == ""
    assert "no results of each pair of a model" in tag_free(shown.bar)
    assert "<b>gone" not in shown.bar


def test_what_kind_of_pairs_it_fails_is_listed(tab: Failures, run: Run) -> None:
    shown = shown_again(tab, replace(FailView(name_of(tab, run)), panel="kinds"))
    assert "Worst slices" in shown.kinds and "rejected longer" in shown.kinds
    assert stays(shown.pairs)


def test_without_texts_subsets_are_compared_still(tab: Failures, run: Run) -> None:
    now = fail_scene(
        FailView(name_of(tab, run)), tab.fields.of(name_of(tab, run), *Session().where)
    )
    bare = replace(now, field=replace(now.field, has_texts=False))
    html = kinds_html(bare)
    assert "section Chat" in html and "rejected longer" not in html


def test_rewards_are_drawn_where_they_are_known(tab: Failures, run: Run) -> None:
    shown = shown_again(tab, replace(FailView(name_of(tab, run)), panel="rewards"))
    assert "calibration error" in shown["rewards.words"]
    plots = ("rewards.margins", "rewards.calibration", "rewards.rewards")
    assert all(shown[plot]["visible"] for plot in plots)
    none = shown_again(tab, FailView(panel="rewards"))
    assert "Choose a model" in none["rewards.words"] and none[plots[0]]["visible"] is False


def test_all_models_together_show_what_most_fail(tab: Failures) -> None:
    shown = shown_again(tab, FailView(field_kind="every"))
    assert "188 of 188" in shown.bar
    assert "Most fail" in shown.head


def test_what_cannot_be_is_refused_beside_what_is_shown(tab: Failures, run: Run) -> None:
    session = on(FailView(name_of(tab, run)))
    for name, sent in (("model", {"value": "gone"}), ("search", {"words": "(", "regex": True})):
        shown = acted(tab, session, name, **sent)
        assert "wrong" in shown.bar and stays(shown.pairs)


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
        acted(tab, on(FailView(name_of(tab, run))), name, value=value)
    assert "of ours" not in refused.value.message


@pytest.mark.parametrize("run_id", [None, "", "no-such-run", "../runs", 5, ["x"], "\ud800"])
def test_a_run_that_there_is_not_leaves_what_is_shown(run_id: Any, tab: Failures) -> None:
    session = Session(run_id=run_id)
    tab.turn_to(session, {})
    assert session.seen(FailView).model == ""


def test_a_new_run_is_turned_to_once(tab: Failures, run: Run, other: Run, session: Session) -> None:
    opened(tab, "?tab=browse", session)
    session.run_id = run.id
    followed(tab, session)
    assert session.seen(FailView).model == name_of(tab, run)
    session.show(FailView(name_of(tab, other)))
    followed(tab, session)
    assert session.seen(FailView).model == name_of(tab, other)
