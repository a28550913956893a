import shutil
from pathlib import Path

import pytest

from tests.conftest import DEMO_MODEL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the demo model, to be broken."""
    return Path(shutil.copytree(DEMO_MODEL, tmp_path / "model"))
