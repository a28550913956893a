"""Token rewards of the open pair: whole texts, inert, and the reward that the run gave."""

import re
from html import unescape

import gradio as gr
import numpy as np
import pytest

from explorer.core.html import signed
from explorer.data.table import PairTable
from explorer.data.typed import typed_pair
from explorer.reader.reading import Reading
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.reader.tokens_view import has_tokens, tokens_html
from explorer.stores import Stores
from explorer.tabs.pairs.acts_view import PairsTab
from scoring.engine.scorer import Traits
from scoring.probing.side_rewards import SideRewards, TokenReward, TokenRewards
from scoring.record import Run
from scoring.spec import ModelSpec
from tests.explorer.beginning import begun
from tests.explorer.tables import row, small_table

HOSTILE = '<script>alert(1)</script> & "quotes" 漢字 👍🏽'


@pytest.fixture(scope="module")
def run(stores: Stores, demo: PairTable) -> Run:
    *_, last = begun(stores.runs, "me", "demo", demo, np.arange(4))
    assert last.run is not None
    return last.run


@pytest.fixture
def tokens(pairs_tab: PairsTab) -> PairsTab:
    return pairs_tab


def page_of(tokens: PairsTab, run: Run, key: str) -> Session:
    """A page that shows a pair of a run."""
    session = Session()
    model = tokens.scenes.fields.name_of(run.id, *session.where)
    session.show(PairsState(reading=Reading(key)).of(model))
    return session


def texts_of(html: str) -> list[str]:
    """What the two shaded bodies say."""
    bodies = re.findall(r'<div class="body"[^>]*>(.*?)</div>', html, re.DOTALL)
    shaded = ["".join(re.findall(r"<span[^>]*>(.*?)</span>", body, re.DOTALL)) for body in bodies]
    return [unescape(each) for each in shaded]


def test_both_responses_are_there_whole_with_the_rewards_of_the_run(
    tokens: PairsTab, run: Run, demo: PairTable
) -> None:
    pair = run.rows()[0]
    *_, shown = tokens.show_tokens(page_of(tokens, run, pair.key))
    html, plot, *_ = shown.values()
    cells = demo.find(pair.key)
    assert cells is not None
    assert [each.strip() for each in texts_of(html)] == [
        cells[side].strip() for side in ("chosen", "rejected")
    ]
    rewards = re.findall(r'class="reward">([^<]*)<', html)
    assert rewards == [signed(pair.chosen_reward), signed(pair.rejected_reward)]
    assert "differs from the run" not in html
    assert plot["visible"] is True


@pytest.mark.parametrize(
    ("subset", "words", "is_code"),
    [("hep-rust", "x", True), ("mine", "```\nx\n```", True), ("mine", "x", False)],
)
def test_code_is_set_as_code(subset: str, words: str, is_code: bool) -> None:
    n = len(words)
    side = SideRewards(words, (0, n), (TokenReward(words, 0, n, True, 1.0),), 0.0, False)
    pair = typed_pair("p", words, words, longest=n)
    rewards = TokenRewards(pair, side, side, ModelSpec("m", "", ""), Traits("", ""), "left")
    assert ('class="pair tokens code"' in tokens_html(rewards, "k", subset)) == is_code


def test_hostile_text_stays_text(tokens: PairsTab, stores: Stores) -> None:
    table = small_table(row(prompt="p", chosen=HOSTILE, rejected="no"))
    stores.pairs._opened[table.id] = table
    *_, last = begun(stores.runs, "me", "demo", table, np.arange(1))
    assert last.run is not None
    *_, shown = tokens.show_tokens(page_of(tokens, last.run, "mine:0"))
    html, *_ = shown.values()
    assert "<script>" not in html
    assert texts_of(html)[0].strip() == HOSTILE


def test_they_are_offered_for_runs_of_a_classifier_alone(
    tokens: PairsTab, run: Run, stores: Stores, demo: PairTable
) -> None:
    *_, last = begun(stores.runs, "me", "longer", demo, np.arange(4))
    assert last.run is not None
    for each, offered in ((run, True), (last.run, False)):
        page = page_of(tokens, each, demo.key_of(0))
        model = page.seen(PairsState).model
        assert has_tokens(tokens.scenes.fields.of(model, *page.where), model) is offered
    with pytest.raises(gr.Error, match="need the model itself"):
        list(tokens.show_tokens(page))


@pytest.mark.parametrize("key", ["gone:1", "", "\ud800"])
def test_a_pair_that_is_not_there_is_refused(key: str, tokens: PairsTab, run: Run) -> None:
    with pytest.raises(gr.Error, match="choose a run of your own"):
        list(tokens.show_tokens(page_of(tokens, run, key)))


def test_while_a_run_is_under_way_one_waits(
    tokens: PairsTab, run: Run, stores: Stores, demo: PairTable
) -> None:
    page = page_of(tokens, run, run.rows()[0].key)
    stream = begun(stores.runs, "she", "demo", demo, np.arange(40))
    next(each for each in stream if each.stage == "running")
    waiting = tokens.show_tokens(page)
    words, *_ = next(waiting).values()
    assert "1 ahead of you in the queue" in words
    stream.close()
    *_, shown = waiting
    _, plot, *_ = shown.values()
    assert plot["visible"] is True
