"""A pair that somebody types in: its conversation as one text, and back.

    [system]
    You are terse.
    [user]
    Hi.
    [assistant]
    Hello.
    [user]
    Who are you?

A text that does not begin with such a line is one message of a user, whatever it holds. A line of
a message that would be taken for such a line is written with a backslash before it.
"""

import hashlib
import json
import re
from collections.abc import Sequence

from explorer.core.settings import Settings
from explorer.core.validation import repaired
from explorer.data.table import PairTable
from scoring.errors import KnownError, shown
from scoring.pairs.checking import Checker
from scoring.pairs.opening import Pairs, PairSource
from scoring.pairs.shapes import transcript
from scoring.spec import Message, Pair

TYPED_KEY = "typed"
"""The key and the subset of a pair that was typed in."""
PUBLIC_LONGEST = 20_000
LONGEST_TYPED = 200_000
"""Characters of the conversation, and of each response."""
MOST_TYPED_TURNS = 100
Texts = tuple[str, str, str]
"""A conversation and both responses, as they are typed."""
_NAMES = ("The prompt", "The chosen response", "The rejected response")
_ROLE = re.compile(r"^\[(system|user|assistant)\][ \t]*$", re.MULTILINE)
_LIKE_ROLE = re.compile(r"^(\\*\[(?:system|user|assistant)\][ \t]*)$", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*\[(?:system|user|assistant)\][ \t]*)$", re.MULTILINE)


def longest_text(settings: Settings) -> int:
    """Characters that a typed text may have here."""
    return PUBLIC_LONGEST if settings.public else LONGEST_TYPED


def typed_pair(conversation: object, chosen: object, rejected: object, *, longest: int) -> Pair:
    """The pair that was typed, or posted.

    longest: characters of each text.

    Raises:
        KnownError: a text is none, too long or empty, or the conversation is none.
    """
    texts = typed_texts(conversation, chosen, rejected, longest=longest)
    for name, words in zip(_NAMES, texts, strict=True):
        if not words.strip():
            raise KnownError(f"{name} is empty. Write it first.")
    turns = read_conversation(texts[0])
    single = [turn.role for turn in turns] == ["user"]
    return Pair(
        TYPED_KEY, TYPED_KEY, transcript(turns), texts[1], texts[2], () if single else turns
    )


def typed_table(pair: Pair) -> PairTable:
    """A table of that pair alone, as a file of it would be read."""
    name, turns = "typed pair", [turn._asdict() for turn in pair.turns]
    row = {"id": "1", "subset": TYPED_KEY, "prompt": turns or pair.prompt}
    row |= {"chosen": pair.chosen, "rejected": pair.rejected}
    checker = Checker(name, TYPED_KEY)
    checker.add([row])
    checked = checker.finish()
    digest = hashlib.sha256(json.dumps(row).encode()).hexdigest()[:12]
    return PairTable(Pairs(PairSource("typed", name, None, digest), checked.table, checked.notes))


def typed_texts(conversation: object, chosen: object, rejected: object, *, longest: int) -> Texts:
    """The texts that were typed, or posted; they may be empty.

    longest: characters of each.

    Raises:
        KnownError: one is no text, or too long.
    """
    texts = []
    for what, value in zip(_NAMES, (conversation, chosen, rejected), strict=True):
        if not isinstance(value, str):
            raise KnownError(f"{what} must be text, not {shown(value)}.")
        if len(value) > longest:
            raise KnownError(
                f"{what} has {len(value):,} characters; at most {longest:,} are scored here."
            )
        texts.append(repaired(value))
    first, second, third = texts
    return first, second, third


def read_conversation(words: str) -> tuple[Message, ...]:
    r"""The messages of a conversation as it is typed.

    Raises:
        KnownError: a message is empty, there are too many, a system prompt is not the first, or
            the last message is the assistant's, which the responses are to be.

    >>> read_conversation("[system]\nBe terse.\n[user]\nHi.")[0]
    Message(role='system', content='Be terse.')
    >>> read_conversation("a [user]\n[user]")
    (Message(role='user', content='a [user]\n[user]'),)
    """
    conversation = words.lstrip()
    if not _ROLE.match(conversation):
        return (Message("user", words),)
    _, *pieces = _ROLE.split(conversation)
    roles, contents = (
        pieces[::2],
        [_ESCAPED.sub(r"\1", each.strip("\r\n")) for each in pieces[1::2]],
    )
    if len(roles) > MOST_TYPED_TURNS:
        raise KnownError(
            f"A conversation has at most {MOST_TYPED_TURNS} messages, not {len(roles):,}."
        )
    for number, (role, content) in enumerate(zip(roles, contents, strict=True), start=1):
        if not content.strip():
            raise KnownError(f"Message {number}, of the {role}, is empty. Write it, or delete it.")
        if role == "system" and number > 1:
            raise KnownError(f"Message {number} is a system prompt; only the first one may be.")
    if roles[-1] != "user":
        raise KnownError(
            f"The last message is of the {roles[-1]}. End with one of the user, [user], which the "
            "two responses answer."
        )
    return tuple(map(Message, roles, contents))


def written_conversation(turns: Sequence[Message]) -> str:
    r"""Messages as `read_conversation` reads them; white space at their ends is lost.

    >>> print(written_conversation([Message("system", "Be terse."), Message("user", "[user]")]))
    [system]
    Be terse.
    [user]
    \[user]
    """
    if [turn.role for turn in turns] == ["user"] and not _ROLE.match(turns[0].content.lstrip()):
        return turns[0].content
    escaped = [(role, _LIKE_ROLE.sub(r"\\\1", words)) for role, words in turns]
    return "\n".join(f"[{role}]\n{words}" for role, words in escaped)
