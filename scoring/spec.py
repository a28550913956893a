"""What is scored, with which model and settings, and what comes out. Values only, no torch."""

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["win", "loss", "tie", "missing"]
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Device = Literal["auto", "cpu", "cuda", "mps"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One preference pair: a prompt and the two responses to it.

    key: `subset:id`, unique within one dataset and not across datasets.
    """

    key: str
    subset: str
    prompt: str
    chosen: str
    rejected: str


def text_hash(prompt: str, chosen: str, rejected: str) -> str:
    """16 hex digits that identify a pair by its texts, whatever dataset it stands in.

    >>> text_hash("p", "c", "r") == text_hash("p", "r", "c")
    False
    """
    texts = json.dumps([prompt, chosen, rejected]).encode()
    return hashlib.blake2b(texts, digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """The two rewards of one pair.

    Rewards are unbounded floats, None where the model gave NaN or infinity. Tokens are those the
    model saw, template included, after truncation; `*_truncated` says that some were cut off.
    """

    key: str
    subset: str
    text_hash: str
    chosen_reward: float | None
    rejected_reward: float | None
    chosen_tokens: int
    rejected_tokens: int
    chosen_truncated: bool = False
    rejected_truncated: bool = False

    @property
    def margin(self) -> float | None:
        """Chosen reward minus rejected reward; None where either is missing."""
        if self.chosen_reward is None or self.rejected_reward is None:
            return None
        return self.chosen_reward - self.rejected_reward

    @property
    def outcome(self) -> Outcome:
        """A win needs a strictly higher chosen reward; equal rewards are a tie."""
        return outcome_of(self.margin)


def outcome_of(margin: float | None) -> Outcome:
    """What a margin means.

    >>> [outcome_of(margin) for margin in (0.1, -0.1, 0.0, None)]
    ['win', 'loss', 'tie', 'missing']
    """
    if margin is None or math.isnan(margin):
        return "missing"
    if margin == 0:
        return "tie"
    return "win" if margin > 0 else "loss"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A reward model that lies on this machine, ready to be loaded.

    name: as a person knows it ("demo", a Hub id, a folder).
    folder: the local folder with config, weights and tokenizer.
    revision: the Hub commit, or a digest of what a local folder holds.
    """

    name: str
    folder: str
    revision: str
    family: Literal["classifier"] = "classifier"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How a run scores; everything that can change a number is here.

    max_length: tokens a sequence may have; None means the model's own limit, at most 16,384.
    truncation_side: where tokens are cut off when a sequence is longer.
    batch_tokens: padded tokens a forward pass may hold. It changes speed and memory, not scores.
    seed: of the order in which pairs are scored.
    """

    max_length: int | None = None
    truncation_side: Literal["left", "right"] = "left"
    dtype: Dtype = "auto"
    device: Device = "auto"
    batch_tokens: int = 8192
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run was made with, as shown beside its numbers and stored in its folder.

    pairs: the source of the pairs; selection: in words, which of them; n_pairs: how many.
    seed: of the order in which they were scored.
    """

    model: str
    revision: str
    family: str
    device: str
    dtype: str
    max_length: int
    truncation_side: str
    template: str
    pairs: str
    n_pairs: int
    seed: int
    selection: str = ""
    versions: dict[str, str] = field(default_factory=dict)
