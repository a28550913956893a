"""Best of n: of each prompt's responses their rewards, ranks, and which is the best.

`best-of-n/<subset>/<org>/<model>.json` is what upstream's run_bon.py writes, an object a response
one after the other; `best-of-n.jsonl` has a line a prompt. The first of equal rewards is chosen.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from scoring.errors import counted
from scoring.record import Run
from scoring.results.exports import write_texts
from scoring.results.files import printable
from scoring.spec import Pair, ScoredPair


class _Ranking(NamedTuple):
    """A prompt's responses in the file's order; numbers are from 1, None without a reward."""

    key: str
    rewards: tuple[float | None, ...]
    best: int | None
    ranks: tuple[int | None, ...]


def _rank(scored: ScoredPair) -> _Ranking:
    rewards = scored.all_rewards[1:]  # `pairs.candidates` puts the first response before all
    known = [reward for reward in rewards if reward is not None]
    ranks = tuple(
        None if reward is None else 1 + sum(other > reward for other in known) for reward in rewards
    )
    best = 1 + rewards.index(max(known)) if known else None
    return _Ranking(scored.key, rewards, best, ranks)


def write_best_of(
    folder: Path, name: str, rows: Sequence[Pair], scored: Sequence[ScoredPair]
) -> list[Path]:
    """Write the files. name: `org/model`. rows: of the run, in order. scored: in any order."""
    of_key = {each.key: each for each in scored}
    rankings = [_rank(of_key[row.key]) for row in rows]
    records: dict[str, list[str]] = {}
    for row, ranking in zip(rows, rankings, strict=True):
        records.setdefault(row.subset, []).extend(
            json.dumps(
                {"prompt": row.prompt, "id": [of_key[row.key].id, at], "scores": reward},
                indent=4,
                sort_keys=True,
            )
            for at, reward in enumerate(ranking.rewards)
        )
    texts = {folder / "best-of-n.jsonl": [json.dumps(each._asdict()) for each in rankings]}
    for subset, lines in records.items():
        plain = re.sub(r"[^\w .-]", "-", printable(subset)).strip(" .")
        texts[folder / "best-of-n" / (plain[:100] or "rows") / f"{name}.json"] = lines
    return write_texts({path: "".join(f"{each}\n" for each in texts[path]) for path in texts})


def best_of_json(run: Run, files: Sequence[Path]) -> dict[str, Any]:
    """Return the results as plain values; means are None if no reward is known."""
    rankings = [_rank(row) for row in run.rows()]
    known = [[reward for reward in each.rewards if reward is not None] for each in rankings]
    rewards = [*chain.from_iterable(known)]
    n_responses = sum(len(each.rewards) for each in rankings)
    return {
        "rows": len(rankings),
        "responses": n_responses,
        "missing": n_responses - len(rewards),
        "mean": fmean(rewards) if rewards else None,
        "mean_best": fmean(map(max, filter(None, known))) if rewards else None,
        "shared": sum(each.ranks.count(1) > 1 for each in rankings),
        "run": str(run.folder),
        "files": [str(path) for path in files],
    }


def as_best_of(values: Mapping[str, Any]) -> str:
    """Write the values of `best_of_json` in words."""
    lines = [
        f"{counted(values['rows'], 'prompt', 'prompts')}, "
        f"{counted(values['responses'], 'response', 'responses')}, "
        f"{values['missing']:,} of them without a reward"
    ]
    if values["mean_best"] is not None:
        lines.append(
            f"mean reward of the best {values['mean_best']:.4f}, of all {values['mean']:.4f}; in "
            f"{counted(values['shared'], 'prompt', 'prompts')} several share the highest, and the "
            "first is taken"
        )
    return "\n".join([*lines, "", *(f"wrote {path}" for path in values["files"])])
