"""Publishing as a browser asks for it, and as anybody may."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import close_session, constants

from explorer.core.html import render
from explorer.core.settings import Settings
from explorer.core.work import Job
from explorer.data.library import Library
from explorer.data.sources import pair_sources
from explorer.data.table import PairTable
from explorer.runs.cards import RunCard, change_card
from explorer.runs.running import Runs
from explorer.runs.visitors import Visitor
from explorer.tabs.score.publish_html import Publishing, can_publish
from explorer.tabs.score.publishing import Publication
from explorer.tabs.score.state import ScoreState, read_score
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import read_pairs
from scoring.record import Run
from tests.conftest import until
from tests.support.beginning import baseline_run
from tests.support.hostile import MARKUP
from tests.support.hub_server import Account, HubServer, Repo
from tests.support.tables import benchmark_table

TOKEN = "hf_ofTheVisitor"
ME = Visitor()
ANA = Visitor("user:ana", "s1", TOKEN)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with as many pairs of each subset as RewardBench has."""
    path = tmp_path_factory.mktemp("pairs") / "bench.parquet"
    columns = ["prompt", "chosen", "rejected", "subset", "id"]
    rows = benchmark_table().arrow.to_pylist()
    kept = [{**{name: each[name] for name in columns[:-1]}, "id": n} for n, each in enumerate(rows)]
    pq.write_table(pa.Table.from_pylist(kept), path)
    return path


@pytest.fixture(scope="module")
def bench(pairs: Path) -> PairTable:
    return PairTable(read_pairs(pairs))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    repos = {"datasets/ana/results": Repo(), "datasets/other/results": Repo()}
    repos["datasets/allenai/reward-bench"] = Repo()
    with HubServer(repos, {TOKEN: Account("ana")}) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setenv("HF_TOKEN", "hf_ofTheServer")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        close_session()
        yield hub
        assert "Bearer hf_ofTheServer" not in {each.authorization for each in hub.requests}
    close_session()


def publishing_of(settings: Settings) -> Publishing:
    offline = Hub(offline=True)
    tables = Library(pair_sources(settings, offline), offline, settings)
    return Publishing(Runs(settings, offline), tables, Hub(), settings)


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, bench: PairTable, pairs: Path
) -> tuple[Settings, Run, Run]:
    """A run of all pairs and one of a few, and the settings that they were made with."""
    settings = Settings(home=tmp_path_factory.mktemp("home"), pairs=str(pairs))
    return (
        settings,
        baseline_run(settings.runs, bench, len(bench)),
        baseline_run(settings.runs, bench, 5),
    )


@pytest.fixture
def panel(runs: tuple[Settings, Run, Run], server: HubServer) -> Publishing:
    return publishing_of(runs[0])


def asked(run: Run | str, repo: str = "ana/results", name: str = "") -> str:
    run_id = run if isinstance(run, str) else run.id
    values = {"panel": "runs", "run": run_id, "repo": repo, "name": name}
    return "?tab=score&" + urlencode(values)


def shown(panel: Publishing, query: str, who: Visitor = ME) -> str:
    """What stands in the panel, in words, once nothing goes on."""
    state, _ = read_score(query)
    until(lambda: "Sending…" not in panel.html(state, who))
    html = panel.html(state, who)
    assert MARKUP not in html
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html)))


def sent(panel: Publishing, query: str, who: Visitor = ME, as_request: str = "") -> str:
    panel.look(query, who, {})
    panel.send(query, who, {"token": TOKEN, "as-request": as_request})
    return shown(panel, query, who)


def test_first_the_files_are_seen_then_they_are_sent(
    panel: Publishing, runs: tuple[Settings, Run, Run], server: HubServer
) -> None:
    query = asked(runs[1])
    assert panel.look(query, ME, {}) == query
    seen = shown(panel, query)
    assert "would be sent to ana/results" in seen and "Nothing has been sent yet" in seen
    assert seen.count("sha256") == 2 and not server.commits
    assert panel.send(query, ME, {"token": TOKEN}) == query
    assert "Sent. As ana:" in shown(panel, query)
    [commit] = server.commits
    assert not commit.is_pull_request
    assert TOKEN not in shown(panel, query) + query


@pytest.fixture
def space(runs: tuple[Settings, Run, Run], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Where people sign in, with a run of Ana's."""
    settings, whole, _ = runs
    change_card(whole, lambda _: RunCard("user:ana", public=True))
    return replace(settings, public=True, space="me/space", sign_in="offered")


def test_on_a_space_a_run_is_sent_as_its_owner_and_by_nobody_else(
    space: Settings, runs: tuple[Settings, Run, Run], server: HubServer
) -> None:
    panel, query = publishing_of(space), asked(runs[1])
    for who in (Visitor("user:bob", "s2", "hf_ofBob"), Visitor("browser:x", "s3")):
        for act in (panel.look, panel.send):
            with pytest.raises(KnownError, match="There is no such run"):
                act(query, who, {"token": TOKEN})
    assert "Sent as a pull request" in sent(panel, query, ANA)
    assert "publish-token" not in panel.html(read_score(query)[0], ANA)
    [commit] = server.commits
    assert commit.is_pull_request


def test_on_a_space_a_typed_token_is_not_taken(
    space: Settings, runs: tuple[Settings, Run, Run], server: HubServer
) -> None:
    panel, unsigned = publishing_of(space), replace(ANA, token=False)
    panel.look(asked(runs[1]), unsigned, {})
    with pytest.raises(KnownError, match="Sign in with Hugging Face first"):
        panel.send(asked(runs[1]), unsigned, {"token": TOKEN})
    assert not server.commits


@pytest.mark.parametrize(
    ("changes", "may"),
    [
        ({}, True),
        ({"public": True}, False),
        ({"public": True, "space": "a/b"}, False),
        ({"public": True, "space": "a/b", "sign_in": "offered"}, True),
        ({"public": True, "sign_in": "offered"}, False),
    ],
)
def test_where_no_token_can_be_had_the_panel_says_so(
    changes: dict[str, Any], may: bool, runs: tuple[Settings, Run, Run]
) -> None:
    settings = replace(runs[0], **changes)
    assert can_publish(settings) is may
    assert ("needs a sign-in" in shown(publishing_of(settings), asked(""))) is not may


@pytest.mark.parametrize("url", ["javascript:alert(1)", "http://x", MARKUP])
def test_only_a_secure_address_becomes_a_link(url: str) -> None:
    def html(url: str) -> str:
        sending = Job[object, Publication](result=Publication(url, False, MARKUP), is_over=True)
        state = ScoreState()
        told = {"state": state, "may": True, "is_public": False, "preview": None}
        return render("tabs/score/publishing.html", sending=sending, **told)

    assert "<a " not in html(url) and MARKUP not in html(url)
    assert '<a href="https://huggingface.co/x"' in html("https://huggingface.co/x")
