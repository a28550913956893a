"""A text without its Markdown, as somebody would write it who knows of none."""

import re

from scoring.probing.prose import Part, blocks, parts

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


def _block(block: Part) -> str:
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
