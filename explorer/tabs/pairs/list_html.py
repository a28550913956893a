"""The list of pairs, alone or with what models made of them, the open one, and who fails it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.core.html import percent, render, signed
from explorer.core.text import text
from explorer.data.search import EVERYTHING
from explorer.reader.listing import Cell, Column, excerpt, harm_css, list_html
from explorer.reader.reader import pair_html
from explorer.reader.scene import Scene, measured, order_of
from explorer.reader.state import BY_LENGTH
from explorer.results.field import MAJORITY, Doubles, Field, Verdict
from explorer.runs.model_list import size_of
from explorer.tabs.pairs.notes import PairNotes

REWARDS = ("chosen_reward", "rejected_reward")
MOST_OTHERS = 60
"""Pairs with the same prompt that are looked up."""
MOST_FAILING = 400
"""Models that are listed below a pair."""


def list_of_pairs_html(now: Scene, notes: PairNotes) -> str:
    """The page of rows that a scene is on; those with a note have a sign."""
    if not len(now.listed):
        return ""
    columns, rows = _columns(now), now.listed.rows
    texts = _texts(now)
    values = {name: _values(now, name) for name in columns if name != "outcome"}

    def cells(place: int) -> list[Cell]:
        row = int(rows[place])
        known = [_written(now, row, name, values) for name in columns]
        words = _words(now, row, texts)
        return [*words, *known] if now.field is None else [*known, *words]

    def css(place: int) -> str:
        row = int(rows[place])
        noted = " noted" if now.field is not None and notes.of(now.field, row) else ""
        return f"{harm_css(now.table.subset_of(row))}{noted}".strip()

    numbers = [
        Column(text(f"list.{_heading(now, name)}"), number=name != "outcome", sort=_sort(name))
        for name in columns
    ]
    words = [Column(text(f"list.{name}"), css="words") for name in texts]
    return list_html(
        text("list.label" if now.field is None else "list.label_outcomes"),
        [*words, *numbers] if now.field is None else [*numbers, *words],
        now.listed,
        now.state.reading,
        cells,
        sort=order_of(now.state, now.field),
        css=css,
    )


def open_pair_html(now: Scene) -> str:
    """The open pair, with what models made of it where that is looked at."""
    reading, table, field = now.state.reading, now.table, now.field
    row = table.row_of(reading.key) if reading.key else None
    if row is None:
        return pair_html(None, None, reading.display(EVERYTHING))
    display = reading.display(now.state.filters.query)
    if field is None:
        others = [table.key_of(int(other)) for other in table.same_prompt(row)[:MOST_OTHERS]]
        return pair_html(
            table.cells(row), reading.key, display, same_prompt=others, source=table.source
        )
    cells = table.cells(row) if field.has_texts else None
    pair = pair_html(cells, reading.key, display, _verdicts(now, row), source=table.source)
    return pair + who_html(field, row, now.state.model)


@dataclass(frozen=True, slots=True)
class _Models:
    """Models by type and size. n_models: of all; n_more: rows that are not listed."""

    n_models: int
    by_type: Mapping[str, Sequence[str]]
    n_more: int


def who_html(field: Field, row: int, model: str = "") -> str:
    """Which models fail a pair and which win it, each a way to its own failures.

    model: whose failures are looked at, which the others are counted beside.
    """
    outcomes = field.matrix.outcomes[:, row]
    known = ~np.isnan(outcomes)
    failing = np.flatnonzero(known & (outcomes != 1)).tolist()
    winning = np.flatnonzero(outcomes == 1).tolist()
    hard = field.difficulty(model)
    n, of = int(hard.failed[row]), int(hard.known[row])
    if of:
        numbers = {"n": f"{n:,}", "of": f"{of:,}", "share": percent(n / of, 0)}
        words = text("fails.who_others" if model else "fails.who", **numbers)
    else:
        words = text("fails.who_alone" if model else "fails.who_one")
    return render(
        "tabs/pairs/who.html",
        words=words,
        failing=_models(field, failing),
        winning=_models(field, winning),
    )


def _texts(now: Scene) -> tuple[str, ...]:
    """The sides whose texts stand in a row."""
    if now.field is None:
        return ("prompt", "chosen", "rejected")
    return ("prompt",) if now.field.has_texts else ()


def _columns(now: Scene) -> list[str]:
    """What else is known of a row, by name."""
    state, field = now.state, now.field
    if field is None:
        return [*BY_LENGTH]
    if not state.model:
        return ["difficulty", "telling", "difference"]
    several = ["outcome"] if state.kind in ("all", "near") else []
    rewards = ["margin", *REWARDS] if field.has_rewards(state.model) else []
    length = ["difference"] if field.has_texts else []
    return [*several, *rewards, "difficulty", "surprise", *length]


def _heading(now: Scene, name: str) -> str:
    if now.field is None:
        return {"chosen": "chosen_chars", "rejected": "rejected_chars"}.get(name, name)
    named = {"difference": "longer_by", "difficulty": "others_fail" if now.state.model else "fail"}
    return named.get(name, name)


def _values(now: Scene, name: str) -> Doubles:
    """A column's number of each pair of the table."""
    if name in REWARDS:
        return now.known.rewards(
            now.state.model, "chosen" if name == "chosen_reward" else "rejected"
        )
    return measured(now.state, now.pairs, name)


def _sort(name: str) -> str:
    return "" if name in ("outcome", *REWARDS) else name


def _written(now: Scene, row: int, name: str, values: dict[str, Doubles]) -> str:
    if name == "outcome":
        return text(f"outcome.{now.known.outcome(now.state.model, row)}")
    value = float(values[name][row])
    if np.isnan(value):
        return text("board.unknown")
    if name in ("difficulty", "surprise"):
        return percent(value, 0)
    if name in BY_LENGTH:
        return f"{value:,.0f}" if now.field is None else f"{value:+,.0f}".replace("-", "−")
    return signed(value)


def _words(now: Scene, row: int, sides: Sequence[str]) -> list[Cell]:
    if not sides:
        return []
    query, cells = now.state.filters.query, now.table.cells(row)
    return [excerpt(cells[side], query if query.looks_at(side) else EVERYTHING) for side in sides]


def _verdicts(now: Scene, row: int) -> list[Verdict]:
    model, against = now.state.model, now.state.against
    if not model:
        return []
    names = [model, *([against] if against and against != MAJORITY else [])]
    return [now.known.verdict(name, row) for name in names]


def _models(field: Field, places: Sequence[int]) -> _Models:
    by_type: dict[str, list[str]] = {}
    for place in places[:MOST_FAILING]:
        kind = field.matrix.model_types[place] or text("fails.own_type")
        by_type.setdefault(kind, []).append(field.matrix.models[place])
    for names in by_type.values():
        names.sort(key=lambda name: (-(size_of(name) or 0), name))
    n_models = len({field.row_models[place] for place in places})
    n_more = max(0, len(places) - MOST_FAILING)
    return _Models(n_models, dict(sorted(by_type.items())), n_more)
