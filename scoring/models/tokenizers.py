"""Tokenizers by which texts are counted: found as a person typed them, then used."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scoring.errors import KnownError, is_panic
from scoring.hub.access import Hub, Listing, first_line, parse_hub_id
from scoring.models.finding import DEMO_NAME, DEMO_NAMES, ModelPolicy
from scoring.paths import is_folder, typed_path

SUGGESTED = "oobabooga/llama-tokenizer"
"""The tokenizer by which the benchmark's card counts."""
MOST_MEGABYTES = 50
"""What the files of a tokenizer on the Hub may weigh, in 10^6 bytes."""

_NAMED = 10
"""Tokenizers that a refusal names."""
_WHOLE = "tokenizer.json"
_PARTS = (
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json",
    "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tiktoken.model", "vocab.json",
    "vocab.txt", "merges.txt",
)  # fmt: skip
_DIGEST = re.compile(r"[0-9a-f]{12}")
_COMMIT = re.compile(r"[0-9a-f]{40}")

Encode = Callable[[list[str]], Sequence[int]]
"""Texts -> tokens of each."""


@dataclass(frozen=True, slots=True)
class LocatedTokenizer:
    """A tokenizer that can be used once its files are here.

    name: with its revision, as links and filters carry it.
    folder: where its files lie, or will.
    files: of its repository, those that are needed; listing: of that repository on the Hub; None
        for what lies in a folder of this machine.
    """

    name: str
    folder: str
    files: tuple[str, ...] = ()
    listing: Listing | None = None


def _listed_tokenizers(policy: ModelPolicy) -> tuple[str, ...] | None:
    """Those of the Hub that may be used, as typed; None means any."""
    # Any other of a stranger may take all the time and memory that counting has.
    return None if policy.local_folders else (SUGGESTED, *sorted(policy.models or ()))


def allowed_tokenizers(policy: ModelPolicy) -> str:
    """What may be given, in words."""
    listed = _listed_tokenizers(policy)
    given = listed[:_NAMED] if listed else (f"a folder, a Hub id such as {SUGGESTED}",)
    return ", ".join(given) + (f" or {DEMO_NAME}" if policy.demo is not None else "")


def find_tokenizer(typed: str, policy: ModelPolicy, hub: Hub) -> LocatedTokenizer:
    """Find the tokenizer a person typed; nothing is downloaded.

    typed: "demo", a folder where the policy allows those, or a Hub id `org/name[@revision]`; demo
    and folders may be followed by the revision that they are to have, `@<12 hex digits>`.

    Raises:
        KnownError: it is not allowed, not found, too large or no tokenizer.
    """
    base, _, revision = typed.rpartition("@")
    pinned = _DIGEST.fullmatch(revision) is not None
    for name, digest in ((typed, ""), *([(base, revision)] if pinned else [])):
        if policy.demo is not None and name in DEMO_NAMES:
            return _in_folder(DEMO_NAME, policy.demo, digest)
        if policy.local_folders and is_folder(typed_path(name)):
            return _in_folder(name, typed_path(name), digest)
    listed = _listed_tokenizers(policy)
    refused = KnownError(
        f"{typed[:200]!r} is not a tokenizer that can be used here: "
        f"give {allowed_tokenizers(policy)}."
    )
    by_commit = listed is not None and typed not in listed and _COMMIT.fullmatch(revision)
    name = base if by_commit else typed
    hub_id = parse_hub_id(name)
    if hub_id is None or hub_id.split or not (listed is None or name in listed):
        raise refused
    listing = hub.look(hub_id, "model", token=False)
    if by_commit and listing.commit != revision:
        raise refused  # another revision may be a stranger's
    files = _wanted(listing.sizes, hub_id.repo)
    n_bytes = sum(listing.sizes[name] for name in files)
    if n_bytes > MOST_MEGABYTES * 1e6:
        raise KnownError(
            f"The tokenizer of {hub_id.repo} is {n_bytes / 1e6:.0f} MB large; "
            f"at most {MOST_MEGABYTES} MB are fetched here."
        )
    return LocatedTokenizer(
        f"{hub_id.repo}@{listing.commit}", str(listing.folder), tuple(files), listing
    )


def _wanted(names: Iterable[str], place: str) -> list[str]:
    """The files of a tokenizer among those of a folder or repository; refused where none is."""
    found = set(names)
    if _WHOLE in found:
        return [_WHOLE]
    if found.isdisjoint(_PARTS[4:]):  # the vocabularies
        raise KnownError(
            f"{place[:200]} has no tokenizer: neither {_WHOLE} nor a vocabulary such as "
            "tokenizer.model, vocab.json or vocab.txt."
        )
    return [name for name in _PARTS if name in found]


def _in_folder(name: str, folder: Path, revision: str) -> LocatedTokenizer:
    """The tokenizer in a folder, with the first 12 hex digits of its files' sha256 as revision.

    revision: that it must have; "" for any.
    """
    digest = hashlib.sha256()
    try:
        for file in _wanted((path.name for path in folder.iterdir()), name):
            digest.update(f"{file}\n".encode() + (folder / file).read_bytes())
    except OSError as error:
        raise KnownError(f"The folder {name[:200]} cannot be read: {first_line(error)}") from error
    found = digest.hexdigest()[:12]
    if revision and found != revision:
        raise KnownError(
            f"The tokenizer {name[:200]} is here at revision {found}, not {revision}. "
            f"Give {name[:200]} to count by what is here."
        )
    return LocatedTokenizer(f"{name}@{found}", str(folder))


def encoder(found: LocatedTokenizer) -> Encode:
    """What counts the tokens of texts, on all processors.

    Raises:
        KnownError: only Python could run it, which takes too long here, or it lacks tokenizer.json
            and cannot be made of what is there.
    """
    from tokenizers import Tokenizer

    whole = Path(found.folder) / _WHOLE
    if whole.is_file():
        tokenizer = Tokenizer.from_file(str(whole))
    else:
        from transformers import AutoTokenizer

        try:
            loaded = AutoTokenizer.from_pretrained(
                found.folder, local_files_only=True, trust_remote_code=False
            )
        except (ImportError, ValueError) as error:
            raise KnownError(
                f"{found.name} has no {_WHOLE}, and what it has cannot be read without further "
                f"packages. Give a copy of it with a {_WHOLE}, as transformers writes it."
            ) from error
        backend = getattr(loaded, "backend_tokenizer", None)
        if not isinstance(backend, Tokenizer):
            raise KnownError(f"{found.name} has no fast tokenizer, and others are not used here.")
        tokenizer = backend
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.post_processor = None  # what is put around a text is not counted

    def encode(texts: list[str]) -> list[int]:
        return list(map(len, tokenizer.encode_batch_fast(texts, add_special_tokens=False)))

    return encode


@contextmanager
def tokenizer_errors(name: str) -> Iterator[None]:
    """Turn what a stranger's tokenizer brings about, but for limits, into one sentence."""
    try:
        yield
    except BaseException as error:
        is_fault = isinstance(error, Exception) or is_panic(error)
        if isinstance(error, KnownError | MemoryError) or not is_fault:
            raise
        raise KnownError(f"The tokenizer {name} cannot be used: {first_line(error)}") from error
