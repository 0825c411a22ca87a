"""The MCP server: declares the tools, and runs them in a worker."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin

from svctoolkit import __version__
from svctoolkit.agents.tool import Tool
from svctoolkit.agents.tools import TOOLS
from svctoolkit.agents.worker import Worker
from svctoolkit.errors import ConfigError

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.types import CallToolResult, TextContent, ToolAnnotations
    from pydantic import Field
except ImportError:
    raise ConfigError("the MCP server needs the package mcp: pip install 'svctoolkit[mcp]'") from None

_INSTRUCTIONS = """\
svctoolkit is an offline test bench for customer-event pipelines (RudderStack, Segment). Events run through user
transformations and destination mappings of workspace.yaml on this machine; nothing is sent, and secrets are masked.
Start with list_destinations. Before and after a change of a transformation, run run_suites; explain_failure shows the
values of every stage. run_event shows the requests of one event, lineage where each field comes from, and
explain_destination what a destination accepts. write_scenario keeps a result as a test.
"""


def mcp_server(worker: Worker) -> MCPServer:
    """Return a server with all tools, which run in `worker`."""
    server = MCPServer("svctoolkit", instructions=_INSTRUCTIONS, version=__version__, log_level="WARNING")
    for tool in TOOLS.values():
        server.add_tool(
            _function(tool, worker),
            name=tool.name,
            description=tool.description,
            annotations=ToolAnnotations(
                read_only_hint=not tool.writes, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
            structured_output=False,
        )
    return server


# Any: the SDK reads the signature of a function
def _function(tool: Tool, worker: Worker) -> Callable[..., Any]:
    """Return a function with the arguments of a tool, which calls it and returns its answer for the SDK."""

    def call(**arguments: Any) -> CallToolResult:
        answer = worker.call(tool.name, arguments, tool.seconds)
        return CallToolResult(content=[TextContent(text=answer.text)], is_error=answer.is_error)

    types = {name: _explained(hint) for name, (hint, _) in tool.arguments.items()}
    parameters = [
        parameter.replace(annotation=types[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, (_, parameter) in tool.arguments.items()
    ]
    call.__name__ = tool.name
    call.__annotations__ = {**types, "return": CallToolResult}
    call.__dict__["__signature__"] = inspect.Signature(parameters, return_annotation=CallToolResult)
    return call


def _explained(hint: Any) -> Any:
    """Return the type of an argument with its explanation in the form of the SDK."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, text = get_args(hint)
    return Annotated[kind, Field(description=text)]
