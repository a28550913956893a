"""Results that can be looked at: those of the shelf, and those with a visitor's files beside."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from explorer.core.caches import LruCache
from explorer.data.sources import Shelf
from explorer.results.outcomes import UPLOADED, Results, beside
from explorer.results.uploads import Uploaded, read_result_files
from scoring.limits import Limits, Tell, tell_nobody

KEPT = 24
"""Sets of results with files beside them that stay in memory."""


@dataclass(frozen=True, slots=True)
class _Beside:
    """Results with files, and what they were put beside."""

    base: str
    results: Results
    uploaded: Uploaded


class ResultsLibrary:
    """Callable from any thread. An id of results with files is known to their visitor alone."""

    def __init__(self, shelf: Shelf[Results], limits: Limits) -> None:
        """shelf: the results that everybody sees. limits: of the files that visitors send."""
        self.shelf = shelf
        self._limits = limits
        self._beside = LruCache[_Beside](KEPT)

    def get(self, results_id: object) -> Results:
        """What a session is looking at; the best there is where its id is unknown.

        Files that had to make room for others (`is_gone`) leave the results of the shelf.
        """
        found = self._find(results_id)
        return self.shelf.get(results_id) if found is None else found.results

    def is_gone(self, results_id: object) -> bool:
        """Whether an id is one of files that are not here any more."""
        of_files = isinstance(results_id, str) and UPLOADED in results_id
        return of_files and self._find(results_id) is None

    def upload(
        self, results_id: object, files: Mapping[str, Path], tell: Tell = tell_nobody
    ) -> Results:
        """Results with a visitor's files beside what they look at, and what they sent before.

        What they looked at before makes room: its id is gone then.

        files: by the names that the visitor gave them; they are the caller's to delete.

        Raises:
            KnownError: they are too large, too many, or none of them is a result.
        """
        for name, path in files.items():
            self._limits.check_files(path.stat().st_size, name)
        uploaded = read_result_files(files, tell, self._limits)
        before = self._find(results_id)
        if before is not None:
            uploaded = before.uploaded + uploaded
        return self._keep(self.without(results_id), uploaded, before)

    def without(self, results_id: object) -> Results:
        """The same without a visitor's files."""
        found = self._find(results_id)
        return self.shelf.get(results_id if found is None else found.base)

    def newest(self, results_id: object) -> Results:
        """The best of the shelf, with the files that were beside what is looked at."""
        found, best = self._find(results_id), self.shelf.get(None)
        return best if found is None else self._keep(best, found.uploaded, found)

    def _keep(self, base: Results, uploaded: Uploaded, before: _Beside | None) -> Results:
        results = beside(base, uploaded)
        if before is not None:
            self._beside.discard(before.results.id)
        self._beside[results.id] = _Beside(base.id, results, uploaded)
        return results

    def _find(self, results_id: object) -> _Beside | None:
        return self._beside.get(results_id) if isinstance(results_id, str) else None
