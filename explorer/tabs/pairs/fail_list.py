"""A list of pairs with what a model made of them, the open one, and who else fails it."""

from collections.abc import Sequence
from html import escape

import numpy as np

from explorer.core.html import note, percent, signed, tag
from explorer.core.parts import button
from explorer.core.text import text
from explorer.data.search import EVERYTHING
from explorer.reader.listing import Column, excerpt, harm_css, list_html
from explorer.reader.reader import pair_html
from explorer.results.field import MAJORITY, Doubles, Field, Verdict
from explorer.runs.model_list import size_of
from explorer.tabs.pairs.fail_state import FailScene, measures, order_of
from explorer.tabs.pairs.notes import PairNotes

REWARDS = ("chosen_reward", "rejected_reward")
MOST_FAILING = 400
"""Models that are listed below a pair."""


def fail_list_html(now: FailScene, notes: PairNotes) -> str:
    """The page of rows that a scene is on; those with a note have a sign."""
    if not len(now.listed):
        return ""
    view, field = now.view, now.field
    columns = _columns(now)
    values = {name: _values(now, name) for name in columns if name != "outcome"}
    rows = now.listed.rows

    def cells(place: int) -> list[str]:
        row = int(rows[place])
        written = [_written(now, row, name, values) for name in columns]
        return [*written, *_words(now, row)]

    def css(place: int) -> str:
        row = int(rows[place])
        noted = " noted" if notes.of(field, row) else ""
        return f"{harm_css(field.table.subset_of(row))}{noted}".strip()

    order = order_of(view, field)
    heads = [
        Column(text(f"fails.{_heading(now, name)}"), number=name != "outcome", sort=_sort(name))
        for name in columns
    ]
    heads += [Column(text("list.prompt"), css="words")] * field.has_texts
    return list_html(
        text("failures.label"),
        heads,
        now.listed,
        view.view.reading,
        cells,
        sort=order,
        css=css,
    )


def fail_pair_html(now: FailScene) -> str:
    """The open pair with what the model made of it, and below it what the others did."""
    reading, field = now.view.view.reading, now.field
    display = reading.display(now.view.view.filters.query)
    row = field.table.row_of(reading.key) if reading.key else None
    if row is None:
        return pair_html(None, None, reading.display(EVERYTHING))
    cells = field.table.cells(row) if field.has_texts else None
    pair = pair_html(cells, reading.key, display, _verdicts(now, row), source=field.table.source)
    return pair + who_html(field, row, now.view.model)


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
    parts = _models(field, failing, text("fails.failing", n=_n_models(field, failing)))
    parts += _models(field, winning, text("fails.winning", n=_n_models(field, winning)))
    title = tag("summary", escape(words))
    return tag("details", title + parts, css="who", data_keep="who")


def _columns(now: FailScene) -> list[str]:
    """What is known of a row, by name."""
    if not now.view.model:
        return ["difficulty", "telling", "length"]
    known = now.field.has_rewards(now.view.model)
    several = ["outcome"] if now.view.kind in ("all", "near") else []
    rewards = ["margin", *REWARDS] if known else []
    texts = ["length"] if now.field.has_texts else []
    return [*several, *rewards, "difficulty", "surprise", *texts]


def _heading(now: FailScene, name: str) -> str:
    of_others = name == "difficulty" and now.view.model
    return "column_others" if of_others else f"column_{name}"


def _values(now: FailScene, name: str) -> Doubles:
    """A column's number of each pair of the table."""
    if name in REWARDS:
        return now.field.rewards(
            now.view.model, "chosen" if name == "chosen_reward" else "rejected"
        )
    return measures(now.view, now.field, name)


def _sort(name: str) -> str:
    return "" if name in ("outcome", *REWARDS) else name


def _written(now: FailScene, row: int, name: str, values: dict[str, Doubles]) -> str:
    if name == "outcome":
        return escape(text(f"outcome.{now.field.outcome(now.view.model, row)}"))
    value = float(values[name][row])
    if np.isnan(value):
        return text("board.unknown")
    if name in ("difficulty", "surprise"):
        return escape(percent(value, 0))
    return escape(f"{value:+,.0f}".replace("-", "−") if name == "length" else signed(value))


def _words(now: FailScene, row: int) -> Sequence[str]:
    if not now.field.has_texts:
        return []
    query = now.view.view.filters.query
    prompt = now.field.table.cells(row)["prompt"]
    return [excerpt(prompt, query if query.looks_at("prompt") else EVERYTHING)]


def _verdicts(now: FailScene, row: int) -> list[Verdict]:
    model, against = now.view.model, now.view.against
    if not model:
        return []
    names = [model, *([against] if against and against != MAJORITY else [])]
    return [now.field.verdict(name, row) for name in names]


def _n_models(field: Field, places: Sequence[int]) -> str:
    return f"{len({field.row_models[place] for place in places}):,}"


def _models(field: Field, places: Sequence[int], title: str) -> str:
    """Models by type and size."""
    if not places:
        return ""
    by_type: dict[str, list[str]] = {}
    for place in places[:MOST_FAILING]:
        kind = field.matrix.model_types[place] or text("fails.own_type")
        by_type.setdefault(kind, []).append(field.matrix.models[place])
    lines = ""
    for kind, names in sorted(by_type.items()):
        names.sort(key=lambda name: (-(size_of(name) or 0), name))
        buttons = "".join(button(name, "model", {"value": name}, "goto") for name in names)
        lines += tag("div", tag("b", escape(f"{kind} ({len(names):,})")) + buttons, "same")
    more = len(places) - MOST_FAILING
    lines += note(text("fails.more", n=f"{more:,}")) if more > 0 else ""
    return tag("h3", escape(title)) + lines
