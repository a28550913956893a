"""What the server writes for a review: which pairs are listed, and the file of those kept."""

import io
import json

import pyarrow.parquet as pq
import pytest

from explorer.core.files import METADATA
from explorer.data.export import UPSTREAM_COLUMNS
from explorer.tabs.pairs.review import MARKS
from explorer.tabs.pairs.view import PairsView
from scoring.errors import KnownError
from scoring.pairs.opening import TEXT_COLUMNS
from scoring.spec import text_hash
from tests.support.browsing import NOBODY, pairs_view_on
from tests.support.tables import row, small_table

KEYS = [f"{subset}:{number}" for subset, number in zip("aaabb", range(1, 6), strict=True)]
TABLE = small_table(
    *(row(prompt=key, subset=key[0], id=int(key[2])) for key in KEYS),
)


@pytest.fixture
def view() -> PairsView:
    return pairs_view_on(TABLE)


def content(view: PairsView, name: str, query: str, sent: str = "") -> bytes:
    return b"".join(view.as_view().files[name](query, NOBODY, sent).parts)


def keys_of(view: PairsView, query: str) -> list[str]:
    return [key for key, *_ in json.loads(content(view, "review.keys", query))]


def test_the_listed_pairs_come_in_their_order_with_what_a_mark_is_kept_by(
    view: PairsView,
) -> None:
    assert keys_of(view, "?sort=-chosen&subset=a") == keys_of(view, "?subset=a&sort=-chosen")
    found = json.loads(content(view, "review.keys", "?subset=b"))
    cells = [TABLE.cells(at) for at in (3, 4)]
    assert found == [
        [each["key"], text_hash(*(each[name] for name in TEXT_COLUMNS)), "b"] for each in cells
    ]
    assert keys_of(view, "?sort=-prompt") == KEYS
    assert keys_of(view, "?q=nobody") == []


def test_kept_pairs_are_those_listed_with_these_keys_in_the_order_of_the_list(
    view: PairsView,
) -> None:
    sent = json.dumps({"marks": ["keep", "unsure"], "keys": [KEYS[2], KEYS[0], KEYS[4], "x", 1]})
    written = pq.read_table(io.BytesIO(content(view, "kept.parquet", "?subset=a", sent)))
    assert written.column_names == list(UPSTREAM_COLUMNS)
    assert written.column("prompt").to_pylist() == ["a:1", "a:3"]
    about = json.loads(written.schema.metadata[METADATA])
    assert about["selection"] == ["Subset: a", "keep or unsure in review"]


def test_what_a_browser_sends_wrongly_or_keeps_nothing_of_is_told_and_writes_no_file(
    view: PairsView,
) -> None:
    for sent in ("", "[" * 100_000, '{"marks": ["odd"], "keys": []}', '{"marks": ["keep"]}',
                 '{"marks": "keep", "keys": []}', '{"marks": [[]], "keys": []}'):  # fmt: skip
        with pytest.raises(KnownError, match="chosen by marks"):
            content(view, "kept.parquet", "", sent)
    for keys in ([], ["b:4"], ["a:1" * 10**6]):
        sent = json.dumps({"marks": list(MARKS[:2]), "keys": keys})
        with pytest.raises(KnownError, match="No listed pair is keep or drop"):
            content(view, "kept.parquet", "?subset=a", sent)
