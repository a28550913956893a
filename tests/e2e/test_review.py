"""A review in a real browser: fast hands, files, two tabs, a browser that keeps nothing."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import (
    begin_review,
    copied_link,
    marks_of,
    open_app,
    open_panel,
    pair,
    press_at_once,
    started,
    watched_page,
)

pytestmark = [pytest.mark.e2e, pytest.mark.journey]
MARKS = "rewardbench-explorer-marks"


def test_quick_presses_all_count_and_a_note_stays_with_its_pair(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    progress = begin_review(page)
    expect(progress).to_have_text("0 of 188 reviewed")
    first = pair(page).get_attribute("data-key")
    page.set_viewport_size({"width": 1366, "height": 600})
    for element in (page.locator(".review-keep"), page.locator("#pair-note"), pair(page)):
        expect(element).to_be_in_viewport()
    page.locator("#pair-note").fill("of the first")
    page.locator("#pair-note").blur()
    press_at_once(page, "2311111122")
    expect(progress).to_have_text("10 of 188 reviewed")
    expect(
        page.get_by_test_id("pair-row").locator("xpath=self::*[@data-verdict='keep']")
    ).to_have_count(6)
    expect(page.locator("#pair-note")).to_have_value("")

    marks = marks_of(page)
    assert [each["verdict"] for each in marks] == [
        "drop", "unsure", *["keep"] * 6, "drop", "drop",
    ]  # fmt: skip
    assert [each["note"] for each in marks] == ["of the first", *[""] * 9]
    assert marks[0]["key"] == first and len({each["key"] for each in marks}) == 10


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
    expect(progress).to_have_text("0 of 12 reviewed")
    return progress


def numbers_of(page: Page) -> list[str]:
    """The ids of the marked pairs."""
    return [each["key"].partition(":")[2] for each in marks_of(page)]


def verdict_of(page: Page, verdict: str) -> Locator:
    """How many have a verdict, and the way to their keys."""
    return page.locator(f"[data-list={verdict}]")


def test_no_press_is_lost_while_the_server_hangs(server: Server, page: Page) -> None:
    progress = begin(page, server.address)
    with server.hanging():
        press_at_once(page, "2311")
        page.keyboard.press("2")
        page.keyboard.press("u")
        page.keyboard.press("3")
        expect(progress).to_have_text("5 of 12 reviewed")
    expect(pair(page)).to_have_attribute("data-key", "twelve:5")
    press_at_once(page, "11123")
    expect(progress).to_have_text("10 of 12 reviewed")
    made = marks_of(page)
    letters = {"drop": "d", "unsure": "u", "keep": "k"}
    assert "".join(letters[each["verdict"]] for each in made) == "dukkukkkdu"
    assert [each["key"].partition(":")[2] for each in made] == [str(n) for n in range(10)]


def test_a_mark_is_on_the_pair_on_screen_when_one_went_back(server: Server, page: Page) -> None:
    begin(page, server.address)
    press_at_once(page, "11")
    expect(pair(page)).to_have_attribute("data-key", "twelve:2")
    with server.hanging():
        press_at_once(page, "k2")
        expect(verdict_of(page, "drop")).to_have_text("0 drop")
    expect(verdict_of(page, "drop")).to_have_text("1 drop")
    assert [each["verdict"] for each in marks_of(page)] == ["keep", "drop"], "of 0 and 1"
    expect(pair(page)).to_have_attribute("data-key", "twelve:2")


def test_quick_keys_mark_nothing_after_the_last_pair(server: Server, page: Page) -> None:
    progress = begin(page, server.address)
    press_at_once(page, 10 * "1")
    expect(progress).to_have_text("10 of 12 reviewed")
    press_at_once(page, "1133")
    expect(page.get_by_text("All pairs are marked.")).to_be_visible()
    expect(verdict_of(page, "keep")).to_have_text("12 keep")
    expect(pair(page)).to_have_attribute("data-key", "twelve:11")
    page.keyboard.press("k")
    expect(pair(page)).to_have_attribute("data-key", "twelve:10")
    page.keyboard.press("3")
    expect(verdict_of(page, "unsure")).to_have_text("1 unsure")


def test_pairs_passed_over_come_again_after_the_last(server: Server, page: Page) -> None:
    begin(page, server.address)
    press_at_once(page, "nn" + 10 * "1")
    page.wait_for_url("**/*pair=twelve:0*")
    expect(pair(page)).to_have_attribute("data-key", "twelve:0")
    page.keyboard.press("u")
    expect(pair(page)).to_have_attribute("data-key", "twelve:11")
    assert numbers_of(page) == [str(n) for n in range(2, 11)]


def test_undo_takes_back_the_last_mark_and_leaves_its_note(server: Server, page: Page) -> None:
    progress = begin(page, server.address)
    page.keyboard.press("u")
    expect(page.get_by_text("Nothing to undo.")).to_be_visible()
    page.locator("#pair-note").fill("why")
    page.locator("#pair-note").press("Enter")
    page.locator(".review-keep").click()
    expect(progress).to_have_text("1 of 12 reviewed")
    expect(pair(page)).to_have_attribute("data-key", "twelve:1")
    page.keyboard.press("k")
    expect(pair(page)).to_have_attribute("data-key", "twelve:0")
    expect(page.locator(".review-keep")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("2")
    expect(verdict_of(page, "drop")).to_have_text("1 drop")
    page.keyboard.press("u")
    expect(verdict_of(page, "keep")).to_have_text("1 keep")
    page.keyboard.press("u")
    expect(progress).to_have_text("0 of 12 reviewed")
    expect(page.locator("#pair-note")).to_have_value("why")


def test_a_reload_keeps_marks_though_nothing_reaches_the_server(
    server: Server, leaving: Page
) -> None:
    progress = begin(leaving, server.address)
    press_at_once(leaving, "123")
    expect(pair(leaving)).to_have_attribute("data-key", "twelve:3")
    leaving.route("**/component_server*", lambda _: None)
    press_at_once(leaving, "nn12u1")
    expect(progress).to_have_text("5 of 12 reviewed")
    leaving.unroute("**/component_server*")
    leaving.reload()
    expect(progress).to_have_text("5 of 12 reviewed")
    assert numbers_of(leaving) == ["0", "1", "2", "5", "6"]


def test_the_link_of_a_review_is_to_the_pair_on_screen(server: Server, page: Page) -> None:
    begin(page, server.address)
    page.keyboard.press("1")
    expect(pair(page)).to_have_attribute("data-key", "twelve:1")
    page.wait_for_url("**/*pair=twelve:1*panel=review*")
    other = page.context.new_page()
    open_app(other, copied_link(page, "pairs"))
    expect(pair(other)).to_have_attribute("data-key", "twelve:1")
    other.close()
    open_panel(page, "List")
    expect(pair(page)).to_have_attribute("data-key", "twelve:1")


def test_a_note_is_kept_when_its_field_is_left_and_when_the_page_is(
    server: Server, leaving: Page
) -> None:
    begin(leaving, server.address)
    note = leaving.locator("#pair-note")
    note.fill("of the first")
    leaving.locator(".reader-next:visible").click()
    expect(pair(leaving)).to_have_attribute("data-key", "twelve:1")
    expect(note).to_have_value("")
    note.fill("of the second")
    leaving.reload()
    expect(note).to_have_value("of the second")
    leaving.locator(".reader-previous:visible").click()
    expect(note).to_have_value("of the first")
    press_at_once(leaving, "11")
    expect(pair(leaving)).to_have_attribute("data-key", "twelve:2")
    assert [each["note"] for each in marks_of(leaving)] == ["of the first", "of the second"]
    note.fill("of the third")
    leaving.go_back()
    expect(pair(leaving)).to_have_attribute("data-key", "twelve:0")
    expect(note).to_have_value("of the first")
    leaving.go_forward()
    expect(note).to_have_value("of the third")


def test_two_tabs_of_one_browser_see_each_others_marks(server: Server, page: Page) -> None:
    progress = begin(page, server.address)
    other = page.context.new_page()
    in_other = begin(other, server.address)
    press_at_once(page, "11")
    expect(in_other).to_have_text("2 of 12 reviewed")
    press_at_once(other, "nn33")
    expect(progress).to_have_text("4 of 12 reviewed")
    press_at_once(page, "2")
    expect(progress).to_have_text("5 of 12 reviewed")
    other.close()


def test_marks_go_to_a_colleague_and_come_back(
    server: Server, page: Page, browser: Browser, tmp_path: Path
) -> None:
    begin(page, server.address)
    page.locator("#pair-note").fill("seen by me")
    page.locator("#pair-note").blur()
    press_at_once(page, "1122")
    mine = marks_of(page)
    elsewhere = {**mine[0], "key": "gone:1", "text_hash": 16 * "0"}
    file = tmp_path / "marks.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in [*mine, elsewhere]))
    with watched_page(browser) as colleague:
        progress = begin(colleague, server.address)
        colleague.locator("[data-read=resume]").set_input_files(file)
        expect(progress).to_have_text("4 of 12 reviewed")
        expect(colleague.get_by_text("1 left out")).to_be_visible()
        expect(pair(colleague)).to_have_attribute("data-key", "twelve:4")
        assert marks_of(colleague) == mine
    theirs = [{**each, "verdict": "keep", "note": "fine"} for each in mine]
    file.write_text("".join(json.dumps(each) + "\n" for each in theirs))
    page.locator("[data-read=compare]").set_input_files(file)
    expect(page.locator(".agreement")).to_contain_text("You agree on 50.0 %")
    expect(page.locator(".agreement")).to_contain_text("kappa is 0.00")
    verdict_of(page, "differing").click()
    page.locator(".review-keys a").first.click()
    expect(pair(page)).to_have_attribute("data-key", "twelve:2")
    expect(page.locator(".colleague")).to_have_text("Colleague: keep (fine)")
    file.write_text('{"verdict": "maybe"}')
    page.locator("[data-read=resume]").set_input_files(file)
    expect(page.locator(".review-told")).to_contain_text("marks.jsonl, line 1: source and key")
    file.write_text(json.dumps(elsewhere))
    page.locator("[data-read=resume]").set_input_files(file)
    expect(page.locator(".review-told")).to_contain_text("No mark in this file (of 1)")


def test_kept_pairs_are_a_file(server: Server, page: Page) -> None:
    begin(page, server.address)
    press_at_once(page, "1212")
    expect(verdict_of(page, "drop")).to_have_text("2 drop")
    page.get_by_role("button", name="Files", exact=True).click()
    page.get_by_label("unmarked").check()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export pairs (Parquet)").click()
    assert download.value.suggested_filename == "twelve-10-pairs.parquet"


def test_where_a_browser_keeps_nothing_more_the_page_says_so_and_offers_the_file(
    server: Server, page: Page
) -> None:
    progress = begin(page, server.address)
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full') } }")
    press_at_once(page, "12")
    expect(progress).to_have_text("2 of 12 reviewed")
    expect(page.get_by_text("This browser cannot keep your marks")).to_be_visible()
    assert numbers_of(page) == ["0", "1"]


def test_reviews_of_an_earlier_version_are_taken_over_once(server: Server, page: Page) -> None:
    progress = begin(page, server.address)
    press_at_once(page, "12")
    [first, second] = marks_of(page)
    review = {
        "version": 1,
        "source": first["source"],
        "subset": "*",
        "start": 0,
        "decisions": [
            [first["key"], first["text_hash"], "unsure", "of then", 5],
            [second["key"], second["text_hash"], "keep", "", 6],
        ],
        "notes": [["twelve:4", "unmarked"]],
    }
    others = json.dumps({**review, "source": "another"})
    page.evaluate(
        "(all) => { localStorage.clear();"
        " localStorage.setItem('rewardbench-explorer-reviews', JSON.stringify(all)); }",
        [json.dumps(review), others],
    )
    page.reload()
    expect(progress).to_have_text("2 of 12 reviewed")
    made = marks_of(page)
    assert [each["verdict"] for each in made] == ["unsure", "keep"]
    assert [each["note"] for each in made] == ["of then", ""]
    assert made[0]["at"] == "1970-01-01T00:00:05Z"
    press_at_once(page, "n")
    expect(pair(page)).not_to_have_attribute("data-key", "twelve:0")
    open_app(page, f"{server.address}/?panel=review&pair=twelve:4")
    expect(page.locator("#pair-note")).to_have_value("unmarked")
    page.keyboard.press("u")
    expect(progress).to_have_text("1 of 12 reviewed")
    page.reload()
    expect(progress).to_have_text("1 of 12 reviewed")
    [left] = page.evaluate("JSON.parse(localStorage['rewardbench-explorer-reviews'])")
    assert json.loads(left) == json.loads(others)
