"""Links from one tab into another: what may be asked of it, spelled as its own links are.

No tab imports another; `tests/explorer/reader/test_tab_links.py` holds these to the tabs' codecs.
"""

from urllib.parse import parse_qsl

from explorer.core.links import LONGEST_LINK, Decoded, written
from explorer.reader.state import PAIRS_LINK, View
from explorer.stats.duels import Cell

TABS = ("browse", "score", "runs", "try", "failures", "compare", "leaderboard", "about")
_ALL = View()


def tab_of(query_string: object) -> str:
    """The tab that a link opens.

    >>> tab_of("?tab=about"), tab_of("?tab=elsewhere")
    ('about', 'browse')
    """
    looked_at = query_string[:LONGEST_LINK] if isinstance(query_string, str) else ""
    asked = dict(parse_qsl(looked_at.removeprefix("?"), errors="replace")).get("tab")
    return asked if asked in TABS else TABS[0]


def decode_for_browse(query_string: object) -> Decoded[View]:
    """What a link asks of the Browse tab; of one of another tab, the source of the pairs alone.

    >>> decode_for_browse("?tab=failures&model=m&source=demo") == Decoded(View("demo"))
    True
    """
    decoded = PAIRS_LINK.decode(query_string)
    return decoded if tab_of(query_string) == TABS[0] else Decoded(View(decoded.view.source))


def failures_query(model: str, pairs: View = _ALL) -> str:
    """What the Failures tab is asked for to show what a model loses.

    pairs: which of them, and the open one.

    >>> failures_query("org/m")
    'model=org/m'
    """
    return written([("model", model), *PAIRS_LINK.parts(pairs)])


def cell_query(model: str, against: str, cell: Cell, pairs: View = _ALL) -> str:
    """The same, to show the pairs that two models win or lose so, as cells of `Duel`s are named.

    >>> cell_query("mine", "org/rm", "only_a")
    'model=mine&show=all&against=org/rm&cell=only_a'
    """
    asked = [("model", model), ("show", "all"), ("against", against)]
    asked += [("cell", cell)] if cell != "only_b" else []
    return written([*asked, *PAIRS_LINK.parts(pairs)])


def compare_query(*models: str) -> str:
    """What the Compare tab is asked for to show a model against others, or against the majority.

    >>> compare_query("org/m"), compare_query("a", "b", "c")
    ('a=org/m', 'a=a&b=b&with=c')
    """
    names = ("a", "b", *["with"] * len(models))
    return written(zip(names, models, strict=False))
