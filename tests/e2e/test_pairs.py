"""The Pairs tab in a real browser: finding, reading, lengths, files, review, other pairs."""

import csv
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import (
    begin_review,
    copied_link,
    facet,
    in_view,
    marks_of,
    open_app,
    open_chooser,
    open_panel,
    open_tab,
    pair,
    picture,
    press_mark,
    reload,
    watched_page,
)
from tests.e2e.files import BEST_OF, MULTI_TURN, TIES, write_jsonl

pytestmark = pytest.mark.e2e

EIGHT = "8 of 2,985 pairs"
FIND_EIGHT = "?subset=hep-rust&longer=rejected&q=unwrap"


def count(page: Page) -> Locator:
    return page.locator(".count")


def chips(page: Page) -> Locator:
    return page.locator(".chip.removable")


def position(page: Page) -> Locator:
    return page.locator(".position:visible")


def test_eight_pairs_are_found_read_and_sent_to_a_colleague(
    real_app: str, page: Page, browser: Browser
) -> None:
    open_app(page, real_app)
    facet(page, "subset", "hep-rust").click()
    expect(count(page)).to_have_text("164 of 2,985 pairs")
    facet(page, "longer", "rejected").click()
    page.locator("body").press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("unwrap")
    expect(count(page)).to_have_text(EIGHT)
    expect(chips(page)).to_have_count(3)
    page.locator("#search").blur()

    expect(page.locator(".list tbody tr")).to_have_count(8)
    expect(page.locator(".list tbody tr").first.locator("mark").first).to_have_text("unwrap")
    expect(pair(page)).to_have_attribute("data-key", "hep-rust:4415")
    expect(pair(page).locator(".chosen mark").first).to_have_text("unwrap")
    expect(pair(page).locator(".rejected del")).to_have_text("-1")
    expect(pair(page).locator(".chosen ins")).to_have_count(0)

    expect(position(page)).to_have_text("1 of 8")
    page.locator("body").press("j")
    expect(position(page)).to_have_text("2 of 8")
    page.locator("body").press("k")
    expect(position(page)).to_have_text("1 of 8")
    page.locator("body").press("k")
    expect(position(page)).to_have_text("8 of 8")
    page.locator("body").press("r")
    expect(position(page)).not_to_have_text("8 of 8")
    page.locator("body").press("?")
    expect(page.locator("#help")).to_contain_text("Next or previous pair")
    page.locator("body").press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.get_by_role("group", name="Differences").get_by_text("Off").click()
    expect(pair(page).locator("del, ins")).to_have_count(0)

    with watched_page(browser) as other:
        open_app(other, copied_link(page, "pairs"))
        expect(count(other)).to_have_text(EIGHT)
        expect(other.locator("#search")).to_have_value("unwrap")
        expect(facet(other, "subset", "hep-rust")).to_be_checked()
        for seen in (".chip.removable", ".position", ".pair .key", ".list tbody tr"):
            here, there = (each.locator(seen).all_text_contents()[:25] for each in (page, other))
            assert there == here
        expect(pair(other).locator("del, ins")).to_have_count(0)

    chips(page).filter(has_text="Longer response").click()
    expect(chips(page)).to_have_count(2)
    expect(facet(page, "longer", "rejected")).not_to_be_checked()
    chips(page).filter(has_text="unwrap").click()
    expect(count(page)).to_have_text("164 of 2,985 pairs")
    expect(page.locator("#search")).to_have_value("")
    page.get_by_role("link", name="Reset", exact=True).click()
    expect(count(page)).to_have_text("2,985 of 2,985 pairs")
    expect(page.locator(".chip.reset")).to_have_count(0)
    picture(page, "found")


def test_lengths_are_measured_and_become_filters(real_app: str, page: Page) -> None:
    open_app(page, real_app)
    open_panel(page, "Lengths")
    bars = page.locator(".lengths-plot .bars .point")
    expect(bars.nth(20)).to_be_attached()
    expect(page.locator("table.stats tbody tr")).to_have_count(23 + 4)
    expect(page.locator("table.stats tfoot")).to_contain_text("2,985")

    press_mark(page, bars.nth(4))
    expect(chips(page)).to_have_text(re.compile(r"chosen − rejected characters"))
    clicked = in_view(page)
    assert 0 < clicked < 2985
    expect(page.locator("table.stats tfoot")).to_contain_text(f"{clicked:,}")
    expect(bars.nth(20)).to_be_attached()

    plot = page.locator(".lengths-plot .nsewdrag").first.bounding_box()
    assert plot is not None
    page.mouse.move(plot["x"] + 0.1 * plot["width"], plot["y"] + 90)
    page.mouse.down()
    page.mouse.move(plot["x"] + 0.6 * plot["width"], plot["y"] + 110, steps=4)
    page.mouse.up()
    expect(chips(page)).to_have_count(3)
    expect(chips(page).filter(has_text="rejected characters")).to_have_count(2)
    assert in_view(page) != clicked
    page.get_by_role("link", name="Reset", exact=True).click()
    expect(chips(page)).to_have_count(0)

    page.get_by_role("link", name="Tokens", exact=True).click()
    expect(page.locator("#tokens-status")).to_contain_text("Token counts need a tokenizer.")
    page.get_by_label("Tokenizer").fill("demo")
    page.locator("#count-tokens").click()
    expect(page.locator("#tokens-status")).to_contain_text("Counted by demo")
    expect(page.locator("table.stats caption")).to_contain_text("in tokens")
    expect(bars.nth(20)).to_be_attached()
    page.get_by_role("checkbox", name="By subset").click()
    expect(page.locator(".lengths-plot .annotation")).to_have_count(23)
    expect(page.locator(".lengths-plot .scatterlayer .trace")).to_have_count(23)
    picture(page, "lengths")

    page.get_by_label("Measure").select_option("Paper's figure")
    page.locator("#paper-lengths").click()
    page.get_by_role("checkbox", name="More columns").click()
    expect(page.locator("table.stats caption")).to_contain_text("prompt and response in tokens")
    expect(page.locator(".lengths-plot .scatterlayer .point")).to_have_count(46)
    for form, begins in (("png", b"\x89PNG"), ("svg", b"<svg")):
        with page.expect_download() as download:
            page.locator(f"[data-picture={form}]").click()
        assert download.value.suggested_filename == f"lengths.{form}"
        assert Path(download.value.path()).read_bytes().startswith(begins)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy table").click()
    expect(page.locator("[data-copy='table.stats']")).to_have_text("Copied")
    copied = str(page.evaluate("navigator.clipboard.readText()")).splitlines()
    lines = [line.split("\t") for line in copied]
    assert {len(line) for line in lines} == {14} and len(lines) == 2 + 23 + 1
    assert lines[0][2] == "Chosen" and lines[1][2] == "Mean" and lines[-1][1] == "2,985"
    picture(page, "lengths-paper")


def test_what_is_filtered_downloads_in_three_formats(
    real_app: str, page: Page, tmp_path: Path
) -> None:
    open_app(page, f"{real_app}/{FIND_EIGHT}&panel=export")
    expect(count(page)).to_have_text(EIGHT)
    expect(page.locator("#snippet")).to_contain_text("assert len(pairs) == 8")
    expect(page.locator("#snippet")).to_contain_text("# - Subset: hep-rust")
    paths = {}
    for form in ("csv", "parquet", "jsonl"):
        with page.expect_download() as download:  # one click is enough
            page.locator(f"#export-{form}").click()
        paths[form] = tmp_path / download.value.suggested_filename
        download.value.save_as(paths[form])
    with paths["csv"].open(encoding="utf-8-sig", newline="") as file:
        from_csv = list(csv.DictReader(file))
    from_parquet = pq.read_table(paths["parquet"]).to_pylist()
    lines = paths["jsonl"].read_text(encoding="utf-8").splitlines()
    assert [row["id"] for row in from_csv] == [str(row["id"]) for row in from_parquet]
    assert len(from_csv) == len(lines) == 8
    assert {row["subset"] for row in from_parquet} == {"hep-rust"}
    assert all(len(row["rejected"]) > len(row["chosen"]) for row in from_parquet)
    assert "unwrap" in json.dumps(json.loads(lines[0]))


def test_a_review_goes_on_after_a_reload(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    progress = begin_review(page)
    expect(progress).to_have_text("0 of 188 reviewed")
    first = pair(page).get_attribute("data-key")
    for key, words in (("1", "1 keep"), ("2", "1 drop"), ("3", "1 unsure")):
        page.locator("body").press(key)
        expect(page.locator(".review-count", has_text=words)).to_be_visible()
    expect(progress).to_have_text("3 of 188 reviewed")
    page.locator("body").press("u")
    expect(progress).to_have_text("2 of 188 reviewed")
    facet(page, "longer", "rejected").click()
    expect(progress).not_to_contain_text("of 188")
    # The review follows the filter.
    expect(progress).to_contain_text(f" of {in_view(page)} reviewed")
    filtered = progress.inner_text()

    reload(page)
    expect(progress).to_have_text(filtered)
    marks = marks_of(page)
    assert [row["verdict"] for row in marks] == ["keep", "drop"]
    assert marks[0]["key"] == first
    picture(page, "review")


def test_other_pairs_are_opened_and_failures_change_nothing(
    real_app: str, page: Page, tmp_path: Path
) -> None:
    open_app(page, f"{real_app}/?subset=hep-rust")
    source = page.locator("#dataset-caption")
    open_chooser(page)
    page.locator("#offer input[value=demo]").check()
    expect(source).to_contain_text("Demo pairs")
    expect(count(page)).to_have_text("188 of 188 pairs")
    expect(chips(page)).to_have_count(0)

    open_chooser(page)
    page.locator("#wanted").fill("no-one/no-such-dataset")
    page.locator("#open-wanted").click()
    told = page.locator("#chooser-status")
    expect(told).to_contain_text("no-one/no-such-dataset")
    expect(told).to_contain_text("Upload a file of pairs")
    expect(count(page)).to_have_text("188 of 188 pairs")
    expect(source).to_contain_text("Demo pairs")

    upload = page.locator("#dataset input[type=file]")
    upload.set_input_files(write_jsonl(tmp_path / "best-of.jsonl", [BEST_OF, TIES]))
    expect(source).to_contain_text("best-of.jsonl · 2 pairs")
    answers = pair(page).locator("section:not(.prompt)")
    expect(answers).to_have_count(4)
    for words in ("Fifty-six.", "Fifty-four.", "Sixty-three.", "It depends.", "wrong-c"):
        expect(pair(page)).to_contain_text(words)
    page.locator("body").press("j")
    expect(answers).to_have_count(5)
    expect(answers.nth(2)).to_contain_text("Chosen 2")
    expect(pair(page)).to_contain_text("Violet.")

    open_chooser(page)
    upload.set_input_files(write_jsonl(tmp_path / "turns.jsonl", [MULTI_TURN]))
    expect(source).to_contain_text("turns.jsonl · 1 pair")
    turns = pair(page).locator(".turn")
    expect(turns).to_have_count(4)
    expect(turns.nth(2)).to_have_text("AssistantParis.")

    columns = tmp_path / "swapped.csv"
    columns.write_text("rejected,extra,chosen,question\nworse,x,better,Which?\n")
    open_chooser(page)
    upload.set_input_files(columns)
    expect(source).to_contain_text("swapped.csv · 1 pair")
    expect(pair(page).locator(".prompt .body")).to_have_text("Which?")
    expect(pair(page).locator(".chosen .body")).to_have_text("better")
    expect(pair(page).locator(".rejected .body")).to_have_text("worse")

    nothing = tmp_path / "nothing.csv"
    nothing.write_text("a,b\n1,2\n")
    open_chooser(page)
    upload.set_input_files(nothing)
    expect(told).to_contain_text("nothing.csv")
    expect(source).to_contain_text("swapped.csv · 1 pair")


def test_the_keyboard_is_enough_and_the_warning_is_remembered(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    first = pair(page).get_attribute("data-key") or ""
    box = facet(page, "section", "Safety")
    page.get_by_role("tab", name="Try").focus()
    for _ in range(100):
        page.keyboard.press("Tab")
        if box.evaluate("box => box === document.activeElement"):
            break
    expect(box).to_be_focused()
    page.keyboard.press("Space")
    expect(chips(page)).to_have_text(re.compile("Section: Safety"))
    expect(box).to_be_checked()
    expect(box).to_be_focused()
    page.keyboard.press("j")
    expect(position(page)).to_contain_text("2 of")

    body = pair(page).locator(".chosen .body")
    expect(body).to_have_css("visibility", "hidden")
    warning = pair(page).locator(".warning")
    expect(warning).to_be_visible()
    hidden = page.locator(".list .may-harm .words").first
    expect(hidden).to_have_css("color", "rgba(0, 0, 0, 0)")
    hides = page.locator("#help .hide-harm")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    expect(hides).to_be_hidden()
    page.keyboard.press("?")
    warning.get_by_role("button", name="Always show").focus()
    page.keyboard.press("Enter")
    expect(body).to_have_css("visibility", "visible")
    page.keyboard.press("?")
    expect(hides).to_be_visible()
    expect(warning).to_be_hidden()
    page.keyboard.press("Escape")
    page.locator("#theme-button").press("Enter")
    dark = page.locator("body.dark")
    expect(dark).to_have_count(1)
    reload(page)
    expect(dark).to_have_count(1)
    expect(chips(page)).to_have_text(re.compile("Section: Safety"))
    expect(pair(page).locator(".chosen .body")).to_have_css("visibility", "visible")
    expect(hidden).not_to_have_css("color", "rgba(0, 0, 0, 0)")
    page.locator("body").press("?")
    hides.press("Enter")
    page.keyboard.press("Escape")
    expect(pair(page).locator(".chosen .body")).to_have_css("visibility", "hidden")

    page.get_by_label("Go to pair").fill(first)
    page.keyboard.press("Enter")
    expect(pair(page)).to_have_attribute("data-key", first)
    expect(position(page)).to_contain_text("outside the filter")


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
        page.get_by_role("button", name="Dataset, theme and help").click()
        page.get_by_role("link", name="About the data").click()
        expect(page.locator(".data-card")).to_be_visible()
        open_tab(page, "Pairs")
        expect(page.get_by_test_id("pair-row").first).to_be_visible()


def test_a_list_is_a_table_on_a_narrow_screen(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    page.set_viewport_size({"width": 600, "height": 900})
    expect(page.locator(".list td").first).to_have_css("display", re.compile("block"))
    expect(page.locator(".list").get_by_role("row")).to_have_count(51)
    expect(page.locator(".list").get_by_role("rowheader")).to_have_count(50)
    expect(page.locator(".list").get_by_role("cell").first).to_be_visible()
