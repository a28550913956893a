"""The reader's HTML: inert, whole, and honest about what is missing."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.datacard import subset_card
from explorer.data.search import Query
from explorer.reader.diffs import DIFFS, Diff
from explorer.reader.reader import MOST_FURTHER, pair_html
from explorer.reader.reading import Display
from scoring.benchmark import SUBSETS
from scoring.pairs.opening import PairSource
from tests.support.html_reading import HtmlReading, is_told_as_our_own

MARKED = Display("words", Query("dog"))


def read(html: str) -> HtmlReading:
    return HtmlReading(html)


def pair(**changed: Any) -> dict[str, Any]:
    return {
        "key": "mine:1",
        "subset": "mine",
        "prompt": "Which pet?",
        "chosen": "a red dog",
        "rejected": "a red cat",
        "chosen_model": "human",
        "rejected_model": "gpt",
        "turns": "",
        **changed,
    }


hostile = st.one_of(
    st.text(max_size=60), st.text(alphabet="<>&\"'$`{}=/ sciptonrxm\n", max_size=60)
)


@given(
    diff=st.sampled_from(DIFFS), words=hostile, other=hostile, query=st.sampled_from(["", "s", "<"])
)
def test_text_stays_text_whatever_it_is(diff: Diff, words: str, other: str, query: str) -> None:
    cells = pair(
        **dict.fromkeys(("key", "subset", "prompt", "chosen", "chosen_model"), words),
        **dict.fromkeys(("rejected", "rejected_model"), other),
        more_chosen=[{"text": other, "model": words}],
        more_rejected=[{"text": words, "model": other}],
    )
    display = Display(diff, Query(query))
    reading = read(
        pair_html(cells, words or "k", display, same_prompt=[(words, "?a=1"), (other, "?a=2")])
    )
    empty = "(empty)"
    assert reading.of_class["body"] == [
        each or empty for each in (words, words, other, other, words)
    ]
    assert reading.of_class["key"] == [words or "k"]
    assert reading.of_class["goto"] == [words, other]
    assert reading.attributes["a", "href"][-2:] == ["?a=1", "?a=2"]
    assert reading.attributes["div", "data-key"] == [words or "k"]


def test_every_response_of_a_row_is_shown_in_its_column() -> None:
    cells = pair(
        more_chosen=[{"text": "the dog", "model": "m2"}],
        more_rejected=[{"text": "the cow", "model": "m3"}, {"text": "", "model": "m4"}],
    )
    html = pair_html(cells, "k", MARKED)
    reading = read(html)
    assert reading.attributes["div", "aria-label"] == [
        "Prompt", "Chosen", "Rejected", "Chosen 2", "Rejected 2", "Rejected 3",
    ]  # fmt: skip
    assert reading.of_class["body"][3:] == ["the dog", "the cow", "(empty)"]
    sides = [*["chosen", "rejected"] * 2, "rejected"]
    assert reading.attributes["section", "class"] == ["prompt", *sides]
    assert "the <mark>dog</mark>" in html and "0 words" in html


def test_of_responses_without_end_the_first_are_shown_and_the_rest_counted() -> None:
    more = [{"text": "hm", "model": "m"}] * 50_000
    html = pair_html(pair(more_chosen=more, more_rejected=more[:3]), "k", MARKED)
    labels = read(html).attributes["div", "aria-label"]
    assert labels[-1] == f"Chosen {MOST_FURTHER + 1}"
    assert [label for label in labels if label[0] == "R"] == [
        "Rejected", "Rejected 2", "Rejected 3", "Rejected 4",
    ]  # fmt: skip
    assert "49,950 more responses" in html and len(html) < 40_000


def test_a_pair_says_where_it_is_from_and_a_bundled_one_that_it_is_this_projects_own() -> None:
    ours = PairSource("demo", "demo pairs", None, "0")
    theirs = PairSource("hub", "allenai/reward-bench", "filtered", "0")
    for subset in SUBSETS:
        card = subset_card(subset)
        assert card is not None
        html = {each: pair_html(pair(subset=subset), "k", Display(), source=each)
                for each in (ours, theirs)}  # fmt: skip
        assert is_told_as_our_own(html[ours]) and not is_told_as_our_own(html[theirs])
        reading = read(html[theirs])
        assert reading.attributes["a", "href"] == [card.origin.url]
        assert reading.attributes["a", "rel"] == ["noopener noreferrer"]
        assert card.origin.licence in reading.of_class["facts"][0]
        assert card.name in reading.of_class["facts"][0]
        assert reading.of_class["chip"] == [card.section]


def test_harmful_subsets_begin_with_a_warning_and_others_have_none() -> None:
    html = pair_html(pair(subset="donotanswer"), "k", Display())
    assert html.startswith('<div class="pair may-harm" data-key="k"')
    assert html.index('class="warning"') < html.index("Prompt")
    assert read(html).of_class["reveal"] == ["Always show"]
    assert "may-harm" not in pair_html(pair(subset="math-prm"), "k", Display())
    assert "warning" not in pair_html(pair(), "k", Display())


def test_lines_of_code_have_numbers_a_gap_beside_what_one_side_lacks_and_are_not_rendered() -> None:
    cells = pair(subset="hep-go", chosen="a\nb\n", rejected="a\nx(1)\nb\n")
    reading = read(pair_html(cells, "k", Display()))
    assert reading.attributes["div", "data-line"] == ["1", "2", "1", "2", "3"]
    assert reading.of_class["row"] == ["a\n", "", "b\n", "a\n", "x(1)\n", "b\n"]
    assert reading.of_class["gap"] == [""]
    assert not read(pair_html(cells, "k", Display("off"))).of_class["gap"]
    cells = pair(subset="hep-python", chosen="# a *b*", rejected="# a *c*")
    words = read(pair_html(cells, "k", Display(rendered=True)))
    assert words.of_class["body"][1:] == ["# a *b*", "# a *c*"]
    assert "shown as written" in words.words


def test_pairs_of_the_real_split_are_shown_whole(shared_data: Path) -> None:
    table = pq.read_table(shared_data / "reward-bench" / "filtered.parquet")
    for cells in table.to_pylist()[::250]:
        reading = read(pair_html(cells, str(cells["id"]), MARKED))
        texts = [cells[name] for name in ("prompt", "chosen", "rejected")]
        assert reading.of_class["body"] == texts
        if cells["subset"].startswith("hep-"):
            file = f"/data/{cells['subset'][4:]}/data/humanevalpack.jsonl"
            row = (cells["id"] - 3692) % 164 + 1
            titles = [each for each in reading.attributes["a", "title"] if ", row " in each]
            assert len(titles) == 2 and all(f"{file}, row {row}" in each for each in titles)
            assert "HumanEvalPack, MIT" in reading.words
            assert any(link.endswith(f"{file}#L{row}") for link in reading.attributes["a", "href"])
            assert ", row " not in pair_html({**cells, "prompt": "x"}, "k", MARKED)
