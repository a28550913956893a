"""A Hub that has one folder under any name."""

from collections.abc import Sequence
from pathlib import Path

from scoring.hub.access import Hub, HubId, Listing, RepoType


class FolderHub(Hub):
    """Remembers what was asked for (repository, revision) and the names of what was fetched."""

    def __init__(self, folder: Path) -> None:
        super().__init__(offline=True)
        self.folder = folder
        self.asked: list[tuple[str, str | None]] = []
        self.fetched: list[list[str]] = []

    def look(self, hub_id: HubId, repo_type: RepoType, **_: object) -> Listing:
        self.asked.append((hub_id.repo, hub_id.revision))
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        sizes = {str(path.relative_to(self.folder)): path.stat().st_size for path in files}
        return Listing(hub_id, repo_type, "c0ffee", sizes, False)

    def fetch(self, listing: Listing, names: Sequence[str], **_: object) -> Path:
        self.fetched.append(sorted(names))
        return self.folder
