"""Browse: a first visit, quick presses, lengths, differences. Understand: board to failures."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Position, expect

from tests.e2e import screen
from tests.e2e.conftest import App, profile, watched_page
from tests.support.files import write_jsonl

pytestmark = pytest.mark.e2e


@pytest.mark.journey
def test_a_first_visit_finds_reads_and_sends_pairs(app: App, page: Page, browser: Browser) -> None:
    screen.open_app(page, app.address)
    welcome = page.get_by_label("First steps")
    welcome.get_by_role("button").click()
    screen.facet(page, "subset", "hep-rust").click()
    expect(screen.count(page)).to_have_text("8 of 188 pairs")
    screen.rows(page).nth(3).click()
    page.keyboard.press("j")
    expect(page.locator(".position:visible")).to_have_text("5 of 8")
    expect(screen.pair(page).locator("ins, del").first).to_be_visible()
    page.get_by_role("group", name="Differences").get_by_text("Off").click()
    expect(screen.pair(page).locator("ins, del")).to_have_count(0)
    page.keyboard.press("/")
    page.keyboard.type("the")
    expect(screen.chips(page)).to_have_count(2)
    expect(screen.rows(page).first.locator("mark").first).to_have_text(re.compile("the", re.I))
    page.locator("#search").blur()

    expect(page.locator("#read-status")).to_be_empty()  # the published results are read
    with watched_page(browser) as other:
        screen.open_app(other, screen.copied_link(page))
        expect(screen.pair(other)).to_be_visible()
        expect(screen.pair(other).locator("ins, del")).to_have_count(0)
        looks = [each.locator("#pairs").aria_snapshot() for each in (page, other)]
        assert looks[0].replace("Copied", "Copy link") == looks[1]
    page.locator("#search").fill("no pair holds this text")
    expect(page.get_by_text("No matching pairs.")).to_be_visible()
    screen.open_app(page)
    expect(screen.count(page)).to_have_text("0 of 188 pairs")
    expect(welcome).to_be_hidden()
    page.go_back()  # all that was typed is one step
    expect(screen.count(page)).to_have_text("8 of 188 pairs")
    expect(page.locator("#search")).to_have_value("")


@pytest.mark.journey
def test_of_quick_presses_each_counts_and_so_does_what_is_typed_beside(
    app: App, page: Page
) -> None:
    typed = """(link, [field, event, words]) => {
      const typed = document.querySelector(field);
      if (event === "input") link.click();
      typed.focus();
      typed.value = words;
      typed.dispatchEvent(new Event(event, { bubbles: true }));
      if (event === "change") link.click();
    }"""
    screen.open_app(page, app.address)
    screen.press_at_once(page, "jjjk")
    expect(screen.rows(page).nth(2)).to_have_attribute("aria-current", "true")
    boxes = page.locator('[data-facet="subset"] .whole').filter(has_text=re.compile("Chat|Safety"))
    boxes.evaluate_all("boxes => boxes.forEach(box => box.click())")
    for name in ("Chat", "Chat Hard", "Safety"):
        expect(screen.facet(page, "section", name)).to_have_attribute("aria-checked", "true")
    expect(screen.chips(page)).to_have_count(3)
    screen.facet(page, "section", "Chat").evaluate(typed, ["#search", "input", "the"])
    expect(screen.chips(page).filter(has_text="the")).to_have_count(1)
    expect(screen.chips(page)).to_have_count(3)
    screen.open_tab(page, "Score")
    page.get_by_text("All runs").evaluate(typed, ["#model", "change", "org/typed"])
    expect(page).to_have_url(re.compile("panel=runs.*model=org/typed"))


def test_lengths_become_filters_pictures_and_a_table(app: App, page: Page) -> None:
    screen.open_app(page, f"{app.address}/?panel=lengths")
    bars = page.locator(".lengths-plot .bars .point")
    expect(bars.nth(20)).to_be_attached()
    bars.nth(4).hover(force=True)  # plotly looks where the pointer came from
    bars.nth(4).click(force=True)
    expect(screen.chips(page)).to_have_text(re.compile(r"chosen − rejected characters"))
    plot = page.locator(".lengths-plot .nsewdrag").first
    left, right = Position(x=40, y=90), Position(x=400, y=110)
    plot.drag_to(plot, source_position=left, target_position=right, steps=4, force=True)
    expect(screen.chips(page).filter(has_text="rejected characters")).to_have_count(2)
    with page.expect_download() as download:
        page.locator("[data-picture=png]").first.click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


CODE = "".join(f"    value_{number} = compute({number}, 'text')  # step\n" for number in range(60))
CHANGED = CODE.replace("compute(3,", "compute(4,").replace("value_30", "values_30")
CHANGED = CHANGED.replace("    value_50", "    extra = None\n    another = 1\n    value_50")
STORY = "\n\n".join(f"Paragraph {number} of the story, which goes on." for number in range(60))
FAR = "It begins with words that the other lacks altogether. " * 40
TOPS = """pair => ["chosen", "rejected"].map((side) => Object.fromEntries(
  [...pair.querySelectorAll(`.${side} .row[data-line]`)]
    .map((row) => [row.textContent, Math.round(row.getBoundingClientRect().top)])))"""
BOTH_HERE = """pair => ["chosen", "rejected"].map((side) =>
  pair.querySelector(`.${side} .here`).getBoundingClientRect().top)"""


def test_differences_are_read_one_after_the_other_line_beside_line(
    app: App, page: Page, tmp_path: Path
) -> None:
    texts = {
        "hep-python": (CODE, CHANGED),
        "story": (f"Once.\n{STORY}\nThe end.", f"Once.\n{FAR}\n{STORY}\nNo end."),
    }
    given = [
        {"id": "1", "subset": name, "prompt": "Go on.", "chosen": one, "rejected": other}
        for name, (one, other) in texts.items()
    ]
    screen.open_pairs(page, app.address, write_jsonl(tmp_path / "reading.jsonl", given))
    place = page.locator(".difference-place:visible")

    def press(which: str, expected: str) -> None:
        page.get_by_test_id(f"{which}-difference").locator("visible=true").click()
        expect(place).to_have_text(re.compile(expected))
        for side in ("chosen", "rejected"):
            expect(screen.pair(page).locator(f".{side} .here").first).to_be_in_viewport()
        expect(page.locator(".reader-bar:visible button").first).to_be_in_viewport(ratio=1)
        tops = screen.pair(page).evaluate(BOTH_HERE)
        assert abs(tops[0] - tops[1]) < 30, tops

    expect(place).to_have_text("1 of 3")
    left, right = screen.pair(page).evaluate(TOPS)
    both = left.keys() & right.keys()
    assert len(both) == 58 and all(left[line] == right[line] for line in both)
    expect(screen.pair(page).locator(".chosen ins")).to_have_text(["3", "value_30"])
    for number in (2, 3, 1):
        press("next", f"{number} of 3")
    page.keyboard.press("j")
    expect(screen.pair(page)).to_have_attribute("data-key", "story:1")
    expect(place).to_have_text(re.compile("1 of "))
    press("previous", r"^(\d+) of \1$")  # which lies far away, at another height on each side


@pytest.mark.journey
def test_a_trainer_goes_from_the_board_to_what_a_model_fails(app: App, page: Page) -> None:
    screen.open_app(page, f"{app.address}/?model=")
    expect(page.locator("#read-status")).to_be_empty()  # the published results are read
    screen.open_tab(page, "Models")
    row = page.locator("#models-table tbody tr", has=page.get_by_text("org/fair", exact=True))
    row.locator("td.score").click()
    page.get_by_role("link", name=re.compile("^Open its .*failures")).click()
    expect(page.locator("#model-name")).to_have_value("org/fair")
    expect(page.get_by_role("tab", name="Pairs")).to_have_attribute("aria-selected", "true")
    expect(screen.chips(page)).to_have_count(1)
    losses = int(screen.count(page).inner_text().split()[0])
    screen.open_panel(page, "Slices")
    slices = page.locator(".kinds-of .slices th a").locator("visible=true")
    slices.filter(has_text=re.compile("^rejected longer$")).first.click()
    expect(screen.chips(page)).to_have_count(2)
    assert 0 < int(screen.count(page).inner_text().split()[0]) <= losses
    expect(screen.pair(page)).to_be_visible()


def test_twelve_tabs_of_one_browser_are_answered(app: App, browser: Browser) -> None:
    """A browser opens six connections to a server: none of a page may last."""
    with profile(browser) as context:
        pages = [context.new_page() for _ in range(12)]
        for page, tab in zip(pages, 6 * ["score", "pairs"], strict=True):
            page.goto(f"{app.address}/?tab={tab}&which=subset")
            page.wait_for_selector(screen.READY)
        pages[0].locator("#start").click()
        for page, other in zip(pages[::2], pages[1::2], strict=True):
            page.bring_to_front()  # each sees the run that the first began
            expect(page.get_by_test_id("run-status")).to_be_visible()
            other.bring_to_front()
            screen.facet(other, "section", "Chat").click()
            expect(screen.count(other)).to_have_text("40 of 188 pairs")
        page.bring_to_front()
        screen.open_app(page, f"{app.address}/?view=api&section=Safety")
        described = page.get_by_role("dialog")
        expect(described).to_contain_text("The pairs that a model or a run loses or ties")
        page.locator(".api-docs .backdrop").click(position={"x": 20, "y": 300})
        expect(described).to_have_count(0)
        assert "view=api" not in page.url and "section=Safety" in page.url
