"""A run against published results: made from a real model's outcomes with some of them flipped."""

from collections.abc import Collection, Mapping
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


def run_of(
    home: Path,
    won: Mapping[str, bool],
    facts: RunFacts = FACTS,
    narrow: Collection[str] = (),
    tied: Collection[str] = (),
) -> Run:
    """A finished run that wins these pairs; margins are 1 to 2, those of `narrow` under 0.1."""
    keys = list(won)
    run = Run.create(
        new_folder(home), replace(facts, n_pairs=len(keys)), Plan((tuple(range(len(keys))),)), keys
    )
    rows = []
    for place, key in enumerate(keys):
        margin = 0.05 + place * 1e-5 if key in narrow else 1 + place * 37 % len(keys) / len(keys)
        sides = (margin, 0.0) if won[key] else (0.0, 0.0 if key in tied else margin)
        text = filtered_texts().get(key, "")
        rows.append(ScoredPair(key, key.rpartition(":")[0], text, *sides, 100, 90))
    list(run.record([ScoredPack(0, tuple(rows), 1)]))
    return run.mark_ended("finished")


@pytest.fixture
def published(real: PairTable, shared_data: Path) -> dict[str, bool]:
    """Key -> whether the published model wins it."""
    _, _, matrix = real_results(shared_data)
    outcomes = matrix.outcomes[matrix.models.index(MODEL)]
    return {real.key_of(row): bool(outcomes[row] == 1) for row in range(len(real))}


def field_with(run: Run, table: PairTable, shared_data: Path) -> tuple[Field, str]:
    _, found, _ = real_results(shared_data)
    own = own_names([run], [])
    joined = with_runs(found, own)
    [name] = own
    matrix = outcome_matrix(joined, order_of(table), lambda: table.hashes)
    return Field(table, matrix, own, ("real", run.id), own=frozenset(own)), name


def flipped(won: Mapping[str, bool], keys: Collection[str]) -> dict[str, bool]:
    return {key: each != (key in keys) for key, each in won.items()}


def checked(run: Run, real: PairTable, shared_data: Path, board: BoardSettings) -> PublishedCheck:
    field, name = field_with(run, real, shared_data)
    return check_pairs(field, name, MODEL, board)


def test_the_same_outcomes_are_reproduced(
    tmp_path: Path, real: PairTable, shared_data: Path, published: dict[str, bool]
) -> None:
    found = checked(run_of(tmp_path, published), real, shared_data, SAME)
    assert found.verdict == "same" and found.won == found.lost == () and found.near is None
    assert [part.section for part in found.parts] == ["", *SECTIONS]
    assert {part.difference for part in found.parts} == {0.0}
    assert found.parts[0].here == pytest.approx(0.8444, abs=5e-5)


def test_exactly_the_flipped_pairs_are_found(
    tmp_path: Path, real: PairTable, shared_data: Path, published: dict[str, bool]
) -> None:
    some = np.random.default_rng(1).choice(list(published), 12, replace=False).tolist()
    run = run_of(tmp_path, flipped(published, some), narrow=some)
    found = checked(run, real, shared_data, SAME)
    assert set(found.won) == {key for key in some if not published[key]}
    assert set(found.lost) == {key for key in some if published[key]}
    assert found.verdict == "small" and found.near == 1.0 and found.n == 2985
    [field, name] = field_with(run, real, shared_data)
    compare, _ = ModelsState.parse(compare_query(name, MODEL))
    assert (compare.a, compare.b) == (name, MODEL)
    state = PairsState.parse(changed_query(name, MODEL, "only_b"))[0]
    rows = scene(state, ScenePairs(field.table, field)).filtered.rows
    assert {field.table.key_of(int(row)) for row in rows} == set(found.lost)


def test_a_judges_tie_where_the_published_loses_is_a_change(
    tmp_path: Path, real: PairTable, shared_data: Path, published: dict[str, bool]
) -> None:
    tied = [key for key, won in published.items() if not won][:200]
    run = run_of(tmp_path, published, replace(FACTS, family="judge"), tied=tied)
    found = checked(run, real, shared_data, SAME)
    assert found.verdict == "unexplained"
    assert found.parts[0].difference is not None and found.parts[0].difference > 0.01
    assert (found.won, found.lost, found.tied) == ((), (), tuple(tied))


def test_what_settings_explain_depends_on_which_are_known(
    tmp_path: Path, real: PairTable, shared_data: Path, published: dict[str, bool]
) -> None:
    hard = [key for key, won in published.items() if key.startswith("llmbar-natural") and won]
    run = run_of(tmp_path, flipped(published, hard[:40]))
    verdicts = {
        board: checked(run, real, shared_data, board).verdict
        for board in (SAME, BoardSettings(), BoardSettings("tulu", 50, "float16", ""))
    }
    assert list(verdicts.values()) == ["unexplained", "unknown", "settings"]
    found = checked(run, real, shared_data, SAME)
    assert found.largest and found.largest.section == "Chat Hard"
    assert found.largest.difference == pytest.approx(-40 / 456)
    assert found.near is not None and found.near < 0.5
    gone = run_of(tmp_path, flipped(published, [k for k, won in published.items() if won]))
    far = checked(gone, real, shared_data, BoardSettings("tulu", 50, "float16", ""))
    assert far.verdict == "unexplained", "more than any setting is known to do"


@pytest.mark.parametrize(("n", "verdict"), [(18, "settings"), (40, "unexplained")])
def test_a_batch_explains_as_much_as_it_is_known_to_have_done(
    tmp_path: Path,
    real: PairTable,
    shared_data: Path,
    published: dict[str, bool],
    n: int,
    verdict: str,
) -> None:
    """Thread 137 of upstream: .429 with one pair in a batch, .476 with two, .480 with three."""
    hard = [key for key, won in published.items() if key.startswith("llmbar-natural") and won]
    run = run_of(tmp_path, flipped(published, hard[:n]))
    found = checked(run, real, shared_data, replace(SAME, batch=16))
    assert found.verdict == verdict
    assert [each.name for each in found.suspects] == ["batch"] * (verdict == "settings")
    assert checked(run, real, shared_data, SAME).verdict == "unexplained"


def test_many_changes_that_cancel_are_not_small(
    tmp_path: Path, real: PairTable, shared_data: Path, published: dict[str, bool]
) -> None:
    code = [key for key in published if key.startswith("hep-")]
    won = [key for key in code if published[key]][:45]
    lost = [key for key in code if not published[key]][:45]
    run = run_of(tmp_path, flipped(published, [*won, *lost]))
    found = checked(run, real, shared_data, SAME)
    assert all(abs(part.difference or 0) < 1e-9 for part in found.parts)
    assert found.verdict == "unexplained"


def test_of_few_pairs_little_can_be_said(
    tmp_path: Path, real: PairTable, shared_data: Path, published: dict[str, bool]
) -> None:
    some = dict(list(published.items())[::65])
    one = run_of(tmp_path, flipped(some, [list(some)[3]]))
    assert checked(one, real, shared_data, SAME).verdict == "small"
    few = run_of(tmp_path, flipped(some, list(some)[5::15]))
    found = checked(few, real, shared_data, SAME)
    assert found.verdict == "few" and found.n == len(some)
    many = run_of(tmp_path, flipped(some, list(some)[3:23]))
    assert checked(many, real, shared_data, SAME).verdict == "unexplained"


def test_a_run_finds_what_is_published_of_its_model(
    tmp_path: Path, real: PairTable, shared_data: Path, published: dict[str, bool]
) -> None:
    run = run_of(tmp_path, published)
    field, name = field_with(run, real, shared_data)
    found = check_run(run, field)
    assert found.own == name and found.check and found.check.model == MODEL
    other = run_of(tmp_path, published, replace(FACTS, model="me/FsfairX-LLaMA3-RM-v0.1"))
    field, _ = field_with(other, real, shared_data)
    unknown = check_run(other, field)
    assert unknown.check is None and unknown.match.similar == (MODEL,)


def facts_of(model: str, family: str = "classifier") -> RunFacts:
    return replace(FACTS, model=model, family=family)


@pytest.mark.parametrize(
    ("facts", "model", "similar"),
    [
        (facts_of("org/rm"), "org/rm", ("a/rm", "org/RM", "org/rm_ref_free")),
        (facts_of("org/rm@0f0f"), "org/rm", ("a/rm", "org/RM", "org/rm_ref_free")),
        (facts_of("org/rm", "logprob-mean"), "org/rm_ref_free", ("a/rm", "org/RM", "org/rm")),
        (facts_of("ORG/rm"), "", ("a/rm", "org/RM", "org/rm", "org/rm_ref_free")),
        (facts_of("/models/org/rm"), "", ("a/rm", "org/RM", "org/rm", "org/rm_ref_free")),
        (facts_of("demo"), "", ()),
        (facts_of("org/other"), "", ()),
    ],
)
def test_only_the_same_id_is_the_same_model(
    facts: RunFacts, model: str, similar: tuple[str, ...]
) -> None:
    found = find_published(facts, ["org/rm", "org/rm_ref_free", "org/RM", "a/rm", "demo", "b/x"])
    assert (found.model, found.similar) == (model, similar)


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
