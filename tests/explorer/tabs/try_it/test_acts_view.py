"""The Try tab: rewards that follow what is typed, edits, pairs that are taken, and bad input."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import gradio as gr
import pytest

from explorer.core.html import signed
from explorer.core.parts import Filling
from explorer.core.settings import Settings
from explorer.core.work import Latest
from explorer.data.table import PairTable
from explorer.data.typed import PUBLIC_LONGEST, typed_pair
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Rewarded
from explorer.runs.scorers import BRIEF_SECONDS
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.try_it.acts_view import TrialTab, edits_html, numbers_html, status_html
from explorer.tabs.try_it.state import Past, Trial
from explorer.tabs.try_it.view import build_trial
from tests.conftest import PATIENCE
from tests.explorer.browsing import act, scenes_on, stays
from tests.explorer.filling import Filled, filled, laid_out
from tests.explorer.html_reading import HtmlReading
from tests.explorer.rewarding import FACTS, by_length, scored

OTHER = Visitor(session="other")
TEXTS = ("Fruit?", "Take **figs**. Wash them.", "No.")
HOSTILE = '<script>alert(1)</script> & "quotes" {n}'
TAGS = {
    "div", "span", "h2", "table", "thead", "tbody", "tr", "th", "td", "b", "i", "small", "button",
}  # fmt: skip


@pytest.fixture
def tab(stores: Stores) -> TrialTab:
    parts = laid_out(build_trial, stores.settings)
    return TrialTab(scenes_on(stores), stores.runs, stores.settings, Latest(), parts)


@pytest.fixture
def me() -> Session:
    return Session(Visitor(session="me"))


@pytest.fixture
def pressed(tab: TrialTab, me: Session) -> Filled:
    *_, shown = steps_of(tab, tab.press(me, "demo", *TEXTS))
    return shown


def steps_of(tab: TrialTab, stream: Iterator[Filling]) -> Iterator[Filled]:
    """What is shown one after another."""
    return (filled(tab.parts, filling) for filling in stream)


def trial_of(session: Session) -> Trial:
    """The trial that is shown."""
    trial = session.get(Trial)
    assert trial is not None
    return trial


def typed_in(tab: TrialTab, filling: Filling) -> tuple[list[str], bool]:
    """The texts that an act gave, and whether it can be undone."""
    shown = filled(tab.parts, filling)
    return [shown.conversation, shown.chosen, shown.rejected], shown.undo["interactive"]


def values(shown: Filled) -> list[str]:
    return [words.strip() for words in HtmlReading(shown.numbers, TAGS).of_class["value"]]


def told(shown: Filled) -> str:
    """What the status says, where everything else stays as it is."""
    assert all(stays(value) for name, value in shown.items() if name not in ("status", "stop"))
    return HtmlReading(shown.status, TAGS).words


def test_both_rewards_and_the_margin_are_shown_and_then_each_edit(
    tab: TrialTab, me: Session, stores: Stores
) -> None:
    working, *steps = steps_of(tab, tab.press(me, "demo", *TEXTS))
    loading = [step for step in steps if stays(step.numbers)]
    first, *_, last = steps[len(loading) :]
    assert "Loading the model" in told(working) and all(map(told, loading)) and loading
    pair = typed_pair(*TEXTS, longest=1000)
    [row] = stores.runs.rewards(me.visitor, ModelOrder("demo"), [pair]).scored
    rewards = (row.chosen_reward, row.margin, row.rejected_reward)
    assert values(first) == [signed(reward) for reward in rewards]
    assert "…" in first.edits and "…" not in last.edits
    moves = set(re.findall('<b class="(up|down)">(.)', last.edits))
    assert moves == {("up", "+"), ("down", "−")}
    assert trial_of(me).is_whole and last.rest["visible"] is False
    assert "Scored by demo" in last.status


def test_typing_moves_the_rewards_and_says_by_how_much(
    tab: TrialTab, me: Session, pressed: Filled
) -> None:
    *_, moved = steps_of(tab, tab.typed(me, "demo", TEXTS[0], "Take nothing.", TEXTS[2]))
    assert values(moved)[0] != values(pressed)[0] and values(moved)[2] == values(pressed)[2]
    change = trial_of(me).moved("chosen")
    assert change and f"{signed(change)} since Score" in moved.numbers
    *_, back = steps_of(tab, tab.typed(me, "demo", *TEXTS))
    assert values(back) == values(pressed) and "since Score" not in back.numbers


def test_an_older_answer_never_replaces_a_newer_one(
    tab: TrialTab, me: Session, pressed: Filled
) -> None:
    older = steps_of(tab, tab.typed(me, "demo", TEXTS[0], "Older.", TEXTS[2]))
    next(older)
    someone_else = Session(OTHER)
    list(tab.press(someone_else, "demo", *TEXTS))
    assert values(next(older)) and trial_of(someone_else).is_whole
    list(tab.typed(me, "demo", TEXTS[0], "Newer.", TEXTS[2]))
    assert list(older) == []
    assert trial_of(me).is_whole and trial_of(me).pair.chosen == "Newer."


@pytest.mark.parametrize("model", ["longer", "gone/model", "", None, 5, ["demo"], "x" * 5000])
def test_another_model_is_not_loaded_by_typing(
    model: Any, tab: TrialTab, me: Session, pressed: Filled
) -> None:
    trial = trial_of(me)
    [only] = steps_of(tab, tab.typed(me, model, *TEXTS))
    assert "Press Score this pair to load" in told(only) and len(only.status) < 300
    assert trial_of(me) is trial


def test_a_model_whose_place_another_took_is_not_loaded_by_typing(
    tab: TrialTab, me: Session, pressed: Filled
) -> None:
    pair, models = typed_pair(*TEXTS, longest=1000), tab.runs.scorers.models
    tab.runs.rewards(OTHER, ModelOrder("longer"), [pair])
    [typed] = steps_of(tab, tab.typed(me, "demo", *TEXTS))
    [anew] = steps_of(tab, tab.anew(me, "demo", *TEXTS))
    assert "Press Score this pair to load 'demo'" in told(typed)
    assert "press Score this pair" in anew.status and me.get(Trial) is None
    assert models.is_warm(OTHER, ModelOrder("longer"))
    list(tab.press(me, "demo", *TEXTS))
    assert trial_of(me).is_whole


def test_nor_is_it_loaded_for_the_edits(tab: TrialTab, me: Session, pressed: Filled) -> None:
    pair = typed_pair(*TEXTS, longest=1000)
    steps = steps_of(tab, tab.typed(me, "demo", *TEXTS))
    first = next(steps)
    tab.runs.rewards(OTHER, ModelOrder("longer"), [pair])
    ended, last = steps
    assert "…" in first.edits and "…" not in ended.edits and ended.rest["visible"] is True
    assert "Press Score this pair to load 'demo'" in told(last)
    list(tab.rest(me, "demo", *TEXTS))
    assert trial_of(me).is_whole


def test_a_page_that_is_closed_ends_the_loading(tab: TrialTab, me: Session) -> None:
    tab.runs.scorers.models.release()
    stream = tab.press(me, "demo", *TEXTS)
    for _ in range(2):
        assert "Loading the model" in told(filled(tab.parts, next(stream)))
    stream.close()  # type: ignore[attr-defined]
    assert not tab.runs.scorers.models.is_warm(me.visitor, ModelOrder("demo"))


def test_the_newest_key_waits_for_an_older_one_of_the_same_page(
    tab: TrialTab, me: Session, pressed: Filled
) -> None:
    def typed(words: str) -> list[Filling]:
        return list(tab.typed(me, "demo", TEXTS[0], words, TEXTS[2]))

    who = me.visitor
    number = tab.latest.ask(who.session)
    with ThreadPoolExecutor(2) as pool:
        with tab.latest.answering(who.session, number), tab.runs.scorers.brief(who):
            older = pool.submit(typed, "Older.")
            while tab.latest.is_last(who.session, number) and not older.done():
                time.sleep(0.01)
            newer = pool.submit(typed, "Newer.")
            assert older.result(PATIENCE) == []  # dropped while the device is taken
            with pytest.raises(TimeoutError):
                newer.result(2 * BRIEF_SECONDS)
        assert newer.result(PATIENCE)
    assert trial_of(me).is_whole and trial_of(me).pair.chosen == "Newer."


def test_before_anything_is_scored_typing_scores_nothing(tab: TrialTab, me: Session) -> None:
    [only] = steps_of(tab, tab.typed(me, "demo", *TEXTS))
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
    model: Any, texts: tuple[Any, ...], why: str, tab: TrialTab, me: Session
) -> None:
    *_, last = steps_of(tab, tab.press(me, model, *texts))
    assert why in told(last) and "wrong" in last.status and me.get(Trial) is None


def test_strangers_may_type_less(tab: TrialTab, me: Session) -> None:
    public = replace(tab, settings=Settings(tab.settings.home, public=True))
    *_, last = steps_of(tab, public.press(me, "demo", "p", "a" * (PUBLIC_LONGEST + 1), "b"))
    assert "at most 20,000" in told(last)


def test_while_others_score_one_is_told_so(tab: TrialTab, me: Session, pressed: Filled) -> None:
    trial = trial_of(me)
    with tab.runs.scorers.turn(OTHER):
        *_, last = steps_of(tab, tab.typed(me, "demo", *TEXTS))
    assert "The device is busy" in told(last) and trial_of(me) is trial


def test_hostile_texts_do_nothing(tab: TrialTab, me: Session) -> None:
    *_, last = steps_of(tab, tab.press(me, "demo", HOSTILE, HOSTILE, HOSTILE))
    for html in (last.status, last.numbers, last.edits):
        assert "script" not in HtmlReading(html, TAGS).words
    facts = replace(FACTS, model=HOSTILE, reading=HOSTILE)
    pair = typed_pair(*TEXTS, longest=100)
    row = scored(pair, by_length)
    trial = Trial(ModelOrder(HOSTILE), pair, row, Rewarded((row,), facts).facts, row, frozenset())
    for html in (status_html(trial), numbers_html(trial), edits_html(trial, ended=True)):
        HtmlReading(html, TAGS)
    assert HOSTILE in HtmlReading(status_html(trial), TAGS).words


def test_an_edit_that_does_not_apply_is_not_offered(pressed: Filled) -> None:
    offered = HtmlReading(pressed.edits, TAGS).of_class
    [chosen], [rejected] = offered["of-chosen"], offered["of-rejected"]
    for words in ("Drop the last sentence", "Strip Markdown"):
        assert words in chosen and words not in rejected  # which is "No."


# The texts


def test_an_edit_is_made_and_undone(tab: TrialTab, me: Session) -> None:
    plain = act("apply", change="plain", side="chosen")
    texts, can_undo = typed_in(tab, tab.act(plain, me, *TEXTS))
    assert texts == ["Fruit?", "Take figs. Wash them.", "No."] and can_undo is True
    texts, _ = typed_in(tab, tab.act(act("apply", change="swap"), me, *texts))
    assert texts == ["Fruit?", "No.", "Take figs. Wash them."]
    texts, can_undo = typed_in(tab, tab.undo(me, *texts))
    assert texts[1] == "Take figs. Wash them." and can_undo is True
    for _ in range(2):  # there is nothing to go back to any more
        texts, can_undo = typed_in(tab, tab.undo(me, *texts))
        assert tuple(texts) == TEXTS and me.seen(Past) == Past() and can_undo is False


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
def test_an_act_that_there_is_not_is_refused(
    posted: gr.EventData, tab: TrialTab, me: Session
) -> None:
    with pytest.raises(gr.Error, match=r"is one of|There is no act|does not apply"):
        tab.act(posted, me, *TEXTS)


@pytest.mark.parametrize("posted", [None, 5, ["x"], "x" * 200_001])
def test_no_text_of_any_size_is_kept(posted: Any, tab: TrialTab, me: Session) -> None:
    with pytest.raises(gr.Error, match=r"must be text|characters"):
        tab.act(act("apply", change="swap"), me, "p", posted, "r")
    with pytest.raises(gr.Error, match=r"must be text|characters"):
        tab.undo(me, "p", "c", posted)
    assert me.seen(Past) == Past()


@pytest.mark.parametrize("model", [None, ""])
def test_the_pair_open_in_pairs_is_taken(
    model: str | None, tab: TrialTab, me: Session, demo: PairTable
) -> None:
    """With outcomes beside it or without."""
    state = PairsState(demo.id).of(model)
    me.show(replace(state, key=demo.key_of(7)))
    texts, _ = typed_in(tab, tab.opened(me, *TEXTS))
    cells = demo.cells(7)
    assert texts[1:] == [cells["chosen"], cells["rejected"]] and me.seen(Past) == Past((TEXTS,))
    for nothing in ("gone:1", "\ud800"):
        me.show(replace(state, key=nothing))
        with pytest.raises(gr.Error, match="No pair is open"):
            tab.opened(me, *TEXTS)


def test_what_is_taken_is_scored_as_a_new_start(
    tab: TrialTab, me: Session, pressed: Filled
) -> None:
    list(tab.anew(me, "demo", "p", "Other words.", "r"))
    assert trial_of(me).start == trial_of(me).scored
    [cleared] = steps_of(tab, tab.anew(me, "longer", *TEXTS))
    assert (cleared.numbers, cleared.edits, me.get(Trial)) == ("", "", None)


def test_slow_edits_are_offered_and_scored_on_demand(tab: TrialTab, me: Session) -> None:
    slow = tab._told(me, "demo", TEXTS, None, seconds=-1.0, loads=True)
    *_, shown = steps_of(tab, slow)
    assert shown.rest["visible"] is True and "were not scored" in shown.edits
    *_, whole = steps_of(tab, tab.rest(me, "demo", *TEXTS))
    assert trial_of(me).is_whole and "not scored" not in whole.edits


def test_token_rewards_end_with_the_reward(tab: TrialTab, me: Session, pressed: Filled) -> None:
    working, done = steps_of(tab, tab.tokens(me, "demo", *TEXTS))
    assert "Loading" in working["tokens.words"] and done["tokens.plot"]["visible"] is True
    assert values(pressed)[0] in done["tokens.words"] and "this pair" in done["tokens.words"]
    with pytest.raises(gr.Error, match="no reward after each"):
        list(tab.tokens(me, "longer", *TEXTS))
    with pytest.raises(gr.Error, match="is empty"):
        list(tab.tokens(me, "demo", "p", "", "r"))


def test_token_rewards_and_rewards_of_a_page_wait_for_each_other(
    tab: TrialTab, me: Session, pressed: Filled
) -> None:
    tokens = steps_of(tab, tab.tokens(me, "demo", *TEXTS))
    with tab.runs.scorers.brief(me.visitor):
        assert "1 ahead of you in the queue" in next(tokens)["tokens.words"]
    assert "Loading" in next(tokens)["tokens.words"]
    with ThreadPoolExecutor(1) as pool:
        typed = pool.submit(lambda: [*tab.typed(me, "demo", TEXTS[0], "Typed.", TEXTS[2])])
        with pytest.raises(TimeoutError):
            typed.result(2 * BRIEF_SECONDS)
        *_, done = tokens
        *_, shown = steps_of(tab, iter(typed.result(PATIENCE)))
    assert done["tokens.plot"]["visible"] is True and "wrong" not in shown.status
    assert trial_of(me).is_whole and trial_of(me).pair.chosen == "Typed."
