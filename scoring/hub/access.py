"""Whether the Hugging Face Hub may be asked, and fetching from it without giving away a token."""

import glob
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scoring.errors import KnownError
from scoring.hub.cache import DiskQuota, cache_folder, remove_cached, report_download
from scoring.limits import OnProgress, ignore_progress
from scoring.paths import is_file

DEFAULT_DATASET = "allenai/reward-bench"
PROBE_SECONDS = 3.0
AGAIN_SECONDS = 60.0
"""After which a Hub that did not answer is asked again."""
LOOK_SECONDS = 15.0
"""In which the Hub must say what a repository holds."""
_RESTRICTED = ".rewardbench-explorer-restricted"
"""A file beside what is here of a repository that not everybody may read."""

_HUB_ID = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})"
    r"(?::(?P<split>(?:[\w.-]{1,96}/)?[\w.-]{1,96}))?"
    r"(?:@(?P<revision>[\w.-][\w./-]{0,95}))?",
    re.ASCII,
)

RepoType = Literal["model", "dataset"]


@dataclass(frozen=True, slots=True)
class HubId:
    """`org/name[:split][@revision]`, taken apart.

    split: also `configuration/split`. revision: None means the default branch.
    """

    repo: str
    split: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        split = f":{self.split}" if self.split else ""
        return f"{self.repo}{split}" + (f"@{self.revision}" if self.revision else "")


def parse_hub_id(text: str) -> HubId | None:
    """The parts of a Hub id, or None where the text is not one.

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
    """The Hub, or its cache here, has no such repository that may be read."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a repository holds at one commit.

    sizes: file name -> bytes.
    blobs: file name -> what names its content, as the Hub's cache does, where that is known.
    weights: dtype, such as "BF16" -> numbers of it in the repository's safetensors, as the Hub
        counts them; empty where it did not say.
    restricted: whether not everybody may read it: it is private or gated.
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
        """Where its files lie in the Hub's cache once they are here."""
        return cache_folder(self.hub_id.repo, self.repo_type) / "snapshots" / self.commit

    def missing(self, names: Sequence[str]) -> list[str]:
        """Which of these files are still to be fetched."""
        return [name for name in names if not is_file(self.folder / name)]


class Hub:
    """The Hub as this process may use it: asked whether it answers, which is then remembered.

    The Hub's client retries for 23 to 47 s without a network, so a single probe with a short
    time limit decides; while it says no, everything uses local files only, until `retry` or a
    minute later.
    """

    def __init__(
        self, offline: bool = False, *, shared: bool = False, quota: DiskQuota | None = None
    ) -> None:
        """
        Args:
            offline: never try the network.
            shared: whether its cache serves strangers. What not everybody may read is then given
                only as long as the Hub says to whom.
            quota: of the models that are fetched; None means no limit.
        """
        self._shared = shared
        self.quota = quota or DiskQuota()
        self._lock = threading.Lock()
        self._reason: str | None = "the network is switched off" if offline else None
        # By `time.monotonic`: -inf before the first probe, inf where there will be none.
        self._probed_at = math.inf if offline else -math.inf

    def __reduce__(self) -> tuple[Callable[..., "Hub"], tuple[object, ...]]:
        """The Hub for a worker, which uses it as this process does."""
        from huggingface_hub import constants

        settings = {name: getattr(constants, name) for name in _CLIENT_SETTINGS}
        state = {name: value for name, value in vars(self).items() if name != "_lock"}
        return _hub_of_worker, (settings, state)

    @property
    def reason(self) -> str | None:
        """Why the Hub is not used, in words; None while it answers or was not yet asked."""
        return self._reason

    def reachable(self) -> bool:
        """Whether the Hub answers; the first call probes it, and the first of each minute in which
        it does not (at most about 3 s).
        """
        with self._lock:
            age = time.monotonic() - self._probed_at
            if age == math.inf or (self._reason is not None and age > AGAIN_SECONDS):
                self._reason, self._probed_at = _probe(), time.monotonic()
            return self._reason is None

    def retry(self) -> None:
        """Forget the last probe, so that the next call asks again (never when offline)."""
        with self._lock:
            if self._probed_at != math.inf:
                self._probed_at = -math.inf

    def look(
        self,
        hub_id: HubId,
        repo_type: RepoType,
        *,
        token: str | Literal[False],
        local_only: bool = False,
    ) -> Listing:
        """What a repository holds: as the Hub says, or, out of reach, what its cache here has.

        Args:
            hub_id: which repository and revision.
            repo_type: "model" or "dataset".
            token: False sends none; the server's own token is never sent by default.
            local_only: look at the cache alone.

        Raises:
            KnownError: the repository is unknown, private, gated, or not here and out of reach.
        """
        from huggingface_hub import HfApi

        if local_only or not self.reachable():
            return self._look_in_cache(hub_id, repo_type)
        with self._asking(hub_id, repo_type, token):
            info = HfApi(token=False).repo_info(
                hub_id.repo,
                revision=hub_id.revision,
                repo_type=repo_type,
                files_metadata=True,
                timeout=LOOK_SECONDS,
                token=token,
            )
            there = info.siblings or ()
            blobs = {
                each.rfilename: each.lfs.sha256 if each.lfs else each.blob_id for each in there
            }
            counted = getattr(info, "safetensors", None)
            restricted = bool(info.private or getattr(info, "gated", False))
            self._remember(cache_folder(hub_id.repo, repo_type), restricted=restricted)
            return Listing(
                hub_id,
                repo_type,
                commit=str(info.sha),
                sizes={each.rfilename: each.size or 0 for each in there},
                local_only=False,
                blobs={name: blob for name, blob in blobs.items() if blob},
                weights=dict(counted.parameters) if counted else {},
                restricted=restricted,
            )

    def _look_in_cache(self, hub_id: HubId, repo_type: RepoType) -> Listing:
        """The snapshot in the cache, whole or not (the Hub's client refuses those that are not)."""
        cache = cache_folder(hub_id.repo, repo_type)
        if self._shared and (cache / _RESTRICTED).exists():
            # A token proves nothing now: whoever has one need not be who fetched it.
            raise KnownError(
                f"{hub_id} is not for everybody, and the Hub cannot be asked whether you may have "
                f"it: {self._reason or 'only what is here is looked at'}. Try again later."
            )
        revision = hub_id.revision or "main"
        reference = cache / "refs" / revision
        commit = reference.read_text() if reference.is_file() else revision
        folder = cache / "snapshots" / commit
        if not folder.is_dir():
            raise self._not_here(hub_id)
        files = {
            path.relative_to(folder).as_posix(): path
            for path in folder.rglob("*")
            if path.is_file()
        }
        sizes = {name: path.stat().st_size for name, path in files.items()}
        # Where the file system has no links, the cache does not say what names a content.
        blobs = {name: path.resolve().name for name, path in files.items() if path.is_symlink()}
        return Listing(hub_id, repo_type, folder.name, sizes, True, blobs)

    def fetch(
        self,
        listing: Listing,
        names: Sequence[str],
        *,
        token: str | Literal[False],
        tell: OnProgress = ignore_progress,
    ) -> Path:
        """The local folder that holds these files of a repository, downloaded where need be.

        tell: gets how many bytes of the missing files are here, from another thread.

        Raises:
            KnownError: they cannot be had, or the repository changed since it was looked at.
        """
        from huggingface_hub import snapshot_download

        hub_id, repo_type = listing.hub_id, listing.repo_type
        missing = [] if listing.local_only else listing.missing(names)
        size = sum(listing.sizes[name] for name in missing)
        cache = cache_folder(hub_id.repo, repo_type)
        with (
            self._asking(hub_id, repo_type, token),
            self.room_for(listing, size),
            report_download(cache, size, tell),
        ):
            if listing.restricted:
                cache.mkdir(parents=True, exist_ok=True)
                self._remember(cache, restricted=True)
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

    def forget(self, repo: str, repo_type: RepoType) -> None:
        """Remove all that was fetched of a repository, at any commit, from the cache here.

        For a server whose disk strangers would fill. Nobody may be fetching this repository or
        reading its files meanwhile; tables that were read stay as they are.
        """
        remove_cached(cache_folder(repo, repo_type))

    def room_for(self, listing: Listing, size: int) -> AbstractContextManager[None]:
        """Room for what is to come of a model; datasets have their own bounds."""
        if listing.repo_type != "model":
            return nullcontext()
        return self.quota.fetching(listing.hub_id.repo, size)

    def _remember(self, cache: Path, *, restricted: bool) -> None:
        """Mark in the cache whether not everybody may read what is here of a repository."""
        # One's own cache may be only to be read.
        with nullcontext() if self._shared else suppress(OSError):
            if not restricted:
                (cache / _RESTRICTED).unlink(missing_ok=True)
            elif cache.is_dir():
                (cache / _RESTRICTED).touch()

    def _not_here(self, hub_id: HubId, error: BaseException | None = None) -> KnownError:
        why = self._reason or (first_line(error) if error else "the Hub was not asked")
        return RepoNotFound(f"{hub_id} is not on this machine, and {why}.")

    @contextmanager
    def _asking(
        self, hub_id: HubId, repo_type: RepoType, token: str | Literal[False]
    ) -> Iterator[None]:
        """Turn whatever a call of the Hub's client raises into one sentence for a person."""
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
            raise self._not_here(hub_id, error.__cause__) from error
        except Exception as error:  # the client lets its transport's errors through
            raise KnownError(f"The Hub could not give {hub_id}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its type where it has none.

    >>> first_line(ValueError("no such file" + chr(10) + "stack ..."))
    'no such file'
    """
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__


_CLIENT_SETTINGS = ("ENDPOINT", "HUGGINGFACE_CO_URL_TEMPLATE", "HF_HUB_CACHE")


def _hub_of_worker(settings: dict[str, str], state: dict[str, object]) -> Hub:
    from huggingface_hub import constants

    vars(constants).update(settings)
    hub = Hub()
    vars(hub).update(state)
    return hub


def _probe() -> str | None:
    """None where the Hub answers within `PROBE_SECONDS`, else why it does not."""
    from huggingface_hub import HfApi  # it may take seconds, which are not the Hub's
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    answers: list[str | None] = []

    def ask() -> None:
        reason = None
        try:
            HfApi(token=False).dataset_info(DEFAULT_DATASET, timeout=PROBE_SECONDS, token=False)
        except HfHubHTTPError as error:
            # The Hub marks its refusals; a proxy's are no answer of the Hub.
            marked = error.response is not None and "X-Error-Code" in error.response.headers
            if not marked or error.response.status_code >= 500:
                status = error.response.status_code if error.response is not None else "?"
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
