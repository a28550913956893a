"""Which results are shown, and those with a visitor's files beside them.

The owner's, upstream's from the Hub, or the bundled figures.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from explorer.core.caches import LruCache
from explorer.core.settings import Settings
from explorer.core.work import EVERY_SECONDS
from explorer.data.sources import Candidate, Sources
from explorer.results.published import (
    Results,
    beside,
    fetch_results,
    read_results_folder,
    read_snapshot,
    with_outcomes,
    with_outputs,
    with_second,
)
from explorer.results.uploads import Uploaded, read_in_worker
from explorer.runs.visitors import EVERYBODY
from explorer.stats.rules import V2
from scoring.errors import KnownError
from scoring.hub.access import Hub, HubId, parse_hub_id
from scoring.limits import Limits, OnProgress, Step, ignore_progress
from scoring.paths import is_folder, typed_path
from scoring.results.accuracies import Benchmark
from scoring.results.files import Omission

_KEPT = 24
"""Sets of results with files beside them that stay in memory."""


class ResultsLibrary:
    """Callable from any thread. An id of results with files is known to their visitor alone."""

    def __init__(self, sources: Sources[Results], limits: Limits) -> None:
        """sources: the results that everybody sees. limits: of the files that visitors send."""
        self.sources = sources
        self._limits = limits
        self._beside = LruCache[_Beside](_KEPT)

    def get(self, results_id: object) -> Results:
        """What a session is looking at; the best that everybody sees where its id is unknown."""
        found = self._find(results_id)
        return self.sources.get(results_id) if found is None else found.results

    def step(self, results_id: object) -> Step | None:
        """How far the results of each pair are read; None where they are, or could not be."""
        return None if self.get(results_id).is_read else self.sources.step

    def refused(self, results_id: object, benchmark: Benchmark) -> str:
        """Why results of each pair could not be had; "" where all could."""
        results = self.get(results_id)
        if not results.is_read:
            return self.sources.unread
        return next(map(str, results.outcomes_of(benchmark).refused), "")

    def wait_read(self, seconds: float) -> bool:
        """Wait while the results of each pair that everybody sees are read for the first time, at
        most so long. Gives whether they are read.
        """
        until = time.monotonic() + seconds
        while self.step(None) is not None and time.monotonic() < until:
            time.sleep(EVERY_SECONDS)
        return self.get(None).is_read

    def id_of_files(self, token: str, owner: str) -> str | None:
        """The id of the newest results with a visitor's files; None if they are gone, or another's.

        An earlier id of the same files stays, as an open page may have it.
        """
        best, files = self.sources.get(None), None
        for each in self._beside.snapshot():
            uploaded = each.results.uploaded
            if uploaded is not None and uploaded.token == token and each.owner == owner:
                if each.base_id == best.id:
                    return each.results.id
                files = uploaded
        return None if files is None else self._keep(best, files, None, owner).id

    def upload(
        self,
        results_id: object,
        files: Mapping[str, Path],
        tell: OnProgress = ignore_progress,
        owner: str = EVERYBODY,
    ) -> Results:
        """Results with a visitor's files beside what they look at, and what they sent before.

        What they looked at before makes room: its id is gone then.

        files: by the names that the visitor gave them; they are the caller's to delete.
        owner: of the files, as of `Visitor`.

        Raises:
            KnownError: they are too large, too many, or none of them is a result.
        """
        for name, path in files.items():
            self._limits.check_files(path.stat().st_size, name)
        uploaded = read_in_worker(files, tell, self._limits)
        before = self._find(results_id)
        if before is not None and before.results.uploaded is not None:
            uploaded = before.results.uploaded + uploaded
        return self._keep(self.without(results_id), uploaded, results_id, owner)

    def without(self, results_id: object) -> Results:
        """The same without a visitor's files."""
        found = self._find(results_id)
        return self.sources.get(results_id if found is None else found.base_id)

    def _keep(self, base: Results, uploaded: Uploaded, before: object, owner: str) -> Results:
        results = beside(base, uploaded)
        if isinstance(before, str):
            self._beside.discard(before)
        self._beside[results.id] = _Beside(base.id, results, owner)
        return results

    def _find(self, results_id: object) -> "_Beside | None":
        if not isinstance(results_id, str) or (found := self._beside.get(results_id)) is None:
            return None
        base = self.sources.get(found.base_id)  # more of it may have been read since
        read = base.outcomes, base.second_outcomes
        if base.id == found.base_id and read != (
            found.results.outcomes,
            found.results.second_outcomes,
        ):
            results = replace(found.results, outcomes=read[0], second_outcomes=read[1])
            found = self._beside[results_id] = found._replace(results=results)
        return found


class _Beside(NamedTuple):
    """Results with a visitor's files. base_id: of the same without them."""

    base_id: str
    results: Results
    owner: str


_DEFAULT_RESULTS = HubId("allenai/reward-bench-results")
_DEFAULT_SECOND = HubId("allenai/reward-bench-2-results")
"""Upstream keeps the results of RewardBench 2 in a dataset of their own."""


class Upstream:
    """Upstream's results of both benchmarks, each from its dataset; remembers what it had last."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._first: Results | None = None
        self._second: Results | None = None

    def read(self, *, local_only: bool = False) -> Results:
        """Both; where the second fails, what was had of it before stays, with the reason.

        Raises:
            KnownError: the first cannot be had, or it is the same as before and the second fails.
        """
        first = fetch_results(_DEFAULT_RESULTS, self._hub, local_only=local_only)
        try:
            second = fetch_results(_DEFAULT_SECOND, self._hub, local_only=local_only)
        except KnownError as error:
            # A reason's own words may differ each time: they alone are nothing newer.
            if self._first is not None and self._first.id == first.id:
                raise
            self._first = first
            return self._without_newer_second(first, str(error))
        self._first, self._second = first, second
        return joined_results(first, second)

    def _without_newer_second(self, first: Results, reason: str) -> Results:
        second = self._second
        if second is not None:
            reason = f"{second.source!s}, read earlier, stays: {reason}"
        said = Omission(str(_DEFAULT_SECOND), reason, whole=second is None)
        lacking = replace(first, left_out=(*first.left_out, said))
        return lacking if second is None else joined_results(lacking, second)


def joined_results(first: Results, second: Results) -> Results:
    """Two sources as one: RewardBench 2 of the second, all else of the first."""
    aggregates = (
        *(each for each in first.aggregates if each.benchmark != V2.name),
        *(each for each in second.aggregates if each.benchmark == V2.name),
    )
    left_out = (*first.left_out, *second.left_out)
    return Results(
        first.source,
        aggregates,
        left_out,
        first.pairs,
        second=second.source,
        second_pairs=second.pairs,
    )


def results_sources(settings: Settings, hub: Hub) -> Sources[Results]:
    """The results: EXPLORER_RESULTS, else upstream's from the Hub, else the bundled figures.

    Where they have none of RewardBench 2, its bundled figures are among them; and the files of
    EXPLORER_OUTPUTS, whatever they are of.
    """
    upstream = Upstream(hub)

    def completed(found: Results) -> Results:
        return with_second(with_outputs(found, settings.outputs))

    candidates = [
        Candidate(
            str(_DEFAULT_RESULTS),
            lambda: completed(upstream.read(local_only=True)),
            lambda: completed(upstream.read()),
        ),
        Candidate("the bundled figures", lambda: completed(read_snapshot())),
    ]
    if settings.results:
        hub_id, folder = parse_hub_id(settings.results), typed_path(settings.results)
        dataset = settings.results_of
        if hub_id and not is_folder(folder):
            fetch = partial(fetch_results, hub_id, hub, dataset=dataset)
            first = Candidate(
                str(hub_id), lambda: completed(fetch(local_only=True)), lambda: completed(fetch())
            )
        else:
            first = Candidate(
                f"EXPLORER_RESULTS={settings.results}",
                lambda: completed(read_results_folder(folder, dataset)),
            )
        candidates.insert(0, first)
    return Sources(candidates, hub, lambda found, tell: with_outcomes(found, settings.home, tell))
