"""The scripts of the page without a server: what is pressed, and what comes of it."""

import re
from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.conftest import ROOT, until

pytestmark = [pytest.mark.e2e, pytest.mark.journey]

ASSETS = ROOT / "assets"
ADDRESS = "http://127.0.0.1:8000/"
"""Nothing listens there: the test answers."""
LISTEN = """
  window.pressed = [];
  window.query = (selector) => document.querySelector(selector);
  document.addEventListener("click", ({target}) => pressed.push(target.className || target.id));
"""
BUTTONS = """
  <div hidden><button class="reader-next hidden">out of sight</button></div>
  <button class="reader-next">next</button> <button class="reader-previous">back</button>
  <button class="review-keep">keep</button> <button class="reveal">show</button>
  <button class="hide-harm">hide</button> <input id="text">
"""


def pair(key: str, *, css: str = "", n: int = 0, chosen: str = "", prompt: str = "") -> str:
    """A pair as the server writes it, with n differences, and its bar."""
    marks = "".join(f'<ins data-difference="{at + 1}">{at + 1}</ins> ' for at in range(n))
    return f"""
      <div class="relayed"><div class="reader-bar"><span class="differences">
        <button class="previous-difference">back</button>
        <button class="next-difference">on</button>
        <span class="difference-place" data-words="{{at}} of {{n}}"></span></span></div>
      <div class="pair {css}" data-key="{key}" data-differences="{n}">
        <button class="reveal-one">show</button>
        <section class="prompt"><div class="body">{prompt}</div>
          <button class="unfold" hidden data-fold="Less" data-unfold="More"></button></section>
        <section class="chosen"><div class="body" id="{key}">{chosen}{marks}</div></section>
        <section class="rejected"><div class="body">{marks}</div></section>
      </div></div>"""


def math(*formulas: str) -> str:
    return pair("a", chosen="".join(f'<span class="math">{each}</span>' for each in formulas))


TABLE = """<button data-copy="#table" data-said="Copied">Copy</button><table id="table">
  <tr><th rowspan="2">model</th><th colspan="2">score</th></tr>
  <tr><th>a</th><th>b</th></tr> <tr><td>x&amp;y</td><td>1</td><td>2</td></tr></table>"""
HARMFUL = pair("a", css="may-harm", chosen="hurts") + pair("b", css="may-harm", chosen="so too")
PLACES = "[query('.here').dataset.difference, query('.difference-place').textContent]"
HARM = "[document.documentElement.dataset.harm, localStorage['rewardbench-explorer-harm']]"
VISIBLE = "['a', 'b'].map((id) => getComputedStyle(document.getElementById(id)).visibility)"
RENDERED = "[...document.querySelectorAll('.math')].map((e) => Boolean(e.querySelector('.katex')))"
UNFOLDED = "[query('.prompt').matches('[data-unfolded]'), query('.unfold').textContent]"
LINKS = "['.katex', '.math :is(a, [id])'].map((e) => document.querySelectorAll(e).length)"
CLIPBOARD = "navigator.clipboard.readText()"

ROWS: dict[str, tuple[str, str, str, Any]] = {
    "letters typed into a field press nothing": (BUTTONS, "#text j 1", "pressed", ["text"]),
    "a browser's own shortcut presses nothing": (BUTTONS, "Alt+1 Control+j", "pressed", []),
    "a key that is held steps on and marks one pair alone":
        (BUTTONS, "j* j* 1* 1*", "pressed", ["reader-next"] * 2 + ["review-keep"]),
    "harmful texts stay hidden once that is chosen":
        (BUTTONS, ".reveal .hide-harm reload", HARM, [None, "hidden"]),
    "one harmful text is shown by itself":
        (HARMFUL, ".reveal-one", VISIBLE, ["visible", "hidden"]),
    "after the last difference is the first":
        (pair("a", n=3), ".next-difference " * 3, PLACES, ["1", "1 of 3"]),
    "a long prompt unfolds":
        (pair("a", prompt="many words " * 3000), ".unfold", UNFOLDED, [True, "Less"]),
    "formulas that define commands or are too long stay as written": (
        math(r"$\frac{1}{2}$", r"$\def\a{b}\a$", rf"${'x' * 4001}$", r"$\frac{$"),
        "", RENDERED, [True, False, False, False],
    ),
    "a formula links nowhere":
        (math(r"$\href{javascript:alert(1)}{z} \htmlId{search}{x}$"), "", LINKS, [1, 0]),
    "a table is copied as spreadsheets take it":
        (TABLE, "[data-copy]", CLIPBOARD, "model\tscore\t\n\ta\tb\nx&y\t1\t2"),
}  # fmt: skip
"""What the server wrote, what is pressed (* for a key that is held), and what one sees then."""


def fill(page: Page, html: str) -> None:
    """As the app does: the scripts run, then the server's HTML arrives."""
    page.evaluate(script("storage"))
    for name in ("keys", "reader", "notes", "page"):
        page.evaluate(f"({script(name)})()")
    page.evaluate(LISTEN)
    page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", html)


def script(name: str) -> str:
    """What a file holds: one function, but for storage.js, which calls its own."""
    return (ASSETS / f"{name}.js").read_text(encoding="utf-8").strip()


def answer(route: Route) -> None:
    path = ASSETS / route.request.url.removeprefix(ADDRESS)
    if path.is_file():
        route.fulfill(path=path)
    else:
        style = (ASSETS / "style.css").read_text(encoding="utf-8")
        route.fulfill(content_type="text/html", body=f"<!doctype html><style>{style}</style><body>")


def test_what_is_pressed_does_what_it_says(page: Page, subtests: pytest.Subtests) -> None:
    page.route("**/*", answer)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for name, (html, presses, look, expected) in ROWS.items():
        with subtests.test(name):
            page.goto(ADDRESS)
            page.evaluate("localStorage.clear()")
            fill(page, html)
            for each in presses.split():
                if each == "reload":
                    page.reload()
                    fill(page, html)
                elif each.endswith("*"):
                    page.keyboard.down(each.removesuffix("*"))
                elif each[0] in ".#[":
                    page.locator(each).first.click()
                else:
                    page.keyboard.press(each)
            for held in re.findall(r"(\S)\*", presses):
                page.keyboard.up(held)
            with suppress(AssertionError):
                until(lambda: page.evaluate(look) == expected)  # noqa: B023 - it is over by then
            assert page.evaluate(look) == expected


VIEW = """<div class="view" data-tab="pairs"><div class="view-message" hidden></div>
  <form method="get" data-mode="replace"><div data-region="form"></div></form></div>"""
SERVER = """(go) => {
  const asked = [], started = [], answers = {};
  Object.assign(window, { asked, started, answers });
  const render = ({ query }) => new Promise((done) => {
    asked.push(query);
    const model = new URLSearchParams(query).get("model") ?? "demo";
    const form = `<a href="?q=b">${query || "?"}</a>
      <input type="text" id="model" name="model" value="${model}" data-action="look">
      <button type="button" id="start" data-trigger="start">Score</button>`;
    answers[query] = () => done({ query: query.slice(1), etags: {}, regions: { form } });
  });
  const trigger = (_, { query }) => started.push(query);
  new Function("element", "server", "trigger", go)(document.body, { render }, trigger);
  answers[asked[0]]();
}"""
"""Answers when the test says."""


@pytest.fixture
def view(page: Page) -> Page:
    """A page with a view that go.js fills from `SERVER`."""
    page.route("**/*", answer)
    page.goto(ADDRESS)
    fill(page, VIEW)
    page.evaluate(f"() => {{ {script('idiomorph/idiomorph.min')} ; window.Idiomorph = Idiomorph }}")
    page.evaluate(SERVER, script("go"))
    expect(page.locator("#model")).to_have_value("demo")
    return page


def test_an_earlier_answer_never_takes_the_place_of_a_later_one(view: Page) -> None:
    link = view.locator("[data-region=form] a")
    view.evaluate("() => void window.explorerViews.get('pairs').open('?q=first')")
    link.click()
    view.evaluate("answers['?q=b']()")
    expect(link).to_have_text("?q=b")
    view.evaluate("answers['?q=first']()")
    view.evaluate("new Promise((go) => setTimeout(go))")  # whatever was to follow has
    assert link.inner_text() == "?q=b"


@pytest.mark.parametrize("is_typed_first", [True, False])
def test_what_is_typed_while_a_tab_opens_is_what_starts(is_typed_first: bool, view: Page) -> None:
    turn = "() => void window.explorerViews.get('pairs').turned()"
    if not is_typed_first:
        view.evaluate(turn)
    view.locator("#model").fill("typed")
    view.locator("#start").click()
    if is_typed_first:
        view.evaluate(turn)
    for at in range(1, 3):
        view.wait_for_function(f"asked.length > {at}")
        view.evaluate(f"answers[asked[{at}]]()")
    until(lambda: view.evaluate("started.length") == 1)
    assert "model=typed" in view.evaluate("started[0]")


def test_where_a_browser_keeps_nothing_the_page_does(page: Page) -> None:
    """An address of data has no storage, like a frame whose cookies are blocked."""
    page.goto("data:text/html,")
    page.evaluate(script("storage"))
    page.evaluate("localStorage.setItem('a', 1); localStorage.setItem('b', 2)")
    page.evaluate("localStorage.removeItem('b')")
    assert page.evaluate("['a', 'b'].map((name) => localStorage.getItem(name))") == ["1", None]
    assert page.evaluate("sessionStorage.getItem('a')") is None


LINE = {
    "source": "demo", "subset": "s", "key": "s:1", "text_hash": f"{1:016x}", "verdict": "keep",
    "note": "", "at": "2026-01-31T12:00:00Z",
}  # fmt: skip
Mark = tuple[str, str, str, str]
"""A source, a key in it, the hash of its texts, and a verdict."""


def mark(verdict: str, key: str = "s:1", texts: int = 1, source: str = "demo") -> Mark:
    words = {word[0]: word for word in ("keep", "drop", "unsure")}
    return source, key, f"{texts:016x}", words[verdict]


def both(verdicts: str) -> list[list[Mark]]:
    """Two people's marks of the same pairs: a letter of each for each pair."""
    pairs = [*enumerate(verdicts.split())]
    return [[mark(each[who], f"s:{n}", n) for n, each in pairs] for who in (0, 1)]


TWO = [mark("k"), mark("d", "s:2", 2)]
SAME = [mark("k", "s:1", 5), mark("d", "s:2", 5)]
AGREEMENT: dict[str, tuple[list[list[Mark]], dict[str, Any]]] = {
    # mine 11, 6, 3; theirs 12, 7, 1: what chance would give is (132 + 42 + 3) / 400
    "a worked example": (both(8 * "kk " + 4 * "dd " + "uu " + 3 * "kd " + "dk dk uk uk"), {
        "n": 20, "observed": 13 / 20, "table": [[8, 3, 0], [2, 4, 0], [2, 0, 1]],
        "kappa": pytest.approx((0.65 - 0.4425) / (1 - 0.4425)),
        "differing": [f"s:{n}" for n in range(13, 20)],
    }),
    "as by chance": (both("kk kd dk dd"), {"kappa": 0}),
    "both use a single verdict": (both("uu uu"), {"kappa": None}),
    "the same texts": ([TWO, [mark("d", "x:9", 1, "other")]], {"differing": ["s:1"]}),
    "another source's key": ([TWO, [mark("d", "s:1", 7, "other")]], {"n": 0}),
    "of the same texts each its own":
        ([SAME, SAME[::-1]], {"table": [[1, 0, 0], [0, 1, 0], [0, 0, 0]]}),
    "of the same texts each once": ([SAME, SAME[1:]], {"n": 1}),
}  # fmt: skip
AGREE = "([mine, theirs]) => window.explorer.review.agreement(mine, theirs)"
READ = "(line) => { try { return explorer.review.checked(line) } catch (e) { return e.message } }"
NO_MARKS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "a key that is no text": ({"key": 3}, "source and key must be text"),
    "a hash that is none": ({"text_hash": "<b>"}, "text_hash must be 16 hex digits"),
    "a long note": ({"note": "n" * 2001}, "at most 2000 characters"),
    "nothing": (None, "source and key must be text"),
}


def test_two_people_agree_and_a_line_is_read_or_says_why_it_is_no_mark(page: Page) -> None:
    page.evaluate("window.explorer = {}")
    page.evaluate(script("review"))
    named = ("source", "key", "text_hash", "verdict")
    for name, ([mine, theirs], expected) in AGREEMENT.items():
        lines = [LINE | dict(zip(named, each, strict=True)) for each in theirs]
        found = page.evaluate(AGREE, [[[*each, 0] for each in mine], lines])
        assert {each: found[each] for each in expected} == expected, name
    at = "1970-01-01T02:00:01.5+01:00"
    read = page.evaluate(READ, {**LINE, "at": at, "note": None, "more": 1})
    kept = {name: each for name, each in LINE.items() if name != "subset"}
    assert read == {**kept, "at": 3601, "note": ""}
    for name, (wrong, words) in NO_MARKS.items():
        assert words in page.evaluate(READ, wrong and {**LINE, **wrong}), name
