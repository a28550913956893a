"""A report on what the Pairs tab lists, in Markdown: figures first, then pairs to read."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.core.files import markdown_cell, markdown_table, pictured
from explorer.core.html import OUTCOME_WORDS, p_words, typed_number
from explorer.data.conditions import conditions
from explorer.reader.filter_html import filter_chips, kind_words
from explorer.reader.scene import NO_TEXTS, Scene, list_order, ordered
from explorer.reader.state import PairsState
from explorer.results.field import OUTCOMES, Doubles, Field
from explorer.runs.facts import run_facts
from explorer.stats.margins import calibration
from explorer.stats.rules import has_all_pairs
from explorer.stats.uncertainty import strata_by
from explorer.tabs.pairs.list_html import FEW_MODELS, NO_OTHERS, failed_by
from explorer.tabs.pairs.notes import PairNotes
from explorer.tabs.pairs.slices import about_won, compare_slices
from scoring.errors import counted
from scoring.interval import Interval, wilson
from scoring.strata import Strata, score_intervals, score_models

WORST_PAIRS = 20
"""Pairs that are shown with their texts."""
LONGEST_TEXT = 4_000
"""Characters of a text of these."""
_MOST_NAMED = 10
"""Models that are named as failing a pair."""
_MOST_SLICES = 10

Lines = Iterator[str]


@dataclass(frozen=True, slots=True)
class SectionScore:
    """score: 0 to 1 by the official weights; n: pairs that it comes from, at least 1."""

    score: float
    interval: Interval
    n: int


@dataclass(frozen=True, slots=True)
class SectionScores:
    """sections: those of which the model has results. overall: None where it lacks a pair."""

    sections: dict[str, SectionScore]
    overall: SectionScore | None


def scores_of(field: Field, model: str) -> SectionScores:
    """Scores of the benchmark's sections with 95 % intervals, by `score_intervals`.

    The overall score is official only where the results hold all pairs of the benchmark;
    missing outcomes are then left out, as the rule says.

    Raises:
        KnownError: the field has no such model.
    """
    outcomes, groups = field.outcomes(model), strata_by(field.rule, field.matrix.pairs)
    sections = {
        section: found
        for at, section in enumerate(field.rule.sections)
        if (found := _score(outcomes, groups.only(at)))
    }
    held = field.matrix.held[field.place(model)]
    whole = has_all_pairs(field.matrix.pairs) and held.all()
    return SectionScores(sections, _score(outcomes, groups) if whole else None)


def _score(outcomes: Doubles, groups: Strata) -> SectionScore | None:
    """By all that counts; None where none of it is known."""
    [interval] = score_intervals(outcomes[None], groups)
    if interval is None:
        return None
    [score] = score_models(outcomes[None], groups).tolist()
    return SectionScore(score, interval, int((groups.counting() & ~np.isnan(outcomes)).sum()))


def report_lines(now: Scene, notes: PairNotes) -> Lines:
    """The report, line by line.

    Figures are of all pairs of the model's results, whatever is filtered; pairs are of the list.
    """
    state, field = now.state, now.known
    yield f"# {markdown_cell(state.model or 'All models together')}"
    yield ""
    yield from _about(now)
    if state.model:
        run = field.runs.get(state.model)
        if run is not None:
            yield from _heading("Settings of the run")
            rows = [[name, value] for name, value in run_facts(run).items()]
            yield from _table(["Setting", "Value"], rows, words=2)
        yield from _outcomes(field, state.model)
        yield from _sections(field, state.model)
        if field.has_rewards(state.model):
            yield from _rewards(field, state.model)
        if field.has_texts:
            yield from _slices(field, state.model)
    yield from _noted(now, notes)
    yield from _pairs(now, notes)


def fenced(words: str) -> Lines:
    r"""A text as it stands, in a fence that it cannot end.

    >>> list(fenced("a\n```\nb"))
    ['````', 'a\n```\nb', '````']
    """
    ticks = max((len(each) for each in re.findall("`+", words)), default=0)
    fence = "`" * max(3, ticks + 1)
    yield fence
    yield pictured(words)
    yield fence


def _about(now: Scene) -> Lines:
    field = now.known
    kind = kind_words(now.table, now.state.listed_kind or "every")
    chosen = [each.words for each in filter_chips(now)]
    listed = f"{len(now.listed):,} of {counted(len(field.table), 'pair', 'pairs')}"
    facts = {
        "Pairs": field.table.caption,
        "Revision of the pairs": field.table.source.revision,
        "Models with results on these pairs": f"{field.n_models:,}",
        "Listed": "; ".join([f"{kind}: {listed}", *chosen]),
    }
    for name, value in facts.items():
        yield f"- {name}: {markdown_cell(value)}"
    if not field.has_texts:
        yield f"- {NO_TEXTS}"


def _outcomes(field: Field, model: str) -> Lines:
    held = field.matrix.held[field.place(model)]
    counts = np.bincount(field.codes(model)[held], minlength=len(OUTCOMES)).tolist()
    known = sum(n for outcome, n in zip(OUTCOMES, counts, strict=True) if outcome != "missing")
    rows = []
    for outcome, n in zip(OUTCOMES, counts, strict=True):
        share = n / known if known and outcome != "missing" else None
        interval = None if share is None else wilson(n, known)
        rows.append([OUTCOME_WORDS[outcome], f"{n:,}", _percent(share), _range(interval)])
    yield from _heading("Outcomes")
    yield from _table(["Outcome", "Pairs", "Share", "95 %"], rows)
    yield ""
    yield (
        "Over all pairs the model has results for, whatever is listed. Shares are of pairs with "
        "a known outcome; intervals are Wilson's."
    )


def _sections(field: Field, model: str) -> Lines:
    found, rule = scores_of(field, model), field.rule
    rows = [_section_row(name, each) for name, each in found.sections.items()]
    if found.overall is not None:
        rows.append(_section_row(f"{rule.title} score", found.overall))
    yield from _heading("Accuracy by section")
    yield from _table(["Section", "Share", "95 %", "Pairs"], rows)
    yield ""
    by, no_score = "weights and rule" if found.overall else "weights", ""
    if not found.overall and rule.pairs:
        no_score = f" There is no {rule.title} score, because some of its pairs have no result."
    ties = (
        "Ties count by the official rule: half a win for judges, nothing for other models."
        if rule.benchmark.rule.tie_of("judge")
        else rule.benchmark.rule.method
    )
    yield (
        f"By the official {by}, over all pairs the model has results for.{no_score} Intervals say "
        "how far a score could move if other prompts of the same kind had been drawn (Wilson's, by "
        f"subset; pairs with the same prompt count as one draw). {ties}"
    )


def _rewards(field: Field, model: str) -> Lines:
    """How wide margins are, and how often they are right."""
    sides = field.rewards(model, "chosen"), field.rewards(model, "rejected")
    margins = field.margins(model)
    yield from _heading("Margins")
    kinds = {"win": margins > 0, "loss": margins < 0}
    rows = [
        [
            OUTCOME_WORDS[kind],
            f"{of_it.sum():,}",
            *map(_reward, np.quantile(margins[of_it], (0.25, 0.5, 0.75)).tolist()),
        ]
        for kind, of_it in kinds.items()
        if of_it.any()
    ]
    yield from _table(["Outcome", "Pairs", "Lower quartile", "Median", "Upper quartile"], rows)
    sure = calibration(*sides)
    yield from _heading("Calibration")
    rows = [
        [
            f"{each.low:.3f} – {each.high:.3f}", _percent(each.confidence),
            _percent(each.accuracy), _range(each.interval), f"{each.n:,}",
        ]
        for each in sure.bins
    ]  # fmt: skip
    yield from _table(["|margin|", "Confidence (sigmoid)", "Won", "95 %", "Pairs"], rows)
    yield ""
    yield (
        "Bins of about equal size, by |margin|. If margins were log-odds, the expected "
        f"calibration error would be {_percent(sure.error)}."
    )


def _section_row(name: str, score: SectionScore) -> list[str]:
    return [name, _percent(score.score), _range(score.interval), f"{score.n:,}"]


def _slices(field: Field, model: str) -> Lines:
    known = conditions(field.table)
    found = compare_slices(field.outcomes(model), field.others(model), known, field.clusters)
    yield from _heading("Worst slices")
    about = found.about(in_report=True)
    yield f"{about} {about_won(field.table)}" if found.can_test else about
    if found.worst:
        yield ""
        rows = [
            [
                each.name, _percent(each.won), _range(each.interval), _percent(each.test.expected),
                _percent(each.test.others), f"{each.test.n:,}", p_words(each.p_adjusted),
            ]
            for each in found.worst[:_MOST_SLICES]
        ]  # fmt: skip
        others = f"Other models ({found.n_rivals:,})"
        heads = ["Slice", "Won", "95 %", "Expected", others, "Pairs", "p, corrected"]
        yield from _table(heads, rows)


def _noted(now: Scene, notes: PairNotes) -> Lines:
    rows = now.listed.rows.tolist() if notes.by_mark else []
    noted = [
        [now.known.table.key_of(row), words] for row in rows if (words := notes.of(now.known, row))
    ]
    if noted:
        yield from _heading("Notes on listed pairs")
        yield from _table(["key", "Note"], noted, words=2)


def _pairs(now: Scene, notes: PairNotes) -> Lines:
    rows = now.listed.rows
    n = min(WORST_PAIRS, len(rows))
    title = f"The first listed pairs ({n})"
    if now.model:  # the worst margin first, or without rewards the most surprising outcome
        usual = PairsState(model=now.model)
        rows = ordered(usual, now.pairs, np.sort(rows))
        by_margin = list_order(usual, now.field).lstrip("-") == "margin"
        title = "worst listed pairs by margin" if by_margin else "most unexpected listed pairs"
        title = f"The {title} ({n})"
    shown = rows[:WORST_PAIRS].tolist()
    yield from _heading(title)
    wins = (now.known.matrix.outcomes == 1).sum(axis=1)
    known = np.maximum((~np.isnan(now.known.matrix.outcomes)).sum(axis=1), 1)
    for number, row in enumerate(shown, start=1):
        yield f"### {number}. {markdown_cell(now.known.table.key_of(row))}"
        yield ""
        yield from _pair_facts(now, row, notes)
        yield f"- {_who(now, row, wins / known)}"
        yield ""
        if now.known.has_texts:
            yield from _texts(now.known, row)


def _pair_facts(now: Scene, row: int, notes: PairNotes) -> Lines:
    field, model = now.known, now.model
    if section := field.table.benchmark.group_of(field.table.subset_of(row)):
        yield f"- Section: {section}"
    if model:
        verdict = field.verdict(model, row)
        outcome = OUTCOME_WORDS[verdict.outcome]
        rewards = (verdict.chosen_reward, verdict.rejected_reward, verdict.margin)
        if rewards == (None, None, None):
            yield f"- {outcome}; its rewards are not known"
        else:
            chosen, rejected, margin = map(_reward, rewards)
            yield (
                f"- {outcome}: chosen reward {chosen}, rejected reward {rejected}, margin {margin}"
            )
    if note := notes.of(field, row):
        yield f"- Note: {markdown_cell(note)}"


def _who(now: Scene, row: int, accuracy: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    """Which other models fail a pair, those with the most wins elsewhere first."""
    matrix, model = now.known.matrix, now.model
    outcomes = np.where(now.known.is_other(model), matrix.outcomes[:, row], np.nan)
    known = ~np.isnan(outcomes)
    if not now.known.difficulty(model).known[row]:
        return NO_OTHERS if model else FEW_MODELS
    failing = np.flatnonzero(known & (outcomes != 1))
    best = failing[np.argsort(-accuracy[failing], kind="stable")].tolist()
    names = ", ".join(markdown_cell(matrix.models[place]) for place in best[:_MOST_NAMED])
    words = f"{failed_by(len(failing), int(known.sum()), model)}."
    if names:
        words += f" The best of these: {names}."
    if len(best) > _MOST_NAMED:
        words += f" + {counted(len(best) - _MOST_NAMED, 'more model', 'more models')}"
    return words


def _texts(field: Field, row: int) -> Lines:
    cells = field.table.cells(row)
    for name in ("prompt", "chosen", "rejected"):
        written = name.capitalize()
        if name != "prompt":
            written += f" ({markdown_cell(cells[f'{name}_model'])})"
        yield f"**{written}**"
        yield ""
        yield from fenced(cells[name][:LONGEST_TEXT])
        if len(cells[name]) > LONGEST_TEXT:
            yield ""
            yield (
                f"Only the first {LONGEST_TEXT:,} of "
                f"{counted(len(cells[name]), 'character', 'characters')} are shown. An export has "
                "the whole text."
            )
        yield ""


def _heading(words: str) -> Lines:
    yield ""
    yield f"## {words}"
    yield ""


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Lines:
    """A table. words: columns from the left that hold words, the others hold numbers."""
    return markdown_table(headings, rows, [at < words for at in range(len(headings))])


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _range(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    return f"{100 * interval.low:.1f} – {100 * interval.high:.1f}"


def _reward(value: float | None) -> str:
    return "–" if value is None else typed_number(value)
