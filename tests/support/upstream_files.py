"""Files as upstream's command line, `rewardbench --model org/model`, leaves them in `results/`.

Source: `rewardbench` in rewardbench/rewardbench.py of allenai/reward-bench v0.1.5.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """A pair of RewardBench, and its two rewards."""

    subset: str
    id: int
    chosen: float
    rejected: float


LINES = (
    Line("hep-go", 3692, 2.5, 1),
    Line("hep-go", 7, -1, 0),
    Line("donotanswer", 3692, 0.5, 0.5),
)


def leave(
    folder: Path, model: str = "org/model", lines: Sequence[Line] = LINES, **changes: Any
) -> tuple[Path, Path]:
    """Write a model's two files: accuracies, and an object a pair. changes: of the former."""
    wins: dict[str, list[int]] = {}
    for line in lines:
        wins.setdefault(line.subset, []).append(int(line.chosen > line.rejected))
    accuracies = {
        "accuracy": sum(map(sum, wins.values())) / len(lines),
        "num_prompts": len(lines),
        "model": model,
        "ref_model": None,
        "tokenizer": model,
        "chat_template": None,
        "extra_results": {subset: sum(won) / len(won) for subset, won in wins.items()},
    }
    (folder / model).parent.mkdir(parents=True, exist_ok=True)
    aggregate, outputs = folder / f"{model}.json", folder / f"{model}_outputs.jsonl"
    aggregate.write_text(json.dumps(accuracies | changes), encoding="utf-8")
    outputs.write_text("".join(f"{json.dumps(_row(line))}\n" for line in lines), encoding="utf-8")
    return aggregate, outputs


def _row(line: Line) -> dict[str, Any]:
    prompt = f"<|user|>\nprompt {line.id}\n"
    return {
        "prompt": prompt,
        "results": int(line.chosen > line.rejected),
        "scores_chosen": line.chosen,
        "scores_rejected": line.rejected,
        "text_chosen": f"{prompt}<|assistant|>\ngood\n",
        "text_rejected": f"{prompt}<|assistant|>\nbad\n",
        "chosen": "good",
        "chosen_model": "human",
        "rejected": "bad",
        "rejected_model": "GPT-4",
        "subset": line.subset,
        "id": line.id,
    }
