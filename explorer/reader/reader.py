"""The pair reader that tabs share: prompt above, chosen and rejected side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

import pyarrow as pa

from explorer.core.html import render
from explorer.core.text import text
from explorer.data.datacard import SubsetCard, data_card, subset_card
from explorer.data.facets import count_words
from explorer.reader.bodies import Body, beginning, body_of, fitting, prompt_of
from explorer.reader.diffs import diff_spans
from explorer.reader.markdown import LONGEST
from explorer.reader.reading import Display
from explorer.results.field import Verdict
from scoring.benchmark import section_of
from scoring.pairs.opening import PairSource

MOST_SAME = 12
"""Other pairs with the same prompt that are named; the rest are counted."""
MOST_FURTHER = 50
"""Responses of a side beyond the first that are shown; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Card:
    """A response. is_first: of its side. reward: None where it is not shown."""

    side: Literal["chosen", "rejected"]
    title: str
    facts: Sequence[str]
    body: Body
    is_first: bool = False
    reward: float | None = None

    @property
    def any_direction(self) -> bool:
        """As of its body."""
        return self.body.any_direction


def pair_html(
    cells: Mapping[str, Any] | None,
    key: str | None,
    display: Display,
    verdicts: Sequence[Verdict] = (),
    *,
    same_prompt: Sequence[str] = (),
    source: PairSource | None = None,
) -> str:
    """One pair as inert HTML.

    Args:
        cells: the pair's columns; None where its texts are not at hand.
        key: how the pair is called here; None shows that none is open.
        display: what is marked in the texts, and how they are shown.
        verdicts: what models made of the pair; of several, a table.
        same_prompt: keys of the other pairs with this prompt.
        source: where the pair is from; the bundled pairs are this project's own.
    """
    if key is None:
        return render("reader/no_pair.html", key="", verdicts=())
    if cells is None:
        return render("reader/no_pair.html", key=key, verdicts=verdicts)
    card = subset_card(cells["subset"])
    display, notes = _possible(cells, card, display)
    diff = "off" if display.rendered else display.diff
    spans = diff_spans(
        beginning(cells["chosen"]), beginning(cells["rejected"]), diff, cells["subset"]
    )
    if diff != "off" and spans is None:
        notes.append(text("reader.too_long"))
    chosen, rejected = spans or (None, None)
    further, n_more = _further(cells, display)
    return render(
        "reader/pair.html",
        key=key,
        verdicts=verdicts,
        section=section_of(cells["subset"]),
        origin=card,
        is_demo=source is not None and source.kind == "demo",
        is_code=_is_code(cells, card),
        warning=data_card().content_warning if card is not None and card.may_harm else "",
        prompt=prompt_of(cells, display),
        same=same_prompt[:MOST_SAME],
        n_more_same=max(0, len(same_prompt) - MOST_SAME),
        notes=notes,
        cards=[
            _first("chosen", cells, body_of(cells["chosen"], "chosen", display, chosen), verdicts),
            _first(
                "rejected",
                cells,
                body_of(cells["rejected"], "rejected", display, rejected),
                verdicts,
            ),
            *further,
        ],
        n_more=n_more,
    )


def _possible(
    cells: Mapping[str, Any], card: SubsetCard | None, display: Display
) -> tuple[Display, list[str]]:
    """The display as far as these texts allow it, and why not all of it."""
    length = sum(len(cells[name]) for name in ("prompt", "chosen", "rejected"))
    length += sum(len(each["text"]) for _, _, each in _more(cells))
    if (display.rendered or display.spaces) and length > LONGEST:
        return replace(display, rendered=False, spaces=False), [text("reader.too_long_look")]
    if display.rendered and card is not None and card.language is not None:
        return replace(display, rendered=False), [text("reader.code_as_written")]
    if display.rendered and (display.diff != "off" or display.query.words or display.spaces):
        return display, [text("reader.without_marks")]
    return display, []


def _is_code(cells: Mapping[str, Any], card: SubsetCard | None) -> bool:
    if card is not None and card.language is not None:
        return True
    return "```" in cells["chosen"] and "```" in cells["rejected"]


def _first(
    side: Literal["chosen", "rejected"],
    cells: Mapping[str, Any],
    body: Body,
    verdicts: Sequence[Verdict],
) -> Card:
    facts, reward = _facts(cells[f"{side}_model"], cells[side]), None
    if len(verdicts) == 1:
        [one] = verdicts
        tokens = getattr(one, f"{side}_tokens")
        facts += [] if tokens is None else [text("reader.tokens", tokens=f"{tokens:,}")]
        facts += [text("reader.truncated")] if getattr(one, f"{side}_truncated") else []
        reward = getattr(one, f"{side}_reward")
    return Card(side, text(f"side.{side}"), facts, body, is_first=True, reward=reward)


def _further(cells: Mapping[str, Any], display: Display) -> tuple[list[Card], int]:
    """A card for each response beyond the first of its side, and how many are left out."""
    more = _more(cells)
    n = fitting((len(response["text"]) for _, _, response in more), len(more))
    cards = [
        Card(
            side,
            text("reader.further", side=text(f"side.{side}"), n=number),
            _facts(response["model"], response["text"]),
            body_of(response["text"], side, display),
        )
        for side, number, response in more[:n]
    ]
    return cards, sum(len(cells.get(f"more_{side}") or ()) for side in ("chosen", "rejected")) - n


def _more(
    cells: Mapping[str, Any],
) -> list[tuple[Literal["chosen", "rejected"], int, Mapping[str, str]]]:
    """(side, which of its responses from 2, response), chosen and rejected in turns.

    Of each side `MOST_FURTHER`.
    """
    sides = (cells.get(f"more_{side}") or () for side in ("chosen", "rejected"))
    rows = zip_longest(*(responses[:MOST_FURTHER] for responses in sides))
    found: list[tuple[Literal["chosen", "rejected"], int, Mapping[str, str]]] = []
    for number, (chosen, rejected) in enumerate(rows, start=2):
        found += [("chosen", number, chosen)] if chosen is not None else []
        found += [("rejected", number, rejected)] if rejected is not None else []
    return found


def _facts(model: str, response: str) -> list[str]:
    encoded = response.encode(errors="replace")  # a lone surrogate is in no Arrow text
    words = count_words(pa.chunked_array([[encoded]], pa.large_binary()))[0]
    return [model, text("reader.words", words=f"{words:,}", chars=f"{len(response):,}")]
