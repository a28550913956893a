"""Small published results, which are written once, and the Models tab on them."""

from pathlib import Path

import pytest

from explorer.data.table import PairTable
from explorer.tabs.models.view import ModelsView
from tests.support.published import open_models, write_published


@pytest.fixture(scope="session")
def published(demo: PairTable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of results, which no test changes."""
    return write_published(tmp_path_factory.mktemp("published") / "results", demo.keys)


@pytest.fixture(scope="module")
def models(published: Path, tmp_path_factory: pytest.TempPathFactory) -> ModelsView:
    """The tab on them, without runs."""
    return open_models(tmp_path_factory.mktemp("home"), published)
