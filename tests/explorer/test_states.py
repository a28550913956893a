"""Addresses of all tabs: one of each state, a state of each, and what means nothing is named."""

from urllib.parse import quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.address import Address
from explorer.core.links import MOST_DROPPED
from explorer.data.filters import LONGEST_NAME
from explorer.data.search import LONGEST_QUERY
from explorer.reader.state import PairsState
from explorer.tabs.data.state import DataState
from explorer.tabs.models.state import ModelsState
from explorer.tabs.score.state import ScoreState
from explorer.tabs.try_it.state import TryState
from scoring.results.files import LONGEST_MODEL
from tests.support.hostile import NAMES

TEXTS = (*NAMES[:8], "", " a ", "a,b", "100%", "a&b=c", "#", "+ ")
FACETS = (
    "section", "subset", "chosen_model", "rejected_model", "longer", "length", "shared", "code",
    "language", "column1", "column2", "column3", "column4", "column5",
)  # fmt: skip
FORM = (
    "run", "search", "model", "family", "reference", "reading", "max-length", "chat-template",
    "url", "judge-prompt", "max-tokens", "temperature", "per-subset", "seed", "failed", "find",
    "repo", "name", "dtype", "tokenizer", "width", "repeats",
)  # fmt: skip
MEANT: dict[type[Address], dict[str, tuple[str, ...]]] = {
    PairsState: {
        "model": ("", *NAMES[:8]), "show": ("near", "all"), "pairs": ("telling",),
        "margin": ("-0.5:1.25", ":0", "1e-300:"), "wins": ("0:0.5",), "verdict": ("split", "cut"),
        "judge": TEXTS[:3], "slice": TEXTS[:3], "against": NAMES[:8], "cell": ("both", "only_a"),
        "source": TEXTS, "results": ("0123456789abcdef" * 2,), **dict.fromkeys(FACETS, TEXTS),
        "q": TEXTS, "in": ("chosen",), "regex": ("1",), "case": ("1",),
        "range": ("chosen.chars.1.", "difference.tokens.-5.9.a/b-1.5@c", "prompt.words..7"),
        "sort": ("chosen", "-margin"), "list-page": ("2", "10000000"), "pair": TEXTS,
        "keep": TEXTS, "random": ("1",), "diff": ("words",), "spaces": ("1",), "markdown": ("1",),
        "panel": ("lengths", "export"), "chart": ("prompt",), "unit": ("words",),
        "scale": ("linear",), "by-subset": ("1",), "more": ("1",),
        "tokenizer": ("demo@0123456789ab", "org/na.me-1.5@abc.def", "a..b."),
    },
    ModelsState: {
        "panel": ("compare", "ensembles"), "board": ("v2", "rm-bench"), "table": ("subsets",),
        "models": ("llama,8b", r"^org/.*\d+b$, x", "(", "a&b=c+d", "100%", "日本\u202e"),
        "type": ("DPO", "unknown"), "prior": ("1",), "rule": ("paper", "prior-full"),
        "ties": ("half",), "missing": ("loss",), "by": ("Chat Hard", "-score", "-hep-go", "Focus"),
        "hide": ("size", "math-prm"), "show": ("licence",), "pin": (*NAMES, "a,b", "#"),
        "model": (*NAMES, " a "), "chosen": NAMES, "digits": ("2", "4"), "without-own": ("1",),
        "plot": ("agreement",), "x": ("size", "Chat Hard"), "y": ("Ties", "shp"), "a": NAMES,
        "b": ("b",), "with": ("c", "d"), "section": ("Chat",), "member": NAMES[:3],
        "way": ("worst",), "intervals": ("1",), "results": ("0123456789abcdef" * 2,),
    },
    ScoreState: {
        **dict.fromkeys(FORM, TEXTS), "panel": ("runs",), "page": ("3",), "delete": ("1",),
        "which": ("keys",), "pairs": ("section=Safety&q=sorry",), "sure": ("1",),
        "number": ("score",),
    },
    TryState: {
        "model": TEXTS, "pairs": ("q=%3Cb%3E&pair=s:1",), "which": ("filter",),
        "per-subset": ("3", ""), "seed": ("17",), "change": ("cut", "upper", ""),
    },
    DataState: {"source": TEXTS, "wanted": TEXTS},
}  # fmt: skip
"""State -> each of its parameters -> values that it has a meaning for."""
OF_TABS = pytest.mark.parametrize("tab", MEANT, ids=[each.TAB for each in MEANT])
LONG = "a" * (LONGEST_NAME + 1)
MEANINGLESS: dict[type[Address], tuple[str, ...]] = {
    PairsState: (
        "nonsense=1", "=", "=x", "list-page=", "list-page=0", "list-page=1e3", "list-page=²",
        "list-page=" + "9" * 5000, "margin=", "margin=:", "margin=1", "margin=2:1", "margin=nan:",
        "margin=:inf", "in=id", "regex=0", "sort=prompt", "panel=browse", "unit=bytes", "range=",
        "range=chosen.chars", "range=chosen.chars..", "range=chosen.chars.2.1", "show=hard",
        "range=id.chars.1.2", f"range=chosen.tokens.1.2.{LONG}", "results=../x", "results=é",
        "q=" + "a" * 501, "cell=", "random=2",
        *(f"{name}={LONG}" for name in ("model", "slice", "source", "subset", "pair", "tokenizer")),
    ),
    ModelsState: (
        "board=v3", "board", "table=all", "type=unheard", "prior=0", "rule=mine", "by=--Chat",
        "models=" + "a" * (LONGEST_QUERY + 1), "ties=win", "hide=model", "pin=", "digits=1.0",
        "pin=" + "a" * (LONGEST_MODEL + 1), "digits=" + "9" * 5000, "without-own=0", "plot=pie",
        "x=model", "section=Prior", "member=", "results=" + "0" * 65, "source=demo", "pair=a:1",
    ),
    ScoreState: ("panel=elsewhere", "page=²", "page=0", "which=some", "model=" + "x" * 501, "x=1"),
    TryState: ("which=all", "change=gone", "x=1", "seed=" + "x" * 501),
    DataState: ("x=1", "want=demo"),
}  # fmt: skip


def comes_back(state: Address) -> str:
    """The link of a state, which says all of it and breaks out of nothing."""
    link = state.href()
    assert type(state).parse(link) == type(state).parse(link[1:]) == (state, ())
    assert link.isascii() and not set(link) & set(" \t\n\0<>\"'#")
    return link


def linked(name: str, value: str) -> str:
    return f"{name}={quote_plus(value)}"


@OF_TABS
def test_every_value_of_every_parameter_goes_through_an_address(tab: type[Address]) -> None:
    assert {each.name for each in tab.PARAMETERS} == MEANT[tab].keys()
    beside = {"b": "a=a&", "with": "a=a&b=b&"} if tab is ModelsState else {}
    lost = []
    for name, values in MEANT[tab].items():
        states = [tab.parse(beside.get(name, "") + linked(name, value)) for value in values]
        lost += [(name, dropped) for _, dropped in states if dropped]
        lost += [] if any(f"{name}=" in comes_back(state) for state, _ in states) else [(name, ())]
    assert lost == []
    links = [linked(name, values[0]) for name, values in MEANT[tab].items()]
    state, dropped = tab.parse("&".join(links))
    assert dropped == () and comes_back(state).count("&") >= len(links) - 3


@OF_TABS
def test_a_part_that_means_nothing_is_named_and_leaves_the_rest(
    tab: type[Address], subtests: pytest.Subtests
) -> None:
    name, values = next(iter(MEANT[tab].items()))
    for part in MEANINGLESS[tab]:
        with subtests.test(part=part[:60]):
            state, dropped = tab.parse(f"?tab=x&{linked(name, values[-1])}&{part}")
            assert state == tab.parse(linked(name, values[-1]))[0]
            assert dropped == ((part if "=" in part else f"{part}=")[:80],)


PARTS = st.builds(
    linked,
    st.sampled_from([name for names in MEANT.values() for name in names]) | st.text(max_size=3),
    st.sampled_from([each for names in MEANT.values() for some in names.values() for each in some])
    | st.text(max_size=8),
)
ANYTHING = st.text() | st.lists(PARTS, max_size=12).map("&".join)


@given(st.sampled_from([*MEANT]), ANYTHING)
@example(PairsState, "q=\0&regex=1")
@example(PairsState, "subset=%ud800;q=1")
@example(ModelsState, "a=\x85")
@example(DataState, "&" * 10**6)
@example(PairsState, "subset=a&" * 10**5)
@example(ScoreState, "日" * 10**6)
def test_whatever_an_address_says_its_state_has_one_of_its_own(
    tab: type[Address], query: str
) -> None:
    state, dropped = tab.parse(query)
    comes_back(state)
    assert len(dropped) <= MOST_DROPPED + 1 and all(len(each) <= 80 for each in dropped)


@OF_TABS
def test_what_is_no_text_is_the_usual_address(tab: type[Address]) -> None:
    nothing: tuple[object, ...] = (None, ["?tab=pairs"], {})
    for posted in nothing:
        state, dropped = tab.parse(posted)
        assert state == tab() and len(dropped) == 1
