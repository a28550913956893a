"""Models beside each other: what is shown, and that it stands whatever anyone posts to it."""

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest

from explorer.core.settings import Settings
from explorer.data.table import PairTable
from explorer.page import Page
from explorer.reader.session import Session
from explorer.stores import Stores, open_stores
from explorer.tabs.models.acts_view import ModelsTab
from explorer.tabs.models.state import MODELS_PANELS, MOST_MEMBERS, ModelsPanel, ModelsState
from explorer.tabs.pairs.acts_view import PairsTab
from tests.conftest import until
from tests.explorer.board_data import OF_DEMO
from tests.explorer.boards import by_name, comparing, tab_on
from tests.explorer.browsing import act, posted, stays
from tests.explorer.conftest import Serve
from tests.explorer.filling import Filled, filled
from tests.explorer.html_reading import HtmlReading, is_told_as_our_own
from tests.explorer.posting import Visitor
from tests.explorer.rival_fields import HOSTILE

A, B, PLAIN, HALF = "org/a", "org/b", "org/plain", "org/half"
TAGS = {
    "div", "section", "header", "fieldset", "legend", "label", "input", "datalist", "option",
    "button", "span", "b", "small", "bdi", "a", "h2", "table", "thead", "tbody", "tr", "th", "td",
    "ins", "del", "mark", "i",
}  # fmt: skip
NONSENSE: list[Any] = [None, -1, 1e300, "\ud800", "x" * 10**6, [[["x"]]], {"a": {"b": 1}}, HOSTILE]
ACTS = ("a", "b", "add", "remove", "swap", "section", "panel", "way", "pick", "open", "step", "fly")


@pytest.fixture(scope="module")
def results(demo: PairTable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the demo pairs, of three models with rewards, and of pairs of their own."""
    folder = tmp_path_factory.mktemp("results")
    drawn = np.random.default_rng(5)
    keys = [key.partition(":") for key in demo.keys]
    pairs = {"subset": [each[0] for each in keys], "id": [each[2] for each in keys]}
    for number, model in enumerate((A, B, HOSTILE, PLAIN, HALF, "org/elsewhere")):
        chosen, rejected = drawn.normal(size=(2, 188)).round(3)
        n = {HALF: 100, "org/elsewhere": 2}.get(model, 188)
        values: dict[str, Any] = {name: each[:n] for name, each in pairs.items()}
        values["results"] = (chosen > rejected).astype(float).tolist()[:n]
        if number < 3:
            values |= {"scores_chosen": chosen.tolist(), "scores_rejected": rejected.tolist()}
        if model == "org/elsewhere":
            values |= {"subset": ["own"] * 2, "id": ["x", "y"]}
        of_subsets = dict.fromkeys(["hep-go", "donotanswer"], 0.5)
        for kind, content in (("eval-set-scores", values), ("eval-set", of_subsets)):
            path = folder / kind / "org" / f"{number}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"model": model, **content}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def on_results(home: Path, results: Path) -> Stores:
    settings = Settings(home, pairs="demo", results=str(results), results_of=OF_DEMO, offline=True)
    stores = open_stores(settings)
    assert list(stores.fields.reading(None))
    return stores


@pytest.fixture
def tab(on_results: Stores) -> ModelsTab:
    return tab_on(on_results)


@pytest.fixture(autouse=True)
def no_bug(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever is posted, nothing may fail in a way that nobody thought of."""
    yield
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == []


def shown_on(tab: ModelsTab, session: Session, filling: Any) -> Filled:
    """What a callback shows; "seen" is the state after it."""
    return Filled(filled(tab.parts, filling), seen=session.seen(ModelsState))


def opened(tab: ModelsTab, link: str) -> Filled:
    session = Session()
    return shown_on(tab, session, tab.open(f"?tab=compare&{link}", session))


def page_on(seen: ModelsState) -> Session:
    session = Session()
    session.show(seen)
    return session


def acted(tab: ModelsTab, seen: ModelsState, name: str, **sent: Any) -> Filled:
    session = page_on(seen)
    return shown_on(tab, session, tab.act(act(name, **sent), session))


def numbers(html: str) -> list[int]:
    """Those in links."""
    return [int(each.replace(",", "")) for each in re.findall(r"<a [^>]*>([\d,]+)</a>", html)]


def test_two_models_are_compared_in_numbers(tab: ModelsTab, on_results: Stores) -> None:
    shown = opened(tab, f"a={A}&b={B}")
    [field] = [each for each in on_results.fields.all(*Session().where) if A in each.place_of]
    a, b = field.outcomes(A) == 1, field.outcomes(B) == 1
    cells = [int(each.sum()) for each in (a & b, a & ~b, ~a & b, ~a & ~b)]
    assert numbers(shown.table)[:4] == cells
    assert "Compared on 188 pairs" in shown.told
    assert f"1 of {cells[1] + cells[2]}" in shown.reader_bar
    assert shown.address.startswith(f"panel=compare&a={A}&b={B}&source=demo")
    for name in ("Chat Hard", "hep-go", "95 %", "in the counts a tie is no win"):
        assert name in shown.table


def test_what_is_said_of_a_difference_follows_the_corrected_test(tab: ModelsTab) -> None:
    body = opened(tab, f"a={A}&b={B}").table
    assert "not significant" in body and "can a difference be told" in body
    assert body.count("for this section alone: ") == body.count("corrected for all sections") == 4
    assert "unchanged" not in body and "= same score" in body


def test_the_reader_tells_what_every_compared_model_made_of_a_pair(tab: ModelsTab) -> None:
    shown = opened(tab, f"a={A}&b={B}&with={PLAIN}")
    table = HtmlReading(shown.pair, TAGS).of_class["verdicts"][0]
    assert all(name in table for name in (A, B, PLAIN))
    assert is_told_as_our_own(shown.pair)
    key = shown.seen.reading.key
    stepped = acted(tab, shown.seen, "step", value=1)
    assert stepped.seen.reading.key != key
    assert f'data-key="{stepped.seen.reading.key}"' in stepped.pair
    assert all(stays(each) for each in (stepped.head, stepped.told, stepped.table, stepped.plot))


def test_a_model_alone_stands_against_the_majority(tab: ModelsTab) -> None:
    shown = acted(tab, comparing(), "a", value=PLAIN)
    assert "the majority of the others" in shown.head and "majority wins" in shown.told
    assert sum(numbers(shown.table)[:4]) <= 188


def test_different_pairs_are_compared_on_what_they_share(tab: ModelsTab) -> None:
    shown = opened(tab, f"a={A}&b={HALF}")
    assert "Compared on 100 pairs" in shown.told and "A 188, B 100" in shown.told
    assert sum(numbers(shown.table)[:4]) == 100
    assert "not the RewardBench score" in shown.table


def test_several_models_are_compared_two_by_two(tab: ModelsTab) -> None:
    shown = opened(tab, f"a={A}&b={B}&with={PLAIN}&with={HALF}")
    assert "6 comparisons" in shown.table and "C − D" in shown.table
    assert 'id="add-name"' not in shown.head
    assert 'id="add-name"' in acted(tab, shown.seen, "remove", value=PLAIN).head


def test_margins_are_drawn_where_both_models_have_rewards(tab: ModelsTab) -> None:
    shown = opened(tab, f"a={A}&b={B}&part=scatter")
    figure = shown.plot["value"]
    assert shown.plot["visible"] and sum(len(trace.x) for trace in figure.data) == 188
    key = figure.data[0].customdata[0]
    assert acted(tab, shown.seen, "goto", value=key).seen.reading.key == key
    for link, words, letter, model in (
        (f"a={A}&b={PLAIN}", PLAIN, "b", B), (f"a={PLAIN}&b={B}", PLAIN, "a", A),
        (f"a={A}", "majority", "b", B), ("", "two models", "a", A),
    ):  # fmt: skip
        empty = opened(tab, f"{link}&part=scatter")
        assert not empty.plot["visible"] and words in empty.table
        read = HtmlReading(empty.table, TAGS)
        assert set(read.attributes["button", "data-act"]) == {letter}
        assert json.dumps({"value": model}) in read.attributes["button", "data-sent"]
    few = opened(tab, "a=org/elsewhere&part=scatter").table
    assert "for these pairs: 0" in few and "?tab=score" in few


def test_agreement_lists_all_others_and_leads_to_them(tab: ModelsTab) -> None:
    shown = opened(tab, f"a={A}&part=agreement")
    read = HtmlReading(shown.table, TAGS)
    sent = [json.loads(each)["value"] for each in read.attributes["button", "data-sent"]]
    assert sorted(sent) == sorted([B, HOSTILE, PLAIN, HALF])
    assert "Won, A − it, points" in read.words and "a tie is no win" in read.words
    assert shown.pair == shown.reader_bar == ""
    assert acted(tab, shown.seen, "b", value=sent[0]).seen.b == sent[0]


def test_the_search_of_the_board_narrows_what_is_listed_beside_a_model(tab: ModelsTab) -> None:
    def searched() -> Filled:
        return acted(tab, ModelsState(a=A, pins=(B,)), "search", value="plain|half")

    until(lambda: "Tie group" in searched().table)
    board = searched()
    shown = acted(tab, board.seen, "panel", value="agreement")
    sent = HtmlReading(shown.table, TAGS).attributes["button", "data-sent"]
    assert sorted(json.loads(each)["value"] for each in sent) == [HALF, PLAIN]
    back = acted(tab, shown.seen, "panel", value="board")
    assert back.table == board.table and back.below.visible and not shown.below.visible


def test_ensembles_are_made_of_models_with_rewards(tab: ModelsTab) -> None:
    seen = opened(tab, f"a={A}&part=ensembles").seen
    offered = HtmlReading(opened(tab, f"a={A}&part=ensembles").table, TAGS)
    assert offered.attributes["input", "value"] == [HOSTILE, A, B]
    assert "Tick two" in offered.words
    shown = acted(tab, seen, "pick", facet="members", names=[A, HOSTILE])
    assert "188 pairs with rewards from every member" in shown.table and "3 tried" in shown.table
    assert shown.address.count("member=") == 2
    plain = acted(tab, seen, "pick", facet="members", names=[A, PLAIN])
    assert "has none here" in plain.table


def test_without_rewards_of_two_models_there_are_no_ensembles(tab: ModelsTab) -> None:
    assert "for these pairs: 0" in opened(tab, "a=org/elsewhere&part=ensembles").table


@pytest.mark.parametrize("panel", MODELS_PANELS[1:])
def test_hostile_names_stay_words(tab: ModelsTab, panel: ModelsPanel) -> None:
    state = comparing(HOSTILE, A, (B,), panel, members=(HOSTILE, A))
    shown = filled(tab.parts, tab.show(page_on(state)))
    for html in (shown.head, shown.told, shown.panels, shown.table, shown.reader_bar):
        read = HtmlReading(html, TAGS)
        links = read.attributes["a", "href"]
        assert all(link.startswith("?tab=pairs&") for link in links)
    assert HOSTILE in HtmlReading(shown.head, TAGS).attributes["input", "value"]


def test_the_panels_of_one_model_that_nothing_compares_with(tab: ModelsTab) -> None:
    for panel, words in (
        ("compare", "No pair has known outcomes"),
        ("agreement", "No other model"),
    ):
        assert words in opened(tab, f"a=org/elsewhere&panel={panel}").table


def test_what_a_link_says_wrongly_is_told(tab: ModelsTab) -> None:
    shown = opened(tab, f"a={A}&b=org/elsewhere&with=gone&part=pie")
    assert shown.seen.named == (A,)
    assert "part=pie" in shown.told and "different pairs" in shown.told


def test_before_anything_was_read_it_says_what_to_do(stores: Stores) -> None:
    tab = tab_on(stores)
    shown = filled(tab.parts, tab.show(page_on(comparing())))
    assert "No per-pair results" in shown.head and shown.table == ""


# As anyone may post to it


@pytest.fixture(scope="module")
def server(serve: Serve, results: Path) -> Visitor:
    visitor = serve(public=True, results=str(results))
    visitor.data(PairsTab.read)
    return visitor


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    """Somebody new, who compares two models."""
    new = Visitor(server.page)
    new.data(Page.open, {"Textbox": f"?tab=compare&a={A}&b={B}"})
    return new


def posting(visitor: Visitor, name: object, **sent: object) -> dict[str, Any]:
    values = visitor.data(ModelsTab.act, event_data=posted(name, **sent))
    return by_name(values)


def test_an_act_is_answered_over_the_wire(visitor: Visitor) -> None:
    shown = posting(visitor, "swap")
    assert shown["address"].startswith(f"panel=compare&a={B}&b={A}")
    assert stays(posting(visitor, "step", value=1)["table"])


@pytest.mark.parametrize("name", ACTS)
def test_nonsense_is_refused_clearly_and_what_is_seen_stays(visitor: Visitor, name: str) -> None:
    for value in NONSENSE:
        for sent in (value, {"value": value, "names": value, "facet": value}):
            message = visitor.post(ModelsTab.act, event_data={"act": name, "sent": sent})
            told = str(message["output"].get("error", ""))
            assert message["success"] or (told and len(told) < 1000 and "of ours" not in told)
    for forged in (None, {"a": HOSTILE}, [1]):
        visitor.post(ModelsTab.act, {"State": forged}, posted("a", value=A))
    visitor.data(Page.open, {"Textbox": f"?tab=compare&a={A}&b={B}"})
    assert posting(visitor, "swap")["address"].startswith(f"panel=compare&a={B}&b={A}")


@pytest.mark.parametrize("link", [None, 5, [HOSTILE], "?tab=compare&" + "a=x&" * 10**5, "\ud800"])
def test_any_link_is_answered(visitor: Visitor, link: object) -> None:
    assert visitor.post(Page.open, {"Textbox": link})["success"]


def test_what_cannot_be_compared_is_said_in_words(visitor: Visitor) -> None:
    told = visitor.refused(ModelsTab.act, event_data=posted("b", value="org/elsewhere"))
    assert "different pairs" in told
    many = [str(at) for at in range(MOST_MEMBERS + 1)]
    told = visitor.refused(ModelsTab.act, event_data=posted("pick", facet="members", names=many))
    assert f"{MOST_MEMBERS} members" in told


def test_an_unknown_act_is_shown_as_an_error(tab: ModelsTab) -> None:
    with pytest.raises(gr.Error, match="no act"):
        acted(tab, comparing(), "fly")
