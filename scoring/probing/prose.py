"""What of a text is prose, and what is code, mathematics or an address, which words do not touch.

All are patterns that know no grammar: a verse of statements passes for a program. The time that
they take grows with the length of a text and no faster, whatever it holds.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})")
_MARK = re.compile(
    r"`+|\$\$|\\[()\[\]]"
    r"|(?<![\\$\w])\$(?=[^\s$])[^$\n]*(?<=[^\s\\])\$(?![\d$])"  # $x$, and not from $5 to $10
    r"|\\[A-Za-z]+"
    r"|(?:https?://|www\.)[^\s<>()]*[^\s<>().,;:!?'\"*_]"
)
"""What is literal by itself, or begins or ends what is."""
_CLOSES = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_LONGEST = 2_000
"""Of what stands between two marks."""
_CODE_LINE = re.compile(
    r"[ ]{4}|\t"
    r"|.*(?:[;{}]|\)\s*:|\(|\))\s*$(?<!\.\))"
    r"|\s*(?:def|class|return|import|from|if|elif|else|for|while|let|const|var|fn|func|function"
    r"|public|private|package|use|print|#include|//|/\*|\*/)\b.*[=:(){}\[\];]"
    r"|\s*[\w.\[\]]+\s*(?:[-+*/%|&]?=|:=)\s"
    r"|\s*(?:break|continue|pass|return(?: \w+)?|end|else:)\s*$"
)
_LIST_LINE = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")


class Passage(NamedTuple):
    """A piece of a text; what is no prose stays as it is."""

    text: str
    is_prose: bool


def blocks(text: str) -> list[Passage]:
    r"""A text cut into prose and fenced code; joined they give it back.

    A fence that is not closed goes on to the end of the text.

    >>> [part.text for part in blocks("One:\n```py\nx\n```\nTwo.")]
    ['One:\n', '```py\nx\n```\n', 'Two.']
    """
    found: list[tuple[list[str], bool]] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        inside = bool(fence)
        if not inside and mark:
            fence = mark[1]
        elif inside and mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
        is_prose = not (inside or mark)
        # Two blocks of code in a row stay two.
        if found and found[-1][1] == is_prose and (is_prose or inside):
            found[-1][0].append(line)
        else:
            found.append(([line], is_prose))
    return [Passage("".join(lines), is_prose) for lines, is_prose in found]


def parts(text: str) -> list[Passage]:
    r"""A text cut into prose and all else: fenced and inline code, mathematics, addresses.

    >>> cut = parts("It is $5, see `x` in $y^2$ at https://e.org/a.")
    >>> [part.text for part in cut if not part.is_prose]
    ['`x`', '$y^2$', 'https://e.org/a']
    """
    found = []
    for block in blocks(text):
        if not block.is_prose:
            found.append(block)
            continue
        end = 0
        for literal in _literals(block.text):
            found.append(Passage(block.text[end : literal.start], True))
            found.append(Passage(block.text[literal], False))
            end = literal.stop
        found.append(Passage(block.text[end:], True))
    return [part for part in found if part.text]


def _literals(text: str) -> Iterator[slice]:
    """Where what is no prose stands in a block of prose, in order.

    The end of each is looked up, since to search for it would take long where there is none.
    """
    marks = list(_MARK.finditer(text))
    places: dict[str, list[int]] = {}
    for mark in marks:
        places.setdefault(mark[0], []).append(mark.start())
    done = 0
    for mark in marks:
        if mark.start() < done or mark[0] in _CLOSES.values() - _CLOSES.keys():
            continue
        done = mark.end()
        if mark[0] in _CLOSES or mark[0].startswith("`"):
            close = _CLOSES.get(mark[0], mark[0])
            ends = places.get(close, [])
            after = bisect_left(ends, mark.end())
            if after == len(ends) or ends[after] - mark.end() > _LONGEST:
                continue
            done = ends[after] + len(close)
        yield slice(mark.start(), done)


def is_open_fence(text: str) -> bool:
    r"""Whether a text ends within fenced code, so that what is put behind it would be code.

    >>> is_open_fence("```\nx"), is_open_fence("```\nx\n```"), is_open_fence("x")
    (True, False, False)
    """
    last = blocks(text)[-1:]
    return any(
        not block.is_prose and blocks(f"{block.text.rstrip()}\n.")[-1:] != [Passage(".", True)]
        for block in last
    )


def is_bare_code(text: str) -> bool:
    r"""Whether a text is a program and nothing else, with no fence around it.

    So it is where lines that look like code, indented or beginning or ending as statements do, hold
    more than half of its characters.

    >>> is_bare_code("    return sorted(x)\n"), is_bare_code("Use `sorted(x)`.")
    (True, False)
    """
    if any(not block.is_prose for block in blocks(text)):
        return False
    lines = [line for line in text.splitlines() if line.strip()]
    code = [line for line in lines if _CODE_LINE.match(line) and not _LIST_LINE.match(line)]
    return 2 * sum(map(len, code)) > sum(map(len, lines))
