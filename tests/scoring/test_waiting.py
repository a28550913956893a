"""Threads that wait do not spin."""

import os
from importlib import reload

import pytest

import scoring


@pytest.mark.parametrize(
    ("set_before", "then"),
    [
        ({}, scoring.SPINS),
        ({"GOMP_SPINCOUNT": "7"}, "7"),
        ({"OMP_WAIT_POLICY": "active"}, None),
    ],
)
def test_threads_wait_briefly_unless_the_owner_says_otherwise(
    set_before: dict[str, str], then: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From when the package is imported, as torch is after it."""
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.setenv(name, "")  # so that it is as it was afterwards
        monkeypatch.delenv(name)
    for name, value in set_before.items():
        monkeypatch.setenv(name, value)
    reload(scoring)
    assert os.environ.get("GOMP_SPINCOUNT") == then
