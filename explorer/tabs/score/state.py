"""What a person looks at in the Score tab, as one value, its link, and the acts that change it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from explorer.core.links import Codec, checked, choice
from explorer.core.validation import whole_number
from explorer.reader.links import named_tab, tab_of
from explorer.runs.store import RunStore
from scoring.errors import KnownError, shown

Panel = Literal["new", "runs"]
PANELS: tuple[Panel, ...] = get_args(Panel)
TAB = "score"
MOST_PAGES = 10_000


@dataclass(frozen=True, slots=True)
class ScoreState:
    """What is looked at of the runs.

    panel: the form beside the report of a run, or the list of runs.
    run_id: of the run that is open; "" for none: the report is of the one that goes on then, or of
        the last.
    page: of the list, from 0.
    deleting: whether it was asked to delete the open run, and not yet said for sure.
    """

    panel: Panel = "new"
    run_id: str = ""
    page: int = 0
    deleting: bool = False

    def of(self, run_id: str) -> "ScoreState":
        """The same with another run open; "" for none."""
        return self if run_id == self.run_id else replace(self, run_id=run_id, deleting=False)


SCORE_LINK = Codec(
    ScoreState(), (choice("panel", "panel", PANELS, "A panel"), checked("run", "run_id", str))
)
"""Such as `panel=runs&run=20260101-120000-1a2b`."""


def decode_score(query_string: object) -> ScoreState:
    """What a link asks of the tab; of one of another tab, nothing.

    >>> decode_score("?tab=runs"), decode_score("?tab=score&run=a").run_id
    (ScoreState(panel='runs', run_id='', page=0, deleting=False), 'a')
    """
    if tab_of(query_string) != TAB:
        return ScoreState()
    state = SCORE_LINK.decode(query_string).view
    return replace(state, panel="runs") if named_tab(query_string) == "runs" else state


def move(
    state: ScoreState, store: RunStore, visitor: object, act: str, sent: Mapping[str, Any]
) -> ScoreState:
    """Do what was pressed, with the run it names.

    Acts: "panel" (value), "open" (id), "close", "page" (value), "title" (id, value), "share" (id,
    value), "delete" and "keep", "remove" (id).

    Raises:
        KnownError: no such act, or the run is not the visitor's to see or to change.
    """
    run_id, value = sent.get("id"), sent.get("value")
    if act == "panel":
        return SCORE_LINK.moved(state, "panel", value)
    if act == "open":
        return replace(state, run_id=store.open(run_id, visitor).id, deleting=False)
    if act == "close":
        return state.of("")
    if act == "page":
        return replace(state, page=whole_number("The page", value, 0, MOST_PAGES))
    if act == "title":
        store.change(run_id, visitor, lambda card: card.titled(value))
        return state
    if act == "share":
        store.change(run_id, visitor, lambda card: replace(card, public=value is True))
        return state
    if act in ("delete", "keep"):
        return replace(state, deleting=act == "delete")
    if act == "remove":
        store.delete(run_id, visitor)
        return state.of("")
    raise KnownError(f"There is nothing that is called {shown(act)} here.")
