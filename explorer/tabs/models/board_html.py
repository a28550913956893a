"""A board as HTML: its bar, its table, and the drawer of a model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from explorer.core.html import points, render
from explorer.data.search import matching_names
from explorer.reader.links import failures_query
from explorer.reader.state import PairsState
from explorer.results.board import COMPOSITE, Board, BoardRow
from explorer.results.board_certainty import rivals
from explorer.results.published import Results
from explorer.runs.model_list import licence_note
from explorer.runs.outcomes import summary_of
from explorer.stats.aggregate import Counted, settled
from explorer.stats.rules import PRIOR_KEY, V1, Rule
from explorer.stats.uncertainty import subsets_by
from explorer.tabs.models.charts import LengthBias, length_bias, lengths_of, scores_by_length
from explorer.tabs.models.exports import BoardFormat
from explorer.tabs.models.ranked import (
    MOST_BOARD_ROWS,
    Ranked,
    column_words,
    columns_of,
    visible_columns,
)
from explorer.tabs.models.state import (
    BOARD_BENCHMARKS,
    DIGITS,
    FACTS,
    FAILURES,
    LETTERS,
    MODEL_TYPES,
    MOST_MODELS,
    BoardTable,
    ChartName,
    ModelsState,
    type_of,
    type_words,
)
from scoring.errors import counted
from scoring.interval import wilson
from scoring.record import Run

_MANY_COLUMNS = 10
"""From which on a board is scrolled sideways, and its scores are drawn in little room."""
_MOST_APART = 20
"""Runs of other pairs that are written below a board; the Score tab lists them all."""


def board_html(now: Ranked) -> str:
    """The table of a state, with fewer columns while a drawer is open beside it."""
    board, state, rows, apart = now.board, now.state, now.rows, now.seen.apart
    columns = visible_columns(board, state)
    by = ranked_by(board, state)
    if state.open:
        columns = tuple(column for column in columns if column in ("model", "score", by))
    scores = [column for column in columns if column not in (*FACTS, FAILURES)]
    values = rows[scores].to_numpy(np.float64)
    is_best = values[:MOST_BOARD_ROWS] == np.fmax.reduce(values, axis=0, initial=-np.inf)
    listed = [board.rows[model] for model in rows.index[:MOST_BOARD_ROWS]]
    ranks, group = board.ranks_by(by), "tie_group" if by == "score" else f"{by}_group"
    lines = [
        _Line(
            row,
            ranks.get(row["model"]),
            row.get(group) if state.column in ("", by) else None,
            [
                (name, *_cell(row, name, state.digits), best)
                for name, best in zip(scores, of, strict=True)
            ],
            of_all=_of_all(board, row) if board.is_part(row) else "",
        )
        for row, of in zip(listed, is_best.tolist(), strict=True)
    ]
    mine = [line for line in lines if line.of_all]
    lines = _with_ends([line for line in lines if not line.of_all])
    named = matching_names([*apart], state.search) if apart and state.own else []
    runs = [name for name, is_found in zip(apart, named, strict=False) if is_found]
    baselines = scores_by_length(board, now.seen.outcomes, now.tables())
    return render(
        "tabs/models/board.html",
        title=board.rule.title,
        state=state,
        lines=lines,
        mine=mine,
        apart=[_apart(name, apart[name]) for name in runs[:_MOST_APART]],
        has_failures=FAILURES in columns,
        failures_query=partial(failures_query, pairs=PairsState(results=state.results)),
        baselines={
            words: [(column, of.get(column)) for column in scores]
            for words, of in baselines.items()
        },
        notes=_notes(now, len(rows) - MOST_BOARD_ROWS, len(runs) - _MOST_APART, bool(baselines)),
        ranks_published=board.has_published,
        by=by,
        columns=columns,
        facts=[each for each in columns if each in FACTS],
        pins=state.pins,
        heading=column_words,
        axis=_axis([line.row for line in lines], by, len(columns), baselines.values())
        if by in scores
        else (),
        measured=any(line.group for line in lines),
        widest=_widest_ends([line.row for line in lines]) if by == "score" else 0,
        type_words=type_words,
        unknown="–",
        total=len(board.table),
    )


def _notes(now: Ranked, left_out: int, more_apart: int, has_lengths: bool) -> list[str]:
    """What stands below the table. left_out, more_apart: models and runs that are not written."""
    notes = []
    if not has_lengths and now.seen.outcomes and now.board.rule.benchmark != V1.benchmark:
        notes = ["Length baselines need the texts of these pairs: open them by the menu of pairs."]
    if left_out > 0:
        models = counted(left_out, "more model", "more models")
        notes.append(f"+ {models}; search for them by name.")
    if more_apart > 0:
        runs = counted(more_apart, "more run", "more runs")
        notes.append(f"+ {runs} on other pairs; the Score tab lists them all.")
    return notes


@dataclass(frozen=True, slots=True)
class _Line:
    """A row as it is written.

    rank, group: by the column that is ranked by. ends: "first" or "last" of neighbours of one
    group, or both. joined: whose bracket passes the row. numbers: the column, words, interval of
    each, and whether it is the best. of_all: of the person's own on a part of the pairs, how many
    of how many; else "".
    """

    row: BoardRow
    rank: int | None
    group: int | None
    numbers: list[tuple[str, str, str, bool]]
    ends: str = ""
    joined: int | None = None
    of_all: str = ""


def _of_all(board: Board, row: BoardRow) -> str:
    n, totals = board.n_pairs(row), " or ".join(f"{each:,}" for each in board.totals)
    of_all = f"{n:,} of {totals} pairs" if n < min(board.totals, default=0) else f"{n:,} pairs"
    return of_all if n else "some subsets"


def ranked_by(board: Board, state: ModelsState) -> str:
    """The column that ranks go by: that which rows are sorted by, where it is a score."""
    scores = {"score", *board.rule.parts, *board.rule.sections, *board.subsets}
    return state.column if state.column in scores & {*board.table.columns} else "score"


def _with_ends(lines: Sequence[_Line]) -> list[_Line]:
    """The same, told which begin or end a bracket of neighbours in one group."""
    groups = [None, *(line.group for line in lines), None]
    for at, line in enumerate(lines, start=1):
        if line.row["own"] and groups[at - 1] == groups[at + 1]:
            groups[at] = groups[at - 1]
    ends = [
        " ".join(["first"] * (group != before) + ["last"] * (group != after))
        for before, group, after in zip(groups, groups[1:], groups[2:], strict=False)
    ]
    return [
        replace(line, ends=each, joined=group)
        for line, each, group in zip(lines, ends, groups[1:], strict=False)
    ]


def _apart(name: str, run: Run) -> dict[str, Any]:
    summary = summary_of(run)
    accuracy = None if summary is None else summary.total.accuracy
    query = failures_query(name) if run.n_scored else ""
    return {"name": name, "n_pairs": run.n_scored, "accuracy": accuracy, "query": query}


def _widest_ends(listed: Sequence[BoardRow]) -> int:
    """Characters of the longest interval of a rank; 0 where there is none."""
    ends = [(row["best_rank"], row["worst_rank"]) for row in listed]
    return max((len(f"{best}–{worst}") for best, worst in ends if best is not None), default=0)


def _axis(
    listed: Sequence[BoardRow],
    column: str,
    n_columns: int,
    baselines: Iterable[Mapping[str, float | None]] = (),
) -> Sequence[int]:
    """The marks that scores are drawn between, in percent, fewer where room is little.

    They hold the better of the length baselines, too.
    """
    both = (f"{column}_low", column)
    ends = [row[end] for row in listed for end in both if row[end] is not None]
    by_length = [share for of in baselines if (share := of.get(column)) is not None]
    ends += [max(by_length)] if ends and by_length else []
    low = min(90, int(10 * min(ends)) * 10) if ends else 0
    step = 10 if low >= 20 and n_columns <= _MANY_COLUMNS else 20
    return range(low - low % step, 101, step) if ends else ()


def _cell(row: BoardRow, column: str, digits: int) -> tuple[str, str]:
    """A number as it is written, and its interval; both "" where it is not known."""
    value, low, high = row[column], row[f"{column}_low"], row[f"{column}_high"]
    if value is None:
        return "", ""
    ends = ""
    if low is not None:
        ends = f"{100 * low:.{digits}f}–{100 * high:.{digits}f}"
        paired = row["paired"] if column == "score" else row.get(f"{column}_paired", False)
        ends = ends if paired else f"({ends})"
    return f"{100 * value:.{digits}f}", ends


COMPARISONS = {
    "compare": "Side by side",
    "scatter": "Margins",
    "agreement": "Agreement",
    "ensembles": "Ensembles",
}
"""The ways to compare, as they are called."""
_TABLES: dict[BoardTable, str] = {"sections": "Section", "subsets": "Subset"}
_OPTIONS: dict[str, dict[Any, str]] = {
    "rule": {
        "official": "Official",
        "paper": "As in the paper",
        "prior-full": "Prior sets at full weight",
    },
    "ties": {"official": "Official (½ for judges)", "half": "½ for all"},
    "missing": {"left out": "Excluded", "loss": "Count as losses (original code)"},
}
"""Field -> its options in words."""
CHART_NAMES: dict[ChartName, str] = {
    "length": "Length bias",
    "agreement": "Agreement",
    "difficulty": "Difficulty",
    "size": "Score and size",
    "tradeoff": "Trade-off",
}
_FORMATS: dict[BoardFormat, str] = {
    "csv": "CSV",
    "parquet": "Parquet",
    "md": "Markdown",
    "tex": "LaTeX",
}
_DOING = {
    "reading": "Reading per-pair results, files:",
    "measuring": "Measuring ranks and ties, steps:",
}
PAIRED = (
    "95 % intervals of scores are the sampling uncertainty over prompts (Wilson's interval, by "
    "subset; pairs with the same prompt{} count as one draw)."
)
RANKED = (
    "The 95 % interval of a rank holds for that model, not for all ranks at once. A tie group "
    "joins models that cannot be separated from its best at the 5 % level (paired tests between "
    "all pairs of models, Holm-corrected). It does not mean that they are equally good, or how "
    "they compare on other data."
)
_UNPAIRED = (
    "Intervals in brackets are binomial 95 % intervals, from the number of pairs. They are mostly "
    "wider than intervals from per-pair results. An overlap does not mean that two models are "
    "equal."
)
_UNPAIRED_PRIOR = (
    "Prior sets have only accuracies, no per-pair results. A score that includes them has the "
    "wider binomial interval in brackets, and no rank interval or tie group. Sections with "
    "per-pair results keep theirs."
)


def bar_html(
    now: Ranked, state: ModelsState, results: Results, notes: Sequence[str], link_base: str
) -> str:
    """What stands above a board: panels, benchmark, options, search, counts, and the source.

    state: as it was asked for; its search may be one that cannot be used.
    notes: on the address. link_base: where a copied link begins; "" for the page.
    """
    board = now.board
    kinds = {type_of(each) for each in board.model_types} | {*state.types}
    n_models, n_own = len(board.table), int(board.table["own"].sum())
    count = counted(n_models, "model", "models")
    count = count if len(now.rows) == n_models else f"{len(now.rows):,} of {count}"
    count += f" ({n_own:,} yours)" if n_own else ""
    notes = [*notes]
    if now.seen.is_read and not len(board.table):
        known = board.rule.benchmark
        pairs = f"Open {' or '.join(known.named_datasets)} by the menu of pairs and score it, or a"
        notes.append(
            f"No results for {board.rule.title}: neither published accuracies nor per-pair "
            f"results cover it. {'A' if known.key == PRIOR_KEY else pairs}dd result files by the "
            "menu of results" + (f": there are some in {known.results}." if known.results else ".")
        )
    if unused := [each for each in now.seen.left_out if each.whole]:
        n = counted(len(unused), "file of per-pair results is", "files of per-pair results are")
        others = ". All are listed under the board" if len(unused) > 1 else ""
        notes.append(f"{n} not used: {unused[0]}{others}.")
    return render(
        "tabs/models/bar.html",
        state=state,
        link_base=link_base,
        choices=_choices(state, board.rule),
        types=[kind for kind in MODEL_TYPES if kind in kinds],
        columns={each: column_words(each) for each in columns_of(board, state) if each != "model"},
        visible=visible_columns(board, state),
        rewarded=board.rewarded,
        pinned=_compare_pinned(board, state),
        count=count,
        files=_FORMATS if len(board.table) else {},
        notes=notes,
        benchmark=board.rule.benchmark.key,
        benchmarks=dict([*BOARD_BENCHMARKS.items()][:2]),
        others=dict([*BOARD_BENCHMARKS.items()][2:]),
        results=results,
    )


def _choices(state: ModelsState, rule: Rule) -> dict[str, dict[Any, str]]:
    """Field -> the names of its options."""
    is_first = state.benchmark == V1.name
    judged = {} if rule.benchmark.rule.tie_of("judge") else {"official": "Official"}
    return {
        **_OPTIONS,
        "ties": _OPTIONS["ties"] | judged,
        "rule": _OPTIONS["rule"] if is_first else {},
        "table": _TABLES if is_first and state.table != "prior" else {},
        "digits": {each: str(each) for each in DIGITS},
    }


def status_html(now: Ranked, *, is_fetching: bool) -> str:
    """Progress of measuring, or why it failed with a way to try again; "" if all is done."""
    return render(
        "tabs/models/status.html",
        going=now.step,
        doing=_DOING[now.step.doing] if now.step else "",
        refused=now.refused,
        is_fetching=is_fetching,
    )


def about_html(now: Ranked) -> str:
    """The files of the rows, the rule, what intervals mean, and remarks on the numbers."""
    board, state, left_out = now.board, now.state, now.seen.left_out
    problems = ", and one HumanEval problem in its six languages,"
    meanings = {
        PAIRED.format(problems if board.rule.benchmark.first_ids else ""): "paired" in board.has,
        RANKED: "ranks" in board.has,
        _UNPAIRED: state.table == "subsets" or "unpaired" in board.has,
        COMPOSITE: COMPOSITE in board.remarks,
        _UNPAIRED_PRIOR: "unpaired prior" in board.has,
    }
    said = [words for words, is_so in meanings.items() if is_so]
    remarks = [each for each in board.remarks if each not in said]
    if board.rule.has_composites and board.source.kind == "snapshot":
        n_published = (~board.table["own"]).sum()
        name, revision = board.source.name, board.source.revision[:12]
        n = counted(n_published, "model", "models")
        said.insert(0, f"Bundled figures of {n}: {name}, sha256 {revision}.")
    lists = {
        f"Warnings about these numbers: {len(remarks):,}": remarks,
        f"Warnings about per-pair results: {len(left_out):,}": list(map(str, left_out)),
    }
    return render("tabs/models/about.html", rule=board.rule, said=said, lists=lists)


def short_board_html(now: Ranked) -> str:
    """The models that can be compared, by rank, beside a comparison; "" if there are none."""
    models = now.rows.index[now.rows["opens"]][:MOST_BOARD_ROWS]
    if not len(models):
        return ""
    ranks, rows = now.board.ranks_by("score"), [now.board.rows[model] for model in models]
    return render(
        "tabs/models/short_board.html",
        state=now.state,
        lines=_with_ends(
            [_Line(row, ranks.get(row["model"]), row["tie_group"], []) for row in rows]
        ),
        letters=dict(zip(now.state.named, LETTERS, strict=False)),
    )


def drawer_html(now: Ranked, link_base: str = "") -> str:
    """All that is known of the model whose drawer is open; "" where none is.

    link_base: where a copied link begins; "" for the page.
    """
    board, state = now.board, now.state
    row = board.rows.get(state.open)
    if row is None:
        return ""
    lengths = _bias_of(now, row["model"]) if board.rule.benchmark.key == V1.name else None
    counted = board.counted[row["model"]]
    pairs = PairsState(results=state.results)
    failures, beside = _onwards(board, row, pairs)
    counts = counted.counts
    n_pairs = sum(each.n for each in counts.values())
    tied = board.table[board.table["tie_group"].eq(row["tie_group"] or 0).fillna(value=False)]
    same = [*board.rule.sections] == [*board.subsets]
    baselines = scores_by_length(board, now.seen.outcomes, now.tables())
    of_subsets = baselines, pairs if failures else None
    return render(
        "tabs/models/drawer.html",
        row=row,
        state=state,
        type_words=type_words,
        licence=licence_note(row["model"]),
        digits=state.digits,
        link_base=link_base,
        n_ranked=len(rivals(board.table)),
        has_lengths=bool(baselines),
        n_pairs=n_pairs,
        ties=tied.index.drop(row["model"], errors="ignore").to_list(),
        sections=[
            _measure(board, row, name)
            for name in (*board.rule.parts, *([] if same else board.rule.sections))
        ],
        lengths=[] if lengths is None else _by_length(lengths),
        length_about="" if lengths is None else _length_words(lengths),
        subsets=[_measure(board, row, name, *of_subsets) for name in board.subsets],
        counts=[(section, counted.behind(section)) for section in counted.sections],
        counted=counted,
        rule=board.rule,
        wins=_wins,
        failures=failures,
        may_open=row["opens"] or not now.seen.is_read,
        beside=beside,
    )


def share_group(board: Board, a: str, b: str) -> bool:
    """Whether two models are in one tie group of a board."""
    one, other = (board.rows[each]["tie_group"] if each in board.rows else None for each in (a, b))
    return one is not None and one == other


def _bias_of(now: Ranked, model: str) -> LengthBias | None:
    """How a model does by which side is longer; None where its outcomes or texts are not here."""
    matrix, state = now.seen.outcomes, now.state
    if matrix is None or model not in matrix.models:
        return None
    lengths = lengths_of(now.tables(), matrix.pairs)
    if lengths is None:
        return None
    at = [matrix.models.index(model)]
    outcomes = settled(matrix.outcomes[at], matrix.known_equal[at], state.ties, state.missing)
    [found] = length_bias(outcomes, lengths.difference, subsets_by(V1, matrix.pairs))
    return found


def _measure(
    board: Board,
    row: BoardRow,
    name: str,
    baselines: Mapping[str, Mapping[str, float | None]] = MappingProxyType({}),
    pairs: PairsState | None = None,
) -> dict[str, Any]:
    """A section's score or a subset's accuracy; that of a name of both is the section's.

    baselines: as of `scores_by_length`. pairs: of which it leads to those that are lost, if any.
    """
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    column = rivals(board.table)[name].dropna()
    counted = board.counted[row["model"]].counts.get(name)
    query = failures_query(row["model"], replace(pairs, subset=(name,))) if pairs else ""
    return {
        "name": column_words(name),
        "score": row[name],
        "low": low,
        "high": high,
        "median": float(column.median()) if len(column) else None,
        "baselines": {each: of[name] for each, of in baselines.items() if of.get(name) is not None},
        "lost": counted.failures if counted and pairs else None,
        "query": query,
    }


def _by_length(lengths: LengthBias) -> list[dict[str, Any]]:
    found = []
    for side in ("chosen_longer", "rejected_longer"):
        share, name = getattr(lengths, side), f"{side.removesuffix('_longer')} is longer"
        low, high = wilson((share.accuracy or 0.0) * share.n, share.n) or (None, None)
        of = {"name": name, "score": share.accuracy, "low": low, "high": high}
        found.append({**of, "median": None, "baselines": {}, "lost": None, "query": ""})
    return found


def _length_words(lengths: LengthBias) -> str:
    if lengths.interval is None:
        return ""
    low, high = map(points, lengths.interval)
    return (
        f"{points(lengths.difference)} points where the chosen response is longer, 95 % interval "
        f"{low} to {high}"
    )


def _compare_pinned(board: Board, state: ModelsState) -> str:
    """A link to compare pinned models; "" where fewer than two have results of each pair."""
    opens = board.table.index[board.table["opens"]]
    models = opens[opens.isin(state.pins)].to_list()
    if len(models) < 2:
        return ""
    a, b, *more = models[:MOST_MODELS]
    return state.comparing(a=a, b=b, more=tuple(more))


def _onwards(board: Board, row: BoardRow, pairs: PairsState) -> tuple[str, str]:
    """A link to the pairs that a model loses, and the model that stands next to it; "" for none."""
    if not row["opens"]:
        return "", ""
    model, table, beside = row["model"], board.table, ""
    ranked = table.index[table["opens"] & table["rank"].notna()].to_list()
    if model in ranked and len(ranked) > 1:
        place = ranked.index(model)
        beside = ranked[place - 1 if place else 1]
    return failures_query(model, pairs), beside


def _wins(counted: Counted) -> str:
    """Whole wins, and the sum of what pairs won in part count: halves of judges, thirds of ties.

    >>> _wins(Counted(0.65, 5, 2, 3, 0, 0))
    '2 + 1.25 of 3 won in part'
    """
    wins = f"{counted.wins:,}"
    if not counted.halves or counted.accuracy is None:
        return wins
    credit = round(counted.accuracy * counted.n - counted.wins, 4)
    n = f"{counted.halves:,}"
    return f"{wins} + {credit:,.10g} of {n} won in part"
