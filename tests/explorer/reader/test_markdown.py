"""Rendered Markdown does what Markdown does, and nothing that a hostile text wants of it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.reader.markdown import DEEPEST, LONGEST_FORMULA, LONGEST_MARKDOWN, rendered
from tests.support.html_reading import HtmlReading

TAGS = {
    *("p", "a", "em", "strong", "s", "code", "pre", "br", "hr", "ul", "ol", "li", "blockquote"),
    *("table", "thead", "tbody", "tr", "th", "td", "span"),
}
ATTRIBUTES = {
    ("p", "class"): r"h[1-6]",
    ("a", "href"): r"(https?|mailto):.+",
    ("a", "target"): "_blank",
    ("a", "rel"): "noopener noreferrer nofollow",
    ("span", "class"): "math( display)?",
    ("ol", "start"): r"\d+",
    ("th", "style"): "text-align:(left|right|center)",
    ("td", "style"): "text-align:(left|right|center)",
}


class Reading(HtmlReading):
    """The tags, links and text of some HTML; complains about what must not be in it."""

    def __init__(self, html: str) -> None:
        self.tags: list[str] = []
        super().__init__(html, TAGS)
        self.links = self.attributes["a", "href"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            allowed = ATTRIBUTES[tag, name]
            assert re.fullmatch(allowed, value or "", re.DOTALL | re.IGNORECASE), (tag, name, value)
        assert len(attrs) in (0, 3) or tag != "a"
        self.tags.append(tag)
        super().handle_starttag(tag, attrs)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data[:80]}")


def read(text: str) -> Reading:
    html = rendered(text)
    assert html is not None
    return Reading(html)


ATTACKS = [
    "<script>window.hacked = 1</script>", "a <img src=x onerror=window.hacked=1> b",
    "<!-- <script> --> <!DOCTYPE x> <?php ?> <![CDATA[x]]>", "<div\n\n<b onclick='x'>unclosed",
    "<iframe src=//e.org>\n<style>*{display:none}</style>\n<base href=//e.org>",
    "</div></section><h1>out</h1>", "[x](JaVaScRiPt:alert(1))", "[x](<javascript:alert(1)>)",
    "[x](\x01javascript:alert(1))", "[x](java\0script:alert(1))", "[x](&#106;avascript:alert(1))",
    "[x](java&Tab;script:alert(1))", "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)", "[x](//e.org/a) [y](/etc) [z](#top) [w](?theme=x) [v](x:y)",
    '[x](http://e.org/"onmouseover="alert(1) "title\\" onclick=alert(1)")',
    "<javascript:alert(1)> <data:text/html,x> <x:y>", "<http://e.org/\"onclick='x'>",
    "[x]: javascript:alert(1)\n\n[x] [x][x] [y][x]", "[x]: <data:text/html,a> 'title'\n\n![x] [x]",
    "![x](javascript:alert(1)) ![y](data:image/png;base64,AAAA)",
    '![<b>](http://e.org/a.png "\\"><script>")', "[![x](http://e.org/a.png)](http://e.org)",
    "![a][b]\n\n[b]: http://e.org/a.png", '```" onclick="alert(1)\n<script>\n```',
    "|<b>|[x](javascript:1)|\n|:-|-:|\n|<img src=x>|![y](http://e.org/y)|",
    "&lt;script&gt; &#60;img src=x&#62; &quot;", "$\\href{javascript:alert(1)}{z}$",
]  # fmt: skip


def test_an_attack_stays_text(subtests: pytest.Subtests) -> None:
    for attack in ATTACKS:
        with subtests.test(attack):
            links = read(attack).links
            assert all(link.startswith(("http://e.org", "https://")) for link in links)


PARTS = [
    *"[]()<>!*_`~#|-+=&;:\"'\\ \n\tax1",
    *("http://e.org", "javascript:", "data:", "<img ", "<!--", "    ", "&#106;", "![", "](", "|-|"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
def test_only_harmless_tags_come_out_whatever_goes_in(text: str) -> None:
    read(text)


def test_html_images_and_references_are_shown_as_they_are_written() -> None:
    words = "a <b>bold</b> ![a *cat*](http://e.org/cat.png)"
    reading = read(words)
    assert (reading.words.strip(), reading.tags) == (words, ["p"])
    words = "[a]: http://e.org/long\n\n[a]"  # else each short use of one address would repeat it
    assert read(words).words.split() == words.split()


def test_links_to_pages_and_addresses_open_a_page_of_their_own() -> None:
    reading = read("[x](https://e.org/?a=1&b=2) <me@e.org> [y](MAILTO:me@e.org)")
    assert reading.links == ["https://e.org/?a=1&b=2", "mailto:me@e.org", "MAILTO:me@e.org"]


def test_markdown_is_rendered() -> None:
    text = "# One\n\nTwo\n---\n\n- *a*\n- **b**\n\n3. ~~c~~\n\n> `d`\n\n|e|\n|:-|\n|f|\n\n"
    html = rendered(text + "```py\ng < 1\n```") or ""
    assert set(Reading(html).tags) == TAGS - {"a", "br", "hr", "span"}
    assert '<p class="h1">One</p>' in html and '<p class="h2">Two</p>' in html
    assert "<pre><code>g &lt; 1\n</code></pre>" in html


@pytest.mark.parametrize(
    "formula",
    ["$a_1*b_2*c$", "\\[a\n=\n> b\n+ c\\]", "\\begin{align*}\na &= b_1 \\\\\n- <d>\n\\end{align*}"],
)
@pytest.mark.parametrize("around", ["so\n{}then *x*", "- {}\n- y", "> {}"])
def test_a_formula_stays_as_it_is_written(formula: str, around: str) -> None:
    # In a list and a quote its further lines begin as theirs do.
    start = {"-": "  ", ">": "> "}.get(around[0], "")
    reading = read(around.format(formula.replace("\n", f"\n{start}")))
    assert formula in reading.words
    assert reading.tags.count("span") == 1 and reading.tags.count("li") in (0, 2)


def test_what_is_no_formula_is_text() -> None:
    for words in (
        *("It costs $5 or $6.", "$ a $", "\\$a$", "`$a$`", "    $$a$$", "$$$$", "a$", "$a\n\nb$"),
        *("\\begin{document}x\\end{document}", "\\[a", "\\begin{align}a"),
    ):
        assert "span" not in read(words).tags, words
    assert "span" not in read(f"${'a' * LONGEST_FORMULA}$").tags


def test_a_deep_text_is_whole_or_not_rendered() -> None:
    for depth in range(1, DEEPEST + 20, 3):
        html = rendered("> " * depth + "deepest")
        assert "deepest" in html if html else depth > DEEPEST // 3
    assert rendered("a" * (LONGEST_MARKDOWN + 1)) is None


HUGE = {
    "open brackets": "[" * LONGEST_MARKDOWN,
    "open links": "[a](" * (LONGEST_MARKDOWN // 4),
    "indented lists": "".join(" " * 2 * depth + "- a\n" for depth in range(300)),
    "stars and lines": "*_" * (LONGEST_MARKDOWN // 2),
    "a wide and long table": "|a" * 1000 + "|\n" + "|-" * 1000 + "|\n" + "b\n" * 45_000,
    "formulas without end": "$a\n" * (LONGEST_MARKDOWN // 3),
    "one address used often": "[a]: http://x/" + "y" * 40_000 + "\n\n" + "[a] " * 12_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_nothing_hangs_the_renderer_or_swells(name: str) -> None:
    html = rendered(HUGE[name][:LONGEST_MARKDOWN])
    assert html is None or len(html) < 2_000_000
