"""`python -m tests.golden --write` writes the digests; `--out FOLDER` what they are made of."""

import argparse
import json
import re
import tempfile
from pathlib import Path
from typing import get_args

from tests.conftest import REAL_DATA
from tests.golden.normal import contents, digest
from tests.golden.outputs import Set
from tests.golden.test_golden import DIGESTS, known


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {DIGESTS.name}")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the contents, to diff")
    parser.add_argument("--set", choices=get_args(Set), action="append", help="else all")
    asked = parser.parse_args()
    digests = known()
    for which in asked.set or get_args(Set):
        if which == "real" and not REAL_DATA.is_dir():
            print(f"The real data is not here: no folder {REAL_DATA}")
            continue
        with tempfile.TemporaryDirectory() as home:
            found = contents(which, Path(home))
        digests[which] = {name: digest(content) for name, content in found.items()}
        print(f"{which}: {len(found)} outputs")
        for name, content in found.items() if asked.out else ():
            file = asked.out / which / (re.sub(r"[^\w=.,-]+", "_", name)[:150] + ".json")
            file.parent.mkdir(parents=True, exist_ok=True)
            assert not file.exists(), file
            file.write_text(content + "\n", encoding="utf-8", errors="surrogatepass")
    if asked.write:
        DIGESTS.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
