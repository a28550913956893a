"""Pairs made from the files of their sources, each with how sure it is.

A pair's `match` is

- exact: both sides are RewardBench's, byte for byte, by the bundled hashes;
- space: they are but for white space;
- rule: the recipe makes it of a row, and nothing is known that could tell against it (pairs of the
  raw split that were not kept);
- one_side: the prompt and one side are found; missing: less than that.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from explorer.data.rebuilding.origins import Origin, read_source
from explorer.data.rebuilding.provenance import SIDES, Side, bytes_hash, text_hash
from explorer.data.rebuilding.recipes import Recipe, recipes, sources
from scoring.errors import KnownError

if TYPE_CHECKING:
    import pandas as pd

Match = Literal["exact", "space", "rule", "one_side", "missing"]
TEXTS = ("prompt", *SIDES)


class Found(NamedTuple):
    """A response and where it stands: file, row from 0, column."""

    text: str
    file: str
    row: int
    column: str


@dataclass(frozen=True, slots=True)
class Built:
    """A pair as far as it could be made.

    sides: those that were found, and none where the prompt was not.
    models: of chosen and rejected, as published. is_kept: whether the filtered split has it.
    """

    subset: str
    id: int
    match: Match
    prompt: str | None = None
    sides: Mapping[Side, Found] = field(default_factory=dict)
    models: tuple[str, str] = ("unknown", "unknown")
    is_kept: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it has all three texts."""
        return self.match in {"exact", "space", "rule"}


def known_pairs(frame: "pd.DataFrame") -> "pd.DataFrame":
    """What is known of real pairs, for `build`: ids, models and hashes, as in the index."""
    known = frame[["subset", "id", "chosen_model", "rejected_model"]].copy()
    for name in TEXTS:
        known[name] = frame[name].map(text_hash)
        known[f"{name}_bytes"] = frame[name].map(bytes_hash)
    return known


def build(known: "pd.DataFrame", folder: Path | None, notice: Callable[[str], None]) -> list[Built]:
    """All pairs of the raw split that can be named, in the order of ids.

    Args:
        known: the pairs that were kept, as `known_pairs` has them.
        folder: a local folder of sources; None fetches them.
        notice: told, in a sentence each, of what could not be read or is not as it was. The
            subsets of other files are made all the same.
    """
    read = {name: read_source(source, folder, notice) for name, source in sources().items()}
    built: list[Built] = []
    for subset, recipe in recipes().items():
        kept = {row["id"]: row for row in known[known["subset"] == subset].to_dict("records")}
        make = _by_rows if recipe.rule == "rows" else _by_hashes
        try:
            built += make(subset, recipe, read[recipe.source], kept)
        except KnownError as error:
            notice(str(error))
            built += [_judged(subset, id_, row, None, {}) for id_, row in kept.items()]
    return sorted(built, key=lambda pair: pair.id)  # stable: 3692 is donotanswer, then hep-python


def _by_rows(
    subset: str, recipe: Recipe, files: Mapping[str, Origin], kept: Mapping[int, dict[str, Any]]
) -> Iterator[Built]:
    """Pairs whose sides stand in the same row, or in rows of the same prompt."""
    chosen, rejected = (files.get(side[0]) for side in (recipe.chosen, recipe.rejected))
    made: dict[int, tuple[str, dict[Side, Found]]] = {}
    if chosen is not None and rejected is not None:
        row_of = {prompt: row for row, prompt in enumerate(chosen.rows["prompt"])}
        for row, values in enumerate(rejected.rows.to_dict("records")):
            at = row if chosen is rejected else row_of.get(values["prompt"])
            pairs: dict[Side, tuple[Origin, str, int | None]] = {
                "chosen": (chosen, recipe.chosen[1], at),
                "rejected": (rejected, recipe.rejected[1], row),
            }
            sides: dict[Side, Found] = {}
            for side, (origin, name, place) in pairs.items():
                column = _labelled(name, values, origin.here)
                text = None if place is None else origin.rows[column][place]
                if text is not None and place is not None:
                    sides[side] = Found(text, origin.here, place, column)
            id_ = recipe.first_id + row
            if id_ in kept or not (chosen.is_changed or rejected.is_changed):
                made[id_] = values["prompt"], sides
    models = next(((row["chosen_model"], row["rejected_model"]) for row in kept.values()), None)
    for id_ in sorted(kept.keys() | made.keys()):
        prompt, sides = made.get(id_, (None, {}))
        pair = _judged(subset, id_, kept.get(id_), prompt, sides)
        yield pair if id_ in kept or models is None else replace(pair, models=models)


def _labelled(column: str, values: Mapping[str, Any], here: str) -> str:
    """The column of a side, where a label says which it is."""
    if "{" not in column:
        return column
    label = values["label"]
    if label not in {"1", "2"}:
        raise KnownError(f"{here} says {label!r} for the better output; its recipe knows 1 and 2.")
    return column.format(label=label, other="2" if label == "1" else "1")


def _by_hashes(
    subset: str, recipe: Recipe, files: Mapping[str, Origin], kept: Mapping[int, dict[str, Any]]
) -> Iterator[Built]:
    """Pairs that people put together: their texts are among those of the same prompt."""
    among: dict[int, list[tuple[str, Found]]] = defaultdict(list)
    for here, origin in files.items():
        responses = origin.rows.drop(columns=["prompt", "key", "label"], errors="ignore")
        for row, (prompt, texts) in enumerate(
            zip(origin.rows["prompt"], responses.to_dict("records"), strict=True)
        ):
            if prompt is not None:
                among[text_hash(prompt)] += [
                    (prompt, Found(text, here, row, str(column)))
                    for column, text in texts.items()
                    if text is not None
                ]
    for id_, known in kept.items():
        there = among.get(known["prompt"], [])
        prompts = sorted(
            {prompt for prompt, _ in there},
            key=lambda text: bytes_hash(text) != known["prompt_bytes"],
        )
        sides: dict[Side, Found] = {}
        for side in SIDES:
            alike = [found for _, found in there if text_hash(found.text) == known[side]]
            exact = [each for each in alike if bytes_hash(each.text) == known[f"{side}_bytes"]]
            if alike:
                sides[side] = (exact or alike)[0]
        yield _judged(subset, id_, known, prompts[0] if prompts else None, sides)


def _judged(
    subset: str,
    id_: int,
    known: dict[str, Any] | None,
    prompt: str | None,
    sides: dict[Side, Found],
) -> Built:
    """The pair, without what is not RewardBench's text, and how sure it is."""
    if known is not None:
        if prompt is not None and text_hash(prompt) != known["prompt"]:
            prompt = None
        sides = {side: each for side, each in sides.items() if text_hash(each.text) == known[side]}
    texts: dict[str, str | None] = {"prompt": prompt}
    texts.update((side, each.text) for side, each in sides.items())
    match: Match
    if prompt is None or not sides:
        match, sides = "missing", {}
    elif len(sides) < len(SIDES):
        match = "one_side"
    elif known is None:
        match = "rule"
    else:
        same = all(bytes_hash(text or "") == known[f"{name}_bytes"] for name, text in texts.items())
        match = "exact" if same else "space"
    models = ("unknown", "unknown")
    if known is not None:
        models = (known["chosen_model"], known["rejected_model"])
    return Built(subset, id_, match, prompt, sides, models, is_kept=known is not None)
