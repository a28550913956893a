"""Uncertainty that was computed once, kept on disk by a digest of what it was computed from."""

import hashlib
import logging
import threading
import time
from collections.abc import Collection, Generator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.core.caches import LruCache, keep_newest
from explorer.stats.aggregate import Missing, Ties
from explorer.stats.clusters import clusters_of
from explorer.stats.intervals import REPLICATES
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import Rule
from explorer.stats.uncertainty import SEED, Measuring, Uncertainty, blank, measure
from scoring.hub.access import first_line
from scoring.paths import atomic_write

logger = logging.getLogger(__name__)

_FORMAT = "3"
"""Changes when the same outcomes and rule give other numbers."""
PATIENCE_SECONDS = 60.0
"""Without a step, after which a measurement is taken as given up."""
_WAIT_SECONDS = 0.2
_KEPT_ON_DISK = 40
_KEPT_IN_MEMORY = 8


class _UnderWay:
    """A measurement that somebody computes: its last step, and when that was."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._step: Measuring | None = None
        self._since = time.monotonic()

    @property
    def stuck(self) -> bool:
        """Whether nobody goes on with it, as of a page that was closed in the middle."""
        return time.monotonic() - self._since > PATIENCE_SECONDS

    def told(
        self, steps: Generator[Measuring, None, Uncertainty]
    ) -> Generator[Measuring, None, Uncertainty]:
        """The same steps, remembered for those who wait."""
        while True:
            try:
                self._step = next(steps)
            except StopIteration as done:
                found: Uncertainty = done.value
                return found
            self._since = time.monotonic()
            yield self._step

    def awaited(self) -> Generator[Measuring, None, None]:
        """Its last step, again and again, until it has ended or is stuck."""
        while not (self.ended.wait(_WAIT_SECONDS) or self.stuck):
            if self._step is not None:
                yield self._step


class Uncertainties:
    """Computes `Uncertainty` and keeps it: in memory, and on disk."""

    def __init__(self, home: Path) -> None:
        """home: what the settings call so."""
        self._folder = home / "uncertainty"
        self._lock = threading.Lock()
        self._known = LruCache[Uncertainty](_KEPT_IN_MEMORY)
        self._under_way: dict[str, _UnderWay] = {}

    def known(
        self,
        outcomes: OutcomeMatrix,
        rule: Rule,
        *,
        ties: Ties = "official",
        missing: Missing = "left out",
        ranked: Collection[str] | None = None,
    ) -> Uncertainty | None:
        """What was computed of the same outcomes by the same rule; None where nothing was."""
        key = key_of(outcomes, rule, ties=ties, missing=missing, ranked=ranked)
        return self._find(key, outcomes.models)

    def measured(
        self,
        outcomes: OutcomeMatrix,
        rule: Rule,
        *,
        ties: Ties = "official",
        missing: Missing = "left out",
        ranked: Collection[str] | None = None,
    ) -> Generator[Measuring, None, Uncertainty]:
        """As `measure`, but what is known is not computed again.

        Of several who ask for the same at once one computes it. The others tell how far that is;
        where it is given up, or takes no step for `PATIENCE_SECONDS`, another goes on in its place.
        """
        key = key_of(outcomes, rule, ties=ties, missing=missing, ranked=ranked)
        while (found := self._find(key, outcomes.models)) is None:
            with self._lock:
                other, mine = self._under_way.get(key), _UnderWay()
                if other is None or other.stuck:
                    other, self._under_way[key] = None, mine
            if other is not None:
                yield from other.awaited()
                continue
            try:
                found = yield from mine.told(
                    measure(outcomes, rule, ties=ties, missing=missing, ranked=ranked)
                )
                self._known[key] = found
                _write(self._folder / f"{key}.npz", found)
            finally:
                with self._lock:
                    if self._under_way.get(key) is mine:
                        del self._under_way[key]
                mine.ended.set()
        return found

    def _find(self, key: str, models: tuple[str, ...]) -> Uncertainty | None:
        found = self._known.get(key)
        if found is None:
            found = _read(self._folder / f"{key}.npz")
            if found is None or found.models != models:
                return None
            self._known[key] = found
        return found


def key_of(
    outcomes: OutcomeMatrix,
    rule: Rule,
    *,
    ties: Ties,
    missing: Missing,
    ranked: Collection[str] | None,
) -> str:
    """A digest of all that the numbers depend on.

    It takes in the outcomes themselves, so that a folder, which has no revision, and a person's own
    runs are told apart as well.
    """
    digest = hashlib.blake2b(digest_size=16)
    whom = None if ranked is None else sorted(ranked)
    options = (_FORMAT, rule.name, ties, missing, whom, REPLICATES, SEED)
    written = repr((options, outcomes.models, outcomes.pairs.names))
    digest.update(written.encode("utf-8", "replace"))
    clusters = clusters_of(outcomes.pairs)
    arrays: list[NDArray[Any]] = [outcomes.pairs.codes, clusters, outcomes.outcomes]
    if ties == "half":
        arrays.append(outcomes.known_equal)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _write(path: Path, found: Uncertainty) -> None:
    """Whole or not at all; a full disk costs only time."""
    arrays: dict[str, Any] = {field.name: getattr(found, field.name) for field in fields(found)}
    arrays["models"] = _as_bytes(found.models)
    arrays["sections"] = _as_bytes(found.sections)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        keep_newest(path.parent.glob("*.npz"), _KEPT_ON_DISK)
    except OSError as error:
        logger.warning("intervals are not kept in %s: %s", path.parent, first_line(error))


def _read(path: Path) -> Uncertainty | None:
    """What was written; None where there is nothing, or it is broken."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays: dict[str, Any] = {field.name: file[field.name] for field in fields(Uncertainty)}
        models, sections = (_as_names(arrays.pop(name)) for name in ("models", "sections"))
        wanted_of = blank(models, sections, np.zeros(len(models), np.bool_))
        for name, array in arrays.items():
            wanted = getattr(wanted_of, name)
            if (array.shape, array.dtype) != (wanted.shape, wanted.dtype):
                raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}")
        return Uncertainty(models, sections, **arrays)
    except Exception as error:  # a broken file makes zipfile and numpy raise anything
        logger.warning("the intervals in %s are not used: %s", path, first_line(error))
        return None


def _as_bytes(names: tuple[str, ...]) -> NDArray[np.uint8]:
    """Names as UTF-8 with their ends: NumPy's own texts lose NUL at the end."""
    return np.frombuffer("".join(f"{len(name)}:{name}" for name in names).encode(), np.uint8)


def _as_names(written: NDArray[np.uint8]) -> tuple[str, ...]:
    """The inverse of `_as_bytes`.

    >>> _as_names(_as_bytes(("a:1", "", "é")))
    ('a:1', '', 'é')
    """
    left, names = written.tobytes().decode(), []
    at = 0
    while at < len(left):
        end = left.index(":", at)
        start, size = end + 1, int(left[at:end])
        names.append(left[start : start + size])
        at = start + size
    return tuple(names)
