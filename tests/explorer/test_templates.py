"""Templates: what a stranger wrote stays text in all of them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from jinja2 import nodes

from explorer.core import html
from explorer.core.settings import ROOT, read_settings
from explorer.core.work import Job
from explorer.data.typed import typed_pair
from explorer.reader.reader import body_of
from explorer.reader.reading import Display
from explorer.reader.tokens_view import tokens_html
from explorer.tabs.about.view import about_html
from explorer.tabs.data.view import LOGO
from explorer.tabs.score.publishing import FilePreview, Publication, Sending
from explorer.tabs.score.state import ScoreState
from scoring.engine.scorer import Traits
from scoring.probing.token_rewards import SideRewards, TokenReward, TokenRewards
from scoring.spec import ModelSpec
from tests.conftest import until
from tests.explorer.conftest import Serve
from tests.golden.visit import Page, Server
from tests.support.board_data import coin_flips, write_results
from tests.support.files import write_jsonl
from tests.support.html_reading import HtmlReading

ROOMS = ROOT / "explorer"
TEMPLATES = {
    (path.parents[1].relative_to(ROOMS) / path.name).as_posix(): path.read_text("utf-8")
    for path in sorted(ROOMS.rglob("templates/*.html"))
}
"""Name -> source."""
ENVIRONMENT = html._environment()
PARSED = {name: ENVIRONMENT.parse(source) for name, source in TEMPLATES.items()}
FOR_HTML = {"safe", "tojson", "urlize", "xmlattr"}
"""Filters whose outcome is taken for HTML."""
TAGS = {"ins", "del", "fieldset", "legend", "figure", "figcaption", "title", "line"} | {
    tag
    for source in (*TEMPLATES.values(), LOGO.read_text("utf-8"))
    for tag in re.findall(r"<([a-z]\w*)", source)
}
HOSTILE = "\"'><bad onclick=bad>{{ text }}&lt;"
N_PAIRS = N_MODELS = 12
PANELS = ("compare", "agreement", "scatter", "ensembles")


def test_no_template_takes_text_for_html() -> None:
    for name, template in PARSED.items():
        assert not FOR_HTML & {each.name for each in template.find_all(nodes.Filter)}, name
        assert not [*template.find_all(nodes.EvalContextModifier)], name


@pytest.fixture
def server(serve: Serve, tmp_path: Path) -> Server:
    """The app with pairs and results that a stranger wrote, before any template was opened."""
    assert ENVIRONMENT.cache is not None
    ENVIRONMENT.cache.clear()
    sides = ("prompt", "chosen", "rejected")
    rows: list[dict[str, Any]] = [
        {"id": f"{number}", "subset": "hep-go", **{side: f"{side} {HOSTILE}" for side in sides}}
        | {"chosen_model": HOSTILE, "rejected_model": HOSTILE}
        for number in range(N_PAIRS)
    ]
    rows[-1] |= {"subset": HOSTILE, "prompt": [{"role": "user", "content": HOSTILE}]}
    outcomes = {f"{HOSTILE}{number}": coin_flips(0.5, N_PAIRS) for number in range(N_MODELS)}
    pairs = str(write_jsonl(tmp_path / "hostile.jsonl", rows))
    served = serve(
        pairs=pairs,
        results_of=read_settings({"EXPLORER_RESULTS_OF": pairs}).results_of,
        results=str(write_results(tmp_path / "results", outcomes, ["hep-go"])),
    )
    return Server(served.page.local_url)


def visited(server: Server) -> Iterator[Page]:
    """Pages that show texts and names."""
    for n_runs, model in enumerate(("longer", "shorter"), start=1):
        Page(server, "?tab=score").trigger("score", "start", f"?tab=score&model={model}")
        finished = ["finished"] * n_runs
        until(lambda: [each["status"] for each in runs_of(server)] == finished)  # noqa: B023
    server.ask("hardest")  # reads what the models made of each pair
    a, b, c = (f"{HOSTILE}{number}" for number in range(3))
    for query in (
        {"tab": "score"},
        {"q": HOSTILE, "panel": "lengths"},
        {"q": HOSTILE, "panel": "lengths", "more": "1"},
        {"panel": "export"},
        {"q": f"no {HOSTILE}"},
        {"model": a, "show": "all", "panel": "slices"},
        *({"tab": "models", "a": a, "b": b, "panel": name} for name in PANELS),
        {"tab": "models", "a": a, "b": b, "with": c, "panel": "compare"},
        {"tab": "models", "plot": "difficulty"},
        {"tab": "models", "model": a},
    ):
        yield Page(server, f"?{urlencode(query)}")
    [run, _] = runs_of(server)
    runs = Page(server, f"?tab=score&panel=runs&run={run['id']}")
    runs.view(action="rename", sent={"value": HOSTILE})
    yield runs
    yield Page(server, "?tab=score&which=keys&find=" + HOSTILE)
    yield Page(server, f"?tab=score&run={run['id']}&model={HOSTILE}&which=failed&failed={HOSTILE}")
    yield Page(server, "?panel=review")
    yield Page(server, "?")
    about_html.cache_clear()
    yield Page(server, "?tab=about")
    trial = Page(server, "?tab=try")
    texts = dict.fromkeys(("prompt", "chosen", "rejected"), HOSTILE)
    trial.trigger("try", "score", "?tab=try&model=longer", value="press", **texts)
    trial.trigger("try", "probe", "?tab=try&model=longer")
    yield trial


def runs_of(server: Server) -> list[dict[str, Any]]:
    [answer] = server.ask("runs")["complete"]
    runs: list[dict[str, Any]] = answer["runs"]
    return runs


def shown_elsewhere() -> list[str]:
    """What no page here holds: of models of weights, of judges and of what takes its time."""
    side = SideRewards((TokenReward(HOSTILE, True, 1.0),), 0.0, True)
    pair = typed_pair(HOSTILE, HOSTILE, HOSTILE, longest=len(HOSTILE))
    rewards = TokenRewards(pair, side, side, ModelSpec(HOSTILE, "", ""), Traits(HOSTILE, HOSTILE))
    block = {"shown": [HOSTILE], "verdict": HOSTILE, "cut": True, "text": HOSTILE}
    block["body"] = body_of(HOSTILE, "prompt", Display())
    files = (FilePreview(HOSTILE, 1, HOSTILE, HOSTILE),)
    seen = Job[str, Sending](result=Sending("", HOSTILE, HOSTILE, files), is_over=True)
    sent = Job[str, Publication](result=Publication(HOSTILE, False, HOSTILE), is_over=True)
    told = {"state": ScoreState(), "may": True, "is_public": False}
    going = {"element": "tokens", "job": Job[str, str](step=HOSTILE), "made": ""}
    return [
        tokens_html(rewards, HOSTILE, HOSTILE),
        html.part("answers", {HOSTILE: [block]}, False, HOSTILE, "", of="reader/answers.html"),
        html.render("tabs/score/publishing.html", preview=seen, sending=sent, **told),
        html.render("reader/token_rewards.html", **going),
        html.render("tabs/data/opened.html", link=HOSTILE),
        html.render("tabs/pairs/status.html", step=None, refused=HOSTILE),
    ]


def test_what_a_stranger_wrote_stays_text_in_every_template(server: Server) -> None:
    written = shown_elsewhere()
    for page in visited(server):
        assert page.told == []
        written += [page.head, page.html]
    assert sum(HOSTILE in HtmlReading(each, TAGS).words for each in written) > 15
    assert TEMPLATES.keys() - {name for _, name in ENVIRONMENT.cache or ()} == set()
