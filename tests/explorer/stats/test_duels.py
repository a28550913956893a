from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from explorer.stats.duels import DuelPart, duel
from explorer.stats.rules import RULES
from scoring.benchmark import SECTIONS, SUBSETS, overall_score, section_scores
from tests.support.board_data import order_of

V1 = RULES["v1"]


def drawn(n_models: int, n_pairs: int) -> Any:
    """Outcomes with halves and missing ones."""
    values = [0.0, 1.0, 1.0, 0.5, np.nan]
    return np.random.default_rng(0).choice(values, size=(n_models, n_pairs))


def cells_in(part: DuelPart) -> tuple[object, ...]:
    return (part.name, part.both, part.only_a, part.only_b, part.neither)


def test_a_duel_is_what_counting_says() -> None:
    subsets = np.repeat(SUBSETS, 10)
    order = order_of(subsets.tolist())
    a, b = drawn(2, len(subsets))
    known = ~np.isnan(a + b)
    section_of = {subset: name for name, of in SECTIONS.items() for subset in of}
    sections = np.array([section_of[subset] for subset in subsets])
    found = duel(a, b, order, V1)

    def counted(name: str, rows: Any) -> tuple[object, ...]:
        wins = [(one == 1, other == 1) for one, other in zip(a[rows], b[rows], strict=True)]
        cells = [(True, True), (True, False), (False, True), (False, False)]
        return (name, *(wins.count(cell) for cell in cells))

    assert cells_in(found.all_pairs) == counted("", known)
    assert [*map(cells_in, found.sections)] == [
        counted(name, known & (sections == name)) for name in SECTIONS
    ]
    assert [*map(cells_in, found.subsets)] == [
        counted(name, known & (subsets == name)) for name in order.names
    ]
    for parts in (found.sections, found.subsets):
        adjusted = multipletests([each.test.p for each in parts], method="holm")[1]
        assert [each.p_adjusted for each in parts] == pytest.approx(adjusted)
    both = [
        section_scores(
            {name: float(each[known & (subsets == name)].mean()) for name in order.names}
        )
        for each in (a, b)
    ]
    assert [[each.a for each in found.sections], [each.b for each in found.sections]] == [
        pytest.approx(list(scores.values())) for scores in both
    ]
    assert [found.score.a, found.score.b] == pytest.approx([overall_score(each) for each in both])
    for part in (found.all_pairs, found.score, *found.sections, *found.subsets):
        assert part.a is not None and part.b is not None and part.test.interval is not None
        low, high = part.test.interval
        assert low <= (part.difference or 0.0) <= high
        assert part.difference == pytest.approx(part.a - part.b)


def test_a_subset_is_better_only_where_it_is_significant() -> None:
    a = np.array([1.0] * 40 + [1, 0])
    b = np.array([0.0] * 20 + [1.0] * 20 + [0, 0])
    order = order_of(["hep-go"] * 20 + ["hep-js"] * 20 + ["hep-cpp"] * 2)
    found = duel(a, b, order, V1)
    assert [(each.name, each.better) for each in found.subsets] == [
        ("hep-go", "a"), ("hep-js", None), ("hep-cpp", None),
    ]  # fmt: skip
    assert found.subsets[0].p_adjusted == 3 * found.subsets[0].test.p


def test_without_a_common_pair_there_is_nothing_to_say() -> None:
    found = duel([1, np.nan], [np.nan, 0], order_of(["hep-go", "own"]), V1)
    part = found.all_pairs
    assert (part.n, part.test.p, part.p_adjusted) == (0, 1.0, 1.0)
    assert (part.a, part.b, part.difference, part.test.interval) == (None,) * 4
    assert part.better is None
    assert not any(each.n for each in found.subsets)
    assert found.headline is found.all_pairs


def test_who_has_the_higher_section_score_is_never_significantly_worse() -> None:
    # math-prm weighs as much as all code: few pairs of it outweigh many of code
    a = np.repeat([1.0, 0.0, 1.0, 0.0], [40, 5, 100, 60])
    b = np.repeat([0.0, 1.0, 1.0, 1.0], [40, 5, 100, 60])
    names = ["math-prm"] * 45 + ["hep-go"] * 160
    [found] = [part for part in duel(a, b, order_of(names), V1).sections if part.n]
    assert found.only_a < found.only_b
    assert (found.a or 0) > (found.b or 0)
    assert found.better == "a"


def test_one_problem_in_six_languages_is_no_six_proofs() -> None:
    order = replace(order_of(["hep-go", "hep-js", "hep-rust"]), ids=["3856", "4184", "4348"])
    apart = replace(order, ids=["3856", "4185", "4350"])
    together, alone = (duel([1, 1, 1], [0, 0, 0], each, V1) for each in (order, apart))
    assert (together.score.test.p, alone.score.test.p) == (1.0, 0.25)
