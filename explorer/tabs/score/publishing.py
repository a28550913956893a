"""A finished run on its way to a results dataset: what would be sent, and sending it.

Everything is sent with the visitor's own token, which is written nowhere.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from explorer.data.table import PairTable
from scoring.benchmark import COUNTS
from scoring.errors import KnownError, counted, first_line, shown
from scoring.hub.access import Hub, parse_hub_id
from scoring.pairs.opening import as_pairs
from scoring.record import Run
from scoring.results.exports import (
    ALL_PAIRS,
    checked_token,
    result_name,
    send,
    why_refused,
    write_results,
)
from scoring.summary import summarise_run

HEAD_LINES = 40
HEAD_COLUMNS = 160
_LONGEST_REPO = 200
_WRITERS = ("admin", "write")
"""Roles in an organisation that may write to all its datasets."""


@dataclass(frozen=True, slots=True)
class FilePreview:
    """A file that would be sent.

    path: in the dataset.
    sha256: of all its bytes.
    head: its first lines, long ones cut.
    """

    path: str
    n_bytes: int
    sha256: str
    head: str


@dataclass(frozen=True, slots=True)
class Sending:
    """What would be sent of a run: `org/model` as `name` calls it, to the dataset `repo`."""

    run_id: str
    name: str
    repo: str
    files: tuple[FilePreview, ...]


@dataclass(frozen=True, slots=True)
class Publication:
    """What was sent. url: of the commit or pull request; account: who sent it."""

    url: str
    is_pull_request: bool
    account: str


def preview(run: Run, table: PairTable, repo: object, name: object = "") -> Sending:
    """The files of a run in upstream's layout, as they would be sent.

    Args:
        run: a finished one.
        table: the pairs it is of.
        repo: the results dataset, `org/name`.
        name: what the files call the model, `org/model`; "" for what the run says.

    Raises:
        KnownError: the run is not finished, not of all pairs of the table, or these are not
            RewardBench's; repo or name is none.
    """
    dataset = _hub_name(repo, "is no dataset of the Hub: give org/name.")
    if isinstance(name, str) and not name.strip():
        model = result_name(replace(run.facts, selection=ALL_PAIRS))
    else:
        model = _hub_name(name, "is no name of a model: give org/model, or leave it empty.")
    with _written(run, table, model) as (folder, files):
        shown_files = tuple(_preview(folder, path) for path in files)
    return Sending(run.id, model, dataset, shown_files)


def publish(
    seen: object,
    run: Run,
    table: PairTable,
    hub: Hub,
    *,
    token: object,
    as_pull_request: bool = False,
) -> Publication:
    """Send what a preview showed, byte by byte.

    A dataset of other people gets a pull request; one's own gets a commit.

    Args:
        seen: the `Sending`.
        run: that it is of, which may have changed since.
        table: the pairs it is of.
        hub: says whether the network may be used.
        token: of the visitor.
        as_pull_request: ask for a pull request even where the dataset is theirs.

    Raises:
        KnownError: nothing was seen, the run is not as it was seen, the token is none, or the Hub
            refuses.
    """
    if not isinstance(seen, Sending) or seen.run_id != run.id:
        raise KnownError("Look first at what would be sent: press Preview.")
    mine = checked_token(token)
    if not hub.reachable():
        raise KnownError(f"Nothing can be sent from here: {hub.reason}.")
    account, spaces = account_of(mine)
    is_theirs = seen.repo.partition("/")[0] in spaces
    create_pr = as_pull_request or not is_theirs
    with _written(run, table, seen.name) as (folder, files):
        if tuple(_preview(folder, path) for path in files) != seen.files:
            raise KnownError("The run has changed since it was shown. Press Preview again.")
        url = send(folder, files, seen.repo, token=mine, create_pr=create_pr)
    return Publication(url, create_pr, account)


def account_of(token: str) -> tuple[str, set[str]]:
    """Whose token it is, as the Hub says, and whose datasets they may write to, theirs included.

    Raises:
        KnownError: the Hub does not know it, or does not answer.
    """
    from huggingface_hub import HfApi

    try:
        said: dict[str, Any] = HfApi(token=token).whoami(token=token)
        organisations = said.get("orgs") or ()
        written = [each["name"] for each in organisations if each.get("roleInOrg") in _WRITERS]
        return str(said["name"]), {str(said["name"]), *written}
    except Exception as error:  # the client lets its transport's errors through
        raise KnownError(
            f"The Hub does not say whose token that is: {why_refused(error, token)}."
        ) from error


@contextmanager
def _written(run: Run, table: PairTable, name: str) -> Iterator[tuple[Path, list[Path]]]:
    """The result files of a run, in a folder that is removed afterwards."""
    _check_complete(run, table)
    pairs = as_pairs(table.arrow, range(len(table)))
    facts = replace(run.facts, selection=ALL_PAIRS)
    with TemporaryDirectory(prefix="results-") as made:
        folder = Path(made)
        try:
            yield folder, write_results(folder, name, facts, pairs, run.rows())
        except OSError as error:
            raise KnownError(
                f"The files cannot be written: {first_line(error)}. Make room, then try again."
            ) from error


def _check_complete(run: Run, table: PairTable) -> None:
    if run.status != "finished":
        raise KnownError(
            f"This run is {run.status}: only finished runs are published. Resume it first."
        )
    if run.facts.pairs != table.id:
        raise KnownError(
            f"This run is of the pairs {run.facts.pairs}, and {table.id} is open. Open those on "
            "the Pairs tab, then press Preview."
        )
    if len(table) != run.facts.n_pairs or run.plan()[1] != table.keys:
        raise KnownError(
            f"This run is of {run.facts.n_pairs:,} of {len(table):,} pairs: only runs of all pairs "
            "are published, since a part's scores would be taken for the benchmark's."
        )
    summary = summarise_run(run.rows(), run.facts)
    if not (summary.whole and summary.benchmark.counts):
        raise KnownError(
            f"This run is of {counted(run.facts.n_pairs, 'pair that is', 'pairs that are')} not "
            f"RewardBench's own {sum(COUNTS.values()):,}: only runs of those are published, "
            "since a score of others would be taken for the benchmark's."
        )


def _preview(folder: Path, path: Path) -> FilePreview:
    content = path.read_bytes()
    lines = content.decode("utf-8").split("\n", HEAD_LINES)[:HEAD_LINES]
    head = "\n".join(
        line if len(line) <= HEAD_COLUMNS else f"{line[:HEAD_COLUMNS]}…" for line in lines
    )
    name = path.relative_to(folder).as_posix()
    return FilePreview(name, len(content), hashlib.sha256(content).hexdigest(), head)


def _hub_name(given: object, refusal: str) -> str:
    words = given.strip() if isinstance(given, str) and len(given) <= _LONGEST_REPO else ""
    hub_id = parse_hub_id(words)
    if hub_id is None or hub_id.repo != words:
        raise KnownError(f"{shown(given)} {refusal}")
    return words
