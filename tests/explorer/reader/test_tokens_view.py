"""Token rewards of the open pair: whole texts, inert, and the reward that the run gave."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import unescape

import numpy as np
import pytest

from explorer.core.html import signed
from explorer.data.table import PairTable
from explorer.data.typed import typed_pair
from explorer.reader.tokens_view import has_tokens, pair_tokens, tokens_html
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from scoring.engine.scorer import Traits
from scoring.errors import KnownError
from scoring.probing.token_rewards import SideRewards, TokenReward, TokenRewards
from scoring.record import Run
from scoring.spec import ModelSpec
from tests.conftest import until
from tests.support.beginning import begun
from tests.support.tables import row, small_table

NOBODY = Visitor()
HOSTILE = '<script>alert(1)</script> & "quotes" 漢字 👍🏽'


@pytest.fixture(scope="module")
def run(stores: Stores, demo: PairTable) -> Run:
    *_, last = begun(stores.runs, "me", "demo", demo, np.arange(4))
    assert last.run is not None
    return last.run


def html_of(
    stores: Stores, run: Run, key: str, tell: Callable[[str], None] = lambda words: None
) -> str:
    """Has a pair of a run rewarded token by token."""
    model = stores.fields.name_of(run.id, None, None, NOBODY)
    field = stores.fields.of(model, None, run.facts.pairs, NOBODY)
    row = field.table.row_of(key)
    assert row is not None
    return pair_tokens(stores.runs, field, model, row, NOBODY, tell)


def texts_of(html: str) -> list[str]:
    """What the two shaded bodies say."""
    bodies = re.findall(r'<div class="body"[^>]*>(.*?)</div>', html, re.DOTALL)
    shaded = ["".join(re.findall(r"<span[^>]*>(.*?)</span>", body, re.DOTALL)) for body in bodies]
    return [unescape(each) for each in shaded]


def test_both_responses_are_there_whole_with_the_rewards_of_the_run(
    stores: Stores, run: Run, demo: PairTable
) -> None:
    pair = run.rows()[0]
    html = html_of(stores, run, pair.key)
    cells = demo.find(pair.key)
    assert cells is not None
    assert [each.strip() for each in texts_of(html)] == [
        cells[side].strip() for side in ("chosen", "rejected")
    ]
    rewards = re.findall(r'class="reward">([^<]*)<', html)
    assert rewards == [signed(pair.chosen_reward), signed(pair.rejected_reward)]
    assert "differs from the run" not in html
    assert "data-plot" in html


@pytest.mark.parametrize(
    ("subset", "words", "is_code"),
    [("hep-rust", "x", True), ("mine", "```\nx\n```", True), ("mine", "x", False)],
)
def test_code_is_set_as_code(subset: str, words: str, is_code: bool) -> None:
    side = SideRewards((TokenReward(words, True, 1.0),), 0.0, False)
    pair = typed_pair("p", words, words, longest=len(words))
    rewards = TokenRewards(pair, side, side, ModelSpec("m", "", ""), Traits("", ""))
    assert ('class="pair tokens code"' in tokens_html(rewards, "k", subset)) == is_code


def test_hostile_text_stays_text(stores: Stores) -> None:
    table = small_table(row(prompt="p", chosen=HOSTILE, rejected="no"))
    stores.pairs._opened[table.id] = table
    *_, last = begun(stores.runs, "me", "demo", table, np.arange(1))
    assert last.run is not None
    html = html_of(stores, last.run, "mine:0")
    assert "<script>" not in html
    assert texts_of(html)[0].strip() == HOSTILE


def test_they_are_offered_for_runs_of_a_classifier_alone(
    run: Run, stores: Stores, demo: PairTable
) -> None:
    *_, last = begun(stores.runs, "me", "longer", demo, np.arange(4))
    assert last.run is not None
    for each, offered in ((run, True), (last.run, False)):
        model = stores.fields.name_of(each.id, None, None, NOBODY)
        assert has_tokens(stores.fields.of(model, None, demo.id, NOBODY), model) is offered
    with pytest.raises(KnownError, match="choose a run of your own"):
        html_of(stores, last.run, demo.key_of(0))


def test_while_a_run_is_under_way_one_waits(run: Run, stores: Stores, demo: PairTable) -> None:
    stream = begun(stores.runs, "she", "demo", demo, np.arange(40))
    next(each for each in stream if each.stage == "running")
    with ThreadPoolExecutor(1) as pool:
        told: list[str] = []
        html = pool.submit(html_of, stores, run, run.rows()[0].key, told.append)
        until(lambda: bool(told))
        assert "1 ahead of you in the queue" in told[0]
        stream.close()
        assert "data-plot" in html.result()
