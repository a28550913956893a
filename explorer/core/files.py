"""What written files have in common: cells that no spreadsheet runs, numbers, passing folders."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory

_FORMULA = re.compile(
    r"[\t\r]|[\s\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*[=+\-@＝＋－＠]"
)
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}
_MARKDOWN = {letter: f"\\{letter}" for letter in "\\`*_[]|~$:@#!"} | {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
}
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+"
)


def cell(text: str) -> str:
    """A text that no spreadsheet runs and every reader of CSV takes.

    Formulas are those of OWASP's page on CSV injection, also behind whitespace and what is unseen.

    >>> cell("=1+1"), cell(" ＠x"), cell("1 - 1"), cell("a" + chr(0))
    ("'=1+1", "' ＠x", '1 - 1', 'a␀')
    """
    return ("'" if _FORMULA.match(text) else "") + pictured(text)


def pictured(text: str) -> str:
    r"""A text whose control characters are replaced by their pictures, but tabs and ends of lines.

    >>> pictured("\x1b[1m")
    '␛[1m'
    """
    return text.translate(_PICTURES)


def plain(value: float | None) -> float | None:
    """A float that JSON has; None where there is none, or no number.

    >>> plain(1), plain(float("nan")), plain(None)
    (1.0, None, None)
    """
    return None if value is None or not isfinite(value) else float(value)


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A folder for one download, which goes at the end: Gradio keeps a copy for a while."""
    with TemporaryDirectory(prefix="explorer-export-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def markdown_cell(words: str) -> str:
    r"""A text that Markdown shows as it stands, in one line of a table.

    >>> print(markdown_cell("a|b_c <b>"), markdown_cell("https://x"))
    a\|b\_c &lt;b&gt; https\://x
    """
    return "".join(_MARKDOWN.get(letter, letter) for letter in in_one_line(words))


def in_one_line(words: str) -> str:
    """A text without ends of lines and what is not seen, which cells of a table cannot hold."""
    return _UNSEEN.sub(" ", words).strip()
