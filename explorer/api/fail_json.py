"""What models did on pairs, as the public endpoints give it: plain numbers, None where unknown.

Arguments come from anybody and are checked here.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from explorer.core.files import plain
from explorer.data.filters import LONGEST_NAME
from explorer.data.table import PairTable
from explorer.results.field import Field, Verdict
from explorer.stats.difficulty import LEAST_MODELS, failed_by_most
from explorer.stats.duels import DuelPart, duel
from explorer.stats.rules import V1
from explorer.tabs.pairs.fail_state import FailView, kind_masks, ordered
from scoring.benchmark import section_of
from scoring.errors import KnownError, shown

MOST_ROWS = 3_000


def failures_json(
    fields: Sequence[Field], model: object, subset: object = None, limit: object = 100
) -> dict[str, Any]:
    """What a model loses or ties, the worst margin first; without rewards the most surprising.

    Raises:
        KnownError: a value of the wrong type, no such model, or no such subset.
    """
    most, name = _limit(limit), _short("A model", model)
    field = _field_of(fields, name)
    masks = kind_masks(field, name)
    fails = masks["losses"] | masks["ties"]
    if subset is not None:
        fails &= field.table.subset_of_row == _subset(field, subset)
    rows = ordered(FailView(name), field, np.flatnonzero(fails))[:most].tolist()
    margins, difficulty = field.margins(name), field.difficulty(name).share
    return {
        "rows": [
            {
                "key": field.table.key_of(row),
                "subset": field.table.subset_of(row),
                "outcome": field.outcome(name, row),
                "margin": plain(margins[row]),
                "difficulty": plain(difficulty[row]),
            }
            for row in rows
        ]
    }


def compare_json(fields: Sequence[Field], model_a: object, model_b: object) -> dict[str, Any]:
    """Who wins which of the pairs that two models share, of all and of each section.

    Raises:
        KnownError: no such model, or their results are of other pairs.
    """
    one, other = _short("A model", model_a), _short("A model", model_b)
    field = _field_of(fields, one)
    if _field_of(fields, other) is not field:
        raise KnownError(
            f"The results of {shown(one)} and {shown(other)} are of different pairs, so the two "
            "cannot be compared."
        )
    found = duel(field.outcomes(one), field.outcomes(other), field.matrix.pairs, V1)
    sections = {part.name: _part(part) for part in found.sections}
    return {**_part(found.headline), "sections": sections}


def pair_json(fields: Sequence[Field], tables: Sequence[PairTable], key: object) -> dict[str, Any]:
    """A pair, and what every model of which it is known made of it.

    tables: pairs that may be shown though there are no results of them.

    Raises:
        KnownError: no such pair.
    """
    wanted = _short("A key", key)
    for field in fields:
        row = field.table.row_of(wanted)
        if row is not None:
            cells = _cells(field.table, row, has_texts=field.has_texts)
            return {**cells, "outcomes": [_outcome(each) for each in field.verdicts(row)]}
    for table in tables:
        row = table.row_of(wanted)
        if row is not None:
            return {**_cells(table, row, has_texts=True), "outcomes": []}
    raise KnownError(
        f"There is no pair {shown(key)} here. A key is the subset and the id, as in hep-rust:4348."
    )


def hardest_json(fields: Sequence[Field], limit: object = 50) -> dict[str, Any]:
    """The pairs that the most models fail, the hardest first; those that none fails are left out.

    They are of the field with the most models. Pairs known of fewer than `LEAST_MODELS` models are
    left out, too, where there are so many. With one model alone there are none.

    Raises:
        KnownError: a limit that is none.
    """
    most = _limit(limit)
    if not fields:
        return {"rows": []}
    field = max(fields, key=lambda each: each.n_models)
    rivals = field.matrix.outcomes[field.is_rival]
    least = max(2, min(LEAST_MODELS, len(rivals)))
    hard = failed_by_most(rivals, share=0, least_models=least)
    correlation = field.telling.correlation
    numbers = zip(hard.rows, hard.failed, hard.known, hard.share, strict=True)
    return {
        "rows": [
            {
                "key": field.table.key_of(int(row)),
                "subset": field.table.subset_of(int(row)),
                "failed": int(failed),
                "known": int(known),
                "difficulty": plain(share),
                "item_rest": plain(correlation[row]),
            }
            for row, failed, known, share in islice(numbers, most)
        ]
    }


def _field_of(fields: Sequence[Field], model: str) -> Field:
    for field in fields:
        if model in field.place_of:
            return field
    raise KnownError(
        f"There are no results of each pair of a model {shown(model)} here. /leaderboard names "
        "the models; some of them have accuracies alone."
    )


def _limit(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_ROWS:
        raise KnownError(f"A limit is a whole number from 1 to {MOST_ROWS:,}, not {shown(value)}.")
    return value


def _short(what: str, value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        raise KnownError(
            f"{what} is named by a text of 1 to {LONGEST_NAME:,} characters, not {shown(value)}."
        )
    return value


def _subset(field: Field, value: object) -> str:
    name = _short("A subset", value)
    if name not in field.table.subset_counts:
        listed = ", ".join(each[:40] for each in list(field.table.subset_counts)[:30])
        raise KnownError(f"There is no subset {shown(value)} here; choose one of {listed}.")
    return name


def _part(part: DuelPart) -> dict[str, Any]:
    cells = {"both": part.both, "only_a": part.only_a, "only_b": part.only_b}
    scores = {"score_a": plain(part.a), "score_b": plain(part.b)}
    return {**cells, "neither": part.neither, **scores, "p_value": part.test.p}


def _cells(table: PairTable, row: int, *, has_texts: bool) -> dict[str, Any]:
    cells, source = table.cells(row), table.source
    texts = {name: cells[name] if has_texts else None for name in ("prompt", "chosen", "rejected")}
    return {
        "key": cells["key"],
        **texts,
        "subset": cells["subset"],
        "section": section_of(cells["subset"]),
        "models": {
            side: cells[f"{side}_model"] if has_texts else None for side in ("chosen", "rejected")
        },
        "source": {"name": source.name, "split": source.split, "revision": source.revision},
    }


def _outcome(verdict: Verdict) -> dict[str, Any]:
    return {
        "model": verdict.model,
        "outcome": verdict.outcome,
        "chosen_reward": plain(verdict.chosen_reward),
        "rejected_reward": plain(verdict.rejected_reward),
    }
