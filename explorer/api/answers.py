"""What the public endpoints take and give, as types, from which Gradio describes them.

What is not known is None. Shares and scores are 0 to 1, unrounded.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # of typing's own, pydantic reads none before Python 3.12

MOST_ANSWERED_ROWS = 3_000
MOST_RUNS = 1_000
MOST_FOUND = 200
"""Pairs on a page of what was searched."""

FamilyName = Literal[
    "classifier", "dpo", "logprob-sum", "logprob-mean", "judge", "rater", "pairrm", "random",
    "longer", "shorter",
]  # fmt: skip
"""Families that a program can name; a server's models are scored on the page."""

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Interval = Annotated[list[float], Field(min_length=2, max_length=2)]
Outcome = Literal["win", "loss", "tie", "missing"]


class BoardSource(TypedDict):
    """Where the results are from, and how they count."""

    kind: str
    name: str
    revision: str | None
    date: str | None
    rule: str
    ties: str
    missing: str


class BoardRow(TypedDict):
    """A model."""

    rank: int | None
    model: str
    model_type: str | None
    score: Share | None
    sections: dict[str, Share | None]
    interval: Interval | None
    paired: bool
    rank_interval: Annotated[list[int], Field(min_length=2, max_length=2)] | None
    tie_group: int | None


class Leaderboard(TypedDict):
    """Of `/leaderboard`."""

    source: BoardSource
    remarks: list[str]
    measuring: bool
    retry_after_seconds: int | None
    rows: list[BoardRow]


class Failure(TypedDict):
    """A pair that a model does not win."""

    key: str
    subset: str
    outcome: Literal["loss", "tie"]
    margin: float | None
    difficulty: Share | None


class Failures(TypedDict):
    """Of `/failures`."""

    rows: list[Failure]


class Compared(TypedDict):
    """Two models on the same pairs."""

    both: Count
    only_a: Count
    only_b: Count
    neither: Count
    score_a: Share | None
    score_b: Share | None
    p_value: Share


class Comparison(Compared):
    """Of `/compare`."""

    sections: dict[str, Compared]


class PairSourceJson(TypedDict):
    """Where pairs are from."""

    name: str
    split: str | None
    revision: str | None


class Sides(TypedDict):
    """Who wrote the responses."""

    chosen: str | None
    rejected: str | None


class ModelOutcome(TypedDict):
    """What a model made of a pair."""

    model: str
    outcome: Outcome
    chosen_reward: float | None
    rejected_reward: float | None


class PairTexts(TypedDict):
    """Of `/pair`."""

    key: str
    prompt: str | None
    chosen: str | None
    rejected: str | None
    subset: str
    section: str | None
    models: Sides
    source: PairSourceJson
    outcomes: list[ModelOutcome]


class HardPair(TypedDict):
    """A pair that models fail."""

    key: str
    subset: str
    failed: Count
    known: Count
    difficulty: Share
    item_rest: float | None


class Hardest(TypedDict):
    """Of `/hardest`."""

    rows: list[HardPair]


class FoundPair(TypedDict):
    """A pair that a search found."""

    key: str
    subset: str
    section: str | None
    prompt: str
    chosen: str
    rejected: str
    models: Sides
    chosen_chars: Count
    rejected_chars: Count


class FoundPairs(TypedDict):
    """Of `/search_pairs`."""

    pairs: str
    total: Count
    of: Count
    page: int
    pages: int
    rows: list[FoundPair]
    counts: dict[str, dict[str, Count]]


class Rewards(TypedDict):
    """What a model gives a pair."""

    chosen_reward: float | None
    rejected_reward: float | None
    margin: float | None
    outcome: Outcome
    chosen_tokens: Count
    rejected_tokens: Count


class PairScore(Rewards):
    """Of `/score_pair`."""

    settings: dict[str, Any]


class ScoredRow(Rewards):
    """A pair as it was scored."""

    key: str
    subset: str
    truncated: bool


class ScoreSoFar(TypedDict):
    """What pairs come to."""

    scored: Count
    accuracy: Share | None
    tie_counts: Share
    interval: Interval | None
    score: Share | None
    sections: dict[str, Share | None]


class SelectionProgress(ScoreSoFar):
    """Of `/score_selection`: a message."""

    stage: str
    ahead: Count
    total: Count
    rows: list[ScoredRow]
    settings: dict[str, Any] | None
    message: NotRequired[str]


class KnownModel(TypedDict):
    """A well-known model."""

    id: str
    family: str
    billions: float | None
    memory_gigabytes: float | None
    reference: str | None
    licence: str | None
    why_not: str | None


class Models(TypedDict):
    """Of `/models`."""

    models: list[str]
    any: bool
    known: list[KnownModel]
    own_code: list[str]
    max_gigabytes: float | None
    max_pairs: int | None
    seconds_per_hour: float | None
    sign_in: bool
    served_families: list[str]


class StoredRun(ScoreSoFar):
    """A run that is kept."""

    id: str
    title: str
    own: bool
    public: bool
    status: Literal["running", "finished", "stopped", "failed"]
    started: str
    pairs: str
    selection: str
    total: Count
    settings: dict[str, Any]


class StoredRuns(TypedDict):
    """Of `/runs`."""

    runs: list[StoredRun]


class RunNow(ScoreSoFar):
    """Of `/run`."""

    id: str
    status: Literal["refused", "waiting", "loading", "running", "finished", "stopped", "failed"]
    message: str
    ahead: Count
    total: Count
    rows: list[ScoredRow] | None
    settings: dict[str, Any] | None
    retry_after_seconds: int | None


class StartedRun(RunNow):
    """Of `/start_run`."""

    secret: str
