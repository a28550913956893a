"""What is known of a stored run beside its numbers: whose it is, what it is called, who sees it."""

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated

from filelock import FileLock, Timeout
from pydantic import BeforeValidator, Strict, TypeAdapter

from explorer.core.validation import repaired, validated
from explorer.data.library import Library
from explorer.data.table import PairTable
from explorer.data.typed import Texts
from explorer.runs.orders import ModelOrder
from explorer.runs.visitors import EVERYBODY
from scoring.errors import KnownError, shown
from scoring.hub.access import first_line
from scoring.paths import atomic_write
from scoring.record import Run
from scoring.sure import SureInterval

LONGEST_TITLE = 80
LOCK_SECONDS = 10.0
"""How long a change waits for another one."""
_FILE = "card.json"
_LOCK = "card.lock"
_OWNER = "owner"
"""Written once, so that a run whose card is torn is found by whom it belongs to."""

_NEEDED = dict.fromkeys(("owner", "title", "public"))
"""What every card on disk says."""

logger = logging.getLogger(__name__)


def _ordered(values: object) -> ModelOrder | None:
    return None if values is None else ModelOrder.of(values)


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
    wrong: why the card on disk cannot be read, in a sentence; "" where it can. All but the owner
        is not known then, and the card is never written.
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
    """The card of a run; an empty one where there is none, or that says what is wrong with it."""
    return card_in(run.folder)


def card_in(folder: Path) -> RunCard:
    """The same of the folder of a run, which may be damaged."""
    path = folder / _FILE
    try:
        now = path.stat()
        return _kept(path, (now.st_mtime_ns, now.st_ino, now.st_size))
    except OSError:
        return _read(path)


def pairs_of(run: Run, library: Library) -> PairTable:
    """The pairs that a run scored.

    Raises:
        KnownError: they are not here, or not any more.
    """
    typed = card_of(run).typed
    return library.here(run.facts.pairs) if typed is None else library.typed(*typed)


def write_card(folder: Path, card: RunCard) -> None:
    """Put a card into the folder of a run.

    Raises:
        OSError: the disk does not take it.
    """
    values = {**asdict(card), "order": card.order and card.order.stored()}
    del values["wrong"]
    if not (folder / _OWNER).exists():
        with atomic_write(folder / _OWNER) as part:
            part.write_text(card.owner, encoding="utf-8")
    with atomic_write(folder / _FILE) as part:
        part.write_text(json.dumps(values), encoding="utf-8")


def change_card(run: Run, change: Callable[[RunCard], RunCard]) -> None:
    """Change a card as it stands when no other process or thread is changing it.

    Raises:
        OSError: the disk does not take it.
        KnownError: the card cannot be read, or others change it all the time; whatever `change`
            raises.
    """
    try:
        with FileLock(run.folder / _LOCK, timeout=LOCK_SECONDS):
            card = _read(run.folder / _FILE)
            if card.wrong:
                raise KnownError(card.wrong)
            write_card(run.folder, change(card))
    except Timeout as error:
        raise KnownError("This run is being changed elsewhere. Try again in a moment.") from error


@cache
def _adapter() -> TypeAdapter[RunCard]:
    return TypeAdapter(RunCard)


@lru_cache(maxsize=4096)
def _kept(path: Path, version: tuple[int, int, int]) -> RunCard:
    """The card in a file. version: its time, number and size, one of which a change changes."""
    return _parsed(path)


def _read(path: Path) -> RunCard:
    try:
        return _parsed(path)
    except FileNotFoundError:
        return RunCard()
    except OSError as error:
        return _wrong(path, error.strerror or first_line(error))


def _parsed(path: Path) -> RunCard:
    content = path.read_text(encoding="utf-8", errors="surrogateescape")
    try:
        values = {**_NEEDED, **json.loads(content)}
        json.dumps(values, ensure_ascii=False).encode()  # no page can show lone surrogates
        return validated(_adapter(), values)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return _wrong(path, first_line(error))


def _wrong(path: Path, why: str) -> RunCard:
    """What is known of a run whose card cannot be read."""
    logger.warning("card.json of run %s cannot be read: %s", path.parent.name[:15], why)
    try:
        owner = (path.parent / _OWNER).read_text(encoding="utf-8")
    except (OSError, ValueError):
        owner = EVERYBODY
    return RunCard(
        owner,
        wrong=(
            f"This run's card.json cannot be read ({why}): its name, visibility and settings are "
            "unknown, and nothing is written to it. Fix the file, or delete the run."
        ),
    )
