"""What a change bought, against numbers made by hand and by SciPy."""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from explorer.stats.strata import Floats
from explorer.tabs.try_it.counterfactuals import Change, Side
from explorer.tabs.try_it.probe_statistics import Bought, ProbeScores, bought

NAN = np.nan


def found(
    margin: list[float], change: list[float], side: Side = "chosen", applies: int | None = None
) -> Bought:
    sign = 1 if side == "chosen" else -1
    key: tuple[Change, Side] = ("upper", side)
    was, moved = np.array(margin), np.array(change)
    n = len(change) if applies is None else applies
    [only] = bought(ProbeScores(was, {key: moved}, {key: was + sign * moved}, {key: n}))
    return only


def test_by_hand() -> None:
    each = found([1.0, -1.0, 2.0, 0.0], [0.5, 1.5, -3.0, NAN], applies=4)
    assert (each.applies, each.n) == (4, 3)
    assert each.mean == pytest.approx(-1 / 3)
    assert (each.up, each.down, each.won, each.lost) == (2, 1, 1, 1)
    assert each.share_up == pytest.approx(2 / 3) and each.share_flipped == pytest.approx(2 / 3)
    spread = np.std([1.0, -1.0, 2.0, 0.0], ddof=1)
    assert each.deviations == pytest.approx(-1 / 3 / spread)


def test_the_interval_and_p_are_those_of_a_paired_t_test() -> None:
    change = np.random.default_rng(0).normal(0.3, 1.0, 40)
    each = found([0.0] * 40, change.tolist())
    test = stats.ttest_1samp(change, 0.0)
    ends = test.confidence_interval()
    assert (each.low, each.high) == pytest.approx((ends.low, ends.high))
    assert each.p == pytest.approx(test.pvalue)


def test_on_the_rejected_side_more_reward_loses() -> None:
    each = found([1.0, -1.0], [2.0, 2.0], "rejected")
    assert (each.up, each.won, each.lost) == (2, 0, 1)


def test_a_tie_is_not_won() -> None:
    assert (found([0.0], [0.0]).won, found([1.0], [-1.0]).lost) == (0, 1)
    assert found([0.0, -1.0], [0.0, 1.0]).share_flipped == 0


def test_where_all_change_alike_the_sign_test_decides() -> None:
    each = found([1.0] * 6, [0.1 + 0.2] * 6)
    assert (each.mean, each.low, each.high) == pytest.approx((0.3, 0.3, 0.3))
    assert each.p == pytest.approx(2 * 0.5**6)
    nothing = found([1.0, 2.0], [0.0, 0.0])
    assert (nothing.mean, nothing.low, nothing.p, nothing.up, nothing.down) == (0.0, 0.0, 1.0, 0, 0)


def test_what_is_not_known_is_not_made_up() -> None:
    nothing = found([1.0, 2.0], [NAN, NAN], applies=0)
    assert (nothing.n, nothing.mean, nothing.low, nothing.p) == (0, None, None, 1.0)
    assert nothing.share_up is None and nothing.share_flipped is None
    one = found([1.0, 1.0], [2.0, NAN])
    assert (one.n, one.mean, one.low, one.deviations, one.p) == (1, 2.0, None, None, 1.0)


def test_p_is_corrected_for_all_that_was_tested() -> None:
    generator = np.random.default_rng(1)
    keys: list[tuple[Change, Side]] = [
        ("upper", "chosen"),
        ("upper", "rejected"),
        ("cut", "chosen"),
    ]
    columns: dict[tuple[Change, Side], Floats] = {
        key: generator.normal(mean, 1.0, 30)
        for key, mean in zip(keys, (0.7, 0.1, 0.0), strict=True)
    }
    columns["cut", "chosen"][:] = NAN
    margin = np.ones(30)
    first, second, third = bought(ProbeScores(margin, columns, columns, dict.fromkeys(keys, 30)))
    assert first.corrected == pytest.approx(2 * first.p)
    assert second.corrected == pytest.approx(max(second.p, 2 * first.p))
    assert third.corrected == 1.0


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    generator = np.random.default_rng(2)
    held = 0
    for _ in range(400):
        each = found([0.0] * 12, generator.normal(1.0, 2.0, 12).tolist())
        assert each.low is not None and each.high is not None
        held += each.low <= 1.0 <= each.high
    assert 0.92 <= held / 400 <= 0.98
