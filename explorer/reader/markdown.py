"""Markdown as safe HTML, for a reader who asks for it. Nothing of it loads or runs anything."""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST = 100_000
"""Characters of a text; a longer one is not rendered."""
DEEPEST = 40
"""Levels of lists and quotes in each other; a deeper text is not rendered."""

_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)


def rendered(text: str) -> str | None:
    r"""A text's Markdown as HTML; None where it is too long or too deep.

    HTML in it is shown as it is written, an image as its description and address. Links lead to
    http, https and mailto alone and open a page of their own. Headings are paragraphs of the
    classes h1 to h6, so that the page keeps its own outline.

    >>> rendered("# Hi *you*")
    '<p class="h1">Hi <em>you</em></p>\n'
    >>> rendered("<b>![x](http://e.org/p.png)")
    '<p>&lt;b&gt;![x](http://e.org/p.png)</p>\n'
    """
    if len(text) > LONGEST:
        return None
    parser = _parser()
    tokens = parser.parse(text)
    # The parser drops what is nested deeper than it goes.
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return None
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": False, "breaks": True, "maxNesting": DEEPEST}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    # A definition of one long address lets each of its uses repeat it: megabytes from kilobytes.
    parser.disable("reference")
    parser.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    renderer: Any = parser.renderer
    renderer.rules |= {
        "heading_open": _heading,
        "heading_close": _heading,
        "link_open": _link,
        "image": _image,
        "fence": _code,
    }
    return parser


def _heading(tokens: Sequence["Token"], place: int, *_: object) -> str:
    token = tokens[place]
    return f'<p class="{token.tag}">' if token.nesting == 1 else "</p>\n"


def _link(tokens: Sequence["Token"], place: int, *_: object) -> str:
    url = escape(str(tokens[place].attrs["href"]))
    if not url:
        return "<a>"
    return f'<a href="{url}" target="_blank" rel="noopener noreferrer nofollow">'


def _image(tokens: Sequence["Token"], place: int, *_: object) -> str:
    token = tokens[place]
    return escape(f"![{token.content}]({token.attrs['src']})")


def _code(tokens: Sequence["Token"], place: int, *_: object) -> str:
    return f"<pre><code>{escape(tokens[place].content)}</code></pre>\n"
