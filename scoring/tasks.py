"""Tasks that a worker does for a server, one at a time. `tell` gets their progress.

The model that was loaded last stays in this process for the tasks after it, and so do the pairs
that were made ready last.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from scoring.engine.scorer import Scorer, facts
from scoring.errors import KnownError
from scoring.families import open_scorer
from scoring.hub.access import Hub, Listing, first_line
from scoring.limits import Limits, OnProgress, Step
from scoring.models.devices import Device, present_device
from scoring.models.finding import LocatedModel, ModelOptions, ModelPolicy, find
from scoring.models.tokenizers import encoder, find_tokenizer, tokenizer_errors
from scoring.pairs.opening import checked_rows
from scoring.probing.token_rewards import TokenRewards
from scoring.spec import ModelSpec, Pair, Plan, RunFacts, RunSettings, ScoredPack

if TYPE_CHECKING:
    from scoring.run import Job


@dataclass(frozen=True, slots=True)
class Ready:
    """Pairs that can be scored now: in which packs, and what their rewards will rest on."""

    plan: Plan
    facts: RunFacts


_SCORER: Scorer | None = None
_JOB: "Job | None" = None


def look_at_model(
    _: OnProgress, hub: Hub, typed: str, policy: ModelPolicy, options: ModelOptions
) -> LocatedModel:
    """Find a model, as `finding.find` does; of one on the Hub its config is fetched."""
    return find(typed, policy, hub, **options)


def fetch_files(
    tell: OnProgress, hub: Hub, listing: Listing, names: Sequence[str], token: str | Literal[False]
) -> str:
    """The folder that holds these files of a repository, as of `Hub.fetch`."""
    return str(hub.fetch(listing, names, token=token, tell=tell))


def look_at_tokenizer(_: OnProgress, hub: Hub, typed: str, policy: ModelPolicy) -> LocatedModel:
    """Find a tokenizer, as of `tokenizers.find_tokenizer`."""
    return find_tokenizer(typed, policy, hub)


def count_tokens(_: OnProgress, tokenizer: ModelSpec, texts: str) -> Iterator[tuple[bytes, ...]]:
    """The tokens of each text, one batch after the other: a column's numbers in int32 each.

    texts: a file with a stream of Arrow's, whose columns are texts.

    Raises:
        KnownError: the tokenizer cannot be used.
    """
    with tokenizer_errors(tokenizer.pinned):
        encode = encoder(tokenizer)
    for batch in pa.ipc.open_stream(pa.OSFile(texts, "rb")):
        with tokenizer_errors(tokenizer.pinned):
            columns: list[Any] = [column.to_pylist() for column in batch.columns]
            counts = [np.array(encode(column), np.int32) for column in columns]
        yield tuple(each.tobytes() for each in counts)


def load_model(tell: OnProgress, spec: ModelSpec, settings: RunSettings) -> None:
    """Load a located model, as of `families.open_scorer`; no other is ever loaded here."""
    global _SCORER  # noqa: PLW0603
    with ExitStack() as stack:
        if spec.folder:
            from scoring.models.loading import report_loading

            tell(Step("loading"))
            stack.enter_context(report_loading(tell))
        _SCORER = open_scorer(spec, settings)


def make_ready(
    _: OnProgress,
    pairs: Sequence[Pair],
    settings: RunSettings,
    source: str,
    selection: str,
    whole: bool,
) -> Ready:
    """Plan how pairs are scored by the model that is loaded; the plan stays until another is made.

    source, selection: as of `RunFacts`. whole: make all pairs ready, and not only what tells how
        many tokens they are. Raises as `run.make_job` does.
    """
    from scoring.run import SAMPLE, make_job

    global _JOB  # noqa: PLW0603
    scorer, _JOB = _scorer(), None
    sample = len(pairs) if whole else SAMPLE
    _JOB = job = make_job(pairs, scorer, settings.seed, sample=sample)
    return Ready(
        job.plan, facts(scorer, settings, source, len(pairs), selection, pairs[0].benchmark)
    )


def score_packs(
    _: OnProgress, plan: Plan, done: Collection[int], folder: Path | None
) -> Iterator[ScoredPack]:
    """Score what was made ready. plan: in these packs. done: places of packs that are left out.

    folder: of the run, where a server's answers are kept; None keeps none. Raises as `run.score`.
    """
    from scoring.run import score

    if _JOB is None:
        raise RuntimeError("nothing was made ready")
    _scorer().keep_answers(folder)
    yield from score(replace(_JOB, plan=plan), _scorer(), done=frozenset(done))


def reward_tokens(_: OnProgress, pair: Pair) -> TokenRewards:
    """A pair's rewards token by token, as of `probing.token_rewards.token_rewards`."""
    from scoring.probing.token_rewards import token_rewards

    return token_rewards(_scorer(), pair)


def read_rows(
    tell: OnProgress,
    to: Path,
    paths: Mapping[str, Path],
    *what: *tuple[str, str, Limits, str],
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Read and check pairs, as of `pairs.opening.checked_rows`; gives notes and rows left out.

    to: an Arrow file, where the table is written. what: as of `checked_rows`.

    Raises:
        KnownError: as there, or the disk does not take it.
    """
    shown, default_subset, limits, benchmark = what
    checked = checked_rows(paths, shown, default_subset, limits, tell, benchmark=benchmark)
    try:
        with pa.ipc.new_file(str(to), checked.table.schema) as file:
            file.write_table(checked.table)
    except OSError as error:
        raise KnownError(
            f"{what[0]} cannot be kept while it is open: {first_line(error)}. The disk of this "
            "server may be full. Try again later, or with a smaller file."
        ) from error
    return checked.notes, checked.left_out


def look_at_device(_: OnProgress, asked: str) -> Device:
    """What this process sees of the device that is asked for, as of `RunSettings.device`."""
    return present_device(asked)


def _scorer() -> Scorer:
    if _SCORER is None:
        raise KnownError("No model is loaded any more. Try again.")
    return _SCORER
