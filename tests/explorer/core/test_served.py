"""Answers: what of a page they touch, and streams of them that are left at their end."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.responses import Response, StreamingResponse
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from explorer.core.served import FairShare, OnePage


@pytest.mark.parametrize(
    ("line", "comes_to_its_end"),
    [('{"msg":"close_stream"}', True), ('{"msg":"heartbeat"}', False)],
)
def test_a_stream_that_told_its_end_is_not_broken_off(line: str, comes_to_its_end: bool) -> None:
    ended = False

    async def lines() -> AsyncIterator[str]:
        nonlocal ended
        yield f"data: {line}\n\n"
        ended = True

    async def visit() -> None:
        has_left = asyncio.Event()

        async def send(message: Message) -> None:
            if message.get("body"):
                has_left.set()
                await asyncio.sleep(0.1)  # the server is busy, and hears that the page has left

        async def receive() -> Message:
            await has_left.wait()
            return {"type": "http.disconnect"}

        path = "/gradio_api/queue/data"
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b""}
        share = FairShare(StreamingResponse(lines()), proxied=False)
        await share(scope, receive, send)

    asyncio.run(visit())
    assert ended is comes_to_its_end


def test_an_address_names_no_page_of_gradio() -> None:
    seen = []

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["query_string"])
        await Response()(scope, receive, send)

    client = TestClient(OnePage(answered))
    client.get("/?page=x&deep_link=y")
    client.get("/files/pairs/pairs.csv?page=x")
    assert seen == [b"", b"page=x"]
