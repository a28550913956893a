"""One-click edits of a response: what a change of form or manners alone does to its reward.

Each gives None where it does not apply, which is not an effect of 0: the text is empty, the edit
changes nothing in it, or it would not be that edit there. Fenced and inline code, mathematics and
addresses stay as they are, and so does a program without a fence around it (`prose.is_bare_code`).
The words that are added are English; a text of mostly other than Latin letters gets none.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

from scoring.probing.prose import Passage, blocks, is_bare_code, is_open_fence, parts
from scoring.spec import Pair

_RULE = re.compile(r"[ ]{0,3}(?:(?:[*][ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){2,}|=+[ \t]*)$")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_LEADING = re.compile(r"^(?:[ ]{0,3}>[ ]?)*(?:[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)?")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$")
_HIDDEN = "\ue000"
"""Stands for each character of what stays as it is."""
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
_DEPTH = 3
"""Levels of emphasis within each other, from the inmost."""
_ESCAPED = re.compile(r"\\([*_#~>`|])")


def without_markdown(text: str) -> str:
    r"""Without headings' and lists' signs, emphasis, links' addresses, tables' bars, fences, rules.

    Words, numbers of lists, code and mathematics stay. HTML stays: it is no Markdown.

    >>> without_markdown("## Why\n- **One:** see [this](http://e.org)\n1. `a*b*c`")
    'Why\nOne: see this\n1. a*b*c'
    >>> without_markdown("```py\nx ** y  # *not*\n```")
    'x ** y  # *not*'
    """
    plain = "".join(_block(block) for block in blocks(text))
    return plain if text.endswith("\n") else plain.removesuffix("\n")


def _block(block: Passage) -> str:
    lines = block.text.splitlines(keepends=True)
    if not block.is_prose:
        closed = len(lines) > 1 and lines[-1].strip()[:3] in ("```", "~~~")
        return "".join(lines[1 : -1 if closed else None])
    in_table = any("|" in line and _TABLE_RULE.match(line) for line in lines)
    return _inline("".join(_line(line, in_table) for line in lines))


def _line(line: str, in_table: bool) -> str:
    """One line without what marks it as one of its kind, "" where it was nothing else."""
    words, end = line.rstrip("\r\n"), line[len(line.rstrip("\r\n")) :]
    if words.strip() and _RULE.match(words):
        return ""
    if in_table and words.lstrip().startswith("|"):
        if _TABLE_RULE.match(words):
            return ""
        return "  ".join(cell.strip() for cell in words.strip().strip("|").split("|")) + end
    if heading := _HEADING.match(words):
        return (heading[1] or "") + end
    return _LEADING.sub("", words, count=1) + end


def _inline(text: str) -> str:
    cut = parts(text)
    mask = "".join(part.text if part.is_prose else _HIDDEN * len(part.text) for part in cut)
    for pattern in (*_LINKS, *_EMPHASIS * _DEPTH):
        text, mask = _cut(text, mask, pattern)
    return "".join(
        _ESCAPED.sub(r"\1", part.text) if part.is_prose else _unticked(part.text)
        for part in parts(text)
    )


def _cut(text: str, mask: str, pattern: re.Pattern[str]) -> tuple[str, str]:
    """Both without what the groups of the pattern find in the second, which is as long."""
    ends = [0]
    for found in pattern.finditer(mask):
        ends += [*found.span(1), *found.span(2)]
    ends.append(len(mask))
    kept = [slice(start, end) for start, end in zip(ends[::2], ends[1::2], strict=True)]
    return "".join(text[part] for part in kept), "".join(mask[part] for part in kept)


def _unticked(literal: str) -> str:
    ticks = len(literal) - len(literal.lstrip("`"))
    return literal[ticks : len(literal) - ticks] if ticks else literal


EditName = Literal["cut", "plain", "polite", "refusal", "longer", "upper"]
EDITS: tuple[EditName, ...] = get_args(EditName)
"""Of one response; `swapped` is of a pair."""

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
_NEXT = re.compile(r"[ \t]*(\S)")
"""What goes on in the same line."""
_LINE_START = re.compile(r"(?:\s*(?:[-*+•>]|#{1,6}|\d{1,3}[.)]))*\s*\Z")


def edited(name: EditName, text: str) -> str | None:
    """A response with one of `EDITS` made; None where that edit does not apply to it.

    >>> edited("upper", "Use `len`."), edited("upper", "123")
    ('USE `len`.', None)
    """
    if not text.strip() or is_bare_code(text):
        return None
    changed = _EDIT[name](text)
    return None if changed is None or changed == text or not changed.strip() else changed


def swapped(pair: Pair) -> Pair | None:
    """The pair with its responses in each other's place; None where they are equal."""
    if pair.chosen == pair.rejected:
        return None
    return replace(pair, chosen=pair.rejected, rejected=pair.chosen)


def _without_last_sentence(text: str) -> str | None:
    r"""Without the last sentence of its prose; code that stands behind it stays.

    A sentence ends with its mark (of Chinese, Arabic or Hindi too) or its line, so that the last
    item of a list is one, which goes with its bullet. None where it is the only one.

    >>> _without_last_sentence("Take 3.5 g, e.g. salt. Stir it. Done!")
    'Take 3.5 g, e.g. salt. Stir it.'
    >>> _without_last_sentence("Buy:\n- figs\n- milk\n"), _without_last_sentence("你好。再见。")
    ('Buy:\n- figs', '你好。')
    >>> _without_last_sentence("One."), _without_last_sentence("Run this.\n```\nx\n```")
    (None, None)
    """
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


def _begin_with(words: str, pattern: re.Pattern[str], text: str) -> str | None:
    """Put words before a text; None if it begins with such words."""
    return None if pattern.match(text) or not _is_latin(text) else f"{words}\n\n{text}"


def _longer(text: str) -> str | None:
    """With a paragraph that says nothing behind it; None where it would stand in code."""
    if is_open_fence(text) or not _is_latin(text):
        return None
    return f"{text}\n\n{FILLER}"


def _upper(text: str) -> str:
    """In capitals, as far as its script has any."""
    return "".join(part.text.upper() if part.is_prose else part.text for part in parts(text))


def _last_sentence(text: str) -> int | None:
    """Where the last sentence of some prose begins, its bullet included; None where there is none.

    What has no letter and no digit, such as a row of dashes, is none.
    """
    words = next((at for at in range(len(text) - 1, -1, -1) if text[at].isalnum()), None)
    if words is None:
        return None
    starts = [0, *_ends(text[: len(text.rstrip())])]
    start = starts[bisect_right(starts, words) - 1]
    line = text.rfind("\n", 0, start) + 1
    return line if _LINE_START.match(text[line:start]) else start


def _ends(text: str) -> list[int]:
    found = []
    for match in _SENTENCE_END.finditer(text):
        follows = _NEXT.match(text, match.end())
        # What is shortened has no quote behind its full stop.
        short = not match[0] and _NO_END.search(text[max(0, match.start() - 12) : match.start()])
        if follows is None or not (follows[1].islower() or short):
            found.append(match.end())
    return found


def _is_latin(text: str) -> bool:
    """Whether at least half of the letters of its prose are Latin, or it has none."""
    prose = "".join(part.text for part in parts(text) if part.is_prose)
    letters = [letter for letter in prose if letter.isalpha()]
    latin = sum(letter.isascii() or "LATIN" in unicodedata.name(letter, "") for letter in letters)
    return 2 * latin >= len(letters)


_EDIT: dict[EditName, Callable[[str], str | None]] = {
    "cut": _without_last_sentence,
    "plain": without_markdown,
    "polite": partial(_begin_with, POLITE, _IS_POLITE),
    "refusal": partial(_begin_with, REFUSAL, _IS_REFUSAL),
    "longer": _longer,
    "upper": _upper,
}
