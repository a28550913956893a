"""Links from one tab into another: what may be asked of it, spelled as its own links are.

No tab imports another; golden texts of addresses hold these to the states of the tabs.
"""

from dataclasses import replace
from urllib.parse import parse_qsl

from explorer.core.links import LONGEST_LINK, as_dropped, written
from explorer.reader.state import PairsState
from explorer.stats.duels import Cell
from explorer.stats.rules import PRIOR_KEY, V1

TABS = ("pairs", "models", "score", "try", "about")
MODELS_TAB = "models"
_ALL = PairsState()


def tab_of(query_string: object) -> str:
    """The tab that a link opens.

    >>> tab_of("?tab=about"), tab_of("?tab=elsewhere"), tab_of("?model=m")
    ('about', 'pairs', 'pairs')
    """
    asked = named_tab(query_string)
    return asked if asked in TABS else TABS[0]


def read_pairs(query: object) -> tuple[PairsState, tuple[str, ...]]:
    """What a link asks of the Pairs tab, and what of it means nothing; of one of another tab, the
    source of the pairs alone.

    >>> read_pairs("?tab=models&a=m&source=demo") == (PairsState("demo"), ())
    True
    """
    state, dropped = PairsState.parse(query)
    tab = named_tab(query)
    if tab not in ("", *TABS):
        return state, (as_dropped("tab", tab), *dropped)
    if tab_of(query) != TABS[0]:
        return PairsState(state.source), ()
    return state, dropped


def named_tab(query_string: object) -> str:
    """The tab that a link names, whether there is such a one; "" where it names none."""
    looked_at = query_string[:LONGEST_LINK] if isinstance(query_string, str) else ""
    return dict(parse_qsl(looked_at.removeprefix("?"), errors="replace")).get("tab", "")


def failures_query(model: str, pairs: PairsState = _ALL) -> str:
    """What the Pairs tab is asked for to show what a model does not win.

    pairs: which of them, and the open one.

    >>> failures_query("org/m")
    'model=org/m&show=failures'
    """
    return replace(pairs.of(model), kind="failures").query_string


def cell_query(model: str, against: str, cell: Cell, pairs: PairsState = _ALL) -> str:
    """The same, to show the pairs that two models win or lose so, as cells of `Duel`s are named.

    >>> cell_query("mine", "org/rm", "only_a")
    'model=mine&show=all&against=org/rm&cell=only_a'
    """
    asked = replace(pairs.of(model), kind="all", against=against, cell=cell)
    return asked.query_string


def compare_query(*models: str) -> str:
    """What the Models tab is asked for to show a model against others, or against the majority.

    >>> compare_query("org/m"), compare_query("a", "b", "c")
    ('panel=compare&a=org/m', 'panel=compare&a=a&b=b&with=c')
    """
    names = ("a", "b", *["with"] * len(models))
    return written([("panel", "compare"), *zip(names, models, strict=False)])


def board_query(model: str, benchmark: str = V1.name) -> str:
    """What the Models tab is asked for to show a model's row on top, and its drawer.

    benchmark: key of the one whose board it is.

    >>> board_query("m", "rm-bench")
    'board=rm-bench&pin=m&model=m'
    """
    known = {V1.name: [], PRIOR_KEY: [("table", "prior")]}
    board = known.get(benchmark, [("board", benchmark)])
    return written([*board, ("pin", model), ("model", model)])
