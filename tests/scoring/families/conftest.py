from pathlib import Path

import pytest

from scoring.families import server
from tests.support.files import write_jsonl
from tests.support.judging import COLOURS


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits long for a server, or sends it the key of whoever runs it."""
    monkeypatch.delenv(server.KEY_VARIABLE, raising=False)
    quick = {"READ_SECONDS": 60, "CONNECT_SECONDS": 60, "TRIES": 3, "FIRST_PAUSE": 0.001}
    for name, value in {**quick, "LONGEST_PAUSE": 0.02}.items():
        monkeypatch.setattr(server, name, value)


@pytest.fixture
def pairs_file(tmp_path: Path) -> Path:
    """Of the pairs that judges are asked about."""
    rows = [
        {"id": n, "subset": "mine", "prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected}
        for n, p in enumerate(COLOURS)
    ]
    return write_jsonl(tmp_path / "pairs.jsonl", rows)
