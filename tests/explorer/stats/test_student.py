"""Student's t against SciPy."""

import pytest
from scipy import stats  # type: ignore[import-untyped]

from explorer.stats.student import reach, within


@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 10, 29, 30, 300, 2984])
def test_it_is_students_distribution(df: int) -> None:
    for t in (-3.0, 0.0, 0.01, 1.0, 2.5, 12.0):
        expected = stats.t.cdf(abs(t), df) - stats.t.cdf(-abs(t), df)
        assert within(t, df) == pytest.approx(expected, abs=1e-12)
    for share in (0.0, 0.5, 0.95, 0.999):
        assert reach(share, df) == pytest.approx(stats.t.ppf((1 + share) / 2, df), abs=1e-8)
