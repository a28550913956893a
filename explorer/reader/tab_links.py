"""Links from one tab into another: what may be asked of it, spelled as its own links are."""

from explorer.core.links import written
from explorer.reader.links import parts
from explorer.reader.state import View
from explorer.stats.duels import Cell

_ALL = View()


def failures_query(model: str, pairs: View = _ALL) -> str:
    """What the Failures tab is asked for to show what a model loses.

    pairs: which of them, and the open one.

    >>> failures_query("org/m")
    'model=org/m'
    """
    return written([("model", model), *parts(pairs)])


def cell_query(model: str, against: str, cell: Cell, pairs: View = _ALL) -> str:
    """The same, to show the pairs that two models win or lose so, as cells of `Duel`s are named.

    >>> cell_query("mine", "org/rm", "only_a")
    'model=mine&show=all&against=org/rm&cell=only_a'
    """
    asked = [("model", model), ("show", "all"), ("against", against)]
    asked += [("cell", cell)] if cell != "only_b" else []
    return written([*asked, *parts(pairs)])


def compare_query(*models: str) -> str:
    """What the Compare tab is asked for to show a model against others, or against the majority.

    >>> compare_query("org/m"), compare_query("a", "b", "c")
    ('a=org/m', 'a=a&b=b&with=c')
    """
    names = ("a", "b", *["with"] * len(models))
    return written(zip(names, models, strict=False))
