"""Values of a run: pairs, model, settings, rewards and facts. No torch."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

from pydantic import with_config

from scoring.rules import RULES, Outcome, Rule

JudgePrompt = Literal[
    "default", "probabilities", "upstream", "mt-bench", "gemini", "prometheus", "con-j",
    "offsetbias", "rise", "atla", "rm-r1", "rm-r1-reasoning", "rewardbench-2",
    "rewardbench-2-gemini",
]  # fmt: skip
Dtype = Literal["auto", "float32", "bfloat16", "float16", "8bit", "4bit"]
QUANTIZED = ("8bit", "4bit")
"""Dtypes whose weights bitsandbytes packs when it loads them; it computes in float16."""
_Baseline = Literal["random", "longer", "shorter"]
"""A family without a model: a floor for every leaderboard."""
Family = Literal[
    "classifier", "dpo", "logprob-sum", "logprob-mean", "judge", "rater", "pairrm", "served",
    _Baseline,
]  # fmt: skip
FAMILIES: tuple[Family, ...] = get_args(Family)
BASELINES: tuple[Family, ...] = get_args(_Baseline)
JUDGES: tuple[Family, ...] = ("judge", "rater")
"""Families of models that answer in words."""
ASKED: tuple[Family, ...] = (*JUDGES, "served")
"""Families that a server may run."""
COMPARING: tuple[Family, ...] = ("judge", "pairrm")
"""Families whose rewards compare two responses; all others rate each by itself."""
DEVICE_NAMES = re.compile(r"auto|spread|cpu|mps|cuda(:\d{1,3})?")


class Message(NamedTuple):
    """A turn of a conversation. role: "system", "user" or "assistant"."""

    role: str
    content: str


def as_objects(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return messages as chat templates, servers and result files have them."""
    return [message._asdict() for message in messages]


@dataclass(frozen=True, slots=True)
class Pair:
    """A preference pair: a prompt and two responses, or more right and wrong ones.

    key: `subset:id`, unique within a dataset, not across datasets.
    prompt: as text; of several `turns`, their transcript. turns: () means one message of a user.
    more_chosen, more_rejected: responses after `chosen`, the first right one, and `rejected`.
    benchmark: name of its dataset's; "" if its subset has to tell.
    """

    key: str
    subset: str
    prompt: str
    chosen: str
    rejected: str
    turns: tuple[Message, ...] = ()
    more_chosen: tuple[str, ...] = ()
    more_rejected: tuple[str, ...] = ()
    benchmark: str = ""

    @property
    def responses(self) -> tuple[str, ...]:
        """All responses, the right ones first."""
        return (self.chosen, *self.more_chosen, self.rejected, *self.more_rejected)

    @property
    def n_chosen(self) -> int:
        """Number of right responses."""
        return 1 + len(self.more_chosen)

    @property
    def messages(self) -> list[Message]:
        """The conversation before the responses."""
        return list(self.turns) or [Message("user", self.prompt)]

    def answered(self, response: str) -> list[Message]:
        """The whole conversation with one of the responses."""
        return [*self.messages, Message("assistant", response)]


def text_hash(prompt: str, chosen: str, rejected: str) -> str:
    """Return 16 hex digits that identify a pair by its texts, in any dataset."""
    texts = json.dumps([prompt, chosen, rejected]).encode()
    return hashlib.blake2b(texts, digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Both rewards of a pair; of a row with more responses, those that decide it.

    *_reward: unbounded; None if the model gave NaN or infinity. Of a row, those that
        `Rule.decisive` chooses, and both are None if one response has none.
    *_tokens: template included; of a row, the most of a side. *_truncated: of a row, any response.
    rewards: of all responses, the `n_chosen` right ones first; () if there are only two.
    rule: name of the rule that judges it; "" means pairs', and of rows RewardBench 2's.
    repeats: rewards of all responses in each repeat, whose mean the others are; () if it was asked
        once.
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
    rewards: tuple[float | None, ...] = ()
    n_chosen: int = 1
    rule: str = ""
    repeats: tuple[tuple[float | None, ...], ...] = ()

    def values(self) -> dict[str, Any]:
        """Return its fields without the rule; of a pair, without those of rows."""
        names = (*self.__slots__[: -2 if self.rewards else -4], *["repeats"] * bool(self.repeats))
        return {name: getattr(self, name) for name in names}

    def with_rewards(self, rewards: Sequence[float | None]) -> "ScoredPair":
        """Return the same with other rewards, one of each response, and without repeats.

        rewards: the right responses' first; None, NaN or infinite where there is none.
        """
        known = tuple(None if each is None or not math.isfinite(each) else each for each in rewards)
        if len(known) == 2:
            chosen, rejected = known
            return replace(self, chosen_reward=chosen, rejected_reward=rejected, repeats=())
        found = replace(self, rewards=known, chosen_reward=None, rejected_reward=None, repeats=())
        if (finite := found._known) is None:
            return found
        right, wrong = found._rule.decisive(finite, self.n_chosen, self.subset)
        return replace(found, chosen_reward=finite[right], rejected_reward=finite[wrong])

    @property
    def id(self) -> str:
        """The id in its dataset: the key without the subset."""
        return self.key.removeprefix(f"{self.subset}:")

    @property
    def all_rewards(self) -> tuple[float | None, ...]:
        """Rewards of all responses, the right ones first."""
        return self.rewards or (self.chosen_reward, self.rejected_reward)

    @property
    def margin(self) -> float | None:
        """As of `margin_of`."""
        return margin_of(self.chosen_reward, self.rejected_reward)

    @property
    def outcome(self) -> Outcome:
        """The outcome by its rule."""
        known = self._known
        return "missing" if known is None else self._rule.outcome(known, self.n_chosen, self.subset)

    def credit(self, tie: float) -> float | None:
        """Credit as a part of a win, `tie` for a tied pair (`tie_worth`); None if it is missing."""
        known = self._known
        return None if known is None else self._rule.credit(known, self.n_chosen, self.subset, tie)

    @property
    def part_credits(self) -> tuple[float, ...]:
        """Credit in each part of its rule; () if it is missing."""
        known = self._known
        return () if known is None else self._rule.part_credits(known, self.n_chosen)

    @property
    def _rule(self) -> Rule:
        return RULES[self.rule or ("rewardbench_2" if self.rewards else "pairs")]

    @property
    def _known(self) -> list[float] | None:
        known = [each for each in self.all_rewards if each is not None and not math.isnan(each)]
        return known if len(known) == len(self.all_rewards) else None


Plan = tuple[tuple[int, ...], ...]
"""Packs of a run in scoring order, each the places of its pairs in the list.

On one machine the same packs give the same rewards to the last bit, unless memory runs out.
"""


@dataclass(frozen=True, slots=True)
class ScoredPack:
    """The pairs of a pack. path: as of `RunFacts`; "" if unknown.

    place: in the plan. tokens: computed (pairs, if texts are scored).
    parts: in which it was computed, more than 1 if memory ran out.
    """

    place: int
    rows: tuple[ScoredPair, ...]
    tokens: int
    parts: int = 1
    path: str = ""


def margin_of(chosen_reward: float | None, rejected_reward: float | None) -> float | None:
    """Chosen reward minus rejected reward; None if either is unknown."""
    if chosen_reward is None or rejected_reward is None:
        return None
    return chosen_reward - rejected_reward


def outcome_of(margin: float | None) -> Outcome:
    """Outcome of a pair with this margin."""
    if margin is None or math.isnan(margin):
        return "missing"
    return "tie" if margin == 0 else "win" if margin > 0 else "loss"


LabelWeights = int | tuple[float, ...]
"""The label that is the reward: its index, or a weight for each."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A reward model, ready to be loaded or asked.

    name: as a person knows it ("demo", a Hub id, a folder).
    folder: with config, weights and tokenizer; "" if the model is elsewhere.
    revision: the Hub commit, or a digest of the folder's content; "" if there is none.
    reading: how several labels are one reward; None for a model with one label.
    reference: of a DPO policy; the base of an adapter.
    tokenizer: the model whose it takes; None for its own.
    url: of the server that runs it. own_code: whether Python of its own is let run here.
    """

    name: str
    folder: str
    revision: str
    family: Family = "classifier"
    reading: LabelWeights | None = None
    reference: "ModelSpec | None" = None
    tokenizer: "ModelSpec | None" = None
    url: str = ""
    own_code: bool = False

    @property
    def is_adapter(self) -> bool:
        """Whether its folder holds an adapter of its reference."""
        return self.family == "classifier" and self.reference is not None

    @property
    def full_model(self) -> "ModelSpec":
        """The model whose folder has config and all weights: itself, or an adapter's base."""
        return self.reference if self.is_adapter and self.reference else self

    @property
    def pinned(self) -> str:
        """Name and revision."""
        return f"{self.name}@{self.revision}"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of a run: all that can change a number.

    max_length: tokens of a sequence; None means the model's own limit, at most 16,384.
    device: "auto", a torch device, or "spread" for all GPUs of this machine at once.
    budget: tokens computed at once; None means one or two seconds of work that fit in memory. No
        score depends on it.
    compile: decoder layers; "auto" if the job repays it. beta: of DPO rewards.
    seed: of the order in which pairs are scored, and of the random baseline.
    chat_template: as `engine.templates` names it; "" means the tokenizer's own.
    judge_prompt: "probabilities" reads those of the answer to our own; the others, upstream's, have
        a verdict or a rating written; "upstream" goes by the model's name. "default" is ours, but
        for rows of RewardBench 2 (`families.prompts.prompt_for`).
    max_tokens: of a written answer; None means what the prompt needs.
    temperature: of a judge's answers; 0 takes the likeliest word each time.
    repeats: how often a judge is asked everything; a reward is the mean.
    upstream_compatible: whether tokens are those of upstream's run_rm.py.
    parallel: requests that a server gets at once.
    """

    max_length: int | None = None
    truncation_side: Literal["left", "right"] = "left"
    dtype: Dtype = "auto"
    device: str = "auto"
    budget: int | None = None
    compile: Literal["auto", "on", "off"] = "auto"
    seed: int = 0
    beta: float = 1.0
    chat_template: str = ""
    judge_prompt: JudgePrompt = "default"
    max_tokens: int | None = None
    temperature: float = 0.0
    repeats: int = 1
    upstream_compatible: bool = False
    parallel: int = 8


@with_config(extra="forbid", strict=True)
@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts of a run, shown with its numbers and stored in its folder.

    pairs: their source. selection: which of them, in words. seed: of their order.
    reading: of labels as a reward, in words. repeats: how often a judge was asked everything.
    tokenizer: in place of the model's own, with its revision; "" for none.
    path: of sequences through the model, and why, in words; "one; later another" if it changed.
    budget: tokens of a pack at most (pairs, if the scorer reads texts).
    benchmark: name of the source's; "" if the subsets have to tell.
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
    reading: str = ""
    reference: str = ""
    tokenizer: str = ""
    path: str = ""
    budget: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    benchmark: str = ""
    repeats: int = 1
