import pytest

from scoring.families.server import KEY_VARIABLE


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sends the key of whoever runs it."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
