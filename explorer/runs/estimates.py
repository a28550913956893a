"""How long a run will take and how much memory, told before it begins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from explorer.data.table import PairTable, Rows
from explorer.runs.model_list import ModelEntry, entry_of
from explorer.runs.orders import ModelOrder
from explorer.runs.running import Runs
from explorer.runs.selections import Selection
from explorer.runs.visitors import Visitor
from scoring.errors import KnownError
from scoring.models.devices import Device, check_fits, chosen_dtype
from scoring.models.finding import LocatedModel
from scoring.pairs.checking import MORE_COLUMNS
from scoring.pairs.opening import TEXT_COLUMNS, n_responses, take_rows
from scoring.record import Run
from scoring.spec import RunSettings

BYTES_A_TOKEN = 4
"""Of English text and code, by the vocabularies of today's models."""
SMALL_VOCABULARY, SMALL_MORE = 10_000, 1.25
"""Of fewer entries than that, how many times as many tokens; RewardBench has 1,543,053 by the demo
model's 8,192 and 1,231,383 by 12,000."""
TEMPLATE_TOKENS = 20
"""What a chat template adds to a pair."""
QUESTION_TOKENS = 200
"""What a judge's question adds to each time it is asked."""
LEAST_TOKENS = 2_000
"""Of an earlier run that tells a speed; below, starting up is most of its time."""
_MOST_TIMED_RUNS = 20
"""Earlier runs that a speed is taken from, the latest."""
_SPREAD = 0.15
"""By how much the same run differs from time to time, at least."""
_FASTER, _SLOWER = 0.4, 3.0
"""Within which a model's time lies that is taken from runs of models of other sizes: small ones do
fewer operations a second."""

EstimateBasis = Literal["measured", "other models", "unknown"]


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be scored.

    pairs: as of `Selection.n_pairs`.
    tokens: of the prompts and all responses, each prompt once.
    is_counted: whether a tokenizer counted them; else they are guessed from the texts' bytes, as
        responses after the first of each side always are.
    """

    pairs: int
    tokens: int
    is_counted: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run is expected to take, the loading of the model not counted.

    tokens: to be computed; of models that read texts and not tokens, the pairs.
    seconds: most likely; None where nothing is known. low, high: between which it will lie.
    gpu_seconds: `seconds` times the GPUs that are busy meanwhile; None off GPUs.
    memory_bytes: of the model's weights in `dtype`, the reference's included.
    n_gpus: over which the model is spread; 1 where it is on one device.
    basis: `n_runs` earlier runs of this model on such a device, or of other models, by their sizes.
    """

    tokens: int
    seconds: float | None
    low: float | None
    high: float | None
    gpu_seconds: float | None
    memory_bytes: int
    dtype: str
    basis: EstimateBasis
    n_runs: int = 0
    n_gpus: int = 1


def work_of(table: PairTable, rows: Rows, tokenizer: str = "") -> Work:
    """What scoring these rows of a table is.

    tokenizer: in whose tokens they were counted (`tokens.TokenCounter`); "" or one that has not
        counted: the bytes of the texts tell.
    """
    n_pairs = int(((n_responses(table.arrow, rows) + 1) // 2).sum())
    n_bytes = _more_bytes(table, rows) if n_pairs > len(rows) else 0
    counts = table.tokens.get(tokenizer)
    if counts is not None:
        n_tokens = sum(int(counts[column][rows].sum(dtype=np.int64)) for column in TEXT_COLUMNS)
        return Work(n_pairs, n_tokens + n_bytes // BYTES_A_TOKEN, is_counted=True)
    for column in TEXT_COLUMNS:
        sizes = pc.binary_length(table.arrow.column(column)).to_numpy()
        n_bytes += int(sizes[rows].sum(dtype=np.int64))
    return Work(n_pairs, n_bytes // BYTES_A_TOKEN)


def _more_bytes(table: PairTable, rows: Rows) -> int:
    """Of the responses after the first of each side."""
    more = take_rows(table.arrow.select(MORE_COLUMNS), rows)
    texts = (pc.struct_field(pc.list_flatten(more[name]), "text") for name in MORE_COLUMNS)
    return sum(int(pc.sum(pc.binary_length(each)).as_py() or 0) for each in texts)


def estimate(
    work: Work,
    preview: LocatedModel,
    device: Device,
    settings: RunSettings,
    runs: Sequence[Run] = (),
) -> Estimate:
    """What a run is expected to take.

    Args:
        work: what is scored.
        preview: with what.
        device: where.
        settings: how.
        runs: earlier ones of this machine, newest first; those of this model on such a device and
            in this dtype tell its speed, at whatever revision; where there is none, those of other
            models whose size is known.

    >>> from scoring.spec import ModelSpec
    >>> model = LocatedModel(ModelSpec("org/8b", "", ""), parameters=8_030_000_000)
    >>> h200 = Device("NVIDIA H200", "cuda", 141 * 10**9, 1, True)
    >>> expected = estimate(Work(2985, 1_171_683), model, h200, RunSettings())
    >>> expected.seconds, expected.basis, expected.memory_bytes
    (None, 'unknown', 16060000000)
    """
    dtype = chosen_dtype(settings.dtype, has_bf16=device.has_bf16, family=preview.spec.family)
    memory = preview.memory_bytes(dtype)
    tokens = computed_tokens(work, preview)
    n_gpus = device.n_gpus if settings.device == "spread" else 1
    timed = [run for run in runs if _is_on_such(run, preview, device, dtype)]
    own = [run for run in timed if run.facts.model == preview.spec.name][:_MOST_TIMED_RUNS]
    others = [run for run in timed if _n_operations(run)][:_MOST_TIMED_RUNS]
    if own:
        speeds = [run.tokens / run.seconds for run in own]
        seconds = tokens / float(np.median(speeds))
        low = min(tokens / max(speeds), seconds * (1 - _SPREAD))
        high = max(tokens / min(speeds), seconds * (1 + _SPREAD))
        basis: EstimateBasis = "measured"
    elif preview.parameters and others:
        speeds = [_n_operations(run) / run.seconds for run in others]
        seconds = 2 * preview.all_parameters * tokens / float(np.median(speeds))
        low, high = _FASTER * seconds, _SLOWER * seconds
        basis = "other models"
    else:
        return Estimate(tokens, None, None, None, None, memory, dtype, "unknown", n_gpus=n_gpus)
    busy = seconds * n_gpus if device.kind == "cuda" else None
    return Estimate(tokens, seconds, low, high, busy, memory, dtype, basis, len(speeds), n_gpus)


def model_seconds(work: Work, model: str, runs: Sequence[Run]) -> float | None:
    """How long a model takes for the work, by its earlier runs on this machine; None without any.

    model: as it was typed. runs: newest first.
    """
    name, _at, _revision = model.strip().partition("@")
    own = [
        run
        for run in runs
        if run.facts.model == name and run.seconds > 0 and run.tokens >= LEAST_TOKENS
    ]
    if not own:
        return None
    speed = float(np.median([run.tokens / run.seconds for run in own[:_MOST_TIMED_RUNS]]))
    return _tokens_of(work, own[0].facts.family) / speed


def computed_tokens(work: Work, preview: LocatedModel) -> int:
    """Tokens that a model computes for the work, about: what its family reads, and how often.

    >>> from scoring.spec import ModelSpec
    >>> judge = LocatedModel(ModelSpec("org/judge", "", "", "judge"), parameters=1)
    >>> rule = LocatedModel(ModelSpec("baseline/longer", "", "", "longer"))
    >>> [computed_tokens(Work(10, 5000), each) for each in (judge, rule)]
    [14000, 10]
    """
    if not preview.parameters:
        return work.pairs
    if not work.is_counted and (preview.vocabulary or SMALL_VOCABULARY) < SMALL_VOCABULARY:
        work = replace(work, tokens=int(work.tokens * SMALL_MORE), is_counted=True)
    return _tokens_of(work, preview.spec.family)


def _tokens_of(work: Work, family: str) -> int:
    """Tokens that a model of a family, with a vocabulary as usual, computes for the work."""
    if family in ("judge", "pairrm"):  # both responses are read in both orders
        asked = QUESTION_TOKENS if family == "judge" else 0
        return 2 * (work.tokens + asked * work.pairs)
    if family == "rater":
        return work.tokens + 2 * QUESTION_TOKENS * work.pairs
    return work.tokens + TEMPLATE_TOKENS * work.pairs


def _is_on_such(run: Run, preview: LocatedModel, device: Device, dtype: str) -> bool:
    """Whether an earlier run tells how fast such a family is on such a device."""
    facts, least = run.facts, LEAST_TOKENS if preview.parameters else 1
    kind = facts.device.partition(":")[0]
    alike = not preview.parameters or (kind == device.kind and facts.dtype == dtype)
    timed = run.seconds > 0 and run.tokens >= least
    return timed and alike and facts.family == preview.spec.family


def _n_operations(run: Run) -> float:
    """That a run took, by the size of its model; 0 where nobody knows that."""
    entry = entry_of(run.facts.model)
    if entry is None:
        return 0.0
    n_models = 2 if entry.reference else 1
    return 2e9 * n_models * entry.billions * run.tokens


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known before a run.

    entry: of the catalogue; None where it does not have the model.
    warm: whether the model is in memory.
    refusal: why it would be refused, in a sentence; "" where it would not.
    template: the chat template that is named; "" for the tokenizer's own.
    seconds_left: of scoring, that the visitor has in this hour; None for as many as they want.
    """

    preview: LocatedModel
    device: Device
    estimate: Estimate
    entry: ModelEntry | None
    warm: bool
    template: str = ""
    refusal: str = ""
    seconds_left: float | None = None


def forecast(
    runs: Runs, visitor: Visitor, order: ModelOrder, selection: Selection | None
) -> Forecast:
    """What scoring a selection with a model would be. selection: None where there is none yet.

    Raises:
        KnownError: there is no such model, or it is not allowed.
    """
    models = runs.scorers.models
    preview, device = models.preview(visitor, order), models.device()
    settings = models.settings_of(order, preview, device)
    work = work_of(selection.table, selection.rows, order.model) if selection else Work(0, 0)
    expected = estimate(work, preview, device, settings, runs.store.every())
    warm = models.is_warm(visitor, order)
    quotas = runs.scorers.quotas
    left = quotas.left(visitor)
    named = settings.chat_template
    entry = entry_of(preview.spec.name)
    seen = Forecast(preview, device, expected, entry, warm, named, seconds_left=left)
    try:
        quotas.check(visitor)
        check_fits(preview, device, settings)
    except KnownError as error:
        return replace(seen, refusal=str(error))
    return seen
