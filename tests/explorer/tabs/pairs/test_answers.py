"""What judges wrote of pairs: in the reader, in filters, in files, and beside one another."""

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
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import selected_by_keys
from explorer.runs.visitors import Visitor
from explorer.stores import Stores, open_stores
from explorer.tabs.models.compared import comparable
from explorer.tabs.models.state import ModelsState
from scoring.record import Run, new_folder
from tests.support.browsing import stores_of_rows
from tests.support.chat_server import Answer, ChatServer, said
from tests.support.files import write_jsonl
from tests.support.judging import asked, cut, judged, opinion, some_rows
from tests.support.stepping import stepwise

ME = Visitor("browser:me", "page")
HOSTILE = "<img src=x onerror=alert(1)>\n# No heading\n[[A]]"
ROWS = some_rows()
VERDICTS = {
    "chosen": "Prefers chosen",
    "rejected": "Prefers rejected",
    "unreadable": "Unreadable",
    "cut": "Cut off",
}


def run_in_app(stores: Stores, server: ChatServer, pairs: str | Path, *given: str) -> str:
    """What the command's run of a judge is called in the app. pairs: as the command takes them."""
    run = judged(server, new_folder(stores.runs.store.folder), pairs, *given)
    return stores.fields.name_of(run.id, None, None, ME)


def run_of(stores: Stores, model: str) -> Run:
    return stores.fields.of(model, None, None, ME).runs[model]


def query_of(model: str, **asked: str) -> str:
    return f"?tab=pairs&{urlencode({'model': model, 'show': 'all', **asked})}"


def listed(stores: Stores, model: str, **asked: str) -> tuple[dict[str, Any], str]:
    """What a file says of each pair that is listed, by key, and the filters as they are said."""
    pairs, query = views_of(stores).pairs, query_of(model, **asked)
    file = b"".join(pairs.outcomes_file("jsonl", query, ME, "").parts)
    bar = pairs.regions(query, ME)[1]["bar"]()
    return {line["key"]: line for line in map(json.loads, file.splitlines())}, unescape(bar)


def shown(stores: Stores, model: str, key: str, **asked: str) -> str:
    """What the judge wrote of a pair, as HTML."""
    query = query_of(model, pair=key, **asked)
    return views_of(stores).pairs.regions(query, ME)[1]["tokens"]()


def answer(path: str, body: dict[str, Any]) -> Answer:
    """Words that name A, but for some pairs; which those are is said by the texts."""
    place = len(asked(body)) % 3
    return [said(HOSTILE), said("I Cannot say."), cut("[[B]] for")][place]


@pytest.fixture(scope="module")
def model(stores: Stores) -> str:
    """A judge's run on a pair of each subset of the demo pairs."""
    with ChatServer(answer) as server:
        given = ("--per-subset", "1", "--judge-prompt", "mt-bench")
        return run_in_app(stores, server, "demo", *given)


def test_each_pair_shows_what_was_written_of_it_and_is_found_by_it(
    stores: Stores, model: str
) -> None:
    texts: dict[str, str] = {}
    for row in run_of(stores, model).rows():
        html = shown(stores, model, row.key)
        text = texts[row.key] = unescape(html)
        assert html.count("<details") == 1 and "<details open" not in html
        assert "<img" not in html and "<h1" not in html
        assert "Shown chosen, then rejected" in text or "Shown rejected, then chosen" in text
        side = {1.0: "Prefers chosen", 0.0: "Prefers rejected", 0.5: "Unreadable"}
        assert row.chosen_reward is not None and side[row.chosen_reward] in text
        assert ("I Cannot say." if row.chosen_reward == 0.5 else "[[") in text
        assert ("may-harm" in html) or row.subset != "refusals-dangerous"
    assert any(HOSTILE in text for text in texts.values())
    for verdict, words in VERDICTS.items():
        lines, bar = listed(stores, model, verdict=verdict)
        assert lines.keys() == {key for key, text in texts.items() if words in text} != set()
        assert f"judge: {words.lower()}" in bar
    lines, _ = listed(stores, model)
    for row in run_of(stores, model).rows():
        [judge] = lines[row.key]["judge"]
        assert len(judge["shown"]) == 2
        assert judge["verdict"].endswith("chosen") == (row.outcome == "win")
        assert judge["verdict"].removeprefix("Prefers ") in texts[row.key]
    lines, bar = listed(stores, model, judge="CANNOT say")
    assert lines.keys() == {key for key, text in texts.items() if "I Cannot say." in text}
    assert "“CANNOT say” in the judge’s words" in bar


def test_words_of_two_judges_stand_under_their_names_and_it_is_said_that_they_were_asked_otherwise(
    tmp_path: Path,
) -> None:
    """A run as upstream asks and one by pairs."""
    path, stores = write_jsonl(tmp_path / "rows.jsonl", ROWS), stores_of_rows(tmp_path, ROWS)
    with ChatServer(lambda _, body: said(f"{opinion(asked(body))}")) as server:
        first, second = (
            run_in_app(stores, server, path, "--judge-prompt", prompt)
            for prompt in ("upstream", "mt-bench")
        )
    key = f"Focus:{next(row['id'] for row in ROWS if row['subset'] == 'Focus')}"
    both = unescape(shown(stores, first, key, against=second, cell="both"))
    assert both.index(f"What {first} wrote") < both.index("A = ")
    assert both.index("A = ") < both.index(f"What {second} wrote")
    assert both.count("Prefers ") + both.count("Unreadable") == 7
    row = next(row for row in run_of(stores, first).rows() if row.subset == "Ties")
    assert shown(stores, first, row.key).count("<b>Asked about ") == len(row.rewards)

    def field_of(model: str) -> Field:
        return stores.fields.of(model, None, None, ME)

    [words] = comparable(ModelsState(a=first, b=second), field_of)[2]
    assert "not asked alike" in words and "rewardbench-2 judge" in words and "mt-bench" in words


def test_a_run_of_the_app_asks_at_once_by_the_prompt_of_the_pairs(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "rb2.jsonl", ROWS[:6])
    with ChatServer(lambda _, body: said(opinion(asked(body)))) as server:
        url = f"{server.url}/v1"
        own = Settings(tmp_path / "home", pairs=str(path), offline=True, servers=(url,))
        stores = open_stores(own)
        settings = {"judge_prompt": "upstream"}
        order = ModelOrder.of(
            {"model": "org/judge", "family": "judge", "url": url, "settings": settings}
        )
        table = stores.pairs.get(None)
        every = selected_by_keys(table, table.keys)
        *_, last = stepwise(partial(stores.runs.start, ME, order, every))
        stores.runs.scorers.models.release()
    assert (last.stage, last.message, len(server.asked)) == ("finished", "", 6)
    assert last.run.facts.template.startswith("rewardbench-2 judge prompt:")
