"""The Failures tab: the pairs that a run did not win, with the very texts that were scored."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.reading import Reading
from explorer.runs import failures
from explorer.sources import read_demo
from explorer.stores import Stores
from explorer.table import PairTable
from explorer.ui.failures import Failures
from scoring.record import Run
from tests.explorer.tables import row, small_table
from tests.ui.browsing import act, library_of


@pytest.fixture(scope="module")
def run(stores: Stores, demo: PairTable) -> Run:
    """A run of the demo model on some demo pairs."""
    *_, last = stores.runs.start("me", "demo", demo, np.arange(0, 188, 3), "every third")
    assert last.run is not None and last.stage == "finished"
    return last.run


@pytest.fixture
def tab(stores: Stores) -> Failures:
    return Failures(stores.pairs, stores.runs)


def keys(run: Run) -> list[str]:
    return [pair.key for pair in failures(run.rows())]


NAMES = ("reading", "summary", "facts", "pairs", "reader_bar", "pair")


def named(values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(NAMES, values, strict=True))


def test_the_worst_pair_is_open_at_first(tab: Failures, run: Run) -> None:
    shown = named(tab.show([], run.id, Reading()))
    assert len(keys(run)) > 5
    assert shown["reading"].key == keys(run)[0]
    assert (
        f'data-key="{keys(run)[0]}"' in shown["pair"] and "text is not at hand" not in shown["pair"]
    )
    listed = re.findall(r'scope="row"[^>]*><button[^>]*>(.+?)</button>', shown["pairs"])
    assert listed == keys(run)[:25]
    assert f"{len(keys(run))} of {len(run.rows())} pairs not won" in shown["summary"]
    margins = re.findall(r'data-label="margin">(.+?)</td>', shown["pairs"])
    numbers = [float(margin.replace("−", "-")) for margin in margins]
    assert numbers == sorted(numbers)


def test_an_act_goes_on_from_the_open_pair(tab: Failures, run: Run) -> None:
    reading = named(tab.show([], run.id, Reading()))["reading"]
    for place in (1, 2):
        shown = named(tab.act(act("step", value=1), [], run.id, reading))
        reading = shown["reading"]
        assert reading.key == keys(run)[place]
        assert f"{place + 1} of {len(keys(run))}" in shown["reader_bar"]


def test_a_run_chosen_anew_keeps_the_open_pair_if_it_has_it(tab: Failures, run: Run) -> None:
    shown = named(tab.show([], run.id, Reading(keys(run)[3])))
    assert shown["reading"].key == keys(run)[3]
    assert named(tab.show([], run.id, Reading("gone:1", page=9)))["reading"].key == keys(run)[0]


TIED = row(prompt="Say it.", chosen="the same", rejected="the same")


def test_texts_come_from_the_table_that_was_scored(stores: Stores, run: Run) -> None:
    uploaded = small_table(TIED)
    *_, last = stores.runs.start("me", "demo", uploaded, np.arange(1), "all")
    assert last.run is not None
    run_id = last.run.id

    def pair_on(*tables: PairTable) -> str:
        tab = Failures(library_of(*tables), stores.runs)
        return str(named(tab.show([], run_id, Reading()))["pair"])

    assert "the same" in pair_on(read_demo(), uploaded)
    other = PairTable(replace(uploaded.pairs, source=replace(uploaded.source, revision="1" * 12)))
    assert "text of this pair is not at hand" in pair_on(read_demo(), other)


def test_without_a_run_it_says_so(tab: Failures) -> None:
    shown = named(tab.show([], None, Reading()))
    assert "No run yet" in shown["summary"]
    assert shown["pairs"] == shown["reader_bar"] == shown["facts"] == ""


@pytest.mark.parametrize(
    "run_id", ["", "no-such-run", "../runs", 5, ["x"], "x" * 10**5, "\ud800", "a\0b"]
)
def test_a_run_that_there_is_not_is_refused(run_id: object, tab: Failures) -> None:
    with pytest.raises(gr.Error, match="no such run"):
        tab.show([], run_id, Reading())
    with pytest.raises(gr.Error, match="no such run"):
        tab.act(act("step", value=1), [], run_id, Reading())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("open", "gone:1"),
        ("open", None),
        ("step", "x"),
        ("turn", 1e300),
        ("diff", "<b>"),
        ("fly", 1),
    ],
)
def test_an_act_that_is_none_is_refused(name: str, value: object, tab: Failures, run: Run) -> None:
    with pytest.raises(gr.Error) as refused:
        tab.act(act(name, value=value), [], run.id, Reading())
    assert "of ours" not in refused.value.message


def test_the_run_that_was_scored_last_is_chosen_once(
    tab: Failures, run: Run, stores: Stores, demo: PairTable
) -> None:
    *_, newer = stores.runs.start("me", "demo", demo, np.arange(2), "two")
    assert newer.run is not None
    newest = newer.run.id

    def chosen(scored: object, present: object, seen: object) -> object:
        update, now = tab.choices([], scored, present, seen)
        assert now == scored
        return update["value"]

    assert chosen(newest, run.id, None) == newest
    assert chosen(newest, run.id, newest) == run.id
    assert chosen("gone", None, None) == chosen(None, "gone", None) == newest
    update, _ = tab.choices([], None, None, None)
    (name, value), *_ = update["choices"]
    assert value == newest and "2 of 2 pairs" in name and "two" in name and "finished" in name
