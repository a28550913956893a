from pathlib import Path

import pytest

from explorer.core.settings import Settings
from explorer.data.sources import Sources
from explorer.stores import open_stores


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The shelves that were asked to fetch from the network; none does."""
    shelves: list[object] = []

    def fetch(sources: object, online: bool) -> None:
        shelves.extend([sources] if online else [])

    monkeypatch.setattr(Sources, "fetch", fetch)
    return shelves


def test_without_the_network_the_demo_pairs_are_there_and_nothing_is_fetched(
    tmp_path: Path, fetched: list[object]
) -> None:
    stores = open_stores(Settings(home=tmp_path, offline=True))
    assert fetched == []
    assert stores.pairs.get(None).source.kind == "demo"
    assert stores.pairs.find(stores.pairs.sources.best) is stores.pairs.get("no such source")
    assert stores.runs.store.visible([]) == []
    assert list(tmp_path.iterdir()) == []


def test_with_the_network_both_shelves_are_fetched_in_the_background(
    tmp_path: Path, fetched: list[object]
) -> None:
    stores = open_stores(Settings(home=tmp_path))
    assert fetched == [stores.pairs.sources, stores.results.sources]
