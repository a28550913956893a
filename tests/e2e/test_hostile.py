"""Text that attacks the page, or breaks its layout, in every field a file has."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Serve, open_app, open_tab, picture

pytestmark = pytest.mark.e2e

ATTACKS = {
    "tag": '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>',
    "template": "${window.hacked = 1} {{constructor}} `${alert(1)}`",
    "markdown": "![x](http://example.org/a.png) [y](javascript:window.hacked=1) <b>bold</b>",
    "latex": r"$$\frac{1}{2}$$ \(x\) $\href{javascript:window.hacked=1}{z}$",
    "right-to-left": "שלום עולם \u202e dlrow olleh مرحبا",
    "combining": "z" + "\u0300\u0301\u0302" * 200,
    "quotes": "\"'><svg onload=window.hacked=1>&lt;&amp;",
    "null": "before\x00after",
}


def _hostile_file(folder: Path) -> Path:
    rows = [
        {
            "id": f"{name} {attack}",
            "subset": f"hep-{attack}" if name == "tag" else attack,
            "prompt": attack,
            "chosen": f"chosen {attack}",
            "rejected": f"rejected {attack}",
            "chosen_model": attack,
            "rejected_model": attack,
        }
        for name, attack in ATTACKS.items()
    ]
    rows.append(
        {"id": "1", "subset": "empty", "prompt": "Say nothing.", "chosen": "", "rejected": "x"}
    )
    long = "many words " * 9_100
    rows.append(
        {"id": "2", "subset": "long", "prompt": long, "chosen": long, "rejected": long + "!"}
    )
    path = folder / "hostile.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_hostile_text_is_shown_as_it_is_and_scored(
    serve: Serve, page: Page, tmp_path: Path
) -> None:
    open_app(page, serve(EXPLORER_PAIRS=str(_hostile_file(tmp_path))))
    for attack in ATTACKS.values():
        expect(page.locator(".pair .prompt .body")).to_have_text(
            attack.replace("\x00", ""), use_inner_text=False
        )
        page.locator(".reader-next").first.click()
        page.wait_for_timeout(300)
    expect(page.locator(".pair .chosen .body")).to_have_text("(empty)")
    page.locator(".reader-next").first.click()
    expect(page.get_by_text("too long to be compared")).to_be_visible()
    page.locator("#search input").fill("<script>")
    expect(page.locator(".count")).to_contain_text("1 of 10")
    picture(page, "hostile-browse")
    page.locator("#search input").fill("")
    open_tab(page, "Score")
    page.get_by_label("All that the Browse filter shows").check()
    expect(page.get_by_text("10 pairs selected")).to_be_visible()
    page.locator("#start").click()
    expect(page.locator(".status.finished")).to_be_visible(timeout=120_000)
    expect(page.locator(".card .detail", has_text="1 pairs had to be truncated")).to_be_visible()
    picture(page, "hostile-score")
    page.locator("#model input").fill(ATTACKS["tag"] + ATTACKS["markdown"])
    page.locator("#model input").press("Enter")
    page.locator("#start").click()
    expect(page.locator(".status.refused")).to_contain_text("<img src=x")
    expect(page.locator(".card").first).to_be_visible()
    page.get_by_label("Pairs per subset").fill("-3")
    page.get_by_label("A number from each subset").check()
    expect(page.get_by_text("must be a whole number")).to_be_visible()
    open_tab(page, "Failures")
    expect(page.locator("#failures .virtual-row").first).to_be_visible()
    open_tab(page, "Leaderboard")
    assert page.evaluate("window.hacked") is None


def test_nonsense_in_the_settings_still_opens_the_demo(serve: Serve, page: Page) -> None:
    address = serve(EXPLORER_PAIRS="nonsense <b>here</b>", EXPLORER_RESULTS="/no/such/folder")
    open_app(page, address)
    bar = page.locator(".sourcebar").first
    expect(bar).to_contain_text("Demo pairs: 188 pairs")
    expect(bar).to_contain_text("Not shown: EXPLORER_PAIRS=nonsense <b>here</b>")
    open_tab(page, "Leaderboard")
    expect(page.get_by_text("There is no folder /no/such/folder.")).to_be_visible()
