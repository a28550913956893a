"""Best of n: of each prompt's responses their rewards, ranks, and which is the best.

`best-of-n/<subset>/<org>/<model>.json` is what upstream's run_bon.py writes, an object a response
one after the other; `best-of-n.jsonl` has a line a prompt. The first of equal rewards is chosen.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from scoring.errors import counted
from scoring.record import Run
from scoring.results.exports import write_texts
from scoring.results.files import printable
from scoring.spec import Pair, ScoredPair


class Ranked(NamedTuple):
    """A prompt's responses. rewards: of each in the file's order, None where missing.

    best: which has the highest, from 1 as keys are; None where none is known. ranks: from 1, the
    highest first; equal rewards share the better one, missing ones have None.
    """

    key: str
    rewards: tuple[float | None, ...]
    best: int | None
    ranks: tuple[int | None, ...]


def ranked(scored: ScoredPair) -> Ranked:
    """Rank a row of `pairs.candidates`, whose first response stands before all of them.

    >>> scored = ScoredPair("s:1", "s", "", 0.5, 2.0, 1, 1, rewards=(0.5, 0.5, 2.0, 2.0))
    >>> found = ranked(scored)
    >>> found.best, found.ranks
    (2, (3, 1, 1))
    """
    rewards = scored.all_rewards[1:]
    known = [reward for reward in rewards if reward is not None]
    ranks = tuple(
        None if reward is None else 1 + sum(other > reward for other in known) for reward in rewards
    )
    best = 1 + rewards.index(max(known)) if known else None
    return Ranked(scored.key, rewards, best, ranks)


def write_best_of(
    folder: Path, name: str, rows: Sequence[Pair], scored: Sequence[ScoredPair]
) -> list[Path]:
    """Write the files. name: `org/model`. rows: of the run, in order; scored: in any order."""
    of_key = {each.key: each for each in scored}
    found = [ranked(of_key[row.key]) for row in rows]
    records: dict[str, list[dict[str, Any]]] = {}
    lines = []
    for row, each in zip(rows, found, strict=True):
        lines.append(each._asdict())
        records.setdefault(row.subset, []).extend(
            {"prompt": row.prompt, "id": [of_key[row.key].id, at], "scores": reward}
            for at, reward in enumerate(each.rewards)
        )
    contents = {folder / "best-of-n.jsonl": "".join(json.dumps(line) + "\n" for line in lines)}
    for subset, of_it in records.items():
        path = folder / "best-of-n" / _folder(subset) / f"{name}.json"
        contents[path] = "".join(
            json.dumps(record, indent=4, sort_keys=True) + "\n" for record in of_it
        )
    return write_texts(contents)


def _folder(subset: str) -> str:
    kept = "".join(each if each.isalnum() or each in "-_ ." else "-" for each in printable(subset))
    return kept.strip(" .")[:100] or "rows"


def best_of_json(run: Run, files: Sequence[Path]) -> dict[str, Any]:
    """What came out, as plain values; means are None where no reward is known."""
    found = [ranked(row) for row in run.rows()]
    rewards = [reward for each in found for reward in each.rewards]
    known = [reward for reward in rewards if reward is not None]
    best = [
        max(reward for reward in each.rewards if reward is not None)
        for each in found
        if each.best is not None
    ]
    return {
        "rows": len(found),
        "responses": len(rewards),
        "missing": len(rewards) - len(known),
        "mean": fmean(known) if known else None,
        "mean_best": fmean(best) if best else None,
        "shared": sum(each.ranks.count(1) > 1 for each in found),
        "run": str(run.folder),
        "files": [str(path) for path in files],
    }


def as_best_of(values: Mapping[str, Any]) -> str:
    """The values of `best_of_json` in words."""
    lines = [
        f"{counted(values['rows'], 'prompt', 'prompts')}, "
        f"{counted(values['responses'], 'response', 'responses')}, "
        f"{values['missing']:,} of them without a reward",
    ]
    if values["mean_best"] is not None:
        lines.append(
            f"mean reward of the best {values['mean_best']:.4f}, of all {values['mean']:.4f}; in "
            f"{counted(values['shared'], 'prompt', 'prompts')} several share the highest, and the "
            "first is taken"
        )
    return "\n".join([*lines, "", *(f"wrote {path}" for path in values["files"])])
