"""What is known of a stored run beside its numbers: whose it is, what it is called, who sees it."""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from typing import Annotated

from pydantic import BeforeValidator, Strict, TypeAdapter

from explorer.core.validation import repaired, validated
from explorer.data.library import Library
from explorer.data.table import PairTable
from explorer.data.typed import Texts
from explorer.runs.orders import ModelOrder
from explorer.runs.visitors import EVERYBODY
from scoring.errors import KnownError, first_line, shown
from scoring.record import Run
from scoring.sure import SureInterval

LONGEST_TITLE = 80
_NEEDED = dict.fromkeys(("owner", "title", "public"))
"""What every card on disk says."""

logger = logging.getLogger(__name__)


def _ordered(values: object) -> ModelOrder | None:
    return None if values is None else ModelOrder.of(values)


@dataclass(frozen=True, slots=True)
class RunCard:
    """What a run's file says beside its numbers.

    owner: as of `Visitor`; `EVERYBODY` for a run that is nobody's alone.
    title: what its owner calls it; "" where they did not say.
    public: whether everybody who visits sees it.
    order: what was asked for, to go on with it; None where that is not known.
    sure: what the run was to be sure of and how sure it was at its end; None for all pairs.
    notes: what a reader must know of how it went on.
    typed: the texts of the pair that it scores, where its owner typed it; None for other pairs.
    wrong: why it cannot be read, in a sentence; "" where it can. All but the owner is not known
        then, and it is never written.
    """

    owner: str = EVERYBODY
    title: str = ""
    public: Annotated[bool, Strict()] = False
    order: Annotated[ModelOrder | None, BeforeValidator(_ordered)] = None
    sure: SureInterval | None = None
    notes: tuple[str, ...] = ()
    typed: Texts | None = None
    wrong: str = ""

    def titled(self, title: object) -> "RunCard":
        """With another title.

        Raises:
            KnownError: it is no text, or too long.
        """
        words = " ".join(repaired(title).split()) if isinstance(title, str) else None
        if words is None or len(words) > LONGEST_TITLE:
            raise KnownError(
                f"A run's name has at most {LONGEST_TITLE} characters; {shown(title)} is none."
            )
        return replace(self, title=words)


def card_of(run: Run) -> RunCard:
    """The card of a run as it is now, or one that says what is wrong with it."""
    with suppress(KnownError):
        run = Run.open(run.folder)
    return _parsed(json.dumps(run.about), run.id[:15])


def pairs_of(run: Run, library: Library) -> PairTable:
    """The pairs that a run scored.

    Raises:
        KnownError: they are not here, or not any more.
    """
    typed = card_of(run).typed
    return library.here(run.facts.pairs) if typed is None else library.typed(*typed)


def serialize_card(card: RunCard) -> dict[str, object]:
    """A card as `Run.about` holds it."""
    values = {**asdict(card), "order": card.order and card.order.stored()}
    del values["wrong"]
    return values


def change_card(run: Run, change: Callable[[RunCard], RunCard]) -> None:
    """Change a card as it stands when no other process or thread is changing it.

    Raises:
        OSError: the disk does not take it.
        KnownError: the card cannot be read, or others change it all the time; whatever `change`
            raises.
    """

    def changed(now: Run) -> Run:
        card = _parsed(json.dumps(now.about), now.id[:15])
        if card.wrong:
            raise KnownError(card.wrong)
        return replace(now, about=serialize_card(change(card)))

    run.update(changed)


@cache
def _adapter() -> TypeAdapter[RunCard]:
    return TypeAdapter(RunCard)


@lru_cache(maxsize=4096)
def _parsed(about: str, name: str) -> RunCard:
    """The card that a run's file tells of, as JSON. name: of the run, for the log."""
    values = json.loads(about)
    try:
        return validated(_adapter(), {**_NEEDED, **values}) if values else RunCard()
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        why = first_line(error)
    logger.warning("the settings of run %s cannot be read: %s", name, why)
    owner = values.get("owner")
    return RunCard(
        owner if isinstance(owner, str) else EVERYBODY,
        wrong=(
            f"This run's settings file run.json is damaged ({why}). Its name and visibility are "
            "unknown and cannot be changed. Fix the file, or delete the run."
        ),
    )
