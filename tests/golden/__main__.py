"""`python -m tests.golden --write` brings the files up to date; `git diff` then shows what differs.

Of the real data no text of a pair is part of the project, so `--out FOLDER` writes all of it, here
and in a checkout of before, to be compared by `diff -r`.
"""

import argparse
import tempfile
from pathlib import Path
from typing import get_args

from tests.conftest import REAL_DATA
from tests.golden.normal import differing, folder_of, golden_files, is_public
from tests.golden.outputs import Set


def main() -> None:
    """Write what is asked for, and say what differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files that differ")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write all files there")
    asked = parser.parse_args()
    for which in get_args(Set) if REAL_DATA.is_dir() else ("demo",):
        with tempfile.TemporaryDirectory() as home:
            files = golden_files(which, Path(home))
        public = {name: text for name, text in files.items() if is_public(which, name)}
        names = differing(which, public)
        print(f"{which}: {len(files)} files, {len(names)} differ", *names, sep="\n  ")
        if asked.out:
            _write(asked.out / which, files)
        if asked.write:
            for name in set(names) - public.keys():
                (folder_of(which) / name).unlink()
            _write(folder_of(which), {name: public[name] for name in names if name in public})


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")


if __name__ == "__main__":
    main()
