"""Gradio's tables: values that sort beside the words that are shown."""

from explorer.core.parts import Column, build_grid, grid


def test_numbers_stay_numbers_beside_what_is_shown_of_them() -> None:
    columns = [
        Column("name"),
        Column("share", lambda share: f"{share:.0%}", lambda share: f"opacity: {share}"),
    ]
    assert grid(columns, [["<b>", 0.25], ["c", 1.0]]) == {
        "headers": ["name", "share"],
        "data": [["<b>", 0.25], ["c", 1.0]],
        "metadata": {
            "display_value": [["<b>", "25%"], ["c", "100%"]],
            "styling": [["", "opacity: 0.25"], ["", "opacity: 1.0"]],
        },
    }


def test_no_rows_are_a_table_with_its_headings() -> None:
    assert grid([Column("name")], [])["headers"] == ["name"]


def test_a_grid_is_to_be_read_only() -> None:
    assert build_grid("scored", ["50%", "50%"]).interactive is False
