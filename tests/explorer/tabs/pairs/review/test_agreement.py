from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.tabs.pairs.review.agreement import Agreement, agreement, cohens_kappa
from explorer.tabs.pairs.review.state import VERDICTS, Decision, Review, Verdict

NOTHING = ((0, 0, 0),) * 3


def decided(key: str, verdict: Verdict, texts: int | None = None, source: str = "demo") -> Decision:
    """A decision; without `texts` its pair has texts of its own, those of its key."""
    number = int(key.rpartition(":")[2]) if texts is None else texts
    return Decision(key, f"{number:016x}", verdict, "", 0, source)


def people(verdicts: Sequence[tuple[Verdict, Verdict]]) -> tuple[list[Decision], list[Decision]]:
    mine = [decided(f"s:{n}", my) for n, (my, _) in enumerate(verdicts)]
    theirs = [decided(f"s:{n}", their) for n, (_, their) in enumerate(verdicts)]
    return mine, theirs


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        # po = 35/50, pe = (25*30 + 25*20) / 2500 = 1/2
        ([[20, 5], [10, 15]], Fraction(2, 5)),
        # po = 60/100 both times; pe = (60*70 + 40*30) / 10,000 and (60*30 + 40*70) / 10,000
        ([[45, 15], [25, 15]], Fraction(60 - 54, 100 - 54)),
        ([[25, 35], [5, 35]], Fraction(60 - 46, 100 - 46)),
        # po = 90/200, pe = (80*90 + 70*60 + 50*50) / 40,000 = 13,900 / 40,000
        ([[50, 20, 10], [30, 20, 20], [10, 20, 20]], Fraction(18_000 - 13_900, 40_000 - 13_900)),
        ([[3, 0], [0, 4]], Fraction(1)),
        ([[0, 5], [5, 0]], Fraction(-1)),
        ([[4, 4], [4, 4]], Fraction(0)),
        # one uses a single verdict: po = pe = 1/2, though they differ
        ([[5, 5], [0, 0]], Fraction(0)),
        # each uses a single verdict, not the same: po = pe = 0
        ([[0, 7], [0, 0]], Fraction(0)),
    ],
)
def test_kappa_as_computed_by_hand(table: list[list[int]], kappa: Fraction) -> None:
    assert cohens_kappa(table) == float(kappa)


@pytest.mark.parametrize("table", [NOTHING, [[1, 0], [0, 0]], [[0, 0], [0, 10**9]]])
def test_kappa_is_undefined_without_pairs_and_where_all_is_one_verdict(
    table: Sequence[Sequence[int]],
) -> None:
    assert cohens_kappa(table) is None


def test_a_kappa_that_rounding_would_take_for_undefined() -> None:
    # expected is 1 - 1.99...e-17, which a float rounds to 1
    assert cohens_kappa([[10**17, 1], [0, 0]]) == 0.0
    assert cohens_kappa([[10**17, 0], [0, 1]]) == 1.0


def test_a_worked_example() -> None:
    # 20 pairs: keep/keep 8, drop/drop 4, unsure/unsure 1, keep/drop 3, drop/keep 2, unsure/keep 2
    cells: list[tuple[tuple[Verdict, Verdict], int]] = [
        (("keep", "keep"), 8),
        (("drop", "drop"), 4),
        (("unsure", "unsure"), 1),
        (("keep", "drop"), 3),
        (("drop", "keep"), 2),
        (("unsure", "keep"), 2),
    ]
    found = agreement(*people([verdicts for verdicts, count in cells for _ in range(count)]))
    assert found.n == 20
    assert found.table == ((8, 3, 0), (2, 4, 0), (2, 0, 1))
    assert found.observed == 13 / 20
    # mine 11, 6, 3; theirs 12, 7, 1: (132 + 42 + 3) / 400
    assert found.expected == 177 / 400
    assert found.kappa == pytest.approx((0.65 - 0.4425) / (1 - 0.4425), abs=1e-15)
    assert found.differing == tuple(f"s:{n}" for n in range(13, 20))


def test_without_shared_pairs_nothing_is_said() -> None:
    nothing = Agreement(0, NOTHING, None, None, None, {}, ())
    assert agreement([], []) == nothing
    assert agreement([decided("s:1", "keep")], []) == nothing
    assert agreement([], [decided("s:1", "keep")]) == nothing
    assert agreement([decided("s:1", "keep")], [decided("s:2", "keep")]) == nothing


def test_where_both_gave_one_verdict_to_all_agreement_is_full_and_kappa_undefined() -> None:
    found = agreement(*people([("unsure", "unsure")] * 3))
    assert (found.n, found.observed, found.expected, found.kappa) == (3, 1.0, 1.0, None)


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS)), max_size=30))
def test_both_see_the_same_agreement_from_their_sides(
    verdicts: list[tuple[Verdict, Verdict]],
) -> None:
    mine, theirs = people(verdicts)
    found, turned = agreement(mine, theirs), agreement(theirs[::-1], mine)
    assert found.n == len(verdicts) == sum(map(sum, found.table))
    assert turned.table == tuple(zip(*found.table, strict=True))
    assert (turned.observed, turned.expected) == (found.observed, found.expected)
    assert turned.kappa == found.kappa
    assert turned.differing == found.differing[::-1]
    assert found.kappa is None or -1 <= found.kappa <= 1
    assert (found.kappa == 1) == (
        len(set(verdicts)) > 1 and all(my == their for my, their in verdicts)
    )


def test_the_differing_pairs_come_in_my_order_by_my_keys() -> None:
    mine = [decided("b:2", "keep"), decided("a:1", "keep"), decided("c:3", "drop")]
    theirs = [decided(f"x:{n}", "drop", source="other") for n in (3, 1, 2)]
    assert agreement(mine, theirs).differing == ("b:2", "a:1")


def test_pairs_are_joined_by_their_texts_whatever_source_and_key() -> None:
    theirs = [decided("other:9", "drop", texts=1, source="elsewhere")]
    assert agreement([decided("s:1", "drop")], theirs).n == 1


def test_keys_join_within_one_source_alone() -> None:
    mine = [decided("s:1", "keep", texts=1)]
    assert agreement(mine, [decided("s:1", "drop", texts=2)]).differing == ("s:1",)
    assert agreement(mine, [decided("s:1", "drop", texts=2, source="other")]).n == 0
    unknown = [replace(each, source="") for each in mine]
    assert agreement(unknown, [decided("s:1", "drop", texts=2, source="")]).n == 0


def test_texts_go_before_keys() -> None:
    mine = [decided("s:1", "keep", texts=1), decided("s:2", "drop", texts=2)]
    theirs = [decided("s:2", "keep", texts=1), decided("s:1", "drop", texts=2)]
    found = agreement(mine, theirs)
    assert (found.n, found.differing) == (2, ())


def test_of_pairs_with_the_same_texts_each_meets_its_own() -> None:
    mine = [decided("s:1", "keep", texts=5), decided("s:2", "drop", texts=5)]
    assert agreement(mine, mine[::-1]).differing == ()
    assert agreement(mine[:1], mine).n == 1
    other = [replace(each, key=f"x:{n}", source="other") for n, each in enumerate(mine)]
    assert agreement(mine, other).table == ((1, 0, 0), (0, 1, 0), (0, 0, 0))


def test_a_decision_counts_once() -> None:
    mine = [decided("s:1", "keep", texts=5), decided("s:2", "drop", texts=5)]
    theirs = [decided("x:1", "drop", texts=5, source="other")]
    assert agreement(mine, theirs).n == 1
    assert agreement(theirs, mine).n == 1


def test_a_decision_that_was_joined_by_texts_is_not_joined_by_key_again() -> None:
    mine = [decided("s:2", "keep", texts=9), decided("s:1", "keep", texts=5)]
    theirs = [decided("s:2", "drop", texts=5)]
    assert agreement(mine, theirs).differing == ("s:1",)


def test_my_order_holds_however_the_pairs_were_joined() -> None:
    mine = [decided("s:1", "keep"), decided("s:2", "keep"), decided("s:3", "keep")]
    theirs = [
        decided("s:3", "drop"),
        decided("x:1", "drop", texts=2, source="other"),
        decided("s:1", "drop", texts=7),
    ]
    assert agreement(mine, theirs).differing == ("s:1", "s:2", "s:3")


def test_of_a_pair_marked_twice_the_last_verdict_counts() -> None:
    review = Review("demo", "s").mark("s:1", "0" * 15 + "1", "keep", at=0)
    again = review.mark("s:1", "0" * 15 + "1", "drop", at=1)
    found = agreement(again.decisions, [decided("s:1", "drop")])
    assert (found.n, found.observed) == (1, 1.0)
    assert agreement(again.standing.values(), review.decisions).differing == ("s:1",)
