"""Tasks that a worker does for a server, one at a time. `tell` gets their progress.

The last model loaded stays in this process for the tasks after it, and so do the last pairs that
were made ready.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from scoring.engine.scorer import Scorer, facts
from scoring.errors import KnownError, first_line
from scoring.families import open_scorer
from scoring.hub.access import Hub, Listing, Token
from scoring.limits import OnProgress, Step
from scoring.models.tokenizers import encoder, tokenizer_errors
from scoring.pairs.opening import checked_rows, write_rows
from scoring.pairs.rows import RowFiles
from scoring.probing.token_rewards import TokenRewards
from scoring.spec import ModelSpec, Pair, Plan, RunFacts, RunSettings, ScoredPack

if TYPE_CHECKING:
    from scoring.run import Job

T = TypeVar("T")
_SCORER: Scorer | None = None
_JOB: "Job | None" = None


@dataclass(frozen=True, slots=True)
class Ready:
    """Pairs that can be scored now."""

    plan: Plan
    facts: RunFacts


def call(_: OnProgress, function: Callable[..., T], *given: Any) -> T:
    """Call a function that shows no progress."""
    return function(*given)


def fetch_files(
    tell: OnProgress, hub: Hub, listing: Listing, names: Sequence[str], token: Token
) -> str:
    """As `Hub.fetch`."""
    return str(hub.fetch(listing, names, token=token, tell=tell))


def count_tokens(_: OnProgress, tokenizer: ModelSpec, texts: str) -> Iterator[tuple[bytes, ...]]:
    """Yield the tokens of each text, batch by batch: a column's numbers in int32 each.

    texts: file with an Arrow stream whose columns are texts.
    """
    with tokenizer_errors(tokenizer.pinned):
        encode = encoder(tokenizer)
    for batch in pa.ipc.open_stream(pa.OSFile(texts, "rb")):
        with tokenizer_errors(tokenizer.pinned):
            columns: list[Any] = [column.to_pylist() for column in batch.columns]
            counts = [np.array(encode(column), np.int32) for column in columns]
        yield tuple(each.tobytes() for each in counts)


def load_model(tell: OnProgress, spec: ModelSpec, settings: RunSettings) -> None:
    """Load a located model, as `families.open_scorer`; no other is ever loaded here."""
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
    """Plan how the loaded model scores pairs, as `run.make_job`; it stays until another is made.

    source, selection: as of `RunFacts`. whole: whether all pairs are made ready, not only those by
        which tokens are estimated.
    """
    from scoring.run import SAMPLE, make_job

    global _JOB  # noqa: PLW0603
    scorer, _JOB = _scorer(), None
    _JOB = make_job(pairs, scorer, settings.seed, sample=len(pairs) if whole else SAMPLE)
    about = facts(scorer, settings, source, len(pairs), selection, pairs[0].benchmark)
    return Ready(_JOB.plan, about)


def score_packs(
    _: OnProgress, plan: Plan, done: Collection[int], folder: Path | None
) -> Iterator[ScoredPack]:
    """Score what was made ready, as `run.score`. folder: for a server's answers; None for none."""
    from scoring.run import score

    if _JOB is None:
        raise RuntimeError("nothing was made ready")
    _scorer().keep_answers(folder)
    yield from score(replace(_JOB, plan=plan), _scorer(), done=frozenset(done))


def reward_tokens(_: OnProgress, pair: Pair) -> TokenRewards:
    """As `probing.token_rewards.token_rewards`."""
    from scoring.probing.token_rewards import token_rewards

    return token_rewards(_scorer(), pair)


def read_rows(tell: OnProgress, to: Path, files: RowFiles) -> None:
    """Read rows by `checked_rows`, write them by `write_rows`, or raise a `KnownError`."""
    checked = checked_rows(files, tell)
    try:
        write_rows(checked, to)
    except OSError as error:
        raise KnownError(
            f"{files.shown} cannot be kept while it is open: {first_line(error)}. The disk of this "
            "server may be full. Try again later, or with a smaller file."
        ) from error


def _scorer() -> Scorer:
    if _SCORER is None:
        raise KnownError("No model is loaded any more. Try again.")
    return _SCORER
