"""Uncertainty that was computed once, kept on disk by a digest of what it was computed from."""

import hashlib
import logging
from collections.abc import Collection, Generator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.core.caches import LruCache, keep_newest
from explorer.core.work import Shared
from explorer.stats.aggregate import Missing, Ties
from explorer.stats.clusters import clusters_of
from explorer.stats.intervals import REPLICATES
from explorer.stats.matrix import OutcomeMatrix
from explorer.stats.rules import Rule
from explorer.stats.uncertainty import SEED, Uncertainty, blank, measure
from scoring.hub.access import first_line
from scoring.limits import Step
from scoring.paths import atomic_write

logger = logging.getLogger(__name__)

_FORMAT = "3"
"""Changes when the same outcomes and rule give other numbers."""
_KEPT_ON_DISK = 40
_KEPT_IN_MEMORY = 8


class Uncertainties:
    """Computes `Uncertainty` and keeps it: in memory, and on disk."""

    def __init__(self, home: Path) -> None:
        """home: what the settings call so."""
        self._folder = home / "uncertainty"
        self._known = LruCache[Uncertainty](_KEPT_IN_MEMORY)
        self._measuring = Shared[Step, Uncertainty]()

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
    ) -> Generator[Step, None, Uncertainty]:
        """As `measure`, but what is known is not computed again, nor twice at once."""
        key = key_of(outcomes, rule, ties=ties, missing=missing, ranked=ranked)

        def measuring() -> Generator[Step, None, Uncertainty]:
            found = self._find(key, outcomes.models)
            if found is None:
                found = yield from measure(
                    outcomes, rule, ties=ties, missing=missing, ranked=ranked
                )
                self._known[key] = found
                _write(self._folder / f"{key}.npz", found)
            return found

        return (yield from self._measuring.follow(key, measuring))

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
