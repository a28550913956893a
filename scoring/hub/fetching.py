"""Files of the Hub, fetched by a process of its own, which can be ended at any moment.

The Hub's client cannot be told to stop: its threads write until their file is whole, and where it
fetches by Xet, compiled code does. A process can. It ends with this one, too.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from scoring.errors import KnownError
from scoring.stopping import STOP_SECONDS, check_stop

_HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be fetched.

    repo, revision, repo_type, commit: of which repository; revision None means its default branch.
    names: the files.
    token: False sends none.
    """

    repo: str
    revision: str | None
    repo_type: Literal["model", "dataset"]
    commit: str
    names: tuple[str, ...]
    token: str | Literal[False] = field(repr=False)


def fetched_apart(errand: Errand, stop: threading.Event) -> Path:
    """The local folder that holds the files, fetched in another process.

    Whole files that came before a stop stay in the Hub's cache for the next try. A file that was
    under way is removed: the Hub's client never goes on with one.

    Raises:
        Stopped: `stop` is set; the process is ended at once.
        KnownError: they cannot be had.
    """
    from huggingface_hub import constants

    check_stop(stop)
    paths = (str(_HERE), os.environ.get("PYTHONPATH", ""))
    environ = {
        **os.environ,
        "HF_ENDPOINT": constants.ENDPOINT,
        "HF_HUB_CACHE": str(constants.HF_HUB_CACHE),
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "scoring.hub.fetching"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
        text=True,
    ) as process:
        try:
            said = _waited(process, errand, stop)
        finally:
            process.kill()
    if "folder" not in said:
        raise KnownError(said.get("error", f"Fetching {errand.repo} broke off. Try again."))
    return Path(said["folder"])


def remove_unfinished(cache: Path, blobs: Sequence[str]) -> None:
    """Remove what a process that was ended left of files that it was writing.

    cache: the repository's folder in the Hub's cache. blobs: what names the files' contents there.
    """
    for blob in blobs:
        for path in (cache / "blobs").glob(f"{blob}.*.incomplete"):
            with suppress(OSError):
                path.unlink()


def _waited(
    process: "subprocess.Popen[str]", errand: Errand, stop: threading.Event
) -> dict[str, str]:
    """What the process says at its end; nothing where it broke off."""
    if process.stdin is None or process.stdout is None:
        return {}
    with suppress(OSError):  # it ended before it listened
        process.stdin.write(json.dumps(asdict(errand)) + "\n")
        process.stdin.flush()
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        check_stop(stop)
    try:
        said: dict[str, str] = json.loads(process.stdout.read())
    except ValueError:
        return {}
    return said


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Fetch what the first line of the input asks for, and say where it lies or what is wrong."""
    from scoring.hub.access import Hub, HubId, Listing

    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    hub_id = HubId(asked["repo"], None, asked["revision"])
    names = asked["names"]
    listing = Listing(hub_id, asked["repo_type"], asked["commit"], dict.fromkeys(names, 0), False)
    try:
        said = {"folder": str(Hub().fetch(listing, names, token=asked["token"]))}
    except KnownError as error:
        said = {"error": str(error)}
    sys.stdout.write(json.dumps(said))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
