"""What a run shows while it goes on: bars, margins, the clearest failures, and how much that is."""

import json
import re
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from explorer.core.html import part, percent
from explorer.core.settings import Settings
from explorer.reader.session import Session
from explorer.reader.state import PairsState
from explorer.results.own import own_name
from explorer.runs.live import LiveRun
from explorer.runs.progress import Progress
from explorer.runs.sections import run_intervals, sections_now
from explorer.stats.margins import MarginHistogram, margin_histogram
from explorer.tabs.score.run_view import (
    WORST_SUBSETS,
    run_shown,
    sections_html,
    sure_words,
    worst_html,
)
from explorer.tabs.score.state import ScoreState
from explorer.tabs.score.view import ReportParts, build_score
from scoring.benchmark import COUNTS, SUBSETS
from scoring.engine.packing import random_order
from scoring.interval import Interval
from scoring.record import Run
from scoring.spec import RunFacts, ScoredPair
from scoring.summary import summarise
from scoring.sure import SureInterval, SureRule, Watch
from tests.explorer.filling import Filled, filled, laid_out
from tests.explorer.html_reading import HtmlReading

FACTS = RunFacts(
    "org/<b>rm</b>", "r", "classifier", "cpu", "float32", 10, "left", "own:0", "x", 9, 0
)
RUN = Run(Path("/nowhere/run"), FACTS, "running", 1.7e9)


written = partial(part, of="tabs/score/run.html")


def pairs(n: int, subset: str = "hep-go") -> list[ScoredPair]:
    """Margins of 1, -2, 3, -4 and so on."""
    return [
        ScoredPair(f"{subset}:{at}", subset, "", float((-1) ** at * (at + 1)), 0.0, 5, 5)
        for at in range(n)
    ]


def everything() -> list[ScoredPair]:
    """As many pairs as RewardBench has."""
    return [pair for each in SUBSETS for pair in pairs(COUNTS[each], each)]


@pytest.fixture(scope="module")
def report() -> ReportParts:
    return laid_out(build_score, Settings(home=Path("unused"))).report


def told_of(progress: Progress, model: str = "") -> LiveRun:
    """A run that is so far."""
    live = LiveRun("", model)
    live.progress = progress
    return live


def drawn(report: ReportParts, progress: Progress) -> Filled:
    return filled(report, run_shown(report, Session(), told_of(progress)))


def test_a_bar_has_its_whisker_where_it_belongs() -> None:
    html = written("bar", 0.5, Interval(0.25, 0.75))
    assert "width:50.0%" in html and "left:25.0%;width:50.0%" in html
    assert "<b" not in written("bar", 0.5, None) and "<i" not in written("bar", None, None)


def test_each_section_has_a_line() -> None:
    intervals = run_intervals(everything(), FACTS)
    html = written("bars", sections_now(summarise(everything(), "classifier"), intervals))
    read = HtmlReading(html, {"table", "tbody", "tr", "th", "td", "span", "i", "b"})
    for words in ("All pairs", "Chat", "Chat Hard", "Safety", "Reasoning", "2,985 pairs"):
        assert words in read.words
    assert html.count("weighted, ") == 4
    assert html.count('live-bar"') == 5


def test_a_row_of_the_result_leads_to_all_pairs_of_its_subset() -> None:
    scored = [*pairs(4), *pairs(2, "donotanswer")]
    html = sections_html(
        own_name(RUN), summarise(scored, "classifier"), run_intervals(scored, FACTS)
    )
    assert html.count("weighted mean") == 2  # of sections, not of their subsets
    linked = dict(re.findall(r'<a href="\?tab=pairs&amp;([^"]+)" data-go="">([^<]+)</a>', html))
    states = {words: PairsState.parse(unescape(query))[0] for query, words in linked.items()}
    assert [*states] == ["Safety", "donotanswer", "Reasoning", "hep-go"]
    for name, state in states.items():
        assert (state.model, state.kind) == (own_name(RUN), "all")
        [(facet, names)] = state.filters.picked
        assert names == (name,) and facet == ("section" if name[0].isupper() else "subset")


def test_margins_stand_left_and_right_of_the_line() -> None:
    chosen = np.array([3.0, 1.0, -2.0, 0.0, np.nan])
    html = written("margins", margin_histogram(chosen, np.zeros(5), bins=3))
    assert html.count('class="won"') == 2 and html.count('class="lost"') == 2
    assert "2 above 0, 2 not" in html
    assert "<span>−3.000</span>" in html and "<span>+3.000</span>" in html
    assert written("margins", MarginHistogram((), (), 0, 0, 0, 0.0, 0.0)) == ""


def test_the_last_bars_say_that_they_hold_all_that_lies_beyond() -> None:
    chosen = np.append(np.tile([1.0, -1.0], 200), [50.0, -50.0])
    html = written("margins", margin_histogram(chosen, np.zeros(402), bins=2))
    assert "<span>≤ −1.000</span>" in html and "<span>≥ +1.000</span>" in html
    assert "201 pairs with a margin of −0.500 or less" in html
    assert "201 pairs with a margin above +0.500" in html


def test_the_clearest_failures_lead_to_their_pairs() -> None:
    hostile = replace(pairs(1)[0], key="<i>&pair=x", chosen_reward=-99.0)
    html = worst_html(own_name(RUN), [*pairs(40), hostile])
    read = HtmlReading(html, {"div", "b", "ul", "li", "a", "bdi", "small"})
    assert html.count("<li>") == WORST_SUBSETS and "hep-go:39" in read.words
    assert html.index("&lt;i&gt;") < html.index("hep-go:39")
    query = html.split('href="?tab=pairs&amp;')[1].split('"')[0].replace("&amp;", "&")
    state = PairsState.parse(query)[0]
    assert (state.model, state.key) == (own_name(RUN), hostile.key)
    assert worst_html(own_name(RUN), pairs(1)) == ""


def test_an_update_is_small_whatever_the_run_has(report: ReportParts) -> None:
    for n in (1, 50, 2985):
        now = drawn(report, Progress("running", 2985, RUN, tuple(everything()[:n]), 10.0))
        assert len(json.dumps(now)) < 40_000


def test_the_newest_pair_comes_first_and_each_is_opened_by_its_row(report: ReportParts) -> None:
    found = drawn(report, Progress("running", 4, RUN, tuple(pairs(4)), 1.0)).rows
    rows = re.findall(r"<tr>(.*?)</tr>", found.split("<tbody>")[1], re.S)
    assert re.findall(r">([^<>\s]+)<", rows[0]) == ["hep-go:3", "lost", "−4.000", "−4.000", "0.000"]
    [link] = re.findall(r'href="\?tab=pairs&amp;([^"]*)"', rows[0])
    state = PairsState.parse(unescape(link))[0]
    assert (state.model, state.key, state.kind) == (own_name(RUN), "hep-go:3", "all")


def test_failures_are_listed_and_counted(report: ReportParts) -> None:
    for stage in ("running", "finished"):
        now = drawn(report, Progress(stage, 4, RUN, tuple(pairs(4)), 1.0))
        assert "Clearest failures" in now.margins
        assert "Inspect failures (2)" in now.cards


@pytest.mark.parametrize("each_of", [COUNTS, dict.fromkeys(SUBSETS, 3)])
def test_every_headline_score_has_its_interval(
    each_of: dict[str, int], report: ReportParts
) -> None:
    """The RewardBench score of a whole run, and the mean of sections of some pairs of each."""
    rows = tuple(pair for subset, n in each_of.items() for pair in pairs(n, subset))
    now = drawn(report, Progress("finished", len(rows), RUN, rows, 1.0))
    score = HtmlReading(now.cards, {"a", "h2", "div", "p", "span"}).of_class["card"][1]
    interval = run_intervals(rows, FACTS).score
    assert interval is not None
    assert ("not the RewardBench score" in score) == (each_of is not COUNTS)
    assert f"95 % interval {percent(interval.low)} to {percent(interval.high)}" in score


def test_hostile_names_are_shown_as_they_are(report: ReportParts) -> None:
    now = drawn(report, Progress("running", 4, RUN, tuple(pairs(4)), 1.0))
    for html in (now.cards, now.sections, now.margins, now.facts):
        assert "<b>rm" not in html


def test_of_packs_that_come_faster_than_they_are_drawn_the_end_is(report: ReportParts) -> None:
    rows = tuple(pairs(60))
    stream = [Progress("running", 60, RUN, rows[: n + 1], 1.0) for n in range(60)]
    stream += [Progress("finished", 60, RUN, rows, 1.0)]
    live = LiveRun("", "m")
    live.drive(lambda: (each for each in stream))
    found = filled(report, run_shown(report, Session(), live))
    assert "Finished" in found.status and found.ended == (RUN.id, live.id)


@pytest.mark.parametrize("run", [None, RUN])
def test_a_word_leaves_the_report_where_it_is(run: Run | None, report: ReportParts) -> None:
    session = Session()
    session.show(ScoreState(run_id="earlier"))
    failed = Progress("failed", 4, run, message="<b>no</b>")
    told = filled(report, run_shown(report, session, told_of(failed)))
    assert "&lt;b&gt;no" in told.status
    assert told.cards == told.margins == told.rows == {"__type__": "update"}
    assert session.seen(ScoreState).run_id == (run.id if run else "earlier")


def looked(done: int, width: float = 0.2) -> SureInterval:
    """After so many of 164 pairs, all won."""
    watch = Watch({f"hep-go:{at}": "hep-go" for at in range(164)}, 0, SureRule("score", width))
    keys = [f"hep-go:{place}" for place in random_order(164, 0)[:done]]
    return watch.add(ScoredPair(key, "hep-go", "", 1.0, 0.0, 1, 1) for key in keys)


def test_before_the_first_look_it_says_when_that_is() -> None:
    assert "first check after" in sure_words(looked(3), False)


@pytest.mark.parametrize("done", [110, 164])
def test_a_look_tells_what_is_wanted_and_of_what_it_speaks(done: int) -> None:
    words = sure_words(looked(done, 0.02), False)
    assert "of this selection: 100.0 %" in words and "target 2.0" in words
    assert ("Next check after" in words) is (done < 164)


def test_it_says_that_it_ended_because_it_is_sure() -> None:
    assert sure_words(looked(60), True).startswith("Sure enough. ")
    assert "Sure enough" not in sure_words(looked(60), False)
    assert "Sure enough" not in sure_words(looked(3), True)
