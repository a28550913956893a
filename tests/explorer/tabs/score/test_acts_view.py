"""The Score tab: which pairs are chosen by what the Pairs tab lists, and what is refused."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.core.parts import Filling, Posted, components
from explorer.core.settings import Settings
from explorer.data.filters import LengthRange
from explorer.data.table import PairTable
from explorer.reader.fields_view import TypedFields
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.results.board import Ranking
from explorer.runs.cards import card_of, pairs_of
from explorer.runs.estimates import forecast
from explorer.runs.facts import run_facts
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import MOST_PER_SUBSET, SELECTION_WAYS, Selection
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.score.acts_view import ScoreTab
from explorer.tabs.score.before_view import model_card_html
from explorer.tabs.score.run_view import Followed
from explorer.tabs.score.state import ScoreState
from explorer.tabs.score.view import build_score
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from tests.conftest import PATIENCE
from tests.explorer.beginning import begun, finished, loaded, stopped
from tests.explorer.browsing import act, library_of, page_on, stays
from tests.explorer.filling import Filled, filled, laid_out
from tests.explorer.html_reading import HtmlReading
from tests.explorer.score_tab import score_tab
from tests.explorer.tables import row, small_table

ALL_PAIRS = {"model": "longer", "which": "filter"}
"""What is held where a fast model is to score all pairs."""


@pytest.fixture
def score(stores: Stores) -> ScoreTab:
    return score_tab(stores)


def posted(score: ScoreTab, session: Session, **held: Any) -> Posted:
    """What the fields of a page hold: what stands in them at first, but for these, by name."""
    order, choice, sure = score.parts.order, score.parts.choice, score.parts.sure
    names = vars(order) | vars(choice) | choice.texts._asdict() | vars(sure)
    values = {each: each.value for each in (*order.inputs, *choice.inputs, *sure.inputs)}
    held = {"which": "subset", **held}
    return values | {names[name]: value for name, value in held.items()} | {score.session: session}


def chosen(score: ScoreTab, session: Session, **held: Any) -> Selection:
    """What Score would score."""
    return score.chosen(posted(score, session, **held))


def counted(score: ScoreTab, session: Session, **held: Any) -> str:
    """What is said of the pairs that are chosen."""
    return str(score.count(posted(score, session, **held))[score.parts.choice.selected])


def told(score: ScoreTab, filling: Filling) -> Filled:
    """What a callback shows of a run."""
    report, stay = score.parts.report, filling == gr.skip()
    given = {} if stay else {each: filling[each] for each in components(report) if each in filling}
    return filled(report, given)


def again(score: ScoreTab, session: Session) -> Filling:
    """What a page that follows a run is shown of it now."""
    return score.act(act("again"), session)


def reopened(score: ScoreTab, session: Session) -> Filling:
    """What a page shows that is opened without a link to a run."""
    return score.open("", session)


def asked(score: ScoreTab, session: Session, name: str, run_id: str) -> Filling:
    """What a page shows that asks for a run."""
    return score.act(act(name, id=run_id), session)


def pressed(score: ScoreTab, session: Session, **held: Any) -> Filled:
    """What a page shows when Score was pressed on it."""
    return told(score, score.start(posted(score, session, **held)))


def ended(score: ScoreTab, session: Session, shown: Filled) -> Filled:
    """What a page shows at last that follows a run, from what it shows first."""
    while session.seen(Followed).live_id:
        now = told(score, again(score, session))
        shown = shown if stays(now.status) else now
        time.sleep(0.01)
    return shown


def scored(score: ScoreTab, session: Session, **held: Any) -> Filled:
    """What a page shows at last when Score was pressed on it."""
    return ended(score, session, pressed(score, session, **held))


CHAT = PairsState(section=("Chat",))


def test_what_the_pairs_tab_lists_is_chosen(score: ScoreTab, demo: PairTable) -> None:
    listed = replace(CHAT, ranges=(LengthRange("chosen", "chars", 1, None),), words="a")
    found = chosen(score, page_on(listed), which="filter")
    assert 0 < len(found.rows) <= 40
    assert {demo.subset_of(row)[:6] for row in found.rows} <= {"alpaca", "mt-ben"}
    assert found.words == ("Section: Chat, chosen characters ≥ 1, “a” (in all texts)")


def test_without_a_filter_all_pairs_are_chosen(score: ScoreTab) -> None:
    found = chosen(score, Session(), which="filter", per_subset=None, seed=None)
    assert len(found.rows) == 188 and found.words == "all pairs"


def test_by_subset_the_filter_does_not_matter(score: ScoreTab) -> None:
    found = chosen(score, page_on(CHAT), per_subset=2, seed=7)
    assert len(found.rows) == 46
    assert found.words == "2 from each subset, seed 7"
    again = chosen(score, Session(), per_subset=2, seed=7)
    other = chosen(score, Session(), per_subset=2.0, seed=8)
    assert found.rows.tolist() == again.rows.tolist() != other.rows.tolist()


def test_the_pairs_are_those_of_the_view(demo: PairTable, stores: Stores) -> None:
    other = small_table(row(), row(), row())
    score = score_tab(stores, library_of(demo, other))
    found = chosen(score, page_on(PairsState(other.id)), which="filter")
    assert found.table is other and len(found.rows) == 3
    for which in ("filter", "subset"):
        assert "not in memory any more" in counted(score, page_on(PairsState("gone")), which=which)


@pytest.mark.parametrize(
    ("per_subset", "seed", "words"),
    [
        (None, 0, "Pairs per subset is empty"),
        (0, 0, "Pairs per subset is 0; it must be a whole number, 1 to 1,000"),
        (1.5, 0, "Pairs per subset is 1.5"),
        (MOST_PER_SUBSET + 1, 0, "is 1001"),
        (True, 0, "is True"),
        (float("nan"), 0, "is nan"),
        (float("inf"), 0, "is inf"),
        ("<b>" * 1000, 0, "is 3,000 characters"),
        (1, -1, "Seed is -1"),
        (1, 2**32, "Seed is 4294967296"),
        (1, [], "is list"),
    ],
)
def test_a_number_that_is_none_is_refused_by_name(
    per_subset: Any, seed: Any, words: str, score: ScoreTab
) -> None:
    said = HtmlReading(counted(score, Session(), per_subset=per_subset, seed=seed), {"div"})
    assert words in said.of_class["wrong"][0] and len(said.words) < 200


def test_how_many_are_chosen_is_said(score: ScoreTab) -> None:
    assert "46 pairs selected" in counted(score, Session(), per_subset=2)
    gone = PairsState(subset=("gone",))
    said = HtmlReading(counted(score, page_on(gone), which="filter"), {"div"})
    assert "No pairs are selected" in said.of_class["wrong"][0]


def test_a_range_of_tokens_that_are_not_counted_any_more_is_said(score: ScoreTab) -> None:
    lost = PairsState(ranges=(LengthRange("chosen", "tokens", 1, None, "gone"),))
    assert "not been counted here" in counted(score, page_on(lost), which="filter")


@pytest.mark.parametrize("public", [True, False])
def test_a_public_server_does_not_speak_of_folders(public: bool, stores: Stores) -> None:
    parts = laid_out(build_score, Settings(home=stores.settings.home, public=public))
    assert ("folder" in parts.order.model.info) != public
    assert parts.choice.which.value == "filter"


def test_only_a_pair_of_ones_own_is_scored_where_the_texts_of_the_others_are_not_at_hand(
    score: ScoreTab, stores: Stores
) -> None:
    run = finished(stores.runs, "longer", small_table(row(), row(), row()), np.arange(3))
    session = Session()
    session.show(PairsState().of(stores.fields.name_of(run.id, *session.where)))
    for which in ("subset", "filter", "keys"):
        assert "texts of these pairs are not loaded" in counted(score, session, which=which)
    assert "1 pair selected" in counted(score, session, **own("Hi.", "Go.", "Hello."))


def test_pasted_keys_choose_their_pairs_in_their_order(score: ScoreTab, demo: PairTable) -> None:
    keys = [demo.keys[row] for row in (5, 2, 9)]
    pasted = f" {keys[0]},{keys[1]};\n{keys[2]} "
    found = chosen(score, Session(), which="keys", keys=pasted)
    assert [demo.keys[row] for row in found.rows] == keys
    assert found.words == "3 pairs by key"
    again = chosen(score, Session(), which="keys", keys=f"{keys[0]} {keys[0]}")
    assert len(again.rows) == 1


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("hep-go:no, b", "has no pair 'hep-go:no', 'b'"),
        ("a b c d e", "and 2 more"),
        (5, "Keys are text"),
        ("x" * 2_000_001, "Keys are text of at most"),
        ("<img src=x>", "&lt;img"),
    ],
)
def test_keys_that_are_none_are_named(typed: Any, words: str, score: ScoreTab) -> None:
    said = counted(score, Session(), which="keys", keys=typed)
    assert words in said.replace("&#39;", "'")


def test_the_pairs_that_a_run_did_not_win_are_scored_again(
    score: ScoreTab, stores: Stores, demo: PairTable
) -> None:
    picked = chosen(score, Session(), per_subset=1, seed=3)
    order = ModelOrder.of({"model": "longer"})
    last = list(stores.runs.start(Visitor(), order, picked))[-1]
    lost = [pair.key for pair in last.scored if pair.outcome in ("loss", "tie")]
    assert lost and last.run is not None
    session = page_on(PairsState(demo.id))
    name = stores.fields.name_of(last.run.id, *session.where)
    assert name in filled(score.parts.choice, score.show_way("failed", session)).failed["choices"]
    found = chosen(score, session, which="failed", failed=name)
    assert [demo.keys[row] for row in found.rows] == [key for key in demo.keys if key in lost]
    assert found.words == f"failed by {name}"
    session.show(PairsState(demo.id).of(name))
    listed = chosen(score, session, which="filter")
    assert listed.words == f"{name}: Losses" and 0 < len(listed.rows) < 23
    assert {demo.keys[row] for row in listed.rows} <= set(lost)
    assert "no such model" in counted(score, session, which="failed", failed="no such model")


def test_each_way_shows_what_it_needs(score: ScoreTab) -> None:
    parts = ("per_subset", "seed", "keys", "failed", "typed")
    needs: dict[Any, list[str]] = {"subset": ["per_subset", "seed"]}
    needs |= {way: [way] for way in ("keys", "failed", "typed")}
    for which in (*SELECTION_WAYS, None):
        shown = filled(score.parts.choice, score.show_way(which, Session()))
        assert [part for part in parts if shown[part]["visible"] is True] == needs.get(which, [])


def test_pasted_keys_look_like_those_of_the_open_pairs(score: ScoreTab, demo: PairTable) -> None:
    shown = filled(score.parts.choice, score.show_way("keys", page_on(PairsState(demo.id))))
    assert shown["keys"]["placeholder"] == f"{demo.keys[0]}, {demo.keys[1]} …"
    said = counted(score, page_on(PairsState(demo.id)), which="keys", keys="hep-rust:3")
    assert f"such as {demo.keys[0]}, {demo.keys[1]}." in said


def own(*texts: Any) -> dict[str, Any]:
    """What is held where one types a pair: how it is chosen, and its texts."""
    return {"which": "typed", **TypedFields(*texts)._asdict()}


def test_a_pair_that_is_typed_is_scored_and_read_again(
    score: ScoreTab, stores: Stores, demo: PairTable
) -> None:
    typed = ("[system]\nBe terse.\n[user]\nHi.", "Go.", "Hello there, you.")
    session = Session()
    assert "1 pair selected" in counted(score, session, **own(*typed))
    for model in ("longer", "shorter"):
        last = scored(score, session, model=model, **own(*typed))
        assert "status finished" in last.status
    assert not re.search(r"(?<! of) 1 pairs|>1 pairs", last.status + last.cards + last.sections)
    lows = re.findall(r"([\d.]+)(?: %)?(?: to | – )100", last.cards + last.sections)
    assert len(lows) == 4 and len({round(float(low)) for low in lows}) == 1  # of one number
    run = stores.runs.store.open(session.seen(ScoreState).run_id, Visitor())
    assert [(row.key, row.outcome) for row in run.rows()] == [("typed:1", "win")]
    # Who starts the server anew finds its texts in the run's card.
    table = pairs_of(run, open_stores(stores.settings).pairs)
    assert table.arrow["chosen"].to_pylist() == [typed[1]]
    [pair] = as_pairs(table.arrow, [0])
    assert [turn.role for turn in pair.turns] == ["system", "user"]
    name = stores.fields.name_of(run.id, *session.where)
    field = stores.fields.of(name, *session.where)
    assert field.has_texts and len(field.matrix.models) == 2 and len(field.table) == 1


def test_runs_of_typed_pairs_leave_the_other_runs_where_they_are(
    score: ScoreTab, stores: Stores
) -> None:
    def own_rows() -> set[str]:
        board = stores.boards.board(None, Ranking(), Visitor())
        return set(board.table.index[board.table["own"]])

    before = own_rows()
    session = Session()
    picked = chosen(score, session, per_subset=1, seed=3)
    order = ModelOrder.of({"model": "longer"})
    other = list(stores.runs.start(Visitor(), order, picked))[-1].run
    for n in range(10):
        scored(score, session, model="longer", **own(f"Question {n}?", "yes", "no"))
    assert other is not None
    name = stores.fields.name_of(other.id, *session.where)
    field = stores.fields.of(name, *session.where)
    assert len(field.table) == 188
    assert len(own_rows() - before) == 1


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("Hi.", "", "Go."), "The chosen response is empty"),
        (("[user]\nHi.\n[assistant]\nYes?", "a", "b"), "The last message is of the assistant"),
        ((None, "a", "b"), "The prompt must be text"),
        (("x" * 200_001, "a", "b"), "at most 200,000"),
    ],
)
def test_a_pair_that_cannot_be_is_refused(typed: Any, words: str, score: ScoreTab) -> None:
    assert words in counted(score, Session(), **own(*typed))
    assert words in scored(score, Session(), **own(*typed)).status


def test_a_way_that_is_none_is_refused(score: ScoreTab) -> None:
    for which in (None, 5, "all", ["subset"]):
        assert "is one of" in counted(score, Session(), which=which)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("model", None, "at most 500 characters"),
        ("family", "guess", "The family is &#39;guess&#39;"),
        ("reading", "one", "A label is its number"),
        ("dtype", "float8", "The dtype is"),
        ("max_length", -1, "max length"),
        ("max_length", 1.5, "must be a whole number"),
        ("chat_template", "Tulu", "There is no chat template &#39;Tulu&#39;; raw, tulu"),
        ("tokenizer", 5, "A tokenizer is named by"),
        ("judge_prompt", "mine", "The judge&#39;s prompt is"),
        ("max_tokens", -1, "length of an answer"),
        ("temperature", -1, "The temperature is -1"),
    ],
)
def test_an_order_that_is_none_is_refused_by_name(
    name: str, value: Any, words: str, score: ScoreTab
) -> None:
    assert words in scored(score, Session(), per_subset=1, **{name: value}).status


def test_template_and_tokenizer_of_a_run_are_kept_and_shown(
    score: ScoreTab, stores: Stores
) -> None:
    session = Session()
    given = {"model": "demo", "chat_template": "mistral", "tokenizer": "demo", **own("a", "b", "c")}
    given |= {"max_length": 0, "max_tokens": 0}  # as an empty field that was shown is posted
    assert "status finished" in scored(score, session, **given).status
    run = stores.runs.store.open(session.seen(ScoreState).run_id, Visitor())
    assert (run.facts.template[:8], run.facts.tokenizer[:5]) == ("mistral:", "demo@")
    assert run_facts(run)["tokenizer of"] == run.facts.tokenizer
    order = card_of(run).order
    assert order is not None
    assert (order.settings.chat_template, order.tokenizer) == ("mistral", "demo")
    card = model_card_html(forecast(stores.runs, Visitor(), order, None))
    assert "<dt>Chat template</dt><dd>mistral</dd>" in card
    assert "<dt>Tokenizer of</dt><dd>demo</dd>" in card


def test_while_a_model_is_looked_at_its_card_says_so(score: ScoreTab) -> None:
    held = posted(score, Session(), **ALL_PAIRS)
    looking, card = score.describe(held)
    assert "Looking at the model" in looking and "longer" in card
    assert [*score.describe({**held, score.parts.choice.per_subset: 2})] == [card]


def test_the_last_run_of_this_person_is_shown_again(score: ScoreTab, stores: Stores) -> None:
    me, she = Visitor("browser:me"), Visitor("browser:she")
    order = ModelOrder.of({"model": "longer"})
    runs = [
        list(stores.runs.start(who, order, chosen(score, Session(), per_subset=n)))[-1].run
        for who, n in ((me, 1), (she, 2))
    ]
    people = (me, she, Visitor("browser:new"))
    reports = [told(score, reopened(score, Session(who))) for who in people]
    assert [each.ended for each in reports[:2]] == [(run and run.id, "") for run in runs]
    assert "Nothing scored yet" in reports[2].status


def test_a_run_ends_when_it_is_sure(score: ScoreTab) -> None:
    shown = scored(score, Session(), **ALL_PAIRS, on=True, width=40)
    words = HtmlReading(shown.status, {"div", "i", "button"}).words
    assert "Sure enough" in words and "of 188 pairs" in words
    assert "accuracy" in words.lower()


@pytest.mark.parametrize("sure", [{"number": "luck"}, {"width": 0}, {"width": ""}])
def test_a_rule_that_is_none_is_refused(sure: Any, score: ScoreTab) -> None:
    assert "Not scored" in scored(score, Session(), per_subset=1, on=True, **sure).status


@pytest.fixture
def one() -> Session:
    """A page of the one person of a server of one's own."""
    return Session(Visitor(session="one"))


@pytest.fixture
def two() -> Session:
    """Another page of theirs."""
    return Session(Visitor(session="two"))


@pytest.fixture
def other(stores: Stores, demo: PairTable) -> Run:
    """A run that has ended."""
    return finished(stores.runs, "longer", demo, np.arange(3))


@pytest.fixture
def halted(stores: Stores, demo: PairTable) -> Run:
    """A run that was stopped amid its pairs."""
    stream = begun(stores.runs, "me", "demo", demo, np.arange(60))
    next(now for now in stream if now.scored)
    last = stopped(stream)
    assert last.run is not None and last.stage == "stopped"
    return last.run


@pytest.fixture
def busy(stores: Stores, demo: PairTable) -> Iterator[Callable[[], None]]:
    """Somebody else scores, so that runs wait; until it is called."""
    stream = begun(stores.runs, "she", "longer", demo, np.arange(3))
    next(stream)
    yield stream.close
    stream.close()


def test_a_page_that_is_opened_sees_the_run_under_way_and_stops_it(
    score: ScoreTab, one: Session, two: Session, busy: object
) -> None:
    first = pressed(score, one, **ALL_PAIRS)
    second = told(score, reopened(score, two))
    assert "1 ahead of you" in first.status and second.status == first.status
    assert two.seen(Followed).live_id == one.seen(Followed).live_id
    assert second.stop["interactive"] is True and second.start["interactive"] is False
    score.stop(two)
    for page, shown in ((one, first), (two, second)):
        last = ended(score, page, shown)
        assert "stopped before the first pair" in last.status
        assert last.start["interactive"] is True and last.stop["interactive"] is False


def test_a_run_is_drawn_where_it_is_further_and_not_too_often(
    score: ScoreTab, one: Session, two: Session, busy: object
) -> None:
    pressed(score, one, **ALL_PAIRS)
    live_id, never = one.seen(Followed).live_id, float("inf")
    for seen, due, is_drawn in ((0, 0.0, True), (10**9, 0.0, False), (0, never, False)):
        one.show(Followed(live_id, seen, due))
        assert stays(told(score, again(score, one)).status) is not is_drawn
    score.stop(one)
    ended(score, one, told(score, reopened(score, one)))
    for seen, due in ((10**9, 0.0), (0, never)):
        two.show(Followed(live_id, seen, due))
        assert "stopped before" in told(score, again(score, two)).status, "its end"


def test_stop_finds_the_run_while_it_is_drawn(score: ScoreTab, busy: object) -> None:
    """It stands in no line, so that it comes at any moment of it."""
    found: list[str] = []

    class Page(Session):
        def show(self, value: object) -> None:
            super().show(value)
            found.append(self.seen(Followed).live_id)

    page = Page(Visitor(session="one"))
    pressed(score, page, **ALL_PAIRS)
    found.clear()
    reopened(score, page)
    score.stop(page)
    assert len(found) > 1 and set(found) == {page.seen(Followed).live_id}
    ended(score, page, told(score, reopened(score, page)))


def test_the_end_of_a_run_is_shown_whatever_was_pressed_before_it(
    score: ScoreTab, other: Run, one: Session, busy: object
) -> None:
    pressed(score, one, **ALL_PAIRS)
    live = score.runs.live.get(one.visitor, one.seen(Followed).live_id)
    score.act(act("panel", value="runs"), one)
    score.stop(one)
    assert live is not None and live.ended.wait(PATIENCE)
    assert "stopped before" in told(score, score.act(act("panel", value="new"), one)).status
    assert one.seen(Followed) == Followed()


def test_why_a_run_was_refused_can_be_dismissed(score: ScoreTab, one: Session) -> None:
    last = scored(score, one, **ALL_PAIRS)
    refused = scored(score, one, model="longer", which="keys", keys="gone:1")
    assert "Not scored" in refused.status and 'data-act="close"' in refused.status
    assert told(score, score.act(act("close"), one)).status == last.status


def test_a_page_that_is_left_does_not_end_its_run(
    score: ScoreTab, stores: Stores, one: Session, two: Session, busy: Callable[[], None]
) -> None:
    pressed(score, one, **ALL_PAIRS)
    back = told(score, reopened(score, two))
    assert "1 ahead of you" in back.status
    busy()
    last = ended(score, two, back)
    assert "Finished: 188 of 188 pairs" in last.status
    assert stores.runs.store.open(two.seen(ScoreState).run_id, two.visitor).status == "finished"
    assert told(score, reopened(score, one)) == last
    assert one.seen(ScoreState) == two.seen(ScoreState)


def test_a_page_shows_the_report_of_another_run_and_comes_back(
    score: ScoreTab, other: Run, one: Session, busy: object
) -> None:
    pressed(score, one, **ALL_PAIRS)
    live_id = one.seen(Followed).live_id
    report = told(score, asked(score, one, "report", other.id))
    assert one.seen(ScoreState).run_id == other.id and "Finished: 3 of 3 pairs" in report.status
    assert one.seen(Followed) == Followed()
    assert stays(told(score, again(score, one)).status)
    back = told(score, asked(score, one, "report", live_id))
    assert "1 ahead of you" in back.status
    score.stop(one)
    assert "stopped before" in ended(score, one, back).status


def test_a_page_joins_its_run_where_another_page_goes_on_with_it(
    score: ScoreTab, halted: Run, one: Session, two: Session, busy: object
) -> None:
    page = told(score, asked(score, one, "report", halted.id))
    assert "status stopped" in page.status
    assert stays(told(score, score.turn_back(one)).status)
    beside = told(score, asked(score, two, "resume", halted.id))
    joined = told(score, score.turn_back(one))
    assert one.seen(Followed).live_id == two.seen(Followed).live_id
    assert "1 ahead of you" in joined.status and joined.stop["interactive"] is True
    assert stays(told(score, score.turn_back(one)).status)
    score.stop(one)
    ended(score, two, beside)


def test_who_comes_back_is_told_why_their_run_ended(tmp_path: Path) -> None:
    stores = open_stores(Settings(tmp_path, public=True, offline=True, seconds_per_hour=1e-6))
    score = score_tab(stores)
    here, back = (Session(Visitor("browser:me", name)) for name in ("one", "two"))
    loaded(stores.runs, score.parts.order.order(posted(score, here)), here.visitor)
    assert "used up" in scored(score, here, which="filter").status
    for seen in (reopened(score, back), asked(score, back, "report", back.seen(ScoreState).run_id)):
        status = told(score, seen).status
        assert "status stopped" in status and "used up" in status
