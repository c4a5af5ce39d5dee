"""Handle the requests of an editor."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from portkit.editor.code_actions import (
    build_exclusion,
    build_fix,
    find_cuda_counterpart,
    is_written,
    requires_action,
)
from portkit.editor.diagnostics import describe_site
from portkit.editor.server import Server
from portkit.errors import PortkitError
from portkit.profiles.settings import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.editor.diagnostics import EditorFinding
    from portkit.editor.workspace import EditorWorkspace

SHOW: Final = "portkit.show"
"""The command that brings a person to a file and a range."""
_WRITE, _EXCLUDE = "write", "exclude"


def serve_client() -> int:
    """Serve one client over standard input and output; return LSP's exit code."""
    if not os.environ.get("PORTKIT_TRACEBACK"):
        # What they log is tracebacks; what a person can act on is said in the window.
        for name in ("pygls", "asyncio"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
    server = Server()
    _add_features(server)
    server.start_io()
    return 0 if server.ended else 1


def _add_features(server: Server) -> None:
    @server.feature(lsp.INITIALIZED)
    async def _initialized(_params: lsp.InitializedParams) -> None:
        # Clients from before there were folders name a root.
        root = server.workspace.root_uri
        await server.open_folders(*([root] if root else []))

    @server.feature(lsp.SHUTDOWN)
    def _shutdown(_params: None) -> None:
        server.ended = True

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def _folders(_params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        await server.open_folders()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def _opened(params: lsp.DidOpenTextDocumentParams) -> None:
        await server.settled(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def _changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.later(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def _saved(params: lsp.DidSaveTextDocumentParams) -> None:
        await _whole(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def _closed(params: lsp.DidCloseTextDocumentParams) -> None:
        found = server.tree_of(params.text_document.uri)
        if found is not None and found[0].differs(found[1]):
            await _whole(params.text_document.uri)  # what was not saved is gone

    async def _whole(uri: str) -> None:
        if (found := server.tree_of(uri)) is not None:
            await server.refresh(found[0], whole=True)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found = await server.settled(params.text_document.uri)
        if found is None:
            return None
        tree, path = found
        here = lsp.Range(params.position, params.position)
        shown = [p for p in tree.places.get(path, ()) if p.touches(here)]
        inside = [p for p in shown if _contains(p.range, params.position)] or shown
        assert tree.scan is not None
        text = "\n\n---\n\n".join(describe_site(tree.scan, place) for place in inside)
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(content, inside[0].range) if inside else None

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix], resolve_provider=True),
    )
    async def _actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction] | None:
        uri = params.text_document.uri
        found = await server.settled(uri)
        if found is None:
            return None
        tree, path = found
        actions = [
            action
            for place in tree.places.get(path, ())
            if place.touches(params.range)
            for action in _list_actions(place, uri)
        ]
        for action in actions if not _can_resolve(server) else ():
            _resolve_action(server, tree, action)
        if (shown := _link_cuda_counterpart(server, tree, path, params.range.start)) is not None:
            actions.append(shown)
        return actions

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    async def _resolve(action: lsp.CodeAction) -> lsp.CodeAction:
        data = action.data if isinstance(action.data, dict) else {}
        found = await server.settled(str(data.get("uri", "")))
        if found is not None:
            _resolve_action(server, found[0], action)
        return action

    @server.command(SHOW)
    async def _show(uri: str, there: lsp.Range) -> None:
        await server.window_show_document_async(
            lsp.ShowDocumentParams(uri, take_focus=True, selection=there)
        )


def _list_actions(place: EditorFinding, uri: str) -> Iterator[lsp.CodeAction]:
    """Yield the actions for a finding; their edits are made when one is chosen."""
    said = f"{place.site.construct} ({place.site.code})"
    wanted = [(_WRITE, f"Write it: {said}")] if is_written(place) else []
    if requires_action(place):
        wanted.append((_EXCLUDE, f"Exclude it with a reason: {said}"))
    for what, title in wanted:
        yield lsp.CodeAction(
            title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[place.diagnostic],
            data={"do": what, "place": place.site.id, "uri": uri},
        )


def _resolve_action(server: Server, tree: EditorWorkspace, action: lsp.CodeAction) -> None:
    data = action.data if isinstance(action.data, dict) else {}
    place = tree.place(str(data.get("place", "")))
    if place is None:
        return
    documents = server.documents(tree)
    try:
        if data.get("do") == _WRITE:
            action.edit = build_fix(tree, place, documents)
        elif data.get("do") == _EXCLUDE:
            before = server.buffers(tree).get(NAME, tree.read_from_disk(NAME))
            action.edit, reason = build_exclusion(tree, place, before, documents)
            if _can_show(server):
                action.command = _build_show_command("Say why", documents.uri(NAME), reason)
    except PortkitError as error:
        server.say(str(error))


def _link_cuda_counterpart(
    server: Server, tree: EditorWorkspace, path: str, position: lsp.Position
) -> lsp.CodeAction | None:
    if not _can_show(server) or tree.scan is None or path not in tree.scan.job.workspace.sources:
        return None
    there = find_cuda_counterpart(tree, path, tree.positions(path).offset(position))
    if there is None:
        return None
    title = "Show the CUDA side"
    uri = server.documents(tree).uri(there[0])
    return lsp.CodeAction(
        title, kind=lsp.CodeActionKind.Empty, command=_build_show_command(title, uri, there[1])
    )


def _build_show_command(title: str, uri: str, there: lsp.Range) -> lsp.Command:
    return lsp.Command(title, SHOW, arguments=[uri, there])


def _can_show(server: Server) -> bool:
    """Whether the client can show a document that the server names."""
    window = server.client_capabilities.window
    return bool(window and window.show_document and window.show_document.support)


def _can_resolve(server: Server) -> bool:
    """Whether the client resolves an action when it is chosen."""
    documents = server.client_capabilities.text_document
    asked = documents.code_action.resolve_support if documents and documents.code_action else None
    return bool(asked and {"edit", "command"} <= {*asked.properties})


def _contains(there: lsp.Range, position: lsp.Position) -> bool:
    begin, end = there.start, there.end
    return (
        (begin.line, begin.character)
        <= (position.line, position.character)
        < (end.line, end.character)
    )
