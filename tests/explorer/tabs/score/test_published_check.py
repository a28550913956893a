"""A run against published results: made from a real model's outcomes with some of them flipped."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.data.table import PairTable
from explorer.reader.links import compare_query
from explorer.reader.scene import ScenePairs, scene
from explorer.reader.state import PairsState
from explorer.results.field import Field
from explorer.results.own import find_published, own_names
from explorer.stats.matrix import order_of, outcome_matrix
from explorer.tabs.models.state import ModelsState
from explorer.tabs.score.published_check import changed_query, check_pairs, check_run
from scoring.benchmark import COUNTS, SECTIONS, SUBSETS
from scoring.models.catalogue import board_models
from scoring.record import Run, new_folder
from scoring.results.reproduction import (
    BoardSettings,
    PublishedCheck,
    board_settings,
    check_sections,
)
from scoring.spec import Plan, RunFacts, ScoredPack, ScoredPair
from tests.support.board_data import filtered_texts, real_results, with_runs

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
        facts, plan = replace(facts, n_pairs=len(keys)), Plan((tuple(range(len(keys))),))
        run = Run.create(new_folder(self.home), facts, plan, keys)
        rows = []
        for place, key in enumerate(keys):
            margin = 0.05 if key in flips else 1 + place * 37 % len(keys) / len(keys)
            is_won = self.won[key] != (key in flips)
            sides = (margin, 0.0) if is_won else (0.0, 0.0 if key in tied else margin)
            text = filtered_texts().get(key, "")
            rows.append(ScoredPair(key, key.rpartition(":")[0], text, *sides, 100, 90))
        list(run.record([ScoredPack(0, tuple(rows), 1)]))
        return run.mark_ended("finished")

    def field(self, run: Run) -> tuple[Field, str]:
        own = own_names([run], [])
        joined = with_runs(self._found, own)
        matrix = outcome_matrix(joined, order_of(self.table), lambda: self.table.hashes)
        [name] = own
        return Field(self.table, matrix, own, ("real", run.id), own=frozenset(own)), name

    def check(self, run: Run, board: BoardSettings = SAME) -> PublishedCheck:
        return check_pairs(*self.field(run), MODEL, board)


@pytest.fixture
def checking(tmp_path: Path, real: PairTable, shared_data: Path) -> Checking:
    return Checking(tmp_path, real, shared_data)


def test_a_run_finds_what_is_published_of_its_model_and_the_same_outcomes_are_reproduced(
    checking: Checking,
) -> None:
    run = checking.run()
    field, name = checking.field(run)
    checked = check_run(run, field)
    assert checked.own == name and checked.check and checked.check.model == MODEL
    found = checking.check(run)
    assert found.verdict == "same" and found.won == found.lost == () and found.near is None
    assert [part.section for part in found.parts] == ["", *SECTIONS]
    assert {part.difference for part in found.parts} == {0.0}
    assert found.parts[0].here == pytest.approx(0.8444, abs=5e-5)


def test_exactly_the_flipped_pairs_are_found(checking: Checking) -> None:
    some = np.random.default_rng(1).choice(list(checking.won), 12, replace=False).tolist()
    run = checking.run(some)
    found = checking.check(run)
    assert set(found.won) == {key for key in some if not checking.won[key]}
    assert set(found.lost) == {key for key in some if checking.won[key]}
    assert found.verdict == "small" and found.near == 1.0 and found.n == 2985
    field, name = checking.field(run)
    compare, _ = ModelsState.parse(compare_query(name, MODEL))
    assert (compare.a, compare.b) == (name, MODEL)
    state = PairsState.parse(changed_query(name, MODEL, "only_b"))[0]
    rows = scene(state, ScenePairs(field.table, field)).filtered.rows
    assert {field.table.key_of(int(row)) for row in rows} == set(found.lost)


def test_a_judges_tie_where_the_published_loses_is_a_change(checking: Checking) -> None:
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
    code = [key for key in checking.won if key.startswith("hep-")]
    cancel = [key for way in (True, False) for key in code if checking.won[key] is way][:90]
    few = [*checking.won][::65]
    cases: list[tuple[list[str], Collection[str], dict[BoardSettings, str]]] = [
        (hard[:40], (), {SAME: "unexplained", BoardSettings(): "unknown", OTHER: "settings",
                         BATCH: "unexplained"}),
        (hard[:18], (), {SAME: "unexplained", BATCH: "settings"}),
        (won, (), {OTHER: "unexplained"}),  # more than any setting is known to do
        (cancel, (), {SAME: "unexplained"}),
        (few[3:4], few, {SAME: "small"}),
        (few[5::15], few, {SAME: "few"}),
        (few[3:23], few, {SAME: "unexplained"}),
    ]  # fmt: skip
    for flips, keys, verdicts in cases:
        field = checking.field(checking.run(flips, keys=keys))
        found = {board: check_pairs(*field, MODEL, board) for board in verdicts}
        assert {board: each.verdict for board, each in found.items()} == verdicts
        if len(flips) == 40:
            assert (largest := found[SAME].largest) and largest.section == "Chat Hard"
            assert largest.difference == pytest.approx(-40 / 456)


IDS = ["org/rm", "org/rm_ref_free", "org/RM", "a/rm", "demo", "b/x"]


@pytest.mark.parametrize(
    ("asked", "family", "model"),
    [
        ("org/rm@0f0f", "classifier", "org/rm"),
        ("org/rm", "logprob-mean", "org/rm_ref_free"),
        ("ORG/rm", "classifier", ""),
        ("/models/org/rm", "classifier", ""),
        ("demo", "classifier", ""),
    ],
)
def test_only_the_same_id_is_the_same_model(asked: str, family: str, model: str) -> None:
    found = find_published(replace(FACTS, model=asked, family=family), IDS)
    similar = {*IDS[:4]} - {model} if asked != "demo" else set()
    assert (found.model, {*found.similar}) == (model, similar)


def scored(subset: str, n: int, wins: int) -> list[ScoredPair]:
    return [
        ScoredPair(f"{subset}:{at}", subset, "", float(at < wins), 0.5, 10, 10) for at in range(n)
    ]


def test_where_only_scores_are_published_whole_sections_are_compared() -> None:
    rows = [row for each in SECTIONS["Chat"] for row in scored(each, COUNTS[each], COUNTS[each])]
    rows += scored("hep-go", 164, 100)
    board = dict.fromkeys(SECTIONS, 0.98)
    found = check_sections(FACTS, rows, MODEL, board, SAME)
    assert [(part.section, part.there) for part in found.parts] == [
        ("Chat", 0.98), ("Reasoning", None),
    ]  # fmt: skip
    assert found.verdict == "unexplained" and found.n == 0
    assert check_sections(FACTS, rows, MODEL, {"Chat": 0.995}, SAME).verdict == "small"
    part = check_sections(FACTS, rows[:-164][:50], MODEL, board, SAME)
    assert part.verdict == "nothing" and part.largest is None
    whole = [row for each in SUBSETS for row in scored(each, COUNTS[each], COUNTS[each])]
    [score, *_] = check_sections(FACTS, whole, MODEL, board, SAME).parts
    assert (score.section, score.here) == ("", 1.0) and score.there == pytest.approx(0.98)


def test_what_upstream_says_of_a_model_is_taken() -> None:
    llama = board_settings(MODEL)
    assert llama == BoardSettings("", 2048, "bfloat16", "", quantized=False, batch=4)
    tulu = board_settings("allenai/tulu-2-dpo-7b")
    assert (tulu.template, tulu.max_length, tulu.quantized) == ("tulu", None, None)
    packed = [name for name in board_models() if board_settings(name).quantized]
    assert len(packed) == 30 and {"openbmb/UltraRM-13b", "weqweasdas/RM-Mistral-7B"} < {*packed}
    assert tulu.reference and board_settings("allenai/tulu-2-dpo-7b_ref_free").reference == ""
    assert board_settings("") == board_settings("no/such") == BoardSettings()
