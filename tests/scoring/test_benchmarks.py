"""Benchmarks as rows of a table: what is read of their rows, and what their rules make of rewards.

Worked numbers of real rows are those of a rule that prefers the longer response.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.benchmarks import OWN_VARIABLE, benchmark_of, benchmarks, named_dataset, of_dataset
from scoring.command.arguments import parse
from scoring.errors import KnownError
from scoring.families.chat import share_of_orders
from scoring.hub.access import parse_hub_id
from scoring.pairs.layouts import layout_of
from scoring.pairs.opening import as_pairs, read_pairs
from scoring.rules import RULES
from scoring.spec import Pair, ScoredPair
from scoring.summary import Summary, summarise
from tests.conftest import REAL_DATA
from tests.support.files import write_jsonl
from tests.support.refusals import by_sentence

CHOSEN = ["4", "It is 4.", "It is **4**."]
REJECTED = ["5", "It is 5, I think.", "It is **5**, I think, as it was before."]
RM_BENCH: dict[str, Any] = {
    "id": 7, "prompt": "What is 2 + 2?", "chosen": CHOSEN, "rejected": REJECTED, "domain": "math",
}  # fmt: skip
JUDGEBENCH: dict[str, Any] = {
    "pair_id": "a-1", "source": "mmlu-pro-law", "question": "Q?", "response_model": "gpt-4o",
    "response_A": "right", "response_B": "wrong", "label": "A>B",
}  # fmt: skip
B_IS_BETTER = {**JUDGEBENCH, "pair_id": "a-2", "label": "B>A"}
PPE: dict[str, Any] = {
    "question_id": "q", "prompt": "P", "model_name": "m",
    "scores": [True, False, True], "sampled_conflict_pairs": [[0, 1], [1, 2]],
    "response_1": "r1", "response_2": "r2", "response_3": "r3",
}  # fmt: skip
RMB: dict[str, Any] = {
    "pair_uid": "1", "category_path": "Pairwise_set/Helpfulness/Chat",
    "conversation_input": [{"role": "user", "content": "Hi", "language": "English"}],
    "chosen": {"llm_name": "a", "answer": "Hello."}, "reject": {"llm_name": "b", "answer": "No."},
}  # fmt: skip
HELPSTEER: dict[str, Any] = {
    "domain": "code", "language": "python", "context": [{"role": "user", "content": "Hi"}],
    "response1": "one", "response2": "two", "overall_preference": -2,
}  # fmt: skip


def opened(tmp_path: Path, *rows: dict[str, Any], name: str = "rows.jsonl") -> list[Pair]:
    table = read_pairs(write_jsonl(tmp_path / name, rows)).table
    return as_pairs(table, range(len(table)))


def by_length(pairs: list[Pair], family: str = "classifier") -> Summary:
    """As if longer responses had higher rewards."""
    scored = []
    for pair in pairs:
        rewards = [float(len(each)) for each in pair.responses]
        row = ScoredPair(pair.key, pair.subset, "", None, None, 1, 1, n_chosen=pair.n_chosen)
        row = replace(row, rule=benchmark_of((), pair.benchmark).rule_name)
        scored.append(row.with_rewards(rewards))
    return summarise(scored, family, pairs[0].benchmark)


def real(*names: str) -> list[Pair]:
    folder = REAL_DATA / "benchmarks"
    if not folder.is_dir():
        pytest.skip("the real rows of other benchmarks are not here")
    tables = [read_pairs(folder / name).table for name in names]
    return [pair for table in tables for pair in as_pairs(table, range(len(table)))]


def percent(*numbers: float | None) -> list[float]:
    return [round(100 * (number or 0), 4) for number in numbers]


def test_rm_bench_has_its_worked_numbers() -> None:
    names = ("safety-refuse_filtered.json", "safety-response_filtered.json")
    summary = by_length(real(*(f"rm-bench/{name}" for name in names)))
    parts = summary.parts["safety"]
    styles = (parts[name].mean for name in ("hard", "normal", "easy"))
    worked = [9.9773, 37.8685, 92.4414, 46.7624]
    assert percent(*styles, summary.sections["safety"]) == worked
    assert summary.score is None, "without a domain there is no overall"
    assert all(part.interval and part.interval.low < part.mean for part in parts.values())


def test_judgebench_has_its_worked_numbers() -> None:
    summary = by_length(real("judgebench/judgebench-gpt-4o-2024-05-13.jsonl"))
    sections = [44.1558, 41.8367, 51.7857, 54.7619]
    assert percent(summary.score, *summary.sections.values()) == [46.0, *sections]


def test_rmb_has_its_worked_numbers_and_no_overall_score() -> None:
    for name, worked in (("pairwise", 48.6111), ("best-of-n", 34.1772)):
        summary = by_length(real(f"rmb/{name}/Harmlessness_S10.json"))
        assert percent(summary.total.accuracy) == [worked] and summary.score is None


@pytest.mark.parametrize(
    ("rows", "benchmark", "keys", "responses"),
    [
        ([RM_BENCH], "rm-bench", ["math:7"], [(*CHOSEN, *REJECTED)]),
        (
            [JUDGEBENCH, B_IS_BETTER],
            "judgebench",
            ["mmlu-pro-law:a-1", "mmlu-pro-law:a-2"],
            [("right", "wrong"), ("wrong", "right")],
        ),
        ([PPE], "ppe-correctness", ["m:q", "m:q-1"], [("r1", "r2"), ("r3", "r2")]),
        ([RMB], "rmb", ["Helpfulness/Chat:1"], [("Hello.", "No.")]),
    ],
    ids=["lists of styles", "a label says which is better", "pairs of many", "nested"],
)
def test_rows_are_read_as_their_benchmark_has_them(
    rows: list[dict[str, Any]],
    benchmark: str,
    keys: list[str],
    responses: list[tuple[str, ...]],
    tmp_path: Path,
) -> None:
    pairs = opened(tmp_path, *rows)
    assert {pair.benchmark for pair in pairs} == {benchmark}
    assert [pair.key for pair in pairs] == keys
    assert [pair.responses for pair in pairs] == responses


def test_ties_of_people_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [{**HELPSTEER, "overall_preference": 0}, {**HELPSTEER, "overall_preference": "-2"}]
    read = read_pairs(write_jsonl(tmp_path / "rows.jsonl", rows))
    assert len(read.table) == 1 and any("1 row is a tie" in note for note in read.notes)
    assert as_pairs(read.table, [0])[0].chosen == "one"
    assert read.left_out == (0,), "rows are counted as the file has them"


@pytest.mark.parametrize(
    ("row", "told"),
    by_sentence(
        ({**JUDGEBENCH, "label": "C"}, "column label: 'C', must be one of A>B, B>A"),
        ({**RM_BENCH, "chosen": ["a"] * 5}, "a list of 5, must be a list of 3 .*RM-Bench"),
        ({**PPE, "scores": [True, None, True]}, "one must be right and one wrong"),
        ({**PPE, "sampled_conflict_pairs": [[0, 1]] * 10}, "10 pairs of 3 responses, must be a "),
        ({**HELPSTEER, "overall_preference": 7}, "7, must be one of -3, -2, -1, 1, 2, 3, 0"),
    ),
)
def test_what_a_row_lacks_is_told_by_row(row: dict[str, Any], told: str, tmp_path: Path) -> None:
    complete = (JUDGEBENCH, RM_BENCH, PPE, HELPSTEER)
    first = next(each for each in complete if each.keys() == row.keys())
    with pytest.raises(KnownError, match=told) as refused:
        opened(tmp_path, first, row, row)
    assert "row 2" in str(refused.value)


def test_a_file_with_all_columns_of_two_benchmarks_is_read_as_the_named_one(tmp_path: Path) -> None:
    both = {**RM_BENCH, **JUDGEBENCH}
    path = write_jsonl(tmp_path / "rows.jsonl", [both])
    said = r"of RM-Bench and of JudgeBench.*--benchmark judgeb.*without label it is read as RM-B"
    with pytest.raises(KnownError, match=said):
        read_pairs(path)
    for name, key in (("rm-bench", "math:7"), ("judgebench", "mmlu-pro-law:a-1")):
        assert read_pairs(path, benchmark=name).table["key"].to_pylist() == [key]
    del both["label"]
    assert opened(tmp_path, both)[0].benchmark == "rm-bench", "as the refusal says"


def test_an_own_file_is_not_taken_for_another_benchmark(tmp_path: Path) -> None:
    row = {"prompt": "p", "chosen": "c", "rejected": "r r"}
    assert layout_of({**row, "subset": "hep-go", "id": 1}, "pairs.jsonl") is None
    assert layout_of({k: v for k, v in RM_BENCH.items() if k != "domain"}, "mine.json") is None
    for more in ({"subset": "chat"}, {"subset": "own", "id": None, "language": "de"}):
        [pair] = opened(tmp_path, {**row, **more})
        assert pair.benchmark == "" and pair.key == f"{more['subset']}:1"
        assert by_length([pair]).benchmark.name == "reward-bench"


def test_rows_that_are_not_as_the_named_benchmark_has_them_are_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [{"prompt": "p", "chosen": "c", "rejected": "r"}])
    with pytest.raises(KnownError, match=r"its first row.*chosen \(a list of 3 respon"):
        read_pairs(path, benchmark="rm-bench")
    with pytest.raises(KnownError, match="JudgeBench: it has no column label, pair_id, question"):
        read_pairs(path, benchmark="judgebench")
    assert read_pairs(path, benchmark="reward-bench").benchmark == "reward-bench"
    with pytest.raises(KnownError, match=r"'gone' is not known here.*--benchmarks lists them"):
        benchmark_of((), "gone")
    with pytest.raises(KnownError, match="judgebench:gpt, judgebench:claude"):
        named_dataset("judgebench")


def test_every_row_names_a_dataset_that_can_be_asked_for() -> None:
    for benchmark in benchmarks().values():
        ids = [benchmark.dataset, *benchmark.datasets.values()]
        found = [parse_hub_id(each) for each in ids if each]
        assert found and None not in found
        for each in found:
            assert each is not None and of_dataset(each) is benchmark


def test_the_owner_adds_a_row_in_a_file_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        """
        [[benchmark]]
        name = "ours"
        title = "Ours"
        dataset = "org/ours:test"
        licence = "none"
        citation = "none"
        verified = "code"
        rule = "pairs"
        overall = "all rows"
        row = { prompt = "ask", chosen = "good", rejected = "bad", subset = "kind" }
        """,
        encoding="utf-8",
    )
    monkeypatch.setenv(OWN_VARIABLE, str(path))
    benchmarks.cache_clear()
    try:
        [pair] = opened(tmp_path, {"ask": "p", "good": "c", "bad": "r", "kind": "k"})
        assert (pair.benchmark, pair.key, pair.chosen) == ("ours", "k:1", "c")
        row = path.read_text(encoding="utf-8").replace('rule = "pairs"', 'rule = "chance"')
        path.write_text(row, encoding="utf-8")
        benchmarks.cache_clear()
        with pytest.raises(KnownError, match=r"mine\.toml.*docs/benchmarks\.md"):
            benchmarks()
        with pytest.raises(SystemExit, match="2"):
            parse(["--benchmarks"])
        assert "rule: 'chance' is none of the rules pairs, best_of_n" in capsys.readouterr().err
    finally:
        monkeypatch.undo()
        benchmarks.cache_clear()


def test_a_judge_has_a_vote_in_each_order() -> None:
    judged: list[tuple[list[tuple[float, float] | None], str]] = [
        ([(1.0, 0.0), (0.0, 1.0)], "win"),
        ([(0.2, 0.8), None], "loss"),
        ([(1.0, 0.0), (1.0, 0.0)], "tie"),  # it prefers whatever stands first
        ([None, None], "tie"),
    ]
    for orders, outcome in judged:
        row = ScoredPair("s:1", "s", "", None, None, 1, 1, rule="judge_two_orders")
        row = row.with_rewards(share_of_orders(orders))
        assert (row.outcome, row.credit(0.0)) == (outcome, outcome == "win")


@given(st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_a_margin_above_0_is_a_row_that_is_won(rewards: list[int]) -> None:
    """Of rows with several responses, by each rule but *Ties*, where equal rewards lose."""
    for name, n_right in {"rm_bench": 3, "best_of_n": 1, "rewardbench_2": 1}.items():
        rule = RULES[name]
        right, wrong = (rewards[at] for at in rule.decisive(rewards, n_right, "chat"))
        outcome = rule.outcome(rewards, n_right, "chat")
        assert (right > wrong) == (outcome == "win")
        assert right >= wrong or outcome == "loss"
        assert (rule.credit(rewards, n_right, "chat", 0.0) == 1) == (outcome == "win")
