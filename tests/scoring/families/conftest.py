import pytest

from scoring.families import server


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits long for a server, or sends it the key of whoever runs it."""
    monkeypatch.delenv(server.KEY_VARIABLE, raising=False)
    quick = {"READ_SECONDS": 60, "CONNECT_SECONDS": 60, "TRIES": 3, "FIRST_PAUSE": 0.001}
    for name, value in {**quick, "LONGEST_PAUSE": 0.02}.items():
        monkeypatch.setattr(server, name, value)
