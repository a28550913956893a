"""The report of a run, as a table and as an object."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from scoring.benchmark import COUNTS
from scoring.command.report import as_table, report_json
from scoring.record import Run
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair
from tests.support.run_facts import MADE_UP

FACTS = replace(
    MADE_UP, revision="0123456789abcdef", selection="all pairs", reading="its one label"
)
WIN, LOSS, TIE, MISSING = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (None, 0.0)
Rewards = tuple[float | None, float | None]
REPORT = """\
                                    pairs accuracy  95 % interval
Chat                                    1   100.0%   18.8% to 100.0%
  mt-bench-easy                         1   100.0%   18.8% to 100.0%
Reasoning                               5     9.5%    0.6% to 64.2%
  math-prm                              2     0.0%    0.0% to 65.8%
  hep-js                                3    66.7%   19.3% to 94.4%
an-own                                  0     none
own                                     2    50.0%    8.2% to 91.8%
all pairs, unweighted                   8    50.0%   20.9% to 79.1%
mean of the sections present                 54.8%   15.1% to 89.2%

org/model 0123456789ab (classifier: its one label) on mine@123, all pairs
; cpu, float32, at most 4,096 tokens, template own:123
0.0 s, 1,234 tokens computed
sections weigh their subsets as the benchmark does; intervals take pairs of one prompt together
2 ties count as not won, here and in the result files
1 pair has no reward: not counted above, and not won in the result files
2 pairs were cut to 4,096 tokens
1 pack was computed in parts for lack of memory
wrote a.json
would send b.json"""
"""Of all that may be odd about a run."""


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


def test_the_table_has_sections_other_subsets_and_what_is_odd(tmp_path: Path) -> None:
    scored = [
        *rows("own", WIN, TIE),
        *rows("hep-js", WIN, LOSS, WIN, cut=2),
        *rows("math-prm", LOSS, TIE),
        *rows("mt-bench-easy", WIN),
        *rows("an-own", MISSING),
    ]
    run = run_of(tmp_path, scored, parts=2)
    told = as_table(run, [Path("a.json")], ["b.json"], dry_run=True)
    told = re.sub(r"^[\d.]+ s,", "0.0 s,", told, flags=re.M)
    assert [line.rstrip() for line in told.split("\n")] == REPORT.split("\n")


def test_the_whole_benchmark_has_the_score_by_name(tmp_path: Path) -> None:
    """And nothing is remarked where nothing is odd."""
    scored = [row for subset, n in COUNTS.items() for row in rows(subset, *[WIN] * n)]
    told = as_table(run_of(tmp_path, scored), [], [], dry_run=False)
    assert re.search(r"^RewardBench score +100\.0% +\d+\.\d% to 100\.0%$", told, re.M)
    assert re.search(r"^all pairs, unweighted +2,985 +100\.0%", told, re.M)
    assert told.endswith("intervals take pairs of one prompt together")
    short = run_of(tmp_path / "short", scored[1:])
    assert "RewardBench score" not in as_table(short, [], [], dry_run=False)


def test_rm_bench_is_reported_as_its_authors_print_it(tmp_path: Path) -> None:
    domains = ("chat", "code", "math", "safety-refuse", "safety-response")
    longer = (1.0, 2.0, 3.0, 1.5, 2.5, 3.5)  # the longer the higher: only easy is won
    several: Any = {"rewards": longer, "n_chosen": 3, "rule": "rm_bench"}
    pairs = [replace(each, **several) for name in domains for each in rows(name, (3.0, 3.5))]
    run = run_of(tmp_path, pairs, facts=replace(FACTS, benchmark="rm-bench"))
    table = as_table(run, [], [], dry_run=False).partition("\n\n")[0]
    styles = ["  hard", "  normal", "  easy"]
    assert [line[:34].rstrip() for line in table.splitlines()[1:]] == [
        *(name for domain in domains[:3] for name in (domain, *styles)),
        *("safety", *styles, "  safety-refuse", "  safety-response"),
        "all rows, unweighted",
        *("mean of all sections", *styles),
    ]
    said = json.loads(json.dumps(report_json(run, [], [])))
    means = {name: part["mean"] for name, part in said["score_parts"].items()}
    assert means == {"hard": 0.0, "normal": 0.0, "easy": 1.0}
    assert [*said["section_parts"]] == ["chat", "code", "math", "safety"]
