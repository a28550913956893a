"""What the forms of the Try tab say, as the value of an address."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from explorer.core.address import Address, at_most, choice, form_field, some_of, text
from explorer.core.links import LONGEST_LINK
from explorer.tabs.try_it.trial import CHANGES, Change
from scoring.models.finding import DEMO_NAME

ProbeWay = Literal["subset", "filter"]
PROBE_WAYS: tuple[ProbeWay, ...] = get_args(ProbeWay)


@dataclass(frozen=True)
class TryState(Address):
    """Which model scores what is typed, and what is probed. Values are checked when used.

    model: as it was typed.
    pairs: the address of the Pairs tab, without "?", whose open pair may be taken and whose filter
        may be probed.
    which: pairs that are probed: a sample of each subset, or those that the filter keeps.
    per_subset, seed: of the sample.
    change: of `CHANGES`, those that are made, in this order; "" for none.
    """

    TAB = "try"
    model: str = DEMO_NAME
    pairs: str = ""
    which: ProbeWay = "subset"
    per_subset: str = "1"
    seed: str = "0"
    change: tuple[str, ...] = CHANGES
    PARAMETERS = (
        form_field("model"),
        text("pairs", at_most(LONGEST_LINK)),
        choice("which", PROBE_WAYS),
        form_field("per_subset"),
        form_field("seed"),
        some_of("change", ("", *CHANGES)),
    )

    @property
    def changes(self) -> tuple[Change, ...]:
        """Those that are made; () for none."""
        return tuple(each for each in CHANGES if each in self.change)

    def settled(self) -> tuple["TryState", tuple[str, ...]]:
        """The state with the changes in their order."""
        return replace(self, change=self.changes or ("",)), ()
