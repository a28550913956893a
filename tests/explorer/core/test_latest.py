"""Only the last question of a session counts."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from explorer.core.work import Latest
from scoring.errors import Stopped
from tests.conftest import PATIENCE


def test_sessions_are_told_apart() -> None:
    latest = Latest()
    one, other = latest.ask("one"), latest.ask("other")
    assert latest.is_last("one", one) and latest.is_last("other", other)
    assert not latest.is_last("one", other) and not latest.is_last("nobody", one)


def test_the_oldest_session_is_forgotten() -> None:
    latest = Latest(most=2)
    numbers = {session: latest.ask(session) for session in "abc"}
    assert [session for session in "abc" if latest.is_last(session, numbers[session])] == ["b", "c"]


def test_of_many_threads_one_is_the_last() -> None:
    latest = Latest()
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda _: latest.ask("page"), range(500)))
    assert len(set(numbers)) == 500
    assert [n for n in numbers if latest.is_last("page", n)] == [max(numbers)]


def test_a_question_waits_for_the_one_before_and_is_dropped_for_a_newer_one() -> None:
    latest, answered = Latest(), []

    def answer(number: int) -> bool:
        try:
            with latest.answering("page", number):
                answered.append(number)
        except Stopped:
            return False
        return True

    first = latest.ask("page")
    with ThreadPoolExecutor(2) as pool:
        with latest.answering("page", first):
            second = latest.ask("page")
            asked = pool.submit(answer, second)
            third = latest.ask("page")
            assert asked.result(PATIENCE) is False
            last = pool.submit(answer, third)
            assert answer(first) is False  # nor is an older one answered any more
            with latest.answering("other", latest.ask("other")):
                assert answered == []
        assert last.result(PATIENCE) is True
    assert answered == [third]


def test_a_question_that_fails_holds_nobody_up() -> None:
    latest = Latest()
    with pytest.raises(ValueError), latest.answering("page", latest.ask("page")):
        raise ValueError
    with latest.answering("page", latest.ask("page")):
        pass
