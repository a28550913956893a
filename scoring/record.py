"""A run on disk, written as it streams: run.json says what it is, rewards.jsonl holds its pairs."""

import json
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin

from scoring.errors import KnownError
from scoring.spec import RunFacts, ScoredPair, outcome_of

Status = Literal["running", "finished", "stopped", "failed"]

LATEST = 2.0**40
"""Seconds since 1970 beyond which a time is an error."""
_FACT_TYPES: dict[str, Any] = {
    field.name: get_origin(field.type) or field.type for field in fields(RunFacts)
}
_FACTS_FILE = "run.json"
_ROWS_FILE = "rewards.jsonl"


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run.

    started: seconds since 1970.
    seconds, n_scored: time spent scoring and pairs scored; 0 while it runs.
    """

    folder: Path
    facts: RunFacts
    status: Status
    started: float
    seconds: float
    n_scored: int = 0

    @property
    def id(self) -> str:
        """The folder's name: unguessable, so that knowing it is permission to read it."""
        return self.folder.name

    @classmethod
    def create(cls, home: Path, facts: RunFacts) -> Self:
        """Start a run in a new folder below `home`."""
        name = time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(8)
        run = cls(home / name, facts, "running", time.time(), 0.0)
        run.folder.mkdir(parents=True)
        run._write()
        return run

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a stored run.

        Raises:
            KnownError: the folder is not a run.
        """
        try:
            values = json.loads((folder / _FACTS_FILE).read_text(encoding="utf-8"))
            facts = RunFacts(**values["facts"])
            status, started, seconds = values["status"], values["started"], values["seconds"]
            for name, kind in _FACT_TYPES.items():
                if not isinstance(getattr(facts, name), kind):
                    raise ValueError(f"{name} is not {kind}")
            if status not in get_args(Status):
                raise ValueError(f"no status {status!r}")
            times = float(started), float(seconds)
            if not all(0 <= seconds < LATEST for seconds in times):
                raise ValueError("no time of day")
            return cls(folder, facts, status, *times, int(values.get("n_scored", 0)))
        except (
            OSError,
            ArithmeticError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            raise KnownError(f"{folder.name!r} is not a stored run.") from error

    def record(self, packs: Iterable[tuple[ScoredPair, ...]]) -> Iterator[tuple[ScoredPair, ...]]:
        """Pass packs on, each written to disk before it is passed."""
        with (self.folder / _ROWS_FILE).open("a", encoding="utf-8") as file:
            for pack in packs:
                file.writelines(json.dumps(asdict(row)) + "\n" for row in pack)
                file.flush()
                yield pack

    def ended(self, status: Status, seconds: float, n_scored: int) -> Self:
        """Write down how the run ended, how long it scored and how many pairs."""
        run = replace(self, status=status, seconds=seconds, n_scored=n_scored)
        run._write()
        return run

    def rows(self) -> list[ScoredPair]:
        """Every pair scored so far; a torn last line, left by a kill, is dropped.

        Raises:
            KnownError: a line is broken.
        """
        path = self.folder / _ROWS_FILE
        if not path.is_file():
            return []
        try:
            lines = path.read_text(encoding="utf-8").split("\n")[:-1]
            rows = [ScoredPair(**json.loads(line)) for line in lines]
            for row in rows:
                outcome_of(row.margin)
            return rows
        except (OSError, ValueError, TypeError) as error:
            raise KnownError(f"The rewards of run {self.id!r} cannot be read.") from error

    def _write(self) -> None:
        values = {
            "facts": asdict(self.facts),
            "status": self.status,
            "started": self.started,
            "seconds": self.seconds,
            "n_scored": self.n_scored,
        }
        part = self.folder / f"{_FACTS_FILE}.part"
        part.write_text(json.dumps(values, indent=1), encoding="utf-8")
        part.replace(self.folder / _FACTS_FILE)


def stored_runs(home: Path) -> list[Run]:
    """All runs below `home`, newest first; folders that are no run are passed over."""
    runs = []
    for folder in home.glob("*/"):
        try:
            runs.append(Run.open(folder))
        except KnownError:
            continue
    return sorted(runs, key=lambda run: run.started, reverse=True)
