"""The report of a run: bars, margins, the clearest failures, and how much that is."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from markupsafe import escape

from explorer.core.html import in_percent, part
from explorer.data.table import PairTable
from explorer.reader.state import PairsState
from explorer.results.own import own_name
from explorer.runs.live import LiveRun
from explorer.runs.progress import Follow, Progress
from explorer.stats.margins import MarginHistogram, margin_histogram
from explorer.tabs.score.report import (
    WORST_PAIRS,
    Reported,
    numbers_html,
    progress_of,
    status_html,
    sure_words,
)
from scoring.benchmark import COUNTS, SUBSETS
from scoring.engine.packing import random_order
from scoring.interval import Interval
from scoring.record import Run
from scoring.spec import Family, RunFacts, ScoredPair
from scoring.summary import summarise_run
from scoring.sure import SequentialMonitor, SureInterval, SureRule
from tests.support.html_reading import HtmlReading

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


def words_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def styled(*rewards: Sequence[float], subsets: Sequence[str] = ("chat",)) -> str:
    """The report of a run of RM-Bench's rows, of each subset with these rewards, the three right
    styles' first.
    """
    facts = replace(FACTS, benchmark="rm-bench")
    rows = [
        ScoredPair(f"{subset}:{at}", subset, "", min(each[:3]), max(each[3:]), 5, 5,
                   rewards=(*each,), n_chosen=3, rule="rm_bench")
        for subset in subsets
        for at, each in enumerate(rewards)
    ]  # fmt: skip
    progress = Progress("finished", len(rows), replace(RUN, facts=facts), tuple(rows), 10.0)
    return numbers_html(Reported(progress, None, "mine", can_go_on=False))


def everything() -> list[ScoredPair]:
    """As many pairs as RewardBench has."""
    return [pair for each in SUBSETS for pair in pairs(COUNTS[each], each)]


def numbers_of(scored: Sequence[ScoredPair]) -> str:
    """The report of a run with these pairs."""
    progress = Progress("running", len(scored), RUN, tuple(scored), 10.0)
    return numbers_html(Reported(progress, None, own_name(RUN), can_go_on=False))


def status_of(progress: Progress, model: str = "", *, has_ended: bool = False) -> str:
    live = LiveRun("", model)
    live.progress = progress
    if has_ended:
        live.ended.set()
    return status_html(Reported(progress, live, "", can_go_on=False))


def test_a_band_and_its_point_stand_where_they_belong() -> None:
    html = written("band", Interval(0.25, 0.75), 0.5)
    assert "left:25.0%;width:50.0%" in html and '<b style="left:50.0%"' in " ".join(html.split())
    assert "<i" not in written("band", None, 0.5) and "<b" not in written("band", None)


def test_each_section_and_subset_has_a_line_with_its_band() -> None:
    table = numbers_of(everything()).partition('<table class="sections">')[2].split("</table>")[0]
    tags = set("table tbody thead tr th td span i b a".split())
    read = HtmlReading(f"<table>{table}</table>", tags)
    for words in ("Chat", "Chat Hard", "Safety", "Reasoning", *SUBSETS):
        assert words in read.words
    assert table.count('class="band"') == table.count("<tr") - 1 == 4 + len(SUBSETS)


def test_a_row_of_the_result_leads_to_all_pairs_of_its_subset() -> None:
    html = numbers_of([*pairs(4), *pairs(2, "donotanswer")])
    html = html.partition('<table class="sections">')[2].partition("</table>")[0]
    assert html.count("official weights") == 2  # of sections, not of their subsets
    linked = dict(re.findall(r'<a href="\?tab=pairs&amp;([^"]+)" data-go="">([^<]+)</a>', html))
    states = {words: PairsState.parse(unescape(query))[0] for query, words in linked.items()}
    assert [*states] == ["Safety", "donotanswer", "Reasoning", "hep-go"]
    for name, state in states.items():
        assert (state.model, state.kind) == (own_name(RUN), "all")
        [(facet, names)] = state.filters.picked
        assert names == (name,) and facet == ("section" if name[0].isupper() else "subset")


def test_margins_stand_left_and_right_of_the_line() -> None:
    chosen = np.array([3.0, 1.0, -2.0, 0.0, np.nan])
    html = written("margins", margin_histogram(chosen, np.zeros(5), bins=3), "")
    assert html.count('class="won"') == 2 and html.count('class="lost"') == 2
    assert "2 above 0, 2 not" in html
    assert "<span>−3.000</span>" in html and "<span>+3.000</span>" in html
    assert written("margins", MarginHistogram((), (), 0, 0, 0, 0.0, 0.0), "") == ""


def test_the_last_bars_say_that_they_hold_all_that_lies_beyond() -> None:
    chosen = np.append(np.tile([1.0, -1.0], 200), [50.0, -50.0])
    html = written("margins", margin_histogram(chosen, np.zeros(402), bins=2), "")
    assert "<span>≤ −1.000</span>" in html and "<span>≥ +1.000</span>" in html
    assert "201 pairs with a margin of −0.500 or less" in html
    assert "201 pairs with a margin above +0.500" in html


def test_the_clearest_failures_lead_to_their_pairs() -> None:
    hostile = replace(pairs(1)[0], key="<i>&pair=x", chosen_reward=-99.0)
    html = numbers_of([*pairs(40), hostile]).partition("live-worst")[2].partition("</ul>")[0]
    html = html.partition("<ul>")[2]
    assert html.count("<li>") == WORST_PAIRS and "hep-go:39" in html
    assert html.index("&lt;i&gt;") < html.index("hep-go:39")
    query = html.split('href="?tab=pairs&amp;')[1].split('"')[0].replace("&amp;", "&")
    state = PairsState.parse(query)[0]
    assert (state.model, state.key) == (own_name(RUN), hostile.key)
    assert "live-worst" not in numbers_of(pairs(1))


def test_the_board_that_a_report_leads_to_is_of_its_benchmark() -> None:
    links = [styled([2, 3, 4, 1, 1, 1]), numbers_of(pairs(4))]
    found = [re.findall(r'href="\?tab=models&amp;(board[^&]*|pin)', html) for html in links]
    assert found == [["board=rm-bench"], ["pin"]]


def test_a_report_of_rows_that_count_in_part_says_so_and_has_one_meaning_of_lost() -> None:
    """All nine comparisons are won; one hard one is lost; all are, some by a tie."""
    html = styled([3, 4, 5, 1, 1, 2], [1, 4, 5, 0, 0, 2], [0, 0, 0, 0, 0, 2])
    cards = words_of(html.partition('<div class="cards">')[2].partition("report-split")[0])
    assert "Failed 2 2 lost" in cards and "tied" not in cards
    assert (
        "Hard – 1 lost here only · needs code, math, safety" in cards
        and "Easy – 0 lost here only" in cards
    )
    assert "1 above 0, 2 not" in html and "Its margin is the lowest reward of a right style" in html
    assert "Mean of 3 rows, each of which counts the mean of hard, normal, easy" in html
    assert "won, of" not in html
    [only] = re.findall(r'href="\?tab=pairs&amp;([^"]*)" data-go="">1 lost here', html)
    state = PairsState.parse(unescape(only))[0]
    assert (state.model, state.kind) == ("mine", "only1")
    heads, row = re.findall(r"<tr.*?</tr>", html.partition("with-parts")[2], re.DOTALL)[:2]
    assert words_of(heads) == "Subset % Interval Hard Normal Easy Rows"
    assert words_of(row).startswith("chat 63.0 ") and words_of(row).endswith(" 55.6 66.7 66.7 3")


def test_each_subset_of_a_section_has_its_parts() -> None:
    html = styled([3, 4, 5, 1, 1, 2], [0, 0, 0, 0, 0, 2], subsets=["safety-refuse"])
    rows = re.findall(r"<tr.*?</tr>", html.partition("with-parts")[2], re.DOTALL)[1:]
    section, subset = (words_of(row).split(" ", 1) for row in rows)
    assert (section[0], subset[0]) == ("safety", "safety-refuse") and section[1] == subset[1]


def test_hard_normal_and_easy_lead_to_the_rows_that_are_lost_in_one_alone() -> None:
    domains = ["chat", "code", "math", "safety-refuse"]
    html = styled([3, 4, 5, 1, 1, 2], [1, 4, 5, 0, 0, 2], subsets=domains)
    cards = words_of(html.partition('<div class="cards">')[2].partition("report-split")[0])
    assert "Hard 83.3 % 52.7 to 95.7 · 4 lost here only Normal 100.0 %" in cards
    assert html.count("show=only") == 1 and "&amp;show=only1" in html


@pytest.mark.parametrize(
    ("rewards", "family", "said"),
    [
        ([(1, 0), (0, 1)], "classifier", "Pairs won, of 2. 95"),
        ([(1, 0), (1, 1)], "classifier", "Pairs won, of 2. 95"),
        ([(1, 0), (1, 1)], "judge", "Pairs won, of 2, and half of the ties. 95"),
        ([(1, 1, 0), (1, 0, 0)], "classifier", "Rows won, of 2, and what ties count. 95"),
    ],
)
def test_what_an_accuracy_counts_is_said(
    rewards: list[tuple[int, ...]], family: Family, said: str
) -> None:
    rows = [
        ScoredPair(f"s:{at}", "s", "", each[0], max(each[1:]), 5, 5, rewards=each * (len(each) > 2))
        for at, each in enumerate(rewards)
    ]
    run = replace(RUN, facts=replace(FACTS, family=family))
    progress = Progress("finished", len(rows), run, tuple(rows), 10.0)
    assert said in numbers_html(Reported(progress, None, "mine", can_go_on=False))


def test_a_report_names_its_benchmark() -> None:
    assert "org/&lt;b&gt;rm&lt;/b&gt; · RM-Bench · x" in styled([3, 4, 5, 1, 1, 2])


def test_a_report_is_small_whatever_the_run_has() -> None:
    for n in (1, 50, 2985):
        assert len(numbers_of(everything()[:n])) < 40_000


def test_failures_are_listed_and_counted_and_the_first_that_opens_is_not_hidden() -> None:
    html = numbers_of([*pairs(4), *pairs(40, "donotanswer")])
    assert "Worst failures" in html and "Inspect failures (22)" in html
    [link] = re.findall(r'inspect" href="\?tab=pairs&amp;([^"]*)"', html)
    assert PairsState.parse(unescape(link))[0].key == "hep-go:3"


def test_a_failure_shows_its_prompt_and_marks_one_that_is_hidden(demo: PairTable) -> None:
    keys = {subset: next(key for key in demo.keys if key.startswith(f"{subset}:"))
            for subset in ("hep-go", "donotanswer")}  # fmt: skip
    lost = tuple(replace(pairs(2, name)[1], key=key) for name, key in keys.items())
    progress = Progress("finished", 2, RUN, lost)
    html = numbers_html(Reported(progress, None, "mine", can_go_on=False), demo)
    prompts = dict(zip(demo.keys, demo.arrow.column("prompt").to_pylist(), strict=True))
    for at, key in enumerate(keys.values()):
        prompt = prompts[key]
        before = html.split(str(escape(str(prompt)[:20])))[0].rpartition("<li>")[2]
        assert ("may-harm" in before) is (at == 1)


@pytest.mark.parametrize("each_of", [COUNTS, dict.fromkeys(SUBSETS, 3)])
def test_every_headline_score_has_its_interval(each_of: dict[str, int]) -> None:
    """The RewardBench score of a whole run, and the mean of sections of some pairs of each."""
    rows = tuple(pair for subset, n in each_of.items() for pair in pairs(n, subset))
    cards = numbers_of(rows).partition('<div class="cards">')[2]
    score = re.findall(r'<div class="card"(.*?)</div></div>', cards, re.DOTALL)[1]
    interval = summarise_run(rows, FACTS).intervals.score
    assert interval is not None
    assert ("not the official score" in score) == (each_of is not COUNTS)
    ends = [in_percent(each, 1) for each in (interval.low, interval.high)]
    assert "95 % interval" in score and " to ".join(ends) in score


def test_hostile_names_are_shown_as_they_are() -> None:
    html = numbers_of(pairs(4))
    assert "<b>rm" not in html and "&lt;b&gt;rm" in html


def test_of_packs_that_come_fast_the_end_is_told() -> None:
    rows = tuple(pairs(60))
    stream = [Progress("running", 60, RUN, rows[: n + 1], 1.0) for n in range(60)]
    stream += [Progress("finished", 60, RUN, rows, 1.0)]
    live = LiveRun("", "m")

    def work(tell: Follow) -> None:
        for each in stream:
            tell(each)

    live.drive(work)
    assert progress_of(live).stage == "finished"


def test_a_message_is_text_and_a_run_without_pairs_has_no_report() -> None:
    failed = Progress("failed", 4, RUN, message="<b>no</b>")
    assert "&lt;b&gt;no" in status_of(failed)
    assert numbers_html(Reported(failed, None, "", can_go_on=False)) == ""


def test_a_run_that_is_to_stop_says_so_until_it_has() -> None:
    live = LiveRun("", "m")
    live.progress = Progress("running", 4, RUN, tuple(pairs(2)), 1.0)
    live.stop.set()
    seen = Reported(live.progress, live, "", can_go_on=True)
    assert "topping" in status_html(seen) and "Resume" not in status_html(seen)
    live.ended.set()
    stopped = replace(seen, progress=replace(live.progress, stage="stopped"))
    assert "Resume</button>" in status_html(stopped)
    assert f'data-value="{RUN.id}"' in status_html(stopped)


def looked(done: int, width: float = 0.2) -> SureInterval:
    """After so many of 164 pairs, all won."""
    watch = SequentialMonitor(
        {f"hep-go:{at}": "hep-go" for at in range(164)}, 0, SureRule("score", width)
    )
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
