"""Rows as a benchmark has them, rewritten as rows of pairs: what `assets/benchmarks.toml` says."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scoring.benchmarks import Benchmark, RowLayout, benchmarks
from scoring.errors import KnownError, counted, shown
from scoring.pairs.rows import Row, type_name
from scoring.pairs.shapes import holds_messages


def layout_of(
    row: Row, name: str, candidates: Iterable[Benchmark] | None = None
) -> tuple[Benchmark, RowLayout] | None:
    """The benchmark that rows are of by their columns; None where they are of none, or are plain
    pairs, which only the names of their subsets can tell.

    row: the first one. name: of the file. candidates: None means all.

    Raises:
        KnownError: they fit two.
    """
    fits = [
        (benchmark, layout)
        for benchmark in (benchmarks().values() if candidates is None else candidates)
        for layout in (benchmark.row, *benchmark.layouts)
        if layout != RowLayout() and _fits(benchmark, layout, row, name)
    ]
    most = max((len(layout.columns) for _, layout in fits), default=0)
    best = [each for each in fits if len(each[1].columns) == most]
    if len(best) > 1:
        titles = " and ".join(benchmark.title for benchmark, _ in best)
        raise KnownError(
            f"{name} has the columns of {titles}. Name the one that it is: call the file, or give "
            f"--benchmark, {' or '.join(benchmark.name for benchmark, _ in best)}."
        )
    return best[0] if best else None


def _fits(benchmark: Benchmark, layout: RowLayout, row: Row, name: str) -> bool:
    if not layout.columns <= row.keys():
        return False
    chosen = row.get(layout.chosen)
    is_several = isinstance(chosen, list) and not holds_messages(chosen)
    if is_several and layout.n_chosen is None and not benchmark.rule.reads_several:
        return False
    if layout.file and layout.subset not in row and _subset_in(layout, name) is None:
        return False
    sizes = [(row.get("chosen"), layout.n_chosen), (row.get("rejected"), layout.n_rejected)]
    return all(n is None or (isinstance(each, list) and len(each) == n) for each, n in sizes)


def _subset_in(layout: RowLayout, name: str) -> str | None:
    """The subset that a file's name says, without its ending."""
    pattern = re.escape(layout.file).replace(r"\{" + re.escape(layout.subset) + r"\}", "(.+)")
    found = re.fullmatch(pattern, name.rpartition("/")[2].partition(".")[0])
    return found[1] if found else None


class Rewriter:
    """Rewrites the rows of one file, and counts what is left out."""

    def __init__(self, layout: RowLayout, name: str) -> None:
        """name: of the file."""
        self._layout = layout
        self._subset = _subset_in(layout, name) if layout.file else None
        self.n_ties = 0

    def pairs_of(self, row: Row, place: str) -> Iterator[dict[str, Any]]:
        """The pairs that a row has, in the columns of plain pairs; none where it is a tie.

        place: of the row, in words.

        Raises:
            KnownError: it has not what its benchmark has.
        """
        layout = self._layout
        subset = _value(row, layout.subset)
        subset = self._subset if subset is None and self._subset else subset
        if isinstance(subset, str):
            subset = subset.removeprefix(layout.after)
        ids = [_value(row, name) for name in layout.id]
        shared = {
            "prompt": _messages(_value(row, layout.prompt)),
            "subset": str(subset) if isinstance(subset, bool | int) else subset,
            "id": ids[0] if len(ids) == 1 else ":".join(map(str, ids)),
            "facets": {name: _word(_value(row, name)) for name in layout.facets},
        }
        for number, sides in enumerate(self._sides(row, place)):
            yield {**shared, **sides, **({"id": f"{shared['id']}-{number}"} if number else {})}

    def _sides(self, row: Row, place: str) -> Iterator[dict[str, Any]]:
        layout = self._layout
        if layout.responses:
            yield from _compared(layout, row, place)
        elif layout.better is None:
            names = (layout.chosen_model, layout.rejected_model)
            chosen, rejected = _value(row, layout.chosen), _value(row, layout.rejected)
            for side, given, n in (
                (layout.chosen, chosen, layout.n_chosen),
                (layout.rejected, rejected, layout.n_rejected),
            ):
                if n is not None and (not isinstance(given, list) or len(given) != n):
                    has = f"{len(given):,}" if isinstance(given, list) else type_name(given)
                    raise KnownError(
                        f"{place}, column {side}: {has}, must be a list of {n} responses."
                    )
            writers = [_value(row, name) for name in names]
            yield {"chosen": chosen, "rejected": rejected, **_models(chosen, rejected, writers)}
        else:
            better = layout.better
            said = _value(row, better.column)
            sides = (layout.first, layout.second)
            models = (
                layout.first_model or layout.chosen_model,
                layout.second_model or layout.rejected_model,
            )
            if said not in (*better.first, *better.second) or isinstance(said, bool):
                if not better.ties or said is None:
                    allowed = ", ".join(map(str, (*better.first, *better.second)))
                    raise KnownError(
                        f"{place}, column {better.column}: {shown(said)}, must be one of {allowed}."
                    )
                self.n_ties += 1
                return
            places = (0, 1) if said in better.first else (1, 0)
            chosen, rejected = (_value(row, sides[at]) for at in places)
            writers = [_value(row, models[at]) for at in places]
            yield {"chosen": chosen, "rejected": rejected, **_models(chosen, rejected, writers)}

    def notes(self, name: str) -> list[str]:
        """What was left out, in words."""
        if not self.n_ties or self._layout.better is None:
            return []
        ties = counted(self.n_ties, "row is a tie", "rows are ties")
        return [f"{name}: {ties} by {self._layout.better.column} and left out."]


def _compared(layout: RowLayout, row: Row, place: str) -> Iterator[dict[str, Any]]:
    """The pairs of one right and one wrong response that a row lists."""
    right, pairs = row.get(layout.right), row.get(layout.pairs)
    if not isinstance(right, list) or not isinstance(pairs, list):
        raise KnownError(f"{place}: {layout.right} and {layout.pairs} must be lists.")
    for pair in pairs:
        known = isinstance(pair, list) and len(pair) == 2
        if not known or not all(type(at) is int and 0 <= at < len(right) for at in pair):
            raise KnownError(
                f"{place}, column {layout.pairs}: {shown(pair)}, must be two places below "
                f"{len(right)}."
            )
        if None in (right[pair[0]], right[pair[1]]) or right[pair[0]] == right[pair[1]]:
            raise KnownError(
                f"{place}, column {layout.pairs}: of responses {pair[0]} and {pair[1]} one must be "
                f"right and one wrong, and {layout.right} does not say so."
            )
        one, other = pair if right[pair[0]] else pair[::-1]
        yield {
            "chosen": row.get(layout.responses.format(one + 1)),
            "rejected": row.get(layout.responses.format(other + 1)),
        }


def _value(row: Row, name: str) -> Any:
    """What stands under a name, which may lead into an object, or into each object of a list."""
    top, _, rest = name.partition(".")
    value = row.get(top)
    if not rest:
        return value
    if isinstance(value, list):
        return [each.get(rest) if isinstance(each, Mapping) else None for each in value]
    return value.get(rest) if isinstance(value, Mapping) else None


def _messages(prompt: Any) -> Any:
    """Messages without what else they say, such as their language."""
    if not isinstance(prompt, list):
        return prompt
    return [
        {"role": each.get("role"), "content": each.get("content")}
        if isinstance(each, Mapping)
        else each
        for each in prompt
    ]


def _models(chosen: Any, rejected: Any, writers: list[Any]) -> dict[str, Any]:
    """Who wrote each response, in the columns of plain pairs."""
    sides = [
        (each if isinstance(each, list) else [each]) if isinstance(response, list) else each
        for response, each in zip((chosen, rejected), writers, strict=True)
    ]
    if not any(isinstance(each, list) for each in sides):
        return dict(zip(("chosen_model", "rejected_model"), sides, strict=True))
    lists = [each if isinstance(each, list) else [each] for each in sides]
    return {"models": [*lists[0], *lists[1]]}


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
