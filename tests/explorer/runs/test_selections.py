"""Keys that were pasted."""

import pytest

from explorer.runs.selections import selected_by_typed_keys
from scoring.errors import KnownError
from tests.support.tables import row, small_table

SPACED = small_table(*(row(subset="Help/Data Management", id=n) for n in range(3)))
FIRST, SECOND = SPACED.keys[0], SPACED.keys[2]


@pytest.mark.parametrize("between", ["\n", "\r\n", ", ", ";", " ;\n\n "])
def test_keys_with_spaces_are_told_apart_by_lines_commas_and_semicolons(between: str) -> None:
    found = selected_by_typed_keys(SPACED, f" {FIRST}{between}{SECOND} \n")
    assert found.rows.tolist() == [0, 2]


def test_a_space_is_part_of_a_key() -> None:
    with pytest.raises(KnownError, match=f"Not found among these pairs .*{FIRST} Help"):
        selected_by_typed_keys(SPACED, f"{FIRST} {SECOND}")
