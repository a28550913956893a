"""The live scorer in a real browser: stopped, left, killed, gone on with; in turn; when sure."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.conftest import DEMO_PAIRS
from tests.e2e.conftest import (
    Serve,
    choose_model,
    open_app,
    open_panel,
    open_runs,
    open_tab,
    pair,
    picture,
    serving,
    wait_until_filled,
    watched_page,
)
from tests.e2e.files import write_jsonl

pytestmark = pytest.mark.e2e

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def long_pairs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten times the demo pairs: many packs."""
    rows = [json.loads(line) for line in DEMO_PAIRS.read_text(encoding="utf-8").splitlines()]
    copies = [{**row, "id": f"{copy}-{row['id']}"} for copy in range(10) for row in rows]
    return str(write_jsonl(tmp_path_factory.mktemp("pairs") / "long.jsonl", copies))


@pytest.fixture(scope="module")
def long_app(serve: Serve, long_pairs: str) -> str:
    return serve(is_slow=True, EXPLORER_PAIRS=long_pairs)


def score_all(page: Page) -> None:
    """Choose all pairs and press Score."""
    open_tab(page, "Score")
    page.get_by_label(re.compile("^All pairs")).check()
    expect(page.get_by_text("1,880 pairs selected")).to_be_visible()
    page.locator("#start").click()


def score_few(page: Page, per_subset: int = 1) -> None:
    open_tab(page, "Score")
    page.get_by_label("A sample of each subset").check()
    page.get_by_label("Pairs per subset").fill(str(per_subset))
    page.get_by_label("Pairs per subset").blur()
    expect(page.get_by_text(f"{23 * per_subset} pairs selected")).to_be_visible()
    page.locator("#start").click()


def test_before_a_run_the_model_says_what_it_takes(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    open_tab(page, "Score")
    card = page.locator("#model-card .model-card")
    expect(card).to_contain_text("classifier")
    expect(card).to_contain_text("3.8 million")
    expect(card).to_contain_text("free")
    picture(page, "score-before")
    page.locator("#model").fill("longer")
    page.keyboard.press("Tab")
    expect(card).to_contain_text("longer")


def test_the_pairs_to_score_are_named_in_the_head_when_the_page_is_loaded_anew(
    demo_app: str, page: Page, tmp_path: Path
) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [{"prompt": "p", "chosen": "c", "rejected": "r"}])
    open_app(page, demo_app)
    head = page.get_by_test_id("dataset-switcher")
    head.click()
    page.locator("#wanted").fill(str(file))
    page.locator("#open-wanted").click()
    expect(head).to_contain_text("mine.jsonl")
    open_tab(page, "Score")
    expect(page.locator("#which legend")).to_contain_text("mine.jsonl")
    page.reload()
    expect(head).to_contain_text("mine.jsonl")
    expect(page.locator("#which legend")).to_contain_text("mine.jsonl")


def test_a_pair_of_ones_own_is_typed_scored_and_read(demo_app: str, page: Page) -> None:
    open_app(page, demo_app)
    open_tab(page, "Score")
    choose_model(page, "longer")
    page.get_by_label("My own pair").check()
    page.locator("#own-prompt").fill("[system]\nBe kind.\n[user]\nHow are you?")
    expect(page.locator("#selected")).to_contain_text("The chosen response is empty")
    page.locator("#own-chosen").fill("Fine, thank you!")
    page.locator("#own-rejected").fill(f"Go away, {HOSTILE}, I have no time.")
    expect(page.locator("#selected")).to_contain_text("1 pair selected")
    page.locator("#start").click()
    expect(page.locator("h2.report").first).to_contain_text("a typed pair")
    expect(page.locator(".status.finished")).to_be_visible()
    page.locator("#score .inspect").click()
    expect(pair(page)).to_have_attribute("data-key", "typed:1")
    expect(pair(page)).to_contain_text("Be kind.")
    expect(pair(page).locator(".rejected .body")).to_contain_text(HOSTILE)


@pytest.mark.journey
def test_a_stopped_run_is_kept_shown_again_and_goes_on(long_app: str, page: Page) -> None:
    open_app(page, long_app)
    score_all(page)
    expect(page.locator(".status.running")).to_be_visible()
    expect(page.locator(".live-worst a").first).to_be_visible()
    picture(page, "score-running")
    page.set_viewport_size({"width": 390, "height": 844})
    for part in ("#model", "#latest-runs"):
        page.locator(part).scroll_into_view_if_needed()
        for seen in ("run-status", "score-start", "score-stop"):
            expect(page.get_by_test_id(seen).first).to_be_in_viewport(ratio=1)
    page.locator(".live-worst a").first.click()
    expect(page.get_by_test_id("reader-chosen")).to_be_in_viewport()
    page.go_back()
    page.set_viewport_size({"width": 1500, "height": 950})
    page.locator("#stop").click()
    expect(page.locator(".status.stopped")).to_contain_text("They are kept")
    expect(page.locator("#start")).to_be_enabled()
    expect(page.locator("#stop")).to_have_count(0)
    expect(page.locator("#published-check")).to_contain_text("published")
    page = page.context.new_page()
    open_app(page, long_app)
    open_tab(page, "Score")
    expect(page.locator(".status.stopped")).to_contain_text("They are kept")
    open_runs(page)
    page.locator("#runs-list .run-name").first.click()
    page.get_by_label("Run name").fill("half a run")
    page.get_by_label("Run name").press("Enter")
    expect(page.locator("#runs-list .run-name").first).to_have_text("half a run")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as taken:
        page.get_by_role("link", name="Pairs as CSV").click()
    assert taken.value.suggested_filename.endswith(".csv")
    expect(page.get_by_role("link", name="Pairs as CSV")).to_be_hidden()
    picture(page, "runs")
    page.get_by_role("button", name=re.compile("Resume")).click()
    expect(page.locator(".status.running")).to_be_visible()
    page.locator("#stop").click()
    expect(page.locator(".status.stopped")).to_be_visible()
    beside = page.get_by_test_id("run-row").first
    expect(beside).to_contain_text("of 1,880 · stopped")
    expect(beside.get_by_role("button")).to_have_text("Resume")
    page.locator(".status").get_by_role("button", name="Resume").click()
    expect(page.locator(".status.running")).to_be_visible()
    page.locator("#stop").click()
    expect(page.locator(".status.stopped")).to_be_visible()


def test_a_run_is_read_while_it_streams_in(long_app: str, page: Page) -> None:
    open_app(page, long_app)
    score_all(page)
    expect(page.locator(".status.running")).to_contain_text("pairs/s")
    page.locator("#score .inspect").click()
    scored = page.locator("#pairs .kinds a").last
    expect(scored).to_be_visible()
    worst = str(pair(page).get_attribute("data-key"))
    page.locator("#pairs .list tbody tr:not([aria-current])").first.click()
    expect(pair(page)).not_to_have_attribute("data-key", worst)
    key = str(pair(page).get_attribute("data-key"))
    before = scored.inner_text()
    expect(scored).not_to_have_text(before)
    open_tab(page, "Score")
    page.locator("#stop").click()
    expect(page.locator(".status.stopped")).to_be_visible()
    open_tab(page, "Pairs")
    expect(pair(page)).to_have_attribute("data-key", key)


def scored(page: Page) -> str:
    """How many pairs the report says are scored, which it must say that there are."""
    title = page.locator("h2.report").first
    expect(title).to_contain_text("of 1,880 pairs")
    return title.inner_text().split(" of 1,880 pairs")[0].split()[-1]


def opened_on_score(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    open_app(page, address)
    open_tab(page, "Score")
    return page


def test_a_run_goes_on_without_its_page_and_any_page_stops_it(long_app: str, leaving: Page) -> None:
    page, context = leaving, leaving.context
    open_app(page, long_app)
    score_all(page)
    expect(page.locator(".status.running")).to_be_visible()
    scored(page)
    page.reload()
    wait_until_filled(page)
    open_tab(page, "Score")
    expect(page.locator("#stop")).to_be_enabled()
    expect(page.locator("#start")).to_be_disabled()
    beside = opened_on_score(context, long_app)
    expect(beside.locator("#stop")).to_be_enabled()
    before = scored(beside)
    picture(beside, "score-second-page")
    for each in (page, beside):
        each.close()
    page, beside = (opened_on_score(context, long_app) for _ in range(2))
    expect(page.locator("h2.report").first).not_to_contain_text(f" {before} of 1,880 pairs")
    open_runs(beside)
    expect(beside.locator("#runs-list tbody tr").first).to_contain_text("running")
    beside.locator("#runs-list .run-name").first.click()
    beside.get_by_role("link", name="Watch live").click()
    beside.locator("#stop").click()
    for each in (page, beside):
        expect(each.locator(".status.stopped")).to_contain_text("They are kept")
        expect(each.locator("#start")).to_be_enabled()
    assert scored(page) == scored(beside) != before
    open_runs(beside)
    row = beside.locator("#runs-list tbody tr").first
    expect(row).to_contain_text(f"{scored(page)} / 1,880")
    expect(row).to_contain_text("stopped")
    row.locator(".run-name").click()
    beside.get_by_role("button", name=re.compile("Resume")).click()
    expect(beside.locator(".status.running")).to_be_visible()
    open_tab(page, "Pairs")
    open_tab(page, "Score")
    expect(page.locator(".status.running")).to_be_visible()
    picture(page, "score-rejoined")
    page.locator("#stop").click()
    for each in (page, beside):
        expect(each.locator(".status.stopped")).to_be_visible()


def test_a_run_of_a_killed_server_goes_on_at_the_next(
    long_pairs: str, tmp_path: Path, leaving: Page
) -> None:
    page = leaving
    with serving(tmp_path, is_slow=True, EXPLORER_PAIRS=long_pairs) as address:
        open_app(page, address)
        score_all(page)
        expect(page.locator(".status.running")).to_be_visible()
        [folder] = (tmp_path / "runs").iterdir()
        while not (folder / "rewards.jsonl").read_text():
            page.wait_for_timeout(100)  # a server that is ended keeps what was scored
    values = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**values, "status": "running"}))
    scored = len((folder / "rewards.jsonl").read_text().splitlines())
    with serving(tmp_path, is_slow=True, EXPLORER_PAIRS=long_pairs) as address:
        open_app(page, address)
        open_runs(page)
        expect(page.locator("#runs-list tbody tr")).to_contain_text("stopped")
        page.locator("#runs-list .run-name").click()
        page.get_by_role("button", name=re.compile("Resume")).click()
        expect(page.locator(".status.running")).to_be_visible()
        expect(page.locator(".status.running")).not_to_contain_text(f"{scored} of")
        page.locator("#stop").click()
        expect(page.locator(".status.stopped")).to_be_visible()
    assert len((folder / "rewards.jsonl").read_text().splitlines()) > scored > 0


def test_on_a_shared_server_people_wait_in_turn_and_see_their_own_runs(
    serve: Serve, long_pairs: str, browser: Browser, leaving: Page
) -> None:
    limits = {"EXPLORER_SECONDS_PER_HOUR": "none", "EXPLORER_MAX_PAIRS": "none"}
    address = serve(is_slow=True, EXPLORER_PUBLIC="1", EXPLORER_PAIRS=long_pairs, **limits)
    other = leaving
    with watched_page(browser) as one, watched_page(browser) as third:
        for page in (one, other, third):
            open_app(page, address)
        score_all(one)
        expect(one.locator("#stop")).to_be_enabled()
        score_few(other, 1)
        expect(other.locator(".status.waiting")).to_contain_text("1 ahead of you")
        score_few(third, 2)
        expect(third.locator(".status.waiting")).to_contain_text("2 ahead of you")
        other.reload()
        wait_until_filled(other)
        open_tab(other, "Score")
        expect(other.locator(".status.waiting")).to_contain_text("1 ahead of you")
        open_runs(other)
        expect(other.locator("#runs-list")).to_contain_text("Waiting: demo")
        expect(one.locator(".status.running")).to_be_visible()
        one.locator("#stop").click()
        expect(one.locator(".status.stopped")).to_be_visible()
        open_panel(other, "New run", part="score")
        for page in (other, third):
            expect(page.locator(".status.finished")).to_be_visible()
        for page, n in ((one, "1,880"), (other, "23"), (third, "46")):
            open_runs(page)
            expect(page.get_by_test_id("run-row")).to_have_count(1)
            expect(page.get_by_test_id("run-row")).to_contain_text(f"/ {n}")
        one.locator("#runs-list .run-name").first.click()
        one.get_by_label("Visible to everyone").check()
        open_runs(one)
        third.reload()
        open_runs(third)
        expect(third.get_by_test_id("run-row")).to_have_count(2)


def test_an_open_page_sees_the_run_that_another_begins(serve: Serve, leaving: Page) -> None:
    address = serve()
    one, other = (opened_on_score(leaving.context, address) for _ in range(2))
    expect(other.locator("#score")).to_contain_text("Score a reward model")
    score_few(one)
    expect(other.locator(".status.finished")).to_be_visible()
    expect(other.locator("h2.report").first).to_contain_text("23 of 23 pairs")


def test_a_link_to_the_runs_lists_ones_own_on_a_shared_server(serve: Serve, leaving: Page) -> None:
    address = serve(EXPLORER_PUBLIC="1")
    open_app(leaving, address)
    score_few(leaving)
    expect(leaving.locator(".status.finished")).to_be_visible()
    open_app(leaving, address)
    open_runs(leaving)
    leaving.locator("#runs-list .run-name").click()
    expect(leaving.locator("#run-export-csv")).to_contain_text("Pairs as CSV")
    leaving.goto(f"{address}?tab=score&panel=runs")
    expect(leaving.locator("#runs-list tbody tr")).to_contain_text("23 / 23")


def test_a_run_stops_when_it_is_sure(long_app: str, page: Page) -> None:
    open_app(page, long_app)
    open_tab(page, "Score")
    choose_model(page, "longer")
    page.get_by_label(re.compile("^All pairs")).check()
    page.get_by_label("Stop early").check()
    page.get_by_label("Interval width (points)").fill("30")
    page.get_by_label("Interval width (points)").blur()
    page.locator("#start").click()
    expect(page.locator(".status.stopped")).to_contain_text("Sure enough")
    expect(page.locator(".status.stopped")).to_contain_text("of 1,880")


def test_a_model_that_is_none_gives_one_message_and_keeps_the_page(
    demo_app: str, page: Page
) -> None:
    open_app(page, demo_app)
    score_few(page)
    expect(page.locator(".status.finished")).to_contain_text("23 of 23 pairs")
    choose_model(page, "deberta-v3-large-v2")
    expect(page.locator("#model-card")).to_contain_text(
        "OpenAssistant/reward-model-deberta-v3-large-v2 is not on this machine"
    )
    choose_model(page, "no-one/no-such-model")
    expect(page.locator("#model-card")).to_contain_text("is not on this machine")
    page.locator("#start").click()
    expect(page.locator(".status.refused")).to_contain_text("Change what is marked")
    expect(page.get_by_text("no-such-model is not on this machine")).to_have_count(1)
    expect(page.locator("h2.report")).to_contain_text("demo · 23 of 23 pairs")
    expect(page.get_by_text("Traceback")).to_have_count(0)
    expect(page.locator("#start")).to_be_enabled()
