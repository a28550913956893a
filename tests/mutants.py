"""Plant known bugs in copies of the code, one at a time, and count the tests that notice each.

Usage: python -m tests.mutants [ROOM...], a room being a file or a folder of tests/planted.

A bug is an exact text in a file, what takes its place, and the promise that it breaks. Where its
code goes, it is planted anew, under the same promise, in the code that keeps the promise then.
A run of all rooms writes tests/mutants.md.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.conftest import REAL_DATA, ROOT

PLANTED = ROOT / "tests" / "planted"
TABLE = ROOT / "tests" / "mutants.md"
COPIES = 2
MOST_SECONDS = 120.0
"""Of the tests of one bug."""
MOST_ROOM_SECONDS = 1000.0
"""Of those that notice a bug of a room, without one."""
PATIENCE = "40"
"""Seconds that a test waits for what never comes."""
PATIENCE_OF = {
    "explorer/core": "10", "presses": "15", "review": "10", "reading": "4", "scripts": "4",
}  # fmt: skip
"""In some rooms less, as nobody computes."""
INTRODUCTION = """\
# Planted bugs, and how many test functions notice each

Written by `make mutants`. Where nobody notices a bug, a test is missing, or it says why it is none.
"""


class Bug(NamedTuple):
    """A row of a file in tests/planted.

    promise: what does not hold any more, as a user or the owner would say it.
    tests: the nearest files or tests, as pytest takes them.
    hangs: whether the promise is that something ends, so that tests which never do notice it.
    survives: why it is no fault that no test notices; else "".
    """

    room: str
    promise: str
    file: str
    before: str
    after: str
    tests: Sequence[str]
    hangs: bool = False
    survives: str = ""


def read_bugs(rooms: Sequence[str]) -> list[Bug]:
    """Bugs of some rooms, or of all for none.

    Raises:
        SystemExit: no such room, or the texts of these bugs do not stand in their files just once.
    """
    bugs = [
        Bug(path.relative_to(PLANTED).with_suffix("").as_posix(), **row)
        for path in sorted(PLANTED.rglob("*.toml"))
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["bug"]
    ]
    wanted = tuple(f"{room.strip('/')}/" for room in rooms) or ""
    bugs = [bug for bug in bugs if f"{bug.room}/".startswith(wanted)]
    errors = [] if bugs else [f"There is no room {', '.join(rooms)} in {PLANTED}."]
    for bug in bugs:
        path = ROOT / bug.file
        n = path.read_text(encoding="utf-8").count(bug.before) if path.is_file() else 0
        if n != 1:
            errors.append(f"{bug.room}: {bug.promise}: its text stands {n} times in {bug.file}.")
        gone = [each for each in bug.tests if not (ROOT / each.partition("::")[0]).exists()]
        errors += [f"{bug.room}: {bug.promise}: there is no {each}." for each in gone]
    if errors:
        raise SystemExit("\n".join(errors))
    return bugs


@contextmanager
def copied_code() -> Iterator[Path]:
    """A folder with all files of this one but ignored ones, with its environment and its data."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        code = Path(folder, "code")
        for name in names.split("\0"):
            if (ROOT / name).is_file():
                (code / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, code / name)
        (code / ".venv").symlink_to(ROOT / ".venv")
        data = Path(folder, REAL_DATA.relative_to(ROOT.parent))
        data.parent.mkdir()
        data.symlink_to(REAL_DATA)
        yield code


def failing_tests(code: Path, room: str, tests: Sequence[str], seconds: float) -> set[str] | None:
    """Test functions that fail; None if the tests take longer than that."""
    options = ["-n", "0", "--tb=no", "-rfE", "-m", "not slow or e2e", "-p", "no:cacheprovider"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, "--hypothesis-seed=0", *tests],
        cwd=code,
        env={**os.environ, "TESTS_PATIENCE": PATIENCE_OF.get(room, PATIENCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    lines = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    failing = {line.split(" ")[1].split("[")[0] for line in lines}
    if process.returncode > 1 or any("::" not in name for name in failing):
        raise SystemExit(f"pytest could not run {' '.join(tests)}:\n{output[-3000:]}")
    return failing


def notice(code: Path, bug: Bug) -> set[str] | None:
    """Test functions that fail with a bug; None if the tests do not end."""
    path = code / bug.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(bug.before, bug.after), encoding="utf-8")
    try:
        return failing_tests(code, bug.room, bug.tests, MOST_SECONDS)
    finally:
        path.write_text(text, encoding="utf-8")


def told(bug: Bug, failing: set[str] | None) -> tuple[bool, str]:
    """Whether all is well with a bug, and who notices it, in words."""
    if failing is None:
        return bug.hangs, "tests that do not end"
    n = len(failing)
    if bug.survives:
        return n == 0, f"{n or 'nobody'}: {bug.survives}"
    return n > 0, str(n or "nobody")


def main(rooms: Sequence[str]) -> int:
    """Exit code 1 if a bug survives, or a test that notices one fails without any."""
    bugs = read_bugs(rooms)
    lines, n_survivors = [INTRODUCTION, "| room | promise | noticed by |", "|---|---|---:|"], 0
    with ExitStack() as stack:
        mine = threading.local()

        def take_copy() -> None:
            mine.code = stack.enter_context(copied_code())

        pool = stack.enter_context(ThreadPoolExecutor(COPIES, initializer=take_copy))
        noticed = [*pool.map(lambda bug: notice(mine.code, bug), bugs)]
        noticing: dict[str, set[str]] = {}
        for bug, tests in zip(bugs, noticed, strict=True):
            noticing.setdefault(bug.room, set()).update(tests or ())

        def fail_anyway(room: str) -> set[str] | None:
            tests = sorted(noticing[room])
            return failing_tests(mine.code, room, tests, MOST_ROOM_SECONDS) if tests else set()

        failing = set().union(*(each or () for each in pool.map(fail_anyway, noticing)))
    for bug, tests in zip(bugs, noticed, strict=True):
        is_well, result = told(bug, None if tests is None else tests - failing)
        n_survivors += not is_well
        lines.append(f"| {bug.room} | {bug.promise} | {result} |")
        print(f"{'' if is_well else 'SURVIVES '}{bug.room}: {bug.promise} [{result}]")
    print(
        f"{len(bugs)} bugs, {n_survivors} survive.",
        *(f"Without a bug, {each} fails." for each in sorted(failing)),
        sep="\n",
    )
    if not rooms:
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(n_survivors > 0 or bool(failing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
