from pathlib import Path

import pytest
import torch

from tests.gpu import check, emulated
from tests.gpu.report import Report


def test_what_finds_no_time_is_left_out_and_says_how_much_it_takes() -> None:
    report = Report(0.0)
    check.Check(report, dry=True, n_pairs=2).run([*check.TARGETS])
    names = [*report.lines]
    assert names.index("llama-8b") < names.index("qwen3-0.6b") < names.index("command line and app")
    assert report.lines["llama-8b"]["status"] == "left out"
    assert report.lines["llama-8b"]["words"] == "takes about 290 s; 0 of --seconds 0 remain"


def test_the_cap_of_gemma_2_is_small_enough_to_be_missed() -> None:
    report = Report(float("inf"))
    check.Check(report, dry=True, n_pairs=2).architecture("gemma2", compiled=False)
    assert report.failed == []
    assert "its cap moves them by" in report.lines["rewards of gemma2"]["words"]


@pytest.mark.slow
@pytest.mark.filterwarnings("error:Dynamo detected")  # users would see it
def test_what_is_timed_is_compiled_as_a_users_later_runs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not check._has_compiler():
        pytest.skip("there is no C compiler here")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
    monkeypatch.setattr("scoring.engine.attention.has_variable_length", None)  # put back at the end
    emulated.install()
    torch.compiler.reset()  # what other tests compiled would make the first code another
    report = Report(float("inf"))
    check.Check(report, dry=True, n_pairs=12).speed("qwen3-0.6b")
    assert report.failed == []
    said = {name.partition(", ")[2]: line["words"] for name, line in report.lines.items()}
    assert "layers compiled" not in said["first run"]
    assert all("layers compiled" in said[name] for name in ("the run that compiles", "warm"))
    assert any(tmp_path.rglob("*.py"))
