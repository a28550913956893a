"""Runs of judges of RewardBench 2 in the app: their words, filters, exports, and comparisons."""

import json
from functools import partial
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from explorer.core.settings import Settings
from explorer.page import views_of
from explorer.results.field import Field
from explorer.runs.facts import run_facts
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import selected_by_keys
from explorer.stores import Stores, open_stores
from explorer.tabs.models.compared import comparable
from explorer.tabs.models.state import ModelsState
from scoring.__main__ import main
from scoring.record import Run
from scoring.summary import summarise_run
from tests.support.browsing import stores_of_rows
from tests.support.chat_server import Answer, ChatServer, said
from tests.support.files import write_jsonl
from tests.support.judged_pairs import ME, listed, shown
from tests.support.judging import asked, opinion, some_rows
from tests.support.stepping import stepwise

ROWS = some_rows()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return stores_of_rows(tmp_path_factory.mktemp("judged"), ROWS)


@pytest.fixture(scope="module")
def runs(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A run as upstream asks and one by pairs, by their names in the app."""
    path = write_jsonl(tmp_path_factory.mktemp("rows") / "rb2.jsonl", ROWS)
    names = {}
    with ChatServer(lambda _, body: said(f"{opinion(asked(body))}")) as server:
        for number, prompt in enumerate(("upstream", "mt-bench"), 1):
            folder: Path = stores.runs.store.folder / f"2026010{number}-000000-0123456789abcdef"
            model = ["--model", "org/judge", "--family", "judge", "--url", f"{server.url}/v1"]
            given = ["--pairs", str(path), "--judge-prompt", prompt, "--out", str(folder)]
            assert main([*model, *given]) == 0
            names[prompt] = stores.fields.name_of(Run.open(folder).id, None, None, ME)
    return names


def test_the_verdict_names_the_letter_and_the_response_that_stood_there(
    stores: Stores, runs: dict[str, str]
) -> None:
    pairs, model = views_of(stores).pairs, runs["upstream"]
    run = stores.fields.of(model, None, None, ME).runs[model]
    kinds = set()
    for row in run.rows():
        text = unescape(shown(pairs, model, row.key))
        if row.subset == "Ties":
            assert text.count("<b>Asked about ") == len(row.rewards)
            for reward in row.rewards:
                assert ("Unreadable" if reward == -1 else f"{reward:g} of 10") in text
            continue
        assert text.count("<b>Shown ") == 1
        for letter in "ABCD":
            assert f"{letter} = " in text.partition("</b>")[0]
        best = row.rewards.index(max(each or 0 for each in row.rewards))
        name = "chosen" if best == 0 else "rejected" + (f" {best}" if best > 1 else "")
        words = "Unreadable" if row.outcome == "tie" else f"Prefers {'ABCD'[_place(text, name)]} = "
        assert words in text and (row.outcome == "tie" or f" = {name}<" in text)
        kinds.add(row.outcome)
    assert kinds == {"win", "loss", "tie"}


def _place(text: str, name: str) -> int:
    shown_as = text.partition("<b>Shown ")[2].partition("</b>")[0].split(", then ")
    return [each.partition(" = ")[2] for each in shown_as].index(name)


def test_rows_are_filtered_by_verdict_searched_and_exported(
    stores: Stores, runs: dict[str, str]
) -> None:
    pairs, model = views_of(stores).pairs, runs["upstream"]
    run = stores.fields.of(model, None, None, ME).runs[model]
    outcome = {row.key: row.outcome for row in run.rows() if row.subset != "Ties"}
    for verdict, kind in {"chosen": "win", "rejected": "loss"}.items():
        keys, _ = listed(pairs, model, verdict=verdict)
        assert keys == {key for key, each in outcome.items() if each == kind}
    unreadable, _ = listed(pairs, model, verdict="unreadable")
    assert {key for key in unreadable if key in outcome} == {
        key for key, each in outcome.items() if each == "tie"
    }
    _, report = views_of(stores).score.regions(f"?tab=score&run={run.id}", ME, {})
    assert f">{len(unreadable)} pairs</a>. Does the judge's prompt" in unescape(report["numbers"]())
    assert not {"device", "dtype", "max length", "revision"} & run_facts(run).keys()
    found, _ = listed(pairs, model, judge="not [[d]]")
    assert found and found <= outcome.keys()
    query = f"?tab=pairs&{urlencode({'model': model, 'show': 'all'})}"
    lines = b"".join(pairs.outcomes_file("jsonl", query, ME, "").parts).splitlines()
    written = {line["key"]: line["judge"] for line in map(json.loads, lines)}
    for key, each in outcome.items():
        [judge] = written[key]
        assert len(judge["shown"]) == 4
        assert (judge["verdict"] == "Unreadable") == (each == "tie")
        assert judge["verdict"].endswith(" = chosen") == (each == "win")


def test_of_two_models_the_words_of_both_are_shown_under_their_names(
    stores: Stores, runs: dict[str, str]
) -> None:
    pairs, (first, second) = views_of(stores).pairs, runs.values()
    key = f"Focus:{next(row['id'] for row in ROWS if row['subset'] == 'Focus')}"

    def html(model: str, against: str) -> str:
        asked_for = {"model": model, "against": against, "cell": "both", "pair": key}
        regions = pairs.regions(f"?tab=pairs&{urlencode({**asked_for, 'show': 'all'})}", ME)[1]
        return unescape(regions["tokens"]())

    both = html(first, second)
    assert f"What {first} wrote" in both and f"What {second} wrote" in both
    assert both.index(f"What {first}") < both.index("A = ") < both.index(f"What {second}")
    assert both.count("Prefers ") + both.count("Unreadable") == 7
    alone = unescape(shown(pairs, first, key))
    assert "What the judge wrote" in alone and second not in alone


def test_a_comparison_says_that_judges_were_not_asked_alike(
    stores: Stores, runs: dict[str, str]
) -> None:
    first, second = runs.values()

    def field_of(model: str) -> Field:
        return stores.fields.of(model, None, None, ME)

    [words] = comparable(ModelsState(a=first, b=second), field_of)[2]
    assert "not asked alike" in words and "rewardbench-2 judge" in words and "mt-bench" in words
    assert comparable(ModelsState(a=first), field_of)[2] == ()


def test_of_a_judge_that_was_asked_twice_both_answers_are_shown_and_the_spread(
    stores: Stores, tmp_path: Path
) -> None:
    def answer(_: str, body: dict[str, Any]) -> Answer:
        return said(f"[[{'AB'[body['seed'] % 2]}]] by seed {body['seed']}")

    path = write_jsonl(tmp_path / "rb2.jsonl", ROWS)
    folder: Path = stores.runs.store.folder / "20260103-000000-0123456789abcdef"
    with ChatServer(answer) as server:
        model = ["--model", "org/twice", "--family", "judge", "--url", f"{server.url}/v1"]
        given = ["--pairs", str(path), "--judge-prompt", "upstream", "--out", str(folder)]
        assert main([*model, *given, "--subset", "Focus", "--repeats", "2"]) == 0
    views, run = views_of(stores), Run.open(folder)
    name = stores.fields.name_of(run.id, None, None, ME)
    text = unescape(shown(views.pairs, name, run.rows()[0].key))
    assert text.index("· repeat 1<") < text.index("by seed 0") < text.index("· repeat 2<")
    assert text.index("by seed 0") < text.index("by seed 1")
    summary = summarise_run(run.rows(), run.facts)
    low, high, deviation = summary.spreads["accuracy"]
    page = unescape(views.score.regions(f"?tab=score&run={run.id}", ME, {})[1]["numbers"]())
    assert f"{100 * low:.1f} to {100 * high:.1f} %" in page
    assert f"2 repeats · sd {100 * deviation:.1f} points" in page


def test_a_run_of_the_app_asks_at_once_by_the_prompt_of_the_pairs(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "rb2.jsonl", ROWS[:6])
    with ChatServer(lambda _, body: said(opinion(asked(body)))) as server:
        url = f"{server.url}/v1"
        own = Settings(tmp_path / "home", pairs=str(path), offline=True, servers=(url,))
        stores = open_stores(own)
        table = stores.pairs.get(None)
        every = selected_by_keys(table, table.keys)
        settings = {"judge_prompt": "upstream", "repeats": 2, "temperature": 1}
        order = ModelOrder.of(
            {"model": "org/judge", "family": "judge", "url": url, "settings": settings}
        )
        *_, last = stepwise(partial(stores.runs.start, ME, order, every))
        stores.runs.scorers.models.release()
        seeds = [each.body["seed"] for each in server.asked]
    assert (last.stage, last.message) == ("finished", "")
    assert sorted(seeds) == [0] * 6 + [1] * 6
    assert last.run.facts.template.startswith("rewardbench-2 judge prompt:")
    assert last.run.facts.repeats == 2
