"""Addresses of the Pairs tab: all of a state is in its link, and a link may say anything."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.links import MOST_DROPPED
from explorer.data.facets import FACETS
from explorer.data.filters import LONGEST_NAME, LengthRange, ranges_in_order
from explorer.data.lengths import MEASURED
from explorer.data.search import PLACES, Query
from explorer.data.table import MEASURES, UNITS
from explorer.reader.diffs import DIFFS
from explorer.reader.state import (
    FIELD_KINDS,
    MOST_PAGES,
    MOST_SLICES,
    OUTCOME_KINDS,
    PAIRS_PANELS,
    SORTS,
    Margins,
    PairsState,
    changed,
)
from explorer.stats.duels import CELLS
from scoring.errors import shown

parse = PairsState.parse
LETTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.text(LETTERS, max_size=12) | st.text("a,%&=#+;?/:@.. \t\n\0é日🌈\u202e'\"<>", max_size=8)
NAMES = st.lists(TEXTS, unique=True, max_size=4).map(tuple)
TOKENIZERS = st.sampled_from(["", "demo@0123456789ab", "org/na.me-1.5@abc.def", "a..b.", "."])


@st.composite
def ranges(draw: st.DrawFn) -> LengthRange:
    ends = st.none() | st.integers(-(10**9), 10**9)
    low, high = draw(ends), draw(ends)
    if low is None and high is None:
        low = draw(st.integers(-5, 5))
    if low is not None and high is not None and low > high:
        low, high = high, low
    unit = draw(st.sampled_from(UNITS))
    return LengthRange.of(draw(st.sampled_from(MEASURES)), unit, low, high, draw(TOKENIZERS))


@st.composite
def margins(draw: st.DrawFn) -> Margins | None:
    number = st.floats(allow_nan=False, allow_infinity=False)
    low, high = sorted((draw(number), draw(number)))
    return draw(st.sampled_from([None, (low, high), (low, None), (None, high)]))


STATES = st.builds(
    PairsState,
    source=TEXTS,
    results=st.text("0123456789abcdef", min_size=1, max_size=8),
    words=TEXTS,
    where=st.sampled_from(PLACES),
    regex=st.booleans(),
    case=st.booleans(),
    ranges=st.lists(ranges(), max_size=4).map(ranges_in_order),
    slices=NAMES,
    sort=st.sampled_from(SORTS),
    model=st.none() | TEXTS,
    kind=st.sampled_from(OUTCOME_KINDS),
    field_kind=st.sampled_from(FIELD_KINDS),
    margins=margins(),
    against=TEXTS,
    cell=st.sampled_from(CELLS),
    key=TEXTS,
    keep=TEXTS,
    random=st.booleans(),
    page=st.integers(1, MOST_PAGES),
    diff=st.sampled_from(DIFFS),
    spaces=st.booleans(),
    rendered=st.booleans(),
    panel=st.sampled_from(PAIRS_PANELS),
    chart=st.sampled_from(MEASURED),
    unit=st.sampled_from(UNITS),
    by_subset=st.booleans(),
    tokenizer=TOKENIZERS,
    **dict.fromkeys(FACETS, NAMES),
)


@given(STATES)
@example(PairsState())
@example(PairsState(rejected_model=("", "a,b", "100%", "a&b=c", "#")))
@example(PairsState(model=""))
@example(PairsState(ranges=(LengthRange("chosen", "tokens", None, 5, "a/b-1.5@c"),)))
def test_a_link_says_all_of_a_state(state: PairsState) -> None:
    link = state.href()
    assert parse(link) == (state, ())
    assert link.isascii()
    assert not set(link) & set(" \t\n\0<>\"'#")


def test_a_link_is_written_so_that_a_person_can_read_it() -> None:
    state = PairsState(
        "allenai/reward-bench:filtered@168d",
        subset=("hep-rust", "hep-go"),
        longer=("rejected",),
        words="un wrap",
        where="chosen",
        regex=True,
        ranges=(LengthRange("chosen", "chars", 10, None),),
        sort="-difference",
        key="hep-rust:4415",
        diff="words",
        spaces=True,
        panel="lengths",
        chart="prompt",
        unit="words",
        by_subset=True,
        model="org/m",
    )
    assert state.query_string.split("&") == [
        "model=org/m",
        "source=allenai/reward-bench:filtered@168d",
        "subset=hep-rust",
        "subset=hep-go",
        "longer=rejected",
        "q=un+wrap",
        "in=chosen",
        "regex=1",
        "range=chosen.chars.10.",
        "sort=-difference",
        "pair=hep-rust:4415",
        "diff=words",
        "spaces=1",
        "panel=lengths",
        "chart=prompt",
        "unit=words",
        "by-subset=1",
    ]


NONSENSE = [
    "nonsense=1", "nonsense=", "=", "=x", "list-page=", "list-page=0", "list-page=-1",
    "list-page=x", "list-page=1e3", "list-page=²", "list-page=" + "9" * 5000,
    "list-page=99999999999", "margin=", "margin=:", "margin=1", "margin=2:1", "margin=nan:",
    "margin=:inf", "margin=few:1", "margin=0:1:2", "in=id", "regex=0", "regex=true", "case=",
    "sort=prompt", "diff=sideways", "spaces=yes", "markdown=2", "panel=browse", "chart=subset",
    "unit=bytes", "by-subset=no", "range=", "range=chosen", "range=chosen.chars",
    "range=chosen.chars..", "range=chosen.chars.5", "range=chosen.chars.2.1",
    "range=chosen.bytes.1.2", "range=id.chars.1.2", "range=chosen.chars.1.99999999999",
    "range=chosen.tokens.1.2." + "a" * (LONGEST_NAME + 1), "range=chosen.chars." + "9" * 5000 + ".",
    "results=../x", "results=é", "q=" + "a" * 501, "show=hard", "pairs=losses", "cell=", "random=2",
    *(
        f"{name}={'a' * (LONGEST_NAME + 1)}"
        for name in ("model", "against", "slice", "source", "subset", "pair", "keep", "tokenizer")
    ),
]  # fmt: skip


def test_a_part_that_means_nothing_is_named_and_leaves_the_rest(subtests: pytest.Subtests) -> None:
    for part in NONSENSE:
        with subtests.test(part=part[:60]):
            state, dropped = parse(f"subset=hep-go&{part}&subset=hep-rust")
            assert state == PairsState(subset=("hep-go", "hep-rust"))
            assert dropped == (part[:80],)


def test_more_slices_than_can_be_joined_are_named() -> None:
    state, dropped = parse("&".join(f"slice={each}" for each in range(MOST_SLICES + 1)))
    assert (len(state.slices), dropped) == (MOST_SLICES, (f"slice={MOST_SLICES}",))


def test_the_last_of_several_is_taken_and_names_add_up() -> None:
    state, dropped = parse("sort=chosen&sort=-chosen&code=yes&code=no&code=yes&pair=a&pair=b")
    assert (state.sort, state.key, state.code, dropped) == ("-chosen", "b", ("yes", "no"), ())
    state, _ = parse("range=chosen.chars.1.2&range=chosen.words.5.&range=chosen.chars.3.4")
    assert state.ranges == (
        LengthRange("chosen", "chars", 3, 4),
        LengthRange("chosen", "words", 5, None),
    )


def test_spaces_about_a_search_count_in_an_expression_alone() -> None:
    assert parse("q=++dog+")[0].query == Query("dog")
    assert parse("q=+dog&regex=1&in=chosen&case=1")[0].query == Query(" dog", "chosen", True, True)


@pytest.mark.parametrize("value", [None, 5, 1.5, b"q=dog", ["q=dog"], {"q": "dog"}, True])
def test_what_is_no_text_is_no_state(value: object) -> None:
    assert parse(value) == (PairsState(), (shown(value),))


@pytest.mark.parametrize("unit", ["a", "&", "a&", "=", "subset=a&", "%00", "q=a&", "日", "\ud800"])
def test_a_megabyte_is_cut(unit: str) -> None:
    _, dropped = parse(unit * (10**6 // len(unit)))
    assert dropped[0] == "…"
    assert len(dropped) <= MOST_DROPPED + 1
    assert all(len(each) <= 80 for each in dropped)


MEANT = st.sampled_from(
    [*PLACES, *SORTS, *DIFFS, *PAIRS_PANELS, *MEASURED, *UNITS, "1", "7", "(", "a.b",
     "chosen.chars.1.", "difference.tokens.-5.9.x.y", "%00", "%ed%a0%80", "%zz"]
)  # fmt: skip
PARTS = st.builds(
    "{}={}".format,
    st.sampled_from([each.name for each in PairsState.PARAMETERS]) | st.text(max_size=3),
    MEANT | st.text(max_size=8),
)


@given(st.text() | st.lists(PARTS, max_size=12).map("&".join))
@example("q=\0&regex=1")
@example("subset=%ud800;q=1")
def test_whatever_a_link_says_its_state_has_a_link_of_its_own(query: str) -> None:
    state, dropped = parse(query)
    assert parse(state.href()) == (state, ())
    assert all(isinstance(each, str) and len(each) <= 80 for each in dropped)


def test_what_makes_sense_on_another_table_is_kept() -> None:
    kept = {"sort": "-chosen", "diff": "words", "spaces": True, "panel": "lengths", "unit": "words"}
    state = changed(PairsState("a", subset=("x",), key="x:1", page=2, model="m"), kept)
    assert state.on("b") == changed(PairsState("b"), kept)


def test_a_link_to_other_pairs_begins_the_list_and_opens_no_pair() -> None:
    state = PairsState(key="a:1", page=3, sort="chosen", words="dog")
    assert parse(state.narrowed(subset=("x",)))[0] == PairsState(
        sort="chosen", words="dog", subset=("x",)
    )
    assert state.unfiltered() == PairsState(sort="chosen")


def test_of_another_model_what_depends_on_one_is_left() -> None:
    state = PairsState(model="a", kind="all", against="b", cell="both", margins=(0.0, None))
    assert state.of("c") == PairsState(model="c")
    assert replace(state, against="").of("c") == PairsState(model="c", kind="all")
    assert replace(state, against="").of(None) == PairsState()
