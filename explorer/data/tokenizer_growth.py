"""How much longer a tokenizer makes the texts that it counts: a stranger's must not by much.

Before a tokenizer cuts a text, its normalizer and its pre-tokenizer rewrite it, as its file says: a
`Replace` that makes a million letters of each would need more memory than there is. What is written
into a text at will is limited by the file alone. Other ways to spell a letter ("ﬃ" as "ffi") make
up to eleven of some and one of most; as no letter's spelling depends on those far away, that is
measured on the texts, a piece at a time.

What would be added around a text, or put together from tokens, is not asked for when counting.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import KnownError, shown

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MOST_WRITTEN = 16
"""Times the bytes of a text that may be written into it; a Llama 2 tokenizer may write 12."""
MOST_SPELLED = 4
"""Times the bytes of its texts that a tokenizer may make of them by spelling them otherwise."""
MOST_STEPS = 64
LONGEST_NAME = 100
"""Characters of the token for what is unknown, and of what tokens begin or end with."""
LONGEST_WORD = 1_000
"""Characters of a word that is taken apart: the time for it grows with their square."""

MOST_ADDED = 1_000_000
"""Characters of all added tokens; those of most tokenizers have a few thousand."""

_MOST_SPELLED_AT_ALL = 1_000
_SLACK = 1_000
_PIECE = 200
_KEPT = {"Strip", "StripAccents", "Nmt"} | {
    *("BertPreTokenizer", "CharDelimiterSplit", "Digits", "FixedLength", "Punctuation"),
    *("Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"),
}
_SPELLED = {"NFC": 3.0, "NFD": 3.0, "NFKC": 11.0, "NFKD": 11.0, "Lowercase": 1.5}
"""Times the bytes of the letter that grows the most."""
_EMPTY = {
    "version": "1.0",
    "added_tokens": [],
    "model": {"type": "WordLevel", "vocab": {}, "unk_token": ""},
}


@dataclass(frozen=True, slots=True)
class Growth:
    """How many times its bytes a text may come to have.

    written: by what is written into it; at most `MOST_WRITTEN`.
    spelled: by other spellings of its letters, were it made of those that grow the most.
    """

    written: float
    spelled: float

    @property
    def of_checked(self) -> float:
        """Of texts that passed `check_spelling`, where spellings matter."""
        return self.written * min(self.spelled, MOST_SPELLED)


def read_tokenizer(path: Path) -> "Tokenizer":
    """The tokenizer of a `tokenizer.json`, without what it would do around a text.

    Raises:
        KnownError: it makes texts too long.
    """
    from tokenizers import Tokenizer

    written = json.loads(path.read_bytes())
    written |= dict.fromkeys(("truncation", "padding", "post_processor", "decoder"))
    # The added tokens are rewritten when they are loaded, so the rules are first loaded alone; and
    # what is loaded is what was looked at: a name that stands twice is read in more than one way.
    rules = {name: written.get(name) for name in ("normalizer", "pre_tokenizer")}
    alone = Tokenizer.from_str(json.dumps({**_EMPTY, **rules}))
    added = [each["content"] for each in written.get("added_tokens") or ()]
    if sum(map(len, added)) > MOST_ADDED:
        raise _refused(f"its added tokens have more than {MOST_ADDED:,} characters")
    check_spelling(alone, added, check_growth(alone))
    return Tokenizer.from_str(json.dumps(written))


def check_growth(tokenizer: "Tokenizer") -> Growth:
    """Refuse a tokenizer that may make texts too long.

    Raises:
        KnownError: saying why.
    """
    steps = [*_steps(tokenizer.normalizer), *_steps(tokenizer.pre_tokenizer)]
    if len(steps) > MOST_STEPS:
        raise _refused(f"it rewrites a text {len(steps):,} times; at most {MOST_STEPS} are allowed")
    growth = Growth(prod(map(_written, steps)), prod(map(_spelled, steps)))
    if growth.written > MOST_WRITTEN or growth.spelled > _MOST_SPELLED_AT_ALL:
        times = growth.written * growth.spelled
        raise _refused(f"it may make a text {times:,.0f} times as long")
    for name in ("unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
        value = getattr(tokenizer.model, name, None)
        if isinstance(value, str) and len(value) > LONGEST_NAME:
            raise _refused(f"its {name} has {len(value):,} characters")
    longest_word = getattr(tokenizer.model, "max_input_chars_per_word", 0)
    if longest_word > LONGEST_WORD:
        raise _refused(f"it takes apart words of up to {longest_word:,} characters")
    return growth


def check_spelling(tokenizer: "Tokenizer", texts: Sequence[str], growth: Growth) -> None:
    """Refuse a tokenizer that makes these texts too long by spelling them otherwise.

    growth: the tokenizer's, as `check_growth` returned it.

    Raises:
        KnownError: it does.
    """
    if growth.spelled <= MOST_SPELLED:
        return
    for words in texts:
        most = MOST_SPELLED * _bytes(words) + _SLACK
        for start in range(0, len(words), _PIECE):
            most -= _bytes(tokenizer.normalizer.normalize_str(words[start : start + _PIECE]))
            if most < 0:
                raise _refused(f"it makes a text more than {MOST_SPELLED} times as long")


def _steps(part: Any) -> Iterator[dict[str, Any]]:
    """What a normalizer or pre-tokenizer does, one after another; nothing where there is none."""
    if part is not None:
        yield from _flat(json.loads(part.__getstate__()))


def _flat(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if step["type"] != "Sequence":
        yield step
    for name in ("normalizers", "pretokenizers"):
        for each in step.get(name, ()):
            yield from _flat(each)


def _written(step: dict[str, Any]) -> float:
    """How many times as long a step may make a text by writing into it.

    >>> _written({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
    3.0
    >>> _written({"type": "Prepend", "prepend": "▁"}), _written({"type": "NFC"})
    (4.0, 1.0)
    """
    match step["type"]:
        case "Replace":
            content, replaced = _bytes(step["content"]), _bytes(step["pattern"].get("String", ""))
            # An expression may find nothing, before each letter.
            return max(1.0, content / replaced) if replaced else 1.0 + content
        case "Prepend":
            return 1.0 + _bytes(step["prepend"])  # before what follows each added token
        case "Metaspace":
            return 1.0 + _bytes(step["replacement"])
        case "ByteLevel":
            return 3.0  # two bytes for each, and a space before each piece
        case "BertNormalizer":
            return 3.0  # spaces around a Chinese letter, a Korean one taken apart
        case kind if kind in _KEPT or kind in _SPELLED or kind == "Precompiled":
            return 1.0
        case kind:
            raise _refused(f"what its step {shown(kind)} does to a text is not known here")


def _spelled(step: dict[str, Any]) -> float:
    """How many times as long a step may make a letter by spelling it otherwise."""
    if step["type"] != "Precompiled":
        return _SPELLED.get(step["type"], 1.0)
    # A search tree's length, the tree, and the spellings that it leads to, each ended by a zero.
    table = base64.b64decode(step["precompiled_charsmap"])
    spellings = table[4 + int.from_bytes(table[:4], "little") :]
    return float(max(1, *map(len, spellings.split(b"\0"))))


def _bytes(words: str) -> int:
    return len(words.encode())


def _refused(why: str) -> KnownError:
    return KnownError(
        f"This tokenizer cannot be used here: {why}, which may take more memory than there is. "
        "Choose another one."
    )
