"""The report of a run, as a table and as an object."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scoring.benchmark import COUNTS
from scoring.command.report import as_table, report_json
from scoring.record import Run
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair
from scoring.summary import summarise
from tests.support.run_facts import MADE_UP

FACTS = replace(
    MADE_UP, revision="0123456789abcdef", selection="all pairs", reading="its one label"
)
WIN, LOSS, TIE, MISSING = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (None, 0.0)
Rewards = tuple[float | None, float | None]


def rows(subset: str, *rewards: Rewards, cut: int = 0) -> list[ScoredPair]:
    """Pairs of a subset, of which the first few are cut on one side."""
    return [
        ScoredPair(
            f"{subset}:{number}", subset, "0" * 16, *both, 10, 10, rejected_truncated=number < cut
        )
        for number, both in enumerate(rewards)
    ]


def run_of(folder: Path, scored: list[ScoredPair], parts: int = 1, facts: RunFacts = FACTS) -> Run:
    plan = Plan((tuple(range(len(scored))),))
    run = Run.create(folder / "run", facts, plan, [row.key for row in scored])
    list(run.record([ScoredPack(0, tuple(scored), 1234, parts)]))
    return run.mark_ended("finished")


def table(run: Run) -> list[str]:
    return as_table(run, [], [], dry_run=False).split("\n")


def cells(lines: list[str], name: str) -> list[str]:
    """What stands behind a name in the one line that begins with it."""
    (line,) = [line for line in lines if line.strip().startswith(name)]
    return line.strip().removeprefix(name).split()


def test_the_table_has_sections_their_subsets_and_the_others(tmp_path: Path) -> None:
    scored = [
        *rows("own", WIN, LOSS),
        *rows("hep-js", WIN, LOSS),
        *rows("math-prm", LOSS, LOSS),
        *rows("mt-bench-easy", WIN),
        *rows("an-own", WIN),
    ]
    lines = table(run_of(tmp_path, scored))
    names = [line[:34].strip() for line in lines[1 : lines.index("")]]
    assert names == [
        *("Chat", "mt-bench-easy", "Reasoning", "math-prm", "hep-js", "an-own", "own"),
        *("all pairs, unweighted", "mean of the sections present"),
    ]
    reasoning = 0.5 * 164 / (984 + 164)
    assert cells(lines, "hep-js") == cells(lines, "own")
    assert cells(lines, "Reasoning")[:2] == ["4", f"{reasoning:.1%}"]
    assert cells(lines, "all pairs, unweighted")[:2] == ["8", "50.0%"]
    low, high = summarise(scored, "classifier").intervals.score or (0.0, 0.0)
    sure = [f"{low:.1%}", "to", f"{high:.1%}"]
    assert cells(lines, "mean of the sections present") == [f"{(1 + reasoning) / 2:.1%}", *sure]
    assert any("intervals take pairs of one prompt together" in line for line in lines)


TIES = "2 ties count as not won, here and in the result files"
NONE = "2 pairs have no reward"
CUT = "2 pairs were cut to 4,096 tokens"
PARTS = "1 pack was computed in parts for lack of memory"


@pytest.mark.parametrize(
    ("scored", "parts", "shown", "said"),
    [
        (rows("own", WIN, TIE, TIE), 1, {"own": ["3", "33.3%"]}, TIES),
        (
            [*rows("own", WIN, LOSS, MISSING), *rows("none", MISSING)],
            *(1, {"own": ["2", "50.0%"], "none": ["0", "none"]}, NONE),
        ),
        (rows("own", WIN, LOSS, WIN, cut=2), 1, {}, CUT),
        (rows("own", WIN, LOSS), 2, {}, PARTS),
        (rows("own", WIN), 1, {"own": ["1", "100.0%"]}, ""),
    ],
    ids=["ties", "missing rewards", "cut texts", "packs in parts", "nothing"],
)
def test_what_is_odd_about_a_run_is_remarked_and_nothing_else(
    scored: list[ScoredPair], parts: int, shown: dict[str, list[str]], said: str, tmp_path: Path
) -> None:
    lines = table(run_of(tmp_path, scored, parts))
    assert {name: cells(lines, name)[:2] for name in shown} == shown
    remarks = [each for each in (TIES, NONE, CUT, PARTS) if any(each in line for line in lines)]
    assert remarks == ([said] if said else [])
    text = "\n".join(lines)
    assert "org/model 0123456789ab (classifier: its one label) on mine@123, all pairs" in text
    assert "1,234 tokens computed" in text


def test_the_whole_benchmark_has_the_score_by_name(tmp_path: Path) -> None:
    scored = [row for subset, n in COUNTS.items() for row in rows(subset, *[WIN] * n)]
    lines = table(run_of(tmp_path, scored))
    assert cells(lines, "RewardBench score")[::3] == ["100.0%", "100.0%"]
    assert cells(lines, "all pairs, unweighted")[0] == "2,985"
    short = run_of(tmp_path / "short", scored[1:])
    assert not any("RewardBench score" in line for line in table(short))


def test_rm_bench_is_reported_as_its_authors_print_it(tmp_path: Path) -> None:
    domains = ("chat", "code", "math", "safety-refuse", "safety-response")
    facts = replace(FACTS, benchmark="rm-bench")
    longer = (1.0, 2.0, 3.0, 1.5, 2.5, 3.5)  # the longer the higher: only easy is won
    several: Any = {"rewards": longer, "n_chosen": 3, "rule": "rm_bench"}
    pairs = [replace(each, **several) for name in domains for each in rows(name, (3.0, 3.5))]
    run = run_of(tmp_path, pairs, facts=facts)
    lines = table(run)
    names = [line[:34].rstrip() for line in lines[1 : lines.index("")]]
    styles = ["  hard", "  normal", "  easy"]
    assert names == [
        *(name for domain in domains[:3] for name in (domain, *styles)),
        *("safety", *styles, "  safety-refuse", "  safety-response"),
        "all rows, unweighted",
        *("mean of all sections", *styles),
    ]
    said = json.loads(json.dumps(report_json(run, [], [])))
    means = {name: part["mean"] for name, part in said["score_parts"].items()}
    assert means == {"hard": 0.0, "normal": 0.0, "easy": 1.0}
    assert [*said["section_parts"]] == ["chat", "code", "math", "safety"]
