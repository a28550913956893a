"""What addresses of the Models tab show: a table, and two readable files for each row.

`GOLDEN=write pytest` of this file writes them anew.
"""

from pathlib import Path
from urllib.parse import quote_plus

import pytest

from explorer.core.settings import DEMO_PAIRS
from explorer.data.table import PairTable
from scoring.pairs.opening import read_pairs
from tests.support.addressed import Texts, check_files, files_of, texts_of
from tests.support.golden_files import check_golden
from tests.support.hostile import NAME
from tests.support.published import (
    ELSEWHERE,
    HALF,
    ME,
    PLAIN,
    A,
    B,
    measured,
    name_of,
    open_models,
    upload,
    write_published,
    write_run,
)

FOLDER = Path(__file__).parent / "addresses"
ADDRESSES = {
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
    "search without a match": "models=nobody",
    "search that is no expression": "models=org,(&by=model",
    "kind of models": "type=Generative",
    "without own runs": "without-own=1",
    "sorted by a section": "by=-Safety&models=org",
    "sorted by size, smallest first": "by=size&models=org",
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
    "agreement with nobody": "panel=agreement&a={elsewhere}",
    "ensembles before a choice": "panel=ensembles",
    "ensemble": "panel=ensembles&a={a}&member={a}&member={hostile}&way=worst",
    "ensemble of a model without rewards": "panel=ensembles&member={a}&member={plain}",
}  # fmt: skip
"""What is shown -> the address, in which names stand in braces."""
MEANS = {"model": "org/file", "model_type": "DPO", "hep-go": 0.5, "donotanswer": 0.25}


class Shown:
    """The tab on small results, with three runs and files of the visitor."""

    def __init__(self, home: Path) -> None:
        table = PairTable(read_pairs(DEMO_PAIRS, "demo"))
        self.models = open_models(home, write_published(home / "results", table.keys))
        runs = {
            "mine": write_run(self.models, "mine", len(table)),
            "part": write_run(self.models, "part", 20),
            "apart": write_run(self.models, "own <b>pairs", 3, keys=["x:1", "x:2", "y:1"]),
        }
        names = {name: name_of(run, self.models) for name, run in runs.items()}
        names |= {"a": A, "b": B, "plain": PLAIN, "half": HALF, "elsewhere": ELSEWHERE}
        subsets, ids = zip(*(key.split(":") for key in table.keys[:40]), strict=True)
        pairs = {"model": "org/file", "subset": subsets, "id": ids, "results": [1, 0] * 20}
        self.token = upload(self.models, home, pairs=pairs, means=MEANS)
        names |= {"hostile": NAME, "token": self.token}
        self.names = {name: quote_plus(each, "/:@") for name, each in names.items()}

    def texts(self, address: str) -> Texts:
        """The visible text of an address, and its links and fields, by region."""
        query = f"?tab=models&{address.format(**self.names)}"
        understood, _ = self.models.regions(query, ME)
        return texts_of(address, understood, measured(self.models, query), self.token)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return Shown(tmp_path_factory.mktemp("shown"))


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_shows_what_it_showed(name: str, shown: Shown) -> None:
    for path, now in zip(files_of(FOLDER, name), shown.texts(ADDRESSES[name]), strict=True):
        check_golden(path, now)


def test_there_is_no_file_of_another_address() -> None:
    check_files(FOLDER, ADDRESSES)
