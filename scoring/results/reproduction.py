"""A run against what is published of the same model: how far apart, and whether settings say why.

The same model on the same pairs leaves nothing to chance: a pair that changed was scored otherwise.
The rule, of the score and of each section: up to `SMALL`, with at most `FEW_CHANGED` of the pairs
changed, is what number types and a doubled BOS do. Up to `LARGEST` is what another template,
length, reference model or 8-bit weights may explain, and up to `BATCH` another batch size, but only
where one of them is not known to be the same. Beyond that, nothing known does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scoring.benchmark import COUNTS, SECTIONS, overall_score, score_shares, section_scores
from scoring.errors import KnownError
from scoring.hub.access import Hub, RepoNotFound, Token, parse_hub_id
from scoring.interval import Z_95, wilson
from scoring.models.catalogue import board_models
from scoring.paths import is_folder, typed_path
from scoring.record import Run
from scoring.results.accuracies import collect_aggregates
from scoring.results.files import REFERENCE_FREE, ResultFile
from scoring.results.order import Singles, align
from scoring.results.pairs import PairResults, read_pair_results, results_of_rows
from scoring.spec import QUANTIZED, RunFacts, ScoredPair
from scoring.summary import summarise_run

SMALL = 0.01
"""A difference of scores, 0 to 1: what a doubled BOS does by upstream's threads 164 and 166."""
FEW_CHANGED = 0.05
"""Share of the pairs; bfloat16 in place of float32 changes 1.7 % of the bundled demo model's."""
LARGEST = 0.224
"""The most that other settings have moved a section's score, 0 to 1: that of
reward-model-deberta-v3-large-v2 in Chat Hard, from arXiv 2403.13787v2 to the leaderboard."""
BATCH = 0.051
"""The same of another batch size: beaver-7b-v1.0-cost with 1 and 3, by upstream's thread 137."""
OWN = "the tokenizer's own"
"""A chat template."""
RESULTS = "allenai/reward-bench-results"
"""Upstream's dataset of results."""
RUN_RM_LENGTH = 2048
RUN_RM_DTYPE = "float16"
"""What upstream's run_rm.py takes where its configuration does not say."""
VERDICTS = {
    "same": "Equal: no pair changed.",
    "small": "Equal within noise: no more differs than number types and a BOS are known to change.",
    "few": "More differs than noise, but of so few pairs that it may be no more.",
    "settings": "Explained by a setting: {settings}.",
    "unknown": "Different; perhaps because of what is not known of the published run: {settings}.",
    "unexplained": "Different, and no setting that is known explains it.",
    "nothing": "There is nothing to compare: the run has no section whole that is published.",
}


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """Settings of published results; None if not known.

    template: that the configuration names; used if the tokenizer has none of its own.
    max_length: in tokens. reference: of a DPO model; "" for none.
    quantized: whether weights were configured to be cut to 8 bits.
    """

    template: str | None = None
    max_length: int | None = None
    dtype: str | None = None
    reference: str | None = None
    quantized: bool | None = None
    batch: int | None = None


NOT_KNOWN = BoardSettings()


def board_settings(model: str) -> BoardSettings:
    """The configured settings of the RewardBench board for a published name.

    Where upstream's configuration sets no length or dtype, run_rm.py's are meant, but for DPO
    models, which have other code.
    Source: scripts/configs/eval_configs.yaml and scripts/run_rm.py of allenai/reward-bench.
    """
    board = board_models().get(model.removesuffix(REFERENCE_FREE).strip().partition("@")[0])
    if board is None:
        return NOT_KNOWN
    is_dpo = board.family == "dpo"
    return BoardSettings(
        template=board.template,
        max_length=board.length or (None if is_dpo else RUN_RM_LENGTH),
        dtype=board.dtype or (None if is_dpo else RUN_RM_DTYPE),
        reference="" if model.endswith(REFERENCE_FREE) else board.reference,
        quantized=None if is_dpo else board.quantized,
        batch=board.batch,
    )


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting on both sides, in words; `there` is "" if not known.

    largest: the largest change of a score, 0 to 1, that it may explain; 0 if that is small.
    """

    name: str
    here: str
    there: str
    largest: float

    @property
    def differs(self) -> bool | None:
        """None if one side is not known."""
        return self.here != self.there if self.there else None


def settings_of(
    facts: RunFacts, scored: Sequence[ScoredPair], board: BoardSettings
) -> tuple[Setting, ...]:
    """The settings of a run that can change a number, beside the published ones.

    Here rewards do not depend on what is computed beside a pair, as if each batch were of one.
    Upstream uses the tokenizer's own chat template where there is one, so where the run did, both
    are the same. A longest sequence matters where a pair is longer on either side.
    """
    here, there = facts.template.partition(":")[0], board.template or ""
    if here == "own":
        here, there = OWN, "" if board.template is None else OWN
    longest = max((max(row.chosen_tokens, row.rejected_tokens) for row in scored), default=0)
    cut = any(row.chosen_truncated or row.rejected_truncated for row in scored)
    matters = cut or longest > (board.max_length or RUN_RM_LENGTH)
    length = f"{board.max_length:,}" if board.max_length else ""
    words = {None: "", True: "yes", False: "no"}
    settings = (
        Setting("template", here, there, LARGEST),
        Setting("max_length", f"{facts.max_length:,}", length, LARGEST if matters else 0.0),
        Setting("dtype", facts.dtype, board.dtype or "", 0.0),
        Setting("batch", "1", str(board.batch or ""), BATCH),
        Setting("reference", facts.reference.partition("@")[0], board.reference or "", LARGEST),
        Setting("quantized", words[facts.dtype in QUANTIZED], words[board.quantized], LARGEST),
    )
    return tuple(each for each in settings if each.here or each.there or each.name != "reference")


@dataclass(frozen=True, slots=True)
class Check:
    """One number on both sides.

    section: "" for the score (of pairs that are none of RewardBench's, the accuracy).
    n: pairs that count in it: of the run, or of both if single pairs are known.
    here, there: 0 to 1; None if not known, or not of the same pairs.
    n_differing: pairs with another outcome; None if only scores are published.
    interval: of the difference, 95 %; None if not known.
    wins: the app's counts of pairs that one side alone wins; None elsewhere.
    """

    section: str
    n: int
    here: float | None
    there: float | None
    n_differing: int | None = None
    interval: tuple[float, float] | None = None
    wins: Any = None

    @property
    def difference(self) -> float | None:
        """Here minus there, -1 to 1."""
        return None if self.here is None or self.there is None else self.here - self.there

    @property
    def is_beyond_noise(self) -> bool:
        """Whether more changed than number types and the like do; a single pair may."""
        is_large = abs(self.difference or 0.0) > SMALL
        is_changed = (self.n_differing or 0) > FEW_CHANGED * self.n
        return self.n_differing not in (0, 1) and (is_large or is_changed)

    @property
    def least(self) -> tuple[float, float]:
        """The difference and the share of pairs that changed, 0 to 1.

        Of some pairs of the part, the least that both are of all of them, at 95 %.
        """
        n_changed, subsets = self.n_differing or 0, SECTIONS.get(self.section, COUNTS)
        changed, difference = n_changed / max(self.n, 1), abs(self.difference or 0.0)
        if self.n < sum(COUNTS[subset] for subset in subsets):
            if self.interval is not None:
                difference = max(self.interval[0], -self.interval[1], 0.0)
            if (share := wilson(n_changed, self.n)) is not None:
                changed = share.low
        return difference, changed


@dataclass(frozen=True, slots=True)
class PublishedCheck:
    """A run beside what is published of its model.

    model: its published name.
    basis: "pairs" if both numbers are of the same single pairs; else sections that the run has
        whole are compared, and fields from `won` on are empty.
    parts: the score, then the sections, of which both sides are known or the run has pairs.
    won, lost, tied: keys of pairs won here and not there, the other way round, and tied on one side
        and lost on the other, in the table's order. n: pairs that are compared.
    near: share of the changed pairs whose margin is in the run's narrowest fifth; None without any.
    """

    model: str
    basis: Literal["pairs", "sections"]
    parts: tuple[Check, ...]
    settings: tuple[Setting, ...]
    won: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    tied: tuple[str, ...] = ()
    n: int = 0
    near: float | None = None

    @property
    def largest(self) -> Check | None:
        """The section, or the score, that differs most; None if none is known on both sides."""
        return max(self._known, key=lambda part: abs(part.difference or 0.0), default=None)

    @property
    def suspects(self) -> list[Setting]:
        """Settings that have made as large differences, and may be others there."""
        least = max((part.least[0] for part in self._known), default=0.0)
        may_differ = [each for each in self.settings if each.differs is not False]
        return [each for each in may_differ if each.largest and each.largest >= least]

    @property
    def verdict(self) -> str:
        """Key of `VERDICTS`."""
        if not self._known:
            return "nothing"
        if all(part.n_differing == 0 for part in self._known):
            return "same"
        beyond = [part for part in self._known if part.is_beyond_noise]
        if not beyond:
            return "small"
        least = [part.least for part in beyond]
        if not any(points > SMALL or changed > FEW_CHANGED for points, changed in least):
            return "few"
        suspects = [each.differs for each in self.suspects]
        return "settings" if True in suspects else "unknown" if suspects else "unexplained"

    @property
    def _known(self) -> list[Check]:
        return [part for part in self.parts if part.difference is not None]


def check_sections(
    facts: RunFacts,
    scored: Sequence[ScoredPair],
    model: str,
    sections: Mapping[str, float | None],
    board: BoardSettings = NOT_KNOWN,
) -> PublishedCheck:
    """A run against published section scores: those sections of which it has every pair.

    model: the published name. sections: published, 0 to 1; None if not known.
    """
    summary = summarise_run(scored, facts)
    n_of = {name: sum(tally.counts.values()) for name, tally in summary.subsets.items()}
    there: dict[str, float | None] = {}
    parts = []
    for section, subsets in SECTIONS.items():
        is_whole = all(n_of.get(each) == COUNTS[each] for each in subsets)
        there[section] = sections.get(section) if is_whole else None
        if tally := summary.section_tallies.get(section):
            parts.append(Check(section, tally.n, summary.sections[section], there[section]))
    if None not in there.values():
        parts.insert(0, Check("", summary.total.n, summary.score, overall_score(there)))
    return PublishedCheck(model, "sections", tuple(parts), settings_of(facts, scored, board))


Published = PairResults | dict[str, float]
"""Results of a model: of each pair, or else subset -> accuracy, 0 to 1."""


def find_published(model: str, where: str, hub: Hub, token: Token = False) -> Published:
    """The results of a model in a folder or a Hub dataset, or a `KnownError` if there are none."""
    names = [f"{folder}/{model}.json" for folder in ("eval-set-scores", "eval-set")]
    root = typed_path(where)
    if not is_folder(root):
        hub_id = parse_hub_id(where)
        if hub_id is None:
            raise KnownError(f"{where!r} is neither a folder nor a Hub dataset org/name.")
        try:
            listing = hub.look(hub_id, "dataset", token=token)
        except RepoNotFound as error:
            raise KnownError(f"{error} Give a folder with a copy of it (--published).") from error
        there = [name for name in names if name in listing.sizes]
        root = hub.fetch(listing, there, token=token) if there else root
    by_pairs, by_subset = (root / name for name in names)
    if by_pairs.is_file():
        try:
            return read_pair_results(by_pairs, names[0])
        except KnownError as error:
            raise KnownError(f"{names[0]} of {where} cannot be used: {error}.") from error
    if not by_subset.is_file():
        raise KnownError(f"{where} has nothing of {model}: neither {names[0]} nor {names[1]}.")
    aggregates, left_out = collect_aggregates([ResultFile(names[1], by_subset)])
    if not aggregates:
        raise KnownError(f"{names[1]} of {where} cannot be used: {left_out[0].reason}.")
    return aggregates[0].accuracies


def compare(run: Run, theirs: Published, model: str, source: str) -> PublishedCheck:
    """Compare a run with what a source has of a model pair by pair, or else section by section.

    Raises a `KnownError` if the published pairs are others.
    """
    scored, board = run.rows(), board_settings(model)
    if isinstance(theirs, dict):
        return check_sections(run.facts, scored, model, section_scores(theirs), board)
    row_of = {row.key: row for row in scored}
    in_order = [row_of[key] for key in run.plan()[1] if key in row_of]
    ours = results_of_rows(in_order, run.facts)
    try:
        here, there = ours.results, _in_order_of(ours, theirs)
    except KnownError as error:
        raise KnownError(
            f"What {source} has of {model} is not of this run's pairs: {error}. Give the pairs "
            "that it was published for (--pairs)."
        ) from error
    known = np.flatnonzero(~np.isnan(here) & ~np.isnan(there))
    here, there = here[known], there[known]
    rows = [in_order[place] for place in known]
    subsets = np.array([row.subset for row in rows])
    parts = [_part(section, subsets, here, there) for section in ("", *SECTIONS)]
    won, lost, tied = (
        tuple(rows[place].key for place in np.flatnonzero(way & (here != there)))
        for way in (here == 1, there == 1, (here < 1) & (there < 1))
    )
    known_parts, settings = tuple(filter(None, parts)), settings_of(run.facts, scored, board)
    return PublishedCheck(model, "pairs", known_parts, settings, won, lost, tied, len(rows))


def _in_order_of(ours: PairResults, theirs: PairResults) -> Singles:
    """Published outcomes in the order of a run, which may be of a part of their pairs."""
    if len(ours.order) >= len(theirs.order):
        return align(theirs.order, ours.order).take(theirs.results)
    rows = align(ours.order, theirs.order).rows
    outcomes = np.full(len(ours.order), np.nan, np.float32)
    outcomes[rows[rows >= 0]] = theirs.results[rows >= 0]
    return outcomes


def _part(section: str, subsets: NDArray[np.str_], here: Singles, there: Singles) -> Check | None:
    """The score ("") or a section, of the outcomes on both sides; None without any."""
    names = SECTIONS.get(section, COUNTS)
    rows_of = {name: rows for name in names if (rows := np.flatnonzero(subsets == name)).size}
    if not rows_of:
        return None

    def score(side: Singles) -> float:
        means = {name: float(side[rows].mean(dtype=float)) for name, rows in rows_of.items()}
        scores = section_scores(means)
        return (scores[section] if section else overall_score(scores)) or 0.0

    shares = score_shares(rows_of)
    changes = {name: (here - there)[rows] for name, rows in rows_of.items()}
    variance = sum(
        shares[name] ** 2 * float(np.var(each)) / len(each) for name, each in changes.items()
    )
    n_differing = sum(int(np.count_nonzero(each)) for each in changes.values())
    middle, spread = score(here) - score(there), Z_95 * sqrt(variance)
    ends, n = (middle - spread, middle + spread), sum(map(len, changes.values()))
    return Check(section, n, score(here), score(there), n_differing, ends)


def reproduction_lines(check: PublishedCheck) -> list[str]:
    """A check as text: verdict, both sides' sections, settings, and pairs that changed."""
    named = [each.name for each in check.suspects if each.differs or check.verdict != "settings"]
    verdict = VERDICTS[check.verdict].format(settings=", ".join(named))
    lines = ["", f"Beside what is published of {check.model}", verdict, ""]
    lines.append(f"{'':34} {'pairs':>6} {'here':>8} {'there':>8} {'points':>7} {'changed':>8}")
    for part in check.parts:
        differing = "" if part.n_differing is None else f"{part.n_differing:,}"
        points = "" if part.difference is None else f"{100 * part.difference:+.1f}"
        shares = ["" if each is None else f"{each:.1%}" for each in (part.here, part.there)]
        lines.append(
            f"{part.section or 'score':34} {part.n:>6,} {shares[0]:>8} {shares[1]:>8} "
            f"{points:>7} {differing:>8}"
        )
    lines += [
        f"{each.name}: {each.here or 'none'} here, {each.there or 'not known'} there"
        for each in check.settings
    ]
    for how, keys in (("here", check.won), ("there", check.lost)):
        if keys:
            more = f" and {len(keys) - 10:,} more" if len(keys) > 10 else ""
            lines.append(f"won {how} only: {', '.join(keys[:10])}{more}")
    return lines


def reproduction_json(check: PublishedCheck) -> dict[str, Any]:
    """A check as plain values; scores are 0 to 1, None if not known."""
    return {
        "model": check.model,
        "basis": check.basis,
        "verdict": check.verdict,
        "explained_by": [each.name for each in check.suspects if each.differs],
        "parts": [
            {"section": part.section, "pairs": part.n, "here": part.here, "there": part.there}
            | {"changed": part.n_differing}
            for part in check.parts
        ],
        "settings": [
            {"name": each.name, "here": each.here, "there": each.there} for each in check.settings
        ],
        "won_here_only": list(check.won),
        "won_there_only": list(check.lost),
        "tied_on_one_side": list(check.tied),
    }
