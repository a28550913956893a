"""Files as upstream's command line, `rewardbench --model org/model`, leaves them in `results/`.

Source: `rewardbench` in rewardbench/rewardbench.py of allenai/reward-bench v0.1.5.
"""

from pathlib import Path
from typing import Any

from tests.support.files import write_json, write_jsonl

LINES = [("hep-go", 3692, 2.5, 1), ("hep-go", 7, -1, 0), ("donotanswer", 3692, 0.5, 0.5)]
"""Of each pair its subset, its id and its two rewards."""


def leave(folder: Path, model: str = "org/model", **changes: Any) -> tuple[Path, Path]:
    """Write a model's two files: accuracies, and an object a pair. changes: of the former."""
    accuracies = {
        "accuracy": 1 / 3,
        "num_prompts": len(LINES),
        "model": model,
        "ref_model": None,
        "tokenizer": model,
        "chat_template": None,
        "extra_results": {"hep-go": 0.5, "donotanswer": 0.0},
    }
    aggregate = write_json(folder / f"{model}.json", accuracies | changes)
    outputs = [_row(*line) for line in LINES]
    return aggregate, write_jsonl(folder / f"{model}_outputs.jsonl", outputs)


def _row(subset: str, number: int, chosen: float, rejected: float) -> dict[str, Any]:
    prompt = f"<|user|>\nprompt {number}\n"
    return {
        "prompt": prompt,
        "results": int(chosen > rejected),
        "scores_chosen": chosen,
        "scores_rejected": rejected,
        "text_chosen": f"{prompt}<|assistant|>\ngood\n",
        "text_rejected": f"{prompt}<|assistant|>\nbad\n",
        "chosen": "good",
        "chosen_model": "human",
        "rejected": "bad",
        "rejected_model": "GPT-4",
        "subset": subset,
        "id": number,
    }
