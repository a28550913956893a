"""Outputs as readable texts: without times, places and versions, floats rounded."""

import io
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.conftest import REAL_DATA, ROOT
from tests.golden.outputs import Set, outputs
from tests.golden.visit import Screen
from tests.support.golden_files import FLOAT, is_same_text

DIGITS, OF_THE_MODEL = 9, 3
"""Significant digits that count; of what the demo model computes, in float32, fewer."""
ROUNDING = 2e-5
"""What two machines' numbers may differ by: margins of the demo model, once rounded."""
THE_MODEL = ("'model': 'demo'", "scoring model", "{d}")
PASSING = {"versions", "started", "seconds", "pack_seconds", "duration", "at", "request"}
"""Names of values that differ from run to run, or from machine to machine."""
_PASSING = [
    (re.compile(r"(\d{4}-)?\d\d-\d\d[T +]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00| UTC|Z)?"), "TIME"),
    (re.compile(r"\b\d{8}-\d{6}(-[0-9a-f]{16})?"), "RUN"),
    (re.compile(r"\bseconds \d[\d.,]*"), "seconds N"),
    (re.compile(r"\bin (under )?[\d.,]+ (s|min)( · [\d.,]+ \w+/s)+"), "in N s"),
]
_WIDTH = 120


def golden_files(which: Set, home: Path) -> dict[str, str]:
    """The files of a set by their names: two of a screen, one of any other output."""
    files: dict[str, str] = {}
    name_of: dict[str, str] = {}
    for name, output in outputs(which, home):
        digits = OF_THE_MODEL if any(word in name for word in THE_MODEL) else DIGITS
        stem = re.sub(r"[^\w=.,-]+", "_", name).strip("_")[:150]
        for ending, lines in _texts(normalised(output, home, digits), output):
            assert stem + ending not in files, stem
            text = "".join(f"{line}\n" for line in lines)
            same = name_of.setdefault(text, stem + ending)
            files[stem + ending] = text if same == stem + ending else f"As {same}\n"
    return files


def is_same(one: str, other: str) -> bool:
    """Whether two texts have the same characters, however they are broken into lines.

    Numbers with decimals may differ as float32 does from one make of processor to another.

    >>> is_same("2 of 3 pairs", "2 of\\n3 pairs"), is_same("2 of 3 pairs", "2 of 4 pairs")
    (True, False)
    >>> is_same("-2.894843", "-2.894844"), is_same("47.4 %", "47.5 %"), is_same("0.001", "0.0011")
    (True, False, False)
    """
    # Numbers stay apart where breaks go.
    joined = ["".join(FLOAT.sub(r"|\g<0>|", each).split()) for each in (one, other)]
    return is_same_text(joined[0], joined[1], ROUNDING)


def normalised(output: Any, home: Path, digits: int = DIGITS) -> Any:
    """An output as plain JSON, without what differs by time and place. home: the run's folder."""
    data = ((str(folder), "DATA") for folder in (REAL_DATA.resolve(), REAL_DATA))
    places = [(str(home), "HOME"), *data, (str(ROOT), "ROOT")]

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            kept = {str(name): each for name, each in value.items() if name not in PASSING}
            return {name: plain(each) for name, each in sorted(kept.items())}
        if isinstance(value, list | tuple):
            return [plain(each) for each in value]
        if isinstance(value, float):
            return float(f"{value:.{digits}g}")
        if isinstance(value, str):
            for place, word in places:
                value = value.replace(place, word)
            for pattern, word in _PASSING:
                value = pattern.sub(word, value)
            return FLOAT.sub(lambda found: f"{float(found[0]):.{digits}g}", value)
        return value if value is None or isinstance(value, bool | int) else plain(str(value))

    is_file = isinstance(output, tuple) and not isinstance(output, Screen)
    return plain(_read(*output) if is_file else output)


def json_lines(value: Any, indent: str = "") -> Iterator[str]:
    """JSON in lines of a bounded width, short values in one."""
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(indent) + len(text) <= _WIDTH:
        yield indent + text
    elif isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False):
            yield indent + line
    else:
        named = value.items() if isinstance(value, dict) else ((None, each) for each in value)
        yield indent + ("{" if isinstance(value, dict) else "[")
        for name, each in named:
            label = "" if name is None else json.dumps(name, ensure_ascii=False) + ": "
            first, *rest = json_lines(each, indent + " ")
            yield f"{indent} {label}{first.strip()}"
            yield from rest
        yield indent + ("}" if isinstance(value, dict) else "]")


def _texts(plain: Any, output: Any) -> Iterator[tuple[str, list[str]]]:
    """The endings and lines of an output's files."""
    if isinstance(output, Screen):
        yield from ((".txt", plain[0]), (".links.txt", plain[1]))
    elif isinstance(output, tuple):
        name, *parts = plain
        lines = [name]
        for part in parts:
            for each in part if isinstance(part, list) else [part]:
                lines += part.splitlines() if isinstance(part, str) else json_lines(each)
        yield ".txt", lines
    else:
        yield ".txt", list(json_lines(plain))


def _read(name: str, content: bytes) -> Any:
    """A file's name and what is in it."""
    ending = Path(name).suffix
    if ending == ".parquet":
        table = pq.read_table(io.BytesIO(content))
        metadata = (table.schema.metadata or {}).items()
        types = [f"{field.name}: {field.type}" for field in table.schema]
        told = {key.decode(): value.decode() for key, value in metadata}
        return [name, types, told, table.to_pylist()]
    text = content.decode("utf-8-sig")
    if ending == ".json":
        return [name, json.loads(text)]
    if ending == ".jsonl":
        return [name, [json.loads(line) for line in text.splitlines()]]
    return [name, text]


def is_public(which: Set, name: str) -> bool:
    """Whether a file may be part of the project: of the real data, figures alone."""
    is_board = name.startswith(("leaderboard", "compare", "link_tab=models"))
    has_more = "panel=" in name or name.endswith(".links.txt")
    return which == "demo" or (is_board and not has_more)
