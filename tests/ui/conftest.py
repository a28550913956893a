"""The demo pairs, the callbacks on them, and the whole page on a server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.settings import Settings
from explorer.sources import read_demo
from explorer.stores import Stores, open_stores
from explorer.table import PairTable
from explorer.ui.browse import Browse
from explorer.ui.page import build_page, queued
from tests.ui.posting import Visitor

Serve = Callable[..., Visitor]


@pytest.fixture(scope="session")
def demo() -> PairTable:
    return read_demo()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def stores(home: Path) -> Stores:
    """Everything on the demo pairs, with no network."""
    return open_stores(Settings(home=home, pairs="demo", offline=True))


@pytest.fixture
def browse(stores: Stores) -> Browse:
    return Browse(stores.pairs, stores.counter, stores.settings)


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where Gradio puts the files that come and go."""
    folder = tmp_path_factory.mktemp("uploads")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def serve(home: Path, uploads: Path) -> Iterator[Serve]:
    """Opens the whole page with given settings, on a server; gives a visitor to it."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Visitor:
            chosen = replace(Settings(home=home, pairs="demo", offline=True), **settings)
            page = queued(build_page(open_stores(chosen)))
            page.launch(
                _frontend=False,
                prevent_thread_lock=True,
                quiet=True,
                max_file_size=chosen.max_upload_bytes,
            )
            stack.callback(page.close)
            return Visitor(page)

        yield start
