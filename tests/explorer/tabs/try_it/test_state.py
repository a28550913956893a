"""The address of the Try tab: what it says, and what it leaves out."""

import pytest

from explorer.tabs.try_it.state import TryState
from explorer.tabs.try_it.trial import CHANGES


def test_what_makes_no_sense_is_left_and_named() -> None:
    state, dropped = TryState.parse("?tab=try&which=all&change=upper&change=gone&change=cut&x=1")
    assert state == TryState(change=("cut", "upper"))
    assert dropped == ("which=all", "change=gone", "x=1")


@pytest.mark.parametrize(
    ("query", "changes"), [("", CHANGES), ("&change=", ()), ("&change=&change=upper", ("upper",))]
)
def test_a_form_with_every_box_unticked_means_no_change(
    query: str, changes: tuple[str, ...]
) -> None:
    state, _ = TryState.parse(f"?tab=try{query}")
    assert state.changes == changes and TryState.parse(state.href())[0].changes == changes
