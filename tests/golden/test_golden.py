"""Whatever the code looks like, what people and programs get is what they got before.

`GOLDEN=write pytest tests/golden` brings the files up to date, and `git diff` shows what differs.
Of the real data no text of a pair is part of the project, so `--basetemp FOLDER` with
`-o tmp_path_retention_policy=all` keeps all of it in folders `written`, here and in a checkout of
before, to be compared by `diff -r`.
"""

import difflib
import shutil
from pathlib import Path
from typing import get_args

import pytest

from tests.conftest import REAL_DATA
from tests.golden.normal import golden_files, is_public, is_same
from tests.golden.outputs import Set
from tests.support.golden_files import WRITES


@pytest.mark.slow
@pytest.mark.parametrize("which", get_args(Set))
def test_what_is_shown_is_what_was_shown(which: Set, tmp_path: Path) -> None:
    if which == "real" and not REAL_DATA.is_dir():
        pytest.skip(f"the real data is not here: no folder {REAL_DATA}")
    files = golden_files(which, tmp_path)
    folder, written = Path(__file__).parent / which, tmp_path / "written"
    written.mkdir()
    for name, text in files.items():
        (written / name).write_text(text, "utf-8", "surrogatepass")
    public = {name: text for name, text in files.items() if is_public(which, name)}
    before = {path.name: path.read_text("utf-8", "surrogatepass") for path in folder.glob("*.txt")}
    lines: list[str] = []
    for name in sorted(before.keys() | public.keys()):
        was, now = before.get(name, ""), public.get(name, "")
        if not is_same(was, now):
            told = was.splitlines(), now.splitlines()
            lines += difflib.unified_diff(*told, name, name, n=0, lineterm="")
            if WRITES and now:
                shutil.copy(written / name, folder)
            elif WRITES:
                (folder / name).unlink()
    assert WRITES or not lines, "\n".join([str(__doc__), *lines[:80]])
