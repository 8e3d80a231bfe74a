"""The tools over the Model Context Protocol: on stdin and stdout, or over HTTP."""

from __future__ import annotations

import threading
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp

from kgsparql.errors import KgsparqlError
from kgsparql.events import Event
from kgsparql.rdf.terms import compact_json, printable
from kgsparql.rendering.text import step_words
from kgsparql.serving.guards import Guard
from kgsparql.serving.tools import INSTRUCTIONS, TOOLS, Tool, Toolbox

MOST_SESSIONS = 500
"""Over HTTP, sessions of clients at the same time, of about 40 KB each: most clients never end theirs."""
_IDLE_S = 600.0  # a session without a request or an open stream for so long is ended; its client begins another
_AT_ONCE = 4  # calls that are worked on at the same time; more wait


def make_server(toolbox: Toolbox) -> Server[Any]:
    """Make an MCP server with the tools of one graph."""
    at_once, graph = anyio.CapacityLimiter(_AT_ONCE), printable(toolbox.knowledge.graph.name, 200)

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool_definition(tool) for tool in TOOLS.values()])

    async def call_tool(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Any:
        """Call a tool in a thread; it is stopped when its request is, or when the client goes away."""
        if params.name not in TOOLS:
            raise MCPError(
                types.INVALID_PARAMS, f"no tool {printable(params.name, 40)!r}; there are: {', '.join(TOOLS)}"
            )
        cancel = threading.Event()

        def emit(event: Event) -> None:
            if (words := step_words(event)) and not cancel.is_set():
                anyio.from_thread.run(partial(context.session.report_progress, float(event.sequence), message=words))

        call = partial(toolbox.call_tool, params.name, params.arguments or {}, cancel=cancel, emit=emit)
        found = None
        try:
            found = await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=at_once)
            told = compact_json(found)
        except KgsparqlError as error:
            told = Toolbox.error_text(error)
        finally:
            cancel.set()
        text = types.TextContent(type="text", text=told)
        return types.CallToolResult(content=[text], structured_content=found, is_error=found is None)

    return Server(
        "kgsparql", version=version("kgsparql"), title=f"kgsparql: {graph}",
        instructions=f"{INSTRUCTIONS}\nThe graph: {graph}", on_list_tools=list_tools,
        on_call_tool=call_tool,
    )  # fmt: skip


def _tool_definition(tool: type[Tool]) -> types.Tool:
    return types.Tool(
        name=tool.name, description=tool.description,
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        input_schema=tool.input_schema(), output_schema=tool.output_schema(),
    )  # fmt: skip


def serve_stdio(toolbox: Toolbox) -> None:
    """Serve one client on stdin and stdout, until it closes them. Nothing else may be written to stdout."""

    async def serve() -> None:
        server = make_server(toolbox)
        async with stdio_server() as (receiving, sending):
            await server.run(receiving, sending, server.create_initialization_options())

    anyio.run(serve)


def http_app(toolbox: Toolbox, *, host: str, port: int, token: str = "") -> ASGIApp:
    """Make the streamable HTTP transport at ``/mcp`` an ASGI application, behind the same guard as the page."""
    app = make_server(toolbox).streamable_http_app(
        host=host, max_sessions=MOST_SESSIONS, session_idle_timeout=_IDLE_S,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # guarded here
    )  # fmt: skip
    return Guard(app, host=host, port=port, token=token)
