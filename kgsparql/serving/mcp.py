"""The tools over the Model Context Protocol: on stdin and stdout, or over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from kgsparql.errors import KgsparqlError
from kgsparql.events import Emit, Event
from kgsparql.rdf.terms import printable
from kgsparql.rendering.text import step_words
from kgsparql.serving.guards import Guard
from kgsparql.serving.tools import INSTRUCTIONS, TOOLS, Tool, Toolbox, error_text, to_json

if TYPE_CHECKING:
    from starlette.types import ASGIApp

INFO_URI = "kgsparql://info"
"""The resource that says what the graph holds."""
MOST_SESSIONS = 500
"""Over HTTP, sessions of clients at the same time, of about 40 KB each: most clients never end theirs."""
_IDLE_S = 600.0
"""A session without a request or an open stream for so long is ended; its client begins another."""
_AT_ONCE = 4
"""Calls that are worked on at the same time; more wait."""


def make_server(toolbox: Toolbox) -> Server[Any]:
    """Make an MCP server with the tools of one graph, and what the graph holds as a resource."""
    at_once = anyio.CapacityLimiter(_AT_ONCE)

    async def in_thread(call: Callable[[threading.Event], Any]) -> Any:
        """Return the result of a call that is stopped when its request is, or when the client goes away."""
        cancel = threading.Event()
        try:
            return await anyio.to_thread.run_sync(call, cancel, abandon_on_cancel=True, limiter=at_once)
        finally:
            cancel.set()

    async def call_tool(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Any:
        arguments = params.arguments or {}
        if all(tool.name != params.name for tool in TOOLS):
            raise MCPError(types.INVALID_PARAMS, f"no tool {printable(params.name, 40)!r}")

        def call(cancel: threading.Event) -> Any:
            return to_json(toolbox.call(params.name, arguments, cancel=cancel, emit=_progress_of(context, cancel)))

        try:
            found = await in_thread(call)
        except KgsparqlError as error:
            return types.CallToolResult(content=[_text_content(error_text(error))], is_error=True)
        return types.CallToolResult(content=[_text_content(_json_text(found))], structured_content=found)

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        if str(params.uri) != INFO_URI:
            raise MCPError(types.INVALID_PARAMS, f"no resource {printable(str(params.uri), 100)!r}", {"uri": INFO_URI})
        try:
            text = _json_text(to_json(await in_thread(lambda cancel: toolbox.call("info", {}, cancel=cancel))))
        except KgsparqlError as error:
            raise MCPError(types.INTERNAL_ERROR, error_text(error)) from error
        contents = types.TextResourceContents(uri=INFO_URI, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "kgsparql", version=version("kgsparql"), title=f"kgsparql: {printable(toolbox.name, 100)}",
        instructions=f"{INSTRUCTIONS}\nThe graph: {printable(toolbox.name, 200)}", on_list_tools=_list_tools,
        on_call_tool=call_tool, on_list_resources=_list_resources, on_read_resource=read_resource,
    )  # fmt: skip


async def _list_tools(_: Any, __: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[_tool_definition(tool) for tool in TOOLS])


async def _list_resources(_: Any, __: Any) -> types.ListResourcesResult:
    about = types.Resource(
        uri=INFO_URI, name="info", title="What the graph holds", mime_type="application/json",
        description="Its size, commonest classes and predicates, and prefixes; the tool `info` can list more.",
    )  # fmt: skip
    return types.ListResourcesResult(resources=[about])


def serve_stdio(toolbox: Toolbox) -> None:
    """Serve one client on stdin and stdout, until it closes them. Nothing else may be written to stdout."""

    async def serve() -> None:
        server = make_server(toolbox)
        async with stdio_server() as (receiving, sending):
            await server.run(receiving, sending, server.create_initialization_options())

    anyio.run(serve)


def http_app(toolbox: Toolbox, *, host: str, port: int, token: str = "") -> ASGIApp:
    """Make the streamable HTTP transport at ``/mcp`` an ASGI application, behind the same guard as the page.

    :param host: the address that it is bound to.
    """
    guarded_here = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = make_server(toolbox).streamable_http_app(
        host=host, transport_security=guarded_here, max_sessions=MOST_SESSIONS, session_idle_timeout=_IDLE_S
    )
    return Guard(app, host=host, port=port, token=token)


def _tool_definition(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        title=tool.title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.input_schema,
        output_schema=tool.output_schema, annotations=hints,
    )  # fmt: skip


def _progress_of(context: ServerRequestContext[Any], cancel: threading.Event) -> Emit:
    """Make what tells the client of each step, if it asked for that, from the thread that the call runs in."""
    report = context.session.report_progress

    def emit(event: Event) -> None:
        words = step_words(event)
        if words and not cancel.is_set():
            anyio.from_thread.run(partial(report, message=words), float(event.sequence))

    return emit


def _text_content(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _json_text(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
