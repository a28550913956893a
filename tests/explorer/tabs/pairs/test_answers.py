"""What a judge wrote of the open pair of a run, in the reader."""

from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest

from explorer.page import views_of
from explorer.stores import Stores
from scoring.__main__ import main
from scoring.record import Run
from tests.support.chat_server import Answer, ChatServer, said
from tests.support.judged_pairs import ME, listed, shown
from tests.support.judging import asked, cut

HOSTILE = "<img src=x onerror=alert(1)>\n# No heading\n[[A]]"


def answer(path: str, body: dict[str, Any]) -> Answer:
    """Words that name A, but for some pairs; which those are is said by the texts."""
    place = len(asked(body)) % 3
    return [said(HOSTILE), said("I Cannot say."), cut("[[B]] for")][place]


@pytest.fixture(scope="module")
def run(stores: Stores) -> Run:
    """A judge's run on a pair of each subset of the demo pairs."""
    folder = stores.runs.store.folder / "20260101-000000-0123456789abcdef"
    with ChatServer(answer) as server:
        model = ["--model", "org/judge", "--family", "judge", "--url", f"{server.url}/v1"]
        given = ["--pairs", "demo", "--per-subset", "1", "--judge-prompt", "mt-bench"]
        assert main([*model, *given, "--out", str(folder)]) == 0
    return Run.open(folder)


def test_each_pair_shows_what_was_written_of_it_and_what_that_means(
    stores: Stores, run: Run
) -> None:
    pairs = views_of(stores).pairs
    model = stores.fields.name_of(run.id, None, None, ME)
    kinds: set[object] = set()
    for row in run.rows():
        html = shown(pairs, model, row.key)
        text = unescape(html)
        assert html.count("<details") == 1 and "<details open" not in html
        assert "<img" not in html and "<h1" not in html
        assert "Shown chosen, then rejected" in text or "Shown rejected, then chosen" in text
        side = {1.0: "Prefers chosen", 0.0: "Prefers rejected", 0.5: "Unreadable"}
        assert side[row.chosen_reward or 0.0] in text
        words = "I Cannot say." if row.chosen_reward == 0.5 else "[["
        assert words in text
        assert ("Cut off" in text) == ("[[B]] for" in text)
        kinds |= {"cut"} if "Cut off" in text else {row.chosen_reward}
    assert {"cut", 0.5} < kinds
    assert any(HOSTILE in unescape(shown(pairs, model, row.key)) for row in run.rows())


def test_a_harmful_subset_hides_the_words_too(stores: Stores, run: Run) -> None:
    pairs = views_of(stores).pairs
    model = stores.fields.name_of(run.id, None, None, ME)
    [row] = [row for row in run.rows() if row.subset == "refusals-dangerous"]
    assert "may-harm" in shown(pairs, model, row.key)


def test_pairs_are_filtered_by_verdict_and_searched_by_the_words(stores: Stores, run: Run) -> None:
    pairs = views_of(stores).pairs
    model = stores.fields.name_of(run.id, None, None, ME)
    texts = {row.key: unescape(shown(pairs, model, row.key)) for row in run.rows()}
    for verdict, words in {
        "chosen": "Prefers chosen",
        "rejected": "Prefers rejected",
        "unreadable": "Unreadable",
        "cut": "Cut off",
    }.items():
        keys, bar = listed(pairs, model, verdict=verdict)
        assert keys == {key for key, text in texts.items() if words in text} != set()
        assert f"judge: {words.lower()}" in bar
    keys, bar = listed(pairs, model, judge="CANNOT say")
    assert keys == {key for key, text in texts.items() if "I Cannot say." in text}
    assert "“CANNOT say” in the judge’s words" in bar
    both, _ = listed(pairs, model, judge="[[b]]", verdict="rejected")
    assert both == {
        key for key, text in texts.items() if "[[B]] for" in text and "Prefers rejected" in text
    }


def test_of_models_that_wrote_nothing_the_filter_is_dropped(stores: Stores, run: Run) -> None:
    pairs = views_of(stores).pairs
    address, regions = pairs.regions("?tab=pairs&model=&verdict=cut&judge=x", ME)
    assert "verdict" not in address and "judge=" not in address
    assert "verdict=cut" in regions["bar"]() and "judge-words" not in regions["head"]()
    model = stores.fields.name_of(run.id, None, None, ME)
    head = pairs.regions(f"?tab=pairs&{urlencode({'model': model})}", ME)[1]["head"]()
    assert "judge-words" in head
