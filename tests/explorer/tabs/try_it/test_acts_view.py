"""The Try tab: rewards that follow what is typed, edits, pairs that are taken, and bad input."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import escape
from typing import Any

import gradio as gr
import pytest

from explorer.core.html import signed
from explorer.core.settings import Settings
from explorer.core.work import Latest
from explorer.data.table import PairTable
from explorer.data.typed import PUBLIC_LONGEST, typed_pair
from explorer.reader.reading import Reading
from explorer.reader.state import Tables, View
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Rewarded
from explorer.runs.scorers import BRIEF_SECONDS
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.pairs.fail_state import FailView
from explorer.tabs.try_it.acts_view import TrialTab
from explorer.tabs.try_it.html import edits_html, numbers_html, status_html
from explorer.tabs.try_it.state import Trial
from explorer.tabs.try_it.view import TrialShown
from tests.conftest import PATIENCE
from tests.explorer.browsing import act, stays
from tests.explorer.html_reading import HtmlReading
from tests.explorer.rewarding import FACTS, by_length, scored

ME, OTHER = Visitor(session="me"), Visitor(session="other")
TEXTS = ("Fruit?", "Take **figs**. Wash them.", "No.")
HOSTILE = '<script>alert(1)</script> & "quotes" {n}'
TAGS = {
    "div", "span", "h2", "table", "thead", "tbody", "tr", "th", "td", "b", "i", "small", "button",
}  # fmt: skip


@pytest.fixture
def tab(stores: Stores) -> TrialTab:
    tables = Tables(stores.pairs, stores.counter)
    return TrialTab(tables, stores.fields, stores.runs, stores.settings, Latest())


@pytest.fixture
def pressed(tab: TrialTab) -> TrialShown:
    *_, shown = tab.press(ME, "demo", *TEXTS)
    return shown


def trial_of(shown: TrialShown) -> Trial:
    assert isinstance(shown.trial, Trial)
    return shown.trial


def values(shown: TrialShown) -> list[str]:
    return [words.strip() for words in HtmlReading(shown.numbers, TAGS).of_class["value"]]


def told(shown: TrialShown) -> str:
    """What the status says, where everything else stays as it is."""
    assert all(stays(getattr(shown, name)) for name in TrialShown._fields if name != "status")
    return HtmlReading(shown.status, TAGS).words


def test_both_rewards_and_the_margin_are_shown_and_then_each_edit(
    tab: TrialTab, stores: Stores
) -> None:
    working, *steps = tab.press(ME, "demo", *TEXTS)
    loading = [step for step in steps if stays(step.trial)]
    first, *_, last = steps[len(loading) :]
    assert "Loading the model" in told(working) and all(map(told, loading)) and loading
    pair = typed_pair(*TEXTS, longest=1000)
    [row] = stores.runs.rewards(ME, ModelOrder("demo"), [pair]).scored
    rewards = (row.chosen_reward, row.rejected_reward, row.margin)
    assert values(first) == [signed(reward) for reward in rewards]
    assert "…" in first.edits and "…" not in last.edits
    assert trial_of(last).is_whole and last.rest["visible"] is False
    assert "Scored by demo" in last.status


def test_typing_moves_the_rewards_and_says_by_how_much(tab: TrialTab, pressed: TrialShown) -> None:
    start = trial_of(pressed)
    *_, moved = tab.typed(ME, "demo", start, TEXTS[0], "Take nothing.", TEXTS[2])
    assert values(moved)[0] != values(pressed)[0] and values(moved)[1] == values(pressed)[1]
    change = trial_of(moved).moved("chosen")
    assert change and f"{signed(change)} since Score" in moved.numbers
    *_, back = tab.typed(ME, "demo", trial_of(moved), *TEXTS)
    assert values(back) == values(pressed) and "since Score" not in back.numbers


def test_an_older_answer_never_replaces_a_newer_one(tab: TrialTab, pressed: TrialShown) -> None:
    start = trial_of(pressed)
    older = tab.typed(ME, "demo", start, TEXTS[0], "Older.", TEXTS[2])
    next(older)
    someone_else = list(tab.press(OTHER, "demo", *TEXTS))
    assert next(older).trial is not None and trial_of(someone_else[-1]).is_whole
    newer = list(tab.typed(ME, "demo", start, TEXTS[0], "Newer.", TEXTS[2]))
    assert list(older) == [] and trial_of(newer[-1]).is_whole


@pytest.mark.parametrize("model", ["longer", "gone/model", "", None, 5, ["demo"], "x" * 5000])
def test_another_model_is_not_loaded_by_typing(
    model: Any, tab: TrialTab, pressed: TrialShown
) -> None:
    [only] = tab.typed(ME, model, trial_of(pressed), *TEXTS)
    assert "Press Score this pair to load" in told(only) and len(only.status) < 300


def test_a_model_whose_place_another_took_is_not_loaded_by_typing(
    tab: TrialTab, pressed: TrialShown
) -> None:
    pair, models = typed_pair(*TEXTS, longest=1000), tab.runs.scorers.models
    tab.runs.rewards(OTHER, ModelOrder("longer"), [pair])
    [typed] = tab.typed(ME, "demo", trial_of(pressed), *TEXTS)
    [anew] = tab.anew(ME, "demo", trial_of(pressed), *TEXTS)
    assert "Press Score this pair to load 'demo'" in told(typed)
    assert "press Score this pair" in anew.status and anew.trial is None
    assert models.is_warm(OTHER, ModelOrder("longer"))
    *_, whole = tab.press(ME, "demo", *TEXTS)
    assert trial_of(whole).is_whole


def test_nor_is_it_loaded_for_the_edits(tab: TrialTab, pressed: TrialShown) -> None:
    pair = typed_pair(*TEXTS, longest=1000)
    steps = tab.typed(ME, "demo", trial_of(pressed), *TEXTS)
    first = next(steps)
    tab.runs.rewards(OTHER, ModelOrder("longer"), [pair])
    ended, last = steps
    assert "…" in first.edits and "…" not in ended.edits and ended.rest["visible"] is True
    assert "Press Score this pair to load 'demo'" in told(last)
    *_, whole = tab.rest(ME, "demo", trial_of(ended), *TEXTS)
    assert trial_of(whole).is_whole


def test_a_page_that_is_closed_ends_the_loading(tab: TrialTab) -> None:
    tab.runs.scorers.models.release()
    steps = tab.press(ME, "demo", *TEXTS)
    assert "Loading the model" in told(next(steps)) and "Loading the model" in told(next(steps))
    tab.runs.stop(ME)
    assert "Press Score this pair" in told(list(steps)[-1])
    assert not tab.runs.scorers.models.is_warm(ME, ModelOrder("demo"))


def test_what_is_pressed_ends_what_the_page_has_under_way(tab: TrialTab) -> None:
    with tab.runs.scorers.stoppable(ME) as own, tab.runs.scorers.stoppable(OTHER) as other:
        list(tab.press(ME, "demo", *TEXTS))
        assert own.is_set() and not other.is_set()


def test_the_newest_key_waits_for_an_older_one_of_the_same_page(
    tab: TrialTab, pressed: TrialShown
) -> None:
    def typed(words: str) -> list[TrialShown]:
        return list(tab.typed(ME, "demo", trial_of(pressed), TEXTS[0], words, TEXTS[2]))

    number = tab.latest.ask(ME.session)
    with ThreadPoolExecutor(2) as pool:
        with tab.latest.answering(ME.session, number), tab.runs.scorers.brief(ME):
            older = pool.submit(typed, "Older.")
            while tab.latest.is_last(ME.session, number) and not older.done():
                time.sleep(0.01)
            newer = pool.submit(typed, "Newer.")
            assert older.result(PATIENCE) == []  # dropped while the device is taken
            with pytest.raises(TimeoutError):
                newer.result(2 * BRIEF_SECONDS)
        assert trial_of(newer.result(PATIENCE)[-1]).is_whole
    assert trial_of(newer.result()[-1]).pair.chosen == "Newer."


def test_before_anything_is_scored_typing_scores_nothing(tab: TrialTab) -> None:
    [only] = tab.typed(ME, "demo", None, *TEXTS)
    assert "Nothing scored yet" in told(only)


@pytest.mark.parametrize(
    ("model", "texts", "why"),
    [
        ("demo", ("", "a", "b"), "The prompt is empty"),
        ("demo", ("p", " \n", "b"), "The chosen response is empty"),
        ("demo", ("p", "a", None), "The rejected response must be text, not nothing"),
        ("demo", ("p", ["a"], "b"), "must be text, not list"),
        ("demo", ("p", "a" * 200_001, "b"), "has 200,001 characters; at most 200,000"),
        ("demo", ("[user]\nx\n[assistant]\ny", "a", "b"), "The last message is of the assistant"),
        ("a model with spaces", TEXTS, "a model with spaces"),
        ("../../etc", TEXTS, ""),
        (5, TEXTS, "A model is named by"),
        (None, TEXTS, "A model is named by"),
    ],
)
def test_what_cannot_be_scored_is_told_and_the_numbers_stay(
    model: Any, texts: tuple[Any, ...], why: str, tab: TrialTab
) -> None:
    *_, last = tab.press(ME, model, *texts)
    assert why in told(last) and "wrong" in last.status


def test_strangers_may_type_less(tab: TrialTab) -> None:
    public = replace(tab, settings=Settings(tab.settings.home, public=True))
    *_, last = public.press(ME, "demo", "p", "a" * (PUBLIC_LONGEST + 1), "b")
    assert "at most 20,000" in told(last)


def test_while_others_score_one_is_told_so(tab: TrialTab, pressed: TrialShown) -> None:
    with tab.runs.scorers.turn(OTHER):
        *_, last = tab.typed(ME, "demo", trial_of(pressed), *TEXTS)
    assert "The device is busy" in told(last)


def test_hostile_texts_do_nothing(tab: TrialTab) -> None:
    *_, last = tab.press(ME, "demo", HOSTILE, HOSTILE, HOSTILE)
    for html in (last.status, last.numbers, last.edits):
        assert "script" not in HtmlReading(html, TAGS).words
    facts = replace(FACTS, model=HOSTILE, reading=HOSTILE)
    pair = typed_pair(*TEXTS, longest=100)
    row = scored(pair, by_length)
    trial = Trial(ModelOrder(HOSTILE), pair, row, Rewarded((row,), facts).facts, row, frozenset())
    for html in (status_html(trial), numbers_html(trial), edits_html(trial, ended=True)):
        HtmlReading(html, TAGS)
    assert escape(HOSTILE) in status_html(trial)


def test_an_edit_that_does_not_apply_is_no_effect_of_zero(pressed: TrialShown) -> None:
    cells = HtmlReading(pressed.edits, TAGS).of_class["none"]
    assert cells == ["does not apply"] * 2  # a last sentence, and Markdown, of the rejected "No."


# The texts


def test_an_edit_is_made_and_undone(tab: TrialTab) -> None:
    *texts, past, undo = tab.act(act("apply", change="plain", side="chosen"), (), *TEXTS)
    assert texts == ["Fruit?", "Take figs. Wash them.", "No."] and undo["interactive"] is True
    *texts, past, _ = tab.act(act("apply", change="swap"), past, *texts)
    assert texts == ["Fruit?", "No.", "Take figs. Wash them."]
    *texts, past, undo = tab.undo(past, *texts)
    assert texts[1] == "Take figs. Wash them." and undo["interactive"] is True
    *texts, past, undo = tab.undo(past, *texts)
    assert tuple(texts) == TEXTS and past == () and undo["interactive"] is False
    assert tuple(tab.undo((), *TEXTS)[:3]) == TEXTS


@pytest.mark.parametrize(
    "posted",
    [
        act("gone"),
        act("apply"),
        act("apply", change="plain", side="rejected"),
        act("apply", change=["upper"], side="chosen"),
        act("apply", change="upper", side={"a": 1}),
        act(None),
        gr.EventData(None, "x"),
    ],
)
def test_an_act_that_there_is_not_is_refused(posted: gr.EventData, tab: TrialTab) -> None:
    with pytest.raises(gr.Error, match=r"is one of|There is no act|does not apply"):
        tab.act(posted, (), *TEXTS)


@pytest.mark.parametrize("posted", [None, 5, ["x"], "x" * 200_001])
def test_no_text_of_any_size_is_kept(posted: Any, tab: TrialTab) -> None:
    with pytest.raises(gr.Error, match=r"must be text|characters"):
        tab.act(act("apply", change="swap"), (), "p", posted, "r")
    with pytest.raises(gr.Error, match=r"must be text|characters"):
        tab.undo((), "p", "c", posted)


def test_the_pair_open_in_browse_is_taken(tab: TrialTab, demo: PairTable) -> None:
    key = demo.key_of(7)
    *texts, past, _ = tab.browsed(View(demo.id, reading=Reading(key)), (), *TEXTS)
    cells = demo.cells(7)
    assert texts[1:] == [cells["chosen"], cells["rejected"]] and past == (TEXTS,)
    for nothing in ("gone:1", "", "\ud800"):
        with pytest.raises(gr.Error, match="No pair is open"):
            tab.browsed(View(demo.id, reading=Reading(nothing)), (), *TEXTS)


def test_the_pair_open_in_failures_is_taken(tab: TrialTab, demo: PairTable) -> None:
    seen = FailView(view=View(demo.id, reading=Reading(demo.key_of(3))))
    *texts, _, _ = tab.failed(seen, (), *TEXTS, None, None, ME)
    assert texts[1] == demo.cells(3)["chosen"]


def test_what_is_taken_is_scored_as_a_new_start(tab: TrialTab, pressed: TrialShown) -> None:
    *_, anew = tab.anew(ME, "demo", trial_of(pressed), "p", "Other words.", "r")
    assert trial_of(anew).start == trial_of(anew).scored
    [cleared] = tab.anew(ME, "longer", trial_of(pressed), *TEXTS)
    assert (cleared.numbers, cleared.edits, cleared.trial) == ("", "", None)


def test_slow_edits_are_offered_and_scored_on_demand(tab: TrialTab) -> None:
    shown = list(tab._told(ME, "demo", TEXTS, None, seconds=-1.0, loads=True))
    assert shown[-1].rest["visible"] is True and "are not scored yet" in shown[-1].edits
    *_, whole = tab.rest(ME, "demo", trial_of(shown[-1]), *TEXTS)
    assert trial_of(whole).is_whole and "not scored" not in whole.edits


def test_token_rewards_end_with_the_reward(tab: TrialTab, pressed: TrialShown) -> None:
    working, (html, plot) = tab.tokens(ME, "demo", *TEXTS)
    assert "Loading" in working[0] and plot["visible"] is True
    assert values(pressed)[0] in html and "this pair" in html
    with pytest.raises(gr.Error, match="no reward after each"):
        list(tab.tokens(ME, "longer", *TEXTS))
    with pytest.raises(gr.Error, match="is empty"):
        list(tab.tokens(ME, "demo", "p", "", "r"))
