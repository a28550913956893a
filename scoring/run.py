"""score(pairs, model) -> a stream of scored packs."""

import math
import threading
from collections.abc import Iterator, Sequence

from scoring.errors import KnownError
from scoring.families.classifier import Classifier
from scoring.formatting import Formatter
from scoring.models import RewardModel
from scoring.packing import random_packs
from scoring.spec import Pair, RunSettings, ScoredPair, text_hash


def score(
    pairs: Sequence[Pair],
    model: RewardModel,
    settings: RunSettings,
    *,
    stop: threading.Event | None = None,
) -> Iterator[tuple[ScoredPair, ...]]:
    """Score pairs, a pack at a time, in a seeded random order.

    A pair's rewards do not depend, beyond the dtype's noise, on the pairs scored beside it.

    Args:
        pairs: at least one; keys distinct.
        model: from `models.load`.
        settings: how to score. They are the settings the model was loaded with.
        stop: set it from anywhere to end the stream after the present pack.

    Yields:
        The pairs of one pack. All packs together hold each pair once.

    Raises:
        KnownError: there are no pairs.
    """
    if not pairs:
        raise KnownError("No pairs are selected. Widen the filter, or ask for more per subset.")
    formatter = model.formatter(settings)
    pad = model.tokenizer.pad_token_id
    classifier = Classifier(model.model, 0 if pad is None else pad, settings.batch_tokens)
    for pack in random_packs(pairs, settings.seed):
        if stop is not None and stop.is_set():
            return
        yield tuple(_score_pack(pack, formatter, classifier))


def _score_pack(
    pack: Sequence[Pair], formatter: Formatter, classifier: Classifier
) -> Iterator[ScoredPair]:
    tokenized = [formatter.tokenize(pair) for pair in pack]
    sequences = [ids for tokens in tokenized for ids in (tokens.chosen, tokens.rejected)]
    rewards = [
        reward if math.isfinite(reward) else None for reward in classifier.rewards(sequences)
    ]
    for index, (pair, tokens) in enumerate(zip(pack, tokenized, strict=True)):
        yield ScoredPair(
            key=pair.key,
            subset=pair.subset,
            text_hash=text_hash(pair.prompt, pair.chosen, pair.rejected),
            chosen_reward=rewards[2 * index],
            rejected_reward=rewards[2 * index + 1],
            chosen_tokens=len(tokens.chosen),
            rejected_tokens=len(tokens.rejected),
            chosen_truncated=tokens.chosen_truncated,
            rejected_truncated=tokens.rejected_truncated,
        )
