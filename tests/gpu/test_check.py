import pytest

from tests.gpu import check
from tests.gpu.report import Report


@pytest.mark.parametrize(
    ("card", "seconds", "times", "good", "bound"),
    [
        ("NVIDIA H200", 3.5, 50.0, False, "at most 3.4 s"),
        ("NVIDIA H100 80GB HBM3", 3.0, 8.9, False, "at least 9.0 times"),
        ("NVIDIA L4", 99.0, 1.0, True, "no bound on this card"),
    ],
)
def test_a_target_binds_on_the_card_that_it_names_alone(
    card: str, seconds: float, times: float, good: bool, bound: str
) -> None:
    assert check.within("qwen3-0.6b", "warm", card, seconds, times) == (good, bound)
    assert check.within("qwen3-0.6b", "first", card, 7.2)[0] is ("H200" not in card)


def test_what_finds_no_time_is_left_out_and_a_cap_is_small_enough_to_be_missed() -> None:
    report = Report(0.0)
    all_points = check.Check(report, dry=True, n_pairs=2)
    all_points.run([*check.TARGETS])
    names = [*report.lines]
    assert names.index("llama-8b") < names.index("qwen3-0.6b") < names.index("command line and app")
    left_out = ("left out", "takes about 290 s; 0 of --seconds 0 remain")
    assert report.lines["llama-8b"] == left_out
    all_points.architecture("gemma2", compiled=False)
    assert report.failed == []
    assert "its cap moves them by" in report.lines["rewards of gemma2"][1]
