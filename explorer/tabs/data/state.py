"""What the head of the page is asked for, as the value of an address that nobody sees."""

from dataclasses import dataclass

from explorer.core.address import Address, at_most, text
from explorer.data.library import LONGEST_WANTED


@dataclass(frozen=True)
class DataState(Address):
    """source: id of the pairs on screen; "" for the best there are. wanted: others, as typed."""

    TAB = "data"
    source: str = ""
    wanted: str = ""
    PARAMETERS = (text("source", at_most(LONGEST_WANTED)), text("wanted", at_most(LONGEST_WANTED)))
