import json
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import close_session, constants

from explorer.data.table import PairTable
from explorer.tabs.score.publishing import (
    HEAD_COLUMNS,
    HEAD_LINES,
    Publication,
    preview,
    publish,
)
from scoring.errors import KnownError
from scoring.hub.access import Hub
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.results.accuracies import read_aggregates
from tests.support import hub_server
from tests.support.beginning import baseline_run
from tests.support.hub_server import HubServer, Repo
from tests.support.tables import benchmark_table, row, small_table

TOKEN = "hf_ofTheVisitor"
SERVERS_TOKEN = "hf_ofTheServer"
ANA = hub_server.Account(
    "ana", {"lab": "write", "crew": "admin", "club": "read", "guild": "contributor"}
)
DATASETS = [f"{name}/results" for name in ("ana", "lab", "crew", "club", "guild", "other")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def bench() -> PairTable:
    """As many pairs of each subset as RewardBench has."""
    return benchmark_table()


@pytest.fixture(scope="module")
def run(home: Path, bench: PairTable) -> Run:
    """All pairs of the benchmark, scored by the baseline that prefers the longer response."""
    return baseline_run(home, bench, len(bench))


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub that knows ana, on a machine that has a token of its own."""
    repos = {f"datasets/{name}": Repo() for name in DATASETS}
    repos["datasets/broken/results"] = Repo(refusal=(403, ""), refused="commit")
    repos["datasets/allenai/reward-bench"] = Repo({"README.md": b""})
    (tmp_path / "token").write_text(SERVERS_TOKEN)
    (tmp_path / "temp").mkdir()
    with HubServer(repos, {TOKEN: ANA}) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
        monkeypatch.setenv("HF_TOKEN", SERVERS_TOKEN)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
        close_session()
        yield hub
        sent = {request.authorization for request in hub.requests}
        assert f"Bearer {SERVERS_TOKEN}" not in sent
        assert list((tmp_path / "temp").iterdir()) == []
    close_session()


def sending(run: Run, table: PairTable, repo: str, **given: Any) -> Publication:
    seen = preview(run, table, repo, given.pop("name", ""))
    return publish(seen, run, table, given.pop("hub", Hub()), **{"token": TOKEN, **given})


def test_a_preview_shows_the_exact_files(run: Run, bench: PairTable) -> None:
    seen = preview(run, bench, " ana/results ", "")
    assert (seen.run_id, seen.repo, seen.name) == (run.id, "ana/results", "baseline/longer")
    assert [file.path for file in seen.files] == [
        "eval-set/baseline/longer.json",
        "eval-set-scores/baseline/longer.json",
    ]
    accuracies, columns = seen.files
    assert json.loads(accuracies.head)["model"] == "baseline/longer"
    lines = columns.head.split("\n")
    assert len(lines) == HEAD_LINES and max(map(len, lines)) <= HEAD_COLUMNS + 1
    assert columns.n_bytes > len(columns.head) > 0
    assert preview(run, bench, "ana/results", "") == seen


def test_what_is_sent_is_what_was_shown_and_reads_as_upstreams(
    run: Run, bench: PairTable, server: HubServer, tmp_path: Path
) -> None:
    seen = preview(run, bench, "ana/results", "ana/my-model")
    sent = publish(seen, run, bench, Hub(), token=f" {TOKEN}\n")
    assert sent == Publication(f"{server.url}/datasets/ana/results/commit/{'0' * 40}", False, "ana")
    [commit] = server.commits
    assert (commit.repo, commit.account) == ("datasets/ana/results", "ana")
    assert commit.message == "Results of ana/my-model"
    assert {path: len(content) for path, content in commit.files.items()} == {
        file.path: file.n_bytes for file in seen.files
    }
    for path, content in commit.files.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(content)
    (result,), left_out = read_aggregates(tmp_path)
    assert (result.model, left_out) == ("ana/my-model", [])
    won: dict[str, list[bool]] = {}
    for each in run.rows():
        won.setdefault(each.subset, []).append(each.outcome == "win")
    assert result.accuracies == {name: sum(wins) / len(wins) for name, wins in won.items()}


@pytest.mark.parametrize(
    ("repo", "asks", "is_pull_request"),
    [
        ("ana/results", False, False),
        ("ana/results", True, True),
        ("lab/results", False, False),
        ("crew/results", False, False),
        ("club/results", False, True),
        ("guild/results", False, True),
        ("other/results", False, True),
    ],
)
def test_the_dataset_of_other_people_gets_a_pull_request(
    repo: str, asks: bool, is_pull_request: bool, run: Run, bench: PairTable, server: HubServer
) -> None:
    sent = sending(run, bench, repo, as_pull_request=asks)
    assert sent.is_pull_request is is_pull_request
    assert [commit.is_pull_request for commit in server.commits] == [is_pull_request]
    end = "discussions/7" if is_pull_request else f"commit/{'0' * 40}"
    assert sent.url == f"{server.url}/datasets/{repo}/{end}"


def test_only_the_visitors_token_is_sent_and_it_is_written_nowhere(
    run: Run,
    bench: PairTable,
    server: HubServer,
    tmp_path: Path,
    home: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.DEBUG):
        sent = sending(run, bench, "ana/results")
        for repo in ("missing/results", "broken/results"):
            with pytest.raises(KnownError) as caught:
                sending(run, bench, repo)
            assert TOKEN not in str(caught.value)
    asked = [request for request in server.requests if "reward-bench" not in request.path]
    assert {request.authorization for request in asked} == {f"Bearer {TOKEN}"}
    said = capfd.readouterr()
    written = [path for path in (*tmp_path.rglob("*"), *home.rglob("*")) if path.is_file()]
    assert len(written) > 1
    places = [
        caplog.text,
        said.out,
        said.err,
        repr(sent),
        *(request.path for request in server.requests),
        *(path.read_text("utf-8") for path in written),
        *(content.decode() for commit in server.commits for content in commit.files.values()),
    ]
    assert [place for place in places if TOKEN in place] == []


def test_what_is_no_token_is_refused_and_not_repeated(
    run: Run, bench: PairTable, server: HubServer, subtests: pytest.Subtests
) -> None:
    tokens: list[Any] = [
        "", " ", None, False, True, 7, "hf_a b", "hf_a\nX-Evil: 1", "hf_ü", "hf_\x00", "x" * 5000,
        ["hf_x"],
    ]  # fmt: skip
    seen = preview(run, bench, "ana/results")
    for token in tokens:
        with subtests.test(token=token):
            with pytest.raises(KnownError, match="That is not a token of the Hub") as caught:
                publish(seen, run, bench, Hub(), token=token)
            assert "hf_a" not in str(caught.value) and "xxx" not in str(caught.value)
            assert server.requests == []


@pytest.mark.parametrize(
    ("repo", "said"),
    [
        ("broken/results", "the token does not permit that (403)."),
        ("missing/results", "there is no such dataset, or the token may not see it (404)."),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(
    repo: str, said: str, run: Run, bench: PairTable, server: HubServer
) -> None:
    with pytest.raises(KnownError) as caught:
        sending(run, bench, repo)
    assert str(caught.value) == f"The Hub did not take the results for {repo}: {said}"
    assert server.commits == []


def test_nothing_is_sent_that_was_not_shown(
    run: Run, bench: PairTable, server: HubServer, subtests: pytest.Subtests
) -> None:
    other = replace(preview(run, bench, "ana/results"), run_id="another")
    for seen in (None, "yes", {"repo": "ana/results"}, True, other):
        with subtests.test(seen=seen):
            with pytest.raises(KnownError, match="press Preview"):
                publish(seen, run, bench, Hub(), token=TOKEN)
            assert server.requests == []


def test_a_run_that_changed_since_it_was_shown_is_shown_again_first(
    bench: PairTable, server: HubServer, tmp_path: Path
) -> None:
    mine = baseline_run(tmp_path / "runs", bench, len(bench))
    seen = preview(mine, bench, "ana/results")
    path = mine.folder / "rewards.jsonl"
    lines = path.read_text().splitlines()
    row = {**json.loads(lines[0]), "chosen_reward": 12345.0}
    path.write_text("\n".join([json.dumps(row), *lines[1:], ""]))
    with pytest.raises(KnownError, match="has changed since it was shown"):
        publish(seen, mine, bench, Hub(), token=TOKEN)
    assert server.commits == []
    assert sending(mine, bench, "ana/results").account == "ana"


def test_only_whole_finished_runs_of_the_open_pairs_are_published(
    run: Run, bench: PairTable, tmp_path: Path
) -> None:
    part = baseline_run(tmp_path, bench, 5)
    with pytest.raises(KnownError, match=r"is of 5 of 2,985 pairs: only runs of all"):
        preview(part, bench, "ana/results")
    with pytest.raises(KnownError, match="This run is stopped: only finished runs"):
        preview(replace(run, status="stopped"), bench, "ana/results")
    other = replace(run, facts=replace(run.facts, pairs="other@1"))
    with pytest.raises(KnownError, match=r"is of the pairs other@1, and .* is open"):
        preview(other, bench, "ana/results")


def test_only_the_benchmarks_own_pairs_are_published(demo: PairTable, tmp_path: Path) -> None:
    two = small_table(row(subset="hep-go"), row(subset="hep-rust"))
    one_less = small_table(
        *(row(subset=pair.subset) for pair in as_pairs(benchmark_table().arrow, range(2984)))
    )
    for table in (demo, two, one_less):
        made = baseline_run(tmp_path, table, len(table))
        said = rf"is of {len(table):,} pairs that are not RewardBench's own 2,985: only"
        with pytest.raises(KnownError, match=said):
            preview(made, table, "ana/results")


@pytest.mark.parametrize(
    "repo", ["", "results", "../x/y", "a/b:c", "a/b@main", None, 7, "a/" + "b" * 300, "<b>/x"]
)
def test_what_is_no_dataset_is_refused(repo: object, run: Run, bench: PairTable) -> None:
    with pytest.raises(KnownError, match="is no dataset of the Hub: give org/name"):
        preview(run, bench, repo)


@pytest.mark.parametrize("name", ["model", "../../x", "a/b/c", "a/b@c", None, 7, "a/" + "b" * 300])
def test_what_is_no_name_is_refused(name: object, run: Run, bench: PairTable) -> None:
    with pytest.raises(KnownError, match="is no name of a model: give org/model"):
        preview(run, bench, "ana/results", name)


def test_a_local_model_is_called_local(bench: PairTable, tmp_path: Path) -> None:
    seen = preview(baseline_run(tmp_path, bench, len(bench), "/data/secret plans/v2"), bench, "a/b")
    assert seen.name == "local/v2"
    assert "secret plans" not in "".join(file.head for file in seen.files)
