"""A run against published results: made from a real model's outcomes with some of them flipped."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.results.field import Field
from explorer.results.own import Match, find_published, own_names
from explorer.stats.matrix import order_of, outcome_matrix
from explorer.tabs.score.published_check import RunCheck, check_pairs, check_run, published_html
from scoring.benchmark import COUNTS, SECTIONS
from scoring.record import Run
from scoring.results.reproduction import (
    NOT_KNOWN,
    BoardSettings,
    PublishedCheck,
    board_settings,
    check_sections,
)
from scoring.spec import RunFacts, ScoredPair
from tests.golden.reading import Outline
from tests.support.board_data import filtered_texts, matrix_of, real_results, with_runs
from tests.support.golden_files import check_golden
from tests.support.run_facts import recorded_run
from tests.support.tables import benchmark_table

MODEL = "sfairXC/FsfairX-LLaMA3-RM-v0.1"
FACTS = RunFacts(
    MODEL, "abc", "classifier", "cpu", "bfloat16", 4096, "left", "own:0123", "", 0, 0
)  # fmt: skip
SAME = BoardSettings("", 2048, "bfloat16", "", quantized=False, batch=1)
OTHER, BATCH = BoardSettings("tulu", 50, "float16", ""), replace(SAME, batch=16)


class Checking:
    """Runs beside the published model. won: key -> whether that wins it."""

    def __init__(self, home: Path, real: PairTable, shared_data: Path) -> None:
        self.home, self.table = home, real
        _, self._found, matrix = real_results(shared_data)
        outcomes = matrix.outcomes[matrix.models.index(MODEL)]
        self.won = {real.key_of(row): bool(outcomes[row] == 1) for row in range(len(real))}

    def run(
        self,
        flips: Collection[str] = (),
        facts: RunFacts = FACTS,
        keys: Collection[str] = (),
        tied: Collection[str] = (),
    ) -> Run:
        """A finished run of keys, by default all; margins of flips are narrow."""
        keys = [*(keys or self.won)]
        rows: list[ScoredPair] = []
        for place, key in enumerate(keys):
            margin = 0.05 if key in flips else 1 + place * 37 % len(keys) / len(keys)
            is_won = self.won[key] != (key in flips)
            sides = (margin, 0.0) if is_won else (0.0, 0.0 if key in tied else margin)
            text = filtered_texts().get(key, "")
            rows.append(ScoredPair(key, key.rpartition(":")[0], text, *sides, 100, 90))
        return recorded_run(self.home, replace(facts, n_pairs=len(keys)), rows)

    def field(self, run: Run) -> tuple[Field, str]:
        own = own_names([run], [])
        joined = with_runs(self._found, own)
        matrix = outcome_matrix(joined, order_of(self.table), lambda: self.table.hashes)
        [name] = own
        return Field(self.table, matrix, own, ("real", run.id), own=frozenset(own)), name

    def check(self, run: Run) -> PublishedCheck:
        return check_pairs(*self.field(run), MODEL, SAME)


@pytest.fixture
def checking(tmp_path: Path, real: PairTable, shared_data: Path) -> Checking:
    return Checking(tmp_path, real, shared_data)


def test_exactly_the_pairs_that_changed_are_found(checking: Checking) -> None:
    """None, some that were flipped, and a judge's ties where the published loses."""
    run = checking.run()
    field, name = checking.field(run)
    checked = check_run(run, field)
    assert checked.own == name and checked.check and checked.check.model == MODEL
    found = checking.check(run)
    assert found.verdict == "same" and found.won == found.lost == () and found.near is None
    assert [part.section for part in found.parts] == ["", *SECTIONS]
    assert {part.difference for part in found.parts} == {0.0}
    assert found.parts[0].here == pytest.approx(0.8444, abs=5e-5)

    some = np.random.default_rng(1).choice(list(checking.won), 12, replace=False).tolist()
    found = checking.check(checking.run(some))
    assert set(found.won) == {key for key in some if not checking.won[key]}
    assert set(found.lost) == {key for key in some if checking.won[key]}
    assert found.verdict == "small" and found.near == 1.0 and found.n == 2985

    tied = [key for key, won in checking.won.items() if not won][:200]
    found = checking.check(checking.run(facts=replace(FACTS, family="judge"), tied=tied))
    assert found.verdict == "unexplained"
    assert found.parts[0].difference is not None and found.parts[0].difference > 0.01
    assert (found.won, found.lost, found.tied) == ((), (), tuple(tied))


def test_what_settings_explain_depends_on_which_are_known_and_on_how_much_it_is(
    checking: Checking,
) -> None:
    """Thread 137 of upstream: .429 with one pair in a batch, .476 with two, .480 with three."""
    won = [key for key, is_won in checking.won.items() if is_won]
    hard = [key for key in won if key.startswith("llmbar-natural")]
    few = [*checking.won][::65]
    cases: list[tuple[list[str], Collection[str], dict[BoardSettings, str]]] = [
        (hard[:40], (), {SAME: "unexplained", BoardSettings(): "unknown", OTHER: "settings",
                         BATCH: "unexplained"}),
        (hard[:18], (), {SAME: "unexplained", BATCH: "settings"}),
        (won, (), {OTHER: "unexplained"}),  # more than any setting is known to do
        (few[3:4], few, {SAME: "small"}),
        (few[5::15], few, {SAME: "few"}),
    ]  # fmt: skip
    for flips, keys, verdicts in cases:
        field = checking.field(checking.run(flips, keys=keys))
        found = {board: check_pairs(*field, MODEL, board) for board in verdicts}
        assert {board: each.verdict for board, each in found.items()} == verdicts


def test_only_the_same_id_is_the_same_model() -> None:
    alike = ["org/rm", "org/rm_ref_free", "org/RM", "a/rm"]
    for asked, family, model in (
        ("org/rm@0f0f", "classifier", "org/rm"),
        ("org/rm", "logprob-mean", "org/rm_ref_free"),
        ("ORG/rm", "classifier", ""),
        ("/models/org/rm", "classifier", ""),
    ):
        found = find_published(replace(FACTS, model=asked, family=family), [*alike, "demo", "b/x"])
        assert (found.model, {*found.similar}) == (model, {*alike} - {model}), asked


def scored(subset: str, n: int, wins: int) -> list[ScoredPair]:
    return [
        ScoredPair(f"{subset}:{at}", subset, "", float(at < wins), 0.5, 10, 10) for at in range(n)
    ]


CHAT = [row for each in SECTIONS["Chat"] for row in scored(each, COUNTS[each], COUNTS[each])]
"""All pairs of a section, won."""


def test_where_only_scores_are_published_whole_sections_are_compared() -> None:
    rows = [*CHAT, *scored("hep-go", 164, 100)]
    board = dict.fromkeys(SECTIONS, 0.98)
    found = check_sections(FACTS, rows, MODEL, board, SAME)
    assert [(part.section, part.there) for part in found.parts] == [
        ("Chat", 0.98), ("Reasoning", None),
    ]  # fmt: skip
    assert found.verdict == "unexplained" and found.n == 0
    assert check_sections(FACTS, rows, MODEL, {"Chat": 0.995}, SAME).verdict == "small"
    part = check_sections(FACTS, rows[:-164][:50], MODEL, board, SAME)
    assert part.verdict == "nothing" and part.largest is None


def test_what_upstream_says_of_a_model_is_taken() -> None:
    llama = board_settings(MODEL)
    assert llama == BoardSettings("", 2048, "bfloat16", "", quantized=False, batch=4)
    tulu = board_settings("allenai/tulu-2-dpo-7b")
    assert (tulu.template, tulu.max_length, tulu.quantized) == ("tulu", None, None)
    assert board_settings("openbmb/UltraRM-13b").quantized
    assert tulu.reference and board_settings("allenai/tulu-2-dpo-7b_ref_free").reference == ""
    assert board_settings("") == board_settings("no/such") == BoardSettings()


# As it is shown


HOSTILE = "org/<script>rm</script>"
SHOWN = RunFacts(HOSTILE, "0f0f0f0f0f0f0f0f", "classifier", "cpu", "float32", 4096, "left",
                 "own:1", "", 4, 0)  # fmt: skip
SUBSETS = ["hep-go", "hep-go", "mt-bench-hard", "mt-bench-hard", "donotanswer"]


CHECKS: dict[str, tuple[list[float], BoardSettings]] = {
    "some pairs changed": ([1, 0, 1, 1, 0], NOT_KNOWN),
    "no pair changed": ([1, 1, 1, 0, 1], NOT_KNOWN),
    "settings that are not known": ([0, 0, 0, 1, 0], NOT_KNOWN),
    "the same settings": (
        [0, 0, 0, 1, 0], BoardSettings("", 512, "float32", "", quantized=False, batch=1),
    ),
}  # fmt: skip
"""What changed -> the run's outcomes beside a model that wins all but the fourth pair."""


def beside(home: Path, mine: Sequence[float], board: BoardSettings) -> RunCheck:
    rows = [
        ScoredPair(f"{subset}:{at}", subset, "", 2 * won - 1, 0.0, 5, 5)
        for at, (subset, won) in enumerate(zip(SUBSETS, mine, strict=True))
    ]
    run = recorded_run(home, SHOWN, rows)
    matrix = matrix_of({"mine": mine, HOSTILE: [1, 1, 1, 0, 1]}, SUBSETS)
    field = Field(benchmark_table(), matrix, {"mine": run}, ("x",), own=frozenset(["mine"]))
    return RunCheck(run, "mine", Match(HOSTILE, ()), check_pairs(field, "mine", HOSTILE, board))


def check_shown(name: str, check: RunCheck) -> None:
    read = Outline(published_html(check))
    text = "\n".join([*read.lines, "", "## Links", *read.links, ""])
    check_golden(Path(__file__).parent / "checks" / f"{name.replace(' ', '-')}.txt", text)


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_says_what_changed_and_what_may_explain_it(name: str, tmp_path: Path) -> None:
    check_shown(name, beside(tmp_path, *CHECKS[name]))


def test_a_check_of_sections_alone_and_one_of_a_similar_name_say_so(tmp_path: Path) -> None:
    other = BoardSettings("tulu", 2048, "float16", "", quantized=True)
    facts, pairs = replace(SHOWN, template="basic:1"), beside(tmp_path, [1] * 5, NOT_KNOWN)
    of_sections = check_sections(facts, CHAT, HOSTILE, {"Chat": 0.9}, other)
    check_shown("settings that differ", replace(pairs, check=of_sections))
    similar = Match("", ("other/<i>rm",))
    check_shown("a similar name", replace(pairs, own="", match=similar, check=None))
