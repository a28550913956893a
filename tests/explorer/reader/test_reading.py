import numpy as np
import pytest

from explorer.reader.reading import ListedRows, resolve_key
from scoring.errors import KnownError
from tests.support.tables import row, small_table

TABLE = small_table(*(row() for _ in range(60)), chunk_rows=7)
LISTS = [
    ListedRows(TABLE, rows) for rows in (np.arange(60), np.arange(60)[::-1], np.arange(0, 60, 2))
]


@pytest.mark.parametrize("listed", LISTS)
def test_a_key_stands_where_the_list_has_it(listed: ListedRows) -> None:
    for place in range(len(listed)):
        assert listed.place_of(listed.key(place)) == place
    assert LISTS[2].place_of("mine:1") is None


@pytest.mark.parametrize("key", ["", "mine:60", "\ud800", "x" * 10**6])
def test_a_key_that_is_nowhere_has_no_place_and_is_refused(key: str) -> None:
    assert [listed.place_of(key) for listed in LISTS] == [None] * len(LISTS)
    with pytest.raises(KnownError, match=r"There is no pair .* as in mine:0") as caught:
        resolve_key(TABLE, key)
    assert len(str(caught.value)) < 200


def test_a_key_may_be_typed_with_spaces_about_it_and_may_have_some() -> None:
    table = small_table(row(subset=" a", id="1 "), row(subset="a", id="1"))
    assert resolve_key(table, " a:1 ") == " a:1 "
    assert resolve_key(table, "  a:1 ") == "a:1"


def test_a_bare_id_is_of_the_one_pair_that_has_it_and_of_several_all_are_named() -> None:
    assert resolve_key(TABLE, " 30 ") == "mine:30"
    with pytest.raises(KnownError, match=r"Several pairs have the id .7.: a:7, b:7"):
        resolve_key(small_table(row(subset="a", id=7), row(subset="b", id=7)), "7")
