"""What every model did on the pairs of one table: what all views of failures are made of."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from explorer.core.caches import LruCache, locked_cached_property
from explorer.data.facets import Mask
from explorer.data.table import PairTable, Rows
from explorer.runs.outcomes import scored_rows
from explorer.stats.difficulty import (
    Difficulty,
    PairDiscrimination,
    difficulty,
    discriminating_pairs,
    failed_by_most,
)
from explorer.stats.duels import majority_of
from explorer.stats.matrix import OutcomeMatrix, of_models
from explorer.stats.rules import Rule, rule_of_pairs
from scoring.clusters import clusters_of
from scoring.errors import KnownError, shown
from scoring.record import Run
from scoring.results.order import align
from scoring.results.pairs import PairResults
from scoring.rules import Outcome
from scoring.spec import ScoredPair, margin_of, text_hash

Doubles = NDArray[np.float64]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
MAJORITY = "*"
"""Stands for the majority of all other models, where another model is named."""
_KEPT_RUNS = 8
"""Runs whose pairs stay in memory."""
_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """What one model made of one pair.

    Rewards are None where they are not known; tokens, too, which only runs of one's own tell. Those
    of all responses, where there are more than two, are told by one's own runs and files: see
    `ScoredPair`.
    """

    model: str
    outcome: Outcome
    chosen_reward: float | None = None
    rejected_reward: float | None = None
    chosen_tokens: int | None = None
    rejected_tokens: int | None = None
    chosen_truncated: bool = False
    rejected_truncated: bool = False
    rewards: tuple[float | None, ...] = ()
    n_chosen: int = 1

    @property
    def margin(self) -> float | None:
        """Chosen reward minus rejected reward; None where either is not known."""
        return margin_of(self.chosen_reward, self.rejected_reward)

    @classmethod
    def of(cls, model: str, scored: ScoredPair) -> "PairOutcome":
        """Of a pair of a run."""
        return cls(model, **{each.name: getattr(scored, each.name) for each in fields(cls)[1:]})


@dataclass(frozen=True, eq=False)
class Field:
    """Models on the pairs of one table.

    table: the pairs. has_texts: whether they are at hand; else all texts of the table are "".
    matrix: outcomes by model; its columns are the rows of the table.
    runs: model -> the run of the person who looks, where it is one.
    own: the person's own models, runs and uploaded files.
    model_of: such a run or file -> the model that it is of, as it is published; of one model there
        may be several.
    files: of the person's own files, those with the rewards of all responses, by their models.
    key: changes when what is in it does.
    """

    table: PairTable
    matrix: OutcomeMatrix
    runs: Mapping[str, Run]
    key: tuple[object, ...]
    has_texts: bool = True
    own: frozenset[str] = frozenset()
    model_of: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, PairResults] = field(default_factory=dict)
    _difficulties: dict[str, Difficulty] = field(default_factory=dict, init=False)
    _places_in_file: dict[str, NDArray[np.int64]] = field(default_factory=dict, init=False)
    _part_credits: dict[str, Doubles] = field(default_factory=dict, init=False)

    @property
    def rule(self) -> Rule:
        """The official rule of the benchmark that the pairs are of."""
        return rule_of_pairs(self.matrix.pairs)

    @locked_cached_property
    def is_rival(self) -> Mask:
        """(models,): those that a model is measured against, each model once. Not the person's own,
        if there are others: what is said of a published model is the same for everybody.

        Of several runs of one model, it is that with the most pairs.
        """
        published = np.array([model not in self.own for model in self.matrix.models], np.bool_)
        places = np.flatnonzero(published if published.any() else ~published)
        n_known = (~np.isnan(self.matrix.outcomes)).sum(axis=1)
        of_model = {self.row_models[at]: at for at in places[np.argsort(n_known[places])].tolist()}
        return np.isin(np.arange(len(published)), list(of_model.values()))

    @locked_cached_property
    def published(self) -> OutcomeMatrix:
        """The models that are not the person's own, if there are any; else all."""
        published = set(self.matrix.models).difference(self.own)
        return of_models(self.matrix, published) if published else self.matrix

    @locked_cached_property
    def row_models(self) -> list[str]:
        """The model that each row of the matrix is of."""
        return [self.model_of.get(name, name) for name in self.matrix.models]

    @locked_cached_property
    def best_first(self) -> list[int]:
        """The rows of the matrix, those first whose models win the largest share of their pairs."""
        outcomes = self.matrix.outcomes
        known = np.maximum(1, (~np.isnan(outcomes)).sum(axis=1))
        found: list[int] = np.argsort(
            -np.nansum(outcomes == 1, axis=1) / known, kind="stable"
        ).tolist()
        return found

    @property
    def n_models(self) -> int:
        """How many models there are, however many runs of each."""
        return len(set(self.row_models))

    @locked_cached_property
    def place_of(self) -> dict[str, int]:
        """Model -> its row of the matrix."""
        return {model: place for place, model in enumerate(self.matrix.models)}

    def place(self, model: object) -> int:
        """The row of a model.

        Raises:
            KnownError: it has no results of these pairs.
        """
        found = self.place_of.get(model) if isinstance(model, str) else None
        if found is None:
            raise KnownError(
                f"There are no per-pair results of a model {shown(model)} here. Choose another."
            )
        return found

    def difficulty(self, model: str = "") -> Difficulty:
        """How many of a model's rivals fail each pair; of all models where it is "".

        A model alone has no rival, and of fewer than two models nobody knows what is hard.
        """
        if model not in self._difficulties:
            found = self.others(model) if model else self.matrix.outcomes[self.is_rival]
            if not model and len(found) < 2:
                found = found[:0]
            self._difficulties[model] = difficulty(found)
        return self._difficulties[model]

    @locked_cached_property
    def clusters(self) -> NDArray[np.intp]:
        """The cluster of each pair: those of one prompt."""
        return clusters_of(self.matrix.pairs)

    @locked_cached_property
    def telling(self) -> PairDiscrimination:
        """How well pairs tell good rivals from bad."""
        return discriminating_pairs(self.matrix.outcomes[self.is_rival], self.table.subsets.codes)

    @locked_cached_property
    def hardest(self) -> Rows:
        """Pairs that most rivals fail."""
        return failed_by_most(self.matrix.outcomes[self.is_rival])

    def outcomes(self, model: str) -> Doubles:
        """What the model did on each pair, 0 to 1; NaN where missing."""
        return np.asarray(self.matrix.outcomes[self.place(model)], np.float64)

    def is_other(self, model: str) -> Mask:
        """(models,): a model's rivals, without further runs of itself; of "", all models."""
        own = self.row_models[self.place(model)] if model else None
        return self.is_rival & np.array([name != own for name in self.row_models], np.bool_)

    def others(self, model: str) -> NDArray[np.float32]:
        """The outcomes of a model's rivals, (models, pairs)."""
        return self.matrix.outcomes[self.is_other(model)]

    def rival(self, model: str, other: str) -> Doubles:
        """Another model's outcomes, or those of the `MAJORITY` of all but `model`."""
        if other == MAJORITY:
            return majority_of(self.others(model))
        return self.outcomes(other)

    def match_description(self, model: str = "") -> str:
        """How outcomes of a model (of "", all) were matched to the pairs, or why to none.

        "" for runs, whose texts are the pairs' own, and if there is nothing to say.
        """
        pairs, matched_by = self.matrix.pairs, self.matrix.matched_by
        if not self.has_texts:
            if pairs.hashes or not self.matrix.models:
                return ""
            if pairs.origin:
                return (
                    f"The files of these results hold no texts. They are of {pairs.origin}, so "
                    "they are shown beside no other pairs."
                )
            if all(map(self.rule.benchmark.has, pairs.names)):
                return ""  # they are joined to its pairs where those are open
            return (
                "The files of these results hold no texts and do not say which pairs they are of, "
                "so they are shown beside none."
            )
        files = [model] if model else self.matrix.models
        ways = {matched_by[each] for each in files if each in matched_by and each not in self.runs}
        return (
            f"Outcomes from files are matched to pairs by {' or '.join(sorted(ways))}."
            if ways
            else ""
        )

    def is_running(self, model: str) -> bool:
        """Whether the model is a run that goes on while one looks."""
        run = self.runs.get(model)
        return run is not None and run.status == "running"

    def known(self, model: str) -> Mask:
        """Pairs of which the model's outcome is known."""
        return ~np.isnan(self.outcomes(model))

    def lost(self, model: str) -> Rows:
        """The rows that the model did not win, ties included and missing ones not."""
        return np.flatnonzero(self.known(model) & (self.outcomes(model) < 1)).astype(np.int64)

    def has_ties(self, model: str) -> bool:
        """Whether the model neither won nor lost a pair."""
        return bool((self.codes(model) == _CODE["tie"]).any())

    def codes(self, model: str, rows: slice = slice(None)) -> NDArray[np.int8]:
        """What the model did on each pair, as places in `OUTCOMES`; of a judge's half, a tie. Of a
        row that counts in parts, anything but all of them is a loss.
        """
        place = self.place(model)
        outcomes = self.matrix.outcomes[place, rows]
        equal = self.matrix.known_equal[place, rows]
        codes = np.full(len(outcomes), _CODE["loss"], np.int8)
        if not self.rule.benchmark.rule.parts:
            codes[((outcomes > 0) & (outcomes < 1)) | equal] = _CODE["tie"]
        codes[outcomes == 1] = _CODE["win"]
        codes[np.isnan(outcomes)] = _CODE["missing"]
        return codes

    def margins(self, model: str) -> Doubles:
        """Chosen reward minus rejected reward of each pair; NaN where not known."""
        return self.rewards(model, "chosen") - self.rewards(model, "rejected")

    def rewards(self, model: str, side: Literal["chosen", "rejected"]) -> Doubles:
        """The reward of one response of each pair; NaN where not known."""
        of_all = self.matrix.chosen if side == "chosen" else self.matrix.rejected
        return np.asarray(of_all[self.place(model)], np.float64)

    def has_rewards(self, model: str) -> bool:
        """Whether any margin of the model is known."""
        return bool((~np.isnan(self.margins(model))).any())

    def outcome(self, model: str, row: int) -> Outcome:
        """What the model did on one pair."""
        return OUTCOMES[int(self.codes(model, slice(row, row + 1))[0])]

    def verdict(self, model: str, row: int) -> PairOutcome:
        """What a model made of one pair."""
        run = self.runs.get(model)
        hashes = self.matrix.pairs.hashes
        if run is not None and (self.has_texts or hashes):
            cells = self.table.cells(row)
            texts = cells["prompt"], cells["chosen"], cells["rejected"]
            scored = _scored(run).get(hashes[row] if hashes else text_hash(*texts))
            if scored is not None:
                return PairOutcome.of(model, scored)
        place = self.place(model)
        rewards = (self.matrix.chosen[place, row], self.matrix.rejected[place, row])
        chosen, rejected = (None if np.isnan(each) else float(each) for each in rewards)
        of_all, n_chosen = self._rewards_in_file(model, row)
        return PairOutcome(
            model, self.outcome(model, row), chosen, rejected, rewards=of_all, n_chosen=n_chosen
        )

    def _rewards_in_file(self, model: str, row: int) -> tuple[tuple[float | None, ...], int]:
        """The rewards of all responses in a file of one's own, and how many are right; (), 1 where
        it has none.
        """
        file = self.files.get(model)
        if file is None or file.scores is None or file.num_correct is None:
            return (), 1
        if model not in self._places_in_file:
            hashes = (lambda: self.table.hashes) if self.has_texts else None
            self._places_in_file[model] = align(file.order, self.matrix.pairs, hashes).rows
        place = int(self._places_in_file[model][row])
        if place < 0:
            return (), 1
        rewards = file.scores.row(place).tolist()
        known = tuple(None if math.isnan(each) else each for each in rewards)
        return known, int(file.num_correct[place])

    def part_credits(self, model: str) -> Doubles | None:
        """What each row counts in each part of the benchmark's rule, (rows, parts), NaN where it is
        not known; None where the rule has no parts.
        """
        rule = self.rule.benchmark.rule
        if not rule.parts or model in self._part_credits:
            return self._part_credits.get(model)
        found = np.full((len(self.table), len(rule.parts)), np.nan)
        for row in np.flatnonzero(self.codes(model) != _CODE["missing"]).tolist():
            verdict = self.verdict(model, row)
            known = [each for each in verdict.rewards if each is not None]
            if known:
                found[row] = rule.part_credits(known, verdict.n_chosen)
        return self._part_credits.setdefault(model, found)

    def verdicts(self, row: int) -> list[PairOutcome]:
        """What every model whose outcome is known made of one pair, by name."""
        known = np.flatnonzero(~np.isnan(self.matrix.outcomes[:, row]))
        return [self.verdict(self.matrix.models[place], row) for place in known.tolist()]


_SCORED = LruCache[dict[str, ScoredPair]](_KEPT_RUNS)


def _scored(run: Run) -> dict[str, ScoredPair]:
    """The pairs of a run by their texts."""
    return _SCORED.get_or_create(
        (run.folder, run.n_bytes()), lambda: {pair.text_hash: pair for pair in scored_rows(run)}
    )
