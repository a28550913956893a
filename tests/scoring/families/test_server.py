"""How a server is asked: at once, again, after a pause, not for ever, and without telling a key."""

import logging
import threading
from typing import Any

import pytest

from scoring.errors import KnownError
from scoring.families import server as server_module
from scoring.families.server import KEY_VARIABLE, RequestFailed, Server
from tests.conftest import PATIENCE
from tests.support.chat_server import Answer, ChatServer, InTurn, error, nowhere
from tests.support.named_rows import by_sentence

SECRET = "sk-do-not-tell-4711"


def number(answer: Any) -> int:
    found: int = answer["n"]
    return found


def ask_all(server: Server, n: int = 1) -> list[int | None]:
    answers = server.each(lambda item: server.post("/echo", {"n": item}, number), range(n))
    return [answers.get(item) for item in range(n)]


def echo(path: str, body: dict[str, Any]) -> Answer:
    return Answer(body)


def test_answers_come_in_the_order_of_the_items_and_not_too_many_are_asked_for_at_once() -> None:
    """And text that no encoding can write is sent all the same."""
    together = threading.Barrier(3, timeout=PATIENCE)

    def answer(path: str, body: dict[str, Any]) -> Answer:
        if body["n"] in range(9):
            together.wait()
        return Answer(body, wait=0 if body["n"] else 0.1)

    with ChatServer(answer) as model:
        assert ask_all(Server(model.url + "/v1/", 3), 9) == list(range(9))
        assert {asked.path for asked in model.asked} == {"/v1/echo"}
        assert model.most_at_once == 3
        body = {"n": "\ud800 \N{GRINNING FACE}"}
        assert Server(model.url, 1).post("/echo", body, lambda answer: answer) == body


def test_what_may_pass_is_asked_again() -> None:
    passing = (error(429), Answer({}, cut=9))
    with ChatServer(InTurn(*passing, Answer({"n": 7}))) as model:
        assert ask_all(Server(model.url, 1)) == [7]
        assert len(model.asked) == 3


def test_what_never_passes_is_missing_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with ChatServer(InTurn(error(500, "out of\nluck"))) as model, caplog.at_level(logging.WARNING):
        server = Server(model.url, 2)
        assert ask_all(server, 2) == [None, None]
        assert len(model.asked) == 2 * server_module.TRIES
    [record] = caplog.records
    assert record.name == "scoring.families.server"
    assert "it answered 500, out of luck" in record.getMessage()
    [told] = server.errors.sentences()
    assert told.endswith("failed, its pair is missing: 2 times in all.")


@pytest.mark.parametrize(
    "answer", [error(400), error(413), *map(Answer, (b'{"n": 1', b"\xff", {"m": 1}, "n"))]
)
def test_a_refused_request_is_missing_as_an_answer_that_cannot_be_read(answer: Answer) -> None:
    with ChatServer(InTurn(answer, Answer({"n": 2}))) as model:
        assert ask_all(Server(model.url, 1), 2) == [None, 2]
        assert len(model.asked) == 2  # it is not sent again


def test_a_server_that_stalls_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "READ_SECONDS", 1)
    with ChatServer(lambda _, body: Answer(body, wait=0 if body["n"] else PATIENCE)) as model:
        server = Server(model.url, 2)
        assert ask_all(server, 2) == [None, 1]
        assert len(model.asked) == 1 + server_module.TRIES
    assert "it took too long" in caplog.text


@pytest.mark.parametrize("status", [301, 401, 404])
def test_a_server_that_refuses_everything_ends_the_run(status: int) -> None:
    with ChatServer(InTurn(error(status))) as model:
        with pytest.raises(KnownError, match=rf"{model.url}.*{status}"):
            ask_all(Server(model.url, 1), 100)
        assert len(model.asked) == 1  # neither tried again nor gone on with


def test_many_failures_in_a_row_end_the_run_and_those_between_answers_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_module, "GIVE_UP", 3)
    refused = error(400, "no temperature here")
    with ChatServer(InTurn(*[refused, refused, Answer({"n": 0})] * 3, refused)) as model:
        server = Server(model.url, 1)
        assert ask_all(server, 9) == [None, None, 0] * 3
        with pytest.raises(KnownError, match=r"3 requests in a row.*no temperature here"):
            ask_all(server, 100)
        assert len(model.asked) == 12


def test_an_end_waits_neither_for_what_is_under_way_nor_for_a_pause() -> None:
    reached, over = threading.Barrier(3, timeout=PATIENCE), threading.Event()
    threads: list[threading.Thread] = []
    waited_for: list[bool] = []

    def answer(path: str, body: dict[str, Any]) -> Answer:
        reached.wait()
        if body["n"]:
            waited_for.append(not over.wait(PATIENCE))
        return error(429, Retry_After="600")

    with ChatServer(answer) as model:
        server = Server(model.url, 3)

        def ask(item: int) -> int:
            threads.append(threading.current_thread())
            if item == 2:
                reached.wait()
                raise KnownError("enough")
            return server.post("/echo", {"n": item}, number)

        with pytest.raises(KnownError, match="enough"):
            server.each(ask, range(100))
        assert (len(model.asked), waited_for) == (2, [])
        over.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_a_server_that_is_not_there_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_PAUSE", "LONGEST_PAUSE"):
        monkeypatch.setattr(server_module, name, 10**6)
    with pytest.raises(KnownError, match=r"cannot be reached.*Check that it runs"):
        ask_all(Server(nowhere(), 8), 100)


@pytest.mark.parametrize("asked", ["1000000", "soon", "Wed, 21 Oct 9999999999999999 07:28:00 GMT"])
def test_no_server_is_waited_for_longer_than_the_longest(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "LONGEST_RETRY_AFTER", 0.01)
    with ChatServer(InTurn(error(429, Retry_After=asked), Answer({"n": 1}))) as model:
        assert ask_all(Server(model.url, 1)) == [1]


def test_a_server_that_asks_to_wait_is_left_alone_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request is told to wait, and fails; the next one waits for that, too."""
    monkeypatch.setattr(server_module, "TRIES", 1)
    with ChatServer(InTurn(error(429, Retry_After="0.5"), Answer({"n": 1}))) as model:
        server = Server(model.url, 2)
        assert ask_all(server) + ask_all(server) == [None, 1]
        first, second = model.asked
    assert second.at - first.at >= 0.5


def test_the_key_is_sent_and_never_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, f" {SECRET}\n")
    caplog.set_level(logging.DEBUG)
    told = f"Incorrect key {SECRET[:-2]}**"
    for status in (200, 400, 401, 403, 404, 307, 500):
        answer = error(status, told if status in (401, 403) else SECRET)
        with ChatServer(InTurn(answer)) as model:
            server = Server(model.url, 1)
            failures = []
            for ask in (ask_all, lambda given: given.post("/echo", {}, number)):
                with pytest.raises((KnownError, RequestFailed, StopIteration)) as raised:
                    ask(server)
                    raise StopIteration
                failures.append(str(raised.value))
            assert {asked.authorization for asked in model.asked} == {f"Bearer {SECRET}"}
        assert SECRET[:-2] not in " ".join(failures)
    assert SECRET[:-2] not in caplog.text
    assert "127.0.0.1" in caplog.text


def test_without_a_key_none_is_sent_and_a_refusal_says_where_it_belongs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer(InTurn(Answer({"n": 0}), error(401))) as model:
        server = Server(model.url, 1)
        assert ask_all(server) == [0]
        assert [asked.authorization for asked in model.asked] == [None]
        with pytest.raises(KnownError, match=f"wants a key.*{KEY_VARIABLE}"):
            ask_all(server)
        monkeypatch.setenv(KEY_VARIABLE, SECRET)
        with pytest.raises(KnownError, match=f"does not accept the key in {KEY_VARIABLE}"):
            ask_all(Server(model.url, 1))


@pytest.mark.parametrize("key", ["sk-\nHost: evil-4711", "sk-\u00e4-4711"])
def test_a_key_that_cannot_be_sent_is_refused_untold(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(KnownError, match=KEY_VARIABLE) as raised:
        Server("http://localhost:8000", 1)
    assert "4711" not in str(raised.value)


def test_a_redirect_takes_no_text_elsewhere() -> None:
    with ChatServer(echo) as other:
        moved = error(307, Location=other.url + "/echo")
        with ChatServer(InTurn(moved)) as model, pytest.raises(KnownError, match=other.url):
            ask_all(Server(model.url, 1))
        assert other.asked == []


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nowhere())
    with ChatServer(echo) as model:
        assert ask_all(Server(model.url, 1)) == [0]


@pytest.mark.parametrize(
    ("url", "said"),
    by_sentence(
        *(
            (url, "no address of a server")
            for url in ("localhost:8000", "http://", "http://x..y", "http://h:99999", "file:///etc")
        ),
        ("http://me:hunter2@host/v1", KEY_VARIABLE),
    ),
)
def test_what_is_no_address_or_holds_a_password_is_refused_untold(url: str, said: str) -> None:
    with pytest.raises(KnownError, match=said) as raised:
        Server(url, 1)
    assert "hunter2" not in str(raised.value)
