"""What addresses of the Models and the Pairs tab show, and to whom: two readable files for each row
of a table.

`GOLDEN=write pytest` of this file writes them anew.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from urllib.parse import quote_plus

import pytest

from explorer.data.facets import FACETS
from explorer.data.table import PairTable
from explorer.reader.state import PairsState
from explorer.runs.visitors import Visitor
from explorer.tabs.models.view import ModelsView
from scoring.errors import KnownError
from tests.conftest import until
from tests.golden.reading import Outline
from tests.support.browsing import answered_of
from tests.support.golden_files import check_golden
from tests.support.hostile import NAME
from tests.support.html_reading import HtmlReading
from tests.support.published import (
    ELSEWHERE,
    HALF,
    ME,
    PLAIN,
    STRANGER,
    A,
    B,
    measured,
    name_of,
    open_models,
    pairs_beside,
    upload,
    write_run,
    written,
)
from tests.support.stepping import told_by

FEW = "subset=mt-bench-easy&"
pytestmark = pytest.mark.usefixtures("no_bug")
MODELS = {
    # Boards
    "board": "",
    "board of subsets": "table=subsets&models=a-7B",
    "board of prior sets": "table=prior",
    "board of prior sets by the paper": "table=prior&rule=paper",
    "board of RewardBench 2": "board=v2&models=lmunit,tulu-3-8b",
    "board by the paper": "rule=paper&models=org",
    "prior sets at half weight": "prior=1&models=org",
    "prior sets at full weight": "rule=prior-full&models=org",
    "ties as half, with three decimals": "ties=half&digits=3&models=org",
    "missing results as lost": "missing=loss&models=org",
    "search": "models=%5Eorg/h,7B$",
    "search with a comma at its end": "models=7B$|half,",
    "search without a match": "models=nobody",
    "search that is no expression": "models=org,(&by=model",
    "kind of models": "type=Generative",
    "without own runs": "without-own=1",
    "sorted by a section": "by=-Safety&models=org",
    "sorted by size, smallest first": "by=size&models=org",
    "sorted by a column of another board": "by=Focus&models=org",
    "hidden columns": "hide=size&hide=Safety&hide=type&models=org",
    "pinned models": "pin={half}&pin={a}&pin=gone&models=plain",
    "ticked model": "chosen={a}&models=b-",
    "uploaded files": "results={token}&models=file",
    "uploaded file against a model": "panel=compare&a=file&b={a}&results={token}&section=Chat",
    "files that are gone": "results=0123&models=plain",
    "nonsense": "by=-&digits=9&<b>=1&nonsense&plot=pie&models=plain",
    # Drawers
    "drawer": "model={a}&models=org&digits=2",
    "drawer of a hostile name": "model={hostile}&models=img",
    "drawer of a model of other pairs": "model={elsewhere}&models=else",
    "drawer of an own run": "model={mine}&models=mine",
    "drawer of a model that is gone": "model=gone&chosen=gone&models=plain",
    # Charts
    "chart of length bias": "plot=length&models=plain",
    "chart of agreement": "plot=agreement&models=org",
    "chart of difficulty": "plot=difficulty&models=org",
    "chart of size": "plot=size&models=org",
    "chart of a trade-off": "plot=tradeoff&x=Chat&y=size&pin={a}&models=org",
    "chart of no model": "plot=size&models=nobody",
    # Side by side
    "nothing side by side": "panel=compare",
    "against the majority": "panel=compare&a={plain}",
    "two models": "panel=compare&a={a}&b={b}",
    "two models in a section": "panel=compare&a={a}&b={b}&section=Safety",
    "models in one tie group": "panel=compare&a={plain}&b={hostile}&section=Chat",
    "four models of different pairs": "panel=compare&a={a}&b={b}&with={plain}&with={half}",
    "too many models, and one twice": "panel=compare&a={a}&b={a}&with={b}&with={plain}&with={half}"
    "&with={hostile}&with={mine}&digits=2&digits=3&pin={b}&pin={b}",
    "own run against a model": "panel=compare&a={mine}&b={b}&section=Reasoning",
    "run of other pairs": "panel=compare&a={apart}",
    "models that share no pairs": "panel=compare&a={a}&b={elsewhere}&with=gone&section=Chat",
    "parts of names": "panel=compare&a=7b&b=plai&with=h&section=Chat",
    "first model is gone": "panel=compare&a=gone&b={b}",
    # Margins, agreement, ensembles
    "margins": "panel=scatter&a={a}&b={b}&section=Chat",
    "margins before a choice": "panel=scatter",
    "margins of a model without rewards": "panel=scatter&a={plain}&b={b}",
    "margins where nobody has rewards": "panel=scatter&a={elsewhere}",
    "agreement": "panel=agreement&a={a}&models=plain,half&section=Chat",
    "agreement and a search that is no expression": "panel=agreement&a={plain}&models=(",
    "agreement with nobody": "panel=agreement&a={elsewhere}",
    "ensembles before a choice": "panel=ensembles",
    "ensemble": "panel=ensembles&a={a}&member={a}&member={hostile}&way=worst",
    "ensemble of a model without rewards": "panel=ensembles&member={a}&member={plain}",
}  # fmt: skip
"""What is shown -> the address, in which names stand in braces."""
PAIRS = {
    # Pairs alone
    "nothing asked for": "",
    "section and facets": "section=Chat&longer=rejected&code=no",
    "subsets and a section of them": "subset=hep-go&subset=hep-rust&sort=-chosen&list-page=2",
    "section whole beside a subset": "subset=math-prm&subset=hep-go&section=Reasoning",
    "search": "q=the&in=prompt&case=1&" + FEW,
    "search by an expression": r"q=\bI+cannot\b&regex=1&in=rejected",
    "search that is no expression": "q=(&regex=1&" + FEW,
    "search without a match": "q=no+such+words",
    "ranges of lengths": "range=chosen.chars.100.400&range=prompt.words..60&range=prompt.chars.-5.",
    "range of tokens that were not counted": "range=chosen.tokens.1.5.some/tokenizer@main&" + FEW,
    "range of tokens": "range=chosen.tokens.1.300.{tokenizer}&" + FEW,
    "second page": "list-page=2&sort=difference&subset=hep-go&section=Reasoning",
    "last page": "list-page=9999999&sort=chosen",
    "pair on its page": "pair={last}&diff=words",
    "pair by its id": "pair={id}&spaces=1&diff=characters&" + FEW,
    "pair outside the filter": "pair={last}&" + FEW,
    "pair that stays open": "keep={easy}&" + FEW,
    "pair that does not stay open": "keep={last}&" + FEW,
    "pair that is gone": "pair=no:such&" + FEW,
    "as Markdown": "markdown=1&diff=off&" + FEW,
    "harmful texts": "subset=refusals-offensive",
    "demo by its name": "source=demo&" + FEW,
    "pairs that are not here": "source=org/set:test@0123&" + FEW,
    "file that is not here": "source=/etc/passwd&" + FEW,
    "nonsense": "tab=elsewhere&<b>=1&sort=prompt&diff=sideways&subset={hostile}&" + FEW,
    "what other pairs had": "slice=no:such&slice=subset:hep-go&margin=:1.5&verdict=cut&judge=x&"
    + "".join(f"{facet}=gone&" for facet in FACETS),
    # Panels
    "lengths": "panel=lengths&subset=hep-go",
    "lengths of differences": "panel=lengths&chart=difference&unit=words&range=prompt.words.9.",
    "lengths by subset": "panel=lengths&by-subset=1&section=Chat",
    "lengths with the prompt": "panel=lengths&chart=with_prompt&section=Chat",
    "lengths in tokens not counted": "panel=lengths&unit=tokens&tokenizer=org/name",
    "lengths in tokens": "panel=lengths&unit=tokens&chart=chosen&tokenizer={tokenizer}&code=yes",
    "export": "panel=export&subset=hep-go&longer=rejected",
    "review": "panel=review&subset=hep-go",
    # Outcomes
    "all models": "model=&subset=llmbar-natural",
    "discriminating": "model=&pairs=telling",
    "possibly mislabelled": "model=&pairs=negative&sort=telling",
    "every pair of all models": "model=&pairs=every&" + FEW,
    "losses": "model={a}",
    "near misses": "model={a}&show=near&sort=difficulty",
    "confident losses in a slice": "model={b}&show=confident&slice=longer:rejected",
    "two slices, one of none": "model={a}&show=all&slice=section:Chat&slice=no:such",
    "wins of a model without rewards": "model={plain}&show=wins&" + FEW,
    "missing": "model={half}&show=missing",
    "ties": "model={a}&show=ties",
    "near misses of a model without rewards": "model={plain}&show=near&margin=:1&" + FEW,
    "margins": "model={a}&show=all&margin=-0.5:0.25",
    "margins with an open end": "model={a}&show=all&margin=1:",
    "cell of a comparison": "model={a}&show=all&against={b}&cell=only_b",
    "cell against the majority": "model={a}&show=all&against=*&cell=both&" + FEW,
    "against a model that is gone": "model={a}&against=gone&" + FEW,
    "model by a part of its name": "model=half&" + FEW,
    "model by a part of two names": "model=org/&" + FEW,
    "model that is gone": "model=gone&q=the&" + FEW,
    "hostile name": "model={hostile}&show=all&" + FEW,
    "model of other pairs": "model={elsewhere}&show=all",
    "model of other pairs from these": "model={elsewhere}&source={demo}&subset=hep-go",
    "own run": "model={mine}&show=all&pair={easy}",
    "run of other pairs": "model={apart}&show=all",
    "uploaded file": "model=file&results={token}",
    "files that are gone": "results=0123&" + FEW,
    "slices": "panel=slices&model={a}",
    "slices of all models": "panel=slices&model=",
    "rewards": "panel=rewards&model={a}&section=Chat",
    "rewards of a model without": "panel=rewards&model={plain}",
    "export with outcomes": "panel=export&model={a}",
}  # fmt: skip
TABS = {"models": MODELS, "pairs": PAIRS}
PASSING = {
    r"\d{4}-\d\d-\d\d[ +]\d\d:\d\d:\d\d": "TIME",
    r"\b\d{8}-\d{6}(-[0-9a-f]{16})?": "RUN",
    r"(?<=\nseconds\n)\S+": "SECONDS",
}
"""What differs each time."""
MEANS = {"model": "org/file", "model_type": "DPO", "hep-go": 0.5, "donotanswer": 0.25}


class Shown:
    """Both tabs on small results, with three runs and files of the visitor."""

    def __init__(self, home: Path, published: Path, table: PairTable) -> None:
        self.models = models = open_models(home, published)
        self.pairs = pairs_beside(models)
        runs = {
            "mine": write_run(models, "mine", len(table)),
            "part": write_run(models, "part", 20),
            "apart": write_run(models, "own <b>pairs", 3, keys=["x:1", "x:2", "y:1"]),
        }
        subsets, ids = zip(*(key.split(":") for key in table.keys[:40]), strict=True)
        pairs = {"model": "org/file", "subset": subsets, "id": ids, "results": [1, 0] * 20}
        self.token = upload(models, home, pairs=pairs, means=MEANS)
        measured(models, "?tab=models")
        here, counter = self.pairs.scenes.library.get(None), self.pairs.scenes.counter
        tokenizer, _ = told_by(lambda tell: counter.count(here, "demo", tell=tell))
        easy = next(key for key in table.keys if key.startswith("mt-bench-easy"))
        names = {name: name_of(run, models) for name, run in runs.items()}
        names |= {"a": A, "b": B, "plain": PLAIN, "half": HALF, "elsewhere": ELSEWHERE}
        names |= {"hostile": NAME, "token": self.token, "tokenizer": tokenizer, "demo": here.id}
        names |= {"last": table.keys[-1], "easy": easy, "id": easy.partition(":")[2]}
        self.names = {name: quote_plus(each, "/:@") for name, each in names.items()}

    def texts(self, tab: str, address: str) -> tuple[str, str]:
        """The visible text of an address, and its links and fields, by region."""
        query = address.format(**self.names)
        if tab == "pairs":
            understood, regions = self.pairs.regions(query, ME)
            written = {name: write() for name, write in regions.items()}
        else:
            query = f"?tab=models&{query}"
            understood, _ = self.models.regions(query, ME)
            written = measured(self.models, query)
        lines = links = [f"asked: {address}", f"understood: {understood}"]
        for name, html in written.items():
            read = Outline(html)
            lines = [*lines, f"## {name}", *read.lines]
            links = [*links, f"## {name}", *read.links]
        return self._same_each_time(lines), self._same_each_time(links)

    def _same_each_time(self, lines: list[str]) -> str:
        text = "\n".join([*lines, ""]).replace(self.token, "TOKEN")
        for passing, word in PASSING.items():
            text = re.sub(passing, word, text)
        return re.sub(r"\d+\.\d{6,}", lambda found: str(float(f"{float(found[0]):.9g}")), text)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, published: Path, demo: PairTable) -> Shown:
    return Shown(tmp_path_factory.mktemp("shown"), published, demo)


def files_of(tab: str, name: str) -> tuple[Path, Path]:
    """Where the texts of an address lie."""
    folder, stem = Path(__file__).parent / tab / "addresses", re.sub(r"\W+", "-", name)
    return folder / f"{stem}.txt", folder / f"{stem}.links.txt"


@pytest.mark.parametrize(("tab", "name"), [(tab, name) for tab in TABS for name in TABS[tab]])
def test_an_address_shows_what_it_showed(tab: str, name: str, shown: Shown) -> None:
    texts = shown.texts(tab, TABS[tab][name])
    for path, now in zip(files_of(tab, name), texts, strict=True):
        check_golden(path, now)


@pytest.mark.parametrize("tab", TABS)
def test_there_is_no_file_of_another_address(tab: str) -> None:
    files = {path for name in TABS[tab] for path in files_of(tab, name)}
    assert {*(Path(__file__).parent / tab / "addresses").iterdir()} == files
    assert len(files) == 2 * len(TABS[tab])


# To others a visitor's own is as what is gone; what is read meanwhile comes once it is there


@pytest.fixture
def models(models: ModelsView) -> Iterator[ModelsView]:
    """The tab, whose runs are gone after each test: others have the same stores."""
    yield models
    for run in models.fields.runs.store.own(ME):
        models.fields.runs.store.delete(run.id, ME)


def seen(models: ModelsView, query: str, who: Visitor) -> dict[str, str]:
    """What a tab shows a visitor of an address, and the address as it is understood."""
    if query.startswith("?tab=models"):
        return {**measured(models, query, who), "address": models.regions(query, who)[0]}
    found = answered_of(pairs_beside(models), query, who)
    return {**found, "address": found.query}


@pytest.mark.parametrize(
    "link",
    [
        "?tab=models&model={}&chosen={}&pin={}",
        f"?tab=models&panel=compare&a={A}&b={B}&with={{}}",
        "?tab=pairs&model={}&show=all&panel=rewards",
        f"?tab=pairs&model={A}&against={{}}",
    ],
)
def test_a_private_run_is_to_others_as_one_that_is_gone(link: str, models: ModelsView) -> None:
    run = write_run(models, "<b>mine</b>", 30)
    name = quote_plus(name_of(run, models))
    mine, gone = (link.replace("{}", name.replace("mine", word)) for word in ("mine", "gone"))
    assert "&lt;b&gt;mine" in "".join(seen(models, mine, ME).values())
    for other in (STRANGER, Visitor(run.id)):
        found = seen(models, mine, other)
        as_gone = {region: html.replace("mine", "gone") for region, html in found.items()}
        assert as_gone == seen(models, gone, other)
        assert run.id not in "".join(found.values())
    with pytest.raises(KnownError, match="No outcomes stand beside"):
        pairs_beside(models).as_view().files["outcomes.csv"](f"model={name}", STRANGER, "")


def names(html: str) -> list[str]:
    """The models of a table, in its order."""
    return HtmlReading(html).of_class["name"]


def test_uploaded_files_are_to_others_as_files_that_are_gone(
    models: ModelsView, tmp_path: Path
) -> None:
    means = {"model": "<b>file</b>", "model_type": "DPO", "hep-go": 0.5}
    token, gone = upload(models, tmp_path, mine=means), "0" * 32
    mine = f"?tab=models&results={token}&model=%3Cb%3Efile%3C/b%3E+%28uploaded%29"
    for other in (STRANGER, Visitor(token)):
        found = seen(models, mine, other)
        assert found == seen(models, mine.replace(token, gone), other)
        assert "no longer here" in found["bar"] and token not in "".join(found.values())
    table = measured(models, f"?tab=models&results={token}")["table"]
    assert "<b>file</b> (uploaded)" in names(table)
    with pytest.raises(KnownError, match="no model to export"):
        query = f"?tab=models&results={token}&models=uploaded"
        models.as_view().files["board.csv"](query, STRANGER, "")


def test_a_run_is_there_as_soon_as_it_is_and_hidden_where_own_runs_are(models: ModelsView) -> None:
    before = names(measured(models, "?tab=models")["table"])
    run = write_run(models, "later", 20)
    assert [*before, name_of(run, models)] == names(written(models, "?tab=models")["table"])
    assert names(written(models, "?tab=models&without-own=1")["table"]) == before
    models.fields.runs.store.delete(run.id, ME)
    assert names(written(models, "?tab=models")["table"]) == before


def test_what_is_read_and_measured_is_shown_once_it_is_there(
    published: Path, tmp_path: Path, may_read: Event
) -> None:
    models = open_models(tmp_path, published)
    view, asked = pairs_beside(models), "model=org/plain&show=all&q=the"
    board, outcomes = written(models, "?tab=models"), answered_of(view, asked)
    assert f'value="{A}"' in answered_of(view)["head"], "it can be picked already"
    assert all("data-refresh" in shown["status"] for shown in (board, outcomes))
    assert "Tie group" not in board["table"]
    assert outcomes.state == PairsState(model="org/plain", kind="all", words="the")
    may_read.set()
    until(lambda: not answered_of(view, asked)["status"])
    shown = answered_of(view, asked)
    assert replace(shown.state, source="") == outcomes.state and "pair-row" in shown["main"]
    after = measured(models, "?tab=models")
    assert after["status"].strip() == "" and "Tie group" in after["table"]
    assert after["below"] != board["below"]  # the files and the words of what was measured
