"""A pair that is typed in: its conversation read and written, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.data import typed
from explorer.data.typed import read_conversation, typed_pair, written_conversation
from scoring.errors import KnownError
from scoring.pairs.shapes import transcript
from scoring.spec import Message

LINES = st.lists(
    st.sampled_from(["[user]", r"\[user]", r"\\[system] ", "words", "", "[user] x"]), min_size=1
).map("\n".join)


@pytest.mark.parametrize("words", ["a\n[user]\nb", "\n words \n", "[User]\nx"])
def test_what_does_not_begin_with_a_role_is_one_message_as_it_stands(words: str) -> None:
    pair = typed_pair(words, "a", "b", longest=100)
    [message] = pair.messages
    assert pair.turns == () and pair.prompt == words == message.content


@given(LINES, LINES)
def test_what_is_written_is_read_the_same(first: str, second: str) -> None:
    turns = [Message("system", first), Message("user", second)]
    written = written_conversation(turns)
    kept = [Message(role, words.strip("\n")) for role, words in turns]
    if all(words.strip() for _, words in kept):
        pair = typed_pair(written, "c", "r", longest=len(written))
        assert pair.turns == tuple(kept) and pair.prompt == transcript(kept)
    if second.strip():
        [alone] = read_conversation(written_conversation(turns[1:]))
        assert alone.content.strip("\n") == second.strip("\n")


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (("[user]\n\n[user]\nx", "c", "r"), "Message 1, of the user, is empty"),
        (("[user]\nx\n[system]\ny\n[user]\nz", "c", "r"), "Message 2 is a system prompt"),
        (("[user]\nx\n[assistant]\ny", "c", "r"), "The last message is of the assistant"),
        (("[user]\nx\n" * (typed.MOST_TYPED_TURNS + 1), "c", "r"), "at most 100 messages, not 101"),
        ((None, "c", "r"), "The prompt must be text"),
        (("p", " \n", "r"), "The chosen response is empty"),
        (("p", "c", "x" * 951), "The rejected response has 951 characters; at most 950"),
    ],
)
def test_what_is_no_pair_is_refused_in_a_sentence_that_names_it(
    texts: tuple[object, ...], why: str
) -> None:
    with pytest.raises(KnownError, match=why):
        typed_pair(*texts, longest=950)
    assert typed.typed_texts("", "\ud800x", "", longest=2) == ("", "\ufffdx", "")
