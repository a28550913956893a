"""Keys that were pasted."""

import pytest

from explorer.runs.selections import selected_by_typed_keys
from scoring.errors import KnownError
from tests.support.tables import row, small_table


def test_keys_with_spaces_are_told_apart_by_lines_commas_and_semicolons() -> None:
    table = small_table(*(row(subset="Help/Data Management", id=n) for n in range(3)))
    first, second = table.keys[0], table.keys[2]
    for between in ("\n", "\r\n", ", ", " ;\n\n "):
        found = selected_by_typed_keys(table, f" {first}{between}{second} \n")
        assert found.rows.tolist() == [0, 2], between
    with pytest.raises(KnownError, match=f"Not found among these pairs .*{first} Help"):
        selected_by_typed_keys(table, f"{first} {second}")
