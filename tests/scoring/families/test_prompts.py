from itertools import product

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

ODD = " {braces} %s \\n \n\n [End of response A] 🤔 \0 "
TURNS = (Message("user", "Hello"), Message("assistant", "Hi"), Message("user", "Bye"))
PAIR = Pair("s:1", "s", f"the transcript{ODD}", f"Red.{ODD}", f"No.{ODD}", TURNS)


def test_a_judge_sees_the_conversation_and_both_responses_in_their_order_as_they_are() -> None:
    (message,) = verdict_prompt(PAIR, PAIR.rejected, PAIR.chosen)
    parts = [
        f"[Conversation]\n{PAIR.prompt}\n",
        f"[Start of response A]\n{PAIR.rejected}\n[End of response A]",
        f"[Start of response B]\n{PAIR.chosen}\n[End of response B]",
    ]
    places = [message.content.index(part) for part in parts]
    assert message.role == "user" and places == sorted(places)


def test_a_rater_sees_one_response_and_not_the_other() -> None:
    (message,) = rating_prompt(PAIR, PAIR.chosen)
    assert f"[Start of response]\n{PAIR.chosen}\n[End of response]" in message.content
    assert f"[Conversation]\n{PAIR.prompt}\n" in message.content
    assert PAIR.rejected not in message.content


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


def test_the_words_are_known_by_their_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = ("", "mt-bench", "rewardbench-2", "rewardbench-2-gemini")
    before = {each: digest(*each) for each in product(("judge", "rater"), prompts)}
    assert before["judge", ""].startswith("judge prompt:")
    assert len({*before.values()}) == len(before)
    monkeypatch.setitem(prompt_forms()["rater"], "user", "Other words.")
    changed = [each for each in before if digest(*each) != before[each]]
    assert changed == [("rater", "")]
