"""The Try tab: rewards follow what is typed, edits, pairs that are taken, probes, bad input."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from explorer.core.address_view import Sent
from explorer.core.html import signed
from explorer.data.table import PairTable
from explorer.data.typed import typed_pair
from explorer.page import views_of
from explorer.reader.state import PairsState
from explorer.runs.orders import ModelOrder
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.try_it.state import TryState
from explorer.tabs.try_it.trial import CHANGES, Trial
from explorer.tabs.try_it.view import TEXTS as FIELDS
from explorer.tabs.try_it.view import TryView
from scoring.errors import KnownError
from tests.conftest import PATIENCE, until
from tests.support.browsing import library_of
from tests.support.hostile import MARKUP
from tests.support.html_reading import HtmlReading
from tests.support.tables import row, small_table

ME, OTHER = Visitor("browser:me", address="1"), Visitor("browser:other", address="2")
TEXTS = ("Fruit?", "Take **figs**. Wash them.", "No.")


@pytest.fixture
def tab(stores: Stores) -> TryView:
    return views_of(stores).trial


@pytest.fixture
def pressed(tab: TryView) -> TryView:
    """A tab on which `TEXTS` were scored."""
    ask(tab, "press")
    return tab


def sent(*texts: str, value: str = "") -> Sent:
    return {**dict(zip(FIELDS, texts or TEXTS, strict=True)), "value": value}


def ask(
    tab: TryView, what: str, *texts: str, model: str = "demo", who: Visitor = ME
) -> dict[str, str]:
    """Score what is typed; what is shown then."""
    query = TryState(model=model).href()
    tab.score(query, who, sent(*texts, value=what))
    return shown(tab, query, who, *texts)


def shown(tab: TryView, query: str = "?tab=try", who: Visitor = ME, *texts: str) -> dict[str, str]:
    return {name: write() for name, write in tab.regions(query, who, sent(*texts))[1].items()}


def trial_of(tab: TryView, who: Visitor = ME) -> Trial:
    """The trial that is shown."""
    trial = tab.tried[who.owner].trial
    assert trial is not None
    return trial


def values(regions: dict[str, str]) -> list[str]:
    return [words.strip() for words in HtmlReading(regions["pair"]).of_class["value"]]


def status(regions: dict[str, str]) -> str:
    return HtmlReading(regions["status"]).words


def test_both_rewards_the_margin_and_each_edit_are_shown(tab: TryView, stores: Stores) -> None:
    assert "Click Score this pair" in status(shown(tab)) and not values(shown(tab))
    found = ask(tab, "press")
    pair = typed_pair(*TEXTS, longest=1000)
    [row] = stores.runs.rewards(ME, ModelOrder("demo"), [pair]).scored
    rewards = (row.margin, row.chosen_reward, row.rejected_reward)
    assert values(found) == [signed(reward) for reward in rewards]
    moves = set(re.findall('<b class="(up|down)">(.)', found["pair"]))
    assert moves == {("up", "+"), ("down", "−")} and "…" not in found["pair"]
    assert trial_of(tab).is_whole and "Scored by demo" in status(found)


def test_nobody_sees_what_another_tries(pressed: TryView) -> None:
    untouched = TryView(pressed.scenes, pressed.runs, pressed.hub, pressed.settings)
    for other in (OTHER, Visitor()):
        assert shown(pressed, who=other) == shown(untouched, who=other)


def test_what_cannot_be_scored_is_told_and_the_numbers_stay(pressed: TryView) -> None:
    """Nor is another model loaded by typing."""
    before, trial = shown(pressed)["pair"], trial_of(pressed)
    found = ask(pressed, "typed", "Other?", *TEXTS[1:], model="longer")
    assert "Click Score this pair to load" in status(found) and trial_of(pressed) is trial
    for model, words, why in (
        ("demo", "a" * 200_001, "has 200,001 characters; at most 200,000"),
        ("", TEXTS[1], "No model was given"),
    ):
        found = ask(pressed, "press", "p", words, "b", model=model)
        assert why in status(found) and "wrong" in found["status"] and found["pair"] == before


def test_on_a_public_server_nothing_is_remembered_of_nobody(tab: TryView) -> None:
    public = replace(tab, settings=replace(tab.settings, public=True))
    for ask_for in (public.score, public.take, public.show_tokens, public.start_probe):
        with pytest.raises(KnownError, match="whose it is"):
            ask_for("?tab=try", Visitor(), sent(value="press"))


def test_an_edit_that_cannot_be_is_refused(tab: TryView) -> None:
    with pytest.raises(KnownError, match="“Strip Markdown” does not apply to the rejected resp"):
        tab.edit("?tab=try", ME, sent(value="plain:rejected"))
    with pytest.raises(KnownError, match="must be text"):
        tab.edit("?tab=try", ME, {"value": "upper:chosen"})


@pytest.mark.parametrize("model", [None, ""])
def test_the_pair_open_in_pairs_is_taken(model: str | None, tab: TryView, demo: PairTable) -> None:
    """With outcomes beside it or without."""
    beside = replace(PairsState(demo.id).of(model), key=demo.key_of(7))
    _, made = tab.take(TryState(pairs=beside.query_string).href(), ME, {})
    cells = demo.cells(7)
    assert [made[name] for name in FIELDS[1:]] == [cells["chosen"], cells["rejected"]]
    with pytest.raises(KnownError, match="No pair is open"):
        tab.take(TryState(pairs="q=no+such+words").href(), ME, {})


def test_what_is_taken_is_scored_as_a_new_start(pressed: TryView) -> None:
    pressed.take("?tab=try", ME, {})
    cleared = shown(pressed)
    assert not values(cleared) and "edits" not in cleared["pair"]
    found = ask(pressed, "typed", "p", "Other words.", "r")
    assert trial_of(pressed).start == trial_of(pressed).scored
    assert "vs. start" not in found["pair"]


def test_token_rewards_end_with_the_reward(pressed: TryView) -> None:
    pressed.show_tokens("?tab=try", ME, sent())
    found = shown(pressed)
    assert all(f"→ {value}" in found["pair"] for value in values(found)[1:])
    assert "data-plot" in found["pair"]
    assert "data-plot" not in shown(pressed, who=OTHER)["pair"]
    pressed.stop_tokens("?tab=try", ME, {})
    assert "data-plot" not in shown(pressed)["pair"]


# Probes


def probing(**state: Any) -> str:
    """The address of a probe of few edits, by a model that counts characters."""
    return TryState(**{"model": "longer", "change": ("longer", "upper"), **state}).href()


def test_a_probe_runs_to_its_end_and_is_its_owners(tab: TryView) -> None:
    tab.start_probe(probing(), ME, {})
    told = shown(tab, probing())
    state, found = (HtmlReading(told[name]).words for name in ("probe", "found"))
    assert "Done: 23 pairs" in state and "Longer with filler" in found and "Polite" not in found
    assert "No result yet" in shown(tab, probing(), OTHER)["found"]


def test_a_probe_waits_for_its_turn_and_can_be_stopped_meanwhile(tab: TryView) -> None:
    with tab.runs.scorers.turn(OTHER), ThreadPoolExecutor(1) as pool:
        run = pool.submit(tab.start_probe, probing(), ME, {})
        until(lambda: "1 ahead of you" in shown(tab, probing())["probe"])
        tab.stop_probe(probing(), ME, {})
        run.result(PATIENCE)
    assert "Stopped: 0 of 23 pairs" in HtmlReading(shown(tab, probing())["probe"]).words


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"change": ("",)}, "No change is chosen"),
        ({"model": MARKUP}, ""),
        ({"which": "filter", "pairs": "q=no+such+words+anywhere"}, "No pairs"),
    ],
)
def test_what_cannot_be_probed_is_told(state: dict[str, Any], why: str, tab: TryView) -> None:
    tab.start_probe(probing(**state), ME, {})
    told = shown(tab, probing())
    assert why in HtmlReading(told["probe"]).words and "wrong" in told["probe"]
    assert "No result yet" in told["found"]


def test_rows_with_further_responses_are_refused(stores: Stores) -> None:
    library = library_of(small_table(row(rejected=["one", "two"]), row()))
    tab = views_of(replace(stores, pairs=library)).trial
    tab.start_probe(probing(which="filter"), ME, {})
    assert "several chosen or several rejected" in shown(tab, probing())["probe"]


def test_a_form_with_every_box_unticked_means_no_change() -> None:
    for query, changes in (("", CHANGES), ("&change=", ()), ("&change=&change=cut", ("cut",))):
        assert TryState.parse(f"?tab=try{query}")[0].changes == changes
