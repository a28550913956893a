"""A visitor's token goes to the Hub and nowhere else."""

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import close_session

from explorer.core.settings import DEMO_MODEL, Settings
from explorer.data.table import PairTable
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor, owner_of
from scoring.errors import KnownError
from scoring.hub.access import Hub
from tests.support.hub_server import HubServer, Repo, use_hub
from tests.support.stepping import stepwise

TOKEN = "hf_ofTheVisitor"
SERVERS_TOKEN = "hf_ofTheServer"
ANA = Visitor("user:ana", "s1", TOKEN, "8.8.8.8")


def test_a_secret_is_no_account_and_cannot_be_read_off_its_owner() -> None:
    owner = owner_of(None, "user:ana")
    assert owner != owner_of("ana", None) and "ana" not in owner
    assert not Visitor(owner).signed_in and Visitor(owner_of("ana", None)).signed_in


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub with the demo model, on a machine that has a token of its own."""
    files = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir() if path.is_file()}
    repos = {"models/ana/private": Repo(files), "datasets/allenai/reward-bench": Repo()}
    with HubServer(repos) as hub:
        use_hub(hub.url, tmp_path / "hub", monkeypatch)
        monkeypatch.setenv("HF_TOKEN", SERVERS_TOKEN)
        yield hub
    close_session()


def test_a_visitors_token_is_sent_for_their_own_model_and_left_nowhere(
    server: HubServer,
    demo: PairTable,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    runs = Runs(Settings(home=tmp_path / "home", public=True), Hub())
    few = Selection(demo, np.arange(3), "the first")
    with caplog.at_level(logging.DEBUG):
        told = list(stepwise(partial(runs.start, ANA, ModelOrder("ana/private"), few)))
        with pytest.raises(KnownError) as caught:
            list(stepwise(partial(runs.start, ANA, ModelOrder("ana/missing"), few)))
    assert told[-1].stage == "finished"
    sent = {each.authorization for each in server.requests if "private" in each.path}
    assert sent == {f"Bearer {TOKEN}"}
    assert f"Bearer {SERVERS_TOKEN}" not in {each.authorization for each in server.requests}
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "run.json" for path in written)
    said = capfd.readouterr()
    places = [caplog.text, said.out, said.err, repr(told), str(caught.value), repr(runs.__dict__)]
    assert [place for place in places if TOKEN in place] == []
    assert [path for path in written if TOKEN.encode() in path.read_bytes()] == []
    server.requests.clear()
    runs.scorers.models.preview(Visitor("browser:1", "s2"), ModelOrder("ana/private"))
    assert {each.authorization for each in server.requests} == {None}
