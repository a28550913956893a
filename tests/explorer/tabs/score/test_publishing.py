"""Publishing: what is previewed is what is sent, by whom, and what the panel says of it."""

import json
import logging
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

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
from explorer.tabs.score.publish_html import Publishing
from explorer.tabs.score.publishing import (
    HEAD_COLUMNS,
    HEAD_LINES,
    Publication,
    Sending,
    account_of,
    preview,
    publish,
)
from explorer.tabs.score.state import ScoreState, read_score
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import read_pairs
from scoring.record import Run
from tests.conftest import until
from tests.support.beginning import baseline_run
from tests.support.hostile import MARKUP
from tests.support.hub_server import Account, HubServer, Repo, use_hub
from tests.support.tables import benchmark_table

TOKEN, SERVERS_TOKEN = "hf_ofTheVisitor", "hf_ofTheServer"
ROLES = {"lab": "write", "crew": "admin", "club": "read", "guild": "contributor"}
ME, ANA = Visitor(), Visitor("user:ana", "s1", TOKEN)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """With a file of as many pairs of each subset as RewardBench has."""
    home = tmp_path_factory.mktemp("home")
    columns = ["id", "prompt", "chosen", "rejected", "subset"]
    pq.write_table(benchmark_table().arrow.select(columns), home / "bench.parquet")
    return Settings(home=home, pairs=str(home / "bench.parquet"))


@pytest.fixture(scope="module")
def bench(settings: Settings) -> PairTable:
    return PairTable(read_pairs(Path(str(settings.pairs))))


@pytest.fixture(scope="module")
def run(settings: Settings, bench: PairTable) -> Run:
    """All pairs of the benchmark, scored by the baseline that prefers the longer response."""
    return baseline_run(settings.runs, bench, len(bench))


@pytest.fixture(scope="module")
def seen(run: Run, bench: PairTable) -> Sending:
    """What would be sent to Ana's dataset."""
    return preview(run, bench, " ana/results ", "ana/my-model")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub that knows ana, on a machine that has a token of its own."""
    repos = {f"datasets/{name}/results": Repo() for name in ("ana", "other")}
    repos["datasets/broken/results"] = Repo(refusal=(403, ""), refused="commit")
    repos["datasets/allenai/reward-bench"] = Repo({"README.md": b""})
    (tmp_path / "token").write_text(SERVERS_TOKEN)
    (tmp_path / "temp").mkdir()
    with HubServer(repos, {TOKEN: Account("ana", ROLES)}) as hub:
        use_hub(hub.url, tmp_path / "hub", monkeypatch)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setenv("HF_TOKEN", SERVERS_TOKEN)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
        yield hub
        sent = {request.authorization for request in hub.requests}
        assert f"Bearer {SERVERS_TOKEN}" not in sent
        assert list((tmp_path / "temp").iterdir()) == []
    close_session()


def test_what_was_shown_is_sent_and_to_other_people_as_a_pull_request(
    seen: Sending, run: Run, bench: PairTable, server: HubServer
) -> None:
    assert account_of(TOKEN) == ("ana", {"ana", "lab", "crew"})  # may write to those
    assert (seen.run_id, seen.repo, seen.name) == (run.id, "ana/results", "ana/my-model")
    accuracies, columns = seen.files
    lines = columns.head.split("\n")
    assert len(lines) == HEAD_LINES and max(map(len, lines)) <= HEAD_COLUMNS + 1
    sizes = {file.path: file.n_bytes for file in seen.files}
    for repo, asks, is_request in (
        ("ana/results", False, False),
        ("ana/results", True, True),
        ("other/results", False, True),
    ):
        to = replace(seen, repo=repo)
        sent = publish(to, run, bench, Hub(), token=f" {TOKEN}\n", as_pull_request=asks)
        commit = server.commits[-1]
        assert (commit.repo, commit.account) == (f"datasets/{repo}", "ana")
        assert commit.message == "Results of ana/my-model"
        assert sent.is_pull_request == commit.is_pull_request == is_request
        assert sent.url.startswith(f"{server.url}/datasets/{repo}/")
        assert {path: len(content) for path, content in commit.files.items()} == sizes
        assert json.loads(commit.files[accuracies.path])["model"] == "ana/my-model"
    assert len(server.commits) == 3


def test_only_the_visitors_token_is_sent_and_it_is_written_nowhere(
    seen: Sending,
    run: Run,
    bench: PairTable,
    server: HubServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    places = []
    with caplog.at_level(logging.DEBUG):
        places.append(repr(publish(seen, run, bench, Hub(), token=TOKEN)))
        with pytest.raises(KnownError, match=r"does not permit that \(403\)") as caught:
            publish(replace(seen, repo="broken/results"), run, bench, Hub(), token=TOKEN)
    asked = [request for request in server.requests if "reward-bench" not in request.path]
    assert {request.authorization for request in asked} == {f"Bearer {TOKEN}"}
    files = [*tmp_path.rglob("*"), *run.folder.rglob("*")]
    written = [path for path in files if path.is_file()]
    assert len(written) > 1
    places += [str(caught.value), caplog.text, *capfd.readouterr()]
    places += [request.path for request in server.requests]
    places += [path.read_text("utf-8") for path in written]
    places += [each.decode() for commit in server.commits for each in commit.files.values()]
    assert [place for place in places if TOKEN in place] == []


def test_nothing_is_sent_that_was_not_shown_or_has_changed_since_nor_without_a_token(
    seen: Sending, run: Run, bench: PairTable, server: HubServer, tmp_path: Path
) -> None:
    for shown in (None, {"repo": "ana/results"}, replace(seen, run_id="another")):
        with pytest.raises(KnownError, match="press Preview"):
            publish(shown, run, bench, Hub(), token=TOKEN)
    for token in ("", None, "hf_a\nX-Evil: 1", "hf_ü", "x" * 5000, ["hf_x"]):
        with pytest.raises(KnownError, match="That is not a token of the Hub") as caught:
            publish(seen, run, bench, Hub(), token=token)
        assert "hf_a" not in str(caught.value) and "xxx" not in str(caught.value)
    assert server.requests == []
    mine = Run.open(shutil.copytree(run.folder, tmp_path / run.id))
    path = mine.folder / "rewards.jsonl"
    lines = path.read_text().splitlines()
    row = {**json.loads(lines[0]), "chosen_reward": 12345.0}
    path.write_text("\n".join([json.dumps(row), *lines[1:], ""]))
    with pytest.raises(KnownError, match="has changed since it was shown"):
        publish(seen, mine, bench, Hub(), token=TOKEN)
    assert server.commits == []


def test_only_whole_finished_runs_of_the_benchmarks_own_pairs_are_published(
    run: Run, bench: PairTable, demo: PairTable, tmp_path: Path
) -> None:
    refused = [
        (replace(run, status="stopped"), bench, "This run is stopped: only finished runs"),
        (replace(run, facts=replace(run.facts, pairs="other@1")), bench, "of the pairs other@1"),
        (baseline_run(tmp_path, bench, 5), bench, "of 5 of 2,985 pairs: only runs of all"),
        (baseline_run(tmp_path, demo, len(demo)), demo, "are not RewardBench's own 2,985: only"),
    ]
    for of, table, words in refused:
        with pytest.raises(KnownError, match=words):
            preview(of, table, "ana/results")
    for repo in ("results", "../x/y", None):
        with pytest.raises(KnownError, match="is no dataset of the Hub: give org/name"):
            preview(run, bench, repo)
    for name in ("model", "../../x", "a/" + "b" * 300):
        with pytest.raises(KnownError, match="is no name of a model: give org/model"):
            preview(run, bench, "ana/results", name)


def panel_of(settings: Settings) -> Publishing:
    offline = Hub(offline=True)
    tables = Library(pair_sources(settings, offline), offline, settings)
    return Publishing(Runs(settings, offline), tables, Hub(), settings)


def asked(run_id: str) -> str:
    return f"?tab=score&panel=runs&run={run_id}&repo=ana/results"


def shown(panel: Publishing, query: str, who: Visitor = ME) -> str:
    """What stands in the panel, in words, once nothing goes on."""
    state, _ = read_score(query)
    until(lambda: "Sending…" not in panel.html(state, who))
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", panel.html(state, who))))


def test_first_the_files_are_seen_then_they_are_sent(
    settings: Settings, run: Run, server: HubServer
) -> None:
    panel, query = panel_of(settings), asked(run.id)
    assert panel.look(query, ME, {}) == query
    told = shown(panel, query)
    assert "would be sent to ana/results" in told and "Nothing has been sent yet" in told
    assert told.count("sha256") == 2 and not server.commits
    assert panel.send(query, ME, {"token": TOKEN}) == query
    assert "Sent. As ana:" in shown(panel, query)
    assert len(server.commits) == 1 and TOKEN not in shown(panel, query) + query


def test_on_a_space_a_run_is_sent_as_its_owner_who_signed_in_and_by_nobody_else(
    settings: Settings, run: Run, server: HubServer
) -> None:
    change_card(run, lambda _: RunCard("user:ana", public=True))
    space = replace(settings, public=True, space="me/space", sign_in="offered")
    panel, query = panel_of(space), asked(run.id)
    for who in (Visitor("user:bob", "s2", "hf_ofBob"), Visitor("browser:x", "s3")):
        for act in (panel.look, panel.send):
            with pytest.raises(KnownError, match="There is no such run"):
                act(query, who, {"token": TOKEN})
    panel.look(query, ANA, {})
    with pytest.raises(KnownError, match="Sign in with Hugging Face first"):
        panel.send(query, replace(ANA, token=False), {"token": TOKEN})
    panel.send(query, ANA, {"token": "", "as-request": "1"})
    assert "Sent as a pull request" in shown(panel, query, ANA)
    assert "publish-token" not in panel.html(read_score(query)[0], ANA)
    assert [commit.account for commit in server.commits] == ["ana"]


def test_where_no_token_can_be_had_the_panel_says_so(settings: Settings) -> None:
    space = replace(settings, public=True, space="a/b")
    assert "needs a sign-in" in shown(panel_of(space), asked(""))
    assert "needs a sign-in" not in shown(panel_of(replace(space, sign_in="offered")), asked(""))


@pytest.mark.parametrize("url", ["javascript:alert(1)", "http://x", MARKUP])
def test_only_a_secure_address_becomes_a_link(url: str) -> None:
    for address, links in ((url, 0), ("https://huggingface.co/x", 1)):
        sending = Job[object, Publication](result=Publication(address, False, MARKUP), is_over=True)
        told = {"state": ScoreState(), "may": True, "is_public": False, "preview": None}
        html = render("tabs/score/publishing.html", sending=sending, **told)
        assert html.count("<a ") == links and MARKUP not in html
