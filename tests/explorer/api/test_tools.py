"""The endpoints as tools of agents."""

import ast
import asyncio
from typing import Any

from tests.explorer.conftest import Serve


def test_tools_are_described_and_answer_in_pythons_notation(serve: Serve) -> None:
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
    told = {tool.name: tool for tool in tools}
    assert told["failures"].inputSchema["properties"]["limit"].items() >= {
        "type": "integer", "default": 100, "description": "pairs at most, 1 to 3000.",
    }.items()  # fmt: skip
    assert told["failures"].description.endswith(
        "Returns: The pairs, each with its key, subset, outcome, margin and difficulty."
    )
    assert not any(",," in tool.description for tool in tools)
    board, found, started = (ast.literal_eval(each.content[0].text) for each in answers[:3])
    assert len(board["rows"]) == 3 and None in board["rows"][0].values()
    assert [row["section"] for row in found["rows"]] == ["Chat", "Chat"]
    assert started["total"] == 23
    refused = answers[3:]
    assert all(each.isError for each in refused)
    assert "There are no per-pair results of a model 'gone'" in refused[0].content[0].text
    assert "The limit is 0; it must be" in refused[1].content[0].text


async def _asked(url: str, calls: list[tuple[str, dict[str, Any]]]) -> tuple[Any, list[Any]]:
    """The tools of a server, and what they answer."""
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as agent:
        await agent.initialize()
        tools = (await agent.list_tools()).tools
        return tools, [await agent.call_tool(name, arguments) for name, arguments in calls]
