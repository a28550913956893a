"""A run beside what is published of its model, as it is shown."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.reader.state import PairsState
from explorer.results.field import Field
from explorer.results.own import Match
from explorer.tabs.score.published_check import RunCheck, check_pairs, published_html
from scoring.benchmark import COUNTS, SECTIONS
from scoring.record import Run, new_folder
from scoring.results.reproduction import NOT_KNOWN, BoardSettings, check_sections
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair
from tests.support.board_data import matrix_of
from tests.support.html_reading import HtmlReading
from tests.support.tables import benchmark_table

TAGS = {"section", "h2", "p", "span", "div", "table", "thead", "tbody", "tr", "th", "td", "a",
        "details", "summary", "ul", "li"}  # fmt: skip
HOSTILE = "org/<script>rm</script>"
FACTS = RunFacts(HOSTILE, "0f0f0f0f0f0f0f0f", "classifier", "cpu", "float32", 4096, "left",
                 "own:1", "", 4, 0)  # fmt: skip
SUBSETS = ["hep-go", "hep-go", "mt-bench-hard", "mt-bench-hard", "donotanswer"]


def run_of(home: Path, margins: list[float], facts: RunFacts = FACTS) -> Run:
    keys = [f"{subset}:{at}" for at, subset in enumerate(SUBSETS)]
    run = Run.create(new_folder(home), facts, Plan((tuple(range(len(keys))),)), keys)
    rows = tuple(
        ScoredPair(key, key.partition(":")[0], "", margin, 0.0, 5, 5)
        for key, margin in zip(keys, margins, strict=True)
    )
    list(run.record([ScoredPack(0, rows, 1)]))
    return run.mark_ended("finished")


def checked(home: Path, mine: list[float], theirs: list[float], board: BoardSettings) -> RunCheck:
    run = run_of(home, [2 * each - 1 for each in mine])
    matrix = matrix_of({"mine": mine, HOSTILE: theirs}, SUBSETS)
    field = Field(benchmark_table(), matrix, {"mine": run}, ("x",), own=frozenset(["mine"]))
    return RunCheck(run, "mine", Match(HOSTILE, ()), check_pairs(field, "mine", HOSTILE, board))


def read(html: str) -> str:
    assert "<script" not in html
    return HtmlReading(html, TAGS).words


def test_both_numbers_their_difference_and_what_changed_are_shown(tmp_path: Path) -> None:
    html = published_html(checked(tmp_path, [1, 0, 1, 1, 0], [1, 1, 1, 0, 1], NOT_KNOWN))
    words = read(html)
    said = ("3 of 5 pairs changed: 1 won here only, 2 won there only", "Won there only (2)")
    for each in (
        *said,
        "This run",
        "Published",
        "p, corrected",
        "the same 5 pairs",
        "0f0f0f0f0f0f",
    ):
        assert each in words
    links = re.findall(r'href="\?tab=pairs&amp;([^"]*)"', html)
    states = [PairsState.parse(each.replace("&amp;", "&"))[0] for each in links]
    assert {(state.model, state.against) for state in states} == {("mine", HOSTILE)}
    assert {state.cell for state in states} == {"only_a", "only_b"}
    assert html.count("?tab=models&amp;panel=compare&amp;a=mine&amp;b=") == 1


@pytest.mark.parametrize(
    ("mine", "board", "words"),
    [
        ([1, 1, 1, 0, 1], NOT_KNOWN, "No pair changed"),
        ([0, 1, 1, 0, 1], NOT_KNOWN, "at most 1 point"),
        (
            [0, 0, 0, 1, 0],
            NOT_KNOWN,
            "Unknown settings: chat template, batch size, 8-bit weights (as configured).",
        ),
        (
            [0, 0, 0, 1, 0],
            BoardSettings("", 512, "float32", "", quantized=False, batch=1),
            "Not explained",
        ),
    ],
)
def test_the_verdict_is_one_sentence(
    tmp_path: Path, mine: list[float], board: BoardSettings, words: str
) -> None:
    html = published_html(checked(tmp_path, mine, [1, 1, 1, 0, 1], board))
    [verdict] = re.findall(r'<p class="verdict">(.*?)</p>', html, re.DOTALL)
    assert words in " ".join(HtmlReading(verdict, TAGS).words.split())


def test_settings_that_differ_are_named(tmp_path: Path) -> None:
    found = checked(tmp_path, [0, 0, 0, 1, 0], [1, 1, 1, 0, 1], NOT_KNOWN)
    assert found.check
    board = BoardSettings("tulu", 2048, "float16", "", quantized=True)
    facts = replace(FACTS, template="basic:1")
    rows = [ScoredPair(f"{each}:{at}", each, "", 1.0, 0.0, 9, 9)
            for each in SECTIONS["Chat"] for at in range(COUNTS[each])]  # fmt: skip
    check = check_sections(facts, rows, HOSTILE, {"Chat": 0.9}, board)
    words = read(published_html(replace(found, check=check)))
    assert (
        "Settings that may explain it differ: chat template, 8-bit weights (as configured)."
        in words
    )
    for each in ("basic", "tulu", "float16", "differs", "only section scores are published"):
        assert each in words


def test_where_nothing_is_published_it_is_said_and_nothing_is_guessed(tmp_path: Path) -> None:
    run = run_of(tmp_path, [1.0] * 5)
    words = read(published_html(RunCheck(run, "", Match("", ("other/<i>rm",)), None)))
    assert "No published results for “org/<script>rm" in words
    assert "Possibly the same model: other/<i>rm." in " ".join(words.split())
    assert "Possibly" not in read(published_html(RunCheck(run, "", Match("", ()), None)))
