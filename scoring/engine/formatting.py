"""A pair -> the token ids of its two conversations, by the model's chat template."""

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from scoring.errors import KnownError, first_line, shown
from scoring.spec import Message, Pair, RunSettings, as_objects

DEFAULT_MAX_TOKENS, UPSTREAM_LONGEST = 16_384, 2048
"""Tokens a sequence may have where neither the model nor the settings say less; in run_rm.py."""
_AT_ONCE = 512  # conversations tokenized in one call

FALLBACK_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ (bos_token if loop.first and bos_token else '') + "
    "('Assistant: ' if message['role'] == 'assistant' else "
    "'System: ' if message['role'] == 'system' else 'Human: ') + message['content'] }}"
    "{{ eos_token if loop.last and eos_token and not add_generation_prompt else '\n\n' }}"
    "{%- endfor -%}"
    "{{ 'Assistant:' if add_generation_prompt else '' }}"
)
"""Used where a tokenizer has no chat template of its own; `Formatter.template` says so."""

Tokenizer = Any  # of transformers
Conversation = Sequence[Message]


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """A conversation as a model sees it, after truncation.

    start: position of the first token: 1 where a token before it is masked, else 0.
    tail: how many of the last tokens the reward is read at.
    """

    ids: tuple[int, ...] = ()
    truncated: bool = field(default=False, compare=False)
    start: int = 0
    tail: int = 1

    @property
    def first_read(self) -> int:
        """Place of the first token that the reward is read at."""
        return len(self.ids) - self.tail


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pair made ready for a model: the two token sequences that it needs.

    chosen, rejected: one sequence a side (a judge's two orders: the one that shows the chosen
        response first, and the other); empty where texts are scored.
    shared: tokens that both begin with and that are computed once. Each side keeps a last token of
        its own, unless the sequences are equal: then all are shared.
    row: the key of a row with more responses than two, of which this is a part; else "".
    common: tokens that its sequences begin with as all of its row do, computed with the first part
        of the row in a pack; 0 in that part.
    repeat: which time it is asked, from 0.
    """

    pair: Pair
    chosen: TokenSequence = TokenSequence()
    rejected: TokenSequence = TokenSequence()
    shared: int = 0
    row: str = ""
    common: int = 0
    repeat: int = 0

    @property
    def sides(self) -> tuple[TokenSequence, TokenSequence]:
        """The chosen and the rejected sequence."""
        return self.chosen, self.rejected

    @property
    def is_equal(self) -> bool:
        """Whether both sides are the same tokens."""
        return self.chosen.ids == self.rejected.ids

    @property
    def cost(self) -> int:
        """Tokens to compute; 1 where texts are scored."""
        both = len(self.chosen.ids) + len(self.rejected.ids)
        if self.common:
            return (both - 2 * self.common) // (2 if self.is_equal else 1)
        return both - self.shared or 1


@cache
def named_templates() -> dict[str, str]:
    """Name -> Jinja text; the text says where no token of the tokenizer's own stands."""
    known = tomllib.loads(Path(__file__).with_name("templates.toml").read_text(encoding="utf-8"))
    return {name: each["text"].strip("\n") for name, each in known.items()}


def named_template(name: str) -> str:
    """Return a template as upstream writes it, or raise a `KnownError`."""
    known = named_templates()
    if name not in known:
        raise KnownError(
            f"There is no chat template {shown(name)}; {', '.join(known)} are known. Without one, "
            "the tokenizer's own is used."
        )
    return known[name]


def shared_prefix(chosen: Sequence[int], rejected: Sequence[int]) -> int:
    """Tokens that both sequences begin with, but for each one's last; all, if they are equal."""
    if chosen == rejected:
        return len(chosen)
    most = min(len(chosen), len(rejected)) - 1
    return min(most, n_equal(chosen, rejected))


def n_equal(first: Sequence[object], second: Sequence[object]) -> int:
    """How many items two sequences begin with alike.

    >>> n_equal("<s>ab", "<s>b"), n_equal("ab", "abc")
    (3, 2)
    """
    both = enumerate(zip(first, second, strict=False))
    return next((n for n, (a, b) in both if a != b), min(len(first), len(second)))


def as_one_row(key: str, parts: Sequence[Prepared]) -> list[Prepared]:
    """Parts of one row that share what all begin with, before the first token read of any."""
    sides = [side for part in parts for side in part.sides]
    common = min(len(side.ids) - max(side.tail, 1) for side in sides)
    common = max(0, min(common, *(shared_prefix(sides[0].ids, side.ids) for side in sides)))
    if len({side.start for side in sides}) > 1:
        common = 0
    return [
        replace(part, row=key, common=common if place else 0) for place, part in enumerate(parts)
    ]


def conversations(pairs: Sequence[Pair]) -> list[Conversation]:
    """The chosen and the rejected conversation of each pair, in turn."""
    return [pair.answered(response) for pair in pairs for response in (pair.chosen, pair.rejected)]


def joined_pairs(pairs: Sequence[Pair], sequences: Sequence[TokenSequence]) -> list[Prepared]:
    """Pairs with their sequences. sequences: chosen and rejected in turn."""
    prepared = []
    for pair, chosen, rejected in zip(pairs, sequences[::2], sequences[1::2], strict=True):
        is_alike = chosen.start == rejected.start
        shared = shared_prefix(chosen.ids, rejected.ids) if is_alike else 0
        prepared.append(Prepared(pair, chosen, rejected, shared))
    return prepared


class Formatter:
    """Turns conversations into token ids: the template decides the text, so one BOS or none.

    The tokenizer's own template writes special tokens itself. Around all others, the tokenizer's
    own stand where it has any, as encoders do, which read their reward at them.

    ending: the token that every sequence has to end with; None for any.
    gate: tokens that stand before the response; where they last begin, a sequence's tail does.
    question: asked by the user behind each conversation, which ends where the assistant answers.
    """

    ending: int | None = None
    question: str = ""
    gate: tuple[int, ...] = ()
    _longest, _fallback, _takes_own_first = DEFAULT_MAX_TOKENS, "", False

    def __init__(self, tokenizer: Tokenizer, model_limit: int, settings: RunSettings) -> None:
        """model_limit: tokens the model was built for.

        A `KnownError` says if the settings' template is unknown, or the tokenizer fails.
        """
        name = settings.chat_template or self._fallback
        template = named_template(name) if name else FALLBACK_TEMPLATE
        takes_own = self._takes_own_first or not settings.chat_template
        own = getattr(tokenizer, "chat_template", None) if takes_own else None
        self.tokenizer = tokenizer
        self._is_named = bool(settings.chat_template) and not own
        self._before, self._after = _put_around(tokenizer)
        self._template = None if own else template
        self._special = {} if own else self._special_texts()
        self.cuts_left = settings.truncation_side == "left"
        hashed = str(own or template) + "".join(self._special.values())
        digest = hashlib.sha256(hashed.encode()).hexdigest()[:12]
        self.template = f"{'own' if own else name or 'fallback'}:{digest}"
        self.limit = model_limit
        self.max_length = min(settings.max_length or self._longest, model_limit)

    def prepare(self, pairs: Sequence[Pair]) -> list[Prepared]:
        """Both conversations of each pair as token ids, at most `max_length` each."""
        return joined_pairs(pairs, self.sequences(conversations(pairs)))

    def encode(self, given: Sequence[Conversation], *, ask: bool = False) -> list[list[int]]:
        """Token ids of whole conversations, or a `KnownError`. ask: the assistant is to go on."""
        encoded = self._tokens(given, by_text=self._is_named, ask=ask)
        if not self._is_named:
            return encoded
        before, after = self._before, () if ask else self._after
        starts = [() if tuple(ids[: len(before)]) == before else before for ids in encoded]
        return [[*start, *ids, *after] for start, ids in zip(starts, encoded, strict=True)]

    def cut(self, ids: Sequence[int], most: int | None = None) -> TokenSequence:
        """At most so many of the tokens, or `max_length`; special ones at the ends stay."""
        most = self.max_length if most is None else most
        if len(ids) <= most:
            return TokenSequence(tuple(ids))
        before, after = self._n_special(ids)
        room = most - before - after
        if room < 1:
            before, after, room = 0, 0, most
        end = len(ids) - after
        kept = ids[end - room : end] if self.cuts_left else ids[before : before + room]
        return TokenSequence((*ids[:before], *kept, *ids[end:]), truncated=True)

    def render(
        self, given: Sequence[Conversation], *, tokenize: bool = False, ask: bool = False
    ) -> list[Any]:
        """Conversations as the template writes them, or the token ids of that; as of `encode`."""
        rendered: list[Any] = []
        for start in range(0, len(given), _AT_ONCE):
            some = list(map(as_objects, given[start : start + _AT_ONCE]))
            try:
                rendered += self.tokenizer.apply_chat_template(
                    some,
                    chat_template=self._template,
                    tokenize=tokenize,
                    add_generation_prompt=ask,
                    **({"return_dict": False} if tokenize else {}),
                    **self._special,
                )
            except MemoryError:
                raise
            except Exception as error:  # a template is a stranger's program
                raise KnownError(
                    f"The model's chat template fails: {first_line(error).rstrip('.')}. "
                    "Choose a named one."
                ) from error
        return rendered

    def sequences(self, given: Sequence[Conversation]) -> list[TokenSequence]:
        """Token ids of conversations, at most `max_length` each."""
        encoded = self.encode(self._with_question(given), ask=bool(self.question))
        return [self._read(ids) for ids in encoded]

    def _with_question(self, given: Sequence[Conversation]) -> Sequence[Conversation]:
        asked = [Message("user", self.question)] if self.question else []
        return [[*each, *asked] for each in given]

    def _read(self, ids: Sequence[int]) -> TokenSequence:
        # The tail is one token where the gate is cut off.
        if self.ending is None:
            sequence = self.cut(ids)
        else:
            text = ids[:-1] if ids[-1] == self.ending else ids
            sequence = self.cut(text, self.max_length - 1)
            sequence = replace(sequence, ids=(*sequence.ids, self.ending))
        if not self.gate:
            return sequence
        starts = range(len(sequence.ids) - len(self.gate), -1, -1)
        gates = (at for at in starts if sequence.ids[at : at + len(self.gate)] == self.gate)
        at = next(gates, len(sequence.ids) - 1)
        return replace(sequence, tail=len(sequence.ids) - at)

    def _tokens(
        self, given: Sequence[Conversation], *, by_text: bool, ask: bool = False
    ) -> list[list[int]]:
        # by_text: tokenize what the template writes, as it is.
        encoded = self.render(given, tokenize=not by_text, ask=ask)
        if by_text and encoded:
            encoded = self.tokenizer(encoded, add_special_tokens=False).input_ids
        if not all(encoded):
            raise KnownError(
                "The model's chat template fails: it gives no tokens. Choose a named one."
            )
        return encoded

    def _special_texts(self) -> dict[str, str]:
        # What the fallback writes for BOS and EOS where the tokenizer puts other tokens there.
        texts = {
            name: "".join(self.tokenizer.convert_ids_to_tokens(ids))
            for name, ids in (("bos_token", self._before), ("eos_token", self._after))
        }
        own = {name: getattr(self.tokenizer, name) or "" for name in texts}
        return texts if self._after and texts != own else {}

    def _n_special(self, ids: Sequence[int]) -> tuple[int, int]:
        before = int(ids[0] in (self.tokenizer.bos_token_id, self.tokenizer.cls_token_id))
        n_after = len(self._after)
        is_whole = self._template is not None and tuple(ids[-n_after:]) == self._after
        return before, n_after if is_whole else 0


def _put_around(tokenizer: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    try:
        text: list[int] = tokenizer("a", add_special_tokens=False).input_ids
        whole: list[int] = tokenizer("a").input_ids
    except Exception as error:  # a tokenizer is a stranger's
        raise KnownError(
            f"The model's tokenizer fails: {first_line(error).rstrip('.')}. Choose another."
        ) from error
    for start in range(len(whole) - len(text) + 1):
        if whole[start : start + len(text)] == text:
            return tuple(whole[:start]), tuple(whole[start + len(text) :])
    return (), ()


class UpstreamFormatter(Formatter):
    """Renders the template to text and tokenizes that with special tokens, as run_rm.py does.

    A template that writes BOS itself then gives two of them; the first is masked, which leaves the
    second at position 1. Text is cut on the left and BOS put before it again. A named template is
    taken where the tokenizer has none; an EOS then ends the text, unless the tokenizer writes one.
    """

    _longest, _fallback, _takes_own_first = UPSTREAM_LONGEST, "tulu", True

    def __init__(self, tokenizer: Tokenizer, model_limit: int, settings: RunSettings) -> None:
        if settings.truncation_side != "left":
            raise KnownError("run_rm.py cuts on the left: leave --truncation-side out.")
        super().__init__(tokenizer, model_limit, settings)
        self.template += ", as run_rm.py"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        if self._template is not None and not self._after and tokenizer.eos_token_id is not None:
            self._after = (tokenizer.eos_token_id,)

    def sequences(self, given: Sequence[Conversation]) -> list[TokenSequence]:
        """As of `Formatter`, and where they start."""
        sequences = []
        bos = self.tokenizer.bos_token_id
        ask, given = bool(self.question), self._with_question(given)
        for text in self._tokens(given, by_text=True, ask=ask):
            sequence = self._read([*self._before, *text, *(() if ask else self._after)])
            doubled = bos is not None and sequence.ids[:2] == (bos, bos)
            sequence = replace(sequence, ids=sequence.ids[doubled:], start=int(doubled))
            sequences.append(sequence)
        return sequences

    def _n_special(self, _: Sequence[int]) -> tuple[int, int]:
        return len(self._before), len(self._after)
