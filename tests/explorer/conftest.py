"""An empty Hub cache for every test, tables to look at, callbacks, the whole page on a server."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import gradio as gr
import pytest
from gradio.routes import App
from huggingface_hub import constants

from explorer.core.served import launched
from explorer.core.settings import DEMO_PAIRS, Settings
from explorer.data.table import PairTable
from explorer.page import build_page
from explorer.reader.scene import Scenes
from explorer.results import library
from explorer.results.published import Results, with_outcomes
from explorer.stores import Stores, open_stores
from explorer.tabs.models.view import ModelsView
from explorer.tabs.pairs.view import PairsView
from scoring.hub.access import Hub
from scoring.pairs.opening import read_pairs
from tests.conftest import PATIENCE
from tests.support.hub_server import Repo, served_hub
from tests.support.posting import Visitor
from tests.support.published import open_models, write_published

COMMIT = "0123456789abcdef0123456789abcdef01234567"

PutInCache = Callable[[str, Mapping[str, bytes]], None]
Serve = Callable[..., Visitor]


@pytest.fixture(scope="session", autouse=True)
def no_app_before_it_is_launched() -> Iterator[None]:
    """Gradio makes what serves components whenever they are laid out, 50 ms each, and once more
    where they are launched.
    """
    make = App.create_app

    def launched_app(page: gr.Blocks, *given: Any, **named: Any) -> App | None:
        return make(page, *given, **named) if "app_kwargs" in named else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "create_app", launched_app)
        yield


@pytest.fixture(scope="module", autouse=True)
def hub_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a developer has downloaded must not decide what a test sees."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_CACHE", str(tmp_path_factory.mktemp("hub")))
        yield


@pytest.fixture
def put_in_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PutInCache:
    """Lays a dataset into a fresh Hub cache, as a download would have."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))

    def put(repo: str, files: Mapping[str, bytes]) -> None:
        home = tmp_path / "hub" / f"datasets--{repo.replace('/', '--')}"
        of_commit = {f"snapshots/{COMMIT}/{name}": content for name, content in files.items()}
        for name, content in {"refs/main": COMMIT.encode(), **of_commit}.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    return put


@pytest.fixture
def hub_repos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Repo]]:
    """What a Hub serves; it may change while it is asked. No token may be sent."""
    repos: dict[str, Repo] = {}
    repos["datasets/allenai/reward-bench"] = Repo({"README.md": b""})  # the probe's
    with served_hub(repos, tmp_path / "hub", monkeypatch):
        yield repos


@pytest.fixture(scope="session")
def hub() -> Hub:
    return Hub(offline=True)


@pytest.fixture(scope="session")
def demo() -> PairTable:
    return PairTable(read_pairs(DEMO_PAIRS, kind="demo"))


@pytest.fixture(scope="session")
def real(shared_data: Path) -> PairTable:
    """The whole filtered split of RewardBench."""
    return PairTable(read_pairs(shared_data / "reward-bench" / "filtered.parquet"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def stores(home: Path) -> Stores:
    """Everything on the demo pairs, with no network."""
    return open_stores(Settings(home=home, pairs="demo", offline=True))


@pytest.fixture
def may_read(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Results of each pair are read once it is set."""
    may = Event()

    def waited(*given: Any) -> Results:
        assert may.wait(PATIENCE)
        return with_outcomes(*given)

    monkeypatch.setattr(library, "with_outcomes", waited)
    return may


@pytest.fixture
def pairs_view(stores: Stores) -> PairsView:
    return PairsView(Scenes(stores.pairs, stores.counter, stores.fields), stores.settings)


@pytest.fixture(scope="session")
def published(demo: PairTable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of small published results, which no test changes."""
    return write_published(tmp_path_factory.mktemp("published") / "results", demo.keys)


@pytest.fixture(scope="module")
def models(published: Path, tmp_path_factory: pytest.TempPathFactory) -> ModelsView:
    """The Models tab on them, without runs."""
    return open_models(tmp_path_factory.mktemp("home"), published)


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

        def start(mcp: bool = False, **settings: Any) -> Visitor:
            chosen = replace(Settings(home=home, pairs="demo", offline=True), **settings)
            stores = open_stores(chosen)
            page, routes = build_page(stores)
            page.launch(**launched(chosen, routes), mcp_server=mcp, quiet=True)
            stack.callback(page.close)
            return Visitor(page)

        yield start


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    """Somebody new, to the server of a file."""
    return Visitor(server.page)


@pytest.fixture
def no_bug(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever is asked, nothing may fail in a way that nobody thought of."""
    yield
    failed = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert [(each.getMessage(), each.exc_text) for each in failed] == []
