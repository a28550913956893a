"""How far two people agree on marks, and which lines of files are read: assets/review.js."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.conftest import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.journey]

Verdicts = Sequence[tuple[str, str]]
Agree = Callable[[list[Any], list[Any]], dict[str, Any]]
NOTHING = [[0, 0, 0]] * 3
LINE = {
    "source": "demo",
    "subset": "s",
    "key": "s:1",
    "text_hash": "0123456789abcdef",
    "verdict": "keep",
    "note": "",
    "at": "2026-01-31T12:00:00Z",
}
LOOK = """([mine, theirs]) => {
  const { answers, ...found } = window.explorer.review.agreement(mine, theirs);
  return found;
}"""
READ = "(line) => { try { return explorer.review.checked(line) } catch (e) { return e.message } }"


@pytest.fixture
def blank(page: Page) -> Page:
    """A page with the script alone."""
    page.evaluate("window.explorer = {}")
    page.evaluate((ROOT / "assets" / "review.js").read_text(encoding="utf-8"))
    return page


@pytest.fixture
def agree(blank: Page) -> Agree:
    return lambda mine, theirs: blank.evaluate(LOOK, [mine, theirs])


def mine_of(key: str, verdict: str, texts: int | None = None, source: str = "demo") -> list[Any]:
    """A mark; without `texts` its pair has texts of its own, those of its key."""
    number = int(key.rpartition(":")[2]) if texts is None else texts
    return [source, key, f"{number:016x}", verdict, 0]


def theirs_of(
    key: str, verdict: str, texts: int | None = None, source: str = "demo"
) -> dict[str, Any]:
    named = ("source", "key", "text_hash", "verdict")
    return {**LINE, **dict(zip(named, mine_of(key, verdict, texts, source), strict=False))}


def people(verdicts: Verdicts) -> tuple[list[Any], list[Any]]:
    mine = [mine_of(f"s:{n}", my) for n, (my, _) in enumerate(verdicts)]
    return mine, [theirs_of(f"s:{n}", their) for n, (_, their) in enumerate(verdicts)]


def test_a_worked_example(agree: Agree) -> None:
    # 20 pairs: keep/keep 8, drop/drop 4, unsure/unsure 1, keep/drop 3, drop/keep 2, unsure/keep 2
    cells = [("keep", "keep", 8), ("drop", "drop", 4), ("unsure", "unsure", 1)]
    cells += [("keep", "drop", 3), ("drop", "keep", 2), ("unsure", "keep", 2)]
    verdicts = [(my, their) for my, their, count in cells for _ in range(count)]
    found = agree(*people(verdicts))
    assert (found["n"], found["observed"]) == (20, 13 / 20)
    assert found["table"] == [[8, 3, 0], [2, 4, 0], [2, 0, 1]]
    # mine 11, 6, 3; theirs 12, 7, 1: what chance would give is (132 + 42 + 3) / 400
    assert found["kappa"] == pytest.approx((0.65 - 0.4425) / (1 - 0.4425), abs=1e-15)
    assert found["differing"] == [f"s:{n}" for n in range(13, 20)]


@pytest.mark.parametrize(
    ("verdicts", "kappa"),
    [
        ([("keep", "keep"), ("drop", "drop")], 1),
        ([("keep", "drop"), ("drop", "keep")], -1),
        ([("keep", "keep"), ("keep", "drop"), ("drop", "keep"), ("drop", "drop")], 0),
        ([("keep", "drop"), ("keep", "keep")], 0),  # one uses a single verdict
        ([("unsure", "unsure")] * 3, None),
        ([], None),
    ],
)
def test_kappa_is_agreement_beyond_chance(
    agree: Agree, verdicts: Verdicts, kappa: float | None
) -> None:
    assert agree(*people(verdicts))["kappa"] == kappa


def test_pairs_are_joined_by_their_texts_then_within_one_source_by_key(agree: Agree) -> None:
    mine = [mine_of("s:1", "keep", 1), mine_of("s:2", "drop", 2)]
    other = [theirs_of("x:9", "drop", 1, "other")]
    assert agree(mine, other)["differing"] == ["s:1"]
    assert agree(mine, [theirs_of("s:1", "drop", 7)])["differing"] == ["s:1"]
    assert agree(mine, [theirs_of("s:1", "drop", 7, "other")])["n"] == 0
    crossed = [theirs_of("s:2", "keep", 1), theirs_of("s:1", "drop", 2)]
    assert agree(mine, crossed)["differing"] == [], "texts go before keys"


def test_of_pairs_with_the_same_texts_each_meets_its_own_and_counts_once(agree: Agree) -> None:
    mine = [mine_of("s:1", "keep", 5), mine_of("s:2", "drop", 5)]
    theirs = [theirs_of("s:2", "drop", 5), theirs_of("s:1", "keep", 5)]
    assert agree(mine, theirs)["table"] == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert agree(mine, theirs[:1])["n"] == agree(mine[:1], theirs)["n"] == 1
    assert agree(mine, [])["table"] == NOTHING


def test_a_line_of_a_file_is_read_with_its_time_and_without_what_is_more(blank: Page) -> None:
    at = "1970-01-01T02:00:01.5+01:00"
    read = blank.evaluate(READ, {**LINE, "at": at, "note": None, "more": 1})
    expected = {name: each for name, each in LINE.items() if name != "subset"}
    assert read == {**expected, "at": 3601, "note": ""}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"key": 3}, "source and key must be text"),
        ({"source": ""}, "source and key must be text"),
        ({"key": "k" * 1001}, "of 1 to 1000 characters"),
        ({"text_hash": "<b>"}, "text_hash must be 16 hex digits"),
        ({"verdict": "maybe"}, "verdict must be one of keep, drop, unsure"),
        ({"verdict": ["keep"]}, "verdict must be one of"),
        ({"note": {"a": 1}}, "note must be text"),
        ({"note": "n" * 2001}, "at most 2000 characters"),
        ({"at": "2026-01-31T12:00:00"}, "with its zone"),
        ({"at": 5}, "with its zone"),
        ({"at": "1960-01-31T12:00:00Z"}, "with its zone"),
        (None, "source and key must be text"),
    ],
)
def test_a_line_that_is_no_mark_says_why(
    blank: Page, wrong: dict[str, Any] | None, words: str
) -> None:
    assert words in blank.evaluate(READ, wrong and {**LINE, **wrong})
