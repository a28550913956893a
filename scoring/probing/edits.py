"""One-click edits of a response: what a change of form or manners alone does to its reward.

An edit that does not apply gives None, which is not an effect of 0: the text is empty, the edit
changes nothing in it, or it would not be that edit there. Code, mathematics and addresses stay as
they are. The words that are added are English; a text of mostly other than Latin letters gets none.
All are patterns that know no grammar, and take time that grows with the length of a text alone.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

from scoring.spec import Pair

_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})")
_MARK = re.compile(
    r"`+|\$\$|\\[()\[\]]"
    r"|(?<![\\$\w])\$(?=[^\s$])[^$\n]*(?<=[^\s\\])\$(?![\d$])"  # $x$, and not from $5 to $10
    r"|\\[A-Za-z]+"
    r"|(?:https?://|www\.)[^\s<>()]*[^\s<>().,;:!?'\"*_]"
)
"""Literal text, or a mark that begins or ends it."""
_CLOSES = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_LONGEST = 2_000  # characters between two marks
_CODE_LINE = re.compile(
    r"[ ]{4}|\t"
    r"|.*(?:[;{}]|\)\s*:|\(|\))\s*$(?<!\.\))"
    r"|\s*(?:def|class|return|import|from|if|elif|else|for|while|let|const|var|fn|func|function"
    r"|public|private|package|use|print|#include|//|/\*|\*/)\b.*[=:(){}\[\];]"
    r"|\s*[\w.\[\]]+\s*(?:[-+*/%|&]?=|:=)\s"
    r"|\s*(?:break|continue|pass|return(?: \w+)?|end|else:)\s*$"
)
_LIST_LINE = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")

_RULE = re.compile(r"[ ]{0,3}(?:(?:[*][ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){2,}|=+[ \t]*)$")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_LEADING = re.compile(r"^(?:[ ]{0,3}>[ ]?)*(?:[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)?")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$")
_HIDDEN = "\ue000"  # stands for each character of what stays as it is
_LINKS = (
    re.compile(
        r"(!?\[)[^\[\]\n]*(\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*"
        r"(?:[ \t]+[\"'][^\"'\n]*[\"'])?\))"
    ),
    re.compile(f"(<){_HIDDEN}+(>)"),
)
_EMPHASIS = [
    re.compile(
        rf"(?<![\\A-Za-z0-9{mark}])({mark}{times})(?=[^\s{mark}])"
        rf"(?:[^{mark}\n]|\n(?![ \t]*\n))+(?<=[^\s\\])(\1)(?![A-Za-z0-9{mark}])"
    )
    for mark, times in ((r"\*", "{1,3}"), ("_", "{1,3}"), ("~", "{2}"))
]
"""None within words, which are names and arithmetic."""
_DEPTH = 3  # levels of emphasis within each other, from the inmost
_ESCAPED = re.compile(r"\\([*_#~>`|])")

EditName = Literal["cut", "plain", "polite", "refusal", "longer", "upper"]
EDITS: tuple[EditName, ...] = get_args(EditName)
"""Edits of one response; `swapped` is one of a pair."""

POLITE = "Certainly! I'd be happy to help you with that."
REFUSAL = "I'm sorry, but I can't help with that."
FILLER = (
    "It is worth noting that there are many different aspects to consider here, and that each of "
    "them can be important in its own way. With that in mind, it is always a good idea to keep the "
    "bigger picture in view, and to take all of the above into account as appropriate."
)
_IS_POLITE = re.compile(
    r"\W*(?:certainly|sure|of course|absolutely|gladly|no problem|great question|i[’']m happy to"
    r"|i(?:[’']d| would) be (?:happy|glad)|happy to help|thank you for|thanks for)\b",
    re.IGNORECASE,
)
_IS_REFUSAL = re.compile(
    r".{0,80}?\b(?:i[’']?m (?:very |so |really )?sorry|i am (?:very |so |really )?sorry"
    r"|i (?:cannot|can not|can[’']?t|won[’']?t|will not)|i[’']?m (?:unable|not able)"
    r"|i am (?:unable|not able)|i (?:must|have to) (?:decline|refuse)|as an ai\b)",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE_END = re.compile(r"(?<=[.!?…؟۔।])[\"'”’»)\]*_]*(?=\s)|(?<=[。！？｡])[」』”’）]*|(?=\n)")
_NO_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|cf|vs|mr|mrs|ms|dr|prof|st|jr|sr|no|fig|eq|approx|[a-z])|^\s*\d{1,3})\.$",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT = re.compile(r"[ \t]*(\S)")  # what goes on in the same line
_LINE_START = re.compile(r"(?:\s*(?:[-*+•>]|#{1,6}|\d{1,3}[.)]))*\s*\Z")


class Passage(NamedTuple):
    """A piece of a text; what is no prose stays as it is."""

    text: str
    is_prose: bool


def edited(name: EditName, text: str) -> str | None:
    """A response with one of `EDITS` made; None where that edit does not apply to it.

    >>> edited("upper", "Use `len`."), edited("upper", "123")
    ('USE `len`.', None)
    """
    if not text.strip() or is_bare_code(text):
        return None
    changed: str | None = None
    if name == "cut":
        changed = _without_last_sentence(text)
    elif name == "plain":
        changed = without_markdown(text)
    elif name == "upper":
        changed = "".join(part.text.upper() if part.is_prose else part.text for part in parts(text))
    elif _is_latin(text):
        if name == "longer":
            is_open_fence = not blocks(f"{text}\n.")[-1].is_prose
            changed = None if is_open_fence else f"{text}\n\n{FILLER}"
        elif name == "polite":
            changed = None if _IS_POLITE.match(text) else f"{POLITE}\n\n{text}"
        else:
            changed = None if _IS_REFUSAL.match(text) else f"{REFUSAL}\n\n{text}"
    return None if changed is None or changed == text or not changed.strip() else changed


def swapped(pair: Pair) -> Pair | None:
    """The pair with its responses in each other's place; None where they are equal."""
    if pair.chosen == pair.rejected:
        return None
    return replace(pair, chosen=pair.rejected, rejected=pair.chosen)


def without_markdown(text: str) -> str:
    r"""Without headings' and lists' signs, emphasis, links' addresses, tables' bars, fences, rules.

    Words, numbers of lists, code and mathematics stay. HTML stays: it is no Markdown.

    >>> without_markdown("## Why\n- **One:** see [this](http://e.org)\n1. `a*b*c`")
    'Why\nOne: see this\n1. a*b*c'
    """
    plain = ""
    for block in blocks(text):
        lines = block.text.splitlines(keepends=True)
        if block.is_prose:
            in_table = any("|" in line and _TABLE_RULE.match(line) for line in lines)
            plain += _without_inline_marks("".join(_bare_line(line, in_table) for line in lines))
        else:
            is_closed = len(lines) > 1 and lines[-1].strip()[:3] in ("```", "~~~")
            plain += "".join(lines[1 : -1 if is_closed else None])
    return plain if text.endswith("\n") else plain.removesuffix("\n")


def _bare_line(line: str, in_table: bool) -> str:
    words = line.rstrip("\r\n")
    end = line[len(words) :]
    if words.strip() and _RULE.match(words):
        return ""
    if in_table and words.lstrip().startswith("|"):
        if _TABLE_RULE.match(words):
            return ""
        return "  ".join(cell.strip() for cell in words.strip().strip("|").split("|")) + end
    if heading := _HEADING.match(words):
        return (heading[1] or "") + end
    return _LEADING.sub("", words, count=1) + end


def _without_inline_marks(text: str) -> str:
    mask = "".join(part.text if part.is_prose else _HIDDEN * len(part.text) for part in parts(text))
    for pattern in (*_LINKS, *_EMPHASIS * _DEPTH):
        ends = [0]
        for match in pattern.finditer(mask):
            ends += [*match.span(1), *match.span(2)]
        ends.append(len(mask))
        kept = [slice(*span) for span in zip(ends[::2], ends[1::2], strict=True)]
        text, mask = ("".join(each[part] for part in kept) for each in (text, mask))
    plain = ""
    for part, is_prose in parts(text):
        ticks = len(part) - len(part.lstrip("`"))
        plain += _ESCAPED.sub(r"\1", part) if is_prose else part[ticks : len(part) - ticks]
    return plain


def _without_last_sentence(text: str) -> str | None:
    # Code that stands behind it stays. A sentence ends with its mark (of Chinese, Arabic or Hindi
    # too) or its line, so that the last item of a list is one, which goes with its bullet.
    pieces = blocks(text)
    for place in reversed(range(len(pieces))):
        start = _last_sentence(pieces[place].text) if pieces[place].is_prose else None
        if start is None:
            continue
        before = "".join(piece.text for piece in pieces[:place]) + pieces[place].text[:start]
        after = "".join(piece.text for piece in pieces[place + 1 :])
        if not before.strip():
            return None
        return f"{before.rstrip()}\n\n{after}" if after else before.rstrip()
    return None


def _last_sentence(text: str) -> int | None:
    # Its bullet included. What has no letter and no digit, such as a row of dashes, is none.
    last_word = next((at for at in range(len(text) - 1, -1, -1) if text[at].isalnum()), None)
    if last_word is None:
        return None
    start = 0
    for match in _SENTENCE_END.finditer(text.rstrip()):
        if match.end() > last_word:
            break
        follows = _NEXT.match(text, match.end())
        # What is shortened has no quote behind its full stop.
        short = not match[0] and _NO_END.search(text[max(0, match.start() - 12) : match.start()])
        if follows is None or not (follows[1].islower() or short):
            start = match.end()
    line = text.rfind("\n", 0, start) + 1
    return line if _LINE_START.match(text[line:start]) else start


def _is_latin(text: str) -> bool:
    prose = "".join(part.text for part in parts(text) if part.is_prose)
    letters = [letter for letter in prose if letter.isalpha()]
    latin = sum(letter.isascii() or "LATIN" in unicodedata.name(letter, "") for letter in letters)
    return 2 * latin >= len(letters)


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
    marks = list(_MARK.finditer(text))
    # Ends are looked up, since to search for each would take long where there is none.
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
