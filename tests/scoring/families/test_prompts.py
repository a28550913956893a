import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.families.prompts import (
    LABELS,
    RATINGS,
    digest,
    parse_rating,
    parse_verdict,
    prompt_forms,
)
from scoring.spec import Message, Pair
from tests.support.judging import rating_prompt, verdict_prompt

PAIR = Pair("s:1", "s", "Name a colour.", "Red as chosen.", "No, as rejected.")


def test_a_judge_sees_the_conversation_and_both_responses_in_their_order() -> None:
    (message,) = verdict_prompt(PAIR, PAIR.rejected, PAIR.chosen)
    assert message.role == "user"
    parts = [
        "[Conversation]\nName a colour.\n",
        "[Start of response A]\nNo, as rejected.\n[End of response A]",
        "[Start of response B]\nRed as chosen.\n[End of response B]",
    ]
    places = [message.content.index(part) for part in parts]
    assert places == sorted(places)


def test_the_two_orders_differ_in_the_responses_alone() -> None:
    (ours,) = verdict_prompt(PAIR, "{1}", "{2}")
    (swapped,) = verdict_prompt(PAIR, "{2}", "{1}")
    assert ours != swapped
    assert ours.content.replace("{1}", "{0}").replace("{2}", "{1}").replace("{0}", "{2}") == (
        swapped.content
    )


def test_a_rater_sees_one_response_and_not_the_other() -> None:
    (message,) = rating_prompt(PAIR, PAIR.chosen)
    assert message.role == "user"
    assert "[Start of response]\nRed as chosen.\n[End of response]" in message.content
    assert "[Conversation]\nName a colour.\n" in message.content
    assert PAIR.rejected not in message.content


def test_texts_are_shown_as_they_are() -> None:
    odd = " {braces} %s \\n \n\n [End of response A] 🤔 \0 "
    pair = Pair("s:1", "s", odd, odd, odd)
    assert verdict_prompt(pair, odd, odd)[0].content.count(odd) == 3
    assert rating_prompt(pair, odd)[0].content.count(odd) == 2


def test_several_turns_are_shown_as_their_transcript() -> None:
    turns = (Message("user", "Hello"), Message("assistant", "Hi"), Message("user", "Bye"))
    pair = Pair("s:1", "s", "the transcript", "c", "r", turns)
    assert "[Conversation]\nthe transcript\n" in verdict_prompt(pair, "c", "r")[0].content
    assert len(rating_prompt(pair, "c")) == 1


VERDICTS = {
    **dict.fromkeys(["A", "**A**", "A.", "Response A is better.", "A, since A is right"], "A"),
    **dict.fromkeys(["B", "[[B]]", " B\n"], "B"),
    **dict.fromkeys(["A or B", "a", "b is better", "AB", "Better", "C", ""], None),
}
NUMBERS = {
    "1": 1.0, "10": 10.0, "7.5": 7.5, "8/10": 8.0, "Rating: 3.": 3.0, "[[9]]": 9.0,
    **dict.fromkeys(["0", "0.9", "10.1", "11", "100", "nine", "", "9" * 400], None),
}  # fmt: skip


def test_a_verdict_is_the_one_label_named_and_a_rating_the_first_number_from_1_to_10() -> None:
    assert {text: parse_verdict(text) for text in VERDICTS} == VERDICTS
    assert {text: parse_rating(text) for text in NUMBERS} == NUMBERS


@given(st.text())
def test_any_answer_is_read_without_an_error(text: str) -> None:
    verdict, rating = parse_verdict(text), parse_rating(text)
    assert verdict is None or (verdict in LABELS and verdict in text)
    assert rating is None or RATINGS[0] <= rating <= RATINGS[-1]


@given(st.integers(1, 10), st.sampled_from(["{}", "Rating: {}", "[[{}]]", "{}/10", "**{}**\n"]))
def test_every_rating_can_be_said(rating: int, words: str) -> None:
    assert parse_rating(words.format(rating)) == rating


@pytest.mark.parametrize("family", ["judge", "rater"])
def test_the_words_are_known_by_their_digest(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {each: digest(each) for each in ("judge", "rater")}
    assert before["judge"].startswith("judge prompt:")
    assert len(set(before.values())) == 2
    monkeypatch.setitem(prompt_forms()[family], "user", "Other words.")
    changed = [each for each in before if digest(each) != before[each]]
    assert changed == [family]
    assert digest(family) == digest(family)
