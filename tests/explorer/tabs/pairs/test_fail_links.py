from hypothesis import given
from hypothesis import strategies as st

from explorer.data.filters import Filters
from explorer.reader.reading import Reading
from explorer.reader.state import View
from explorer.stats.duels import CELLS
from explorer.tabs.pairs.fail_state import FAIL_LINK, FIELD_KINDS, KINDS, ORDERS, PANELS, FailView

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
views = st.builds(
    FailView,
    model=names,
    kind=st.sampled_from(KINDS),
    field_kind=st.sampled_from(FIELD_KINDS),
    slices=st.lists(names.filter(bool), unique=True, max_size=4).map(tuple),
    order=st.sampled_from(ORDERS),
    against=names,
    cell=st.sampled_from(CELLS),
    panel=st.sampled_from(PANELS),
    view=st.builds(
        View,
        source=names,
        filters=st.lists(names, min_size=1, max_size=3).map(
            lambda picked: Filters().picking("subset", picked)
        ),
        reading=st.builds(Reading, key=names, page=st.integers(1, 99)),
    ),
)


@given(views)
def test_a_link_says_the_whole_view(view: FailView) -> None:
    assert FAIL_LINK.decode(FAIL_LINK.encode(view)).view == view
    assert FAIL_LINK.decode(f"?tab=failures&{FAIL_LINK.encode(view)}").dropped == ()


def test_a_plain_view_has_a_plain_link() -> None:
    assert FAIL_LINK.encode(FailView()) == ""


@given(st.text(max_size=200))
def test_any_text_is_read(query: str) -> None:
    FAIL_LINK.decode(query)


def test_what_means_nothing_is_told() -> None:
    decoded = FAIL_LINK.decode(
        "?model=m&show=x&slice=a&slice=b&slice=c&slice=d&slice=e&by=up&what=1"
    )
    assert decoded.view.model == "m"
    assert decoded.dropped == ("show=x", "slice=e", "by=up", "what=1")
