"""Settings of a run beside those that published results were made with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from explorer.model_list import ModelEntry
from explorer.text import text
from scoring.spec import RunFacts, ScoredPair

RUN_RM_LENGTH = 2048
"""Tokens that upstream's run_rm.py allows where its configuration names no length."""


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """What published results were made with; None where that is not known.

    template: the chat template that the configuration names; it is used where the tokenizer has
        none of its own.
    max_length: in tokens. dtype: as torch calls it. reference: of a DPO model; "" for none.
    quantized: whether weights were cut to 8 bits.
    """

    template: str | None = None
    max_length: int | None = None
    dtype: str | None = None
    reference: str | None = None
    quantized: bool | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting on both sides.

    name: "template", "max_length", "reference", "dtype" or "quantized".
    here, there: in plain words; there is "" where it is not known.
    strong: whether it can change a score by more than `SMALL`.
    """

    name: str
    here: str
    there: str
    strong: bool

    @property
    def differs(self) -> bool | None:
        """None where one side is not known."""
        return self.here != self.there if self.there else None


NOT_KNOWN = BoardSettings()


def settings_of(
    facts: RunFacts, scored: Sequence[ScoredPair], board: BoardSettings
) -> tuple[Setting, ...]:
    """The settings of a run that can change a number, beside the published ones.

    Upstream uses the tokenizer's own chat template where there is one, so where the run did, both
    are the same. A longest sequence matters where a pair is longer on either side.

    Args:
        facts: the run's.
        scored: its pairs.
        board: what the published was made with.
    """
    named = facts.template.partition(":")[0]
    own = text("check.template_own")
    template = own if named == "own" else named
    there = own if named == "own" and board.template is not None else board.template
    longest = max((max(row.chosen_tokens, row.rejected_tokens) for row in scored), default=0)
    cut = any(row.chosen_truncated or row.rejected_truncated for row in scored)
    matters = cut or longest > (board.max_length or RUN_RM_LENGTH)
    length = "" if board.max_length is None else f"{board.max_length:,}"
    found = [
        Setting("template", template, there or "", strong=True),
        Setting("max_length", f"{facts.max_length:,}", length, strong=matters),
        Setting("dtype", facts.dtype, board.dtype or "", strong=False),
    ]
    reference = facts.reference.partition("@")[0]
    if reference or board.reference:
        found.append(Setting("reference", reference, board.reference or "", strong=True))
    if board.quantized is not None:
        bits = text("check.quantized") if board.quantized else text("check.not_quantized")
        found.append(Setting("quantized", text("check.not_quantized"), bits, strong=True))
    return tuple(found)


def board_settings(entries: Iterable[ModelEntry]) -> dict[str, BoardSettings]:
    """Published name -> with what the board's results were made, as its configurations say.

    Whether weights were cut to 8 bits they do not say.
    """
    return {
        entry.id: BoardSettings(
            entry.board.template,
            entry.board.length or RUN_RM_LENGTH,
            entry.board.dtype or None,
            entry.reference,
        )
        for entry in entries
        if entry.board is not None
    }
