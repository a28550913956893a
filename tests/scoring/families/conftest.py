import pytest

from scoring.families import server


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits long for a server, or sends it the key of whoever runs it."""
    monkeypatch.delenv(server.KEY_VARIABLE, raising=False)
    monkeypatch.setattr(server, "READ_SECONDS", 60)
    monkeypatch.setattr(server, "CONNECT_SECONDS", 60)
    monkeypatch.setattr(server, "TRIES", 3)
    monkeypatch.setattr(server, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(server, "LONGEST_PAUSE", 0.02)
