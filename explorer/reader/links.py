"""Links from one tab into another: what may be asked of it, spelled as its own links are.

No tab imports another; `tests/explorer/reader/test_tab_links.py` holds these to the tabs' codecs.
"""

from dataclasses import replace
from urllib.parse import parse_qsl

from explorer.core.links import LONGEST_LINK, Decoded, as_dropped, written
from explorer.reader.state import PAIRS_LINK, PairsState
from explorer.stats.duels import Cell

TABS = ("pairs", "models", "score", "try", "about")
MODELS_TAB = "models"
_ALL = PairsState()
_FAILURES = "failures"
"""What links once called the tab of the pairs with what models made of them."""
_ONCE = {
    "browse": TABS[0],
    _FAILURES: TABS[0],
    "runs": "score",
}
"""Tab that there was -> the one that has its place."""


def tab_of(query_string: object) -> str:
    """The tab that a link opens.

    >>> tab_of("?tab=about"), tab_of("?tab=elsewhere"), tab_of("?tab=failures&model=m")
    ('about', 'pairs', 'pairs')
    >>> tab_of("?tab=models"), tab_of("?tab=runs")
    ('models', 'score')
    """
    asked = named_tab(query_string)
    asked = _ONCE.get(asked, asked)
    return asked if asked in TABS else TABS[0]


def decode_pairs(query_string: object) -> Decoded[PairsState]:
    """What a link asks of the Pairs tab; of one of another tab, the source of the pairs alone.

    >>> decode_pairs("?tab=failures&show=wins").state == PairsState(outcomes=True, kind="wins")
    True
    >>> decode_pairs("?tab=models&a=m&source=demo") == Decoded(PairsState("demo"))
    True
    """
    decoded = PAIRS_LINK.decode(query_string)
    tab = named_tab(query_string)
    if tab not in ("", *TABS, *_ONCE):
        return replace(decoded, dropped=(as_dropped("tab", tab), *decoded.dropped))
    if tab_of(query_string) != TABS[0]:
        return Decoded(PairsState(decoded.state.source))
    if tab == _FAILURES and not decoded.state.outcomes:
        return replace(decoded, state=replace(decoded.state, outcomes=True))
    return decoded


def named_tab(query_string: object) -> str:
    """The tab that a link names, whether there is such a one; "" where it names none."""
    looked_at = query_string[:LONGEST_LINK] if isinstance(query_string, str) else ""
    return dict(parse_qsl(looked_at.removeprefix("?"), errors="replace")).get("tab", "")


def failures_query(model: str, pairs: PairsState = _ALL) -> str:
    """What the Pairs tab is asked for to show what a model loses.

    pairs: which of them, and the open one.

    >>> failures_query("org/m")
    'model=org/m'
    """
    return PAIRS_LINK.encode(pairs.of(model))


def cell_query(model: str, against: str, cell: Cell, pairs: PairsState = _ALL) -> str:
    """The same, to show the pairs that two models win or lose so, as cells of `Duel`s are named.

    >>> cell_query("mine", "org/rm", "only_a")
    'model=mine&show=all&against=org/rm&cell=only_a'
    """
    asked = replace(pairs.of(model), kind="all", against=against, cell=cell)
    return PAIRS_LINK.encode(asked)


def compare_query(*models: str) -> str:
    """What the Models tab is asked for to show a model against others, or against the majority.

    >>> compare_query("org/m"), compare_query("a", "b", "c")
    ('panel=compare&a=org/m', 'panel=compare&a=a&b=b&with=c')
    """
    names = ("a", "b", *["with"] * len(models))
    return written([("panel", "compare"), *zip(names, models, strict=False)])
