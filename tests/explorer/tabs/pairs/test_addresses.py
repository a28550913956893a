"""What addresses of the Pairs tab show: a table, and two readable files for each row.

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
    pairs_beside,
    upload,
    write_published,
    write_run,
)
from tests.support.stepping import told_by

FOLDER = Path(__file__).parent / "addresses"
FEW = "subset=mt-bench-easy&"
ADDRESSES = {
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
"""What is shown -> the address, in which names stand in braces."""
MEANS = {"model": "org/file", "model_type": "DPO", "hep-go": 0.5, "donotanswer": 0.25}


class Shown:
    """The tab on small results, with two runs and files of the visitor."""

    def __init__(self, home: Path) -> None:
        table = PairTable(read_pairs(DEMO_PAIRS, "demo"))
        models = open_models(home, write_published(home / "results", table.keys))
        mine = write_run(models, "mine", len(table))
        apart = write_run(models, "own <b>pairs", 3, keys=["x:1", "x:2", "y:1"])
        subsets, ids = zip(*(key.split(":") for key in table.keys[:40]), strict=True)
        pairs = {"model": "org/file", "subset": subsets, "id": ids, "results": [1, 0] * 20}
        self.token = upload(models, home, pairs=pairs, means=MEANS)
        measured(models, "?tab=models")
        self.view = pairs_beside(models)
        here = self.view.scenes.library.get(None)
        tokenizer, _ = told_by(lambda tell: self.view.scenes.counter.count(here, "demo", tell=tell))
        easy = next(key for key in table.keys if key.startswith("mt-bench-easy"))
        names = {"a": A, "b": B, "plain": PLAIN, "half": HALF, "elsewhere": ELSEWHERE}
        names |= {"mine": name_of(mine, models), "apart": name_of(apart, models)}
        names |= {"hostile": NAME, "token": self.token, "tokenizer": tokenizer}
        names |= {"last": table.keys[-1], "easy": easy, "id": easy.partition(":")[2]}
        names |= {"demo": here.id}
        self.names = {name: quote_plus(each, "/:@") for name, each in names.items()}

    def texts(self, address: str) -> Texts:
        """The visible text of an address, and its links and fields, by region."""
        query = address.format(**self.names)
        understood, regions = self.view.regions(query, ME)
        written = {name: write() for name, write in regions.items()}
        return texts_of(address, understood, written, self.token)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    return Shown(tmp_path_factory.mktemp("shown"))


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_shows_what_it_showed(name: str, shown: Shown) -> None:
    for path, now in zip(files_of(FOLDER, name), shown.texts(ADDRESSES[name]), strict=True):
        check_golden(path, now)


def test_there_is_no_file_of_another_address() -> None:
    check_files(FOLDER, ADDRESSES)
