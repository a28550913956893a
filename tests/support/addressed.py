"""What addresses of a tab show, as two readable files each: visible text; links and fields."""

import re
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from tests.golden.reading import Outline

PASSING = {
    r"\d{4}-\d\d-\d\d[ +]\d\d:\d\d:\d\d": "TIME",
    r"\b\d{8}-\d{6}(-[0-9a-f]{16})?": "RUN",
    r"(?<=\nseconds\n)\S+": "SECONDS",
}
"""What differs each time."""
Texts = tuple[str, str]


def texts_of(asked: str, understood: str, regions: Mapping[str, str], token: str = "") -> Texts:
    """The visible text of an address, and its links and fields, by region. token: of a file."""
    read = {name: Outline(html) for name, html in regions.items()}
    heads = [f"asked: {asked}", f"understood: {understood}"]
    lines = [(f"## {name}", *each.lines) for name, each in read.items()]
    links = [(f"## {name}", *each.links) for name, each in read.items()]
    return (
        _same_each_time([*heads, *chain(*lines)], token),
        _same_each_time([*heads, *chain(*links)], token),
    )


def _same_each_time(lines: list[str], token: str) -> str:
    text = "\n".join([*lines, ""])
    text = text.replace(token, "TOKEN") if token else text
    for passing, word in PASSING.items():
        text = re.sub(passing, word, text)
    return re.sub(r"\d+\.\d{6,}", lambda found: str(float(f"{float(found[0]):.9g}")), text)


def files_of(folder: Path, name: str) -> tuple[Path, Path]:
    """Where the texts of an address lie."""
    stem = re.sub(r"\W+", "-", name)
    return folder / f"{stem}.txt", folder / f"{stem}.links.txt"


def check_files(folder: Path, addresses: Mapping[str, str]) -> None:
    """Whether there is a file of each address, and no other."""
    files = {path for name in addresses for path in files_of(folder, name)}
    assert {*folder.iterdir()} == files and len(files) == 2 * len(addresses)
