"""Whatever is posted, to any event and any act, is refused in a sentence, and the page goes on."""

import logging
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.core.address_view import Question, answer
from explorer.core.links import LONGEST_LINK
from explorer.page import views_of
from explorer.runs.visitors import Visitor as Person
from explorer.stores import Stores
from tests.explorer.conftest import Serve
from tests.support.browsing import followed
from tests.support.posting import Visitor

NONSENSE: dict[str, Any] = {
    "nothing": None,
    "nested lists": [[["nested"]], [None]],
    "a long text": "x" * 40_000,
    "a lone surrogate": "\ud800",
    "a file": {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
}
EVERY = pytest.mark.parametrize("kind", NONSENSE)
ME = Person("browser:me", "page")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True, max_pairs=50)


@pytest.fixture(autouse=True)
def no_bug(caplog: pytest.LogCaptureFixture, home: Path) -> Iterator[None]:
    """Nothing fails in a way that nobody thought of, and no run is begun."""
    yield
    failed = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert [(each.getMessage(), each.exc_text) for each in failed] == []
    assert not any((home / "runs").glob("*"))


def is_clear(told: str | None) -> bool:
    """Whether a visitor is told nothing, or by Gradio of their value, or in few words by us."""
    return told is None or told.startswith("Value: ") or len(told) < 1000


@EVERY
def test_every_event_refuses_nonsense_clearly(
    kind: str, server: Visitor, capfd: pytest.CaptureFixture[str]
) -> None:
    visitor, nonsense = Visitor(server.page), NONSENSE[kind]
    for number, event in server.page.fns.items():
        if event.fn is not None:
            message = visitor.post_to(number, [nonsense] * len(event.inputs), nonsense)
            assert is_clear(message["output"].get("error")), (event.api_name, message)
    assert f"{Path.cwd()}/explorer/" not in capfd.readouterr().err
    shown = followed(visitor, "?section=Chat")
    assert "<b>40</b> of 188 pairs" in shown["bar"] and 'class="pair' in shown["pair"]


@EVERY
def test_a_question_of_nonsense_is_answered(kind: str, server: Visitor) -> None:
    nonsense = NONSENSE[kind]
    for posted_too in ({}, dict.fromkeys(("known", "only", "secret", "sent"), nonsense)):
        for tab in ("pairs", "data", "models", "score", "try", "about"):
            assert "regions" in server.render(tab, nonsense, **posted_too)
    assert "no action" in server.render("pairs", "", action="fly")["error"]


ADDRESSES = (
    "", "%", "\ud800", "x" * 10**6, "&" * 10**5, "q=(&regex=1", "models=(a+)+$", "models=[",
    "by=Focus", "board=v2&table=prior&rule=paper&plot=length&prior=1", "a=%00&panel=compare",
    "panel=ensembles&member=" + "&member=".join("abcdefgh"), "model=gone&slice=x&against=y",
)  # fmt: skip


def test_any_address_is_answered_by_every_tab(stores: Stores) -> None:
    views = views_of(stores)
    for view in (getattr(views, each.name).as_view() for each in fields(views)):
        for query in ADDRESSES:
            found = answer(view, Question(query, {}, (), "", ""), ME)
            assert "error" not in found and found["regions"], (view.tab, query[:40])
            assert len(found["query"]) <= 3 * LONGEST_LINK


@settings(max_examples=8)
@given(JSON, JSON)
@example("?run=x&model=org/none&source=x&results=0", {"value": "\ud800", "keys": None})
def test_every_act_is_answered_whatever_is_sent(
    stores: Stores, query: object, sent: object
) -> None:
    views = views_of(stores)
    for view in (getattr(views, each.name).as_view() for each in fields(views)):
        for action in view.actions:
            posted = {"query": query, "action": action, "sent": sent}
            told = answer(view, Question.parse(posted), ME)
            assert is_clear(told.get("error")), (view.tab, action)
