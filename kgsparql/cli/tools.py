"""``kgsparql tools``: the definitions of the tools, for a program that gives them to a model."""

from __future__ import annotations

from typing import Annotated

import typer

from kgsparql.cli import _common as c


@c.command
def tools(
    openai: Annotated[
        bool, typer.Option("--openai", help="JSON, as the tools of OpenAI's chat completions; else a line for each.")
    ] = False,
    output: c.OutputOption = None,
    debug: c.DebugOption = False,
) -> None:
    """List the tools that kgsparql mcp serves, or write their definitions.

    In Python, kgsparql.tools(knowledge) has the same definitions, and calls the tools.
    """
    from kgsparql.serving.tools import TOOLS, openai_tools

    if openai:
        c.write_json(openai_tools(), output)
        return
    c.write("\n".join(f"{tool.name:<7}{tool.title}" for tool in TOOLS), output)
