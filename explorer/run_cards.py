"""What is known of a stored run beside its numbers: whose it is, what it is called, who sees it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from explorer.orders import ModelOrder
from explorer.posted import repaired
from explorer.typed_pairs import Texts
from explorer.visitors import EVERYBODY
from scoring.errors import KnownError, shown
from scoring.record import Run
from scoring.sure import SureInterval, SureRule

LONGEST_TITLE = 80
_FILE = "card.json"


@dataclass(frozen=True, slots=True)
class RunCard:
    """Beside a run.

    owner: as of `Visitor`; `EVERYBODY` for a run that is nobody's alone.
    title: what its owner calls it; "" where they did not say.
    public: whether everybody who visits sees it.
    order: what was asked for, to go on with it; None where that is not known.
    sure: what the run was to be sure of and how sure it was at its end; None for all pairs.
    notes: what a reader must know of how it went on.
    typed: the texts of the pair that it scores, where its owner typed it; None for other pairs.
    """

    owner: str = EVERYBODY
    title: str = ""
    public: bool = False
    order: ModelOrder | None = None
    sure: SureInterval | None = None
    notes: tuple[str, ...] = ()
    typed: Texts | None = None

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
    """The card of a run; an empty one where there is none, or none that can be read."""
    path = run.folder / _FILE
    try:
        return _read(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, TypeError, LookupError, RecursionError, KnownError):
        return RunCard()


@lru_cache(maxsize=4096)
def _read(path: Path, changed: int) -> RunCard:
    """The card in a file; changed: when it last did."""
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    order = values["order"] and ModelOrder.of(values["order"])
    sure = values.get("sure")
    owner, title, notes = values["owner"], values["title"], values.get("notes", [])
    typed = values.get("typed")
    if not all(isinstance(each, str) for each in (owner, title, *notes, *(typed or ()))):
        raise ValueError("no text")
    conversation, chosen, rejected = typed or ("", "", "")
    return RunCard(
        owner,
        title,
        public=values["public"] is True,
        order=order,
        sure=sure and _sure(**sure),
        notes=tuple(notes),
        typed=(conversation, chosen, rejected) if typed else None,
    )


def _sure(rule: Mapping[str, Any], **told: Any) -> SureInterval:
    return SureInterval(rule=SureRule(**rule), **told)


def write_card(run: Run, card: RunCard) -> None:
    """Put a card beside a run.

    Raises:
        OSError: the disk does not take it.
    """
    part = run.folder / f"{_FILE}.part"
    order = card.order and card.order.stored()
    part.write_text(json.dumps({**asdict(card), "order": order}), encoding="utf-8")
    part.replace(run.folder / _FILE)
