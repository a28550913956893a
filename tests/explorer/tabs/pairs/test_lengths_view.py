"""The lengths panel: what is drawn and counted of a scene, and how its own ranges are treated."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.data.filters import Filters, LengthRange
from explorer.data.table import PairTable
from explorer.data.tokens import TokenCounter
from explorer.reader.scene import Scene, SeenPairs, scene
from explorer.reader.state import Chart, PairsState
from explorer.stores import Stores
from explorer.tabs.pairs.acts_view import PairsTab
from explorer.tabs.pairs.lengths_view import lengths_shown, own_ranges
from tests.explorer.browsing import page_on, pairs_parts
from tests.explorer.filling import Filled, filled
from tests.explorer.html_reading import HtmlReading
from tests.explorer.stepping import gone_through

TAGS = {"div", "button", "label", "input"}
SHORT = LengthRange("chosen", "chars", 0, 100)


def lengths_of(table: PairTable, chart: Chart, filters: Filters | None = None) -> Scene:
    state = PairsState(filters=filters or Filters(), panel="lengths", chart=chart)
    return scene(state, SeenPairs(table))


def shown_of(now: Scene, counter: TokenCounter) -> Filled:
    parts = pairs_parts().lengths
    return filled(parts, lengths_shown(parts, now, counter))


def drawn(shown: Filled) -> int:
    """Pairs that the bars of the figure count."""
    traces = json.loads(shown.plot["value"].to_json())["data"]
    return int(sum(sum(trace["y"]) for trace in traces if trace["type"] == "bar"))


def test_all_pairs_are_drawn_and_counted(demo: PairTable, stores: Stores) -> None:
    shown = shown_of(lengths_of(demo, Chart("prompt")), stores.counter)
    assert drawn(shown) == len(demo) and shown.plot["visible"]
    assert "All pairs</th><td>188</td>" in shown.stats
    assert shown.tokenizing.visible is False
    assert shown.plot["value"].layout.shapes == ()


def test_a_range_shades_the_bars_and_narrows_the_table(demo: PairTable, stores: Stores) -> None:
    filters = Filters().keeping(LengthRange("prompt", "chars", 0, 150)).picking("section", ["Chat"])
    now = lengths_of(demo, Chart("prompt"), filters)
    shown = shown_of(now, stores.counter)
    assert 0 < len(now.filtered.rows) < 40
    assert drawn(shown) == 40  # the bars of what the range leaves out are still there to be clicked
    assert f"All pairs</th><td>{len(now.filtered.rows)}</td>" in shown.stats
    (shade,) = shown.plot["value"].layout.shapes
    assert shade.x0 <= 100 and 150 <= shade.x1 <= 152


def test_the_range_of_each_side_is_shaded(demo: PairTable, stores: Stores) -> None:
    filters = Filters().keeping(SHORT).keeping(LengthRange("rejected", "chars", 50, None))
    shapes = shown_of(lengths_of(demo, Chart(), filters), stores.counter).plot["value"].layout
    places = {shade.name: (shade.x0, shade.x1) for shade in shapes.shapes}
    assert places["selected-chosen"] == (0, 101) and places["selected-rejected"][0] == 50


@pytest.mark.parametrize(
    ("chart", "own"),
    [
        (Chart("responses"), True),
        (Chart("chosen"), True),
        (Chart("rejected"), False),
        (Chart("prompt"), False),
        (Chart("responses", "words"), False),
    ],
)
def test_a_charts_own_ranges_are_those_of_what_it_shows(chart: Chart, own: bool) -> None:
    other = LengthRange("difference", "chars", 0, None)
    filters = Filters().keeping(SHORT).keeping(other)
    state = PairsState(filters=filters, chart=chart)
    assert own_ranges(state) == ([SHORT] if own else [])


def test_many_small_charts_are_drawn_by_subset(demo: PairTable, stores: Stores) -> None:
    shown = shown_of(lengths_of(demo, Chart(by_subset=True)), stores.counter)
    assert len(shown.plot["value"].data) > 20


def test_where_nothing_passes_there_is_no_figure(demo: PairTable, stores: Stores) -> None:
    filters = Filters().picking("subset", ["no such subset"])
    shown = shown_of(lengths_of(demo, Chart(), filters), stores.counter)
    assert shown.plot["visible"] is False


def test_tokens_that_were_not_counted_are_asked_for(demo: PairTable, stores: Stores) -> None:
    for tokenizer in ("", "nobody/nothing@main"):
        now = lengths_of(demo, Chart(unit="tokens", tokenizer=tokenizer))
        shown = shown_of(now, stores.counter)
        assert shown.tokenizing.visible and shown.plot == {
            "visible": False, "__type__": "update",
        }  # fmt: skip
        assert shown.stats == "" and "note" in shown.status


def test_tokens_that_were_counted_are_drawn_and_their_tokenizer_named(
    demo: PairTable, stores: Stores
) -> None:
    name, _ = gone_through(stores.counter.count(demo, "demo"))
    now = lengths_of(demo, Chart("prompt", "tokens", tokenizer=name))
    shown = shown_of(now, stores.counter)
    assert drawn(shown) == len(demo)
    assert f"Counted by {name}." in shown.status


def llama_like(folder: Path, texts: list[Any], how: str) -> Any:
    """A small tokenizer built as Llama 2's or Llama 3's, in a folder as a person has one."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(byte_fallback=how == "llama-2", unk_token="<unk>"))
    if how == "llama-2":
        spaces = normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")
        tokenizer.normalizer = normalizers.Sequence([*spaces])
    else:
        words = pre_tokenizers.Split(Regex(r"\p{N}{1,3}| ?\p{L}+|\s+|[^\s\p{L}\p{N}]+"), "isolated")
        letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, letters])
    special = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=600, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


@pytest.mark.parametrize("how", ["llama-2", "llama-3"])
def test_one_press_draws_the_papers_lengths_by_a_tokenizer_in_a_folder(
    how: str, demo: PairTable, pairs_tab: PairsTab, tmp_path: Path
) -> None:
    texts = {side: demo.arrow.column(side).to_pylist() for side in ("prompt", "chosen", "rejected")}
    tokenizer = llama_like(tmp_path / how, texts["chosen"], how)
    few = Filters().picking("subset", ["hep-go"])
    page = page_on(PairsState(filters=few, panel="lengths", outcomes=True))
    *_, last = pairs_tab.count(str(tmp_path / how), page)
    shown = filled(pairs_tab.parts, pairs_tab.as_in_paper(last[pairs_tab.parts.counted], page, {}))
    figure = json.loads(shown["lengths.plot"]["value"].to_json())["data"]
    sections, subsets = figure[0]["y"]
    assert subsets == list(demo.subset_counts) and sections[0] == "Chat"
    for side, trace in zip(("chosen", "rejected"), figure, strict=True):
        tokens: dict[str, list[int]] = {name: [] for name in subsets}
        for subset, prompt, text in zip(
            demo.subset_of_row, texts["prompt"], texts[side], strict=True
        ):
            tokens[subset].append(sum(len(tokenizer.encode(each)) for each in (prompt, text)))
        assert trace["x"] == pytest.approx([np.mean(each) for each in tokens.values()])
        assert trace["error_x"]["array"] == pytest.approx(
            [np.std(each) for each in tokens.values()]
        )
    assert "The paper counted tokens of oobabooga/llama-tokenizer." in shown["lengths.status"]
    assert "Length of prompt and response in tokens, by subset" in shown["lengths.stats"]
    assert all(f'data-picture="{form}"' in shown["lengths.stats"] for form in ("png", "svg"))


def test_the_controls_say_what_is_shown_and_send_the_rest(demo: PairTable, stores: Stores) -> None:
    chart = Chart("difference", "words", by_subset=True)
    html = shown_of(lengths_of(demo, chart), stores.counter).controls
    seen = HtmlReading(html, TAGS)
    sent = [json.loads(each) for each in seen.attributes["button", "data-sent"]]
    pressed = zip(sent, seen.attributes["button", "aria-pressed"], strict=True)
    assert [each for each, on in pressed if on == "true"] == [
        {"shown": "difference"}, {"unit": "words"},
    ]  # fmt: skip
    assert seen.attributes["input", "data-field"] == ["by_subset"]
    assert ("input", "checked") in seen.attributes
    off = shown_of(lengths_of(demo, replace(chart, by_subset=False)), stores.counter).controls
    assert "checked" not in off
