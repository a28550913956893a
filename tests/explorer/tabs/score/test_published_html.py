"""A run beside what is published of its model, as it is shown."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.results.field import Field
from explorer.results.own import Match
from explorer.tabs.score.published_check import RunCheck, check_pairs, published_html
from scoring.benchmark import COUNTS, SECTIONS
from scoring.record import Run, new_folder
from scoring.results.reproduction import NOT_KNOWN, BoardSettings, check_sections
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair
from tests.golden.reading import Outline
from tests.support.board_data import matrix_of
from tests.support.golden_files import check_golden
from tests.support.tables import benchmark_table

FILES = Path(__file__).parent / "checks"
HOSTILE = "org/<script>rm</script>"
FACTS = RunFacts(HOSTILE, "0f0f0f0f0f0f0f0f", "classifier", "cpu", "float32", 4096, "left",
                 "own:1", "", 4, 0)  # fmt: skip
SUBSETS = ["hep-go", "hep-go", "mt-bench-hard", "mt-bench-hard", "donotanswer"]
KNOWN = BoardSettings("", 512, "float32", "", quantized=False, batch=1)
OTHER = BoardSettings("tulu", 2048, "float16", "", quantized=True)


def run_of(home: Path, outcomes: Sequence[float]) -> Run:
    keys = [f"{subset}:{at}" for at, subset in enumerate(SUBSETS)]
    run = Run.create(new_folder(home), FACTS, Plan((tuple(range(len(keys))),)), keys)
    rows = tuple(
        ScoredPair(key, key.partition(":")[0], "", 2 * won - 1, 0.0, 5, 5)
        for key, won in zip(keys, outcomes, strict=True)
    )
    list(run.record([ScoredPack(0, rows, 1)]))
    return run.mark_ended("finished")


def checked(home: Path, mine: Sequence[float], board: BoardSettings) -> RunCheck:
    """A run with these outcomes, beside a model that wins all but the fourth pair."""
    run = run_of(home, mine)
    matrix = matrix_of({"mine": mine, HOSTILE: [1, 1, 1, 0, 1]}, SUBSETS)
    field = Field(benchmark_table(), matrix, {"mine": run}, ("x",), own=frozenset(["mine"]))
    return RunCheck(run, "mine", Match(HOSTILE, ()), check_pairs(field, "mine", HOSTILE, board))


def with_settings(home: Path) -> RunCheck:
    """Of which only sections are published, with settings that differ."""
    rows = [ScoredPair(f"{each}:{at}", each, "", 1.0, 0.0, 9, 9)
            for each in SECTIONS["Chat"] for at in range(COUNTS[each])]  # fmt: skip
    facts = replace(FACTS, template="basic:1")
    check = check_sections(facts, rows, HOSTILE, {"Chat": 0.9}, OTHER)
    return replace(checked(home, [0, 0, 0, 1, 0], NOT_KNOWN), check=check)


CHECKS: dict[str, Callable[[Path], RunCheck]] = {
    "some pairs changed": lambda home: checked(home, [1, 0, 1, 1, 0], NOT_KNOWN),
    "no pair changed": lambda home: checked(home, [1, 1, 1, 0, 1], NOT_KNOWN),
    "few pairs changed": lambda home: checked(home, [0, 1, 1, 0, 1], NOT_KNOWN),
    "settings that are not known": lambda home: checked(home, [0, 0, 0, 1, 0], NOT_KNOWN),
    "the same settings": lambda home: checked(home, [0, 0, 0, 1, 0], KNOWN),
    "settings that differ": with_settings,
    "a similar name": lambda home: RunCheck(
        run_of(home, [1] * 5), "", Match("", ("other/<i>rm",)), None
    ),
    "nothing published": lambda home: RunCheck(run_of(home, [1] * 5), "", Match("", ()), None),
}
"""What is compared -> the check of a run in a folder."""


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_says_what_changed_and_what_may_explain_it(name: str, tmp_path: Path) -> None:
    read = Outline(published_html(CHECKS[name](tmp_path)))
    text = "\n".join([*read.lines, "", "## Links", *read.links, ""])
    check_golden(FILES / f"{name.replace(' ', '-')}.txt", text)
