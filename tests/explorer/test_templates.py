"""Templates: they take what they are given, and what a stranger wrote stays text in all of them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from jinja2 import meta, nodes

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
SPREAD = "**"
"""Stands for values that a call does not write out."""
HOSTILE = "\"'><bad onclick=bad>{{ text }}&lt;"
N_PAIRS = N_MODELS = 12
PANELS = ("compare", "agreement", "scatter", "ensembles")


def taken(template: nodes.Template) -> set[str]:
    """The values that a template asks for."""
    own = {name.name for name in template.find_all(nodes.Name) if name.ctx == "store"}
    return meta.find_undeclared_variables(template) - own - ENVIRONMENT.globals.keys()


def test_a_template_is_given_what_it_takes_and_no_more(subtests: pytest.Subtests) -> None:
    """By all calls of `render`; a template without any holds macros and takes nothing."""
    given = defaultdict(list)
    for path in ROOMS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="render"), args=[ast.Constant(value=str(name))]):
                    given[name].append({each.arg or SPREAD for each in node.keywords})
    for name, template in PARSED.items():
        with subtests.test(template=name):
            known, wanted = set().union(*given[name]), taken(template)
            assert known == wanted or (SPREAD in known and known - {SPREAD} <= wanted)


def test_no_template_takes_text_for_html(subtests: pytest.Subtests) -> None:
    for name, template in PARSED.items():
        with subtests.test(template=name):
            assert not FOR_HTML & {each.name for each in template.find_all(nodes.Filter)}
            assert not [*template.find_all(nodes.EvalContextModifier)]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the templates that were asked for."""
    names: set[str] = set()
    get = ENVIRONMENT.get_template

    def watched(name: str, *others: Any) -> Any:
        names.add(name)
        return get(name, *others)

    monkeypatch.setattr(ENVIRONMENT, "get_template", watched)
    return names


@pytest.fixture
def server(seen: set[str], serve: Serve, tmp_path: Path) -> Server:
    """The app with pairs and results that a stranger wrote."""
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


def tokens_shown() -> str:
    """Token rewards, which take a model of weights."""
    side = SideRewards((TokenReward(HOSTILE, True, 1.0),), 0.0, True)
    pair = typed_pair(HOSTILE, HOSTILE, HOSTILE, longest=len(HOSTILE))
    model, traits = ModelSpec(HOSTILE, "", ""), Traits(HOSTILE, HOSTILE)
    return tokens_html(TokenRewards(pair, side, side, model, traits), HOSTILE, HOSTILE)


def answers_shown() -> str:
    """What a judge wrote, which takes a server that answers."""
    block = {"shown": [HOSTILE], "verdict": HOSTILE, "cut": True, "text": HOSTILE}
    block["body"] = body_of(HOSTILE, "prompt", Display())
    return html.part("answers", {HOSTILE: [block]}, False, HOSTILE, "", of="reader/answers.html")


def to_publish_shown() -> str:
    """What would be sent of a run and where it is then, which take a run of all of RewardBench."""
    files = (FilePreview(HOSTILE, 1, HOSTILE, HOSTILE),)
    seen = Job[str, Sending](result=Sending("", HOSTILE, HOSTILE, files), is_over=True)
    sent = Job[str, Publication](result=Publication(HOSTILE, False, HOSTILE), is_over=True)
    told = {"state": ScoreState(), "may": True, "is_public": False}
    return html.render("tabs/score/publishing.html", preview=seen, sending=sent, **told)


def under_way_shown() -> str:
    """What goes on by itself, which takes its time."""
    going = html.render(
        "reader/token_rewards.html", element="tokens", job=Job[str, str](step=HOSTILE), made=""
    )
    opened = html.render("tabs/data/opened.html", link=HOSTILE)
    return going + opened + html.render("tabs/pairs/status.html", step=None, refused=HOSTILE)


def test_what_a_stranger_wrote_stays_text_in_every_template(seen: set[str], server: Server) -> None:
    written = [tokens_shown(), answers_shown(), to_publish_shown(), under_way_shown()]
    for page in visited(server):
        assert page.told == []
        written += [page.head, page.html]
    assert sum(HOSTILE in HtmlReading(each, TAGS).words for each in written) > 15
    assert TEMPLATES.keys() - seen == set()
