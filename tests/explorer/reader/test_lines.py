"""Lines beside each other: whole, in step, and with bounded work."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from explorer.reader.diffs import DIFFS, Diff
from explorer.reader.lines import Aligned, aligned, line_starts

code = st.lists(
    st.sampled_from(["\n", "x = 1", "x = 2\n", "    return x", "\t}\n", "a\r\n", "é\n", "\x0c"])
).map("".join)


def beside(chosen: str, rejected: str, mode: Diff = "auto") -> Aligned:
    made = aligned(chosen, rejected, mode)
    assert made is not None
    return made


def lines_of(text: str) -> list[str]:
    starts = line_starts(text)
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def check_is_whole(made: Aligned, chosen: str, rejected: str) -> None:
    assert len(made.rows[0]) == len(made.rows[1])
    for spans, rows, words in zip(made.spans, made.rows, (chosen, rejected), strict=True):
        assert "".join(span.text for span in spans) == words
        n_lines = len(lines_of(words))
        assert [row.line for row in rows if row.line] == list(range(1, n_lines + 1))
    for one, other in zip(*made.rows, strict=True):
        assert one.difference == other.difference and (one.line or other.line)
        if not one.difference:
            assert one.line and other.line
            assert lines_of(chosen)[one.line - 1] == lines_of(rejected)[other.line - 1]


@given(code, code, st.sampled_from([mode for mode in DIFFS if mode != "off"]))
def test_every_line_has_its_row_and_equal_lines_stand_beside_each_other(
    chosen: str, rejected: str, mode: Diff
) -> None:
    check_is_whole(beside(chosen, rejected, mode), chosen, rejected)


def test_a_line_stands_beside_the_one_that_it_was_changed_into() -> None:
    chosen = "fn f(a: i32) {\n    let b = a + 1;\n    b\n}\n"
    rejected = "fn f(a: i32) {\n    log(a);\n    let b = a - 1;\n    b\n}\n"
    made = beside(chosen, rejected)
    assert [row.line for row in made.rows[0]] == [1, None, 2, 3, 4]
    assert [row.line for row in made.rows[1]] == [1, 2, 3, 4, 5]
    assert [row.difference for row in made.rows[0]] == [0, 1, 1, 0, 0]
    changed = [[span.text for span in side if span.difference] for side in made.spans]
    assert changed == [["+"], ["    log(a);\n", "-"]]
