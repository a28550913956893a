"""Result files of any source -> leaderboard rows, with a report of what was left out and why."""

import csv
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from explorer.settings import SNAPSHOT, Settings
from explorer.sources import Candidate, Shelf
from explorer.text import text
from scoring.benchmark import SUBSETS, overall_score, section_scores
from scoring.errors import KnownError
from scoring.hub import Hub, HubId, parse_hub_id
from scoring.paths import is_folder, typed_path
from scoring.results import SubsetResults, read_eval_set

DEFAULT_RESULTS = HubId("allenai/reward-bench-results")
REFERENCE_FREE = "_ref_free"
"""Upstream's mark behind a DPO model's name, for its score without the reference model."""
NOT_ON_THE_HUB = ("openai/", "anthropic/", "google/", "cohere/", "poll/", "ai2/", "my_model/")

_MODEL_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_PAPER = "RewardBench paper, arXiv:2403.13787v2"
_PAPER_DATE = "2024-06-08"


@dataclass(frozen=True, slots=True)
class ResultsSource:
    """Where a leaderboard came from.

    revision: the Hub commit, or the publication's version; "" for a folder.
    date: ISO date of publication, or of the newest file.
    """

    kind: Literal["hub", "folder", "snapshot"]
    name: str
    revision: str
    date: str

    def __str__(self) -> str:
        return f"{self.name}@{self.revision[:12]}" if self.revision else self.name


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One model. Scores are 0 to 1; None where no subset of a section is known.

    rank: from 1, equal scores sharing the better rank; None where a section is unknown.
    url: the model's page, None where its name is no Hub id or is cut short.
    """

    rank: int | None
    model: str
    model_type: str | None
    sections: dict[str, float | None]
    score: float | None
    url: str | None


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Models, best first. remarks: one sentence for each file that was left out."""

    source: ResultsSource
    rows: tuple[LeaderboardRow, ...]
    remarks: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What a session remembers instead of the board."""
        return f"{self.source}#{self.source.date}"

    @property
    def caption(self) -> str:
        """Which figures, of how many models, from where and of when."""
        return text(
            f"source.board_{self.source.kind}",
            n=f"{len(self.rows):,}",
            name=self.source.name,
            revision=self.source.revision[:12],
            date=self.source.date,
        )


def build_leaderboard(
    source: ResultsSource, results: list[SubsetResults], left_out: list[str]
) -> Leaderboard:
    """Score and rank models by the benchmark's rule."""
    scored = []
    for result in results:
        sections = section_scores(result.accuracies)
        scored.append((overall_score(sections), sections, result))
    # A mean of fewer sections is no rival of a whole one: those come below, without a rank.
    scored.sort(key=lambda item: (None not in item[1].values(), item[0] or 0.0), reverse=True)
    scores = [score for score, sections, _ in scored if None not in sections.values()]
    rows = tuple(
        LeaderboardRow(
            rank=None if None in sections.values() or score is None else scores.index(score) + 1,
            model=result.model,
            model_type=result.model_type,
            sections=sections,
            score=score,
            url=model_url(result.model),
        )
        for score, sections, result in scored
    )
    return Leaderboard(source, rows, tuple(left_out))


def model_url(name: str) -> str | None:
    """The model's page on the Hub, or None where there can be none.

    >>> model_url("openbmb/UltraRM-13b")
    'https://huggingface.co/openbmb/UltraRM-13b'
    >>> model_url("openai/gpt-4o-2024-05-13"), model_url("Ray2333/reward-model-Unified...")
    (None, None)
    """
    if not _MODEL_ID.fullmatch(name) or name.endswith(".."):
        return None
    if name.lower().startswith(NOT_ON_THE_HUB):
        return None
    return f"https://huggingface.co/{name.removesuffix(REFERENCE_FREE)}"


def read_snapshot(path: Path = SNAPSHOT) -> Leaderboard:
    """The bundled published figures, sections computed from their subsets."""
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(line for line in file if not line.startswith("#")))
    results = [
        SubsetResults(
            row["model"],
            row["model_type"] or None,
            {subset: float(row[subset]) / 100 for subset in SUBSETS},
        )
        for row in table
    ]
    return build_leaderboard(
        ResultsSource("snapshot", _PAPER, "", _PAPER_DATE), results, left_out=[]
    )


def read_results_folder(folder: Path, kind: Literal["hub", "folder"] = "folder") -> Leaderboard:
    """A folder in upstream's layout.

    Raises:
        KnownError: it is no folder, or has no readable result.
    """
    if not is_folder(folder):
        raise KnownError(f"There is no folder {folder}.")
    results, left_out = read_eval_set(folder)
    if not results:
        reasons = f" Left out: {'; '.join(left_out[:3])}." if left_out else ""
        raise KnownError(f"{folder} has no results below eval-set/.{reasons}")
    files = (path for path in (folder / "eval-set").rglob("*.json") if path.is_file())
    newest = max(path.stat().st_mtime for path in files)
    date = time.strftime("%Y-%m-%d", time.gmtime(newest))
    return build_leaderboard(
        ResultsSource(kind, folder.resolve().name, "", date), results, left_out
    )


def fetch_results(hub_id: HubId, hub: Hub, *, local_only: bool = False) -> Leaderboard:
    """The aggregate results of a Hub dataset, without its large per-pair files.

    Raises:
        KnownError: the dataset cannot be had, or has no readable result.
    """
    listing = hub.look(hub_id, "dataset", token=False, local_only=local_only)
    names = [name for name in listing.sizes if re.fullmatch(r"eval-set/.+\.json", name)]
    folder = hub.fetch(listing, names, token=False)
    board = read_results_folder(folder, "hub")
    source = ResultsSource("hub", hub_id.repo, folder.name, board.source.date)
    return Leaderboard(source, board.rows, board.remarks)


def leaderboard_shelf(settings: Settings, hub: Hub) -> Shelf[Leaderboard]:
    """The leaderboards: EXPLORER_RESULTS, else upstream's from the Hub, else the bundled one."""
    candidates = [
        _hub_candidate(DEFAULT_RESULTS, hub),
        Candidate("the bundled figures", read_snapshot),
    ]
    if settings.results:
        hub_id, folder = parse_hub_id(settings.results), typed_path(settings.results)
        if hub_id and not is_folder(folder):
            candidates.insert(0, _hub_candidate(hub_id, hub))
        else:
            label = f"EXPLORER_RESULTS={settings.results}"
            candidates.insert(0, Candidate(label, lambda: read_results_folder(folder)))
    return Shelf(candidates, hub)


def _hub_candidate(hub_id: HubId, hub: Hub) -> Candidate[Leaderboard]:
    return Candidate(
        str(hub_id),
        lambda: fetch_results(hub_id, hub, local_only=True),
        lambda: fetch_results(hub_id, hub),
    )
