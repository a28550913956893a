"""Outputs as they are compared: without times, places and versions, floats rounded."""

import hashlib
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.conftest import REAL_DATA, ROOT
from tests.golden.outputs import Set, outputs

DIGITS, OF_THE_MODEL = 9, 3
"""Significant digits that count; of what the demo model computes, in float32, fewer."""
THE_MODEL = ("'model': 'demo'", "scoring model", "{d}")
PASSING = {"versions", "started", "seconds", "pack_seconds", "duration", "at"}
"""Names of values that differ from run to run, or from machine to machine."""
_PASSING = [
    (re.compile(r"\d{4}-\d\d-\d\d[T +]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00| UTC|Z)?"), "TIME"),
    (re.compile(r"\b\d{8}-\d{6}(-[0-9a-f]{16})?"), "RUN"),
    (re.compile(r"\bseconds \d[\d.,]*"), "seconds N"),
    (re.compile(r"\bin [\d.,]+ (s|min)( · [\d.,]+ \w+/s)+"), "in N s"),
]
_FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d+(e[-+]?\d+)?(?![\w.])")


def normalised(output: Any, home: Path, digits: int = DIGITS) -> Any:
    """An output as plain JSON: what it says, and nothing of when and where. home: was given."""
    places = [(str(home), "HOME"), (str(REAL_DATA.resolve()), "DATA"), (str(ROOT), "ROOT")]
    places.append((str(REAL_DATA), "DATA"))

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
            return _FLOAT.sub(lambda found: f"{float(found[0]):.{digits}g}", value)
        return value if value is None or isinstance(value, bool | int) else plain(str(value))

    return plain(_read(*output) if isinstance(output, tuple) else output)


def _read(name: str, content: bytes) -> Any:
    """A file's name and what is in it."""
    ending = Path(name).suffix
    if ending == ".parquet":
        table = pq.read_table(io.BytesIO(content))
        said = {
            key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()
        }
        types = [f"{field.name}: {field.type}" for field in table.schema]
        return [name, types, said, table.to_pylist()]
    text = content.decode("utf-8-sig")
    if ending == ".json":
        return [name, json.loads(text)]
    if ending == ".jsonl":
        return [name, [json.loads(line) for line in text.splitlines()]]
    return [name, text]


def contents(which: Set, home: Path) -> dict[str, str]:
    """Every output of a set by its name, as text of one line a value."""
    found: dict[str, str] = {}
    for name, output in outputs(which, home):
        digits = OF_THE_MODEL if any(word in name for word in THE_MODEL) else DIGITS
        found[name] = json.dumps(normalised(output, home, digits), indent=1, ensure_ascii=False)
    return found


def digest(content: str) -> str:
    """A short SHA-256."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
