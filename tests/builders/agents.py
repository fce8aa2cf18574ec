"""An agent's program: it starts `compilewatch mcp` and talks to it over stdio."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ListToolsResult, TextContent

from tests.builders.docker_files import ROOT

Call = tuple[str, dict[str, Any]]


class Agent:
    """Starts `compilewatch mcp` as an agent's program does, and talks to it."""

    def __init__(self, url: str, token: str = "", arguments: Sequence[str] = ("mcp",)) -> None:
        environment = {"COMPILEWATCH_URL": url, "COMPILEWATCH_TOKEN": token}
        self._server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "compilewatch_client", *arguments],
            env=environment | {"COMPILEWATCH_CONFIG": "/nonexistent", "PYTHONPATH": str(ROOT)},
        )

    def ask(self, *calls: Call) -> list[CallToolResult]:
        """The answers, in a session of their own."""
        results: list[CallToolResult] = self.talk(partial(_call_each, calls=calls))
        return results

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The document that a tool answers; it must not be an error."""
        [result] = self.ask((tool, arguments))
        assert not result.is_error, result.content
        document: dict[str, Any] | None = result.structured_content
        assert document is not None
        return document

    def error(self, tool: str, **arguments: Any) -> str:
        [result] = self.ask((tool, arguments))
        assert result.is_error, result.content
        return text_of(result)

    def tools(self) -> ListToolsResult:
        tools: ListToolsResult = self.talk(ClientSession.list_tools)
        return tools

    def talk(self, script: Callable[[ClientSession], Any]) -> Any:
        """Run the script on a session that has begun; return its result."""

        async def run() -> Any:
            async with (
                stdio_client(self._server) as (read, write),
                ClientSession(read, write) as session,
            ):
                await session.initialize()
                return await script(session)

        return anyio.run(run)


async def _call_each(session: ClientSession, calls: tuple[Call, ...]) -> list[CallToolResult]:
    await session.list_tools()  # answers are then checked against the tools' schemas
    return [await session.call_tool(tool, arguments) for tool, arguments in calls]


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text
