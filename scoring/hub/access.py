"""Whether the Hugging Face Hub may be asked, and fetching from it without giving away a token."""

import glob
import math
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scoring.errors import KnownError, first_line
from scoring.hub.cache import DiskQuota, cache_folder, report_download
from scoring.limits import OnProgress, ignore_progress
from scoring.paths import is_file

DEFAULT_DATASET = "allenai/reward-bench"
PROBE_SECONDS = 3.0
AGAIN_SECONDS = 60.0  # after which a Hub that did not answer is probed again
LOOK_SECONDS = 15.0  # in which the Hub must list a repository
_RESTRICTED = ".rewardbench-explorer-restricted"  # a file beside what not everybody may read
_PROBING = threading.Lock()
_HUB_ID = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})"
    r"(?::(?P<split>(?:[\w.-]{1,96}/)?[\w.-]{1,96}))?"
    r"(?:@(?P<revision>[\w.-][\w./-]{0,95}))?",
    re.ASCII,
)

RepoType = Literal["model", "dataset"]
Token = str | Literal[False]
"""A visitor's own token; False sends none, not even the server's."""


@dataclass(frozen=True, slots=True)
class HubId:
    """`org/name[:split][@revision]`, taken apart.

    split: or `configuration/split`. revision: None means the default branch.
    """

    repo: str
    split: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        split = f":{self.split}" if self.split else ""
        return f"{self.repo}{split}" + (f"@{self.revision}" if self.revision else "")


def parse_hub_id(text: str) -> HubId | None:
    """The parts of a Hub id; None if the text is not one.

    >>> parse_hub_id("allenai/reward-bench:filtered@168d848")
    HubId(repo='allenai/reward-bench', split='filtered', revision='168d848')
    >>> [parse_hub_id(text) for text in ("../secrets", "org/..", "org/name@/etc/passwd")]
    [None, None, None]
    """
    match = _HUB_ID.fullmatch(text.strip())
    if match is None or ".." in text or "--" in match["repo"]:
        return None
    return HubId(match["repo"], match["split"], match["revision"])


class RepoNotFound(KnownError):  # noqa: N818
    """Neither the Hub nor its cache here has such a repository that may be read."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a repository at one commit.

    sizes: file name -> bytes.
    blobs: file name -> name of its content in the Hub's cache, if that is known.
    weights: dtype, such as "BF16" -> numbers of it in the repository's safetensors; empty if the
        Hub did not count them.
    restricted: whether it is private or gated.
    """

    hub_id: HubId
    repo_type: RepoType
    commit: str
    sizes: dict[str, int]
    local_only: bool
    blobs: dict[str, str] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)
    restricted: bool = False

    @property
    def folder(self) -> Path:
        """The folder in the Hub's cache for its files."""
        return cache_folder(self.hub_id.repo, self.repo_type) / "snapshots" / self.commit

    def missing(self, names: Sequence[str]) -> list[str]:
        """The files among these that are still to be fetched."""
        return [name for name in names if not is_file(self.folder / name)]


class Hub:
    """The Hub as this process may use it.

    The Hub's client retries for 23 to 47 s without a network, so a short probe decides; while it
    fails, only local files are used, until `retry` or a minute later.

    offline: never try the network. quota: of the models that are fetched; None for any.
    shared: whether its cache serves strangers: restricted files need the Hub's word each time.
    reason: why the Hub is not used, in words; None while it answers or was not yet probed.
    """

    def __init__(
        self, offline: bool = False, *, shared: bool = False, quota: DiskQuota | None = None
    ) -> None:
        self._shared = shared
        self.quota = quota or DiskQuota()
        self.reason: str | None = "the network is switched off" if offline else None
        # By `time.monotonic`: -inf before the first probe, inf where there will be none.
        self._probed_at = math.inf if offline else -math.inf

    def reachable(self) -> bool:
        """Whether the Hub answers; a probe takes at most about 3 s."""
        with _PROBING:
            age = time.monotonic() - self._probed_at
            if age == math.inf or (self.reason is not None and age > AGAIN_SECONDS):
                self.reason, self._probed_at = _probe(), time.monotonic()
            return self.reason is None

    def retry(self) -> None:
        """Have the next call probe again, unless offline."""
        with _PROBING:
            if self._probed_at != math.inf:
                self._probed_at = -math.inf

    def look(
        self, hub_id: HubId, repo_type: RepoType, *, token: Token, local_only: bool = False
    ) -> Listing:
        """List a repository as the Hub does, or, out of reach or `local_only`, what is cached.

        A `KnownError` says that it is unknown, private, gated, or not here and out of reach.
        """
        from huggingface_hub import HfApi

        if local_only or not self.reachable():
            return self._look_in_cache(hub_id, repo_type)
        with self._client_errors(hub_id, repo_type, token):
            info = HfApi(token=False).repo_info(
                hub_id.repo,
                revision=hub_id.revision,
                repo_type=repo_type,
                files_metadata=True,
                timeout=LOOK_SECONDS,
                token=token,
            )
            sizes, blobs = {}, {}
            for file in info.siblings or ():
                sizes[file.rfilename] = file.size or 0
                blob = file.lfs.sha256 if file.lfs else file.blob_id
                if blob:
                    blobs[file.rfilename] = blob
            counted = getattr(info, "safetensors", None)
            weights = dict(counted.parameters) if counted else {}
            restricted = bool(info.private or getattr(info, "gated", False))
            self._mark_restricted(cache_folder(hub_id.repo, repo_type), restricted=restricted)
            commit = str(info.sha)
            return Listing(hub_id, repo_type, commit, sizes, False, blobs, weights, restricted)

    def _look_in_cache(self, hub_id: HubId, repo_type: RepoType) -> Listing:
        # Its snapshot may be incomplete, which the Hub's client would refuse.
        cache = cache_folder(hub_id.repo, repo_type)
        if self._shared and (cache / _RESTRICTED).exists():
            # A token proves nothing now: whoever has one need not be who fetched it.
            raise KnownError(
                f"{hub_id} is not for everybody, and the Hub cannot be asked whether you may have "
                f"it: {self.reason or 'only what is here is looked at'}. Try again later."
            )
        revision = hub_id.revision or "main"
        reference = cache / "refs" / revision
        commit = reference.read_text() if reference.is_file() else revision
        folder = cache / "snapshots" / commit
        if not folder.is_dir():
            raise self._not_found(hub_id)
        sizes, blobs = {}, {}
        for path in filter(Path.is_file, folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            sizes[name] = path.stat().st_size
            if path.is_symlink():  # else the cache does not say what names a content
                blobs[name] = path.resolve().name
        return Listing(hub_id, repo_type, folder.name, sizes, True, blobs)

    def fetch(
        self,
        listing: Listing,
        names: Sequence[str],
        *,
        token: Token,
        tell: OnProgress = ignore_progress,
    ) -> Path:
        """The local folder that holds these files of a repository, downloaded if need be.

        tell: gets how many bytes of the missing files are here, from another thread. A `KnownError`
        says why they cannot be had, or that the repository changed since it was looked at.
        """
        from huggingface_hub import snapshot_download

        hub_id, repo_type = listing.hub_id, listing.repo_type
        missing = [] if listing.local_only else listing.missing(names)
        size = sum(listing.sizes[name] for name in missing)
        cache = cache_folder(hub_id.repo, repo_type)
        with (
            self._client_errors(hub_id, repo_type, token),
            self.room_for(listing, size),
            report_download(cache, size, tell),
        ):
            if listing.restricted:
                cache.mkdir(parents=True, exist_ok=True)
                self._mark_restricted(cache, restricted=True)
            folder = Path(
                snapshot_download(
                    hub_id.repo,
                    repo_type=repo_type,
                    revision=hub_id.revision,
                    allow_patterns=[glob.escape(name) for name in names],
                    token=token,
                    local_files_only=listing.local_only,
                )
            )
        if folder.name != listing.commit:
            raise KnownError(f"{hub_id} changed while it was fetched. Try again.")
        return folder

    def room_for(self, listing: Listing, size: int) -> AbstractContextManager[None]:
        """Room for so many bytes of a model; datasets have their own bounds."""
        if listing.repo_type != "model":
            return nullcontext()
        return self.quota.fetching(listing.hub_id.repo, size)

    def _mark_restricted(self, cache: Path, *, restricted: bool) -> None:
        # One's own cache may be only to be read.
        with nullcontext() if self._shared else suppress(OSError):
            if not restricted:
                (cache / _RESTRICTED).unlink(missing_ok=True)
            elif cache.is_dir():
                (cache / _RESTRICTED).touch()

    def _not_found(self, hub_id: HubId, error: BaseException | None = None) -> KnownError:
        why = self.reason or (first_line(error) if error else "the Hub was not asked")
        return RepoNotFound(f"{hub_id} is not on this machine, and {why}.")

    @contextmanager
    def _client_errors(self, hub_id: HubId, repo_type: RepoType, token: Token) -> Iterator[None]:
        from huggingface_hub import errors

        try:
            yield
        except KnownError:
            raise
        except errors.GatedRepoError as error:
            how = (
                "Ask for it on its page on the Hub with the account of your token."
                if token
                else "It is fetched here without a token. Download it yourself and give the local "
                "folder; on a command line of your own, set HF_TOKEN or run hf auth login."
            )
            raise KnownError(
                f"The {repo_type} {hub_id.repo} is gated: its owner must grant access. {how}"
            ) from error
        except errors.RevisionNotFoundError as error:
            raise KnownError(
                f"The {repo_type} {hub_id.repo} has no revision {hub_id.revision!r}."
            ) from error
        except errors.RepositoryNotFoundError as error:
            kind = repo_type if token else f"public {repo_type}"
            why = "your token may not read it" if token else "it is private: no token is sent"
            raise RepoNotFound(
                f"There is no {kind} {hub_id.repo!r} on the Hub. Check the spelling, or {why}."
            ) from error
        except errors.LocalEntryNotFoundError as error:
            raise self._not_found(hub_id, error.__cause__) from error
        except Exception as error:  # the client lets its transport's errors through
            raise KnownError(f"The Hub could not give {hub_id}: {first_line(error)}") from error


def _probe() -> str | None:
    # Why the Hub does not answer within `PROBE_SECONDS`, in words; None if it does.
    from huggingface_hub import HfApi  # it may take seconds, which are not the Hub's
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    answers: list[str | None] = []

    def ask() -> None:
        reason = None
        try:
            HfApi(token=False).dataset_info(DEFAULT_DATASET, timeout=PROBE_SECONDS, token=False)
        except HfHubHTTPError as error:
            # The Hub marks its refusals; a proxy's are no answer of the Hub.
            status = error.response.status_code
            if status >= 500 or "X-Error-Code" not in error.response.headers:
                reason = f"the Hub answered with an error ({status})"
        except OfflineModeIsEnabled:
            reason = "the network is switched off (HF_HUB_OFFLINE)"
        except Exception as error:  # whatever the transport raises, the answer is "no"
            reason = f"the Hub does not answer ({first_line(error)})"
        answers.append(reason)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(PROBE_SECONDS + 0.5)
    return answers[0] if answers else "the Hub does not answer in time"
