import os
from pathlib import Path

import pytest

from scoring.engine.compiled import is_compiling_repaid, keep_in

BENCHMARK = 1_540_000
"""Tokens of all pairs."""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    keep_in(tmp_path / "compiled")
    return tmp_path / "compiled"


@pytest.mark.usefixtures("kept")
def test_a_long_run_repays_compiling_and_one_of_the_benchmark_does_not() -> None:
    assert is_compiling_repaid(4_000_000)
    assert not is_compiling_repaid(2_200_000)
    assert not is_compiling_repaid(BENCHMARK)
    assert is_compiling_repaid(2 * BENCHMARK)


def test_where_code_is_kept_it_repays_sooner(kept: Path) -> None:
    """On one H100, finding it took 9 s, and all pairs of a 0.6B model are spared 5."""
    kept.mkdir()
    assert not is_compiling_repaid(2_200_000)
    (kept / "code.py").touch()
    assert is_compiling_repaid(2_200_000)
    assert not is_compiling_repaid(BENCHMARK)


def test_where_no_folder_is_known_only_a_long_run_compiles(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.mkdir()
    (kept / "code.py").touch()
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    assert not is_compiling_repaid(2_200_000)
    assert is_compiling_repaid(4_000_000)


def test_the_owners_own_folder_is_left_to_him(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "own"))
    keep_in(tmp_path / "ours")
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == str(tmp_path / "own")


def test_compiling_begins_no_processes_beside_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would count as memory of the worker, and outlive one that is ended."""
    from torch._inductor.config import decide_compile_threads

    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "8")
    monkeypatch.delenv("TORCHINDUCTOR_COMPILE_THREADS")
    monkeypatch.setattr("torch._utils.cpu_count", lambda: 16)
    keep_in(tmp_path / "compiled")
    assert decide_compile_threads() == 1
