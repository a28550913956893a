"""Stop, pressed in every phase of long work: it ends, and the next work goes on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.conftest import DEMO_MODEL
from tests.e2e.conftest import (
    Serve,
    choose_model,
    open_app,
    open_chooser,
    open_panel,
    open_tab,
    save_picture,
)
from tests.support.hub_server import HubServer, Repo

pytestmark = pytest.mark.e2e

FILES = {path.name: path.read_bytes() for path in DEMO_MODEL.iterdir()}
NEVER = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
TEMPLATE = (
    "{% for m in messages %}{% if 'whale' in m.content %}"
    + NEVER * 9
    + ("{% endif %}{{ m.content }}{% endfor %}")
)
"""It is rendered in no time, but for what tells of whales."""
ROWS = b'{"prompt": "Two and two?", "chosen": "It is 4.", "rejected": "It is 5."}\n' * 300_000


def with_files(folder: Path, more: dict[str, bytes]) -> str:
    """A folder of the demo model with other files."""
    folder.mkdir()
    for name, body in (FILES | more).items():
        (folder / name).write_bytes(body)
    return str(folder)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Models by the phase that takes them long."""
    home = tmp_path_factory.mktemp("models")
    tensor = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    tensors = json.dumps({f"t{n}": tensor for n in range(300_000)}).encode()
    many = len(tensors).to_bytes(8, "little") + tensors
    return {
        "downloading": "org/drips",
        "loading": with_files(home / "tensors", {"model.safetensors": many}),
        "rendering": with_files(home / "whales", {"chat_template.jinja": TEMPLATE.encode()}),
        "scoring": "demo",
    }


@pytest.fixture(scope="module")
def app(serve: Serve) -> Iterator[str]:
    """An app that takes seconds for each pack, with a Hub whose files drip."""
    large = {
        "model.safetensors": FILES["model.safetensors"] + bytes(30_000_000),
        "tokenizer.json": FILES["tokenizer.json"] + b" " * 30_000_000,
    }
    repos = {
        "datasets/allenai/reward-bench": Repo({"README.md": b""}),
        "models/org/drips": Repo(FILES | large, part_seconds=0.5),
        "datasets/org/drips": Repo({"pairs.jsonl": ROWS}, part_seconds=0.5),
    }
    with HubServer(repos) as hub:
        yield serve(
            is_slow=True,
            EXPLORER_OFFLINE="0",
            HF_ENDPOINT=hub.url,
            EXPLORER_PAIRS="demo",
            EXPLORER_RESULTS="demo",
        )


def type_pair(page: Page, prompt: str) -> None:
    page.get_by_label("My own pair").check()
    for name, words in {"prompt": prompt, "chosen": "It is 4.", "rejected": "It is 5."}.items():
        page.locator(f"#own-{name}").fill(words)
    expect(page.locator("#selected")).to_contain_text("1 pair selected")


def score(page: Page, model: str, prompt: str) -> Locator:
    """Press Score for a pair, for many where there is no prompt; where what is done is told."""
    choose_model(page, model)
    if prompt:
        type_pair(page, prompt)
    page.locator("#start:not([disabled])").click()
    return page.locator("#status")


PHASES = {
    "downloading": "Fetching:",
    "loading": "Loading the model",
    "rendering": "Loading",
    "scoring": "s left",
}
"""What is told of a run in each phase."""


@pytest.mark.parametrize("phase", PHASES)
def test_a_run_is_stopped_in_every_phase_and_the_next_one_goes_on(
    phase: str, app: str, models: dict[str, str], page: Page
) -> None:
    open_app(page, app)
    open_tab(page, "Score")
    if phase == "rendering":  # it is loaded before
        told = score(page, models[phase], "Two and two?")
        expect(told.locator(".finished")).to_be_visible()
    told = score(page, models[phase], "" if phase == "scoring" else "How large is a whale?")
    expect(told).to_contain_text(PHASES[phase])
    save_picture(page, f"stop-{phase}")
    page.locator("#stop:not([disabled])").click()
    expect(told.locator(".stopped, .refused")).to_contain_text("topped")
    save_picture(page, f"stop-{phase}-stopped")
    told = score(page, "demo", "Two and two?")
    expect(told.locator(".finished")).to_contain_text("1 pair")
    save_picture(page, f"stop-{phase}-next")


@pytest.mark.parametrize("phase", ["downloading", "loading", "scoring"])
def test_a_probe_is_stopped_in_every_phase_and_the_next_one_goes_on(
    phase: str, app: str, models: dict[str, str], page: Page
) -> None:
    open_app(page, f"{app}/?tab=try")
    told = page.locator("#probe-status")
    page.locator("#try-model").fill(models[phase])
    page.locator("#try-model").press("Enter")
    page.locator("#probe-start").click()
    expect(told).to_contain_text(PHASES[phase] if phase != "scoring" else "of 23 pairs")
    save_picture(page, f"stop-probe-{phase}")
    page.get_by_role("button", name="Stop").click()
    expect(told).to_contain_text("Stopped")
    save_picture(page, f"stop-probe-{phase}-stopped")
    page.locator("#try-model").fill("longer")
    page.locator("#try-model").press("Enter")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(told.locator(".finished")).to_contain_text("23 pairs")


def test_counting_tokens_is_stopped_and_at_once_another_tokenizer_is_taken(
    app: str, page: Page
) -> None:
    open_app(page, app)
    open_panel(page, "Lengths")
    page.get_by_role("link", name="Tokens", exact=True).click()
    told = page.locator("#tokens-status")
    expect(told).to_contain_text("Token counts need a tokenizer.")
    for tokenizer in ("org/drips", "demo"):
        page.get_by_label("Tokenizer").fill(tokenizer)
        page.locator("#count-tokens").click()
        if tokenizer == "org/drips":
            expect(told).to_contain_text("Fetching:")
            save_picture(page, "stop-tokens")
            page.get_by_role("button", name="Stop", disabled=False).locator("visible=true").click()
    expect(told).to_contain_text("Counted")
    save_picture(page, "stop-tokens-next")


def type_trial(page: Page, model: str, prompt: str) -> None:
    page.locator("#try-model").fill(model)
    page.locator("#try-model").press("Enter")
    page.locator("#try-prompt").fill(prompt)


def test_a_typed_pair_is_stopped_while_it_is_rendered_and_between_edits(
    app: str, models: dict[str, str], page: Page
) -> None:
    open_app(page, f"{app}/?tab=try")
    told, edits = page.locator("#try-status"), page.locator("#try-pair")
    stop = page.get_by_role("button", name="Stop")
    type_trial(page, models["rendering"], "How large is a whale?")
    page.locator("#try-score").click()
    expect(told).to_contain_text("Loading")
    stop.click()
    expect(told).to_contain_text("Stopped before this pair was scored")
    expect(stop).to_have_count(0)
    type_trial(page, "demo", "Two and two?")
    page.locator("#try-score").click()
    expect(edits).to_contain_text("…")
    save_picture(page, "stop-trial-edits")
    stop.click()
    expect(edits).not_to_contain_text("…")
    expect(edits.locator(".value")).to_have_count(3)
    page.locator("#try-rest").click()  # which is there where edits are left
    expect(page.locator("#try-rest")).to_be_hidden()
    expect(edits).not_to_contain_text("…")


def test_token_rewards_of_a_typed_pair_are_stopped_while_it_is_rendered(
    app: str, models: dict[str, str], page: Page
) -> None:
    open_app(page, f"{app}/?tab=try")
    working = page.get_by_text("Loading the model and reading the pair")
    type_trial(page, models["rendering"], "How large is a whale?")
    page.locator("#try-tokens").click()
    expect(working).to_be_visible()
    save_picture(page, "stop-trial-tokens")
    page.locator("#try-tokens").click()
    expect(working).to_have_count(0)
    type_trial(page, "demo", "Two and two?")
    page.locator("#try-tokens").click()
    expect(page.locator("#try .typed-card .body")).to_have_count(2)


def test_token_rewards_of_the_open_pair_are_stopped(app: str, page: Page) -> None:
    open_app(page, app)
    open_tab(page, "Score")
    page.get_by_label("A sample of each subset").check()
    page.get_by_label("Pairs per subset").fill("1")
    page.get_by_label("Pairs per subset").blur()
    expect(page.get_by_text("23 pairs selected")).to_be_visible()
    page.locator("#start").click()
    expect(page.locator("#status .finished")).to_contain_text("23 pairs")
    page.locator("#score .inspect").click()
    working = page.locator("#pairs").get_by_text("Loading the model and reading the pair")
    page.locator("#token-rewards").click()
    expect(working).to_be_visible()
    save_picture(page, "stop-tokens-of-pair")
    page.locator("#token-rewards-stop:not([disabled])").click()
    expect(working).to_have_count(0)
    page.locator("#token-rewards").click()
    expect(page.locator("#pairs .pair.tokens section")).to_have_count(2)


def test_opening_pairs_is_stopped_and_takes_no_place_any_more(
    app: str, page: Page, tmp_path: Path
) -> None:
    open_app(page, app)
    open_chooser(page)
    told, stop = page.locator("#chooser-status"), page.locator("#open-stop")
    for _ in range(3):  # of which the server does two at once
        page.get_by_label("Dataset on the Hugging Face Hub").fill("org/drips")
        page.locator("#open-wanted").click()
        expect(told).to_contain_text("Fetching:")
        save_picture(page, "stop-opening")
        stop.click()
        expect(told).to_contain_text("Stopped before the pairs were opened")
    large, small = tmp_path / "large.jsonl", tmp_path / "small.jsonl"
    large.write_bytes(ROWS)
    small.write_bytes(ROWS[: ROWS.index(b"\n") + 1])
    page.locator("#dataset input[type=file]").set_input_files(large)
    expect(told).to_contain_text("rows")
    save_picture(page, "stop-upload")
    stop.click()
    expect(told).to_contain_text("Stopped before the pairs were opened")
    expect(stop).to_be_hidden()  # then files are taken again
    page.locator("#dataset input[type=file]").set_input_files(small)
    expect(page.get_by_test_id("dataset-switcher")).to_contain_text("small.jsonl")
