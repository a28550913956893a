"""The Score tab: which pairs are chosen by what the Browse tab shows, and what is refused."""

from dataclasses import replace
from typing import Any

import gradio as gr
import pytest

from explorer.filters import Filters, LengthRange
from explorer.search import Query
from explorer.settings import Settings
from explorer.stores import Stores
from explorer.table import PairTable
from explorer.text import text
from explorer.ui.browse import Browse
from explorer.ui.score import (
    BY_FILTER,
    BY_SUBSET,
    MOST_PER_SUBSET,
    Score,
    build_score,
    remembered_runs,
)
from explorer.view import View
from scoring.errors import KnownError
from tests.explorer.tables import row, small_table
from tests.ui.browsing import browse_on
from tests.ui.html_reading import HtmlReading


@pytest.fixture
def score(stores: Stores) -> Score:
    return Score(Browse(stores.pairs, stores.counter, stores.settings), stores.runs)


CHAT = Filters().picking("section", ["Chat"])


def test_by_filter_what_the_browse_tab_shows_is_chosen(score: Score, demo: PairTable) -> None:
    filters = replace(CHAT.keeping(LengthRange("chosen", "chars", 1, None)), query=Query("a"))
    chosen = score.chosen(View(filters=filters), BY_FILTER, None, None)
    assert 0 < len(chosen.rows) <= 40
    assert {demo.subset_of(row)[:6] for row in chosen.rows} <= {"alpaca", "mt-ben"}
    assert chosen.words == (
        "Browse filter: Section: Chat, chosen at least 1 characters, “a” (in all texts)"
    )


def test_without_a_filter_all_pairs_are_chosen(score: Score) -> None:
    chosen = score.chosen(View(), BY_FILTER, None, None)
    assert len(chosen.rows) == 188 and chosen.words == "Browse filter: all pairs"


def test_by_subset_the_filter_does_not_matter(score: Score) -> None:
    chosen = score.chosen(View(filters=CHAT), BY_SUBSET, 2, 7)
    assert len(chosen.rows) == 46
    assert chosen.words == "2 from each subset, seed 7"
    again = score.chosen(View(), BY_SUBSET, 2, 7)
    other = score.chosen(View(), BY_SUBSET, 2.0, 8)
    assert chosen.rows.tolist() == again.rows.tolist() != other.rows.tolist()


def test_the_pairs_are_those_of_the_view(demo: PairTable, stores: Stores) -> None:
    other = small_table(row(), row(), row())
    score = Score(browse_on(demo, other), stores.runs)
    chosen = score.chosen(View(other.id), BY_FILTER, 1, 0)
    assert chosen.table is other and len(chosen.rows) == 3
    for which in (BY_FILTER, BY_SUBSET):
        assert "not in memory any more" in score.count(View("gone"), which, 1, 0)


@pytest.mark.parametrize("side", ["chosen", "rejected"])
def test_rows_with_further_responses_are_refused(side: str, stores: Stores) -> None:
    several = [row(**{side: ["one", "two"], "subset": "several"}) for _ in range(2)]
    table = small_table(*several, row(subset="single", prompt="alone"))
    score = Score(browse_on(table), stores.runs)
    sentence = text("score.further", n="2")
    for choice in ((BY_FILTER, None, None), (BY_SUBSET, 5, 0)):
        with pytest.raises(KnownError) as refused:
            score.chosen(View(), *choice)
        assert str(refused.value) == sentence
        seen = HtmlReading(score.count(View(), *choice), {"div"})
        assert seen.of_class["wrong"] == [sentence]
    single = View(filters=Filters().picking("subset", ["single"]))
    assert len(score.chosen(single, BY_FILTER, None, None).rows) == 1
    shown = list(score.start(gr.Request(), "demo", None, View(), BY_FILTER, None, None))
    assert len(shown) == 1 and sentence in HtmlReading(shown[0].status, {"div", "i"}).words


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
        ("<b>" * 1000, 0, "is <b><b>"),
        (1, -1, "Seed of the sample is -1"),
        (1, 2**32, "Seed of the sample is 4294967296"),
        (1, [], "is []"),
    ],
)
def test_a_number_that_is_none_is_refused_by_name(
    per_subset: Any, seed: Any, words: str, score: Score
) -> None:
    told = HtmlReading(score.count(View(), BY_SUBSET, per_subset, seed), {"div"})
    assert words in told.of_class["wrong"][0] and len(told.words) < 200


def test_how_many_are_chosen_is_said(score: Score) -> None:
    assert "46 pairs selected" in score.count(View(), BY_SUBSET, 2, 0)
    gone = View(filters=Filters().picking("subset", ["gone"]))
    told = HtmlReading(score.count(gone, BY_FILTER, None, None), {"div"})
    assert "No pairs selected" in told.of_class["wrong"][0]


def test_a_range_of_tokens_that_are_not_counted_any_more_is_said(score: Score) -> None:
    lost = View(filters=Filters().keeping(LengthRange("chosen", "tokens", 1, None, "gone")))
    assert "not counted here" in score.count(lost, BY_FILTER, None, None)


@pytest.mark.parametrize("public", [True, False])
def test_a_public_server_does_not_speak_of_folders(public: bool, stores: Stores) -> None:
    with gr.Blocks():
        view = build_score(Settings(home=stores.settings.home, public=public), remembered_runs())
    assert ("folder" in view.model.info) != public
    assert view.which.value == BY_SUBSET
