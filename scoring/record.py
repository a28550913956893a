"""A run on disk, written as it streams.

`run.json` holds its facts, `plan.json` the packs of its pairs, and each `rewards*.jsonl` the pairs
that one process scored. Killed at any moment, a run goes on with the packs that are not whole.
"""

import json
import logging
import math
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from filelock import FileLock, Timeout
from pydantic import Field, TypeAdapter, with_config

from scoring.benchmarks import rule_name_of
from scoring.errors import KnownError
from scoring.paths import atomic_write
from scoring.spec import ASKED, Plan, RunFacts, ScoredPack, ScoredPair

logger = logging.getLogger(__name__)

Given = TypeVar("Given", ScoredPack, ScoredPack | None)
Status = Literal["running", "finished", "stopped", "failed"]

LOCK_FILE = "lock"
_FACTS_FILE, _PLAN_FILE = "run.json", "plan.json"
_FILES = re.compile(r"(run|plan|card)\.json|(rewards|answers).*\.jsonl|owner")
"""Files of a run's folder, some of them written by the app."""
_LATER = "; later "
"""Between the path that a run's packs took and the one that they took from some pack on."""
_UNREADABLE = (
    OSError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""Errors that files of any content cause."""
_AMOUNT = Field(ge=0, lt=2.0**40)  # a later second since 1970 cannot be right


@with_config(strict=True, revalidate_instances="always")
@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    row: ScoredPair
    pack: Annotated[int, _AMOUNT]
    pack_seconds: Annotated[float, _AMOUNT]
    pack_tokens: Annotated[int, _AMOUNT]
    pack_parts: Annotated[int, _AMOUNT]


_PACK = ("pack", "pack_seconds", "pack_tokens", "pack_parts")
_LINES = TypeAdapter(_Line)


@with_config(strict=True)
@dataclass(frozen=True, slots=True)
class Run:
    """A stored run, as in `run.json`; keys of other versions are ignored there.

    started: seconds since 1970.
    seconds: spent on packs, by all processes together; while the run is under way, it and the
        counts are of the packs that were there when it last went on, 0 in the beginning.
    split_packs: computed in parts for lack of memory.
    about: JSON of the program that keeps the run, such as its owner; not compared.
    request: a digest of the command line's request; "" if unknown.
    """

    folder: Annotated[Path, Field(default=Path())]
    facts: RunFacts
    status: Status
    started: Annotated[float, _AMOUNT]
    seconds: Annotated[float, _AMOUNT] = 0.0
    n_scored: Annotated[int, _AMOUNT] = 0
    tokens: Annotated[int, _AMOUNT] = 0
    split_packs: Annotated[int, _AMOUNT] = 0
    about: Mapping[str, Any] = field(default_factory=dict, compare=False)
    request: str = ""

    @property
    def id(self) -> str:
        """The folder's name, which cannot be guessed."""
        return self.folder.name

    @classmethod
    def create(
        cls,
        folder: Path,
        facts: RunFacts,
        plan: Plan,
        keys: Sequence[str],
        *,
        after: float = 0.0,
        about: Mapping[str, Any] | None = None,
        request: str = "",
    ) -> Self:
        """Start a run in a new folder, or one that `check_free` lets pass.

        keys: of all its pairs, in the dataset's order.
        after: start of the run before it; this one starts later, though clocks are set back.
        """
        check_free(folder)
        started = max(time.time(), math.nextafter(after, math.inf))
        run = cls(folder, facts, "running", started, about=about or {}, request=request)
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / _PLAN_FILE) as file:
            file.write_text(json.dumps({"keys": list(keys), "packs": plan}), "utf-8")
        run._write_facts()
        return run

    @staticmethod
    def open(folder: Path) -> "Run":
        """Open a stored run, or raise a `KnownError`; its file is read again only if changed."""
        try:
            now = (folder / _FACTS_FILE).stat()
            return _opened(folder, (now.st_mtime_ns, now.st_ino, now.st_size))
        except _UNREADABLE as error:
            raise KnownError(f"{folder.name!r} is not a stored run.") from error

    def plan(self) -> tuple[Plan, list[str]]:
        """Return packs, and keys of all pairs in the dataset's order, or raise a `KnownError`."""
        try:
            values = json.loads((self.folder / _PLAN_FILE).read_text(encoding="utf-8"))
            keys = [str(key) for key in values["keys"]]
            plan = tuple(tuple(int(place) for place in pack) for pack in values["packs"])
            if sorted(place for pack in plan for place in pack) != list(range(len(keys))):
                raise ValueError("its packs are not the pairs")
            return plan, keys
        except _UNREADABLE as error:
            raise KnownError(
                f"The plan of run {self.id!r} cannot be read. Begin a new run."
            ) from error

    def record(self, packs: Iterable[Given], part: str = "") -> Generator[Given, None, None]:
        """Write packs to disk and pass each on then, and None among them.

        The run's facts say so if a pack took another path than those before. part: names the file
        of one of several processes.
        """
        began, path = time.monotonic(), self.facts.path.split(_LATER)[-1]
        with (self.folder / f"rewards{part}.jsonl").open("a", encoding="utf-8") as file:
            for pack in packs:
                if pack is None:
                    yield pack
                    continue
                seconds = round(time.monotonic() - began, 4)
                values = (pack.place, seconds, pack.tokens, pack.parts)
                of_pack = dict(zip(_PACK, values, strict=True))
                file.writelines(f"{json.dumps(row.values() | of_pack)}\n" for row in pack.rows)
                file.flush()
                if pack.path not in ("", path):
                    path = pack.path
                    self.update(partial(_add_path, path=path))
                yield pack
                began = time.monotonic()

    def resumed(self) -> tuple["Run", set[int]]:
        """Remove all but whole packs from the disk; return the run and these, or a `KnownError`.

        Packs with a missing reward go, too, if a server may give it now.
        """
        lines = self._all_lines()
        found = Counter(line.pack for line in lines)
        sizes = dict(enumerate(map(len, self.plan()[0])))
        whole = {place for place, n_rows in found.items() if sizes.get(place) == n_rows}
        if self.facts.family in ASKED:
            whole -= {line.pack for line in lines if line.row.margin is None}
        for path in self._parts():
            kept = [line for line in self._lines(path) if line.pack in whole]
            with atomic_write(path) as part:
                text = "".join(f"{line.text}\n" for line in kept)
                part.write_bytes(text.encode("utf-8", "surrogateescape"))
        return self._mark("running", [line for line in lines if line.pack in whole]), whole

    def mark_ended(self, status: Status) -> "Run":
        """Write down how the run ended."""
        return self._mark(status, self._all_lines())

    def _mark(self, status: Status, lines: list[_Line]) -> "Run":
        packs = {line.pack: line for line in lines}.values()
        counts: dict[str, Any] = {
            "seconds": round(sum((pack.pack_seconds for pack in packs), 0.0), 4),
            "n_scored": len(lines),
            "tokens": sum(pack.pack_tokens for pack in packs),
            "split_packs": sum(pack.pack_parts > 1 for pack in packs),
        }
        return self.update(lambda now: replace(now, status=status, **counts))

    def update(self, change: Callable[["Run"], "Run"]) -> "Run":
        """Change the run's file under its lock; an OSError, or a `KnownError` after 10 s.

        change: gets the run as its file has it, or this one if that cannot be read.
        """
        now, lock = self, self.folder / "run.lock"
        try:
            lock.touch()  # a lock makes the folder anew where that was removed
            with FileLock(lock, 10.0, poll_interval=0.01):
                with suppress(KnownError):
                    now = Run.open(self.folder)
                run = change(now)
                run._write_facts()
        except Timeout as error:
            raise KnownError("This run is being changed elsewhere. Try again.") from error
        return run

    def rows(self) -> list[ScoredPair]:
        """Return every pair scored so far, but of broken lines, or raise a `KnownError`."""
        return [line.row for line in self._all_lines()]

    def n_bytes(self) -> int:
        """Size of its pairs on disk, which grows with them; 0 once the run is removed."""
        with suppress(FileNotFoundError):
            return sum(path.stat().st_size for path in self._parts())
        return 0

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("rewards*.jsonl"))

    def _all_lines(self) -> list[_Line]:
        return [line for path in self._parts() for line in self._lines(path)]

    def _lines(self, path: Path) -> list[_Line]:
        try:
            lines = path.read_text(encoding="utf-8", errors="surrogateescape").split("\n")[:-1]
        except OSError as error:
            raise KnownError(
                f"The rewards of run {self.id!r} cannot be read. Begin a new run."
            ) from error
        rule = rule_name_of(self.facts.benchmark)
        whole = [line for text in lines if (line := _parse_line(text, rule)) is not None]
        if len(whole) < len(lines):
            logger.warning("%s: %d broken lines of %s", self.id, len(lines) - len(whole), path.name)
        return whole

    def _write_facts(self) -> None:
        values = {name: getattr(self, name) for name in self.__slots__ if name != "folder"}
        with atomic_write(self.folder / _FACTS_FILE) as file:
            file.write_text(json.dumps({**values, "facts": asdict(self.facts)}, indent=1), "utf-8")


_RUNS = TypeAdapter(Run)


def _add_path(run: Run, path: str) -> Run:
    paths = run.facts.path.split(_LATER) if run.facts.path else []
    if paths[-1:] == [path]:  # another process said so
        return run
    return replace(run, facts=replace(run.facts, path=_LATER.join([*paths, path])))


def _parse_line(text: str, rule: str) -> _Line | None:
    """None if the line is broken. rule: name of its pair's."""
    try:
        values = json.loads(text)
        of_pack = {name: values.pop(name) for name in _PACK}
        if "rewards" in values:
            values["rewards"] = tuple(values["rewards"])
            if not 0 < values["n_chosen"] < len(values["rewards"]):
                raise ValueError("its responses have no rewards")
        if "repeats" in values:
            values["repeats"] = tuple(map(tuple, values["repeats"]))
        return _LINES.validate_python(_Line(text, ScoredPair(**values, rule=rule), **of_pack))
    except _UNREADABLE:
        return None


@lru_cache(maxsize=4096)
def _opened(folder: Path, version: tuple[int, int, int]) -> Run:
    """version: the time, number and size of its file, one of which a change changes."""
    run = _RUNS.validate_json((folder / _FACTS_FILE).read_bytes())
    about: object = run.about
    if not about:
        with suppress(OSError, ValueError, RecursionError):  # where earlier versions kept it
            about = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    return replace(run, folder=folder, about=about if isinstance(about, dict) else {})


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a run's folder, or raise a `KnownError` if it is used; some disks have no locks.

    A missing folder is made, and removed again if nothing came into it.
    """
    file, is_made = folder / LOCK_FILE, False
    # Readers that probe the lock hold it for a moment.
    lock = FileLock(file, 1.0, thread_local=False, poll_interval=0.01)
    try:
        is_made = not folder.exists()
        lock.acquire()
    except Timeout as error:
        message = "This run is under way already. Follow it, or stop it first."
        raise KnownError(message) from error
    except OSError:
        pass
    try:
        yield
    finally:
        with suppress(OSError):
            if is_made and [*folder.iterdir()] == [file]:
                file.unlink()
                folder.rmdir()
        lock.release()


def has_run(folder: Path) -> bool:
    """Whether a folder holds a run, whole or not."""
    return (folder / _FACTS_FILE).exists()


def check_free(folder: Path) -> None:
    """Raise a `KnownError` if a folder holds a run, or what is left of one."""
    if has_run(folder):
        raise KnownError(
            f"{folder} holds a run already. Go on with it (--resume), or give another folder."
        )
    left = sorted(path.name for path in folder.glob("*.jsonl") if _FILES.fullmatch(path.name))
    if left:  # of settings and pairs that nobody knows
        raise KnownError(
            f"{folder} holds {left[0]} of a run whose {_FACTS_FILE} is gone. Give another "
            "folder, or remove that file."
        )


def new_folder(home: Path) -> Path:
    """A folder below `home` that no run has yet; it is not made."""
    return home / (time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(8))


def stored_runs(home: Path) -> list[Run]:
    """Return all runs below `home`, newest first."""
    runs = []
    for folder in home.glob("*/"):
        with suppress(KnownError):
            runs.append(Run.open(folder))
    return sorted(runs, key=lambda run: run.started, reverse=True)


def damaged_runs(home: Path) -> list[Path]:
    """Return folders below `home` that hold a run's file and cannot be opened, by name."""
    stored = {run.folder for run in stored_runs(home)}
    others = (folder for folder in sorted(home.glob("*/")) if folder not in stored)
    return [each for each in others if any(_FILES.fullmatch(path.name) for path in each.glob("*"))]


_LAST_BITS = ("device", "versions", "path")
"""Facts that can touch the last bits of a reward alone; all others must be equal to go on."""


def resume(run: Run, facts: RunFacts, keys: Sequence[str]) -> tuple[Run, set[int], tuple[str, ...]]:
    """Make a stored run ready to go on; return it, its whole packs, and notes for its readers.

    facts, keys: of the request; a `KnownError` if the run's are others, or it cannot be read.
    """
    notes = []
    for name in (each.name for each in fields(RunFacts) if each.name != "budget"):
        before, now = getattr(run.facts, name), getattr(facts, name)
        if before != now and name not in _LAST_BITS:
            fact = "number of pairs" if name == "n_pairs" else name.replace("_", " ")
            raise KnownError(
                f"Run {run.id[:15]} is another one: its {fact} is {before!r}, and {now!r} is asked "
                "for. Ask for the same, or begin a new run."
            )
        if before != now:
            notes.append(
                f"This run began with {name} {before}, and goes on with {now}: its last bits may "
                "differ from those of an unbroken run."
            )
    if run.plan()[1] != list(keys):
        raise KnownError(f"Run {run.id[:15]} is of other pairs. Begin a new run.")
    return *run.resumed(), tuple(notes)
