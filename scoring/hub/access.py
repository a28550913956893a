"""Whether the Hugging Face Hub may be asked, and fetching from it without giving away a token."""

import math
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scoring.errors import KnownError
from scoring.hub.cache import (
    cache_folder,
    downloaded,
    is_restricted,
    remove_cached,
    restrict,
    watched,
)
from scoring.hub.quota import Room
from scoring.limits import Tell, ignore_progress
from scoring.paths import is_file

DEFAULT_DATASET = "allenai/reward-bench"
PROBE_SECONDS = 3.0
AGAIN_SECONDS = 60.0
"""After which a Hub that did not answer is asked again."""
LOOK_SECONDS = 15.0
"""In which the Hub must say what a repository holds."""

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


class NotThere(KnownError):  # noqa: N818
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


@dataclass(frozen=True, slots=True)
class Seen:
    """The Hub as one process knows it, for another.

    owners: the owner's repositories; None where models may take all the disk.
    """

    endpoint: str
    cache: str
    offline: bool
    shared: bool
    tried: bool
    reason: str | None
    owners: frozenset[str] | None


class Hub:
    """The Hub as this process may use it: asked whether it answers, which is then remembered.

    The Hub's client retries for 23 to 47 s without a network, so a single probe with a short
    time limit decides; while it says no, everything uses local files only, until `retry` or a
    minute later.
    """

    def __init__(
        self, offline: bool = False, *, shared: bool = False, room: Room | None = None
    ) -> None:
        """
        Args:
            offline: never try the network.
            shared: whether its cache serves strangers. What not everybody may read is then given
                only as long as the Hub says to whom.
            room: of the models that are fetched; None means no limit.
        """
        self._offline = offline
        self._shared = shared
        self.room = room or Room()
        self._lock = threading.Lock()
        self._reason: str | None = "the network is switched off" if offline else None
        self._tried = offline
        self._asked_at = time.monotonic()

    def seen(self) -> "Seen":
        """What another process must know to use the Hub as this one does."""
        from huggingface_hub import constants

        return Seen(
            constants.ENDPOINT,
            str(constants.HF_HUB_CACHE),
            self._offline,
            self._shared,
            self._tried,
            self._reason,
            self.room.owners,
        )

    @classmethod
    def there(cls, seen: "Seen") -> "Hub":
        """The Hub in another process, which makes no room; `Room` does so in the first one."""
        from huggingface_hub import constants

        constants.ENDPOINT = seen.endpoint
        constants.HUGGINGFACE_CO_URL_TEMPLATE = (
            seen.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        )
        constants.HF_HUB_CACHE = seen.cache
        bounded = seen.owners is not None
        room = Room(math.inf if bounded else None, seen.owners or ())
        hub = cls(seen.offline, shared=seen.shared, room=room)
        hub._tried, hub._reason = seen.tried, seen.reason
        return hub

    @property
    def reason(self) -> str | None:
        """Why the Hub is not used, in words; None while it answers or was not yet asked."""
        return self._reason

    def reachable(self) -> bool:
        """Whether the Hub answers; the first call probes it, and the first of each minute in which
        it does not (at most about 3 s).
        """
        with self._lock:
            again = self._reason is not None and not self._offline
            if not self._tried or (again and time.monotonic() - self._asked_at > AGAIN_SECONDS):
                self._reason = _probe()
                self._tried, self._asked_at = True, time.monotonic()
            return self._reason is None

    def retry(self) -> None:
        """Forget the last probe, so that the next call asks again (never when offline)."""
        with self._lock:
            if not self._offline:
                self._tried = False

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

        local_only = local_only or not self.reachable()
        if local_only:
            self._check_shared(hub_id, repo_type)
            folder = self._cached(hub_id, repo_type)
            files = [path for path in folder.rglob("*") if path.is_file()]
            named = {path.relative_to(folder).as_posix(): path for path in files}
            sizes = {name: path.stat().st_size for name, path in named.items()}
            # Where the file system has no links, the cache does not say what names a content.
            blobs = {name: path.resolve().name for name, path in named.items() if path.is_symlink()}
            return Listing(hub_id, repo_type, folder.name, sizes, local_only, blobs)
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
            sizes = {file.rfilename: file.size or 0 for file in there}
            contents = {
                file.rfilename: file.lfs.sha256 if file.lfs else file.blob_id for file in there
            }
            blobs = {name: blob for name, blob in contents.items() if blob}
            counted = getattr(info, "safetensors", None)
            weights = dict(counted.parameters) if counted else {}
            restricted = bool(info.private or getattr(info, "gated", False))
            self._remember(cache_folder(hub_id.repo, repo_type), restricted=restricted)
            commit = str(info.sha)
            return Listing(hub_id, repo_type, commit, sizes, False, blobs, weights, restricted)

    def fetch(
        self,
        listing: Listing,
        names: Sequence[str],
        *,
        token: str | Literal[False],
        tell: Tell = ignore_progress,
    ) -> Path:
        """The local folder that holds these files of a repository, downloaded where need be.

        tell: is told how many bytes of what is missing are here, from another thread.

        Raises:
            KnownError: they cannot be had, or the repository changed since it was looked at.
        """
        hub_id, repo_type = listing.hub_id, listing.repo_type
        missing = [] if listing.local_only else listing.missing(names)
        size = sum(listing.sizes[name] for name in missing)
        cache = cache_folder(hub_id.repo, repo_type)
        with (
            self._asking(hub_id, repo_type, token),
            self.roomy(listing, size),
            watched(cache, size, tell),
        ):
            if listing.restricted:
                cache.mkdir(parents=True, exist_ok=True)
                self._remember(cache, restricted=True)
            revision, local_only = hub_id.revision, listing.local_only
            folder = downloaded(
                hub_id.repo, repo_type, revision, names, token=token, local_only=local_only
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

    def roomy(self, listing: Listing, size: int) -> AbstractContextManager[None]:
        """Room for what is to come of a model; datasets have their own bounds."""
        if listing.repo_type != "model":
            return nullcontext()
        return self.room.fetching(listing.hub_id.repo, size)

    def _remember(self, cache: Path, *, restricted: bool) -> None:
        """Write down who may read a repository; one's own cache may be only to be read."""
        with nullcontext() if self._shared else suppress(OSError):
            restrict(cache, restricted=restricted)

    def _check_shared(self, hub_id: HubId, repo_type: RepoType) -> None:
        """Whether strangers may have what is here, where the Hub does not say.

        A token proves nothing then: whoever has one need not be who fetched it.
        """
        if self._shared and is_restricted(cache_folder(hub_id.repo, repo_type)):
            raise KnownError(
                f"{hub_id} is not for everybody, and the Hub cannot be asked whether you may have "
                f"it: {self._reason or 'only what is here is looked at'}. Try again later."
            )

    def _cached(self, hub_id: HubId, repo_type: RepoType) -> Path:
        """The snapshot in the Hub's cache, whole or not (its client refuses those that are not)."""
        cache = cache_folder(hub_id.repo, repo_type)
        revision = hub_id.revision or "main"
        reference = cache / "refs" / revision
        commit = reference.read_text() if reference.is_file() else revision
        if not (cache / "snapshots" / commit).is_dir():
            raise self._not_here(hub_id)
        return cache / "snapshots" / commit

    def _not_here(self, hub_id: HubId, error: BaseException | None = None) -> KnownError:
        why = self._reason or (first_line(error) if error else "the Hub was not asked")
        return NotThere(f"{hub_id} is not on this machine, and {why}.")

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
            raise NotThere(
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


def _probe() -> str | None:
    """None where the Hub answers within `PROBE_SECONDS`, else why it does not."""
    from huggingface_hub import HfApi  # noqa: F401 - it may take seconds, which are not the Hub's

    answers: list[str | None] = []
    asking = threading.Thread(target=lambda: answers.append(_ask()), daemon=True)
    asking.start()
    asking.join(PROBE_SECONDS + 0.5)
    return answers[0] if answers else "the Hub does not answer in time"


def _ask() -> str | None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        HfApi(token=False).dataset_info(DEFAULT_DATASET, timeout=PROBE_SECONDS, token=False)
    except HfHubHTTPError as error:
        # The Hub marks its refusals; a proxy's are no answer of the Hub.
        marked = error.response is not None and "X-Error-Code" in error.response.headers
        if not marked or error.response.status_code >= 500:
            status = error.response.status_code if error.response is not None else "?"
            return f"the Hub answered with an error ({status})"
    except OfflineModeIsEnabled:
        return "the network is switched off (HF_HUB_OFFLINE)"
    except Exception as error:  # whatever the transport raises, the answer is "no"
        return f"the Hub does not answer ({first_line(error)})"
    return None
