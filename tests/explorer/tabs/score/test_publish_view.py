"""Publishing as a browser asks for it, and as anybody may."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import close_session, constants

from explorer.core.html import part
from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.sources import pair_sources
from explorer.data.table import PairTable
from explorer.reader.session import Session
from explorer.runs.cards import RunCard, write_card
from explorer.runs.running import Runs
from explorer.runs.visitors import Visitor
from explorer.tabs.score.publish_view import (
    Publish,
    build_publish,
    can_publish,
    wire_publish,
)
from explorer.tabs.score.publishing import Publication, Sending
from explorer.tabs.score.state import ScoreState
from scoring.hub.access import Hub
from scoring.pairs.opening import read_pairs
from scoring.record import Run
from tests.explorer.filling import filled, laid_out
from tests.explorer.posting import Visitor as Stranger
from tests.explorer.tables import benchmark_table
from tests.explorer.tabs.score.test_publishing import scored
from tests.hub_server import Account, HubServer, Repo

TEMPLATE = "tabs/score/publish.html"
TOKEN = "hf_ofTheVisitor"
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


def opened(run_id: Any, session: Session) -> None:
    """What the list of runs does."""
    session.show(ScoreState(run_id=run_id))


@dataclass
class Panel:
    """The panel alone on a page, with a run of all pairs and one of a few."""

    stranger: Stranger
    whole: Run
    part: Run

    def open(self, run_id: object) -> None:
        self.stranger.data(opened, {"opened": run_id})

    def look(self, run: Run, repo: str = "ana/results", name: str = "") -> list[Any]:
        self.open(run.id)
        return self.stranger.data(Publish.look, {"publish-repo": repo, "publish-name": name})

    def send(self, run: Run, **values: Any) -> dict[str, Any]:
        self.open(run.id)
        sent = {"publish-token": TOKEN, "publish-pull-request": False, **values}
        return self.stranger.post(Publish.send, sent)


def publish(settings: Settings) -> Publish:
    """The panel, laid out where it is called."""
    hub = Hub()
    offline = Hub(offline=True)
    runs = Runs(settings, offline)
    tables = Library(pair_sources(settings, offline), offline, settings)
    return Publish(runs, tables, hub, settings, build_publish(settings))


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory, bench: PairTable, pairs: Path
) -> tuple[Settings, Run, Run]:
    """A run of all pairs and one of a few, and the settings that they were made with."""
    settings = Settings(home=tmp_path_factory.mktemp("home"), pairs=str(pairs))
    return settings, scored(settings.runs, bench, len(bench)), scored(settings.runs, bench, 5)


@pytest.fixture
def panel(runs: tuple[Settings, Run, Run], server: HubServer) -> Iterator[Panel]:
    settings, whole, part = runs
    with gr.Blocks() as page:
        session = gr.State(Session())
        wire_publish(publish(settings), session)
        gr.Button().click(opened, [gr.Textbox(elem_id="opened"), session])
    page.launch(_frontend=False, prevent_thread_lock=True, quiet=True)
    yield Panel(Stranger(page), whole, part)
    page.close()


def test_first_the_files_are_seen_then_they_are_sent(panel: Panel, server: HubServer) -> None:
    shown, button, status = panel.look(panel.whole)
    assert "2 files would be sent to ana/results" in shown
    assert "eval-set-scores/baseline/longer.json" in shown and "<pre" in shown
    assert (button["interactive"], status) == (True, "")
    assert server.commits == []
    message = panel.send(panel.whole)
    status, token, button = message["output"]["data"]
    assert "Sent. As ana: " in status and "/datasets/ana/results/commit/" in status
    assert (token, button["interactive"]) == ("", False)
    [commit] = server.commits
    assert (commit.account, commit.is_pull_request, len(commit.files)) == ("ana", False, 2)


def test_the_dataset_of_others_gets_a_pull_request(panel: Panel, server: HubServer) -> None:
    panel.look(panel.whole, "other/results")
    status = panel.send(panel.whole)["output"]["data"][0]
    assert "Sent as a pull request. As ana: " in status
    assert [commit.is_pull_request for commit in server.commits] == [True]


def test_what_was_not_seen_is_not_sent(panel: Panel, server: HubServer) -> None:
    assert "press Preview" in panel.send(panel.whole)["output"]["error"]
    panel.look(panel.whole)
    assert "press Preview" in panel.send(panel.part)["output"]["error"]
    posted = panel.send(panel.part, State={"run_id": panel.part.id})
    assert "press Preview" in posted["output"]["error"]
    assert server.commits == []


def test_a_token_that_is_none_sends_nothing(
    panel: Panel, server: HubServer, subtests: pytest.Subtests
) -> None:
    for token in ("", None, 7, ["hf_x"], "hf_a\nb", "hf_wrong"):
        with subtests.test(token=token):
            panel.look(panel.whole)
            message = panel.send(panel.whole, **{"publish-token": token})
            assert not message["success"] and "token" in message["output"]["error"]
            assert "hf_" not in message["output"]["error"].replace("such as hf_…", "")
            assert server.commits == []


def test_whatever_is_posted_is_one_clear_message(panel: Panel, subtests: pytest.Subtests) -> None:
    right = {"opened": panel.whole.id, "publish-repo": "ana/results", "publish-name": ""}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"publish-repo": "results"}, "is no dataset of the Hub"),
        ({"publish-repo": None}, "nothing is no dataset"),
        ({"publish-repo": ["a/b"]}, "is no dataset"),
        ({"publish-name": "../x"}, "is no name of a model"),
        ({"opened": ""}, "No run is open"),
        ({"opened": None}, "No run is open"),
        ({"opened": "../../etc"}, "There is no such run"),
        ({"opened": 7}, "There is no such run"),
        ({"opened": "20260101-000000-0000000000000000"}, "There is no such run"),
        ({"opened": panel.part.id}, "only runs of all pairs"),
    ]
    for values, said in cases:
        with subtests.test(values=values):
            asked = right | values
            panel.open(asked.pop("opened"))
            assert said in panel.stranger.refused(Publish.look, asked)


def test_a_hostile_model_is_shown_as_text(tmp_path: Path, bench: PairTable, pairs: Path) -> None:
    settings = Settings(home=tmp_path, pairs=str(pairs))
    run = scored(settings.runs, bench, len(bench), "baseline/longer")
    hostile = replace(run.facts, template="<img src=x onerror=alert(1)>")
    replace(run, facts=hostile)._write_facts()
    panel = laid_out(publish, settings)
    shown = filled(panel.parts, panel.look(on(run, Visitor()), "ana/results", "")).shown
    assert "<img" not in shown and "&lt;img" in shown


def on(run: Run, who: Visitor) -> Session:
    """A page where the run is open."""
    session = Session(who)
    opened(run.id, session)
    return session


@pytest.fixture
def space(tmp_path: Path, pairs: Path) -> Settings:
    return Settings(
        home=tmp_path, pairs=str(pairs), public=True, space="me/space", sign_in="offered"
    )


def test_on_a_space_a_run_is_sent_as_its_owner_and_by_nobody_else(
    space: Settings, bench: PairTable, server: HubServer
) -> None:
    run = scored(space.runs, bench, len(bench))
    write_card(run.folder, RunCard(ANA.owner, public=True))
    panel, session = laid_out(publish, space), on(run, ANA)
    panel.look(session, "ana/results", "")
    *_, last = panel.send(session, "hf_typed", False)
    assert "Sent as a pull request. As ana" in filled(panel.parts, last).status
    assert [commit.is_pull_request for commit in server.commits] == [True]
    for other in (Visitor("user:ben", "s2", "hf_ben"), Visitor("browser:1", "s3"), Visitor()):
        session.visitor = other
        with pytest.raises(gr.Error, match="There is no such run"):
            panel.look(session, "ben/results", "")
        assert session.get(Sending)
        with pytest.raises(gr.Error):
            list(panel.send(session, TOKEN, False))
    assert len(server.commits) == 1


def test_on_a_space_a_typed_token_is_not_taken(space: Settings, bench: PairTable) -> None:
    run = scored(space.runs, bench, len(bench))
    write_card(run.folder, RunCard("browser:1"))
    panel = laid_out(publish, replace(space, sign_in="no"))
    session = on(run, Visitor("browser:1", "s3"))
    with pytest.raises(gr.Error, match="which this server does not offer"):
        list(panel.send(session, TOKEN, False))
    panel = replace(panel, settings=space)
    with pytest.raises(gr.Error, match="Sign in with Hugging Face first"):
        list(panel.send(session, TOKEN, False))


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
def test_where_no_token_can_be_had_the_panel_says_so(changes: dict[str, Any], may: bool) -> None:
    settings = Settings(home=Path("unused"), **changes)
    assert can_publish(settings) is may
    parts = laid_out(build_publish, settings)
    assert parts.token.visible is not settings.public
    assert parts.token.type == "password"
    assert parts.send.interactive is False


def test_where_people_sign_in_the_panel_says_that_it_asks(space: Settings, tmp_path: Path) -> None:
    for settings, asks in ((space, True), (Settings(home=tmp_path), False)):
        with gr.Blocks() as page:
            parts = build_publish(settings)
        said = "".join(
            str(each.value) for each in page.blocks.values() if isinstance(each, gr.HTML)
        )
        assert ("always as a pull request" in said) is asks
        assert parts.as_pull_request.visible is not asks


def test_only_a_secure_address_becomes_a_link() -> None:
    link = part("sent", Publication("https://huggingface.co/x?a=1&b=<", True, "<b>"), of=TEMPLATE)
    assert 'href="https://huggingface.co/x?a=1&amp;b=&lt;"' in link and "<b>" not in link
    for url in ("javascript:alert(1)", "http://127.0.0.1/x"):
        assert "href" not in part("sent", Publication(url, False, "ana"), of=TEMPLATE)
