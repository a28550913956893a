"""The Score tab: which pairs are chosen by what the Browse tab shows, and what is refused."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.data.filters import Filters, LengthRange
from explorer.data.search import Query
from explorer.data.table import PairTable
from explorer.reader.state import Tables, View
from explorer.runs.cards import card_of, pairs_of
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import MOST_PER_SUBSET, WAYS
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.score.acts_view import Score
from explorer.tabs.score.run_view import Followed, RunShown
from explorer.tabs.score.view import build_score, order_of
from scoring.errors import KnownError
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from tests.explorer.beginning import begun, finished, loaded, stopped
from tests.explorer.browsing import library_of
from tests.explorer.html_reading import HtmlReading
from tests.explorer.tables import row, small_table

WHERE = (None, None, Visitor())
"""Results, pairs, visitor."""
ALL = (False, "accuracy", 5)
"""What the fields that say how sure a run is to be hold; off."""
ORDER = ("demo", "", "", "", "auto", None, "")
"""What the fields that say the model hold."""


@pytest.fixture
def score(stores: Stores) -> Score:
    tables = Tables(stores.pairs, stores.counter)
    return Score(tables, stores.fields, stores.runs)


def ended(score: Score, shown: RunShown, who: Visitor = WHERE[2]) -> RunShown:
    """What a page shows at last that follows a run, from what it shows first."""
    followed = shown.followed
    while followed.live_id:
        now = score.follow(followed, who)
        if isinstance(now.followed, Followed):
            shown, followed = now, now.followed
        time.sleep(0.01)
    return shown


CHAT = Filters().picking("section", ["Chat"])


def test_by_filter_what_the_browse_tab_shows_is_chosen(score: Score, demo: PairTable) -> None:
    filters = replace(CHAT.keeping(LengthRange("chosen", "chars", 1, None)), query=Query("a"))
    chosen = score.chosen(WHERE, View(filters=filters), "filter", None, None)
    assert 0 < len(chosen.rows) <= 40
    assert {demo.subset_of(row)[:6] for row in chosen.rows} <= {"alpaca", "mt-ben"}
    assert chosen.words == (
        "Browse filter: Section: Chat, chosen at least 1 characters, “a” (in all texts)"
    )


def test_without_a_filter_all_pairs_are_chosen(score: Score) -> None:
    chosen = score.chosen(WHERE, View(), "filter", None, None)
    assert len(chosen.rows) == 188 and chosen.words == "Browse filter: all pairs"


def test_by_subset_the_filter_does_not_matter(score: Score) -> None:
    chosen = score.chosen(WHERE, View(filters=CHAT), "subset", 2, 7)
    assert len(chosen.rows) == 46
    assert chosen.words == "2 from each subset, seed 7"
    again = score.chosen(WHERE, View(), "subset", 2, 7)
    other = score.chosen(WHERE, View(), "subset", 2.0, 8)
    assert chosen.rows.tolist() == again.rows.tolist() != other.rows.tolist()


def test_the_pairs_are_those_of_the_view(demo: PairTable, stores: Stores) -> None:
    other = small_table(row(), row(), row())
    score = Score(Tables(library_of(demo, other), stores.counter), stores.fields, stores.runs)
    chosen = score.chosen(WHERE, View(other.id), "filter", 1, 0)
    assert chosen.table is other and len(chosen.rows) == 3
    for which in ("filter", "subset"):
        assert "not in memory any more" in score.count(*WHERE, View("gone"), which, 1, 0)


def test_rows_with_several_responses_are_refused_and_counted(stores: Stores) -> None:
    both = {side: ["one", "two"] for side in ("chosen", "rejected")}
    several = [row(subset="several", **more) for more in (both, {"rejected": ["one", "two"]})]
    table = small_table(*several, row(subset="single", prompt="alone"))
    score = Score(Tables(library_of(table), stores.counter), stores.fields, stores.runs)
    sentence = text("score.several", n="2", of="3")
    for choice in (("filter", None, None), ("subset", 5, 0)):
        with pytest.raises(KnownError) as refused:
            score.chosen(WHERE, View(), *choice)
        assert str(refused.value) == sentence
        seen = HtmlReading(score.count(*WHERE, View(), *choice), {"div"})
        assert seen.of_class["wrong"] == [sentence]
    single = View(filters=Filters().picking("subset", ["single"]))
    assert len(score.chosen(WHERE, single, "filter", None, None).rows) == 1
    shown = ended(score, score.start(*ORDER, *ALL, *WHERE, View(), "filter", None, None, "", ""))
    assert sentence in HtmlReading(shown.status, {"div", "i"}).words


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
        (1, -1, "Seed of the sample is -1"),
        (1, 2**32, "Seed of the sample is 4294967296"),
        (1, [], "is list"),
    ],
)
def test_a_number_that_is_none_is_refused_by_name(
    per_subset: Any, seed: Any, words: str, score: Score
) -> None:
    told = HtmlReading(score.count(*WHERE, View(), "subset", per_subset, seed), {"div"})
    assert words in told.of_class["wrong"][0] and len(told.words) < 200


def test_how_many_are_chosen_is_said(score: Score) -> None:
    assert "46 pairs selected" in score.count(*WHERE, View(), "subset", 2, 0)
    gone = View(filters=Filters().picking("subset", ["gone"]))
    told = HtmlReading(score.count(*WHERE, gone, "filter", None, None), {"div"})
    assert "No pairs are selected" in told.of_class["wrong"][0]


def test_a_range_of_tokens_that_are_not_counted_any_more_is_said(score: Score) -> None:
    lost = View(filters=Filters().keeping(LengthRange("chosen", "tokens", 1, None, "gone")))
    assert "not counted here" in score.count(*WHERE, lost, "filter", None, None)


@pytest.mark.parametrize("public", [True, False])
def test_a_public_server_does_not_speak_of_folders(public: bool, stores: Stores) -> None:
    with gr.Blocks():
        view = build_score(Settings(home=stores.settings.home, public=public), [("demo", "demo")])
    assert ("folder" in view.order.model.info) != public
    assert view.choice.which.value == "subset"


def test_pasted_keys_choose_their_pairs_in_their_order(score: Score, demo: PairTable) -> None:
    keys = [demo.keys[row] for row in (5, 2, 9)]
    chosen = score.chosen(WHERE, View(), "keys", None, None, f" {keys[0]},{keys[1]};\n{keys[2]} ")
    assert [demo.keys[row] for row in chosen.rows] == keys
    assert chosen.words == "3 chosen by key"
    again = score.chosen(WHERE, View(), "keys", None, None, f"{keys[0]} {keys[0]}")
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
def test_keys_that_are_none_are_named(typed: Any, words: str, score: Score) -> None:
    assert words in score.count(*WHERE, View(), "keys", None, None, typed).replace("&#x27;", "'")


def test_the_pairs_that_a_run_did_not_win_are_scored_again(
    score: Score, stores: Stores, demo: PairTable
) -> None:
    picked = score.chosen(WHERE, View(), "subset", 1, 3)
    order = ModelOrder.of({"model": "longer"})
    last = list(stores.runs.start(Visitor(), order, picked))[-1]
    lost = [pair.key for pair in last.scored if pair.outcome in ("loss", "tie")]
    assert lost and last.run is not None
    where = (None, demo.id, Visitor())
    name = stores.fields.name_of(last.run.id, *where)
    choices = score.turn("failed", *where)[3]["choices"]
    assert name in choices
    chosen = score.chosen(where, View(), "failed", None, None, "", name)
    assert [demo.keys[row] for row in chosen.rows] == [key for key in demo.keys if key in lost]
    assert chosen.words == f"not won by {name}"
    told = score.count(*where, View(), "failed", None, None, "", "no such model")
    assert "no such model" in told


def test_each_way_shows_what_it_needs(score: Score) -> None:
    shown = {
        which: [part.get("visible") for part in score.turn(which, *WHERE)]
        for which in (*WAYS, None)
    }
    assert shown["subset"] == [True, True, False, False, False]
    assert shown["keys"] == [False, False, True, False, False]
    assert shown["failed"] == [False, False, False, True, False]
    assert shown["typed"] == [False, False, False, False, True]
    assert shown["filter"] == shown[None] == [False] * 5


TYPED = (View(), "typed", None, None, "", "")
"""How one's own pair is chosen; its texts come after it."""


def test_a_pair_that_is_typed_is_scored_and_read_again(
    score: Score, stores: Stores, demo: PairTable
) -> None:
    typed = ("[system]\nBe terse.\n[user]\nHi.", "Go.", "Hello there, you.")
    assert "1 pair selected" in score.count(*WHERE, *TYPED, *typed)
    for model in ("longer", "shorter"):
        last = ended(score, score.start(model, *ORDER[1:], *ALL, *WHERE, *TYPED, *typed))
        assert "status finished" in last.status
    assert not re.search(r"(?<! of) 1 pairs|>1 pairs", last.status + last.cards + last.sections)
    lows = re.findall(r"([\d.]+)(?: %)?(?: to | – )100", last.cards + last.sections)
    assert len(lows) == 4 and len({round(float(low)) for low in lows}) == 1  # of one number
    run = stores.runs.open(last.run_id, Visitor())
    assert [(row.key, row.outcome) for row in run.rows()] == [("typed:1", "win")]
    # Who starts the server anew finds its texts in the run's card.
    table = pairs_of(run, open_stores(stores.settings).pairs)
    assert table.arrow["chosen"].to_pylist() == [typed[1]]
    [pair] = as_pairs(table.arrow, [0])
    assert [turn.role for turn in pair.turns] == ["system", "user"]
    name = stores.fields.name_of(run.id, *WHERE)
    field = stores.fields.of(name, *WHERE)
    assert field.has_texts and len(field.matrix.models) == 2 and len(field.table) == 1


def test_runs_of_typed_pairs_leave_the_other_runs_where_they_are(
    score: Score, stores: Stores
) -> None:
    picked = score.chosen(WHERE, View(), "subset", 1, 3)
    order = ModelOrder.of({"model": "longer"})
    other = list(stores.runs.start(Visitor(), order, picked))[-1].run
    for n in range(10):
        texts = (f"Question {n}?", "yes", "no")
        ended(score, score.start("longer", *ORDER[1:], *ALL, *WHERE, *TYPED, *texts))
    assert other is not None
    field = stores.fields.of(stores.fields.name_of(other.id, *WHERE), *WHERE)
    assert len(field.table) == 188
    on_board = stores.room._own_runs(Visitor())
    assert other.id in {run.id for run in on_board}
    assert not any(card_of(run).typed for run in on_board)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (("Hi.", "", "Go."), "The chosen response is empty"),
        (("[user]\nHi.\n[assistant]\nYes?", "a", "b"), "The last message is of the assistant"),
        ((None, "a", "b"), "The prompt must be text"),
        (("x" * 200_001, "a", "b"), "at most 200,000"),
    ],
)
def test_a_pair_that_cannot_be_is_refused(typed: Any, words: str, score: Score) -> None:
    choice = (*TYPED, *typed)
    assert words in score.count(*WHERE, *choice)
    assert words in ended(score, score.start(*ORDER, *ALL, *WHERE, *choice)).status


def test_a_way_that_is_none_is_refused(score: Score) -> None:
    for which in (None, 5, "all", ["subset"]):
        assert "is one of" in score.count(*WHERE, View(), which, 4, 0, "", "")


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (0, None, "at most 500 characters"),
        (1, "guess", "The family is &#x27;guess&#x27;"),
        (3, "one", "A label is its number"),
        (4, "float8", "The dtype is"),
        (5, 0, "longest sequence"),
        (5, 1.5, "must be a whole number"),
    ],
)
def test_an_order_that_is_none_is_refused_by_name(
    place: int, value: Any, words: str, score: Score
) -> None:
    order = [value if at == place else each for at, each in enumerate(ORDER)]
    shown = score.start(*order, *ALL, *WHERE, View(), "subset", 1, 0, "", "")
    assert words in ended(score, shown).status


def test_the_last_run_of_this_person_is_shown_again(score: Score, stores: Stores) -> None:
    me, she = Visitor("browser:me"), Visitor("browser:she")
    order = ModelOrder.of({"model": "longer"})
    runs = [
        list(stores.runs.start(who, order, score.chosen(WHERE, View(), "subset", n, 0)))[-1].run
        for who, n in ((me, 1), (she, 2))
    ]
    assert score.reopen(me).run_id == getattr(runs[0], "id", "")
    assert score.reopen(she).run_id == getattr(runs[1], "id", "")
    assert not isinstance(score.reopen(Visitor("browser:new")).run_id, str)


def test_a_run_ends_when_it_is_sure(score: Score) -> None:
    sure = (True, "accuracy", 40)
    order = ("longer", *ORDER[1:])
    shown = score.start(*order, *sure, *WHERE, View(), "filter", None, None, "", "")
    words = HtmlReading(ended(score, shown).status, {"div", "i"}).words
    assert "Sure enough" in words and "of 188 pairs" in words
    assert "accuracy" in words.lower()


@pytest.mark.parametrize("sure", [(True, "luck", 5), (True, "accuracy", 0), (True, "accuracy", "")])
def test_a_rule_that_is_none_is_refused(sure: Any, score: Score) -> None:
    shown = score.start(*ORDER, *sure, *WHERE, View(), "subset", 1, 0, "", "")
    assert "Not scored" in ended(score, shown).status


ONE, TWO = Visitor(session="one"), Visitor(session="two")
"""Two pages of the one person of a server of one's own."""
ALL_PAIRS = (View(), "filter", None, None, "", "")


def pressed(score: Score, who: Visitor) -> RunShown:
    """What a page shows when Score was pressed on it."""
    return score.start("longer", *ORDER[1:], *ALL, None, None, who, *ALL_PAIRS)


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
    score: Score, busy: object
) -> None:
    first = pressed(score, ONE)
    second = score.reopen(TWO)
    assert "1 ahead of you" in first.status and second.status == first.status
    assert second.followed.live_id == first.followed.live_id
    assert second.stop["interactive"] is True and second.start["interactive"] is False
    score.stop(TWO, second.followed)
    for page, who in ((first, ONE), (second, TWO)):
        last = ended(score, page, who)
        assert "stopped before the first pair" in last.status
        assert last.start["interactive"] is True and last.stop["interactive"] is False


def test_a_run_is_drawn_where_it_is_further_and_not_too_often(score: Score, busy: object) -> None:
    live_id = pressed(score, ONE).followed.live_id
    never = float("inf")
    for seen, due, is_drawn in ((0, 0.0, True), (10**9, 0.0, False), (0, never, False)):
        now = score.follow(Followed(live_id, seen, due), ONE)
        assert isinstance(now.status, str) is is_drawn
    score.stop(ONE, Followed(live_id))
    ended(score, score.reopen(ONE), ONE)
    for seen, due in ((10**9, 0.0), (0, never)):
        assert "stopped before" in score.follow(Followed(live_id, seen, due), TWO).status, "its end"


def test_a_page_that_is_left_does_not_end_its_run(
    score: Score, stores: Stores, busy: Callable[[], None]
) -> None:
    pressed(score, ONE)
    score.leave(gr.Request(session_hash=ONE.session))
    back = score.reopen(TWO)
    assert "1 ahead of you" in back.status
    busy()
    last = ended(score, back, TWO)
    assert "Finished: 188 pairs" in last.status
    assert stores.runs.open(last.run_id, TWO).status == "finished"
    assert score.reopen(ONE) == last


def test_a_page_shows_the_report_of_another_run_and_comes_back(
    score: Score, other: Run, busy: object
) -> None:
    live_id = pressed(score, ONE).followed.live_id
    report = score.resume(("report", other.id, 0), ONE)
    assert report.run_id == other.id and "Finished: 3 pairs" in report.status
    assert report.followed == Followed()
    assert not isinstance(score.follow(report.followed, ONE).status, str)
    back = score.resume(("report", live_id, 0), ONE)
    assert "1 ahead of you" in back.status
    score.stop(ONE, back.followed)
    assert "stopped before" in ended(score, back, ONE).status


def test_a_page_joins_its_run_where_another_page_goes_on_with_it(
    score: Score, halted: Run, busy: object
) -> None:
    page = score.resume(("report", halted.id, 0), ONE)
    assert "status stopped" in page.status
    assert not isinstance(score.rejoin(page.followed, page.run_id, ONE).status, str)
    beside = score.resume(("resume", halted.id, 0), TWO)
    joined = score.rejoin(page.followed, page.run_id, ONE)
    assert joined.followed.live_id == beside.followed.live_id
    assert "1 ahead of you" in joined.status and joined.stop["interactive"] is True
    assert not isinstance(score.rejoin(joined.followed, page.run_id, ONE).status, str)
    score.stop(ONE, joined.followed)
    ended(score, beside, TWO)


def test_who_comes_back_is_told_why_their_run_ended(tmp_path: Path) -> None:
    stores = open_stores(Settings(tmp_path, public=True, offline=True, seconds_per_hour=1e-6))
    score = Score(Tables(stores.pairs, stores.counter), stores.fields, stores.runs)
    me = Visitor("browser:me", "one")
    loaded(stores.runs, order_of(*ORDER), me)
    shown = score.start(*ORDER, *ALL, None, None, me, *ALL_PAIRS)
    assert "used up" in ended(score, shown, me).status
    back = Visitor(me.owner, "two")
    for seen in (score.reopen(back), score.resume(("report", score.reopen(back).run_id, 0), back)):
        assert "status stopped" in seen.status and "used up" in seen.status
