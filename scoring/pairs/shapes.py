"""The shapes in which datasets write a pair, and the texts that they hold.

A prompt is text or messages, in a column `prompt`, `question` or `input`; a response is text, or
messages that end with it and may begin with the prompt's own. Upstream's loader takes the same
(`load_preference_dataset` in rewardbench/utils.py). A list of texts is several responses, as in
RewardBench 2 (`load_bon_dataset_v2` there); the first is the pair's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.errors import KnownError
from scoring.pairs.rows import Row, type_name
from scoring.spec import Message

PROMPT_COLUMNS = ("prompt", "question", "input")
MODEL_COLUMNS = ("chosen_model", "rejected_model")
WANTED = ("id", "subset", "chosen", "rejected", *PROMPT_COLUMNS, *MODEL_COLUMNS, "models")
"""Columns of a file that are looked at."""
_SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant"}
Turns = tuple[Message, ...]
Texts = tuple[str, ...]


def what_is_missing(row: Row) -> str | None:
    """The reason why a row is not a pair, in words; None if it is one."""
    for column in ("chosen", "rejected"):
        if row.get(column) is None:
            return f"{column} is null"
        if row[column] == []:
            return f"{column} is an empty list"
    has_prompt = any(row.get(column) is not None for column in PROMPT_COLUMNS)
    return None if has_prompt or holds_messages(row["chosen"]) else "prompt is null"


def holds_messages(response: object) -> bool:
    """Whether a response is a list that is meant as messages, not as several responses."""
    return isinstance(response, list) and isinstance(next(iter(response), None), dict)


def models_of(row: Row, n_chosen: int, n_rejected: int, place: str) -> list[str | None]:
    """The models that wrote the chosen responses, then the rejected ones; None if unknown.

    A list `models` of as many names as responses has them, or raises a `KnownError` if they are no
    texts; else the two model columns name those of the first responses.
    """
    models = row.get("models")
    if not isinstance(models, list) or len(models) != n_chosen + n_rejected:
        chosen, rejected = (row.get(name) for name in MODEL_COLUMNS)
        return [chosen, *[None] * (n_chosen - 1), rejected, *[None] * (n_rejected - 1)]
    for number, model in enumerate(models, start=1):
        if not isinstance(model, str | None):
            raise KnownError(
                f"{place}, column models, name {number}: {type_name(model)}, must be text."
            )
    return models


def pair_texts(row: Row, place: str) -> tuple[Turns, Texts, Texts]:
    """The messages of a whole row's prompt, and both sides' responses, or a `KnownError`."""
    sides = {f"column {side}": row[side] for side in ("chosen", "rejected")}
    turns, (chosen, rejected) = answers(row, sides, place)
    if not turns:
        raise KnownError(f"{place}: no prompt, neither in a column nor before the responses.")
    return turns, chosen, rejected


def answers(row: Row, values: Mapping[str, object], place: str) -> tuple[Turns, list[Texts]]:
    """The messages that all of some values of a row answer, () if none, and each value's responses.

    Raises a `KnownError` if a value has another shape, or they answer different messages.

    values: by where they stand in the row, in words.
    """
    column = next((name for name in PROMPT_COLUMNS if row.get(name) is not None), "prompt")
    prompt, turns = row.get(column), Turns()
    if isinstance(prompt, list):
        turns = _messages(prompt, f"{place}, column {column}")
    elif prompt is not None:
        turns = (Message("user", _text(prompt, f"{place}, column {column}")),)
    contexts, responses = [], []
    for where, value in values.items():
        before, texts = _responses(value, f"{place}, {where}")
        if before and turns and before != turns:
            raise KnownError(
                f"{place}, {where}: its messages before the last are not those of {column}."
            )
        contexts.append(before)
        responses.append(texts)
    if any(before != contexts[0] for before in contexts):
        raise KnownError(
            f"{place}: its responses do not answer the same messages; all before the last must be "
            "equal."
        )
    return turns or contexts[0], responses


def is_single(turns: Sequence[Message]) -> bool:
    """Whether a conversation is one message of a user."""
    return [turn.role for turn in turns] == ["user"]


def transcript(turns: Sequence[Message]) -> str:
    """Messages as one text to read; a single one of a user is its own.

    >>> print(transcript([Message("user", "Hi."), Message("assistant", "Hello.")]))
    User: Hi.
    <BLANKLINE>
    Assistant: Hello.
    """
    if is_single(turns):
        return turns[0].content
    return "\n\n".join(f"{_SPEAKERS[turn.role]}: {turn.content}" for turn in turns)


def _responses(value: object, place: str) -> tuple[Turns, Texts]:
    if not isinstance(value, list):
        return (), (_text(value, place),)
    if not holds_messages(value):
        for number, response in enumerate(value, start=1):
            if not isinstance(response, str):
                raise KnownError(
                    f"{place}, response {number}: {type_name(response)}, must be text."
                )
        return (), tuple(value)
    *before, last = _messages(value, place)
    if last.role != "assistant":
        raise KnownError(f"{place}: its last message is of the {last.role}, not the assistant.")
    return tuple(before), (last.content,)


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise KnownError(f"{place}: {type_name(value)}, must be text or a list of messages.")
    return value


def _messages(values: Sequence[Any], place: str) -> Turns:
    messages = []
    for number, message in enumerate(values, start=1):
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(role, str) or role not in _SPEAKERS:
            raise KnownError(
                f"{place}, message {number}: its role is {str(role)[:40]!r}; "
                f"{', '.join(_SPEAKERS)} are allowed."
            )
        if not isinstance(message.get("content"), str):
            content = type_name(message.get("content"))
            raise KnownError(f"{place}, message {number}: its content is {content}, must be text.")
        messages.append(Message(role, message["content"]))
    if not messages:
        raise KnownError(f"{place}: a list without messages.")
    return tuple(messages)
