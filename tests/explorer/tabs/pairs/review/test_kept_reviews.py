import pytest

import explorer.tabs.pairs.review.state
from explorer.tabs.pairs.review.state import (
    LONGEST_JSON,
    MOST_REVIEWS,
    KeptReviews,
    Review,
    to_json,
)

HASH = "0123456789abcdef"


def marked(subset: str, pairs: int = 1, source: str = "demo") -> Review:
    review = Review(source, subset)
    for number in range(pairs):
        review = review.mark(f"{subset}:{number}", HASH, "keep", "why", at=number)
    return review


def test_what_is_put_can_be_read_again_the_last_first() -> None:
    kept = KeptReviews().put(marked("one")).put(marked("two", 3))
    again = KeptReviews.read(kept.texts())
    assert again == kept and [each.subset for each in again.reviews] == ["two", "one"]
    assert again.of(("demo", "two")) == marked("two", 3)
    assert again.of(("other", "two")) is None


def test_a_review_is_kept_once_for_each_source_and_subset() -> None:
    kept = KeptReviews().put(marked("one")).put(marked("one", 2)).put(marked("one", source="other"))
    assert kept.of(("demo", "one")) == marked("one", 2)
    assert len(kept.reviews) == 2


def test_the_oldest_goes_where_there_are_too_many_and_that_is_said() -> None:
    kept = KeptReviews()
    for number in range(MOST_REVIEWS + 1):
        kept = kept.put(marked(f"subset-{number}"))
    assert len(kept.reviews) == MOST_REVIEWS
    assert kept.of(("demo", "subset-0")) is None and "subset-0" in kept.left_out[0]


def test_the_oldest_goes_where_they_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer.tabs.pairs.review.state, "_MOST_STORED_BYTES", 1000)
    kept = KeptReviews().put(marked("one", 5)).put(marked("two", 12))
    assert [each.subset for each in kept.reviews] == ["two"]
    alone = KeptReviews().put(marked("three", 100))
    assert alone.reviews == () and "three" in alone.left_out[0]


@pytest.mark.parametrize("value", [None, 5, "text", {"a": 1}, [], [[]], [None], ["{"], [b"x"]])
def test_nonsense_is_no_review(value: object) -> None:
    kept = KeptReviews.read(value)
    assert kept.reviews == () and all(kept.left_out)


def test_what_can_be_read_is_read_beside_what_cannot() -> None:
    kept = KeptReviews.read(["nonsense", to_json(marked("one")), "x" * (LONGEST_JSON + 1)])
    assert kept.reviews == (marked("one"),) and len(kept.left_out) == 2


def test_of_more_texts_than_can_be_kept_only_the_first_are_read() -> None:
    texts = [to_json(marked(f"s{number}")) for number in range(100)]
    assert len(KeptReviews.read(texts).reviews) == MOST_REVIEWS
