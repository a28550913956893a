from pathlib import Path

import pytest

from explorer.core.settings import Settings
from explorer.data.sources import Sources
from explorer.stores import open_stores


def test_both_shelves_are_fetched_in_the_background_and_nothing_without_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, bool]] = []
    monkeypatch.setattr(Sources, "fetch", lambda shelf, online: asked.append((shelf, online)))
    stores = open_stores(Settings(home=tmp_path, offline=True))
    assert {online for _, online in asked} == {False}
    assert stores.pairs.get(None).source.kind == "demo"
    assert stores.pairs.find(stores.pairs.sources.best) is stores.pairs.get("no such source")
    assert stores.runs.store.visible([]) == [] == list(tmp_path.iterdir())
    asked.clear()
    stores = open_stores(Settings(home=tmp_path))
    assert asked == [(stores.pairs.sources, True), (stores.results.sources, True)]
