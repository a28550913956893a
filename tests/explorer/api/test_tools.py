"""The endpoints as tools of agents: JSON that is as it is described."""

import asyncio
import json
from typing import Any

from tests.explorer.conftest import Serve


def test_tools_answer_json_and_one_sentence(serve: Serve) -> None:
    page = serve(public=True, mcp=True).page
    tools, answers = asyncio.run(
        _asked(
            f"{page.local_url}gradio_api/mcp/",
            [
                ("leaderboard", {"limit": 3}),
                ("search_pairs", {"filters": {"section": ["Chat"]}, "page_rows": 2}),
                ("start_run", {"model": "longer", "per_subset": 1}),
                ("failures", {"model": "gone"}),
                ("failures", {"model": "gone", "limit": 0}),
            ],
        )
    )
    described = {tool.name: tool for tool in tools}
    assert described["failures"].inputSchema["properties"]["limit"]["maximum"] == 3000
    assert described["failures"].outputSchema["properties"].keys() == {"rows"}
    assert '"outcome": "loss" or "tie", "margin"' in described["failures"].description
    board, found, started, *refused = answers
    for each in (board, found, started):
        assert json.loads(each.content[0].text) == each.structuredContent
    assert len(board.structuredContent["rows"]) == 3
    assert [row["section"] for row in found.structuredContent["rows"]] == ["Chat", "Chat"]
    assert started.structuredContent["total"] == 23
    assert all(each.isError and each.structuredContent is None for each in refused)
    assert "There are no per-pair results of a model 'gone'" in refused[0].content[0].text
    assert "less than the minimum of 1" in refused[1].content[0].text


async def _asked(url: str, calls: list[tuple[str, dict[str, Any]]]) -> tuple[Any, list[Any]]:
    """The tools of a server, and what they answer; their client checks it by their schemas."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as agent:
        await agent.initialize()
        tools = (await agent.list_tools()).tools
        return tools, [await agent.call_tool(name, arguments) for name, arguments in calls]
