"""Files that the tests upload."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BEST_OF = {
    "id": "1",
    "prompt": "What is seven times eight?",
    "chosen": ["Fifty-six."],
    "rejected": ["Fifty-four.", "Sixty-three.", "It depends."],
    "num_correct": 1,
    "num_rejected": 3,
    "total_completions": 4,
    "models": ["right-model", "wrong-a", "wrong-b", "wrong-c"],
    "subset": "Math",
    "additional_metadata": {"method": "by hand"},
}
TIES = {
    **BEST_OF,
    "id": "2",
    "prompt": "Name a colour of the rainbow.",
    "chosen": ["Red.", "Green.", "Violet."],
    "rejected": ["Brown.", "Pink."],
    "models": ["a", "b", "c", "d", "e"],
    "subset": "Ties",
}
"""Rows in the shape of RewardBench 2."""

MULTI_TURN = {
    "id": "1",
    "prompt": [
        {"role": "system", "content": "Answer in one word."},
        {"role": "user", "content": "Which city is the capital of France?"},
        {"role": "assistant", "content": "Paris."},
        {"role": "user", "content": "And of Italy?"},
    ],
    "chosen": "Rome.",
    "rejected": "The capital of Italy is Rome.",
}


def write_jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Rows as JSON lines; what JSON can write may be no text that UTF-8 knows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
