"""What the Pairs tab shows of a scene but its wide panels: whose outcomes, filters, list, pair."""

from collections.abc import Iterator, Sequence

import numpy as np

from explorer.core.html import OUTCOME_WORDS, part, percent, render, signed
from explorer.data.search import EVERYTHING
from explorer.reader.filter_html import JUDGED_WORDS, Tick, filter_chips, kind_words, n_sections
from explorer.reader.links import compare_query
from explorer.reader.listing import Column, ListCell, Won, excerpt, harm_css, list_html
from explorer.reader.reader import pair_html
from explorer.reader.scene import (
    NO_TEXTS,
    Scene,
    kind_masks,
    list_order,
    measured,
    n_winning,
    rows_with_any,
)
from explorer.reader.state import (
    BY_LENGTH,
    FIELD_KINDS,
    OF_OUTCOMES,
    OUTCOME_KINDS,
    PAIRS_PANELS,
    FieldKind,
    Margins,
    OutcomeKind,
    PairsState,
    changed,
    margins_written,
)
from explorer.results.field import MAJORITY, Doubles, Field
from explorer.results.judged import judge_run
from explorer.runs.model_list import size_of
from explorer.stats.margins import MarginHistogram, margin_histogram
from explorer.tabs.pairs.notes import LONGEST_NOTE, MOST_NOTES, mark_of
from scoring.errors import counted
from scoring.pairs.opening import TEXT_COLUMNS

REWARDS = ("chosen_reward", "rejected_reward")
OF_OTHERS = ("difficulty", "surprise", "telling")
"""Numbers that only other models' outcomes give."""
MOST_OTHERS = 60
"""Pairs with the same prompt that are looked up."""
MOST_FAILING = 400
"""Models that are listed below a pair."""
_MOST_BARS = 24
"""Of the histogram of winning models."""

NO_OTHERS = "No other model has a result for this pair."
FEW_MODELS = "Fewer than two models have results here, so the difficulty of this pair is unknown."
_ABOUT = {
    "failures": "Losses and ties.",
    "losses": "The model preferred the rejected response.",
    "ties": "Both responses got the same reward, or a judge could not decide.",
    "missing": "No outcome: the reward was not a number, or the file has none for the pair.",
    "near": "Losses and ties with a margin in the narrowest quarter of the model's margins.",
    "confident": "Losses with a margin in the widest quarter of the model's margins.",
    "wins": "The model preferred the chosen response.",
    "hard": "More than 80 % of the models fail. The pair is hard, or may be mislabelled.",
    "telling": "Won by models that do well on the rest of the subset, lost by other models: the "
    "100 pairs with the highest correlation.",
    "negative": "Lost more often by models that do better on the rest of the subset. A wrong label "
    "is one cause; chance, another skill or a shared bias are others.",
}


def head_html(
    now: Scene, asked: PairsState, names: Sequence[str], matching: Sequence[str] = ()
) -> str:
    """Whose outcomes stand beside the pairs, and which kind of pairs, each with its number.

    asked: with the model as it was asked for. names: the models that are offered. matching: those
    that have what was typed in their names, where there are several.
    """
    state, field, crowd = now.state, now.field, now.pairs.crowd
    rewards = field is not None and bool(now.model) and field.has_rewards(now.model)
    margins = _margins(now, field) if field is not None and rewards else None
    counts = now.counts
    if field is None and crowd is not None and _has_crowd(now):
        counts = {kind: mask[now.passing].sum() for kind, mask in kind_masks(crowd, "").items()}
    kinds = [
        kind
        for kind in (OUTCOME_KINDS if state.model else FIELD_KINDS)
        if kind in counts and kind not in ("all", "every")
        if rewards or kind not in ("near", "confident")
        if not kind.startswith("only") or now.table.benchmark.rule.parts
        if kind != "failures" or state.kind == kind or counts["ties"]
    ]
    most = max([1, *(counts[kind] for kind in kinds)])
    has_bars = not state.model and bool(counts) and _has_crowd(now)
    winning = _winning(now, crowd) if crowd is not None and has_bars else []
    return render(
        "tabs/pairs/head.html",
        state=state,
        asked=asked,
        names=names,
        matching=[(name, state.of(name).narrowed()) for name in matching],
        n_models=crowd.n_models if crowd is not None else 0,
        alone=_without_results(now).narrowed(),
        compare=compare_query(now.model),
        kinds=[_kind(now, kind, int(counts[kind]), counts[kind] / most) for kind in kinds],
        histogram=margins,
        margins=margins_written(state.margins).split(":") if state.margins else (),
        brushed=_brushed(state.margins, -margins.edges[-1], margins.edges[-1]) if margins else "",
        winning=winning,
        verdicts=JUDGED_WORDS if judge_run(field, now.model) is not None else {},
        brushed_wins=_brushed(state.wins, 0, crowd.n_models) if crowd and winning else "",
        said=_said(now, field, rewards=rewards) if field is not None else (),
    )


def _without_results(now: Scene) -> PairsState:
    return (now.state if now.pairs.has_texts else now.state.on("")).of(None)


def _kind(now: Scene, kind: OutcomeKind | FieldKind, n: int, share: float) -> Tick:
    """A kind of pairs that can be picked, like a name of a facet, and taken away again."""
    state = now.state
    is_picked = state.listed_kind == kind
    if state.model:
        href = state.narrowed(kind="all" if is_picked else kind)
    else:
        after = state.of(None) if is_picked else changed(state.of(""), {"field_kind": kind})
        href = after.narrowed()
    rule, words = now.table.benchmark.rule, kind_words(now.table, kind)
    about = _ABOUT.get(kind, rule.method)
    if rule.reads_several and kind in ("losses", "wins"):
        about = f"{rule.method} {rule.margin}" if rule.parts else rule.method
    return Tick(kind, words, n, f"{100 * share:.0f}", is_picked, href, about)


def _margins(now: Scene, field: Field) -> MarginHistogram | None:
    """How many of the pairs that are listed, or would be with any margin, have each; None where
    none has a finite one.
    """
    place = field.place(now.model)
    sides = field.matrix.chosen[place], field.matrix.rejected[place]
    found = margin_histogram(*sides, counted=rows_with_any(now, "margins"))
    return found if found.edges else None


def _winning(now: Scene, crowd: Field) -> list[int]:
    """How many pairs are won by few models, and so on to all of them."""
    winning, n = n_winning(crowd)[rows_with_any(now, "wins")], crowd.n_models
    found = np.histogram(winning[~np.isnan(winning)], bins=min(n + 1, _MOST_BARS), range=(0, n))
    return [int(each) for each in found[0]]


def _brushed(kept: Margins | None, least: float, most: float) -> str:
    """Where a range lies over bars from the least to the most, as CSS."""
    if kept is None:
        return "display: none"
    low, high = (
        edge if end is None else 100 * (max(least, min(most, end)) - least) / (most - least)
        for edge, end in zip((0, 100), kept, strict=True)
    )
    return f"left: {low:.2f}%; right: {100 - high:.2f}%"


def _said(now: Scene, field: Field, *, rewards: bool) -> Iterator[tuple[str, str]]:
    """What is to be known of the outcomes: words, and their class."""
    model = now.model
    match = field.match_description(model)
    if not field.matrix.models:
        yield "No per-pair results yet. Score some pairs, or add result files on Models.", ""
    elif match and field.has_texts:
        yield match, ""
    if field.is_running(model):
        of = counted(field.runs[model].facts.n_pairs, "pair", "pairs")
        yield f"This run is in progress: {field.known(model).sum():,} of {of} scored so far.", ""
    if model and not rewards:
        yield "Outcomes only: no margins, near misses or calibration.", ""
    if not field.has_texts:
        yield f"{NO_TEXTS} {match}".rstrip(), "wrong"


def bar_html(now: Scene, notes: Sequence[str], link_base: str, missing: str = "") -> str:
    """How many pairs are listed, what they were filtered by, a link, and what to know.

    notes: sentences on what of an address is not shown. link_base: where a link begins; "" for
    this page's address. missing: the id of pairs that can be fetched; "" for none.
    """
    state = now.state
    every = {"kind": "all"} if state.model else {"field_kind": "every"}
    return render(
        "tabs/pairs/bar.html",
        n=len(now.listed),
        table=now.table,
        chips=filter_chips(now),
        unfiltered=_without_results(now).unfiltered().href(),
        every=state.narrowed(**every) if now.field else "",
        link_base=link_base,
        is_read=state.panel in ("pairs", "review"),
        notes=notes,
        missing=missing,
    )


def panels_html(now: Scene) -> str:
    """The ways to look at what is listed; those of one model's outcomes where there are some."""
    state = now.state
    left_out: tuple[str, ...] = ()
    if now.field is None or not now.model:
        left_out = OF_OUTCOMES
    elif not now.field.has_rewards(now.model):
        left_out = ("rewards",)
    shown = [each for each in PAIRS_PANELS if each == state.panel or each not in left_out]
    words = {panel: "List" if panel == "pairs" else panel.capitalize() for panel in shown}
    links = {panel: state.href(panel=panel) for panel in shown}
    written = part("segments", "View", words, links, state.panel, of="core/links.html")
    return f'<div data-panel="{state.panel}">{written}</div>'


def list_of_pairs_html(now: Scene) -> str:
    """The page of rows that a scene is on."""
    if not len(now.listed):
        return ""
    columns = _columns(now)
    texts = _texts(now)
    values = {name: _values(now, name) for name in columns if name not in ("outcome", "wins")}

    def cells(row: int) -> list[ListCell]:
        known = [_written(now, row, name, values) for name in columns]
        words = _words(now, row, texts)
        return [*words, *known]

    def css(row: int) -> str:
        found = [harm_css(now.table.subset_of(row))]
        if "outcome" in columns:
            found.append(now.known.outcome(now.model, row))
        return " ".join(filter(None, found))

    def mark(row: int) -> str:
        if now.field is None and now.state.panel != "review":
            return ""
        return mark_of(now.table, row, has_texts=now.pairs.has_texts)

    order = list_order(now.state, now.field)
    which = f", {now.table.measured_response}" if now.table.measured_response else ""
    numbers = [
        Column(
            _HEADINGS.get(name, name) + (which if name in BY_LENGTH else ""),
            number=name not in ("outcome", "wins"),
            sort="" if name in ("outcome", "wins", *REWARDS) else name,
            css=f"{name} sorted" if order.removeprefix("-") == name else name,
        )
        for name in columns
    ]
    words = [Column(name, css=f"words {name}") for name in texts]
    return list_html(
        ("Pairs" if now.field is None else "Pairs and their outcomes"),
        [*words, *numbers],
        now,
        cells,
        sort=order,
        css=css,
        mark=mark,
    )


def open_pair_html(now: Scene) -> str:
    """The open pair, with what models made of it where that is looked at."""
    table, field, row = now.table, now.field, now.open_row
    display = now.state.display
    if row is None:
        return pair_html(None, None, display)
    if field is None:
        keys = [table.key_of(int(other)) for other in table.same_prompt(row)[:MOST_OTHERS]]
        others = [(key, now.state.href(key=key, page=1)) for key in keys]
        pair = pair_html(
            table.cells(row),
            now.key,
            display,
            same_prompt=others,
            source=table.source,
            benchmark=table.benchmark,
        )
        crowd = now.pairs.crowd if _has_crowd(now) else None
        return pair + (who_html(now.state, crowd, row) if crowd else "")
    model, against = now.model, now.state.against
    names = [name for name in (model, against) if name not in ("", MAJORITY)] if model else []
    verdicts = [field.verdict(name, row) for name in names]
    cells = table.cells(row) if field.has_texts else None
    pair = pair_html(
        cells, now.key, display, verdicts, source=table.source, benchmark=table.benchmark
    )
    return pair + who_html(now.state, field, row)


def welcome_html(now: Scene) -> str:
    """What a newcomer is told above the first pair."""
    models = now.pairs.crowd.n_models if now.pairs.crowd is not None else 0
    return render(
        "reader/welcome.html", table=now.table, sections=n_sections(now.table), models=models
    )


def note_html(now: Scene) -> str:
    """The field for a note on the open pair, which the browser keeps; nothing where none is open,
    without outcomes, or in a review, whose bar has it.
    """
    row = now.open_row
    if row is None or now.field is None or now.state.panel == "review":
        return ""
    mark = mark_of(now.table, row, has_texts=now.pairs.has_texts)
    return part("field", mark, LONGEST_NOTE, MOST_NOTES, of="tabs/pairs/note.html")


def failed_by(n: int, of: int, model: str) -> str:
    """How many models fail a pair, of those with an outcome of it; beside one, of the others."""
    models = ("other model", "other models") if model else ("model", "models")
    return f"Failed by {n:,} of {counted(of, *models)}"


def who_html(state: PairsState, field: Field, row: int) -> str:
    """Which models fail a pair and which win it, each a way to its own failures."""
    model = state.model or ""
    outcomes = field.matrix.outcomes[:, row]
    known = ~np.isnan(outcomes)
    failing = np.flatnonzero(known & (outcomes != 1)).tolist()
    winning = np.flatnonzero(outcomes == 1).tolist()
    hard = field.difficulty(model)
    n, of = int(hard.failed[row]), int(hard.known[row])
    few, best = NO_OTHERS if model else FEW_MODELS, field.best_first if of else ()
    return render(
        "tabs/pairs/who.html",
        words=f"{failed_by(n, of, model)} ({percent(n / of, 0)})" if of else few,
        ranked=[(field.matrix.models[at], outcomes[at] == 1) for at in best if known[at]],
        failing=_models(field, failing),
        winning=_models(field, winning),
        leading=lambda name: state.of(name).narrowed(),
        model=model,
    )


def _texts(now: Scene) -> tuple[str, ...]:
    """The sides whose texts stand in a row."""
    if not now.pairs.has_texts:
        return ()
    return TEXT_COLUMNS if now.state.query.words else ("prompt",)


def _columns(now: Scene) -> list[str]:
    """What else is known of a row, by name."""
    state, field = now.state, now.field
    lengths = [*BY_LENGTH] if now.pairs.has_texts else []
    wins = ["wins"] if _has_crowd(now) else []
    if field is None:
        return [*lengths, *wins]
    if not state.model:
        return ["difficulty", "telling", *lengths, *wins]
    several = ["outcome"] if state.kind in ("all", "near", "failures") else []
    rewards = ["margin", *REWARDS] if field.has_rewards(now.model) else []
    return [*several, *rewards, "difficulty", "surprise", *lengths, *wins]


def _has_crowd(now: Scene) -> bool:
    """Whether more than one published model has outcomes of these pairs."""
    return now.pairs.crowd is not None and now.pairs.crowd.n_models > 1


_HEADINGS = {
    "chosen": "chosen chars",
    "rejected": "rejected chars",
    "wins": "models that win",
    "difficulty": "models that fail",
    "surprise": "unexpected",
    "telling": "discrimination",
    "chosen_reward": "chosen reward",
    "rejected_reward": "rejected reward",
}


def _values(now: Scene, name: str) -> Doubles:
    """A column's number of each pair of the table."""
    if name in REWARDS:
        return now.known.rewards(now.model, "chosen" if name == "chosen_reward" else "rejected")
    return measured(now.state, now.pairs, name)


def _written(now: Scene, row: int, name: str, values: dict[str, Doubles]) -> ListCell:
    if name == "wins" and now.pairs.crowd is not None:
        hard = now.pairs.crowd.difficulty()
        known = int(hard.known[row])
        return Won(known - int(hard.failed[row]), known) if known else "–"
    if name == "outcome":
        return OUTCOME_WORDS[now.known.outcome(now.model, row)]
    value = float(values[name][row])
    if np.isnan(value):
        return "" if name in OF_OTHERS else "–"
    if name in ("difficulty", "surprise"):
        return percent(value, 0)
    if name == "difference":
        longer = "chosen" if value > 0 else "rejected"
        return f"{longer} {abs(value):,.0f} longer" if value else "same length"
    if name in BY_LENGTH:
        shown = f"{value:,.0f}"
        return f"{shown} {'char' if value == 1 else 'chars'}" if name == "rejected" else shown
    return signed(value)


def _words(now: Scene, row: int, sides: Sequence[str]) -> list[ListCell]:
    """The first text in which the search found something, else the prompt."""
    if not sides:
        return []
    query, cells = now.state.query, now.table.cells(row)
    found = [excerpt(cells[side], query if query.looks_at(side) else EVERYTHING) for side in sides]
    first = next((place for place, each in enumerate(found) if len(each) > 1), 0)
    return [each if place == first else "" for place, each in enumerate(found)]


def _models(field: Field, places: Sequence[int]) -> dict[str, object]:
    """Models by type and size, as many as are listed, and how many are not."""
    by_type: dict[str, list[str]] = {}
    for place in places[:MOST_FAILING]:
        kind = field.matrix.model_types[place] or "Your runs and others"
        by_type.setdefault(kind, []).append(field.matrix.models[place])
    for names in by_type.values():
        names.sort(key=lambda name: (-(size_of(name) or 0), name))
    return {"by_type": dict(sorted(by_type.items())), "n_more": max(0, len(places) - MOST_FAILING)}
