"""Settings of a run beside those that published results were made with."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.core.text import text
from explorer.runs.model_list import entry_of
from scoring.results.files import REFERENCE_FREE
from scoring.spec import RunFacts, ScoredPair

LARGEST, BATCH = 0.224, 0.051
"""By how much, 0 to 1, other settings and another batch size have moved a score of one and the same
model; `explorer.tabs.score.published_check` says where."""
RUN_RM_LENGTH = 2048
RUN_RM_DTYPE = "float16"
"""What upstream's run_rm.py takes where its configuration does not say."""


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """What published results were made with; None where that is not known.

    template: the chat template that the configuration names; it is used where the tokenizer has
        none of its own.
    max_length: in tokens. dtype: as torch calls it. reference: of a DPO model; "" for none.
    quantized: whether weights were cut to 8 bits. batch: pairs in a batch.
    """

    template: str | None = None
    max_length: int | None = None
    dtype: str | None = None
    reference: str | None = None
    quantized: bool | None = None
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting on both sides.

    name: "template", "max_length", "reference", "dtype", "batch" or "quantized".
    here, there: in plain words; there is "" where it is not known.
    largest: the largest change of a score, 0 to 1, that it may explain; 0 where that is small.
    """

    name: str
    here: str
    there: str
    largest: float

    @property
    def differs(self) -> bool | None:
        """None where one side is not known."""
        return self.here != self.there if self.there else None


NOT_KNOWN = BoardSettings()


def board_settings(model: str) -> BoardSettings:
    """What the RewardBench board was made with for a model, by upstream's configurations.

    Where they set no length or number type, run_rm.py's are meant; with bfloat16, and for models
    called Llama 3, it does not cut weights to 8 bits, and for others that is not told. Of DPO
    models the code is another, so that what is not set is not known.
    Source: scripts/configs/eval_configs.yaml and scripts/run_rm.py of allenai/reward-bench.

    model: the published name.

    >>> board_settings("sfairXC/FsfairX-LLaMA3-RM-v0.1").max_length, board_settings("a/b").template
    (2048, None)
    """
    entry = entry_of(model.removesuffix(REFERENCE_FREE))
    if entry is None or entry.board is None:
        return NOT_KNOWN
    board, is_dpo = entry.board, entry.family == "dpo"
    whole = board.dtype == "bfloat16" or "llama3" in model.casefold().replace("-", "")
    return BoardSettings(
        template=board.template,
        max_length=board.length or (None if is_dpo else RUN_RM_LENGTH),
        dtype=board.dtype or (None if is_dpo else RUN_RM_DTYPE),
        reference="" if model.endswith(REFERENCE_FREE) else entry.reference,
        quantized=False if whole and not is_dpo else None,
        batch=board.batch,
    )


def settings_of(
    facts: RunFacts, scored: Sequence[ScoredPair], board: BoardSettings
) -> tuple[Setting, ...]:
    """The settings of a run that can change a number, beside the published ones.

    Here rewards do not depend on what is computed beside a pair, as if each batch were of one.

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
        Setting("template", template, there or "", LARGEST),
        Setting("max_length", f"{facts.max_length:,}", length, LARGEST if matters else 0.0),
        Setting("dtype", facts.dtype, board.dtype or "", 0.0),
        Setting("batch", "1", "" if board.batch is None else f"{board.batch}", BATCH),
    ]
    reference = facts.reference.partition("@")[0]
    if reference or board.reference:
        found.append(Setting("reference", reference, board.reference or "", LARGEST))
    no = text("check.not_quantized")
    bits = {None: "", True: text("check.quantized"), False: no}[board.quantized]
    return (*found, Setting("quantized", no, bits, LARGEST))
