"""`python -m scoring --reproduce`: what upstream published of a model, and a run beside it."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np

from scoring.benchmark import SECTIONS, SUBSETS, overall_score, score_shares, section_scores
from scoring.errors import KnownError
from scoring.hub.access import Hub, RepoNotFound, parse_hub_id
from scoring.interval import Z_95
from scoring.paths import is_folder, typed_path
from scoring.record import Run
from scoring.results.accuracies import collect_aggregates
from scoring.results.files import ResultFile
from scoring.results.order import Singles, align
from scoring.results.pairs import PairResults, read_pair_results, results_of_rows
from scoring.results.reproduction import (
    Check,
    PublishedCheck,
    board_settings,
    check_sections,
    settings_of,
)

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
class Published:
    """What is published of one model; None where it is not.

    source: where. pairs: results of each pair. accuracies: subset -> 0 to 1.
    """

    model: str
    source: str
    pairs: PairResults | None
    accuracies: dict[str, float] | None


@dataclass(frozen=True, slots=True)
class ChangedPairs:
    """As `Changed` has it. interval: of the weighted difference, by its normal approximation."""

    n: int
    n_differing: int
    interval: tuple[float, float] | None


def find_published(
    model: str, where: str, hub: Hub, token: str | Literal[False] = False
) -> Published:
    """What a folder or a Hub dataset in upstream's layout has of a model.

    Raises:
        KnownError: it cannot be had, or has nothing of the model.
    """
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
    paths = [root / name for name in names]
    if not any(path.is_file() for path in paths):
        raise KnownError(f"{where} has nothing of {model}: neither {names[0]} nor {names[1]}.")
    by_pairs, by_subset = paths
    pairs = accuracies = None
    if by_pairs.is_file():
        try:
            pairs = read_pair_results(by_pairs, names[0])
        except KnownError as error:
            raise KnownError(f"{names[0]} of {where} cannot be used: {error}.") from error
    if by_subset.is_file():
        found, left_out = collect_aggregates([ResultFile(names[1], by_subset)])
        if not found and pairs is None:
            raise KnownError(f"{names[1]} of {where} cannot be used: {left_out[0].reason}.")
        accuracies = found[0].accuracies if found else None
    return Published(model, where, pairs, accuracies)


def compare(run: Run, published: Published) -> PublishedCheck:
    """A run beside what is published of its model: pair by pair, or else section by section.

    Raises:
        KnownError: the published pairs are others.
    """
    scored, board = run.rows(), board_settings(published.model)
    if published.pairs is None:
        sections = section_scores(published.accuracies or {})
        return check_sections(run.facts, scored, published.model, sections, board)
    row_of = {row.key: row for row in scored}
    in_order = [row_of[key] for key in run.plan()[1] if key in row_of]
    ours = results_of_rows(in_order, run.facts)
    try:
        here, there = ours.results, _in_order_of(ours, published.pairs)
    except KnownError as error:
        raise KnownError(
            f"What {published.source} has of {published.model} is not of this run's pairs: "
            f"{error}. Give the pairs that it was published for (--pairs)."
        ) from error
    known = ~np.isnan(here) & ~np.isnan(there)
    rows = [row for row, is_known in zip(in_order, known, strict=True) if is_known]
    here, there = here[known], there[known]
    subsets = np.array([row.subset for row in rows])
    parts = [_part(section, subsets, here, there) for section in ("", *SECTIONS)]
    changed = np.flatnonzero(here != there)
    won, lost = changed[here[changed] == 1], changed[there[changed] == 1]
    tied = changed[(here[changed] < 1) & (there[changed] < 1)]
    return PublishedCheck(
        model=published.model,
        basis="pairs",
        parts=tuple(filter(None, parts)),
        settings=settings_of(run.facts, scored, board),
        won=tuple(rows[place].key for place in won),
        lost=tuple(rows[place].key for place in lost),
        tied=tuple(rows[place].key for place in tied),
        n=len(rows),
    )


def _in_order_of(ours: PairResults, theirs: PairResults) -> Singles:
    """Published outcomes in the order of a run, which may be of a part of their pairs."""
    if len(ours.order) >= len(theirs.order):
        return align(theirs.order, ours.order).take(theirs.results)
    rows = align(ours.order, theirs.order).rows
    found = np.full(len(ours.order), np.nan, np.float32)
    found[rows[rows >= 0]] = theirs.results[rows >= 0]
    return found


def _part(
    section: str, subsets: "np.ndarray[Any, np.dtype[np.str_]]", here: Singles, there: Singles
) -> Check | None:
    """The score ("") or a section, of the outcomes on both sides; None without any."""
    of_subset = {
        name: these
        for name in (SECTIONS[section] if section else SUBSETS)
        if (these := subsets == name).any()
    }
    if not of_subset:
        return None
    scores = []
    for side in (here, there):
        of_sections = section_scores(
            {name: float(side[these].mean(dtype=float)) for name, these in of_subset.items()}
        )
        scores.append(of_sections[section] if section else overall_score(of_sections))
    shares = score_shares(of_subset)
    variance = sum(
        shares[name] ** 2 * float(np.var(here[these] - there[these])) / int(these.sum())
        for name, these in of_subset.items()
    )
    n = sum(int(these.sum()) for these in of_subset.values())
    differing = sum(int((here[these] != there[these]).sum()) for these in of_subset.values())
    middle, spread = (scores[0] or 0.0) - (scores[1] or 0.0), Z_95 * sqrt(variance)
    changed = ChangedPairs(n, differing, (middle - spread, middle + spread))
    return Check(section, n, scores[0], scores[1], changed)


def as_lines(check: PublishedCheck) -> list[str]:
    """The verdict, the sections on both sides, the settings, and which pairs changed."""
    named = [each.name for each in check.suspects if each.differs or check.verdict != "settings"]
    verdict = VERDICTS[check.verdict].format(settings=", ".join(named))
    lines = ["", f"Beside what is published of {check.model}", verdict, ""]
    lines.append(f"{'':34} {'pairs':>6} {'here':>8} {'there':>8} {'points':>7} {'changed':>8}")
    for part in check.parts:
        differing = "" if part.pairs is None else f"{part.pairs.n_differing:,}"
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


def as_json(check: PublishedCheck) -> dict[str, Any]:
    """The same as plain values; scores are 0 to 1, None where not known."""
    return {
        "model": check.model,
        "basis": check.basis,
        "verdict": check.verdict,
        "explained_by": [each.name for each in check.suspects if each.differs],
        "parts": [
            {
                "section": part.section,
                "pairs": part.n,
                "here": part.here,
                "there": part.there,
                "changed": None if part.pairs is None else part.pairs.n_differing,
            }
            for part in check.parts
        ],
        "settings": [
            {"name": each.name, "here": each.here, "there": each.there} for each in check.settings
        ],
        "won_here_only": list(check.won),
        "won_there_only": list(check.lost),
        "tied_on_one_side": list(check.tied),
    }
