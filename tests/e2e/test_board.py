"""The Models tab in a real browser: measured, sorted, searched, pinned, sent on."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.conftest import (
    copied_link,
    open_app,
    press_mark,
    save_picture,
    serving,
    violations,
    watched_page,
)
from tests.support.board_data import coin_flips, write_results
from tests.support.boards import HOSTILE

pytestmark = pytest.mark.e2e

SHARES = {
    "org/Llama-3-70b": 0.97, "org/llama-2-13b": 0.9, "org/gemma-8b": 0.8, "org/gemma-2b": 0.7,
    "org/phi": 0.6, "org/qwen-1.5b": 0.5, "org/coin": 0.4, **dict.fromkeys(HOSTILE, 0.2),
}  # fmt: skip
N = len(SHARES)
ALL_ANSWERED = "[...document.querySelectorAll('.relayed')].every((part) => !part.explorerSent)"


@pytest.fixture(scope="module")
def board_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app with a small folder of results."""
    home = tmp_path_factory.mktemp("board")
    flips = {model: coin_flips(share, 80, at) for at, (model, share) in enumerate(SHARES.items())}
    results = write_results(home / "results", flips)
    with serving(home, EXPLORER_RESULTS=str(results)) as address:
        yield f"{address}/?tab=models"


@pytest.fixture(scope="module")
def real_board(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> Iterator[str]:
    """The same with the results of the real models."""
    pairs = str(shared_data / "reward-bench" / "filtered.parquet")
    results = str(shared_data / "reward-bench-results")
    home = tmp_path_factory.mktemp("real")
    with serving(home, EXPLORER_PAIRS=pairs, EXPLORER_RESULTS=results) as address:
        yield f"{address}/?tab=models"


def rows(page: Page) -> Locator:
    return page.get_by_test_id("board-row")


def models(page: Page) -> list[str]:
    names = page.locator("#models-table tbody th.model .name")
    return [str(each.get_attribute("title")) for each in names.all()]


def heading(page: Page, name: str) -> Locator:
    """The heading of a column, by which it is sorted."""
    return page.locator(
        "#models-table thead th", has=page.get_by_role("link", name=re.compile(f"^{name} .$"))
    )


def column(page: Page, name: str) -> list[float]:
    """The numbers of a column, from above to below."""
    names = page.locator("#models-table thead th").all_inner_texts()
    place = next(at for at, words in enumerate(names) if words.rsplit(" ", 1)[0] == name)
    numbers = page.locator(f"#models-table tbody tr > :nth-child({place + 1})")
    return [float(each) for each in numbers.all_inner_texts()]


def groups(page: Page) -> list[str]:
    return page.locator("#models-table td.group").all_inner_texts()


def count(page: Page) -> Locator:
    return page.locator("#models .count")


def search(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search models")


def are_measured(page: Page) -> None:
    """Ranks and ties come by themselves."""
    expect(page.locator("#models-table td.group").first).to_be_attached()
    expect(page.locator("#measure")).to_be_hidden()
    expect(page.locator("#measure-status")).to_be_empty()


def test_a_chooser_measures_sorts_searches_pins_and_sends_the_link(
    board_app: str, page: Page, browser: Browser
) -> None:
    open_app(page, board_app)
    expect(count(page)).to_have_text(f"{N} models")
    are_measured(page)
    numbers = [int(each) for each in groups(page)]
    assert numbers[0] == 1 and numbers == sorted(numbers) and len(numbers) == N

    heading(page, "Chat").get_by_role("link").click()
    expect(heading(page, "Chat")).to_have_attribute("aria-sort", "descending")
    assert column(page, "Chat") == sorted(column(page, "Chat"), reverse=True)
    heading(page, "Chat").get_by_role("link").click()
    expect(heading(page, "Chat")).to_have_attribute("aria-sort", "ascending")
    assert column(page, "Chat") == sorted(column(page, "Chat"))

    search(page).press_sequentially("llama,8b", delay=20)
    expect(count(page)).to_have_text(f"3 of {N} models")
    expect(search(page)).to_have_value("llama,8b")
    expect(rows(page).filter(has_text="gemma-8b")).to_have_count(1)
    assert set(models(page)) == {"org/Llama-3-70b", "org/llama-2-13b", "org/gemma-8b"}

    page.get_by_role("link", name="Pin org/llama-2-13b on top").click()
    expect(rows(page).first).to_have_class("pinned")
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("group", name="Scores by").get_by_text("Subset").click()
    expect(page.locator("#models-table thead")).to_contain_text("mt-bench-easy")
    search(page).fill("qwen")
    expect(count(page)).to_have_text(f"2 of {N} models")
    assert models(page) == ["org/llama-2-13b", "org/qwen-1.5b"]
    page.get_by_role("checkbox", name="Include prior sets").click()
    expect(page).to_have_url(re.compile("prior=1"))

    page.get_by_role("button", name="Export").click()
    with watched_page(browser) as other:
        open_app(other, copied_link(page, "models"))
        expect(count(other)).to_have_text(f"2 of {N} models")
        expect(search(other)).to_have_value("qwen")
        expect(other.locator("#models .tick", has_text="prior sets")).to_have_attribute(
            "aria-checked", "true"
        )
        for seen in ("#models-table thead th", "#models-table tbody tr"):
            assert other.locator(seen).all_inner_texts() == page.locator(seen).all_inner_texts()

    page.get_by_role("button", name="Columns").click()
    page.locator("#models").get_by_role("link", name="Reset", exact=True).click()
    expect(count(page)).to_have_text(f"{N} models")
    expect(search(page)).to_have_value("")
    expect(page.locator("#models .tick", has_text="prior sets")).to_have_attribute(
        "aria-checked", "false"
    )
    assert models(page)[0] == "org/llama-2-13b"


def test_hostile_names_and_searches_do_nothing_and_rows_become_a_file(
    board_app: str, page: Page
) -> None:
    open_app(page, board_app)
    names = page.locator("#models-table tbody th.model bdi")
    expect(names.first).to_be_visible()
    assert set(HOSTILE) <= set(names.evaluate_all("all => all.map((each) => each.textContent)"))
    page.get_by_role("link", name=f"Pin {HOSTILE[0]} on top", exact=True).click()
    expect(names.first).to_have_text(HOSTILE[0])
    rows(page).first.locator("td.score").click()
    drawer = page.get_by_test_id("drawer")
    expect(drawer.locator("h2")).to_have_text(HOSTILE[0])
    expect(drawer).to_contain_text("donotanswer")
    assert not page.locator("#models-table, #drawer").locator("script, img").count()
    drawer.get_by_role("link", name="Close").click()
    expect(drawer).to_have_count(0)
    page.get_by_role("link", name="Charts").click()
    page.get_by_role("link", name="Trade-off").click()
    press_mark(page, page.locator(".models-plot .scatterlayer .point").first)
    expect(drawer).to_be_visible()
    drawer.get_by_role("link", name="Close").click()
    expect(drawer).to_have_count(0)

    search(page).fill("gemma")
    expect(rows(page)).to_have_count(3)
    search(page).fill("gemma(")
    expect(page.locator("#models-notes .note")).to_contain_text("Invalid regex 'gemma('")
    expect(search(page)).to_have_value("gemma(")
    search(page).fill("gemma")
    expect(rows(page)).to_have_count(3)

    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:  # one click is enough
        page.get_by_role("link", name="CSV", exact=True).locator("visible=true").click()
    with download.value.path().open(encoding="utf-8-sig", newline="") as file:
        assert [row["model"] for row in csv.DictReader(file)] == models(page)


def test_axe_finds_nothing_and_models_stay_in_view(board_app: str, page: Page) -> None:
    open_app(page, f"{board_app}&table=subsets&pin=org/phi&by=-score&digits=2")
    are_measured(page)
    for width in (1500, 390):
        page.set_viewport_size({"width": width, "height": 950})
        _scrolls_beside_its_models(page)
    page.locator("#models-table td.score").first.click()
    expect(page.get_by_test_id("drawer")).to_be_visible()
    page.get_by_role("button", name="Options").click()
    page.get_by_role("button", name="Columns").click()
    assert violations(page, "board") == []


def _scrolls_beside_its_models(page: Page) -> None:
    board, model = (
        page.locator("#models-table .board"),
        page.locator("#models-table tbody th.model").first,
    )
    board.evaluate("board => { board.scrollLeft = 400; }")
    assert board.evaluate("board => board.scrollLeft") == 400
    around, name = board.bounding_box(), model.bounding_box()
    assert around is not None and name is not None
    assert around["x"] <= name["x"] < around["x"] + 5
    assert name["width"] < around["width"] / 2


def test_the_real_models_are_measured_without_a_press_opened_and_compared(
    real_board: str, page: Page, browser: Browser
) -> None:
    page.set_viewport_size({"width": 1366, "height": 768})
    open_app(page, real_board)
    expect(rows(page)).to_have_count(66)
    are_measured(page)
    expect(page.locator("#models-table thead")).to_contain_text("Tie group")
    expect(page.locator("#models-table td.group")).to_have_count(66)
    sizes = Counter(groups(page))
    assert [sizes[str(number)] for number in range(1, 6)] == [4, 3, 3, 2, 14]
    save_picture(page, "board-real")
    box = page.get_by_test_id("board-row").nth(15).bounding_box()
    assert box is not None and box["y"] + box["height"] <= 768, "16 rows on a small screen"
    first = page.get_by_test_id("board-row").first.bounding_box()
    assert first is not None and first["y"] < 48 + 86 + 5

    page.get_by_test_id("board-row").nth(1).locator("td.score").click()
    drawer = page.get_by_test_id("drawer")
    expect(drawer).to_contain_text("Open its 178 failures")
    expect(drawer).to_contain_text("−0.3 points where the chosen response is longer")
    with watched_page(browser) as other:
        open_app(other, page.url)
        expect(other.get_by_test_id("drawer")).to_contain_text("2 of 66")
    page.get_by_role("checkbox", name="Compare nicolinho/QRM-Gemma-2-27B with").click()
    page.get_by_role("checkbox", name="Compare Skywork/Skywork-Reward-Llama-3.1-8B with").click()
    expect(page.get_by_test_id("compare-cell").first).to_be_visible()
    expect(page).to_have_url(re.compile("a=nicolinho/QRM-Gemma-2-27B&b=Skywork/"))
    expect(page.locator("#models-table")).to_contain_text("the two are in one tie group")

    page.get_by_test_id("compare-cell").nth(1).get_by_role("link").click()
    expect(page).to_have_url(re.compile("cell=only_a"))
    page.wait_for_function(ALL_ANSWERED)
    page.go_back()
    page.go_back()  # before the comparison is there again
    expect(page.get_by_role("checkbox", name="Compare nicolinho/QRM-Gemma-2-27B")).to_be_checked()
    page.wait_for_function(ALL_ANSWERED)
    page.go_forward()
    expect(page.get_by_test_id("compare-cell").first).to_be_visible()
    for width in (1280, 1024):
        page.set_viewport_size({"width": width, "height": 768})
        expect(page.locator(".short-board")).to_be_visible()
        wins = page.get_by_role("link", name="B alone wins").bounding_box()
        assert wins is not None and wins["y"] < 400
