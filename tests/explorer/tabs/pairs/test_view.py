"""The Pairs tab as a view: whose outcomes are shown, what goes on by itself, files, margins."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.html import signed
from explorer.data.table import PairTable
from explorer.reader.links import failures_query
from explorer.reader.listing import harm_css
from explorer.reader.reading import PAGE_ROWS
from explorer.reader.state import PairsState
from explorer.runs.visitors import Visitor
from explorer.stats.margins import margin_histogram
from explorer.stores import Stores
from explorer.tabs.pairs.rewards import margins_figure
from explorer.tabs.pairs.view import PairsView
from scoring.errors import KnownError
from scoring.record import Run
from tests.conftest import until
from tests.support.beginning import begun
from tests.support.browsing import answered_of, links_in
from tests.support.published import STRANGER

NOBODY = Visitor()
pytestmark = pytest.mark.usefixtures("no_bug")


@pytest.fixture(scope="module")
def run(stores: Stores, demo: PairTable) -> Run:
    """A run of the demo model on some demo pairs."""
    *_, last = begun(stores.runs, "me", "demo", demo, np.arange(0, 188, 6), "every sixth")
    assert last.run is not None and last.stage == "finished"
    return last.run


@pytest.fixture
def model(stores: Stores, run: Run) -> str:
    """What that run is called among models."""
    return stores.fields.name_of(run.id, None, None, NOBODY)


def listed(html: str) -> list[str]:
    """The keys of a list."""
    body = html.partition("<tbody")[2].partition("</tbody>")[0]
    return [PairsState.parse(each)[0].key for each in links_in(body, "")]


def test_a_run_that_was_just_scored_opens_at_its_worst_pair_that_can_be_read(
    pairs_view: PairsView, run: Run, model: str
) -> None:
    lost = [pair for pair in run.rows() if pair.outcome == "loss"]
    keys = [pair.key for pair in sorted(lost, key=lambda pair: pair.margin or 0.0)]
    shown = answered_of(pairs_view, failures_query(model))
    assert len(keys) > 5 and listed(shown["main"]) == keys[:PAGE_ROWS]
    readable = [key for key in keys if not harm_css(key.rpartition(":")[0])]
    assert f'data-key="{readable[0]}"' in shown["pair"]
    worst = next(pair for pair in lost if pair.key == readable[0])
    assert f"{worst.chosen_tokens:,} tokens" in shown["pair"]


def test_beside_what_goes_on_all_that_shows_it_is_looked_at_again(
    stores: Stores, demo: PairTable, pairs_view: PairsView
) -> None:
    stream = begun(stores.runs, "me", "longer", demo, np.arange(40))
    going = next(each for each in stream if each.stage == "running" and each.run is not None)
    assert going.run is not None
    query = failures_query(stores.fields.name_of(going.run.id, None, None, NOBODY))
    shown = answered_of(pairs_view, query)
    assert all("data-refresh" in shown[each] for each in ("bar", "main", "head", "facts"))
    assert not any("data-refresh" in shown[each] for each in ("facets", "pair", "steps"))
    assert [*stream][-1].stage == "finished"
    assert "data-refresh" not in "".join(answered_of(pairs_view, query).values())


def test_token_rewards_are_shown_to_who_asked_for_them(
    pairs_view: PairsView, run: Run, model: str
) -> None:
    query = failures_query(model, PairsState(key=run.rows()[0].key))
    assert 'data-trigger="tokens"' in answered_of(pairs_view, query)["tokens"]
    pairs_view.show_tokens(query, NOBODY)
    html, pair = answered_of(pairs_view, query)["tokens"], run.rows()[0]
    rewards = re.findall(r'class="reward">([^<]*)<', html)
    assert rewards == [signed(pair.chosen_reward), signed(pair.rejected_reward)]
    assert "token-rewards" in html and "differs from the run" not in html
    other = failures_query(model, PairsState(key=run.rows()[1].key))
    assert "The largest" not in answered_of(pairs_view, other)["tokens"]
    with pytest.raises(KnownError, match="choose a run of your own"):
        pairs_view.show_tokens("", NOBODY)


def test_tokens_are_counted_when_that_is_asked_for_drawn_and_told_to_nobody_else(
    pairs_view: PairsView,
) -> None:
    asked = "panel=lengths&unit=tokens&tokenizer=demo&chart=prompt"
    shown = answered_of(pairs_view, asked)
    assert "counts need a" in shown["main"] and "data-plot" not in shown["main"]
    after = pairs_view.count(asked, NOBODY, {})
    until(lambda: "data-refresh" not in answered_of(pairs_view, after)["main"])
    shown = answered_of(pairs_view, after)
    assert "data-plot" in shown["main"] and "Counted by demo@" in shown["main"]
    assert shown.state.tokenizer.startswith("demo@")
    after = pairs_view.count("panel=lengths&unit=tokens&tokenizer=no/such", NOBODY, {})
    until(lambda: "data-refresh" not in answered_of(pairs_view, after)["main"])
    assert 'class="note wrong"' in answered_of(pairs_view, after)["main"]
    assert "wrong" not in answered_of(pairs_view, after, STRANGER)["main"]


def test_no_file_stays_on_the_disk(
    pairs_view: PairsView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    file = pairs_view.as_view().files["pairs.csv"]
    assert b"".join(file("", NOBODY, "").parts)
    file("", NOBODY, "")  # and nobody fetches it
    with pytest.raises(KnownError, match="no pair to export"):
        file("q=no+such+words", NOBODY, "")
    until(lambda: not [*tmp_path.iterdir()])


# Margins; charts of lengths are in golden texts of addresses


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
@example([0.0, 0.0])
@example([15625.0, 1e-13])
@example([1e30, -1e-30])
@example([5e-324, -5e-324])
def test_each_margin_is_counted_once_wins_right_of_the_zero_line_and_all_else_left(
    values: list[float],
) -> None:
    margins = np.array(values)
    figure = margins_figure(margin_histogram(margins, np.zeros_like(margins)))
    drawn = {each.get("meta", ""): each for each in json.loads(figure.to_json())["data"]}
    for side, sign in (("chosen", 1), ("rejected", -1)):
        trace = drawn[side]
        assert sum(trace["y"]) == sum((value > 0) is (sign > 0) for value in values)
        assert all(sign * x > 0 for x, y in zip(trace["x"], trace["y"], strict=True) if y)
