"""Files that the tests open and upload."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Rows as JSON lines; what JSON can write may be no text that UTF-8 knows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
