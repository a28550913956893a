"""The Try tab: rewards that follow what is typed, edits, pairs that are taken, and bad input."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from explorer.core.address_view import Sent
from explorer.core.html import signed
from explorer.data.table import PairTable
from explorer.data.typed import typed_pair
from explorer.page import views_of
from explorer.reader.state import PairsState
from explorer.runs.orders import ModelOrder
from explorer.runs.scorers import BRIEF_SECONDS
from explorer.runs.visitors import Visitor
from explorer.stores import Stores
from explorer.tabs.try_it.state import TryState
from explorer.tabs.try_it.trial import Trial
from explorer.tabs.try_it.view import TEXTS as FIELDS
from explorer.tabs.try_it.view import TryView
from scoring.errors import KnownError
from tests.conftest import PATIENCE, until
from tests.support.html_reading import HtmlReading

ME, OTHER = Visitor("browser:me", address="1"), Visitor("browser:other", address="2")
TEXTS = ("Fruit?", "Take **figs**. Wash them.", "No.")


@pytest.fixture
def tab(stores: Stores) -> TryView:
    return views_of(stores).trial


@pytest.fixture
def pressed(tab: TryView) -> TryView:
    """A tab on which `TEXTS` were scored."""
    ask(tab, "press")
    return tab


def sent(*texts: str, value: str = "") -> Sent:
    return {**dict(zip(FIELDS, texts or TEXTS, strict=True)), "value": value}


def ask(
    tab: TryView, what: str, *texts: str, model: str = "demo", who: Visitor = ME
) -> dict[str, str]:
    """Score what is typed; what is shown then."""
    query = TryState(model=model).href()
    tab.score(query, who, sent(*texts, value=what))
    return shown(tab, query, who, *texts)


def shown(tab: TryView, query: str = "?tab=try", who: Visitor = ME, *texts: str) -> dict[str, str]:
    return {name: write() for name, write in tab.regions(query, who, sent(*texts))[1].items()}


def trial_of(tab: TryView, who: Visitor = ME) -> Trial:
    """The trial that is shown."""
    trial = tab.tried[who.owner].trial
    assert trial is not None
    return trial


def values(regions: dict[str, str]) -> list[str]:
    return [words.strip() for words in HtmlReading(regions["pair"]).of_class["value"]]


def status(regions: dict[str, str]) -> str:
    return HtmlReading(regions["status"]).words


def test_both_rewards_the_margin_and_each_edit_are_shown(tab: TryView, stores: Stores) -> None:
    assert "Click Score this pair" in status(shown(tab)) and not values(shown(tab))
    found = ask(tab, "press")
    pair = typed_pair(*TEXTS, longest=1000)
    [row] = stores.runs.rewards(ME, ModelOrder("demo"), [pair]).scored
    rewards = (row.margin, row.chosen_reward, row.rejected_reward)
    assert values(found) == [signed(reward) for reward in rewards]
    moves = set(re.findall('<b class="(up|down)">(.)', found["pair"]))
    assert moves == {("up", "+"), ("down", "−")} and "…" not in found["pair"]
    assert trial_of(tab).is_whole and "try-rest" not in found["pair"]
    assert "Scored by demo" in status(found)


def test_typing_moves_the_rewards_and_says_by_how_much(pressed: TryView) -> None:
    first = values(shown(pressed))
    moved = ask(pressed, "typed", TEXTS[0], "Take nothing.", TEXTS[2])
    assert values(moved)[1] != first[1] and values(moved)[2] == first[2]
    change = trial_of(pressed).moved("chosen")
    assert change and f"{signed(change)} vs. start" in moved["pair"]
    assert HtmlReading(moved["pair"]).words.count("unchanged") == 1
    back = ask(pressed, "typed")
    assert values(back) == first and "vs. start" not in back["pair"]


def test_nobody_sees_what_another_tries(pressed: TryView) -> None:
    for other in (OTHER, Visitor()):
        assert shown(pressed, who=other) == shown(try_of(pressed), who=other)


def try_of(tab: TryView) -> TryView:
    """The same tab, where nobody tried anything."""
    return TryView(tab.scenes, tab.runs, tab.hub, tab.settings)


@pytest.mark.parametrize("model", ["longer", "x" * 400])
def test_another_model_is_not_loaded_by_typing(model: str, pressed: TryView) -> None:
    trial = trial_of(pressed)
    found = ask(pressed, "typed", "Other?", *TEXTS[1:], model=model)
    assert "Click Score this pair to load" in status(found) and len(found["status"]) < 300
    assert trial_of(pressed) is trial


def test_only_the_newest_key_is_answered_after_an_older_one(pressed: TryView) -> None:
    def typed(words: str) -> None:
        ask(pressed, "typed", TEXTS[0], words, TEXTS[2])

    number = pressed.latest.ask(ME.owner)
    with ThreadPoolExecutor(2) as pool:
        with pressed.latest.answering(ME.owner, number), pressed.runs.scorers.brief(ME):
            older = pool.submit(typed, "Older.")
            until(lambda: not pressed.latest.is_last(ME.owner, number) or older.done())
            newer = pool.submit(typed, "Newer.")
            older.result(PATIENCE)  # dropped while the device is taken
            with pytest.raises(TimeoutError):
                newer.result(2 * BRIEF_SECONDS)
            assert trial_of(pressed).pair.chosen == TEXTS[1]
        newer.result(PATIENCE)
    assert trial_of(pressed).is_whole and trial_of(pressed).pair.chosen == "Newer."


@pytest.mark.parametrize(
    ("model", "texts", "why"),
    [
        ("demo", ("p", "a" * 200_001, "b"), "has 200,001 characters; at most 200,000"),
        ("../../etc", TEXTS, ""),
        ("", TEXTS, "No model was given"),
    ],
)
def test_what_cannot_be_scored_is_told_and_the_numbers_stay(
    model: str, texts: tuple[str, ...], why: str, pressed: TryView
) -> None:
    before = shown(pressed)["pair"]
    found = ask(pressed, "press", *texts, model=model)
    assert why in status(found) and "wrong" in found["status"] and found["pair"] == before


def test_on_a_public_server_nothing_is_remembered_of_nobody(tab: TryView) -> None:
    public = replace(tab, settings=replace(tab.settings, public=True))
    for ask_for in (public.score, public.take, public.show_tokens, public.start_probe):
        with pytest.raises(KnownError, match="whose it is"):
            ask_for("?tab=try", Visitor(), sent(value="press"))


# The texts


@pytest.mark.parametrize(
    ("posted", "why"),
    [
        (sent(value=""), "is one of"),
        (sent(value="plain:rejected"), "“Strip Markdown” does not apply to the rejected response"),
        ({"value": "upper:chosen"}, "must be text"),
        (sent("p", "x" * 200_001, "r", value="swap:"), "characters"),
    ],
)
def test_an_edit_that_cannot_be_is_refused(posted: Sent, why: str, tab: TryView) -> None:
    with pytest.raises(KnownError, match=why):
        tab.edit("?tab=try", ME, posted)


@pytest.mark.parametrize("model", [None, ""])
def test_the_pair_open_in_pairs_is_taken(model: str | None, tab: TryView, demo: PairTable) -> None:
    """With outcomes beside it or without."""
    beside = replace(PairsState(demo.id).of(model), key=demo.key_of(7))
    _, made = tab.take(TryState(pairs=beside.query_string).href(), ME, {})
    cells = demo.cells(7)
    assert [made[name] for name in FIELDS[1:]] == [cells["chosen"], cells["rejected"]]
    nothing = replace(beside, key="", subset=("gone",), words="no such words")
    with pytest.raises(KnownError, match="No pair is open"):
        tab.take(TryState(pairs=nothing.query_string).href(), ME, {})


def test_what_is_taken_is_scored_as_a_new_start(pressed: TryView) -> None:
    pressed.take("?tab=try", ME, {})
    cleared = shown(pressed)
    assert not values(cleared) and "edits" not in cleared["pair"]
    found = ask(pressed, "typed", "p", "Other words.", "r")
    assert trial_of(pressed).start == trial_of(pressed).scored
    assert "vs. start" not in found["pair"]


# Token rewards


def test_token_rewards_end_with_the_reward(pressed: TryView) -> None:
    pressed.show_tokens("?tab=try", ME, sent())
    found = shown(pressed)
    assert all(f"→ {value}" in found["pair"] for value in values(found)[1:])
    assert "data-plot" in found["pair"]
    assert "data-plot" not in shown(pressed, who=OTHER)["pair"]
    pressed.stop_tokens("?tab=try", ME, {})
    assert "data-plot" not in shown(pressed)["pair"]
    pressed.show_tokens("?tab=try", ME, sent())
    assert "data-plot" not in ask(pressed, "typed", "Other?", *TEXTS[1:])["pair"]
