from pathlib import Path

import pytest
import torch

from scoring.engine.compiled import LayerCode, keep_in

CPU = torch.device("cpu")
BENCHMARK = 1_540_000
"""Tokens of all pairs."""


@pytest.fixture
def layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> torch.nn.Module:
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    keep_in(tmp_path / "compiled")
    return torch.nn.Linear(8, 8)


def code_of(layer: torch.nn.Module, dtype: torch.dtype = torch.bfloat16) -> LayerCode:
    """As another process finds it."""
    return LayerCode.of([layer], dtype, CPU)


def test_the_run_that_compiles_is_the_one_by_which_it_would_have_repaid(
    layer: torch.nn.Module,
) -> None:
    assert [code_of(layer).repays(BENCHMARK) for _ in range(2)] == [False, True]


def test_a_long_run_repays_it_alone_and_a_short_one_never_where_nothing_is_kept(
    layer: torch.nn.Module,
) -> None:
    assert code_of(layer).repays(4_000_000)
    assert not code_of(torch.nn.Linear(4, 4)).repays(20_000)


def test_what_was_compiled_before_is_cheaper_for_layers_of_that_shape_alone(
    layer: torch.nn.Module,
) -> None:
    enough = 2_200_000
    code_of(layer).tried(is_kept=True)
    assert code_of(torch.nn.Linear(8, 8)).repays(enough)
    assert not code_of(layer).repays(20_000)
    assert not code_of(torch.nn.Linear(8, 9)).repays(enough)
    assert not code_of(layer, torch.float16).repays(enough)


def test_what_is_kept_is_used_when_it_would_have_repaid_in_this_process(
    layer: torch.nn.Module,
) -> None:
    """On one H100, finding it took 9 s, and all pairs of a 0.6B model are spared 5."""
    code_of(layer).tried(is_kept=True)
    assert [code_of(layer).repays(BENCHMARK) for _ in range(3)] == [False] * 3
    assert code_of(layer).repays(BENCHMARK, BENCHMARK)


def test_compiling_that_was_given_up_is_not_paid_for_by_the_next_run_again(
    layer: torch.nn.Module,
) -> None:
    assert [code_of(layer).repays(BENCHMARK) for _ in range(2)] == [False, True]
    code_of(layer).tried(is_kept=False)
    assert [code_of(layer).repays(BENCHMARK) for _ in range(2)] == [False, True]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"is_kept": true, "tokens": null}', "\udcff"])
def test_a_broken_note_of_it_is_as_none(layer: torch.nn.Module, text: str) -> None:
    code = code_of(layer)
    code.tried(is_kept=True)
    assert code.file is not None
    code.file.write_bytes(text.encode(errors="surrogateescape"))
    assert not code.repays(BENCHMARK)
    assert code.repays(BENCHMARK)


def test_where_no_folder_is_known_only_a_long_run_compiles(
    layer: torch.nn.Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    assert [code_of(layer).repays(BENCHMARK) for _ in range(3)] == [False] * 3
    assert code_of(layer).repays(4_000_000)


def test_the_owners_own_folder_is_left_to_him(
    layer: torch.nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "own"))
    keep_in(tmp_path / "ours")
    file = code_of(layer).file
    assert file is not None and file.parent == tmp_path / "own"


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
