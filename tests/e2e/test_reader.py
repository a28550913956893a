"""The pair reader in a real browser: differences one by one, code, formulas, what is hidden."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import Serve, open_app, pair, reload, violations, watched_page
from tests.e2e.files import write_jsonl

pytestmark = pytest.mark.e2e

CODE = "".join(f"    value_{number} = compute({number}, 'text')  # step\n" for number in range(60))
CHANGED = CODE.replace("compute(3,", "compute(4,").replace("value_30", "values_30")
CHANGED = CHANGED.replace("    value_50", "    extra = None\n    another = 1\n    value_50")
STORY = "\n\n".join(f"Paragraph {number} of the story, which goes on." for number in range(60))
BEGUN = "It begins with words that the other lacks altogether. " * 40
BOMB = r"$\def\a{xxxxxxxxxx}\def\b{\a\a\a\a\a\a\a\a}\def\c{\b\b\b\b\b\b\b\b}\c\c\c\c\c\c$"
FORMULAS = rf"""So $\frac{{a_1}}{{b}}$ and
\[x = \sqrt{{2}}
- 3\]
then
\begin{{align*}}
a &= b \\
- c &= d
\end{{align*}}

$\href{{javascript:window.hacked=1}}{{click}}$ $\url{{javascript:window.hacked=1}}$
$\includegraphics{{http://example.org/a.png}}$ $\htmlId{{search}}{{x}}$
$\rule{{900em}}{{900em}}$ $\kern900em y$

It costs $5 or $6. $\frac{{1}}$ {BOMB}"""
HEBREW = "שלום עולם, זה טקסט שנכתב מימין לשמאל."
MANY = "word " * 9 + "word\n"
PAIRS: dict[str, dict[str, Any]] = {
    "hep-python": {"chosen": CODE, "rejected": CHANGED},
    "story": {
        "prompt": "Tell a story.\n" * 30 + "Make it short.",
        "chosen": f"Once.\n{STORY}\nThe end.",
        "rejected": f"Once.\n{BEGUN}\n{STORY}\nNo end.",
    },
    "name": {"chosen_model": "name" * 125, "chosen": "One.", "rejected": "Two."},
    "unlike": {"chosen": "Yes, of course I will.", "rejected": "No, nobody ever could."},
    "math-prm": {"chosen": FORMULAS, "rejected": "$" + "x+" * 400_000 + "$ " + "y" * 200_000},
    "math": {"chosen": FORMULAS, "rejected": "No formula."},
    "donotanswer": {"chosen": "Harmful words.", "rejected": "Worse words."},
    "xstest-should-refuse": {"chosen": "Other words.", "rejected": "Still other words."},
    "right-to-left": {"chosen": HEBREW, "rejected": HEBREW.replace("טקסט", "משהו")},
    "hep-go": {"chosen": MANY * 10_000, "rejected": MANY.replace("word", "other") * 10_000},
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, serve: Serve) -> str:
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = [{"id": "1", "subset": name, "prompt": "Go on.", **row} for name, row in PAIRS.items()]
    return serve(EXPLORER_PAIRS=str(write_jsonl(path, rows)))


def open_pair(page: Page, app: str, subset: str) -> Locator:
    open_app(page, f"{app}/?pair={subset}:1")
    expect(pair(page)).to_have_attribute("data-key", f"{subset}:1")
    return pair(page)


def place(page: Page) -> Locator:
    return page.locator(".difference-place:visible")


def press(page: Page, which: str) -> None:
    page.get_by_test_id(f"{which}-difference").locator("visible=true").click()


def expect_both_seen(page: Page) -> None:
    """Both sides of the difference that one is at are on screen, at the same height."""
    for side in ("chosen", "rejected"):
        here = pair(page).locator(f".{side} .here").first
        expect(here).to_be_in_viewport()
    expect(page.locator(".reader-bar:visible button").first).to_be_in_viewport(ratio=1)
    assert page.locator(".reader-bar:visible").evaluate(
        """bar => document.elementFromPoint(bar.getBoundingClientRect().x + 20,
            bar.getBoundingClientRect().y + 20).closest(".reader-bar") === bar"""
    )
    tops = pair(page).evaluate(
        """pair => ["chosen", "rejected"].map((side) =>
            pair.querySelector(`.${side} .here`).getBoundingClientRect().top)"""
    )
    assert abs(tops[0] - tops[1]) < 30, tops


def test_code_stands_line_beside_line_with_numbers_and_colours(app: str, page: Page) -> None:
    shown = open_pair(page, app, "hep-python")
    expect(place(page)).to_have_text("1 of 3")
    tops = shown.evaluate(
        """pair => ["chosen", "rejected"].map((side) => Object.fromEntries(
            [...pair.querySelectorAll(`.${side} .row[data-line]`)]
                .map((row) => [row.textContent, Math.round(row.getBoundingClientRect().top)])))"""
    )
    both = tops[0].keys() & tops[1].keys()
    assert len(both) == 58 and all(tops[0][line] == tops[1][line] for line in both)
    assert len(tops[1]) == 62
    expect(shown.locator(".chosen .row.gap")).to_have_count(2)
    expect(shown.locator(".chosen ins")).to_have_text(["3", "value_30"])
    for colour in ("keyword", "string", "number", "comment"):
        expect(shown.locator(f".code-{colour}").first).to_be_attached()
    for at in (2, 3, 1):
        press(page, "next")
        expect(place(page)).to_have_text(f"{at} of 3")
        expect_both_seen(page)
    press(page, "previous")
    expect(place(page)).to_have_text("3 of 3")
    strips = shown.locator(".overview > i")
    for strip in strips.all():
        ticks = strip.evaluate("strip => strip.style.backgroundImage")
        assert ticks.count("var(--") >= 6
    box = strips.first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 4, box["y"] + 30)  # its top may be scrolled out of sight
    expect(place(page)).to_have_text("1 of 3")
    copied = shown.locator(".chosen .body").evaluate(
        "body => { getSelection().selectAllChildren(body); return getSelection().toString(); }"
    )
    assert copied.strip() == CODE.strip()
    coloured = shown.locator("ins.here [class^=code-]")
    for _ in range(3):
        if not coloured.count():
            press(page, "next")
    expect(coloured.first).to_be_visible()
    assert violations(page, "reader-code") == []


def test_a_difference_far_apart_on_both_sides_is_seen_on_both(app: str, page: Page) -> None:
    open_pair(page, app, "story")
    expect(place(page)).to_have_text(re.compile("1 of "))
    press(page, "previous")
    last, of = re.findall(r"\d+", place(page).inner_text())
    assert last == of != "1"
    expect_both_seen(page)
    page.locator("body").press("j")
    expect(pair(page)).to_have_attribute("data-key", "name:1")
    facts = pair(page).locator(".chosen header .facts").first
    expect(facts).to_have_attribute("title", "name" * 125)
    assert facts.evaluate("facts => facts.offsetHeight") < 60
    tops = (
        pair(page)
        .locator(":is(.chosen, .rejected) > .body")
        .evaluate_all("bodies => bodies.map((body) => body.getBoundingClientRect().top)")
    )
    assert len(tops) == 2 and tops[0] == tops[1]
    page.locator("body").press("j")
    expect(pair(page)).to_have_attribute("data-key", "unlike:1")
    expect(pair(page)).to_contain_text("under 30 % of words in common")
    expect(pair(page).locator("ins, del, .overview")).to_have_count(0)
    expect(page.locator(".differences:visible")).to_have_count(0)
    page.get_by_role("group", name="Differences").get_by_text("words").click()
    expect(pair(page).locator("ins").first).to_be_visible()
    expect(place(page)).to_be_visible()


def test_a_long_prompt_is_folded_until_all_of_it_is_asked_for(app: str, page: Page) -> None:
    shown = open_pair(page, app, "story")
    heights = [
        "pair => pair.querySelector('.prompt .body').clientHeight",
        "pair => pair.querySelector('.prompt .body').scrollHeight",
    ]
    seen, whole = (shown.evaluate(height) for height in heights)
    assert 4 * seen < whole + 100
    shown.get_by_role("button", name="Show all", exact=True).click()
    assert shown.evaluate(heights[0]) == whole
    shown.get_by_role("button", name="Show less", exact=True).click()
    assert shown.evaluate(heights[0]) == seen
    page.locator("body").press("k")
    expect(pair(page)).to_have_attribute("data-key", "hep-python:1")
    expect(pair(page).locator(".unfold")).to_be_hidden()


def test_formulas_are_rendered_and_can_do_nothing(app: str, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    shown = open_pair(page, app, "math")
    expect(shown.locator(".katex")).to_have_count(0)
    assert not any("katex" in url for url in asked)
    page.get_by_role("checkbox", name="Rendered").click()
    body = shown.locator(".chosen .body")
    expect(body.locator(".katex-display")).to_have_count(2)
    expect(body.locator(".math[data-rendered]")).to_have_count(11)
    assert any(url.endswith("katex.min.js") for url in asked)
    for written in (r"$\frac{1}$", BOMB, "It costs $5 or $6."):
        expect(body).to_contain_text(written)
    expect(body.locator("a, img, .katex-error, [id]")).to_have_count(0)
    assert page.evaluate("window.hacked") is None
    heights = body.evaluate(
        """body => [...body.querySelectorAll(".katex")].map((formula) =>
            formula.getBoundingClientRect().height)"""
    )
    assert max(heights) < 600
    expect(page.locator("#search")).to_have_count(1)
    fonts = page.evaluate("[...document.fonts].filter((font) => /KaTeX/.test(font.family)).length")
    assert fonts
    assert violations(page, "reader-math") == []
    page.get_by_role("checkbox", name="Rendered").click()
    expect(body).to_contain_text(r"So $\frac{a_1}{b}$ and")


def test_what_is_too_much_is_told_and_the_next_pair_opens(app: str, page: Page) -> None:
    shown = open_pair(page, app, "math-prm")
    page.get_by_role("checkbox", name="Rendered").click()
    expect(shown).to_contain_text("Too long to render")
    shown = open_pair(page, app, "hep-go")
    expect(shown).to_contain_text("more than 5,000 lines")
    expect(shown).to_contain_text("too long to compare")
    page.locator("body").press("j")
    expect(pair(page)).to_have_attribute("data-key", "hep-python:1")
    expect(place(page)).to_have_text("1 of 3")


def test_one_harmful_text_is_shown_by_itself(app: str, page: Page) -> None:
    shown = open_pair(page, app, "donotanswer")
    words = shown.locator(".chosen .body")
    expect(words).not_to_be_visible()
    shown.get_by_role("button", name="Show this pair").click()
    expect(words).to_be_visible()
    expect(shown.locator(".warning")).not_to_be_visible()
    page.get_by_role("group", name="Differences").get_by_text("off").click()
    expect(words).to_be_visible()
    page.locator("body").press("j")
    expect(pair(page)).to_have_attribute("data-key", "xstest-should-refuse:1")
    expect(pair(page).locator(".chosen .body")).not_to_be_visible()
    reload(page)
    expect(pair(page).locator(".chosen .body")).not_to_be_visible()


def test_a_text_from_right_to_left_begins_at_the_right(app: str, page: Page) -> None:
    shown = open_pair(page, app, "right-to-left")
    expect(place(page)).to_have_text("1 of 1")
    for side in ("chosen", "rejected"):
        right = shown.locator(f".{side} .body").evaluate(
            """body => {
                const range = document.createRange(), text = body.firstChild;
                range.setStart(text, 0);
                range.setEnd(text, 1);
                return body.getBoundingClientRect().right - range.getBoundingClientRect().right;
            }"""
        )
        assert right < 40
    expect(shown.locator(".chosen ins")).to_have_text("טקסט")


def test_on_a_phone_the_sides_stand_below_each_other(app: str, browser: Browser) -> None:
    with watched_page(browser, width=390) as page:
        shown = open_pair(page, app, "hep-python")
        chosen, rejected = shown.locator(".chosen"), shown.locator(".rejected")
        boxes = chosen.bounding_box(), rejected.bounding_box()
        assert boxes[0] and boxes[1] and boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"]
        press(page, "next")
        expect(pair(page).locator(".chosen .here").first).to_be_in_viewport()
