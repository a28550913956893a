"""A pair that is typed in: its conversation read and written, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data.typed import (
    MOST_TYPED_TURNS,
    read_conversation,
    typed_pair,
    typed_texts,
    written_conversation,
)
from scoring.errors import KnownError
from scoring.spec import Message

DIALOGUE = "[system]\nBe terse.\n[user]\nHi.\n\n[assistant]\nHello.\n[user]\nWho are you?"
LINES = st.lists(
    st.sampled_from(["[user]", "\\[user]", "\\\\[system] ", "words", "", "[user] x"]), min_size=1
).map("\n".join)


def test_a_conversation_has_its_turns() -> None:
    pair = typed_pair(DIALOGUE, "A model.", "No.", longest=1000)
    assert pair.messages == [
        Message("system", "Be terse."),
        Message("user", "Hi."),
        Message("assistant", "Hello."),
        Message("user", "Who are you?"),
    ]
    assert pair.prompt.startswith("System: Be terse.\n\nUser: Hi.")


@pytest.mark.parametrize("words", [" [user] Hi.", "a\n[user]\nb", "\n words \n", "[User]\nx"])
def test_what_does_not_begin_with_a_role_is_one_message_as_it_stands(words: str) -> None:
    pair = typed_pair(words, "a", "b", longest=100)
    assert pair.turns == () and pair.prompt == words == pair.messages[0].content


@given(LINES, LINES)
def test_what_is_written_is_read_the_same(first: str, second: str) -> None:
    turns = [Message("system", first), Message("user", second)]
    written = written_conversation(turns)
    kept = [Message(role, words.strip("\r\n")) for role, words in turns]
    if all(words.strip() for _, words in kept):
        assert list(read_conversation(written)) == kept
    if second.strip():
        [alone] = read_conversation(written_conversation(turns[1:]))
        assert alone.content.strip("\n") == second.strip("\n")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("[user]\n\n[user]\nx", "Message 1, of the user, is empty"),
        ("[user]\nx\n[system]\ny\n[user]\nz", "Message 2 is a system prompt"),
        ("[user]\nx\n[assistant]\ny", "The last message is of the assistant"),
        ("[system]\nx", "The last message is of the system"),
        ("[user]\nx\n" * (MOST_TYPED_TURNS + 1), "at most 100 messages, not 101"),
    ],
)
def test_what_is_no_conversation_is_refused(words: str, why: str) -> None:
    with pytest.raises(KnownError, match=why):
        read_conversation(words)


@pytest.mark.parametrize(
    ("side", "value", "why"),
    [
        (0, None, "The prompt must be text"),
        (1, " \n", "The chosen response is empty"),
        (2, "x" * 101, "The rejected response has 101 characters; at most 100"),
    ],
)
def test_a_text_that_is_none_is_refused_by_name(side: int, value: object, why: str) -> None:
    texts: list[object] = ["p", "c", "r"]
    texts[side] = value
    with pytest.raises(KnownError, match=why):
        typed_pair(*texts, longest=100)
    assert typed_texts("", "\ud800x", "", longest=2) == ("", "\ufffdx", "")
