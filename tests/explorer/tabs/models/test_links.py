import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.core.links import LONGEST_LINK, Decoded
from explorer.core.validation import some_of
from explorer.data.search import checked_search
from explorer.reader.diffs import DIFFS
from explorer.reader.links import compare_query
from explorer.reader.reading import Reading
from explorer.results.ensembles import WAYS
from explorer.results.field import MAJORITY
from explorer.tabs.models.state import (
    BOARD_BENCHMARKS,
    BOARD_COLUMNS,
    CHARTS,
    DIGITS,
    HIDEABLE,
    MISSING,
    MODEL_TYPES,
    MODELS_LINK,
    MODELS_PANELS,
    MOST_MEMBERS,
    NUMBER_COLUMNS,
    RULE_OPTIONS,
    TABLES,
    TIES,
    WHOSE_PAIRS,
    ModelsState,
    decode_models,
)
from scoring.errors import KnownError, shown
from scoring.results.files import LONGEST_MODEL
from tests.explorer.boards import comparing

LETTERS = st.characters(exclude_categories=["Cs"])
NAMES = st.text(LETTERS, min_size=1, max_size=12) | st.text(
    "a,%&=#+;?/:@.. \t\n\0é日🌈\u202e'\"<>", min_size=1, max_size=8
)
SEARCHES = st.sampled_from(["", "llama,8b", r"^org/.*\d+b$, x", "(a|b)+", "a&b=c", "100%", "日本"])


@st.composite
def searches(draw: st.DrawFn) -> str:
    try:
        return checked_search(draw(NAMES))
    except KnownError:
        return draw(SEARCHES)


@st.composite
def views(draw: st.DrawFn) -> ModelsState:
    sort = draw(st.sampled_from(["", *BOARD_COLUMNS]))
    types = draw(st.sets(st.sampled_from(MODEL_TYPES)))
    models = draw(st.lists(NAMES.filter(lambda name: name != MAJORITY), unique=True, max_size=4))
    a, b, *more = [*models, *[""] * 2][: max(2, len(models))]
    return ModelsState(
        panel=draw(st.sampled_from(MODELS_PANELS)),
        benchmark=draw(st.sampled_from(BOARD_BENCHMARKS)),
        table=draw(st.sampled_from(TABLES)),
        search=draw(searches() | SEARCHES),
        types=tuple(each for each in MODEL_TYPES if each in types),
        prior_sets=draw(st.booleans()),
        rule=draw(st.sampled_from(RULE_OPTIONS)),
        ties=draw(st.sampled_from(TIES)),
        missing=draw(st.sampled_from(MISSING)),
        sort=sort,
        ascending=bool(sort) and draw(st.booleans()),
        hidden=some_of("A column", HIDEABLE, draw(st.lists(st.sampled_from(HIDEABLE), max_size=5))),
        pins=tuple(draw(st.lists(NAMES, max_size=4, unique=True))),
        open=draw(NAMES | st.just("")),
        ticked=draw(NAMES | st.just("")),
        digits=draw(st.sampled_from(DIGITS)),
        own=draw(st.booleans()),
        chart=draw(st.sampled_from(CHARTS)),
        x=draw(st.sampled_from(["", *NUMBER_COLUMNS])),
        y=draw(st.sampled_from(["", *NUMBER_COLUMNS])),
        a=a,
        b=b or MAJORITY,
        more=tuple(more),
        section=draw(st.sampled_from(WHOSE_PAIRS)),
        members=tuple(draw(st.lists(NAMES, unique=True, max_size=MOST_MEMBERS))),
        way=draw(st.sampled_from(WAYS)),
        source=draw(NAMES | st.just("")),
        reading=Reading(
            draw(NAMES | st.just("")), 1, draw(st.sampled_from(DIFFS)),
            *draw(st.tuples(st.booleans(), st.booleans())),
        ),
    )  # fmt: skip


@given(views())
@example(ModelsState())
@example(ModelsState(pins=("", "a,b", "100%", "a&b=c", "#", "+ ")[1:], search="a%2C,b"))
@example(ModelsState(hidden=HIDEABLE, types=MODEL_TYPES))
def test_a_link_says_all_of_a_view(state: ModelsState) -> None:
    link = MODELS_LINK.encode(state)
    decoded = MODELS_LINK.decode(link)
    assert decoded.state == state
    assert decoded.dropped == ()
    assert MODELS_LINK.decode(f"?{link}").state == state
    assert link.isascii()
    assert not set(link) & set(" \t\n\0<>\"'#")


def test_a_view_with_nothing_special_has_an_empty_link() -> None:
    assert MODELS_LINK.encode(ModelsState()) == ""
    assert MODELS_LINK.decode("").state == MODELS_LINK.decode("?").state == ModelsState()


def test_a_link_is_written_so_that_a_person_can_read_it() -> None:
    state = ModelsState(
        "scatter", "llama,8b", False, "v1", "subsets", ("DPO", "Generative"), True, "paper", "half",
        "loss", "hep-go", True, ("size", "math-prm"), ("org/b", "org/a"), "org/d",
        "org/e", 2, "tradeoff", "Chat Hard", "size", "org/a", "org/b", ("org/c",), "Chat",
    )  # fmt: skip
    assert MODELS_LINK.encode(state).split("&") == [
        "panel=scatter",
        "table=subsets",
        "models=llama%2C8b",
        "type=DPO",
        "type=Generative",
        "prior=1",
        "rule=paper",
        "ties=half",
        "missing=loss",
        "by=hep-go",
        "hide=size",
        "hide=math-prm",
        "pin=org/b",
        "pin=org/a",
        "model=org/d",
        "chosen=org/e",
        "digits=2",
        "without-own=1",
        "plot=tradeoff",
        "x=Chat+Hard",
        "y=size",
        "a=org/a",
        "b=org/b",
        "with=org/c",
        "section=Chat",
    ]


def test_a_part_that_means_nothing_is_named_and_leaves_the_rest(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "nonsense=1",
        "=",
        "=x",
        "board=v3",
        "board",
        "table=all",
        "models=(",
        "models=" + "a" * 501,
        "type=unheard",
        "prior=0",
        "prior=true",
        "rule=mine",
        "ties=win",
        "missing=",
        "by=",
        "by=-",
        "by=--Chat",
        "by=rank",
        "hide=model",
        "hide=nothing",
        "pin=",
        "pin=" + "a" * (LONGEST_MODEL + 1),
        "digits=0",
        "digits=5",
        "digits=1.0",
        "digits=" + "9" * 5000,
        "without-own=0",
        "plot=",
        "plot=pie",
        "x=",
        "x=model",
        "y=nothing",
    ]
    for part in cases:
        with subtests.test(part=part):
            decoded = MODELS_LINK.decode(f"pin=a&{part}&pin=b")
            assert decoded.state == ModelsState(pins=("a", "b"))
            assert decoded.dropped == ((part if "=" in part else f"{part}=")[:80],)


@pytest.mark.parametrize("value", [None, 5, b"board=v2", ["board=v2"], True])
def test_what_is_no_text_is_no_view(value: object) -> None:
    decoded = MODELS_LINK.decode(value)
    assert (decoded.state, decoded.dropped) == (ModelsState(), (shown(value),))


@pytest.mark.parametrize("unit", ["a", "&", "pin=a&", "type=DPO&", "%00", "models=a&", "\ud800"])
def test_a_megabyte_is_cut(unit: str) -> None:
    decoded = MODELS_LINK.decode(unit * (10**6 // len(unit)))
    assert decoded.dropped[0] == "…"
    assert len(MODELS_LINK.encode(decoded.state)) <= LONGEST_LINK


PARTS = st.builds(
    "{}={}".format,
    st.sampled_from([*(each.name for each in MODELS_LINK.parameters), "tab"]) | st.text(max_size=3),
    st.sampled_from([*BOARD_COLUMNS, *MODEL_TYPES, *RULE_OPTIONS, "1", "v2", "-Chat", "("])
    | st.text(max_size=8),
)


@given(st.text() | st.lists(PARTS, max_size=12).map("&".join))
def test_whatever_a_link_says_its_view_has_a_link_of_its_own(query_string: str) -> None:
    decoded = MODELS_LINK.decode(query_string)
    again = MODELS_LINK.decode(MODELS_LINK.encode(decoded.state))
    assert again.state == decoded.state
    assert again.dropped == ()
    assert all(isinstance(each, str) and len(each) <= 80 for each in decoded.dropped)


# Comparisons.


@pytest.mark.parametrize(
    "part",
    [
        "b=m", "b=", "with=m", "with=n", "with=", "with=*", "a=" + "x" * 2000, "section=Prior",
        "part=pie", "part=board", "panel=table", "way=best", "member=" + "x" * 2000,
        "subset=hep-go", "list-page=2", "q=x", "diff=sideways", "=", "nothing",
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_named_and_leaves_the_rest(part: str) -> None:
    link = (
        f"panel=compare&a=m&b=n&with=o&pair=a:1&{part}"
        if part != "b=m"
        else "panel=compare&a=m&with=o&pair=a:1&b=m"
    )
    decoded = MODELS_LINK.decode(link)
    expected = comparing("m", "n", ("o",), reading=Reading("a:1"))
    if part == "b=m":  # without the second there is no third
        assert decoded.state == comparing("m", reading=Reading("a:1"))
        assert decoded.dropped == ("b=m", "with=o")
        return
    assert decoded.state == expected
    assert decoded.dropped == ((part if "=" in part else f"{part}=")[:80],)


def test_more_models_or_members_than_there_can_be_are_dropped() -> None:
    decoded = MODELS_LINK.decode("a=1&b=2&with=3&with=4&with=5&with=6")
    assert (decoded.state.named, decoded.dropped) == (tuple("1234"), ("with=5", "with=6"))
    members = "&".join(f"member={at}" for at in range(MOST_MEMBERS + 1))
    decoded = MODELS_LINK.decode(members)
    assert len(decoded.state.members) == MOST_MEMBERS
    assert decoded.dropped == (f"member={MOST_MEMBERS}",)


@pytest.mark.parametrize(
    ("link", "state"),
    [
        ("?tab=leaderboard", ModelsState()),
        (
            "?tab=leaderboard&board=v2&models=llama&by=-Chat&without-own=1&plot=size",
            ModelsState(
                benchmark="v2", search="llama", sort="Chat", own=False, chart="size"
            ),
        ),
        ("?tab=compare", ModelsState("compare")),
        ("?tab=compare&a=m", comparing("m")),
        ("?tab=compare&part=table&a=m", comparing("m")),
        (
            "?tab=compare&a=m&b=n&with=o&section=Chat+Hard&part=scatter&source=demo&pair=a:1",
            comparing("m", "n", ("o",), "scatter", section="Chat Hard", source="demo",
                      reading=Reading("a:1")),
        ),
        ("?tab=compare&part=ensembles&member=m&way=worst",
         comparing(panel="ensembles", members=("m",), way="worst")),
        ("?tab=pairs&a=m&board=v2", ModelsState()),
    ],
)  # fmt: skip
def test_links_of_the_tabs_that_were_open_the_same(link: str, state: ModelsState) -> None:
    assert decode_models(link) == Decoded(state)


def test_a_link_to_compare_leaves_the_board_and_forgets_what_was_compared() -> None:
    before = comparing("x", "y", ("z",), "scatter", search="llama", pins=("m",), section="Chat")
    asked = f"?tab=models&{compare_query('m', 'n')}"
    assert decode_models(asked, before).state == comparing("m", "n", search="llama", pins=("m",))
