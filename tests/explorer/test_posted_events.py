"""What a public Space answers to anyone who posts to its events directly."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.conftest import until
from tests.explorer.conftest import Serve
from tests.support.browsing import followed, opening
from tests.support.posting import Visitor

LITTLE = {"which": "subset", "per-subset": 2, "model": "longer"}


@pytest.fixture(scope="module")
def server(serve: Serve) -> Visitor:
    return serve(public=True, max_pairs=50)


@pytest.fixture
def visitor(server: Visitor) -> Visitor:
    """Somebody new."""
    return Visitor(server.page)


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
    told = [""]

    def has_ended() -> bool:
        answer = visitor.render("score", address, secret=visitor.session)
        told.append(answer["regions"]["status"])
        return any(end in told[-1] for end in ENDS)

    until(has_ended)
    return told[-1]


REFUSED: list[dict[str, Any]] = [
    *({"model": model} for model in ("/etc", "x" * 501)),
    *({"per-subset": number} for number in (100, "many")),
    {"seed": "{}"},
]
"""What makes no run of few pairs by a model that strangers may have."""


def test_what_is_not_allowed_is_refused_and_no_run_is_begun(visitor: Visitor, home: Path) -> None:
    for changed in REFUSED:
        told = scored(visitor, {**LITTLE, **changed})
        assert "status refused" in told and "Traceback" not in told and len(told) < 1500
    assert not any((home / "runs").glob("*"))
    status = scored(visitor, {"which": "filter", "model": "longer", "pairs": "subset=hep-go"})
    assert "status finished" in status and "8 pairs" in status, "what the tab Pairs lists is scored"


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
    for secret in ("another", None, run, [mine]):
        assert not [model for model in _models(stranger, secret) if "your run of" in model]
        told = str(stranger.render("pairs", link, secret=secret))
        assert "There are no per-pair results of a model" in told
        assert run not in listed(stranger, secret)
        for act in ("rename", "share", "remove", "publish-look", "publish-send"):
            sent = {"value": run if act == "remove" else "1"}
            told = stranger.render("score", opened, action=act, sent=sent, secret=secret)["error"]
            assert "no such run" in told.lower(), act
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
