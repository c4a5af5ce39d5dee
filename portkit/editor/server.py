"""The language server, over standard input and output.

A change of a document is looked at when its writer pauses, by the document's buffer; what the tree
as a whole says is learnt anew when a document is saved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import from_fs_path, to_fs_path

from portkit import __version__
from portkit.editor.code_actions import Documents
from portkit.editor.workspace import EditorWorkspace
from portkit.errors import PortkitError, format_error
from portkit.workspace.cargo_workspace import find_workspace_root

PAUSE: Final = 0.2
"""How many seconds a writer pauses before a change is looked at."""


class _Protocol(LanguageServerProtocol):
    """The protocol, in which a request that cannot be read is answered, and not passed over."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, error.to_response_error())
            # A message of no version is left alone.
            return lsp.ExitNotification(jsonrpc="")


class Server(LanguageServer):
    """The server, with a tree for each workspace that is open.

    Attributes:
        ended: whether the client has said that it needs no more.
    """

    def __init__(self) -> None:
        # Whole documents, since not everyone counts the same characters as line ends.
        super().__init__(
            "portkit",
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Full,
            protocol_cls=_Protocol,
        )
        self.trees: dict[Path, EditorWorkspace] = {}
        self.ended = False
        self._lock = asyncio.Lock()
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._shown: dict[str, list[lsp.Diagnostic]] = {}
        self._said: dict[Path, str] = {}

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Say that a message could not be read, or that portkit has failed on one."""
        said = format_error(error)
        self.say(f"portkit could not do what the editor sent ({said})")

    def say(self, sentence: str) -> None:
        """Show a sentence in the editor's window."""
        self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, sentence))

    async def open_folders(self, *others: str) -> None:
        """Look at each folder that is open and was not, and let the others go.

        Args:
            others: the URIs of folders that stand for those where there are none.
        """
        folders = [folder.uri for folder in self.workspace.folders.values()] or others
        roots = {root for uri in folders if (root := _find_root(_parse_uri(uri))) is not None}
        for root in roots - self.trees.keys():
            self._add(root)
        for root in self.trees.keys() - roots:
            gone = [uri for uri in self._shown if self._is_of(self.trees[root], uri)]
            del self.trees[root]
            for uri in gone:
                self._show(uri, [])
        for tree in [*self.trees.values()]:
            await self.refresh(tree)

    def _add(self, root: Path) -> EditorWorkspace:
        encoding = self.workspace.position_encoding or lsp.PositionEncodingKind.Utf16
        self.trees[root] = tree = EditorWorkspace(root, encoding)
        return tree

    def tree_of(self, uri: str) -> tuple[EditorWorkspace, str] | None:
        """Return the tree that a document belongs to, and its path there; none outside of any.

        Where no folder is open, the workspace above the first document is.
        """
        path = _parse_uri(uri)
        if path is None:
            return None
        if not self.trees and not self.workspace.folders and not self.workspace.root_uri:
            root = _find_root(path.parent)
            if root is not None:
                self._add(root)
        found = [
            (tree, below) for r, tree in self.trees.items() if (below := _relative_path(r, path))
        ]
        return max(found, key=lambda each: len(each[0].root.parts), default=None)

    def documents(self, tree: EditorWorkspace) -> Documents:
        """Return the client's names of a tree's files."""
        known = dict(self._open(tree))

        def uri(path: str) -> str:
            return known.get(path) or from_fs_path(str(tree.root / path)) or ""

        def version(path: str) -> int | None:
            document = self.workspace.text_documents.get(known.get(path, ""))
            return document.version if document is not None else None

        return Documents(uri, version)

    def buffers(self, tree: EditorWorkspace) -> Mapping[str, bytes]:
        """Return the contents of a tree's open documents."""
        return {path: self._text(uri) for path, uri in self._open(tree)}

    def _open(self, tree: EditorWorkspace) -> Iterator[tuple[str, str]]:
        for uri in self.workspace.text_documents:
            found = self.tree_of(uri)
            if found is not None and found[0] is tree:
                yield found[1], uri

    def _text(self, uri: str) -> bytes:
        # Half a surrogate pair may be sent as well (RFC 8259, section 8.2).
        text: str = self.workspace.text_documents[uri].source
        return text.encode(errors="replace")

    async def refresh(self, tree: EditorWorkspace, *, whole: bool = False) -> bool:
        """Scan a tree, or its changed documents, and publish the findings.

        Returns:
            Whether there is a scan.
        """
        async with self._lock:
            if tree.root in self._said and tree.scan is None and not whole:
                return False  # something has to be saved before it is another tree
            try:
                await asyncio.to_thread(tree.rescan, self.buffers(tree), whole=whole)
            except PortkitError as error:
                self._fail(tree, str(error))
            except Exception as error:
                said = format_error(error)
                self._fail(tree, f"this is a defect of portkit, please report it ({said})")
            else:
                self._said.pop(tree.root, None)
            if tree.scan is not None:
                self._publish(tree)
        return tree.scan is not None

    def _fail(self, tree: EditorWorkspace, sentence: str) -> None:
        if self._said.get(tree.root) != sentence:
            self._said[tree.root] = sentence
            self.say(sentence)

    def _publish(self, tree: EditorWorkspace) -> None:
        documents = self.documents(tree)
        now = {
            documents.uri(path): [place.diagnostic for place in found]
            for path, found in tree.places.items()
        }
        gone = [uri for uri in self._shown if uri not in now and self._is_of(tree, uri)]
        for uri, diagnostics in (*now.items(), *((uri, []) for uri in gone)):
            self._show(uri, diagnostics)

    def _show(self, uri: str, diagnostics: list[lsp.Diagnostic]) -> None:
        if self._shown.get(uri, []) != diagnostics:
            document = self.workspace.text_documents.get(uri)
            version = document.version if document is not None else None
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(uri, diagnostics, version)
            )
            self._shown[uri] = diagnostics

    def _is_of(self, tree: EditorWorkspace, uri: str) -> bool:
        found = self.tree_of(uri)
        return found is not None and found[0] is tree

    def later(self, uri: str) -> None:
        """Look at a document when its writer pauses."""
        if (pending := self._pending.pop(uri, None)) is not None:
            pending.cancel()

        async def wait() -> None:
            await asyncio.sleep(PAUSE)
            self._pending.pop(uri, None)
            if (found := self.tree_of(uri)) is not None:
                await self.refresh(found[0])

        self._pending[uri] = asyncio.ensure_future(wait())

    async def settled(self, uri: str) -> tuple[EditorWorkspace, str] | None:
        """Return the tree and the path of a document after its buffer was scanned, or None."""
        found = self.tree_of(uri)
        return found if found is not None and await self.refresh(found[0]) else None


def _parse_uri(uri: str) -> Path | None:
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
    except ValueError:
        return None
    return Path(path) if path else None


def _find_root(folder: Path | None) -> Path | None:
    """Return the root of the workspace of a folder, as the client writes it where that is it."""
    if folder is None:
        return None
    root = find_workspace_root(folder)
    return folder if root is None or root == folder.resolve() else root


def _relative_path(root: Path, path: Path) -> str:
    for base, file in ((root, path), (root.resolve(), path.resolve())):
        if file.is_relative_to(base):
            return file.relative_to(base).as_posix()
    return ""
