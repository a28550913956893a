import numpy as np
import pytest

from explorer.data.conditions import CONDITION_KINDS, LEAST_WRITTEN, condition_of, conditions
from explorer.data.table import PairTable
from scoring.errors import KnownError
from tests.support.tables import row, small_table


def rows_of(table: PairTable, condition: str) -> list[int]:
    return np.flatnonzero(condition_of(table, condition).mask).tolist()


def test_whose_response_has_a_marker() -> None:
    sides = (("- a", "- b"), ("- a", "x"), ("x", "- b"), ("x", "x"))
    table = small_table(*(row(chosen=chosen, rejected=rejected) for chosen, rejected in sides))
    found = {who: rows_of(table, f"marker:list:{who}") for who in ("chosen", "rejected", "both")}
    assert found == {"chosen": [0, 1], "rejected": [0, 2], "both": [0]}
    assert rows_of(table, "marker:list:only_chosen") == [1]
    assert rows_of(table, "marker:list:only_rejected") == [2]
    assert condition_of(table, "marker:list:both").name == "both have a list"


def test_models_need_enough_pairs() -> None:
    table = small_table(
        *(row(chosen_model="often", rejected_model="x" * n) for n in range(1, LEAST_WRITTEN)),
        row(chosen_model="often", rejected_model="x"),
        chunk_rows=100,
    )
    models = [each.id for each in conditions(table) if each.kind.endswith("model")]
    assert models == ["chosen_model:often"]


def test_lengths_are_cut_in_parts_that_hold_each_pair_once(real: PairTable) -> None:
    found = conditions(real)
    chars = [each.mask for each in found if each.kind == "chosen_chars"]
    assert len(chars) == 4
    assert (np.sum(chars, axis=0) == 1).all()
    assert all(600 < mask.sum() < 900 for mask in chars)
    by = [each for each in found if each.kind == "longer_by"]
    for side in ("chosen", "rejected"):
        parts = [each.mask for each in by if f":{side}:" in each.id]
        assert len(parts) == 3
        assert (np.sum(parts, axis=0) == condition_of(real, f"longer:{side}").mask).all()


def test_every_condition_is_found_by_its_id(real: PairTable) -> None:
    found = conditions(real)
    assert {each.kind for each in found} == set(CONDITION_KINDS)
    sizes = {each.id: each.n for each in found}
    assert (sizes["section:Safety"], sizes["subset:math-prm"]) == (740, 447)
    assert len({each.id for each in found}) == len({each.name for each in found}) == len(found)
    for each in found:
        again = condition_of(real, each.id)
        assert again.n == each.n > 0
        assert (again.mask == each.mask).all()


@pytest.mark.parametrize("wanted", ["", "longer:Chosen", "section:none", "marker:list:both", None])
def test_an_unknown_id_is_told(wanted: object) -> None:
    with pytest.raises(KnownError, match="condition"):
        condition_of(small_table(row()), wanted)
