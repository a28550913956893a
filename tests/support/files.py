"""Files that the tests open and upload."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Rows as JSON lines; what JSON can write may be no text that UTF-8 knows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_json(path: Path, values: object) -> Path:
    """A file of JSON, in folders that may not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")
    return path
