"""What a person looks at and fills in in the Score tab, as the value of an address."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from explorer.core.address import Address, at_most, choice, flag, form_field, text, whole_number
from explorer.core.links import LONGEST_LINK
from explorer.reader.links import read_pairs, tab_of
from explorer.reader.state import PairsState
from explorer.runs.orders import ModelOrder
from explorer.runs.selections import SELECTION_WAYS
from scoring.errors import KnownError, shown
from scoring.models.finding import DEMO_NAME
from scoring.sure import TARGETS, SureRule, Target

ScorePanel = Literal["new", "runs"]
SCORE_PANELS: tuple[ScorePanel, ...] = get_args(ScorePanel)
LARGEST_PAGE = 10_000


_NUMBERS = ("max_length", "max_tokens", "temperature", "repeats")
_OF_MODEL = (
    "model", "family", "reference", "reading", "dtype", "max_length", "chat_template",
    "tokenizer", "url", "judge_prompt", "max_tokens", "temperature", "repeats",
)  # fmt: skip


@dataclass(frozen=True)
class ScoreState(Address):
    """What is looked at of the runs, and what the form says. Its values are checked when used.

    panel: the form beside the report of a run, or the list of runs.
    run: id of the run that is open, stored or under way; "" for the latest.
    page: of the list, from 1. search: part of the names of the runs beside the report.
    deleting: whether it was asked to delete the open run, and not yet confirmed.
    model to repeats: as of `ModelOrder`, as typed.
    which: of `SELECTION_WAYS`; "" for what the server begins with.
    per_subset, seed: of a sample. failed: the model whose failures are scored.
    pairs: the address of the Pairs tab whose filter is meant, without "?".
    sure: whether the run stops as soon as `number` is known to `width` points.
    find: what is searched for on the Hub.
    repo, name: where the run is to be sent, and what its model is called there.
    """

    TAB = "score"
    panel: ScorePanel = "new"
    run: str = ""
    page: int = 1
    search: str = ""
    deleting: bool = False
    model: str = DEMO_NAME
    family: str = ""
    reference: str = ""
    reading: str = ""
    dtype: str = "auto"
    max_length: str = ""
    chat_template: str = ""
    tokenizer: str = ""
    url: str = ""
    judge_prompt: str = ""
    max_tokens: str = ""
    temperature: str = ""
    repeats: str = ""
    which: str = ""
    per_subset: str = "4"
    seed: str = "0"
    failed: str = ""
    pairs: str = ""
    sure: bool = False
    number: Target = "accuracy"
    width: str = "5"
    find: str = ""
    repo: str = ""
    name: str = ""
    PARAMETERS = (
        choice("panel", SCORE_PANELS),
        form_field("run"),
        whole_number("page", LARGEST_PAGE),
        form_field("search"),
        flag("delete", "deleting"),
        *map(form_field, _OF_MODEL),
        choice("which", SELECTION_WAYS),
        *map(form_field, ("per_subset", "seed", "failed")),
        text("pairs", at_most(LONGEST_LINK)),
        flag("sure", "sure"),
        choice("number", TARGETS),
        *map(form_field, ("width", "find", "repo", "name")),
    )

    def settled(self) -> tuple["ScoreState", tuple[str, ...]]:
        """The state with nothing of the Pairs tab's address but what says which pairs it lists."""
        return replace(self, pairs=listing_query(self.pairs)), ()

    def of(self, run: str) -> "ScoreState":
        """The same with another run open; "" for the latest."""
        return replace(self, run=run, deleting=False)

    @property
    def listed(self) -> PairsState:
        """What the Pairs tab lists whose filter is meant."""
        return read_pairs(f"?{self.pairs}")[0]

    @property
    def order(self) -> ModelOrder:
        """The model that is asked for.

        Raises:
            KnownError: of `ModelOrder.of`.
        """
        if not self.model.strip():
            raise KnownError("Choose a model. Type a name from the list, or demo.")
        asked = {name: getattr(self, name) for name in _OF_MODEL}
        asked |= {name: _number(asked[name]) for name in _NUMBERS}
        return ModelOrder.of({**asked, "settings": asked})

    @property
    def rule(self) -> SureRule | None:
        """What the run is to be sure of; None where it is to score all pairs.

        Raises:
            KnownError: of `SureRule`, or the width is no number.
        """
        if not self.sure:
            return None
        width = _number(self.width)
        if not isinstance(width, int | float) or not 0 < width <= 100:
            given = "empty" if width is None else shown(width)
            raise KnownError(f"The interval width is {given}. Type a number of points, 0.5 to 50.")
        return SureRule(self.number, width / 100)


def _number(typed: str) -> int | float | str | None:
    """The number that was typed; a text that is none stays, for who checks it to say so."""
    for read in (int, float):
        try:
            return read(typed) if typed else None
        except ValueError:
            continue
    return typed


def listing_query(query: str) -> str:
    """What of an address of the Pairs tab says which pairs it lists."""
    return replace(read_pairs(f"?{query}")[0], sort="").listed_link


def read_score(query: object) -> tuple[ScoreState, tuple[str, ...]]:
    """What a link asks of the Score tab, if it is one of that, and what of it means nothing.

    >>> read_score("?tab=score&run=a&x=1")[0].run, read_score("?tab=score&run=a&x=1")[1]
    ('a', ('x=1',))
    """
    return ScoreState.parse(query) if tab_of(query) == ScoreState.TAB else (ScoreState(), ())
