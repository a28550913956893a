"""Results of each pair: every variant is read, and each outcome finds its pair."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.errors import KnownError
from scoring.results.order import FILTERED, PairOrder, align, filtered_split
from scoring.results.pairs import PairResults, read_pair_results
from scoring.spec import text_hash
from tests.support.hostile import ANY_JSON
from tests.support.refusals import by_sentence

Read = Callable[..., PairResults]

GOOD: dict[str, Any] = {
    "model": "org/model", "model_type": "Seq. Classifier", "chat_template": "tulu",
    "subset": ["a", "a", "b"], "id": [1, 2, 1], "results": [1, 0, 0],
    "scores_chosen": [[1.5], [2.0], [0.25]], "scores_rejected": [0.5, 2.0, 0.75],
    "text_chosen": ["<user>p</user>c"] * 3, "text_rejected": ["<user>p</user>r"] * 3,
}  # fmt: skip


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads a file with these contents: bytes, or `GOOD` with other values (None drops a key)."""

    def read(content: bytes | None = None, /, name: str | None = None, **other: Any) -> PairResults:
        path = tmp_path / "m.json"
        values = {key: value for key, value in {**GOOD, **other}.items() if value is not None}
        path.write_bytes(json.dumps(values).encode() if content is None else content)
        return read_pair_results(path, name)

    return read


def messages(prompt: str, response: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": response}]


def order(subsets: str, ids: str | None = None, hashes: list[str] | None = None) -> PairOrder:
    """Pairs written as one letter each: their subsets, and their ids."""
    names = tuple(dict.fromkeys(subsets))
    codes = np.array([names.index(name) for name in subsets], dtype=np.int32)
    return PairOrder(names, codes, None if ids is None else list(ids), hashes)


NO = "?"
"""Stands for a result that is missing."""
LACK = " of its pairs lack a reward: missing, whatever is stored"
CONTRADICT = "3 of its results contradict their own rewards: the results are believed"
INFINITE = [
    f"1 of scores_{side} is infinite and taken as missing" for side in ("chosen", "rejected")
]
READ: list[tuple[str, tuple[Any, Any, Any], list[Any], list[int], list[str]]] = [
    ("lacks", ([1, 0, 0], [2, None, 1], [1, 1, math.nan]), [1, NO, NO], [0, 0, 0], ["2" + LACK]),
    ("a null result", ([1, None, 0], [2, math.nan, 1], [1, 1, 1]), [1, NO, 0], [0, 0, 1], []),
    ("no reward at all", ([1, 0, 0], [None] * 3, [[None]] * 3), [1, 0, 0], [0, 0, 0], []),
    ("all NaN", ([0, 0, 0], [math.nan] * 3, [1, 1, 1]), [NO] * 3, [0, 0, 0], ["3" + LACK]),
    ("half a point", ([0, 1, 0.5], [1, 2, 3], [2, 1, 3]), [0, 1, 0.5], [0, 0, 1], []),
    # Equal scores are no ties then: else a win would count half where ties do.
    ("against rewards", ([1, 0.5, 1], [1, 2, 3], [2, 1, 3]), [1, 0.5, 1], [0, 0, 0], [CONTRADICT]),
    ("truth values", ([True, False, [True]], [2, 0, 2], [1, 1, 1]), [1, 0, 1], [0, 0, 0], []),
    ("nearly equal", ([1, 0, 0], [1 + 1e-12, 1, 1], [1, 1, 1]), [1, 0, 0], [0, 1, 1], []),
    ("one side", ([1, 0, 0], [1, 1, 1], None), [1, 0, 0], [0, 0, 0], []),
    (
        *("too large", ([1, 0, 0], [[1e300], 2, 1], [1, 2, 1e39]), [NO, 0, NO], [0, 1, 0]),
        [*INFINITE, "2" + LACK],
    ),
]
"""What is in a file: results and rewards of both sides; results, ties and notes that are read."""


@pytest.mark.parametrize(
    ("given", "results", "equal", "notes"), [pytest.param(*row, id=name) for name, *row in READ]
)
def test_results_and_rewards_are_read_as_they_are_meant(
    given: tuple[Any, Any, Any], results: list[Any], equal: list[int], notes: list[str], read: Read
) -> None:
    found = read(results=given[0], scores_chosen=given[1], scores_rejected=given[2])
    told = [NO if math.isnan(each) else each for each in found.results.tolist()]
    assert told == results
    assert found.equal.tolist() == [bool(each) for each in equal]
    assert [*found.notes] == notes
    assert (found.scores_rejected is None) == (given[2] in (None, [[None]] * 3))


def test_ids_are_text_or_none(read: Read) -> None:
    for ids, read_as in (
        (None, None),
        ([1.0, 2.0, 3.0], ["1", "2", "3"]),
        (["ref:1", "tied:1", 7], ["ref:1", "tied:1", "7"]),
    ):
        assert read(id=ids).order.ids == read_as


def test_messages_are_hashed_as_the_table_hashes_its_texts(read: Read) -> None:
    found = read(
        text_chosen=[messages(f"p{row}", "c") for row in range(3)],
        text_rejected=[messages(f"p{row}", "r") for row in range(3)],
        prompt=["<templated>"] * 3,
    )
    assert found.order.hashes == [text_hash(f"p{row}", "c", "r") for row in range(3)]
    found = read(text_chosen=["c"] * 3, text_rejected=["r"] * 3, prompt=["p", None, "q"])
    assert found.order.hashes == [text_hash("p", "c", "r"), "", text_hash("q", "c", "r")]


def test_the_second_benchmark_has_lists_of_scores_and_its_first_responses_are_hashed(
    read: Read,
) -> None:
    texts = [[messages("p", each) for each in row] for row in ("xyz", "xyz", "xy")]
    scores = [[1.0, [0.5], None], [], [3]]
    no_sides = dict.fromkeys(key for key in GOOD if key.startswith(("text_", "scores_")))
    found = read(**no_sides, id=None, text=texts, scores=scores, num_correct=[1, 2, 2])
    assert found.order.hashes == [text_hash("p", "x", "y"), text_hash("p", "x", "z"), ""]
    assert found.scores is not None and found.num_correct is not None
    assert found.scores.offsets.tolist() == [0, 3, 3, 4]
    np.testing.assert_array_equal(found.scores.row(0), [1.0, 0.5, np.nan])
    assert found.num_correct.tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("given", "said"),
    by_sentence(
        ({"results": None}, "it has no list of per-pair results"),
        ({"results": []}, "it has no outcomes"),
        ({"results": [1, 0, 2]}, "results, row 3: 2, not between 0 and 1"),
        ({"results": [1, 0, 10**400]}, "results: a number too large"),
        ({"scores_chosen": [1, 2]}, "scores_chosen has 2 rows, and results has 3"),
        ({"scores": [[1, [1, 2]], [], []]}, "scores, row 1: a list of 2, must be 1"),
        ({"subset": None}, "it does not say of which subset each pair is"),
        ({"subset": ["a", "x" * 2000, "b"]}, "subset, row 2: text, must be a short text"),
        ({"subset": ["\ud800", "\udfff", "b"]}, "differ in nothing that can be shown"),
        ({"model": None}, "it names no model"),
        (b"", "it is not complete JSON: Expecting value"),
        (b"[]", "not an object of results"),
        (b'{"a":"\xff"}', "it is not complete JSON: 'utf-8' codec"),
        (b"[" * 100_000, "it is not complete JSON: maximum recursion"),
        (b'{"a":1,"a":2}', "'a' stands there twice"),
        ('{"results": 1}\n[]\n', "line 2 is not an object of results"),
        ('{"text": "t", "results": 0.5}\n', "rewards of single texts, not of pairs"),
    ),
)
def test_what_does_not_fit_is_refused_with_its_reason(
    given: dict[str, Any] | bytes | str, said: str, read: Read
) -> None:
    """given: what is changed, a whole file, or the lines of one."""
    with pytest.raises(KnownError, match=said):
        if isinstance(given, dict):
            read(**given)
        elif isinstance(given, bytes):
            read(given)
        else:
            read(given.encode(), "model_outputs.jsonl")


def of(dataset: str | None) -> PairOrder:
    """Pairs without texts of a dataset."""
    return replace(order("ab", "12"), dataset=dataset)


AAB, THREE = order("aab", "123"), order("aaa", "123", ["h1", "h2", "h3"])
TWICE = order("aab", None, ["h1", "h1", ""])
NAMED = of("org/name:test@0123")
SECOND = PairOrder(("Ties", "Precise IF"), np.arange(2, dtype=np.int32), ["1", "2"])
SPELLED = replace(SECOND, names=("ties", "precise_if"), ids=["9", "9"])
TURNED = replace(SECOND, names=("Precise IF", "Ties"), ids=["2", "1"])
ALIGNED = [
    ("the same order", order("aab"), AAB, "position", [0, 1, 2], 0, 0),
    ("other ids", order("aab", "xyz"), AAB, "position", [0, 1, 2], 0, 0),
    ("others too", order("baac", "1219"), order("aab", "121"), "subset and id", [2, 1, 0], 1, 0),
    ("an id in two", order("ba", "77"), order("ab", "77"), "subset and id", [1, 0], 0, 0),
    ("by texts", order("ab", "11", ["h2", "h1"]), order("ba", "34"), "text", [1, 0], 0, 0),
    ("texts first", order("aaa", "123", ["h2", "h1", "h3"]), THREE, "text", [1, 0, 2], 0, 0),
    ("a new text", order("aaa", "123", ["h1", "new", "h3"]), THREE, "text", [0, -1, 2], 1, 1),
    ("no text", order("aaa", "123", ["h1", "", "h3"]), THREE, "text", [0, 1, 2], 0, 0),
    ("a text twice", TWICE, order("baa", hashes=["x", "h1", "h1"]), "text", [-1, 0, 1], 1, 1),
    ("a revision", NAMED, of("org/name:test@01234567"), "position", [0, 1], 0, 0),
    ("no revision", NAMED, of("org/name:test"), "position", [0, 1], 0, 0),
    ("RewardBench 2", SPELLED, SECOND, "position", [0, 1], 0, 0),
]


@pytest.mark.parametrize(
    ("found", "pairs", "how", "rows", "unmatched", "missing"),
    [pytest.param(*row, id=name) for name, *row in ALIGNED],
)
def test_each_outcome_finds_its_pair(
    found: PairOrder, pairs: PairOrder, how: str, rows: list[int], unmatched: int, missing: int
) -> None:
    alignment = align(found, pairs, lambda: ["h1", "h2"])
    assert (alignment.how, alignment.rows.tolist()) == (how, rows)
    assert (alignment.unmatched, alignment.missing) == (unmatched, missing)


BY_KEY = "of them are recognised by subset and id"
OTHERS = "without texts and are of org/name:test@0123"
REFUSED = [
    ("fewer", order("ab"), AAB, BY_KEY),
    ("other subsets", order("xy", "12"), AAB, BY_KEY),
    ("other texts", order("ba", None, ["1", "2"]), AAB, "0 of them are recognised by their texts"),
    ("few texts", order("aaa", "123", ["h1", "x", "y"]), THREE, "1 of them are recognised by thei"),
    ("RewardBench 2", TURNED, SECOND, "ids of RewardBench 2 are no help"),
    ("another revision", NAMED, of("org/name:test@4567"), OTHERS),
    ("another split", NAMED, of("org/name:train"), OTHERS),
    ("a fork", NAMED, of("org/fork:test@0123"), OTHERS),
    ("a file", NAMED, of("a.jsonl@0123"), OTHERS),
    ("nobody knows", of(None), of("a.jsonl@0123"), "do not say which pairs they are of"),
]


@pytest.mark.parametrize(
    ("found", "pairs", "said"), [pytest.param(*row, id=name) for name, *row in REFUSED]
)
def test_outcomes_of_other_pairs_are_refused(found: PairOrder, pairs: PairOrder, said: str) -> None:
    with pytest.raises(KnownError, match=said):
        align(found, pairs, lambda: ["h1", "h2"])


def test_a_revision_has_the_outcomes_of_its_unchanged_texts_alone() -> None:
    split = filtered_split()
    assert split.hashes is not None
    changed = ["0" * 16, *split.hashes[1:]]
    pairs = replace(split, hashes=changed, dataset=f"{FILTERED}@0123")
    found = align(replace(split, hashes=None, dataset=None), pairs)
    assert found.rows.tolist() == [-1, *range(1, len(split))]


def test_texts_of_the_filtered_split_are_known_by_place(shared_data: Path) -> None:
    split = filtered_split()
    columns = pq.read_table(shared_data / "reward-bench" / "filtered.parquet").to_pydict()
    texts = zip(columns["prompt"], columns["chosen"], columns["rejected"], strict=True)
    assert split.hashes == [text_hash(*each) for each in texts]
    assert split.ids == [str(each) for each in columns["id"]]
    assert [split.names[code] for code in split.codes] == columns["subset"]


@given(st.permutations(range(8)), st.sets(st.integers(0, 7), max_size=4))
def test_any_order_and_any_gaps_find_the_same_pairs(places: list[int], gone: set[int]) -> None:
    subsets, ids = "aabbccdd", "12121234"
    kept = [place for place in places if place not in gone]
    found = order("".join(subsets[p] for p in kept), "".join(ids[p] for p in kept))
    rows = align(found, order(subsets, ids)).rows
    assert [kept[row] if row >= 0 else -1 for row in rows] == [
        -1 if place in gone else place for place in range(8)
    ]


SEVERAL = {**GOOD, "scores": [[1.0], [2], []], "num_correct": [1] * 3, "text": [[]] * 3}
COLUMNS = st.sampled_from([*SEVERAL])


@settings(max_examples=25)
@given(
    values=st.sampled_from([GOOD, SEVERAL]),
    columns=st.dictionaries(COLUMNS, ANY_JSON, max_size=2),
    cells=st.dictionaries(st.tuples(COLUMNS, st.integers(0, 2)), ANY_JSON, max_size=3),
    end=st.none() | st.integers(0, 400),
)
def test_a_mutated_file_raises_nothing_but_a_known_error(
    values: dict[str, Any],
    columns: dict[str, Any],
    cells: dict[tuple[str, int], Any],
    end: int | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """columns, cells: what whole values and single cells become. end: where the file is cut."""
    values = {**values, **columns}
    for (key, row), value in cells.items():
        if isinstance(values.get(key), list):
            values[key] = [*values[key][:row], value, *values[key][row + 1 :]]
    path = tmp_path_factory.mktemp("mutated") / "m.json"
    path.write_bytes(json.dumps(values).encode()[:end])
    try:
        found = read_pair_results(path)
    except KnownError as error:
        str(error).encode()
        return
    assert len(found.results) == len(found.order) == len(found.equal)
    assert not ((found.results < 0) | (found.results > 1)).any()
    "".join((found.model, *found.order.names, *(found.order.ids or ()))).encode()
    assert align(found.order, found.order).missing == 0
