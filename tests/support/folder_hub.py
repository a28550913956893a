"""A Hub that has one folder under any name."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scoring.hub.access import Hub, HubId, Listing, RepoType
from scoring.limits import OnProgress, ignore_progress


@dataclass
class FolderHub(Hub):
    """Remembers what was asked for (repository, revision) and the names of what was fetched."""

    folder: Path

    def __post_init__(self) -> None:
        super().__init__(offline=True)
        self.asked: list[tuple[str, str | None]] = []
        self.fetched: list[list[str]] = []

    def look(
        self,
        hub_id: HubId,
        repo_type: RepoType,
        *,
        token: str | Literal[False],
        local_only: bool = False,
    ) -> Listing:
        self.asked.append((hub_id.repo, hub_id.revision))
        sizes = {
            str(path.relative_to(self.folder)): path.stat().st_size
            for path in self.folder.rglob("*")
            if path.is_file()
        }
        return Listing(hub_id, repo_type, "c0ffee", sizes, False)

    def fetch(
        self,
        listing: Listing,
        names: Sequence[str],
        *,
        token: str | Literal[False],
        tell: OnProgress = ignore_progress,
        stop: threading.Event | None = None,
    ) -> Path:
        self.fetched.append(sorted(names))
        return self.folder
