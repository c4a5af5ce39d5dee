"""``portkit lsp``: the places of a tree in an editor."""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from portkit.cli.command import make_command
from portkit.cli.options import option
from portkit.cli.output import print_progress


@make_command("portkit lsp")
def lsp(
    stdio: Annotated[bool, option("--stdio", "What it speaks over; there is nothing else.")] = True,
) -> int:
    """Show findings in an editor, which starts this language server.

    Install what it needs first: `pip install '.[lsp]'` in a checkout of portkit. It writes nothing
    and runs nothing; the editor writes the fixes that you accept.
    """
    if find_spec("pygls") is None:
        raise typer.BadParameter(
            "the language server needs pygls: install portkit with it, `pip install '.[lsp]'` in a"
            " checkout of portkit"
        )
    from portkit.editor.handlers import serve_client

    if sys.stdin.isatty():
        print_progress("portkit lsp is started by an editor and waits for it; Ctrl-C ends it.")
    gc.enable()  # unlike other commands it runs for days
    return serve_client()
