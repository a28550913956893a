"""Whose a post is, and answers: how many at once, what of a page they touch, how streams end."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from explorer.core.clients import client_address
from explorer.core.served import MOST_OF_ADDRESS, MOST_PAGES, Bounded, FairShare, OnePage
from tests.conftest import PATIENCE


async def gone() -> Message:
    """What a server hears of a page that has left."""
    return {"type": "http.disconnect"}


def scope_of(method: str, path: str) -> Scope:
    scope = {"type": "http", "method": method, "path": path, "query_string": b"page=x"}
    return scope | {"headers": [], "scheme": "http", "client": ("127.0.0.1", 5000)}


@pytest.mark.parametrize(
    ("line", "comes_to_its_end"), [('{"msg":"close_stream"}', True), ('{"msg":"heartbeat"}', False)]
)
def test_a_stream_that_told_its_end_is_not_broken_off(line: str, comes_to_its_end: bool) -> None:
    ended = False

    async def lines() -> AsyncIterator[str]:
        nonlocal ended
        yield f"data: {line}\n\n"
        ended = True

    has_left = asyncio.Event()

    async def send(message: Message) -> None:
        if message.get("body"):
            has_left.set()
            for _ in range(100):  # the server is busy, and hears that the page has left
                await asyncio.sleep(0)

    async def receive() -> Message:
        await has_left.wait()
        return await gone()

    share = FairShare(StreamingResponse(lines()), proxies=0)
    asyncio.run(share(scope_of("GET", "/gradio_api/queue/data"), receive, send))
    assert ended is comes_to_its_end


def test_an_address_names_no_page_of_gradio_and_a_crowd_of_slow_readers_holds_up_nobody() -> None:
    making, at_once, queries = list[int](), list[int](), dict[str, bytes]()

    async def answered(scope: Scope, _: Receive, send: Send) -> None:
        queries[scope["path"]] = scope["query_string"]
        making.append(1)
        at_once.append(len(making))
        await asyncio.sleep(0)
        making.pop()
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def visits() -> None:
        began, read = list[Message](), asyncio.Event()

        async def send(message: Message) -> None:
            began.append(message)
            await read.wait()

        guard = OnePage(answered)
        pages = [guard(scope_of("GET", "/"), gone, send) for _ in range(3 * MOST_PAGES)]
        crowd = asyncio.gather(*pages, guard(scope_of("GET", "/files"), gone, send))
        while len(began) <= len(pages):
            await asyncio.sleep(0)
        read.set()
        await crowd

    asyncio.run(asyncio.wait_for(visits(), PATIENCE))
    assert max(at_once) == MOST_PAGES + 1, "and a file"
    assert queries == {"/": b"", "/files": b"page=x"}


def test_posts_that_are_under_way_count_as_an_address_share() -> None:
    asked, statuses = list[Scope](), list[int]()

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope)
        await share({**scope}, receive, send)  # the next one comes while this one is under way

    async def send(message: Message) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    share = FairShare(answered, proxies=0)
    asyncio.run(share(scope_of("POST", "/gradio_api/call/start_run"), gone, send))
    assert (len(asked), statuses) == (MOST_OF_ADDRESS, [503])


def test_who_leaves_before_an_answer_comes_is_served_again() -> None:
    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await Response(f'{{"event_id":"{uuid4().hex}"}}')(scope, receive, send)

    share = FairShare(Bounded(answered, 1000, None), proxies=0)
    client = TestClient(share, client=("127.0.0.1", 50_000))

    def asks() -> int:
        body = '{"session_hash": "mine", "data": []}'
        return client.post("/gradio_api/queue/join", content=body).status_code

    assert [asks() for _ in range(MOST_OF_ADDRESS + 1)] == [200] * MOST_OF_ADDRESS + [503]
    client.get("/gradio_api/queue/data?session_hash=another")
    assert asks() == 503
    client.get("/gradio_api/queue/data?session_hash=mine")
    assert asks() == 200


def test_a_body_without_end_is_refused_before_it_fills_the_memory() -> None:
    chunks, sent = iter([b"x" * 10_000] * 20), list[Message]()

    async def receive() -> Message:
        return {"type": "http.request", "body": next(chunks), "more_body": True}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = scope_of("POST", "/gradio_api/queue/join")
    asyncio.run(Bounded(Response(), 50_000, None)(scope, receive, send))
    assert sent[0]["status"] == 413 and len([*chunks]) == 14


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        ("192.168.0.1", "1.1.1.1,8.8.8.8 , 10.0.0.1,127.0.0.1", "8.8.8.8"),
        ("::ffff:10.0.0.1", "8.8.8.8", "8.8.8.8"),
        ("10.1.2.3", "8.8.8.8, <script>", ""),
        (7, ["8.8.8.8"], ""),
        ("10.0.0.1", "8.8.8.8," + "10.0.0.1," * 100_000 + "10.0.0.2", ""),
    ],
)
def test_what_a_client_makes_up_does_not_hide_its_address(
    peer: object, forwarded: object, counted: str
) -> None:
    assert client_address(peer, forwarded, proxies=1) == counted
