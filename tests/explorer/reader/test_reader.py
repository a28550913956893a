"""The reader's HTML: inert, whole, honest about what is missing; and the Markdown in it."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explorer.data.search import Query
from explorer.reader.diffs import DIFFS, Diff, Span, visible
from explorer.reader.markdown import DEEPEST, LONGEST_FORMULA, LONGEST_MARKDOWN, rendered
from explorer.reader.reader import (
    LONGEST_BODY,
    MOST_FURTHER,
    MOST_SHOWN_TURNS,
    body_of,
    marks_of,
    pair_html,
    prompt_of,
)
from explorer.reader.reading import Display
from tests.support.html_reading import HtmlReading, macro_html

MARKED = Display("words", Query("dog"))


def pair(**changed: Any) -> dict[str, Any]:
    names = "key", "subset", "prompt", "chosen", "rejected", "chosen_model", "rejected_model"
    return {**{name: f"the {name}" for name in names}, "turns": "", **changed}


texts = st.text(max_size=60) | st.text("<>&\"'$`{}=/ sciptonrxm\n\t", max_size=60)


@given(st.sampled_from(DIFFS), texts, texts, st.sampled_from(["", "s", "<"]))
@example("words", "<a>&lt;", "", "")
def test_text_stays_text_whatever_it_is(diff: Diff, words: str, other: str, query: str) -> None:
    cells = pair(
        **dict.fromkeys(("key", "subset", "prompt", "chosen", "chosen_model"), words),
        **dict.fromkeys(("rejected", "rejected_model"), other),
        more_chosen=[{"text": other, "model": words}],
        more_rejected=[{"text": words, "model": other}],
    )
    same = [(words, "?a=1"), (other, "?a=2")]
    html = pair_html(cells, words or "k", Display(diff, Query(query)), same_prompt=same)
    reading = HtmlReading(html)
    shown = words, words, other, other, words
    assert reading.of_class["body"] == [each or "(empty)" for each in shown]
    assert reading.of_class["key"] == [words or "k"]
    assert reading.of_class["goto"] == [words, other]
    assert reading.attributes["a", "href"][-2:] == ["?a=1", "?a=2"]
    assert reading.attributes["div", "data-key"] == [words or "k"]


def test_responses_are_shown_in_their_columns_the_first_of_very_many() -> None:
    more = [{"text": "the dog", "model": "m"}] * 50_000
    html = pair_html(pair(more_chosen=more, more_rejected=[{"text": "", "model": ""}]), "k", MARKED)
    labels = HtmlReading(html).attributes["div", "aria-label"]
    assert labels[:5] == ["Prompt", "Chosen", "Rejected", "Chosen 2", "Rejected 2"]
    assert labels[-1] == f"Chosen {MOST_FURTHER + 1}"
    assert "the <mark>dog</mark>" in html and "0 words" in html
    assert "49,950 more responses" in html and len(html) < 40_000


def test_harmful_subsets_begin_with_a_warning_and_others_have_none() -> None:
    html = pair_html(pair(subset="donotanswer"), "k", Display())
    assert html.startswith('<div class="pair may-harm" data-key="k"')
    assert html.index('class="warning"') < html.index("Prompt")
    assert "may-harm" not in pair_html(pair(subset="math-prm"), "k", Display())
    assert "warning" not in pair_html(pair(), "k", Display())


def test_lines_of_code_have_numbers_a_gap_beside_what_one_side_lacks_and_are_not_rendered() -> None:
    cells = pair(subset="hep-go", chosen="a\nb\n", rejected="a\nx(1)\nb\n")
    reading = HtmlReading(pair_html(cells, "k", Display()))
    assert reading.attributes["div", "data-line"] == ["1", "2", "1", "2", "3"]
    assert reading.of_class["row"] == ["a\n", "", "b\n", "a\n", "x(1)\n", "b\n"]
    assert reading.of_class["gap"] == [""]
    assert not HtmlReading(pair_html(cells, "k", Display("off"))).of_class["gap"]
    cells = pair(subset="hep-python", chosen="# a *b*", rejected="# a *c*")
    words = HtmlReading(pair_html(cells, "k", Display(rendered=True)))
    assert words.of_class["body"][1:] == ["# a *b*", "# a *c*"]
    assert "shown as written" in words.words


# A text's HTML gives the text back.


def body_html(words: str, display: Display, spans: Sequence[Span] | None = None) -> str:
    return macro_html("body", body_of(words, "chosen", display, spans))


def prompt_html(display: Display, *turns: tuple[str, str]) -> str:
    cells = {"prompt": "a transcript", "turns": json.dumps(turns)}
    return macro_html("prompt", prompt_of(cells, display))


@pytest.mark.parametrize("diff", DIFFS)
@pytest.mark.parametrize("spaces", [False, True])
@given(chosen=texts.filter(bool), rejected=texts, query=st.sampled_from(["", "s", "<", "&", " "]))
def test_the_text_is_given_back(
    diff: Diff, spaces: bool, chosen: str, rejected: str, query: str
) -> None:
    display = Display(diff, Query(query), spaces)
    spans = marks_of({"chosen": chosen, "rejected": rejected, "subset": "mine"}, diff, "").spans
    html = body_html(chosen, display, spans[0])
    words = HtmlReading(html, {"ins", "del", "mark", "i"}).words
    assert words == ("".join(s.sign or s.text for s in visible(chosen)) if spaces else chosen)


SPANS = [Span("a "), Span("red", 1), Span(" dog")]
SHOWN: dict[str, tuple[str, Display, list[Span] | None, str]] = {
    "differences and hits overlap": (
        "a red dog", Display("words", Query("ed d")), SPANS,
        'a <ins data-difference="1">r<mark>ed</mark></ins><mark> d</mark>og',
    ),
    "white space is asked for": (
        "a \tb\n\u202e<", Display(spaces=True), None,
        'a<i class="ws">·</i><i class="ws">→\t</i>b<i class="ws end">¶\n</i>'
        '<i class="ws named" title="RIGHT-TO-LEFT OVERRIDE">U+202E</i>&lt;',
    ),
    "rendered without marks": (
        "**b**", Display("words", Query("b"), rendered=True), [Span("**b**", 1)],
        '<div class="rendered"><p><strong>b</strong></p>\n</div>',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_a_text_is_shown_as_it_is_asked_for(name: str) -> None:
    words, display, spans, html = SHOWN[name]
    assert body_html(words, display, spans) == html


def test_a_text_too_deep_to_be_rendered_is_shown_as_it_is_written() -> None:
    shown = body_html("> " * 100 + "<b>", Display(rendered=True))
    assert "too deep" in shown and shown.endswith("&gt; &lt;b&gt;")


def test_a_conversation_shows_who_says_what() -> None:
    turns = (("system", "Be brief."), ("user", "Hi dog"), ("assistant", "Yes"), ("<b>", "x"))
    html = prompt_html(Display(query=Query("dog")), *turns)
    words = HtmlReading(html, {"div", "mark"}).of_class
    assert words["speaker"] == ["System", "User", "Assistant", "<b>"]
    assert words["words"] == ["Be brief.", "Hi dog", "Yes", "x"]
    assert html.count("<mark>dog</mark>") == 1 and "transcript" not in html


def test_a_text_and_a_conversation_too_long_for_the_page_are_cut_and_say_so() -> None:
    html = body_html("q" * (LONGEST_BODY + 2), Display())
    reading = HtmlReading(html, {"div"})
    assert reading.words.count("q") == LONGEST_BODY
    assert "the first 500,000 of 500,002 characters" in reading.of_class["note"][0]
    html = prompt_html(Display(), *[("user", "hm")] * (MOST_SHOWN_TURNS + 1_234))
    assert html.count("hm") == MOST_SHOWN_TURNS
    assert "1,234 more turns" in html


# Rendered Markdown does what Markdown does, and nothing that a hostile text wants of it


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
