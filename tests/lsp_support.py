"""A client of ``portkit lsp`` for tests: JSON-RPC over the pipes of a process of its own.

The base protocol is that of LSP 3.17, "Base Protocol": a header with the length, then JSON.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from cli_support import PROGRAM, environment

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 300
"""How many seconds a server may take to answer: its machine may be busy with compilers."""
Message = dict[str, Any]


class Client:
    """A client that keeps what the server says, and answers what it asks."""

    def __init__(self, *, cwd: Path, variables: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*PROGRAM, "lsp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment() | (variables or {}),
        )
        self.said: list[Message] = []
        self._came: queue.Queue[Message | None] = queue.Queue()
        self._last = 0
        self._threads = [threading.Thread(target=each) for each in (self._read, self._complaints)]
        self.errors = b""
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            name, _, value = header.partition(b":")
            if name == b"Content-Length":
                length = int(value)
            elif header == b"\r\n":
                self._came.put(json.loads(self.process.stdout.read(length)))
        self._came.put(None)

    def _complaints(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()

    def send(self, message: Message | bytes) -> None:
        assert self.process.stdin is not None
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def answer(self, method: str, params: Any = None) -> Message:
        """Return the whole answer to a request."""
        self._last += 1
        self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._until(lambda m: m.get("id") == self._last and "method" not in m)

    def ask(self, method: str, params: Any = None) -> Any:
        answer = self.answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def wait(self, method: str, wanted: Any = lambda params: True) -> Any:
        """Return what the server says by itself, the next time that it does."""
        return self._until(lambda m: m.get("method") == method and wanted(m["params"]))["params"]

    def _until(self, wanted: Any) -> Message:
        while True:
            message = self._came.get(timeout=PATIENCE)
            assert message is not None, "the server has ended"
            self.said.append(message)
            if "id" in message and "method" in message:
                result = {"success": True} if message["method"] == "window/showDocument" else None
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            if wanted(message):
                return message

    def windows(self) -> list[str]:
        """Return what the server has said in the window."""
        return [
            m["params"]["message"] for m in self.said if m.get("method") == "window/showMessage"
        ]

    def initialize(self, root: Path | None, **capabilities: Any) -> Any:
        folders = [{"uri": root.as_uri(), "name": "tree"}] if root is not None else None
        params = {
            "processId": None,
            "rootUri": root.as_uri() if root is not None else None,
            "workspaceFolders": folders,
            "capabilities": capabilities,
        }
        result = self.ask("initialize", params)
        self.notify("initialized", {})
        return result

    def open(self, file: Path, text: str | None = None) -> str:
        held = file.read_bytes().decode() if text is None else text
        document = {"uri": file.as_uri(), "languageId": "rust", "version": 1, "text": held}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return held

    def change(self, file: Path, text: str, version: int = 2) -> None:
        document = {"uri": file.as_uri(), "version": version}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.notify("textDocument/didChange", params)

    def diagnostics(self, file: Path, wanted: Any = lambda found: True) -> list[Message]:
        params = self.wait(
            "textDocument/publishDiagnostics",
            lambda p: p["uri"] == file.as_uri() and wanted(p["diagnostics"]),
        )
        found: list[Message] = params["diagnostics"]
        return found

    def actions(self, file: Path, line: int) -> list[Message]:
        """Return what can be done in a line, from 0."""
        there = {"line": line, "character": 0}
        params = {
            "textDocument": {"uri": file.as_uri()},
            "range": {"start": there, "end": there},
            "context": {"diagnostics": []},
        }
        found: list[Message] = self.ask("textDocument/codeAction", params)
        return found

    def hover(self, file: Path, line: int, character: int = 0) -> Any:
        params = {
            "textDocument": {"uri": file.as_uri()},
            "position": {"line": line, "character": character},
        }
        return self.ask("textDocument/hover", params)

    def shut_down(self) -> int:
        self.ask("shutdown")
        self.notify("exit")
        return self.end()

    def end(self) -> int:
        assert self.process.stdin is not None
        code = self.process.wait(PATIENCE)
        self.process.stdin.close()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert self.process.stdout is not None and self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def applied(text: str, edits: list[Message]) -> str:
    """Return a text after edits, as a client with UTF-16 makes them; all are about the text."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(position: Message) -> int:
        begin = starts[position["line"]]
        units = text[begin:].encode("utf-16-le")[: position["character"] * 2]
        return begin + len(units.decode("utf-16-le"))

    for edit in reversed(edits):
        begin, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:begin] + edit["newText"] + text[end:]
    return text
