"""Token rewards of the open pair: whole texts, inert, and the reward that the run gave."""

import re
from collections.abc import Callable
from html import unescape

import numpy as np
import pytest

from explorer.core.html import signed
from explorer.data.table import PairTable
from explorer.reader.tokens_view import has_tokens, pair_tokens
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from scoring.errors import KnownError
from scoring.record import Run
from tests.support.beginning import begun

NOBODY = Visitor()


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
    row = demo.row_of(pair.key)
    assert row is not None
    cells = demo.cells(row)
    assert [each.strip() for each in texts_of(html)] == [
        cells[side].strip() for side in ("chosen", "rejected")
    ]
    rewards = re.findall(r'class="reward">([^<]*)<', html)
    assert rewards == [signed(pair.chosen_reward), signed(pair.rejected_reward)]
    assert "differs from the run" not in html
    assert "data-plot" in html


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
