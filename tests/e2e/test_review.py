"""Fast hands in the review panel, and the list by keyboard, in a real browser."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import (
    begin_review,
    copied_link,
    open_app,
    open_tab,
    pair,
    started,
    watched_page,
)

pytestmark = pytest.mark.e2e


@pytest.mark.journey
def test_quick_presses_all_count_and_a_note_stays_with_its_pair(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    progress = begin_review(page)
    expect(progress).to_contain_text("0 of 188 marked")
    first = pair(page).get_attribute("data-key")
    page.set_viewport_size({"width": 1366, "height": 600})
    for element in (page.locator(".review-keep"), page.locator("#review-note"), pair(page)):
        expect(element).to_be_in_viewport()
    page.locator("#review-note textarea").fill("of the first")
    page.locator("#review-note textarea").blur()
    page.keyboard.press("2")
    page.keyboard.press("3")
    for _ in range(3):
        page.wait_for_timeout(100)
        page.keyboard.press("1")
    expect(progress).to_have_text("5 of 188 marked: 3 to keep, 1 to drop, 1 unsure")
    expect(page.locator("#review-note textarea")).to_have_value("")

    decisions = decisions_of(page)
    assert [row["verdict"] for row in decisions] == ["drop", "unsure", "keep", "keep", "keep"]
    assert [row["note"] for row in decisions] == ["of the first", "", "", "", ""]
    assert decisions[0]["key"] == first


@dataclass
class Server:
    """An app with twelve pairs in one subset, and its process."""

    address: str
    process: subprocess.Popen[bytes]

    @contextmanager
    def hanging(self) -> Iterator[None]:
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("twelve")
    rows = [{"prompt": f"p{n}", "chosen": "c", "rejected": "r", "id": n} for n in range(12)]
    pairs = home / "twelve.jsonl"
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with started(home, EXPLORER_PAIRS=str(pairs)) as (address, process):
        yield Server(address, process)


def begin(page: Page, address: str) -> Locator:
    """Begin a review of the twelve; where its progress stands."""
    open_app(page, address)
    progress = begin_review(page)
    expect(progress).to_contain_text("0 of 12 marked")
    return progress


def press_at_once(page: Page, keys: str) -> None:
    """Keys without any time between them."""
    page.evaluate(
        """keys => { for (const key of keys)
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); }""",
        keys,
    )


def decisions_of(page: Page) -> list[dict[str, Any]]:
    page.get_by_text("Export, and compare").click()
    with page.expect_download() as download:
        page.locator(".review-export-decisions").click()
    return [json.loads(line) for line in download.value.path().read_text().splitlines()]


def test_no_press_is_lost_while_the_server_hangs(server: Server, page: Page) -> None:
    progress = begin(page, server.address)
    note = page.locator("#review-note textarea")
    note.fill("of the first")
    note.blur()
    expect(page.locator(".review-waiting")).to_be_hidden()
    with server.hanging():
        page.keyboard.press("2")
        press_at_once(page, "3112")
        page.keyboard.press("u")
        page.keyboard.press("3")
        expect(page.locator(".review-waiting")).to_have_text("7 not saved yet")
        expect(note).not_to_be_editable()
        page.wait_for_timeout(2_000)
    press_at_once(page, "11123")
    expect(progress).to_have_text("10 of 12 marked: 5 to keep, 2 to drop, 3 unsure")
    expect(page.locator(".review-waiting")).to_be_hidden()
    note.fill("of the eleventh")
    note.press("1")
    page.locator(".review-keep").click()
    expect(progress).to_contain_text("11 of 12 marked")

    made = decisions_of(page)
    letters = {"drop": "d", "unsure": "u", "keep": "k"}
    assert "".join(letters[each["verdict"]] for each in made) == "dukkukkkduk"
    assert [each["key"].partition(":")[2] for each in made] == [str(n) for n in range(11)]
    assert [each["note"] for each in made] == ["of the first", *[""] * 9, "of the eleventh1"]


def test_quick_keys_leave_a_note_and_mark_nothing_after_the_last_pair(
    server: Server, page: Page
) -> None:
    progress = begin(page, server.address)
    page.locator("#review-note textarea").fill("of the first")
    page.locator("#review-note textarea").press("Escape")
    page.locator(".review-keep").click()
    expect(progress).to_contain_text("1 of 12 marked")
    with server.hanging():
        press_at_once(page, "k2" + 10 * "1")
    expect(progress).to_contain_text("11 of 12 marked")
    with server.hanging():
        press_at_once(page, "133")
    expect(page.get_by_text("after the last pair, not counted: 2.")).to_be_visible()
    expect(progress).to_have_text("12 of 12 marked: 11 to keep, 1 to drop, 0 unsure")
    made = decisions_of(page)
    assert [each["note"] for each in made] == ["of the first", *[""] * 11]


def test_a_reload_keeps_marks_that_were_answered_and_those_that_were_not(
    server: Server, leaving: Page
) -> None:
    progress = begin(leaving, server.address)
    press_at_once(leaving, "123")
    expect(progress).to_contain_text("3 of 12 marked")
    leaving.reload()
    expect(leaving.get_by_text("3 marked, last on")).to_be_visible()
    leaving.locator(".review-begin").click()
    expect(progress).to_contain_text("3 of 12 marked")

    leaving.route("**/queue/join*", lambda _: None)  # nothing reaches the server
    press_at_once(leaving, "nn12u1")
    expect(leaving.locator(".review-waiting")).to_have_text("6 not saved yet")
    leaving.reload()
    leaving.unroute("**/queue/join*")
    leaving.reload()
    expect(progress).to_have_text("5 of 12 marked: 3 to keep, 1 to drop, 1 unsure")
    keys = [each["key"].partition(":")[2] for each in decisions_of(leaving)]
    assert keys == ["0", "1", "2", "5", "6"], "the pairs that were meant"


def test_presses_that_are_refused_hold_nothing_else_up_and_count_later(
    server: Server, leaving: Page
) -> None:
    progress = begin(leaving, server.address)
    press_at_once(leaving, "1")
    expect(progress).to_contain_text("1 of 12 marked")
    leaving.route(
        "**/queue/join*",
        lambda route: (
            route.fulfill(status=500)
            if '"press"' in (route.request.post_data or "")
            else route.continue_()
        ),
    )
    press_at_once(leaving, "23")
    expect(leaving.locator(".review-waiting")).to_have_text("2 not saved yet")
    assert [each["verdict"] for each in decisions_of(leaving)] == ["keep"], "what is saved"
    leaving.locator("#header a[data-go]", has_text="About").click()
    expect(leaving.locator(".data-card")).to_be_visible()
    leaving.go_back()
    expect(progress).to_contain_text("1 of 12 marked")
    leaving.unroute("**/queue/join*")
    expect(progress).to_have_text("3 of 12 marked: 1 to keep, 1 to drop, 1 unsure")
    expect(leaving.locator(".review-waiting")).to_be_hidden()


def test_the_link_of_a_review_is_to_the_pair_on_screen(server: Server, page: Page) -> None:
    begin(page, server.address)
    page.keyboard.press("1")
    expect(page.locator(".review-place")).to_contain_text("Pair 2 of 12")
    key = pair(page).get_attribute("data-key")
    assert key is not None
    page.wait_for_url(lambda url: f"pair={key}" in url and "panel=review" in url)
    other = page.context.new_page()
    open_app(other, copied_link(page, "pairs"))
    expect(pair(other)).to_have_attribute("data-key", key)
    other.close()


def test_a_note_is_saved_when_its_field_is_left(server: Server, leaving: Page) -> None:
    progress = begin(leaving, server.address)
    note = leaving.locator("#review-note textarea")
    place = leaving.locator(".review-place")
    leaving.keyboard.press("1")
    expect(progress).to_contain_text("1 of 12 marked")
    with server.hanging():
        note.fill("of the second, which has no mark")
        leaving.keyboard.press("Tab")
        expect(leaving.locator(".review-waiting")).to_have_text("1 not saved yet")
        leaving.locator(".reader-previous:visible").click()
    expect(place).to_have_text("Pair 1 of 12 keep")
    expect(note).to_be_editable()
    note.fill("of the first")
    leaving.locator(".reader-next:visible").click()
    expect(place).to_have_text("Pair 2 of 12 unmarked")
    expect(note).to_have_value("of the second, which has no mark")
    leaving.locator(".reader-previous:visible").click()
    expect(note).to_have_value("of the first")
    expect(note).to_be_editable()
    note.fill("of the first, anew")
    leaving.reload()
    expect(note).to_have_value("of the first, anew")
    expect(note).to_be_editable()
    leaving.reload()
    expect(leaving.get_by_text("1 marked, last on")).to_be_visible()
    leaving.locator(".review-begin").click()
    expect(note).to_have_value("of the second, which has no mark")
    leaving.locator(".review-keep").click()
    expect(progress).to_contain_text("2 of 12 marked")
    notes = {each["key"][-1]: each["note"] for each in decisions_of(leaving)}
    assert notes == {"0": "of the first, anew", "1": "of the second, which has no mark"}


def test_two_tabs_of_one_browser_keep_each_others_marks(server: Server, page: Page) -> None:
    progress = begin(page, server.address)
    other = page.context.new_page()
    in_other = begin(other, server.address)
    press_at_once(page, "11")
    expect(progress).to_contain_text("2 of 12 marked")
    press_at_once(other, "nn33")
    expect(in_other).to_have_text("4 of 12 marked: 2 to keep, 0 to drop, 2 unsure")
    press_at_once(page, "2")
    expect(progress).to_have_text("4 of 12 marked: 2 to keep, 1 to drop, 1 unsure")
    other.reload()
    expect(other.get_by_text("4 marked, last on")).to_be_visible()
    other.close()


def test_the_keyboard_opens_a_row_and_stays_on_it(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    link = page.locator(".list tbody tr").nth(2).locator("a[data-main]")
    key = link.inner_text()
    link.press("Enter")
    expect(pair(page)).to_have_attribute("data-key", key)
    expect(link).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(pair(page)).not_to_have_attribute("data-key", key)


def test_on_a_narrow_screen_every_tab_is_reached(demo_app: str, browser: Browser) -> None:
    with watched_page(browser, 390) as page:
        open_app(page, demo_app)
        page.get_by_role("link", name="About", exact=True).click()
        expect(page.locator(".data-card")).to_be_visible()
        open_tab(page, "Pairs")
        expect(page.get_by_test_id("pair-row").first).to_be_visible()


def test_a_list_is_a_table_on_a_narrow_screen(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    page.set_viewport_size({"width": 600, "height": 900})
    assert page.locator(".list td").first.evaluate("each => getComputedStyle(each).display") in (
        "block",
        "inline-block",
    )
    expect(page.locator(".list").get_by_role("row")).to_have_count(26)
    expect(page.locator(".list").get_by_role("rowheader")).to_have_count(25)
    expect(page.locator(".list").get_by_role("cell").first).to_be_visible()
