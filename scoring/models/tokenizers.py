"""Tokenizers by which texts are counted: found as a person typed them, then used."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scoring.errors import KnownError, first_line, is_panic
from scoring.hub.access import Hub, parse_hub_id
from scoring.models.finding import (
    DEMO_NAME,
    LocatedModel,
    ModelPolicy,
    local_folder,
    locate_tokenizer,
    look_up,
    tokenizer_files,
)
from scoring.spec import ModelSpec

SUGGESTED = "oobabooga/llama-tokenizer"  # by which the benchmark's card counts
_LISTED = 10  # tokenizers that a refusal names
_WHOLE = "tokenizer.json"


def _listed_tokenizers(policy: ModelPolicy) -> tuple[str, ...] | None:
    # Any other of a stranger may take all the time and memory that counting has.
    return None if policy.local_folders else (SUGGESTED, *sorted(policy.models or ()))


def allowed_tokenizers(policy: ModelPolicy) -> str:
    """The tokenizers that may be given, in words."""
    listed = _listed_tokenizers(policy)
    allowed = listed[:_LISTED] if listed else (f"a folder, a Hub id such as {SUGGESTED}",)
    return ", ".join(allowed) + (f" or {DEMO_NAME}" if policy.demo is not None else "")


def find_tokenizer(typed: str, policy: ModelPolicy, hub: Hub) -> LocatedModel:
    """Find the tokenizer a person typed, or raise a `KnownError`; nothing is downloaded.

    typed: "demo", a folder where the policy allows those, or a Hub id `org/name[@revision]`; demo
    and folders may be followed by the revision that they are to have, `@<12 hex digits>`.
    """
    name, (base, _, revision) = typed, typed.rpartition("@")
    listed = _listed_tokenizers(policy)
    if local_folder(typed, policy) is None:
        is_digest, is_commit = (re.fullmatch(rf"[0-9a-f]{{{n}}}", revision) for n in (12, 40))
        is_pinned = is_digest and local_folder(base, policy) is not None
        # Another revision of what is listed may be a stranger's.
        by_commit = is_commit and listed is not None and typed not in listed
        name = base if is_pinned or by_commit else typed
    if local_folder(name, policy) is None:
        hub_id = parse_hub_id(name)
        if hub_id is None or hub_id.split or not (listed is None or name in listed):
            raise KnownError(
                f"{typed[:200]!r} is not a tokenizer that can be used here: "
                f"give {allowed_tokenizers(policy)}."
            )
    place = look_up(name, policy, hub, False, "tokenizer")
    files = [_WHOLE] if _WHOLE in place.sizes else tokenizer_files(place)
    found = locate_tokenizer(place, files, files)
    if name != typed and found.spec.revision != revision:
        raise KnownError(
            f"The tokenizer {name[:200]} is here at revision {found.spec.revision}, not "
            f"{revision}. Give {name[:200]} to count by what is here."
        )
    return found


def encoder(spec: ModelSpec) -> Callable[[list[str]], Sequence[int]]:
    """A function that counts the tokens of each text, on all processors.

    Raises a `KnownError` if only Python could run it, which takes too long here, or it lacks
    tokenizer.json and cannot be made of what is there.
    """
    from tokenizers import Tokenizer

    whole = Path(spec.folder) / _WHOLE
    if whole.is_file():
        tokenizer: Any = Tokenizer.from_file(str(whole))
    else:
        from transformers import AutoTokenizer

        try:
            loaded = AutoTokenizer.from_pretrained(
                spec.folder, local_files_only=True, trust_remote_code=False
            )
        except (ImportError, ValueError) as error:
            raise KnownError(
                f"{spec.pinned} has no {_WHOLE}, and what it has cannot be read without "
                f"further packages. Give a copy of it with a {_WHOLE}, as transformers writes it."
            ) from error
        tokenizer = getattr(loaded, "backend_tokenizer", None)
        if not isinstance(tokenizer, Tokenizer):
            raise KnownError(f"{spec.pinned} has no fast tokenizer, and others are not used here.")
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
