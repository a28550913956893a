from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.links import LONGEST_LINK, MOST_DROPPED
from explorer.data.facets import FACETS
from explorer.data.filters import LONGEST_NAME, NO_FILTERS, Filters, LengthRange, ranges_in_order
from explorer.data.lengths import MEASURED
from explorer.data.search import PLACES, Query, checked_query
from explorer.data.table import MEASURES, UNITS
from explorer.reader.diffs import DIFFS
from explorer.reader.reading import Reading
from explorer.reader.state import (
    FIELD_KINDS,
    MOST_PAGES,
    OUTCOME_KINDS,
    PAIRS_LINK,
    PAIRS_PANELS,
    SORTS,
    Chart,
    Margins,
    PairsState,
)
from explorer.stats.duels import CELLS
from scoring.errors import KnownError, shown

decode, encode = PAIRS_LINK.decode, PAIRS_LINK.encode

# Any view that can be.

LETTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.text(LETTERS, max_size=12) | st.text("a,%&=#+;?/:@.. \t\n\0é日🌈\u202e'\"<>", max_size=8)
PATTERNS = ["a&b=c", "(dog|cat)+%", r"\bfn \w+\(", " x ", "^#.*;$", "[é日]{1,3}", r"\Qa.b", "+"]
TOKENIZERS = st.sampled_from(["", "demo@0123456789ab", "org/na.me-1.5@abc.def", "a..b.", "."])


@st.composite
def queries(draw: st.DrawFn) -> Query:
    where, case = draw(st.sampled_from(PLACES)), draw(st.booleans())
    regex = draw(st.booleans())
    words = draw(st.sampled_from(PATTERNS) | TEXTS if regex else TEXTS)
    try:
        return checked_query(words, where, regex, case)
    except KnownError:
        return checked_query(words, where, False, case)


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


@st.composite
def filters_of_any_kind(draw: st.DrawFn) -> Filters:
    filters = NO_FILTERS
    for facet in draw(st.sets(st.sampled_from(FACETS), max_size=4)):
        filters = filters.picking(facet, draw(st.lists(TEXTS, max_size=4)))
    kept = ranges_in_order(draw(st.lists(ranges(), max_size=4)))
    return Filters(filters.picked, kept, draw(queries()))


READINGS = st.builds(
    Reading,
    TEXTS,
    st.integers(1, MOST_PAGES),
    st.sampled_from(DIFFS),
    st.booleans(),
    st.booleans(),
)
CHARTS = st.builds(
    Chart, st.sampled_from(MEASURED), st.sampled_from(UNITS), st.booleans(), TOKENIZERS
)
VIEWS = st.builds(
    PairsState,
    source=TEXTS,
    filters=filters_of_any_kind(),
    slices=st.lists(TEXTS, unique=True, max_size=4).map(tuple),
    sort=st.sampled_from(SORTS),
    reading=READINGS,
    panel=st.sampled_from(PAIRS_PANELS),
    chart=CHARTS,
    outcomes=st.just(True),
    model=TEXTS,
    kind=st.sampled_from(OUTCOME_KINDS),
    field_kind=st.sampled_from(FIELD_KINDS),
    margins=margins(),
    against=TEXTS,
    cell=st.sampled_from(CELLS),
).flatmap(lambda state: st.sampled_from([state, replace(state, outcomes=False, model="")]))


@given(VIEWS)
@example(PairsState())
@example(PairsState(filters=Filters().picking("rejected_model", ["", "a,b", "100%", "a&b=c", "#"])))
@example(PairsState(filters=Filters().picking("length", ["chosen.chars.1.2"])))
@example(
    PairsState(filters=Filters().keeping(LengthRange("chosen", "tokens", None, 5, "a/b-1.5@c")))
)
@example(PairsState(filters=Filters(ranges=(LengthRange("difference", "words", -7, None),))))
@example(PairsState(filters=Filters(query=Query("  ", regex=True))))
@example(PairsState("None", reading=Reading("True", 2)))
def test_a_link_says_all_of_a_view(view: PairsState) -> None:
    link = encode(view)
    decoded = decode(link)
    assert decoded.state == view
    assert decoded.dropped == ()
    assert decode(f"?{link}").state == view
    assert link.isascii()
    assert not set(link) & set(" \t\n\0<>\"'#")


def test_a_view_with_nothing_special_has_an_empty_link() -> None:
    assert encode(PairsState()) == ""
    assert decode("").state == decode("?").state == PairsState()


def test_a_link_is_written_so_that_a_person_can_read_it() -> None:
    view = PairsState(
        "allenai/reward-bench:filtered@168d",
        Filters().picking("subset", ["hep-rust", "hep-go"]).picking("longer", ["rejected"]),
        sort="-difference",
        reading=Reading("hep-rust:4415", 2, "words", spaces=True),
        panel="lengths",
        chart=Chart("prompt", "words", by_subset=True),
    )
    kept = LengthRange("chosen", "chars", 10, None)
    filters = replace(view.filters.keeping(kept), query=Query("un wrap", "chosen", regex=True))
    assert encode(replace(view, filters=filters)).split("&") == [
        "source=allenai/reward-bench:filtered@168d",
        "subset=hep-go",
        "subset=hep-rust",
        "longer=rejected",
        "q=un+wrap",
        "in=chosen",
        "regex=1",
        "range=chosen.chars.10.",
        "sort=-difference",
        "list-page=2",
        "pair=hep-rust:4415",
        "diff=words",
        "spaces=1",
        "panel=lengths",
        "chart=prompt",
        "unit=words",
        "by-subset=1",
    ]


# What a link may say besides.


def test_a_part_that_means_nothing_is_named_and_leaves_the_rest(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "nonsense=1",
        "nonsense=",
        "=",
        "=x",
        "list-page",
        "list-page=0",
        "margin=",
        "margin=:",
        "margin=1",
        "margin=2:1",
        "margin=nan:",
        "margin=:inf",
        "margin=few:1",
        "margin=0:1:2",
        "list-page=-1",
        "list-page=x",
        "list-page=1e3",
        "list-page=" + "9" * 5000,
        "list-page=99999999999",
        "in=id",
        "regex=0",
        "regex=true",
        "case=",
        "sort=prompt",
        "diff=sideways",
        "spaces=yes",
        "markdown=2",
        "panel=browse",
        "chart=subset",
        "unit=bytes",
        "by-subset=no",
        "range=",
        "range=chosen",
        "range=chosen.chars",
        "range=chosen.chars..",
        "range=chosen.chars.5",
        "range=chosen.chars.2.1",
        "range=chosen.bytes.1.2",
        "range=id.chars.1.2",
        "range=chosen.chars.1.99999999999",
        "range=chosen.tokens.1.2." + "a" * (LONGEST_NAME + 1),
        "range=chosen.chars." + "9" * 5000 + ".",
        "subset=" + "a" * (LONGEST_NAME + 1),
        "source=" + "a" * (LONGEST_NAME + 1),
        "pair=" + "a" * (LONGEST_NAME + 1),
        "tokenizer=" + "a" * (LONGEST_NAME + 1),
        "q=" + "a" * 501,
    ]
    for part in cases:
        with subtests.test(part=part):
            decoded = decode(f"subset=hep-go&{part}&subset=hep-rust")
            assert decoded.state == PairsState(
                filters=Filters().picking("subset", ["hep-go", "hep-rust"])
            )
            assert decoded.dropped == ((part if "=" in part else f"{part}=")[:80],)


def test_a_pattern_that_cannot_be_used_is_named() -> None:
    decoded = decode("q=(&regex=1&in=chosen&panel=lengths")
    assert decoded.dropped == ("q=(",)
    assert decoded.state.filters.query == Query("", "chosen", regex=True)
    assert decoded.state.panel == "lengths"
    assert decode("q=(").state.filters.query == Query("(")


@pytest.mark.parametrize("own", ["__theme=dark", "__sign=abc", "logs=container", "view=api"])
def test_what_gradio_writes_is_not_ours_to_name(own: str) -> None:
    assert decode(f"{own}&subset=hep-go").dropped == ()


def test_the_last_of_several_is_taken_and_names_add_up() -> None:
    decoded = decode("sort=chosen&sort=-chosen&code=yes&code=no&code=yes&pair=a&pair=b")
    assert (decoded.state.sort, decoded.state.reading.key) == ("-chosen", "b")
    assert decoded.state.filters.names("code") == ("no", "yes")
    assert decode("range=chosen.chars.1.2&range=chosen.chars.3.4").state.filters.ranges == (
        LengthRange("chosen", "chars", 3, 4),
    )


def test_the_parts_of_a_search_may_come_in_any_order() -> None:
    wanted = Query("(a|b)", "chosen", regex=True, case=True)
    for link in (
        "q=(a|b)&in=chosen&regex=1&case=1",
        "case=1&regex=1&in=chosen&q=%28a%7Cb%29",
    ):
        assert decode(link).state.filters.query == wanted


def test_a_search_is_repaired_as_a_typed_one_is() -> None:
    assert decode("q=++dog+").state.filters.query.words == "dog"
    assert decode("q=+dog&regex=1").state.filters.query.words == " dog"


@pytest.mark.parametrize("value", [None, 5, 1.5, b"q=dog", ["q=dog"], {"q": "dog"}, True])
def test_what_is_no_text_is_no_view(value: object) -> None:
    decoded = decode(value)
    assert decoded.state == PairsState()
    assert decoded.dropped == (shown(value),)


@pytest.mark.parametrize("name", ["source", "pair", "tokenizer", "q", "subset"])
def test_a_lone_surrogate_becomes_the_mark_that_stands_for_it(name: str) -> None:
    decoded = decode(f"{name}=a\ud800b")
    assert encode(decoded.state) == f"{name}=a%EF%BF%BDb"


@pytest.mark.parametrize("written", ["%00", "%ff%fe", "%", "%zz", "%ed%a0%80", "\0", "%2526"])
def test_broken_percent_signs_are_read_as_far_as_they_can_be(written: str) -> None:
    for name in ("source", "subset", "q", "pair", "range", "list-page", written):
        decoded = decode(f"{name}={written}")
        assert decode(encode(decoded.state)).state == decoded.state


def test_a_very_long_link_is_cut_between_two_parts() -> None:
    names = [f"{'x' * 90}{number:010}" for number in range(300)]
    decoded = decode("&".join(f"subset={name}" for name in names))
    found = decoded.state.filters.names("subset")
    assert found == tuple(names[: len(found)])
    assert len(found) == LONGEST_LINK // 108
    assert decoded.dropped == ("…",)


@pytest.mark.parametrize("unit", ["a", "&", "a&", "=", "subset=a&", "%00", "q=a&", "日", "\ud800"])
def test_a_megabyte_is_cut(unit: str) -> None:
    decoded = decode(unit * (10**6 // len(unit)))
    assert decoded.dropped[0] == "…"
    assert len(decoded.dropped) <= MOST_DROPPED + 1
    assert all(len(each) <= 80 for each in decoded.dropped)


def test_so_many_parts_are_named_and_no_more() -> None:
    parts = [f"x{number}=1" for number in range(MOST_DROPPED + 1)]
    assert decode("&".join(parts[:-1])).dropped == tuple(parts[:-1])
    assert decode("&".join(parts)).dropped == (*parts[:-1], "…")


NAMES = st.sampled_from(
    [*FACETS, "source", "q", "in", "regex", "case", "range", "sort", "list-page", "pair", "diff",
     "spaces", "markdown", "panel", "chart", "unit", "by-subset", "tokenizer", "logs"]
)  # fmt: skip
MEANT = st.sampled_from(
    [*PLACES, *SORTS, *DIFFS, *PAIRS_PANELS, *MEASURED, *UNITS, "1", "7", "(", "a.b",
     "chosen.chars.1.", "difference.tokens.-5.9.x.y"]
)  # fmt: skip
PARTS = st.builds("{}={}".format, NAMES | st.text(max_size=3), MEANT | st.text(max_size=8))


@given(st.text() | st.lists(PARTS, max_size=12).map("&".join))
@example("q=\0&regex=1")
@example("subset=%ud800;q=1")
@example("?" * 5)
def test_whatever_a_link_says_its_view_has_a_link_of_its_own(query_string: str) -> None:
    decoded = decode(query_string)
    again = decode(encode(decoded.state))
    assert again.state == decoded.state
    assert again.dropped == ()
    assert all(isinstance(each, str) and len(each) <= 80 for each in decoded.dropped)
