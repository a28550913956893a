"""The pair reader that tabs share: prompt above, chosen and rejected side by side.

How much is shown of each text, with which marks, as it is written or as the Markdown it may be.
Nothing of a text loads or runs anything.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any, Literal

import pyarrow as pa
from markupsafe import Markup

from explorer.core.html import magnitude, render
from explorer.data.datacard import SubsetCard, data_card, subset_card
from explorer.data.facets import count_words
from explorer.data.rebuilding.provenance import provenance_of
from explorer.data.search import hits
from explorer.reader.colours import colours
from explorer.reader.diffs import (
    LEAST_ALIKE,
    Diff,
    Piece,
    Span,
    VisibleSpace,
    automatic,
    char_diff,
    pieces,
    visible,
    word_diff,
)
from explorer.reader.lines import MOST_LINES, Place, aligned, by_line, line_starts
from explorer.reader.markdown import LONGEST_MARKDOWN, rendered
from explorer.reader.reading import Display
from explorer.results.field import PairOutcome
from scoring.benchmarks import Benchmark, benchmark_of
from scoring.errors import counted
from scoring.pairs.opening import PairSource
from scoring.rules import RULES, Rule, is_ties

TextName = Literal["prompt", "chosen", "rejected"]
Side = Literal["chosen", "rejected"]

MOST_SAME = 12
"""Other pairs with the same prompt that are named; the rest are counted."""
MOST_FURTHER = 50
"""Responses of a side beyond the first that are shown; the rest are counted."""
LONGEST_BODY = 500_000
"""Characters of a text that are shown."""
MOST_SHOWN_TURNS = 200
"""Turns of a conversation that are shown."""

_SIDES: tuple[Side, ...] = ("chosen", "rejected")
_MARKS = {"prompt": "span", "chosen": "ins", "rejected": "del"}
_SPEAKERS = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """A piece of a text. difference, hit, colour: as of `Piece`."""

    shown: Sequence[VisibleSpace]
    difference: int = 0
    hit: bool = False
    colour: str = ""


@dataclass(frozen=True, slots=True)
class RenderedLine:
    """A row of code.

    number: its line's, from 1; None for a gap. difference: 0 where none is. indent: characters of
    white space before its first word.
    """

    number: int | None
    difference: int
    pieces: Sequence[MarkedPiece] = ()
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Marks:
    """What differs between the responses of a pair.

    spans, rows: of chosen and of rejected, as of `Aligned`; None where there are none.
    n: differences. note: why there are no marks, or not all; "" where there are.
    """

    spans: tuple[Sequence[Span] | None, Sequence[Span] | None] = (None, None)
    rows: tuple[Sequence[Place] | None, Sequence[Place] | None] = (None, None)
    n: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """What is shown of a text.

    words: all of it that is shown; n_more: characters that are not.
    mark: the element around what the other side lacks.
    pieces: the words cut where a mark begins or ends.
    lines: the same, line by line; of code alone.
    rendered: the Markdown in them as safe HTML; None where they are shown as they are written.
    is_refused: whether they were to be rendered and cannot be.
    """

    words: str
    n_more: int
    mark: str
    pieces: Sequence[MarkedPiece] = ()
    lines: Sequence[RenderedLine] = ()
    rendered: Markup | None = None
    is_refused: bool = False

    @property
    def any_direction(self) -> bool:
        """Whether it may run from right to left: laying that out takes ten times as long."""
        return not self.words.isascii()


@dataclass(frozen=True, slots=True)
class RenderedTurn:
    """A turn of a conversation. css: who speaks, where that is known."""

    speaker: str
    css: str
    body: Body


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is shown of a prompt: of a conversation its turns. n_more: turns that are not shown."""

    body: Body
    turns: Sequence[RenderedTurn] = ()
    n_more: int = 0

    @property
    def any_direction(self) -> bool:
        """As of a body."""
        bodies = [each.body for each in self.turns] or [self.body]
        return any(each.any_direction for each in bodies)


@dataclass(frozen=True, slots=True)
class Card:
    """A response.

    is_first: of its side. reward: None where it is not shown. rank: among all responses of a row by
    their rewards, from 1; None where they are not known.
    """

    side: Side
    title: str
    facts: Sequence[str]
    body: Body
    is_first: bool = False
    reward: float | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A response of a row of several. number: of its side, from 1. reward, rank: as of `Card`."""

    side: Side
    number: int
    words: str
    model: str
    style: str = ""
    reward: float | None = None
    rank: int | None = None

    @property
    def title(self) -> str:
        """What it is called."""
        side = self.side.capitalize()
        numbered = side if self.number == 1 else f"{side} {self.number}"
        return f"{side}, {self.style}" if self.style else numbered


def pair_html(
    cells: Mapping[str, Any] | None,
    key: str | None,
    display: Display,
    verdicts: Sequence[PairOutcome] = (),
    *,
    same_prompt: Sequence[tuple[str, str]] = (),
    source: PairSource | None = None,
    benchmark: Benchmark | None = None,
) -> str:
    """One pair as inert HTML.

    Args:
        cells: the pair's columns; None where its texts are not at hand.
        key: how the pair is called here; None shows that none is open.
        display: how it is shown.
        verdicts: what models made of the pair; of several, a table.
        same_prompt: keys of the other pairs with this prompt, and links to them.
        source: where the pair is from; the bundled pairs are this project's own.
        benchmark: that it is of; None where only its subset can tell.
    """
    if key is None or cells is None:
        return render("reader/no_pair.html", key=key or "", verdicts=verdicts)
    card = subset_card(cells["subset"])
    benchmark = benchmark or benchmark_of([cells["subset"]])
    first, further, n_more = _responses(cells, verdicts, benchmark)
    cells = {**cells, **{each.side: each.words for each in first}}
    display, notes = _possible(cells, card, display)
    language = (card.language if card is not None else None) or ""
    marks = Marks() if display.rendered else marks_of(cells, display.diff, language)
    notes += [marks.note] if marks.note else []
    cards = [
        _card(
            each,
            body_of(each.words, each.side, display, spans, rows=rows, language=language),
            verdicts,
        )
        for each, spans, rows in zip(first, marks.spans, marks.rows, strict=True)
    ]
    cards += [_card(each, body_of(each.words, each.side, display)) for each in further]
    return render(
        "reader/pair.html",
        key=key,
        verdicts=verdicts,
        section=benchmark.group_of(cells["subset"]),
        origin=card,
        is_demo=source is not None and source.kind == "demo",
        is_code=is_code(cells),
        n_differences=marks.n,
        n_rows=len(marks.rows[0] or ()),
        warning=data_card().content_warning if card is not None and card.may_harm else "",
        prompt=prompt_of(cells, display),
        places=provenance_of(cells),
        same=same_prompt[:MOST_SAME],
        n_more_same=max(0, len(same_prompt) - MOST_SAME),
        notes=notes,
        cards=cards,
        n_more=n_more,
        decided=_decided(first, cells["subset"], verdicts, benchmark.rule),
    )


def _possible(
    cells: Mapping[str, Any], card: SubsetCard | None, display: Display
) -> tuple[Display, list[str]]:
    """The display as far as these texts allow it, and why not all of it."""
    length = sum(len(cells[name]) for name in ("prompt", "chosen", "rejected"))
    further = (each for side in _SIDES for each in (cells.get(f"more_{side}") or ())[:MOST_FURTHER])
    length += sum(len(each["text"]) for each in further)
    if (display.rendered or display.spaces) and length > LONGEST_MARKDOWN:
        words = "Too long to render, or to show whitespace: this is the source text."
        return replace(display, rendered=False, spaces=False), [words]
    if display.rendered and card is not None and card.language is not None:
        return replace(display, rendered=False), [
            "The pairs of this subset are code, shown as written."
        ]
    if display.rendered and (display.diff != "off" or display.query.words or display.spaces):
        return display, ["Differences and search hits are hidden while text is rendered."]
    return display, []


def is_code(cells: Mapping[str, Any]) -> bool:
    """Whether both responses of a pair are code, or hold some."""
    card = subset_card(cells["subset"])
    if card is not None and card.language is not None:
        return True
    return "```" in cells["chosen"] and "```" in cells["rejected"]


def marks_of(cells: Mapping[str, Any], diff: Diff, language: str) -> Marks:
    """What differs between the responses of a pair; of code line beside line.

    diff: what is compared. language: of code, "" of other texts.
    """
    chosen, rejected = (cells[side][:LONGEST_BODY] for side in _SIDES)
    compared = automatic(chosen, rejected, cells["subset"]) if diff == "auto" else diff
    if compared == "off":
        share = f"under {100 * LEAST_ALIKE:.0f} % of words in common"
        unlike = f"Differences are not marked: {share}."
        return Marks(note=unlike if diff == "auto" else "")
    lines = aligned(chosen, rejected, diff) if language else None
    if lines is not None:
        note = (
            ""
            if lines.is_complete
            else "Too much differs to compare it all word by word: some lines are marked whole."
        )
        return _numbered(Marks(lines.spans, lines.rows, note=note))
    n = counted(MOST_LINES, "line", "lines")
    notes = [f"These responses have more than {n} together, too many to align."] if language else []
    spans = (char_diff if compared == "characters" else word_diff)(chosen, rejected)
    if spans is None:
        why = "These responses are too long to compare this way, so no differences are marked."
        return Marks(note=" ".join([*notes, why]))
    return _numbered(Marks(spans, note=" ".join(notes)))


def _numbered(marks: Marks) -> Marks:
    spans = [span for side in marks.spans for span in side or ()]
    return replace(marks, n=max((span.difference for span in spans), default=0))


def _card(each: Response, body: Body, verdicts: Sequence[PairOutcome] | None = None) -> Card:
    """The card of a response. verdicts: of the pair, for the first of a side; None for others."""
    facts, reward = _facts(each.model, each.words), each.reward
    if verdicts is not None and len(verdicts) == 1 and not verdicts[0].rewards:
        [one] = verdicts
        tokens = getattr(one, f"{each.side}_tokens")
        facts += [] if tokens is None else [counted(tokens, "token", "tokens")]
        facts += ["truncated"] if getattr(one, f"{each.side}_truncated") else []
        reward = getattr(one, f"{each.side}_reward")
    return Card(each.side, each.title, facts, body, verdicts is not None, reward, each.rank)


def _responses(
    cells: Mapping[str, Any], verdicts: Sequence[PairOutcome], benchmark: Benchmark
) -> tuple[list[Response], list[Response], int]:
    """One response of each side, those beyond them that are shown, and how many are not.

    Where one model's rewards of all are known, those that decide the row, and then the best first;
    where responses have styles, style by style.
    """
    styles = benchmark.row.styles
    of_side: dict[Side, list[Response]] = {}
    for side in _SIDES:
        first_of_side = {"text": cells[side], "model": cells[f"{side}_model"]}
        texts = [first_of_side, *(cells.get(f"more_{side}") or ())]
        of_side[side] = [
            Response(
                side, number, each["text"], each["model"], "".join(styles[number - 1 : number])
            )
            for number, each in enumerate(texts, start=1)
        ]
    every = [*of_side["chosen"], *of_side["rejected"]]
    n_chosen = len(of_side["chosen"])
    rewards = verdicts[0].rewards if len(verdicts) == 1 else ()
    first, rest = [every[0], every[n_chosen]], list[Response]()
    if len(rewards) == len(every) and verdicts[0].n_chosen == n_chosen:
        places = _ranks(rewards)
        every = [
            replace(each, reward=reward, rank=rank)
            for each, reward, rank in zip(every, rewards, places, strict=True)
        ]
        of_side = {"chosen": every[:n_chosen], "rejected": every[n_chosen:]}
        known = [each for each in rewards if each is not None]
        first = [every[0], every[n_chosen]]
        if not styles and len(known) == len(rewards):
            rule = benchmark.rule if benchmark.rule.reads_several else RULES["rewardbench_2"]
            first = [every[at] for at in rule.decisive(known, n_chosen, cells["subset"])]
        others = [each for each in every if each not in first]
        rest = sorted(others, key=lambda each: each.rank or len(every) + 1)
    if styles or not rest:
        rest = [
            each
            for both in zip_longest(*(of_side[side][1 : 1 + MOST_FURTHER] for side in _SIDES))
            for each in both
            if each is not None
        ]
    n = _n_within_limit((len(each.words) for each in rest), 2 * MOST_FURTHER)
    return first, rest[:n], len(every) - len(first) - n


def _ranks(rewards: Sequence[float | None]) -> list[int | None]:
    """From 1, the highest first; equal rewards share the better one.

    >>> _ranks([0.5, 2.0, None, 2.0])
    [3, 1, None, 1]
    """
    known = sorted(reward for reward in rewards if reward is not None)
    return [
        None if reward is None else 1 + len(known) - bisect_right(known, reward)
        for reward in rewards
    ]


def _decided(
    first: Sequence[Response], subset: str, verdicts: Sequence[PairOutcome], rule: Rule
) -> str:
    """What decided a row of several responses, in a sentence; "" where that is not known."""
    if rule.parts and len(verdicts) == 1 and verdicts[0].rewards:
        known = [each for each in verdicts[0].rewards if each is not None]
        credits_ = rule.part_credits(known, verdicts[0].n_chosen)
        won = zip(rule.parts, credits_, strict=True)
        wins = ", ".join(f"{name} {3 * each:.0f} of 3" for name, each in won)
        return f"{wins.capitalize()}. {rule.margin}"
    margin = verdicts[0].margin if len(verdicts) == 1 and verdicts[0].rewards else None
    if margin is None:
        return ""
    (right, wrong), lead = (each.title for each in first), magnitude(abs(margin))
    if is_ties(subset) and margin > 0:
        decided = (
            f"Every right response beats every wrong one: the worst right one, {right}, is {lead} "
            f"above the best wrong one, {wrong}."
        )
    elif is_ties(subset):
        rest = f"is {lead} above" if margin else "has the reward of"
        decided = (
            f"Not every right response beats every wrong one: the best wrong one, {wrong}, {rest} "
            f"the worst right one, {right}."
        )
    elif margin > 0:
        decided = f"{right} has the highest reward, {lead} above the best wrong response, {wrong}."
    elif margin < 0:
        decided = (
            f"{wrong}, a wrong response, has the highest reward, {lead} above the best right one, "
            f"{right}."
        )
    else:
        decided = (
            f"A right and a wrong response share the highest reward, {right} and {wrong}: the row "
            "earns the share of right ones among those that have it."
        )
    return f"{decided} Further responses follow, best first."


def _facts(model: str, response: str) -> list[str]:
    encoded = response.encode(errors="replace")  # a lone surrogate is in no Arrow text
    words = count_words(pa.chunked_array([[encoded]], pa.large_binary()))[0]
    return [model, f"{counted(words, 'word', 'words')} · {counted(len(response), 'char', 'chars')}"]


def body_of(
    words: str,
    side: TextName,
    display: Display,
    spans: Sequence[Span] | None = None,
    *,
    rows: Sequence[Place] | None = None,
    language: str = "",
) -> Body:
    """What is shown of one text.

    Args:
        words: all of it.
        side: whose it is: it decides how differences are marked and whether hits are.
        display: how it is shown.
        spans: what is shown of the text as `word_diff` cuts it; None marks no difference.
        rows: where its lines stand beside those of the other side; None where they do not.
        language: of code, which has numbered lines and colours; "" of other texts.
    """
    here, mark = words[:LONGEST_BODY], _MARKS[side]
    n_more = len(words) - len(here)
    if display.rendered:
        html = rendered(here)
        if html is not None:
            return Body(here, n_more, mark, rendered=Markup(html))  # noqa: S704 - made safe there
        return Body(here, n_more, mark, [MarkedPiece([VisibleSpace(here)])], is_refused=True)
    found = hits(here, display.query) if display.query.looks_at(side) else []
    starts = line_starts(here) if language else []
    if not starts or len(starts) > MOST_LINES:
        cut = pieces(here, spans, found)
        return Body(here, n_more, mark, [_marked(each, display) for each in cut])
    cut = pieces(here, spans, found, colours(here, language), starts)
    lines = [[_marked(each, display) for each in line] for line in by_line(cut, starts)]
    ends = [*starts[1:], len(here)]
    indents = [
        next((at for at, letter in enumerate(here[low:high]) if not letter.isspace()), 0)
        for low, high in zip(starts, ends, strict=True)
    ]
    shown = [
        RenderedLine(place.line, place.difference, lines[place.line - 1], indents[place.line - 1])
        if place.line
        else RenderedLine(None, place.difference)
        for place in rows or (Place(number) for number in range(1, len(lines) + 1))
    ]
    return Body(here, n_more, mark, lines=shown)


def _marked(piece: Piece, display: Display) -> MarkedPiece:
    shown = visible(piece.text) if display.spaces and piece.text else [VisibleSpace(piece.text)]
    return MarkedPiece(shown, piece.difference, piece.hit, piece.colour)


def _n_within_limit(lengths: Iterable[int], most: int) -> int:
    """How many texts in a row are shown: `most`, and none that begins after `LONGEST_BODY`."""
    shown, before = 0, 0
    for length in islice(lengths, most):
        if before >= LONGEST_BODY:
            break
        shown, before = shown + 1, before + length
    return shown


def prompt_of(cells: Mapping[str, Any], display: Display) -> Prompt:
    """What is shown of a prompt; of a conversation each turn under the name of who speaks."""
    if not cells.get("turns"):
        return Prompt(body_of(cells["prompt"], "prompt", display))
    turns = json.loads(cells["turns"])
    n = _n_within_limit((len(words) for _, words in turns), MOST_SHOWN_TURNS)
    shown = [
        RenderedTurn(
            role.capitalize() if role in _SPEAKERS else role,
            role if role in _SPEAKERS else "",
            body_of(words, "prompt", display),
        )
        for role, words in turns[:n]
    ]
    return Prompt(body_of("", "prompt", Display()), shown, len(turns) - n)
