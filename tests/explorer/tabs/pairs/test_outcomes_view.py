"""The Pairs tab with outcomes of runs: what is listed, opened, linked, and refused."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.core.parts import nothing_new
from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.reader.links import failures_query
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.results.own import own_name
from explorer.stores import Stores, open_stores
from explorer.tabs.pairs.acts_view import PairsTab
from explorer.tabs.pairs.slices import slices_html
from scoring.record import Run
from scoring.spec import ScoredPair
from tests.e2e.files import write_jsonl
from tests.explorer.beginning import begun
from tests.explorer.board_data import OF_DEMO, coin_flips, write_results
from tests.explorer.browsing import act, pairs_parts, scenes_on, stays
from tests.explorer.filling import Filled, filled
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
def tab(stores: Stores, run: Run, other: Run) -> PairsTab:
    return PairsTab(scenes_on(stores), stores.settings, pairs_parts())


@pytest.fixture
def session() -> Session:
    return Session()


def name_of(tab: PairsTab, run: Run) -> str:
    return tab.scenes.fields.name_of(run.id, *Session().where)


def on(state: PairsState) -> Session:
    """A page that shows this."""
    session = Session()
    session.show(state)
    return session


def of_run(tab: PairsTab, run: Run, session: Session) -> Filled:
    """What is shown of a run that was just scored."""
    return opened(tab, failures_query(own_name(run)), session)


def opened(tab: PairsTab, link: str, session: Session) -> Filled:
    return filled(tab.parts, tab.open(link, session, {}))


def shown_again(tab: PairsTab, state: PairsState) -> Filled:
    return filled(tab.parts, tab.show(on(state), {}))


def acted(tab: PairsTab, session: Session, name: str, **sent: Any) -> Filled:
    return filled(tab.parts, tab.act(act(name, **sent), session, {}))


def lost(run: Run) -> list[ScoredPair]:
    """Pairs that the run lost, the worst first."""
    rows = [pair for pair in run.rows() if pair.outcome == "loss"]
    return sorted(rows, key=lambda pair: pair.margin or 0.0)


def listed(shown: dict[str, Any]) -> list[str]:
    return re.findall(r'scope="row"[^>]*><button[^>]*>(.+?)</button>', shown["pairs"])


def test_a_run_that_was_just_scored_opens_at_its_worst_pair(
    tab: PairsTab, run: Run, session: Session
) -> None:
    shown = of_run(tab, run, session)
    keys = [pair.key for pair in lost(run)]
    assert len(keys) > 5
    assert listed(shown) == keys[:25]
    assert session.seen(PairsState).reading.key == keys[0]
    assert f'data-key="{keys[0]}"' in shown.pair
    margins = re.findall(r'data-label="margin">(.+?)</td>', shown.pairs)
    assert len(margins) == min(25, len(keys))
    assert "every third" in shown.facts
    assert shown.address.startswith("model=")


def test_the_reader_shows_rewards_lengths_and_who_else_fails(
    tab: PairsTab, run: Run, session: Session
) -> None:
    pair = of_run(tab, run, session).pair
    worst = lost(run)[0]
    assert f"{worst.chosen_tokens:,} tokens" in pair
    assert "No other model has a result for this pair" in pair and is_told_as_our_own(pair)
    assert tag_free(pair).count("demo (your run of") >= 1


def tag_free(html: str) -> str:
    return re.sub("<[^>]+>", " ", html)


def test_an_act_goes_on_from_the_open_pair(tab: PairsTab, run: Run, session: Session) -> None:
    of_run(tab, run, session)
    keys = [pair.key for pair in lost(run)]
    for place in (1, 2):
        shown = acted(tab, session, "step", value=1)
        assert session.seen(PairsState).reading.key == keys[place]
        assert f"{place + 1} of {len(keys)}" in shown.reader_bar


def test_a_link_shows_the_same(tab: PairsTab, run: Run, session: Session) -> None:
    of_run(tab, run, session)
    shown = acted(tab, session, "slice", value="longer:rejected")
    other = Session()
    again = opened(tab, f"?tab=failures&{shown.address}", other)
    assert other.seen(PairsState) == session.seen(PairsState)
    assert again.pairs == shown.pairs


def test_outcomes_are_brought_up_to_date_when_the_tab_is_opened(
    tab: PairsTab, run: Run, session: Session
) -> None:
    assert tab.turn_back(session, {}) == nothing_new()
    opened(tab, "?subset=hep-go", session)
    assert tab.turn_back(session, {}) == nothing_new()
    of_run(tab, run, session)
    assert "every third" in filled(tab.parts, tab.turn_back(session, {})).facts


def test_a_range_of_margins_is_a_filter_that_can_be_widened_again(
    tab: PairsTab, run: Run, session: Session
) -> None:
    def bars(shown: Filled) -> list[str]:
        return re.findall(r'class="(?:won|lost)" x="([0-9.]+)"', shown.head)

    of_run(tab, run, session)
    every = acted(tab, session, "kind", value="all")
    near = acted(tab, session, "margin", low="-0.5", high="0.5")
    keys = {pair.key for pair in run.rows() if abs(pair.margin or 0.0) <= 0.5}
    assert f"{len(keys)} of 188" in near.bar and "margin −0.5 to 0.5" in near.bar
    assert set(listed(near)) <= keys and "margin=-0.5:0.5" in near.address
    assert bars(near) == bars(every), "those that a wider range would keep are drawn still"
    wrong = acted(tab, session, "margin", low="2", high="0.5")
    assert "wrong" in wrong.bar and stays(wrong.pairs)
    assert "margin" not in acted(tab, session, "margin").address


def test_pairs_stand_alone_again(tab: PairsTab, run: Run, session: Session) -> None:
    of_run(tab, run, session)
    acted(tab, session, "panel", value="rewards")
    alone = acted(tab, session, "model", value=None)
    assert "188 of 188" in alone.bar and alone.facts == alone.note == ""
    assert "margin" not in alone.pairs and "chosen chars" in alone.pairs
    assert alone["columns.pairs"].visible and alone["export.box"].visible is False
    assert session.seen(PairsState).panel == "pairs"


def test_a_link_to_a_model_that_is_not_here_says_so(tab: PairsTab, session: Session) -> None:
    shown = opened(tab, "?tab=failures&model=<b>gone", session)
    assert not session.seen(PairsState).outcomes and "188 of 188" in shown.bar
    assert "no per-pair results of a model" in tag_free(shown.bar)
    assert "<b>gone" not in shown.bar


def test_a_model_of_the_board_is_offered_at_once_and_read_when_it_is_asked_for(
    tmp_path: Path, demo: PairTable
) -> None:
    subsets = [demo.subset_of(row) for row in range(len(demo))]
    flips = {name: coin_flips(0.7, len(demo), seed) for seed, name in enumerate(("org/a", "org/b"))}
    results = write_results(tmp_path / "results", flips, subsets)
    settings = Settings(
        tmp_path, pairs="demo", results=str(results), results_of=OF_DEMO, offline=True
    )
    stores = open_stores(settings)
    tab, session = PairsTab(scenes_on(stores), stores.settings, pairs_parts()), Session()
    assert all(f'value="{name}"' in opened(tab, "", session).head for name in flips)
    asked = acted(tab, session, "model", value="org/b")
    linked = opened(tab, "?tab=failures&model=org/b&show=all&q=the", Session())
    assert "Left out" not in linked.bar
    list(tab.read(session))
    for wanted, kind in ((asked.wanted, "losses"), (linked.wanted, "all")):
        assert "Near misses" not in filled(tab.parts, tab.follow_read(wanted, session, {})).head
        seen = session.seen(PairsState)
        assert (seen.model, seen.kind) == ("org/b", kind)
    assert session.seen(PairsState).filters.query.words == "the"
    assert stays(acted(tab, session, "model", value="org/a").wanted)


def test_beside_pairs_without_outcomes_those_of_others_say_so(
    stores: Stores, tab: PairsTab, demo: PairTable, tmp_path: Path
) -> None:
    rows = [{"id": at, "prompt": f"q{at}", "chosen": "c", "rejected": "r"} for at in range(3)]
    other = stores.pairs.open(str(write_jsonl(tmp_path / "other.jsonl", rows)))
    shown = acted(tab, on(PairsState(source=other.id)), "model", value="")
    assert f"None of these results are of {other.id}, so the pairs they are of" in shown.bar
    assert "None of these" not in acted(tab, on(PairsState(source=demo.id)), "model", value="").bar


def test_what_kind_of_pairs_it_fails_is_listed(tab: PairsTab, run: Run) -> None:
    shown = shown_again(tab, replace(PairsState().of(name_of(tab, run)), panel="kinds"))
    assert "Worst slices" in shown.kinds and "rejected longer" in shown.kinds
    assert stays(shown.pairs)


def test_without_texts_subsets_are_compared_still(tab: PairsTab, run: Run) -> None:
    now = tab.scenes.now(on(PairsState().of(name_of(tab, run))))
    bare = replace(now, pairs=replace(now.pairs, field=replace(now.known, has_texts=False)))
    html = slices_html(bare)
    assert "section Chat" in html and "rejected longer" not in html


def test_rewards_are_drawn_where_they_are_known(tab: PairsTab, run: Run) -> None:
    shown = shown_again(tab, replace(PairsState().of(name_of(tab, run)), panel="rewards"))
    assert "calibration error" in shown["rewards.words"]
    plots = ("rewards.margins", "rewards.calibration", "rewards.rewards")
    assert all(shown[plot]["visible"] for plot in plots)
    none = shown_again(tab, PairsState(outcomes=True, panel="rewards"))
    assert "Choose a model" in none["rewards.words"] and none[plots[0]]["visible"] is False


def test_all_models_together_show_what_most_fail(tab: PairsTab) -> None:
    shown = shown_again(tab, PairsState(outcomes=True, field_kind="every"))
    assert "188 of 188" in shown.bar
    assert "Most fail" in shown.head


def test_what_cannot_be_is_refused_beside_what_is_shown(tab: PairsTab, run: Run) -> None:
    session = on(PairsState().of(name_of(tab, run)))
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
def test_an_act_that_is_none_is_refused(name: str, value: object, tab: PairsTab, run: Run) -> None:
    with pytest.raises(gr.Error) as refused:
        acted(tab, on(PairsState().of(name_of(tab, run))), name, value=value)
    assert "of ours" not in refused.value.message
