import pytest

from explorer.stats.rules import PRIOR, RULES, V1, V2, Rule
from scoring.benchmark import COUNTS, SECTIONS, WEIGHTS

PAPER = RULES["paper"]
V1_PRIOR = RULES["v1_prior"]
EVERY = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


@EVERY
def test_a_rule_weighs_each_of_its_sections_and_knows_the_pairs_of_each_subset(rule: Rule) -> None:
    assert rule.weights.keys() in (set(), rule.sections.keys())
    assert all(weight > 0 for weight in rule.weights.values())
    assert rule.pairs.keys() in (set(), set(rule.subsets))
    assert len(rule.subsets) == len(set(rule.subsets))
    assert rule.zero_is_missing <= rule.sections.keys()


def test_the_first_rule_is_the_benchmarks_own() -> None:
    assert {name: tuple(subsets) for name, subsets in V1.sections.items()} == SECTIONS
    assert {each: w for section in V1.sections.values() for each, w in section.items()} == WEIGHTS
    assert sum(V1.pairs.values()) == 2985


def test_the_paper_has_the_two_counts_of_xstest_swapped_and_nothing_else() -> None:
    ours, theirs = V1_PRIOR.sections, PAPER.sections
    differ = {
        subset: (ours[section][subset], theirs[section][subset])
        for section in ours
        for subset in ours[section]
        if ours[section][subset] != theirs[section][subset]
    }
    assert differ == {"xstest-should-refuse": (154, 250), "xstest-should-respond": (250, 154)}
    assert COUNTS["xstest-should-refuse"] == 154


def test_prior_sets_count_half_a_section() -> None:
    assert list(V1_PRIOR.weights.items())[-1] == (PRIOR, 1)
    assert set(V1_PRIOR.weights.values()) == {1, 2}
    scored = RULES["prior"].subsets
    assert scored == ("anthropic_helpful", "anthropic_hhh", "shp", "summarize")
    assert len(RULES["prior_all"].subsets) == 7


def test_rewardbench_2_has_1865_rows_in_six_sections_of_one_subset() -> None:
    assert sum(V2.pairs.values()) == 1865
    assert [list(section) for section in V2.sections.values()] == [[each] for each in V2.sections]
