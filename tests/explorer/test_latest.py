"""Only the last question of a session counts."""

from concurrent.futures import ThreadPoolExecutor

from explorer.latest import Latest


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
