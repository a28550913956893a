"""What was made beside the real pairs, subset by subset."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.data.rebuilding.building import TEXTS, Built
from explorer.data.rebuilding.provenance import SIDES
from explorer.data.rebuilding.recipes import recipes, untraced
from scoring.errors import KnownError, first_line

if TYPE_CHECKING:
    import pandas as pd

COUNTED = ("equal", "equal_but_space", "one_side", "missing")
_TYPES = dict.fromkeys((*TEXTS, "chosen_model", "rejected_model", "subset"), str) | {"id": int}
Counts = dict[str, int]
"""`pairs` of the real split, and how many of them each of `COUNTED` holds."""


def real_pairs(path: Path) -> "pd.DataFrame":
    """The filtered split of a Parquet file.

    Raises:
        KnownError: it cannot be read, lacks a column or has no rows, or a value is of another type.
    """
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except FileNotFoundError as error:
        raise KnownError(f"There is no file {path}.") from error
    except Exception as error:  # Arrow's readers raise many kinds
        raise KnownError(
            f"{path} cannot be read as Parquet ({first_line(error)}). Give the file of "
            "RewardBench's filtered split."
        ) from error
    why = _what_is_wrong(frame)
    if why:
        raise KnownError(
            f"{path} is not RewardBench's filtered split: {why}. It has the columns "
            f"{', '.join(_TYPES)}."
        )
    return frame[[*_TYPES]]


def _what_is_wrong(frame: "pd.DataFrame") -> str | None:
    if not len(frame):
        return "there are no rows"
    for name, kind in _TYPES.items():
        if name not in frame.columns:
            return f"there is no column {name}"
        if not frame[name].map(lambda value, kind=kind: isinstance(value, kind)).all():
            return f"its column {name} is not of {'text' if kind is str else 'whole numbers'} alone"
    return None


def verify(built: Sequence[Built], real: "pd.DataFrame") -> dict[str, Counts]:
    """Of each real subset, how many pairs were made.

    equal is byte for byte; equal_but_space is equal without white space; one_side is the prompt and
    one response, equal or but for white space; missing is less.
    """
    made = {(pair.subset, pair.id): pair for pair in built}
    found = Counter(
        (row["subset"], _compared(made.get((row["subset"], row["id"])), row))
        for row in real.to_dict("records")
    )
    order = [name for name in recipes() if name in set(real["subset"])]
    unknown = [name for name in dict.fromkeys(real["subset"]) if name not in recipes()]
    return {
        subset: {
            "pairs": sum(found[subset, name] for name in COUNTED),
            **{name: found[subset, name] for name in COUNTED},
        }
        for subset in [*order, *unknown]
    }


def _compared(made: Built | None, real: Mapping[str, str]) -> str:
    if made is None or made.prompt is None:
        return "missing"
    texts: dict[str, str] = {"prompt": made.prompt}
    texts.update((side, each.text) for side, each in made.sides.items())
    alike = {name for name in texts if _bare(texts[name]) == _bare(real[name])}
    if "prompt" not in alike or not alike & {*SIDES}:
        return "missing"
    if len(alike) < len(TEXTS):
        return "one_side"
    return "equal" if all(texts[name] == real[name] for name in TEXTS) else "equal_but_space"


def _bare(text: str) -> str:
    return "".join(text.split())


def as_table(counts: Mapping[str, Counts]) -> str:
    """The counts for a terminal, with a line that sums up and what some subsets lack."""
    heads = ("pairs", *COUNTED)
    total = {name: sum(each[name] for each in counts.values()) for name in heads}
    titles = ("subset", "pairs", "equal", "but for space", "one side", "missing")
    lines = [
        (subset, *(f"{each[name]:,}" for name in heads))
        for subset, each in [*counts.items(), ("all", total)]
    ]
    wide = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
    table = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, wide, strict=True))
        )
        for line in [titles, *lines]
    ]
    short = {subset for subset, each in counts.items() if each["equal"] < each["pairs"]}
    said = [
        f"{', '.join(subsets)}: {lacking}" for subsets, lacking in untraced() if short & {*subsets}
    ]
    return "\n".join([*table, *([""] if said else []), *said])
