"""``portkit lsp``, by a client that speaks the protocol over the pipes of a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import LIB, MATMUL, PROGRAM, add_file, environment, invoke, make_candle
from lsp_support import PATIENCE, Client, Message, applied
from lsprotocol.types import Position, Range

from portkit.editor.positions import START, Positions
from portkit.engine.session import open_session, scan_tree
from portkit.profiles.settings import parse_settings
from portkit.syntax.source_file import SourceFile
from portkit.syntax.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWS = {"showDocument": {"support": True}}
RESOLVES = {"codeAction": {"resolveSupport": {"properties": ["edit", "command"]}}}


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    made = Client(cwd=tmp_path)
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.end()
    assert b"Traceback" not in made.errors, made.errors.decode()


def by_code(found: list[Message], code: str) -> Message:
    (wanted,) = [each for each in found if each["code"] == code]
    return wanted


def titled(actions: list[Message], title: str) -> Message:
    (wanted,) = [each for each in actions if each["title"].startswith(title)]
    return wanted


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n")


def test_a_session(client: Client, candle: Path) -> None:
    """Diagnostics, a hover, a change and the end; nothing is written."""
    before = {p: p.read_bytes() for p in candle.rglob("*") if p.is_file()}
    capabilities = client.initialize(candle)["capabilities"]
    assert capabilities["hoverProvider"]
    assert capabilities["textDocumentSync"]["change"] == 1  # whole documents
    lib = candle / LIB
    found = client.diagnostics(lib)
    assert sorted(each["code"] for each in found) == ["PK301", "PK503", "PK505"]
    arm = by_code(found, "PK301")
    assert arm["severity"] == 2  # as SARIF's warning, for what apply writes
    assert arm["message"].endswith("(mechanical)")
    assert arm["data"]["place"].startswith("PK301-")
    assert arm["codeDescription"]["href"].endswith("docs/rules/PK301-match-arm.md")
    assert by_code(client.diagnostics(candle / MATMUL), "PK401")["severity"] == 3

    text = client.open(lib)
    hover = client.hover(lib, arm["range"]["start"]["line"], arm["range"]["start"]["character"])
    said = hover["contents"]["value"]
    assert "mechanical: portkit apply writes this" in said
    assert "Rocm" in said and "```diff" in said
    page = " ".join(invoke("explain", "PK301").out.split("\n\n", 1)[1].split())
    assert page in " ".join(said.split())

    # The buffer counts, not the file.
    client.change(lib, f"// é𝄞\n\n{text}")
    moved = client.diagnostics(lib)
    assert [each["range"]["start"]["line"] - 2 for each in moved] == [
        each["range"]["start"]["line"] for each in found
    ]
    client.change(lib, "", 3)
    assert client.diagnostics(lib) == []
    document = {"textDocument": {"uri": lib.as_uri()}}
    client.notify("textDocument/didClose", document)  # without saving
    assert client.diagnostics(lib) == found
    assert client.shut_down() == 0
    assert client.windows() == []
    assert client.errors == b""
    assert {p: p.read_bytes() for p in candle.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("resolves", [False, True])
def test_a_place_is_written_by_the_editor(
    client: Client, candle: Path, ends: str, resolves: bool
) -> None:
    """What the edits make is what ``apply --at`` makes."""
    lib = candle / LIB
    lib.write_bytes(lib.read_text().replace("\n", ends).encode())
    client.initialize(candle, textDocument=RESOLVES if resolves else {})
    text = client.open(lib)
    found = client.diagnostics(lib)
    line = by_code(found, "PK505")["range"]["start"]["line"]
    action = titled(client.actions(lib, line), "Write it: enum variant")
    assert ("edit" in action) is not resolves
    if resolves:
        action = client.ask("codeAction/resolve", action)
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": lib.as_uri(), "version": 1}
    made = applied(text, change["edits"])
    done = invoke("apply", candle, "--at", f"{lib}:{line + 1}", "--no-format", "--allow-dirty")
    assert done.code == 0, done.err
    assert lib.read_bytes().decode() == made
    assert "Rocm(usize)" in made and made.count(ends) == made.count("\n")
    client.change(lib, made)
    after = by_code(client.diagnostics(lib), "PK505")
    assert after["message"].endswith("(ported)") and after["severity"] == 4


def test_what_compiles_nowhere_alone_is_not_written(client: Client, candle: Path) -> None:
    client.initialize(candle)
    lib = candle / LIB
    line = by_code(client.diagnostics(lib), "PK301")["range"]["start"]["line"]
    action = titled(client.actions(lib, line), "Write it: match arm")
    assert "edit" not in action
    (message,) = client.windows()
    assert "no build would compile" in message


def test_files_are_added_by_the_editor(client: Client, candle: Path) -> None:
    """A file that does not stand yet is shown at the manifest of the root."""
    client.initialize(candle)
    manifest = candle / "Cargo.toml"
    found = client.diagnostics(manifest)
    assert "PK203" in {each["code"] for each in found}
    added = [each for each in client.actions(manifest, 0) if each["title"].startswith("Write it")]
    changes = [change for each in added for change in each["edit"]["documentChanges"]]
    made = {c["uri"] for c in changes if c.get("kind") == "create"}
    assert invoke("apply", candle).code == 0
    texts = {c["textDocument"]["uri"]: c["edits"][0]["newText"] for c in changes if "edits" in c}
    assert made == texts.keys()
    for uri, text in texts.items():
        file = Path(uri.removeprefix("file://"))
        assert file.is_file() and (file.suffix == ".rs" or file.read_text() == text)


def test_a_place_is_kept_by_the_editor(client: Client, candle: Path) -> None:
    """The entry is the one of ``review --keep``; the person is brought to its reason."""
    client.initialize(candle, window=SHOWS)
    file = candle / MATMUL
    line = by_code(client.diagnostics(file), "PK401")["range"]["start"]["line"]
    settings_file = candle / "portkit.toml"
    for before in (None, 'gating = "cfg"'):
        if before is not None:
            settings_file.write_text(before)
        action = titled(client.actions(file, line), "Exclude it with a reason")
        *created, change = action["edit"]["documentChanges"]
        assert [each["kind"] for each in created] == ([] if before else ["create"])
        made = applied(before or "", change["edits"])
        (skip,) = parse_settings(SourceFile("portkit.toml", made.encode())).skips
        assert (skip.codes, skip.paths) == (("PK401",), (MATMUL,))
        uri, there = action["command"]["arguments"]
        assert uri == settings_file.as_uri()
        shown = made.splitlines()[there["start"]["line"]]
        assert shown[there["start"]["character"] : there["end"]["character"]] == skip.reason
    client.ask("workspace/executeCommand", action["command"])
    (asked,) = [m["params"] for m in client.said if m.get("method") == "window/showDocument"]
    assert asked["selection"] == there
    settings_file.write_text(made)
    client.notify("textDocument/didSave", {"textDocument": {"uri": file.as_uri()}})
    assert by_code(client.diagnostics(file), "PK401")["severity"] == 4


def test_what_was_accepted_is_not_kept_with_another(client: Client, candle: Path) -> None:
    """A skip would take the answer back: nothing is changed, and the window says what to write."""
    own = candle / "candle-core/src/own.rs"
    own.write_text(
        "pub fn wide(d: &crate::Device) -> bool {\n"
        "    let one = if d.is_metal() { 1 } else { 2 };\n"
        "    let two = if d.is_metal() { 3 } else { 4 };\n    one == two\n}\n"
    )
    assert invoke("review", candle, "--accept", f"{own}:3").code == 0
    client.initialize(candle, window=SHOWS)
    assert len(client.diagnostics(own)) == 2
    action = titled(client.actions(own, 1), "Exclude it with a reason")
    assert "edit" not in action
    (said,) = client.windows()
    assert "own.rs:3 too, which you accepted" in said
    assert "write `// portkit: exclude PK405 REASON` above" in said


def test_the_cuda_side_of_what_stands_for_rocm(client: Client, candle: Path) -> None:
    assert invoke("apply", candle, "--no-format").code == 0
    client.initialize(candle, window=SHOWS)
    lib = candle / LIB
    text = client.open(lib)
    by_code(client.diagnostics(lib), "PK301")
    own = client.actions(lib, line_of(text, "Self::Rocm(_) =>"))
    uri, there = titled(own, "Show the CUDA side")["command"]["arguments"]
    assert uri == lib.as_uri()
    assert "Self::Cuda(_) =>" in text.splitlines()[there["start"]["line"]]
    assert client.actions(lib, 0) == []


def test_the_cuda_side_of_a_copied_file(client: Client, candle: Path) -> None:
    code = b"pub struct CudaEvent;\n\nimpl CudaEvent {\n    pub fn wait(&self) {}\n}\n"
    origin = add_file(candle, "candle-core/src/cuda_backend/mod.rs", code)
    assert invoke("apply", candle, "--no-format", "--allow-dirty").code == 0
    copy = candle / "candle-core/src/rocm_backend/mod.rs"
    client.initialize(candle, window=SHOWS)
    text = client.open(copy)
    wanted = line_of(text, "fn wait")
    uri, there = titled(client.actions(copy, wanted), "Show")["command"]["arguments"]
    assert uri == origin.as_uri()
    shown = code.decode().splitlines()[there["start"]["line"]]
    assert "fn wait" in shown


@pytest.mark.parametrize(
    ("encoding", "character"), [("utf-8", 11), ("utf-16", 8), ("utf-32", 7), (None, 8)]
)
def test_positions_count_as_negotiated(
    client: Client, candle: Path, encoding: str | None, character: int
) -> None:
    # /*é𝄞*/ takes 10, 7 and 6 units; with the space that follows one more.
    file = candle / MATMUL
    text = file.read_text()
    line = next(each for each in text.splitlines() if "is_cuda" in each)
    marked = "/*é𝄞*/ let fits = device.is_cuda();"
    file.write_text(text.replace(line, marked))
    general = {"positionEncodings": [encoding]} if encoding else {}
    capabilities = client.initialize(candle, general=general)["capabilities"]
    assert capabilities["positionEncoding"] == (encoding or "utf-16")
    found = by_code(client.diagnostics(file), "PK401")
    begin = marked.index("device.is_cuda") - 7  # behind the comment all is ASCII
    assert found["range"]["start"]["character"] == character + begin


def test_lines_end_as_the_protocol_says() -> None:
    data = "a\rb\r\né𝄞c\u2028d\x0be\n".encode()
    positions = Positions(data, "utf-16")
    assert positions.position(data.index(b"b")) == Position(1, 0)
    at = data.index(b"d")
    assert positions.position(at) == Position(2, 5)
    assert positions.offset(Position(2, 5)) == at
    assert positions.position(data.index(b"\n")) == Position(1, 1)  # between the two of an end
    assert positions.offset(Position(1, 99)) == data.index(b"\r\n")
    assert positions.offset(Position(99, 0)) == len(data)
    assert positions.offset(Position(2, 2)) == data.index("𝄞".encode())  # half a character
    assert positions.range(Span(0, 0)) == START
    assert positions.range(Span(0, at), first_line=True) == Range(Position(0, 0), Position(0, 1))


def test_one_file_again_is_the_tree_again(candle: Path) -> None:
    """What a change of one file gives is what a scan of the tree gives."""
    lib = candle / LIB
    changed = lib.read_bytes().replace(
        b"pub fn is_cuda", b"// portkit: exclude PK503 no\npub fn is_cuda"
    )
    assert changed != lib.read_bytes()
    again = open_session(candle).again(LIB, changed).scan
    lib.write_bytes(changed)
    found = scan_tree(candle)

    def told(findings: Any) -> list[Any]:
        return [(f.code, f.path, f.span, f.message, f.status, f.edits) for f in findings]

    assert told(again.findings) == told(found.findings)
    assert again.unaccounted == found.unaccounted


def test_a_tree_that_cannot_be_scanned_is_one_message(client: Client, tmp_path: Path) -> None:
    (tmp_path / "plain/src").mkdir(parents=True)
    (tmp_path / "plain/Cargo.toml").write_text('[package]\nname = "plain"\nversion = "0.1.0"\n')
    lib = tmp_path / "plain/src/lib.rs"
    lib.write_text("pub fn f() {}\n")
    client.initialize(tmp_path / "plain")
    client.wait("window/showMessage")
    client.open(lib)
    assert client.hover(lib, 0) is None
    client.notify("textDocument/didSave", {"textDocument": {"uri": lib.as_uri()}})
    assert client.actions(lib, 0) is None
    (message,) = client.windows()
    assert "there is nothing to port" in message
    assert client.shut_down() == 0


def test_a_malformed_file_is_a_finding(client: Client, candle: Path) -> None:
    (candle / "candle-core/src/odd.rs").write_bytes(b"// cuda \xff\n")
    client.initialize(candle)
    (found,) = client.diagnostics(candle / "candle-core/src/odd.rs")
    assert found["code"] == "PK902"
    assert "not UTF-8" in found["message"]


def test_settings_that_are_wrong_are_said_once_and_mended(client: Client, candle: Path) -> None:
    client.initialize(candle)
    lib = candle / LIB
    client.diagnostics(lib)
    save = {"textDocument": {"uri": lib.as_uri()}}
    (candle / "portkit.toml").write_text("gatin = 1\n")
    for _ in range(2):
        client.notify("textDocument/didSave", save)
    assert "portkit.toml" in client.wait("window/showMessage")["message"]
    assert client.hover(lib, 0) is None  # after both
    assert len(client.windows()) == 1
    (candle / "portkit.toml").unlink()
    client.notify("textDocument/didSave", save)
    assert client.hover(lib, 0) is None
    assert len(client.windows()) == 1


@pytest.mark.parametrize(
    "uri", ["file:///nowhere/at/all.rs", "untitled:Untitled-1", "file:", "", "nonsense"]
)
def test_a_document_of_no_tree_is_passed_over(client: Client, candle: Path, uri: str) -> None:
    client.initialize(candle)
    document = {"uri": uri, "languageId": "rust", "version": 1, "text": "fn cuda() {}\n"}
    client.notify("textDocument/didOpen", {"textDocument": document})
    there = {"line": 0, "character": 0}
    where = {"textDocument": {"uri": uri}}
    assert client.ask("textDocument/hover", where | {"position": there}) is None
    more = {"range": {"start": there, "end": there}, "context": {"diagnostics": []}}
    assert client.ask("textDocument/codeAction", where | more) is None
    assert client.windows() == []
    assert client.shut_down() == 0


def test_without_a_folder_it_is_the_workspace_above_the_document(
    client: Client, candle: Path
) -> None:
    client.initialize(None)
    file = candle / MATMUL
    client.open(file)
    assert by_code(client.diagnostics(file), "PK401")
    assert client.hover(file, 0) is None


def test_a_folder_of_a_workspace_stands_for_it_until_it_is_closed(
    client: Client, candle: Path
) -> None:
    folder = candle / "candle-core"
    client.initialize(folder)
    file = candle / MATMUL
    line = by_code(client.diagnostics(file), "PK401")["range"]["start"]["line"]
    assert client.hover(file, line)
    closed = {"added": [], "removed": [{"uri": folder.as_uri(), "name": "tree"}]}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": closed})
    assert client.diagnostics(file) == []
    assert client.hover(file, line) is None


def test_what_cannot_be_read_is_answered(client: Client, candle: Path) -> None:
    client.initialize(candle)
    bad: list[Any] = [{"textDocument": 1}, [], None, {"position": {"line": "x"}}]
    for params in bad:
        assert "error" in client.answer("textDocument/hover", params)
    assert "error" in client.answer("workspace/executeCommand", {"command": "nothing"})
    assert "error" in client.answer("no/such/method", {})
    assert client.ask("codeAction/resolve", {"title": "old", "data": {"place": "PK301-00000000"}})
    client.send(b"no JSON")
    client.send(b"[]")
    client.notify("textDocument/didChange", {"contentChanges": 7})
    assert client.hover(candle / LIB, 0) is None
    assert client.shut_down() == 0


def test_an_exit_without_shutdown(client: Client, candle: Path) -> None:
    """The exit code is 1 then (LSP 3.17, "Exit Notification"), as when the client goes away."""
    client.initialize(candle)
    client.notify("exit")
    assert client.end() == 1


def test_a_client_that_goes_away(client: Client, candle: Path) -> None:
    client.initialize(candle)
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(PATIENCE) == 1


def test_without_pygls_it_says_what_to_install(tmp_path: Path) -> None:
    """As where `portkit` was installed without the extra."""
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pygls' else find(name, *rest)\n"
        "sys.argv = ['portkit', 'lsp']; from portkit.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "`pip install '.[lsp]'` in a checkout" in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_a_scan_loads_nothing_of_it(candle: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *PROGRAM[1:], "scan", str(candle)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "portkit.engine.scan" in loaded
    mine = ("portkit.editor", "pygls", "lsprotocol", "asyncio", "cattrs", "attr")
    assert not [each for each in loaded if each.startswith(mine)]
