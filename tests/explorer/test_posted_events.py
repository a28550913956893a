"""What a public Space answers to anyone who posts to its events directly."""

import asyncio
import logging
import re
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import gradio as gr
import pytest

from tests.conftest import ROOT
from tests.explorer.conftest import Serve
from tests.support.browsing import followed, opening
from tests.support.posting import Visitor, function_name

LITTLE = {"which": "subset", "per-subset": 2, "model": "demo"}
HOSTILE = "<img src=x onerror=alert(1)>"
NONSENSE: dict[str, Any] = {
    "nothing": None,
    "a number": -1,
    "a large number": 1e300,
    "nested lists": [[["nested"]], [None]],
    "a long text": "x" * 40_000,
    "a lone surrogate": "\ud800",
    "a mapping": {"a": {"b": 1}},
    "a file": {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
}


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True, max_pairs=50)


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    """Somebody new."""
    return Visitor(server.page)


# Nonsense


def events(page: gr.Blocks) -> list[int]:
    """The number of each event with a callback; of those with the same inputs one."""
    distinct = {
        (function_name(event.fn), tuple(part.elem_id for part in event.inputs)): number
        for number, event in page.fns.items()
        if event.fn is not None
    }
    return sorted(distinct.values())


def sendings(page: gr.Blocks, number: int, kind: str) -> list[list[Any]]:
    """What to post to an event: nonsense in every place, or in every third place alone.

    Which it is goes round with the kind, and so do the places: an event gets half of all kinds in
    every place, and each place at least one of the eight alone.
    """
    nonsense, first = NONSENSE[kind], [*NONSENSE].index(kind)
    inputs = page.fns[number].inputs
    own = [None if isinstance(part, gr.State) else part.value for part in inputs]
    # Gradio repeats a choice that there is not, and cannot write half a character.
    free = [place for place, part in enumerate(inputs) if not _refuses(part, nonsense)]
    every = [nonsense if place in free else value for place, value in enumerate(own)]
    alone = [
        [*own[:place], nonsense, *own[place + 1 :]]
        for place in free
        if not isinstance(inputs[place], gr.State) and (place + (first + number) // 2) % 3 == 0
    ]
    return alone if alone and (first + number) % 2 else [every]


def _refuses(part: Any, nonsense: Any) -> bool:
    return nonsense == "\ud800" and isinstance(part, gr.Dropdown | gr.Radio | gr.CheckboxGroup)


def clear(told: str | None) -> bool:
    """Whether a visitor is told nothing, or by Gradio of their value, or in few words by us."""
    return told is None or told.startswith("Value: ") or len(told) < 1000


def is_clear(error: Exception) -> bool:
    """The same of an error, which may be Gradio's own, before any code of ours."""
    if isinstance(error, gr.Error):
        return clear(error.message)
    ours = str(ROOT / "explorer")
    return not any(ours in frame.filename for frame in traceback.extract_tb(error.__traceback__))


def test_nonsense_is_refused_clearly_and_the_page_goes_on(
    visitor: Visitor,
    home: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Each event once, with one kind of nonsense in every place."""
    followed(visitor, "?section=Chat")
    for number in events(visitor.page):
        kind = [*NONSENSE][number % len(NONSENSE)]
        (data, *_) = sendings(visitor.page, number, kind)
        assert clear(visitor.post_to(number, data, NONSENSE[kind])["output"].get("error"))
    failed = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert [(each.getMessage(), each.exc_text) for each in failed] == []
    assert f"{Path.cwd()}/explorer/" not in capfd.readouterr().err
    assert not any((home / "runs").glob("*"))
    shown = followed(visitor, "?section=Chat")
    assert "<b>40</b> of 188 pairs" in shown["bar"] and 'class="pair' in shown["pair"]


@pytest.mark.parametrize("kind", NONSENSE)
def test_every_callback_refuses_nonsense_clearly(
    kind: str, server: Visitor, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What a server calls, called here, with nonsense in all places, or in each alone."""
    visitor, unclear = Visitor(server.page), []

    async def send_all() -> None:
        for number in events(visitor.page):
            for data in sendings(visitor.page, number, kind):
                try:
                    await asyncio.create_task(visitor.answer_here(number, data, NONSENSE[kind]))
                except Exception as error:
                    if not is_clear(error):
                        unclear.append(f"{function_name(visitor.page.fns[number].fn)}: {error!r}")

    asyncio.run(send_all())
    assert unclear == []
    failed = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert [(each.getMessage(), each.exc_text) for each in failed] == []
    assert not any((home / "runs").glob("*"))


@pytest.mark.parametrize("kind", NONSENSE)
def test_a_question_of_nonsense_is_answered(kind: str, visitor: Visitor) -> None:
    nonsense = NONSENSE[kind]
    for posted_too in ({}, dict.fromkeys(("known", "only", "secret", "sent"), nonsense)):
        answer = visitor.render("pairs", nonsense, **posted_too)
        assert "<b>188</b> of 188" in str(answer["regions"].get("bar", "<b>188</b> of 188"))
        for tab in ("data", "models", "score", "try", "about"):
            assert "regions" in visitor.render(tab, nonsense, **posted_too)
    for action in ("fly", "\ud800"):
        assert "no action" in visitor.render("pairs", "", action=action)["error"]


def test_a_page_that_was_left_open_over_a_restart_goes_on_by_its_address(server: Visitor) -> None:
    left_open = Visitor(server.page)
    assert "<b>40</b> of 188" in left_open.render("pairs", "?section=Chat")["regions"]["bar"]
    asked = "?tab=score&pairs=section%3DChat&which=filter"
    assert "40 pairs selected" in left_open.render("score", asked)["regions"]["selected"]


# Opening


def test_a_link_is_opened_as_posted(visitor: Visitor) -> None:
    shown = followed(visitor, "?subset=hep-go&panel=export")
    assert "<b>8</b> of 188" in shown["bar"] and "load_dataset" in shown["main"]


def test_pairs_that_an_address_names_are_fetched_where_that_is_asked_for(visitor: Visitor) -> None:
    shown = followed(visitor, "?source=org/set:test&subset=hep-go")
    assert "not open here" in shown["bar"] and 'data-get="org/set:test"' in shown["bar"]
    assert "Upload a file" in opening(visitor, "open", "org/set:test")[0]
    assert "is not here" in opening(visitor, "open", "/etc/passwd")[0]


# Scoring


ENDS = ("status finished", "status stopped", "status failed", "status refused")


def scored(visitor: Visitor, values: dict[str, Any]) -> str:
    """Press Score and follow the run; how it ended, or what the visitor is told instead."""
    message = visitor.press("score", "start", f"?tab=score&{urlencode(values)}")
    if not message["success"]:
        return f"status refused {message['output']['error']}"
    [address] = message["output"]["data"]
    status = ""
    while not any(end in status for end in ENDS):
        time.sleep(0.1)
        answer = visitor.render("score", address, secret=visitor.session)
        status = answer["regions"]["status"]
    return status


def refused(visitor: Visitor, values: dict[str, Any]) -> str:
    """Press Score, which must come to nothing; what the visitor is told."""
    told = scored(visitor, values)
    assert "status refused" in told
    return told


@pytest.mark.parametrize(
    "model",
    [
        "/etc",
        "../shared/demo-model",
        "~",
        ".",
        "explorer/tabs",
        "assets/demo",
        "C:\\models",
        "",
        "x" * 501,
    ],
)
def test_a_model_that_is_not_allowed_is_refused(visitor: Visitor, home: Path, model: str) -> None:
    told = refused(visitor, {**LITTLE, "model": model})
    assert "Traceback" not in told and len(told) < 700
    assert not any((home / "runs").glob("*"))


@pytest.mark.parametrize("number", [1001, 1000, 100])
def test_more_pairs_than_allowed_are_refused(visitor: Visitor, home: Path, number: int) -> None:
    told = refused(visitor, {**LITTLE, "per-subset": number})
    assert "Change what is marked" in told or "may have 50 pairs" in told
    assert not any((home / "runs").glob("*"))


@pytest.mark.parametrize(
    ("element", "value"),
    [
        ("per-subset", -1),
        ("per-subset", 0),
        ("per-subset", 1e300),
        ("per-subset", "many"),
        ("per-subset", ""),
        ("seed", -5),
        ("seed", "{}"),
    ],
)
def test_a_selection_that_is_none_is_refused(
    visitor: Visitor, home: Path, element: str, value: Any
) -> None:
    told = refused(visitor, {**LITTLE, element: value})
    assert "Traceback" not in told
    assert not any((home / "runs").glob("*"))


def test_what_the_pairs_tab_lists_is_scored(visitor: Visitor) -> None:
    asked = {"which": "filter", "model": "demo", "pairs": "subset=hep-go"}
    status = scored(visitor, asked)
    assert "status finished" in status and "8 pairs" in status


def test_who_comes_second_waits_for_their_turn(server: Visitor) -> None:
    people = [Visitor(server.page) for _ in range(2)]
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(scored, one, LITTLE) for one in people]
    assert ["status finished" in run.result() for run in runs] == [True] * 2


def test_a_run_is_seen_by_its_owner_alone(visitor: Visitor, home: Path) -> None:
    mine = visitor.session
    assert "status finished" in scored(visitor, LITTLE)
    run = max((home / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime).name
    name = next(model for model in _models(visitor, mine) if "your run of" in model)
    link = f"?model={quote(name)}"
    assert "your run of" in followed(visitor, link, secret=mine)["head"]
    assert run in listed(visitor, mine)

    stranger = Visitor(visitor.page)
    opened = f"?tab=score&panel=runs&run={run}"
    for secret in ("another", "", None, run, {"owner": "x"}, [mine]):
        assert not [model for model in _models(stranger, secret) if "your run of" in model]
        told = str(stranger.render("pairs", link, secret=secret))
        assert "There are no per-pair results of a model" in told
        assert run not in listed(stranger, secret)
        for act in ("rename", "share", "remove", "publish-look", "publish-send"):
            sent = {"value": run if act == "remove" else "1"}
            told = stranger.render("score", opened, action=act, sent=sent, secret=secret)["error"]
            assert "no such run" in told or "no such run" in told.lower(), (act, told)
        stranger.render("score", opened, action="stop", secret=secret)
        assert "There is no such run" in str(stranger.render("score", opened, secret=secret))
    visitor.render("score", opened, action="share", sent={"value": "1"}, secret=mine)
    assert run in listed(stranger, None)
    visitor.render("score", opened, action="remove", sent={"value": run}, secret=mine)
    assert not (home / "runs" / run).exists()


def listed(visitor: Visitor, secret: object) -> str:
    """The list of runs as a visitor sees it."""
    return str(visitor.render("score", "?tab=score&panel=runs", secret=secret)["regions"]["runs"])


def _models(visitor: Visitor, secret: object) -> list[str]:
    shown = visitor.render("pairs", "", secret=secret)["regions"]["head"]
    return re.findall(r'<option value="([^"]*)"', shown)
