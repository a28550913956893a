"""The scripts of the page without a server: what is pressed, and what comes of it."""

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
  <button class="hide-harm">hide</button> <button id="theme-button">theme</button>
  <input id="text"> <input type="checkbox" id="box">
  <div class="searchbar"><input type="search" class="search" value="words"></div>
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
PLACE = "query('.difference-place').textContent"
BOTH_PLACES = f"[query('.here').dataset.difference, {PLACE}]"
HARM = "[document.documentElement.dataset.harm, localStorage['rewardbench-explorer-harm']]"
DARK = "[document.body.matches('.dark'), localStorage['rewardbench-explorer-theme']]"
VISIBLE = "['a', 'b'].map((id) => getComputedStyle(document.getElementById(id)).visibility)"
RENDERED = (
    "[...document.querySelectorAll('.math')].map((each) => Boolean(each.querySelector('.katex')))"
)
FOCUS = "[document.activeElement.className, getSelection().toString()]"
UNFOLDED = "[query('.prompt').matches('[data-unfolded]'), query('.unfold').textContent]"
LINKS = "['.math .katex', '.math a'].map((each) => document.querySelectorAll(each).length)"
CLIPBOARD = "navigator.clipboard.readText()"

ROWS: dict[str, tuple[str, list[str], str, Any]] = {
    "a key presses the button that is in sight": (
        BUTTONS,
        ["j", "k"],
        "pressed",
        ["reader-next", "reader-previous"],
    ),
    "letters typed into a field press nothing": (BUTTONS, ["#text", "j", "1"], "pressed", ["text"]),
    "keys work while a box is focused": (BUTTONS, ["#box", "j"], "pressed", ["box", "reader-next"]),
    "a browser's own shortcut presses nothing": (BUTTONS, ["Alt+1", "Control+j"], "pressed", []),
    "a key that is held steps on": (BUTTONS, ["hold j"], "pressed", ["reader-next"] * 3),
    "a key that is held marks one pair alone": (BUTTONS, ["hold 1"], "pressed", ["review-keep"]),
    "slash goes to the search and selects its words": (
        *(BUTTONS, ["/"]),
        FOCUS,
        ["search", "words"],
    ),
    "harmful texts stay shown when the page is opened again": (
        BUTTONS,
        [".reveal", "reload"],
        HARM,
        ["shown", "shown"],
    ),
    "harmful texts stay hidden once that is chosen": (
        BUTTONS,
        [".reveal", ".hide-harm", "reload"],
        HARM,
        [None, "hidden"],
    ),
    "the theme that is chosen stays": (BUTTONS, ["#theme-button", "reload"], DARK, [True, "dark"]),
    "harmful texts are hidden at first": (HARMFUL, [], VISIBLE, ["hidden", "hidden"]),
    "one harmful text is shown by itself": (
        HARMFUL,
        [".reveal-one"],
        VISIBLE,
        ["visible", "hidden"],
    ),
    "all are shown where that is chosen": (
        HARMFUL + BUTTONS,
        [".reveal"],
        VISIBLE,
        ["visible", "visible"],
    ),
    "the first difference is marked": (pair("a", n=3), [], BOTH_PLACES, ["1", "1 of 3"]),
    "before the first difference is the last": (
        pair("a", n=3),
        [".previous-difference"],
        PLACE,
        "3 of 3",
    ),
    "after the last difference is the first": (
        pair("a", n=3),
        [".next-difference"] * 3,
        BOTH_PLACES,
        ["1", "1 of 3"],
    ),
    "without differences there is no way to them": (
        pair("a"),
        [],
        "query('.differences').hidden",
        True,
    ),
    "a long prompt unfolds": (
        pair("a", prompt="many words " * 3000),
        [".unfold"],
        UNFOLDED,
        [True, "Less"],
    ),
    "a short prompt has nothing to unfold": (
        pair("a", prompt="few"),
        [],
        "query('.unfold').hidden",
        True,
    ),
    "formulas are rendered": (
        math(r"$\frac{1}{2}$", r"$$x^2$$", r"\(x\)"),
        [],
        RENDERED,
        [True, True, True],
    ),
    "formulas that define commands or are too long stay as written": (
        math(r"$x$", r"$\def\a{b}\a$", rf"${'x' * 4001}$", r"$\frac{$"),
        [],
        RENDERED,
        [True, False, False, False],
    ),
    "a formula links nowhere": (
        math(r"$\href{javascript:alert(1)}{z}$"),
        [],
        LINKS,
        [1, 0],
    ),
    "a table is copied as spreadsheets take it": (
        TABLE,
        ["[data-copy]"],
        CLIPBOARD,
        "model\tscore\t\n\ta\tb\nx&y\t1\t2",
    ),
    "a text is copied as it stands": (
        '<button data-copy="#words">Copy</button><pre id="words">a &lt;b&gt;\n c</pre>',
        ["[data-copy]"],
        CLIPBOARD,
        "a <b>\n c",
    ),
}


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


@pytest.mark.parametrize("name", ROWS)
def test_what_is_pressed_does_what_it_says(name: str, page: Page) -> None:
    html, presses, look, expected = ROWS[name]
    page.route("**/*", answer)
    page.goto(ADDRESS)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    fill(page, html)
    for each in presses:
        if each == "reload":
            page.reload()
            fill(page, html)
        elif each.startswith("hold "):
            for _ in range(3):
                page.keyboard.down(each.removeprefix("hold "))
        elif each[0] in ".#[":
            page.locator(each).first.click()
        else:
            page.keyboard.press(each)
    with suppress(AssertionError):
        until(lambda: page.evaluate(look) == expected)
    assert page.evaluate(look) == expected


VIEW = """<div class="view" data-tab="pairs"><div class="view-message" hidden></div>
  <div data-region="list"></div></div>"""
ASKED_TWICE = """(go) => {
  const asked = [], answers = {};
  window.answers = answers;
  const render = ({ query }) => new Promise((done) => {
    asked.push(query);
    const list = `<a href="?q=b">${query || "?"}</a>`;
    answers[query] = () => done({ query, etags: {}, regions: { list } });
  });
  const element = document.body;
  new Function("element", "server", "trigger", go)(element, { render }, () => {});
  answers[asked[0]]();
}"""


def follow_links(page: Page, html: str, server: str) -> None:
    """A view whose links go.js follows. server: a script that answers when the test says."""
    page.route("**/*", answer)
    page.goto(ADDRESS)
    fill(page, html)
    page.evaluate(f"() => {{ {script('idiomorph/idiomorph.min')} ; window.Idiomorph = Idiomorph }}")
    page.evaluate(server, script("go"))


def test_an_earlier_answer_never_takes_the_place_of_a_later_one(page: Page) -> None:
    follow_links(page, VIEW, ASKED_TWICE)
    region = page.locator("[data-region=list]")
    until(lambda: region.inner_text() != "")
    page.evaluate("() => void window.explorerViews.get('pairs').open('?q=first')")
    region.locator("a").click()
    page.evaluate("answers['?q=b']()")
    until(lambda: region.inner_text() == "?q=b")
    page.evaluate("answers['?q=first']()")
    page.evaluate("new Promise((go) => setTimeout(go, 50))")
    assert region.inner_text() == "?q=b"


FORM = """<div class="view" data-tab="pairs"><div class="view-message" hidden></div>
  <form method="get" data-mode="replace"><div data-region="form"></div></form></div>"""
PRESSED_AT_ONCE = """(go) => {
  const asked = [], started = [], answers = {};
  Object.assign(window, { asked, started, answers });
  const render = ({ query }) => new Promise((done) => {
    asked.push(query);
    const model = new URLSearchParams(query).get("model") ?? "demo";
    const form = `<input type="text" id="model" name="model" value="${model}" data-action="look">
      <button type="button" id="start" data-trigger="start">Score</button>`;
    answers[query] = () => done({ query: query.slice(1), etags: {}, regions: { form } });
  });
  const trigger = (_, { query }) => started.push(query);
  new Function("element", "server", "trigger", go)(document.body, { render }, trigger);
  answers[asked[0]]();
}"""


@pytest.mark.parametrize("is_typed_first", [True, False])
def test_what_is_typed_while_a_tab_opens_is_what_starts(is_typed_first: bool, page: Page) -> None:
    follow_links(page, FORM, PRESSED_AT_ONCE)
    model = page.locator("#model")
    expect(model).to_have_value("demo")
    turn = "() => void window.explorerViews.get('pairs').turned()"
    if not is_typed_first:
        page.evaluate(turn)
    model.fill("typed")
    page.locator("#start").click()
    if is_typed_first:
        page.evaluate(turn)
    for at in range(1, 3):
        page.wait_for_function(f"asked.length > {at}")
        page.evaluate(f"answers[asked[{at}]]()")
    until(lambda: page.evaluate("started.length") == 1)
    assert "model=typed" in page.evaluate("started[0]")


STORED = "[localStorage.getItem('a'), localStorage.getItem('b'), sessionStorage.getItem('a')]"


@pytest.mark.parametrize("is_denied", [True, False])
def test_where_a_browser_keeps_nothing_the_page_does(is_denied: bool, page: Page) -> None:
    """An address of data has no storage, like a frame whose cookies are blocked."""
    page.route("http://**/*", answer)
    page.goto("data:text/html," if is_denied else ADDRESS)
    page.evaluate(script("storage"))
    assert page.evaluate("document.documentElement.dataset.welcome ?? null") is None
    page.evaluate("localStorage.setItem('a', 1); localStorage.setItem('b', 2)")
    page.evaluate("localStorage.removeItem('b')")
    assert page.evaluate(STORED) == ["1", None, None]
    if not is_denied:
        page.evaluate("localStorage.setItem('rewardbench-explorer-welcome', 'seen')")
        page.reload()
        page.evaluate(script("storage"))
        assert page.evaluate("document.documentElement.dataset.welcome") == "seen"
        assert page.evaluate(STORED) == ["1", None, None]
