"""Review: fast hands, a server that hangs, files, two tabs, browsers that keep nothing or more."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e import screen
from tests.e2e.conftest import App, watched_page
from tests.support.files import write_jsonl
from tests.support.serving import started

pytestmark = pytest.mark.e2e

EARLIER = Path(__file__).with_name("earlier")


def begin(page: Page, app: App) -> Locator:
    """Begin a review of twelve pairs; where its progress stands."""
    screen.open_pairs(page, app.address, app.twelve)
    progress = screen.begin_review(page)
    expect(progress).to_have_text("0 of 12 reviewed")
    return progress


def expect_pair(page: Page, number: int) -> None:
    expect(screen.pair(page)).to_have_attribute("data-key", f"twelve:{number}")


def marks_of(page: Page) -> list[dict[str, Any]]:
    """What the file of a review's marks says."""
    page.get_by_role("button", name="Files", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export marks").click()
    page.keyboard.press("Escape")
    return [json.loads(line) for line in download.value.path().read_text().splitlines()]


def short(marks: list[dict[str, Any]]) -> str:
    """The marked pairs by their numbers, each with the first letter of its verdict."""
    return " ".join(f"{each['key'].partition(':')[2]}{each['verdict'][0]}" for each in marks)


@pytest.mark.journey
def test_no_press_is_lost_and_marks_go_to_a_colleague_and_come_back(
    app: App, leaving: Page, browser: Browser, tmp_path: Path
) -> None:
    page = leaving
    progress = begin(page, app)
    app.process.send_signal(signal.SIGSTOP)  # the server hangs
    try:
        screen.press_at_once(page, "2311")
        for key in "2u3":
            page.keyboard.press(key)
        expect(progress).to_have_text("5 of 12 reviewed")
    finally:
        app.process.send_signal(signal.SIGCONT)
    expect_pair(page, 5)
    page.route("**/component_server*", lambda _: None)  # nothing reaches the server
    screen.press_at_once(page, "nn12u1")
    expect(progress).to_have_text("7 of 12 reviewed")
    page.unroute("**/component_server*")
    page.reload()
    expect(progress).to_have_text("7 of 12 reviewed")
    mine = marks_of(page)
    assert short(mine) == "0d 1u 2k 3k 4u 7k 8k"

    elsewhere = {**mine[0], "key": "gone:1", "text_hash": 16 * "0"}
    with watched_page(browser) as colleague:
        progress, file = begin(colleague, app), tmp_path / "marks.jsonl"
        read = colleague.locator("[data-read=resume]")
        read.set_input_files(write_jsonl(file, [*mine, elsewhere]))
        expect(progress).to_have_text("7 of 12 reviewed")
        expect(colleague.get_by_text("1 left out")).to_be_visible()
        read.set_input_files(write_jsonl(file, [{"verdict": "maybe"}]))
        words = "marks.jsonl, line 1: source and key"
        expect(colleague.locator(".review-told")).to_contain_text(words)
        assert marks_of(colleague) == mine
    theirs = [{**each, "verdict": "keep", "note": "fine"} for each in mine[:4]]
    page.locator("[data-read=compare]").set_input_files(write_jsonl(file, theirs))
    expect(page.locator(".agreement")).to_contain_text("You agree on 50.0 %")
    page.locator("[data-list=differing]").click()
    page.locator(".review-keys a").first.click()
    expect_pair(page, 0)
    expect(page.locator(".colleague")).to_have_text("Colleague: keep (fine)")


def test_quick_keys_undo_and_a_full_browser_lose_no_mark(app: App, page: Page) -> None:
    progress = begin(page, app)
    page.locator("#pair-note").fill("why")
    page.locator("#pair-note").press("Enter")
    page.locator(".review-keep").click()
    expect_pair(page, 1)
    page.keyboard.press("k")
    expect_pair(page, 0)
    page.keyboard.press("2")
    expect(page.locator("[data-list=drop]")).to_have_text("1 drop")
    page.keyboard.press("u")
    expect(page.locator("[data-list=keep]")).to_have_text("1 keep")
    page.keyboard.press("u")
    expect(progress).to_have_text("0 of 12 reviewed")
    expect(page.locator("#pair-note")).to_have_value("why")

    screen.press_at_once(page, "11")
    expect_pair(page, 2)
    screen.press_at_once(page, "k2")
    expect(page.locator("[data-list=drop]")).to_have_text("1 drop")
    assert short(marks_of(page)) == "0k 1d"
    expect_pair(page, 2)
    screen.press_at_once(page, 8 * "1")
    expect(progress).to_have_text("10 of 12 reviewed")
    screen.press_at_once(page, "1133")
    expect(page.get_by_text("All pairs are marked.")).to_be_visible()
    expect(page.locator("[data-list=keep]")).to_have_text("11 keep")
    expect_pair(page, 11)

    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full') } }")
    page.keyboard.press("u")
    expect(progress).to_have_text("11 of 12 reviewed")
    expect(page.get_by_text("This browser cannot keep your marks")).to_be_visible()
    assert len(marks_of(page)) == 11
    page.keyboard.press("2")
    expect(progress).to_have_text("12 of 12 reviewed")
    assert short(marks_of(page)[-1:]) == "11d"


def test_notes_are_kept_pairs_passed_over_come_again_and_two_tabs_see_each_others_marks(
    app: App, leaving: Page
) -> None:
    page = leaving
    begin(page, app)
    note = page.locator("#pair-note")
    note.fill("of the first")
    page.locator(".reader-next:visible").click()
    expect_pair(page, 1)
    expect(note).to_have_value("")
    note.fill("of the second")
    page.reload()
    expect(note).to_have_value("of the second")
    page.locator(".reader-previous:visible").click()
    screen.press_at_once(page, "11")
    expect_pair(page, 2)
    assert [each["note"] for each in marks_of(page)] == ["of the first", "of the second"]
    note.fill("of the third")
    page.go_back()
    expect_pair(page, 0)
    expect(note).to_have_value("of the first")
    page.go_forward()
    expect_pair(page, 2)
    expect(note).to_have_value("of the third")

    screen.press_at_once(page, "nn" + 6 * "1")
    other = page.context.new_page()
    screen.open_app(other, screen.copied_link(page))
    in_other = other.get_by_test_id("review-progress")
    expect(in_other).to_have_text("8 of 12 reviewed")
    screen.press_at_once(page, "11")
    expect(in_other).to_have_text("10 of 12 reviewed")
    page.wait_for_url("**/*pair=twelve:2*panel=review*")
    expect_pair(page, 2)
    screen.press_at_once(page, "u")
    expect_pair(page, 11)
    expect(in_other).to_have_text("9 of 12 reviewed")
    other.close()
    assert short(marks_of(page)) == " ".join(f"{n}k" for n in (0, 1, *range(4, 11)))


def test_a_browser_of_an_earlier_version_finds_what_it_kept(tmp_path: Path, leaving: Page) -> None:
    """On a public server, where somebody scored with it.

    `earlier/browser.json` is the localStorage of one that made ten marks, two notes, a typed pair
    and a run on a public server of commit 4523d55; `earlier/runs` has the run.
    """
    shutil.copytree(EARLIER / "runs", tmp_path / "runs")
    kept = json.loads((EARLIER / "browser.json").read_text(encoding="utf-8"))
    page = leaving
    with started(tmp_path, EXPLORER_PUBLIC="1") as (address, _):
        page.goto(f"{address}/favicon.ico")
        page.evaluate("(kept) => Object.assign(localStorage, kept)", kept)
        screen.open_app(page, address)
        progress = screen.begin_review(page)
        expect(progress).to_have_text("10 of 188 reviewed")
        page.keyboard.press("u")
        expect(progress).to_have_text("9 of 188 reviewed")
        page.reload()  # what is taken over once does not come again
        expect(progress).to_have_text("9 of 188 reviewed")
        screen.open_tab(page, "Try")
        expect(page.locator("#try-prompt")).to_have_value("What is typed?")
        screen.open_app(page, f"{address}/?tab=score&panel=runs")
        expect(page.locator("#runs-list .run-name")).to_have_count(1)
