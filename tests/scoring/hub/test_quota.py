"""Who may have what lies in the Hub's cache of a server for strangers, and how much lies there."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scoring.errors import KnownError
from scoring.hub.access import Hub, HubId
from scoring.hub.cache import FETCHED, DiskQuota
from scoring.models.finding import ModelPolicy, locate
from scoring.spec import ModelSpec
from tests.conftest import DEMO_MODEL
from tests.support.hub_server import Repo, served_hub

FILES = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir() if path.suffix != ".md"}
SIZE = sum(map(len, FILES.values()))
MODEL = Repo(FILES)
POLICY = ModelPolicy(None, local_folders=False)
OWN = "hf_own"


@dataclass
class There:
    """A Hub that may change while it is asked, and the cache of a server here."""

    repos: dict[str, Repo]
    cache: Path

    def here(self) -> set[str]:
        return {path.name.removeprefix("models--org--") for path in self.cache.glob("models--*")}

    def age(self, name: str, seconds: float) -> None:
        """Have a model last been used so many seconds before it was."""
        mark = self.cache / f"models--org--{name}" / FETCHED
        before = mark.stat().st_mtime - seconds
        os.utime(mark, (before, before))


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[There]:
    repos = {f"models/org/{name}": MODEL for name in ("open", "a", "b", "c", "d")}
    repos["models/org/private"] = replace(MODEL, info={"private": True})
    repos["models/org/gated"] = replace(MODEL, info={"gated": "manual"})
    with served_hub(repos, tmp_path / "hub", monkeypatch, OWN):
        yield There(repos, tmp_path / "hub")


@pytest.mark.parametrize("name", ["org/private", "org/gated"])
def test_what_one_visitor_may_have_is_not_given_to_others(name: str, there: There) -> None:
    spec = locate(name, POLICY, Hub(shared=True), token=OWN)
    assert Path(spec.folder, "model.safetensors").is_file()
    unreached = Hub(offline=True, shared=True)
    for token in (False, "hf_of_another"):
        with pytest.raises(KnownError, match=rf"{name} is not for everybody, and the Hub cannot"):
            locate(name, POLICY, unreached, token=token)
    assert locate(name, POLICY, Hub(shared=True), token=OWN) == spec
    assert locate(name, POLICY, Hub(offline=True)) == spec
    kept = [path for path in there.cache.rglob("*") if path.is_file()]
    assert not [path for path in kept if OWN.encode() in path.read_bytes()]


def test_the_hub_decides_anew_who_may_have_a_model(there: There) -> None:
    unreached = Hub(offline=True, shared=True)
    opened = locate("org/open", POLICY, Hub(shared=True), token=OWN)
    assert locate("org/open", POLICY, unreached) == opened  # which everybody may have
    spec = locate("org/private", POLICY, Hub(shared=True), token=OWN)
    there.repos["models/org/private"] = MODEL
    assert locate("org/private", POLICY, Hub(shared=True)) == spec
    there.repos["models/org/private"] = replace(MODEL, info={"private": True})
    locate("org/private", POLICY, Hub(shared=True), token=OWN)
    with pytest.raises(KnownError, match="is not for everybody"):
        locate("org/private", POLICY, unreached)


def hub_with_quota(models: float, *keep: str) -> Hub:
    """A Hub of a server that keeps so many models of the size of the demo's."""
    return Hub(shared=True, quota=DiskQuota(models * SIZE / 1e9, keep))


def fetched(hub: Hub, there: There, *names: str) -> list[ModelSpec]:
    """Models fetched one after the other, an hour apart."""
    specs = []
    for name in names:
        specs.append(locate(f"org/{name}", POLICY, hub))
        for each in there.here():
            there.age(each, 3600)
    return specs


def test_the_least_recently_used_model_makes_room(there: There) -> None:
    hub = hub_with_quota(3.5)
    fetched(hub, there, "a", "b", "c", "a")
    assert there.here() == {"a", "b", "c"}
    fetched(hub, there, "d")
    assert there.here() == {"a", "c", "d"}


def test_what_the_owner_chose_or_had_stays_and_is_not_counted(there: There) -> None:
    locate("org/a", POLICY, Hub())
    hub = hub_with_quota(2.5, "org/b")
    for name in ("a", "b", "c", "d", "open"):
        locate(f"org/{name}", POLICY, hub)
        if name in ("c", "d"):
            there.age(name, 3600)
    assert there.here() == {"a", "b", "d", "open"}


def test_what_has_no_room_is_not_fetched_and_the_model_that_was_loaded_last_stays(
    there: There,
) -> None:
    hub = hub_with_quota(1.5)
    [spec] = fetched(hub, there, "a")
    with pytest.raises(KnownError, match=r"no room for .* \(EXPLORER_MODELS_GB\), and those"):
        hub.fetch(hub.look(HubId("org/b"), "model", token=False), [*FILES], token=False)
    assert not list((there.cache / "models--org--b").rglob("*.safetensors"))
    assert locate("org/a", POLICY, hub) == spec
    assert Path(spec.folder, "model.safetensors").is_file()


def test_what_is_being_fetched_or_was_asked_for_just_now_stays(there: There) -> None:
    quota = DiskQuota(2.5 * SIZE / 1e9)
    hub = Hub(shared=True, quota=quota)
    listing = hub.look(HubId("org/a"), "model", token=False)
    hub.fetch(listing, [*FILES], token=False)
    with pytest.raises(KnownError, match="no room"), quota.fetching("org/b", 2 * SIZE):
        pytest.fail("there was room")
    there.age("a", 3600)
    with quota.fetching("org/a", 0):
        with pytest.raises(KnownError, match="no room"), quota.fetching("org/b", 2 * SIZE):
            pytest.fail("there was room")
        assert Path(listing.folder, "model.safetensors").is_file()
    there.age("a", 3600)
    with quota.fetching("org/b", 2 * SIZE):
        assert "a" not in there.here()


def test_a_model_that_changes_while_it_is_fetched_is_not_mixed(there: There) -> None:
    hub = Hub(shared=True)
    listing = hub.look(HubId("org/a"), "model", token=False)
    there.repos["models/org/a"] = Repo({**FILES, "more.json": b"{}"})
    with pytest.raises(KnownError, match=r"org/a changed while it was fetched\. Try again"):
        hub.fetch(listing, ["config.json"], token=False)
