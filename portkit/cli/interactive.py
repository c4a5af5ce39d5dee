"""``portkit apply --interactive``: one question a place, as ``git add --patch`` asks them.

The questions go to a function that the caller gives, so that nothing here knows about terminals.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from portkit.errors import ToolError
from portkit.report.snippets import build_hunks
from portkit.syntax.source_file import SourceFile
from portkit.workspace.finding import Applicability, Edit, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from portkit.engine.scan import Scan
    from portkit.report.terminal import Terminal

ANSWERS: Final = {
    "y": "write this place",
    "n": "leave this place as it is",
    "a": "write this place and all that are left of its rule",
    "m": "write this place and all that are left and mechanical; ask about the others",
    "e": "change in an editor what is written here",
    "q": "leave this place and all that are left as they are",
    "?": "say what the answers mean",
}
SHOWN: Final = 40
"""How many lines of one file of a place are shown."""
_PARSED: Final = (".rs", ".toml", ".py", ".pyi")
FILES: Final = 2
"""How many of the new files of a place are shown; the others are named."""


class InteractiveSession:
    """One dialogue about the findings."""

    def __init__(
        self,
        ask: Callable[[str], str],
        show: Callable[[str], None],
        edit: Callable[[str, str], str | None],
        terminal: Terminal,
    ) -> None:
        self.ask = ask
        self.show = show
        self.edit = edit
        self.terminal = terminal
        self.every: set[str] = set()
        self.mechanical = False
        self.over = False

    def choose(self, scan: Scan) -> Scan:
        """Return the scan with the findings that the person wants, as edited."""
        # What is left out is decided, and so is the arm that answers for it.
        todo = [f for f in scan.findings if f.status is Status.TODO and not f.excluded]
        left = Counter(f.code for f in todo)
        kept = [f for f in scan.findings if f.status is not Status.TODO or f.excluded]
        for number, finding in enumerate(todo, 1):
            if self.over:
                break
            mechanical = self.mechanical and finding.applicability is Applicability.SAFE
            if mechanical or finding.code in self.every:
                kept.append(finding)
                continue
            self._show(scan, finding, f"({number}/{len(todo)})")
            answered = self._answered(scan, finding, left[finding.code])
            if answered is not None:
                kept.append(answered)
            left[finding.code] -= 1
        kept.sort(key=lambda f: (f.path, f.span, f.code, f.symbol))
        return replace(scan, findings=tuple(kept))

    def _answered(self, scan: Scan, finding: Finding, alike: int) -> Finding | None:
        question = self.terminal.bold(f"Write this place [{','.join(ANSWERS)}]? ")
        while True:
            answer = self.ask(question).strip()[:1].lower()
            if answer == "y":
                return finding
            if answer == "n":
                return None
            if answer == "a":
                self.every.add(finding.code)
                self.show(f"{finding.code}: {alike} {'place' if alike == 1 else 'places'}")
                return finding
            if answer == "m":
                self.mechanical = True
                return finding
            if answer == "e":
                changed = self._changed(scan, finding)
                if changed is not None:
                    return changed
            elif answer in ("q", ""):
                self.over = True
                return None
            else:
                for key, meaning in ANSWERS.items():
                    self.show(f"{self.terminal.bold(key)} - {meaning}")

    def _show(self, scan: Scan, finding: Finding, number: str) -> None:
        source = scan.job.workspace.sources.get(finding.path)
        line = source.position(finding.span.start)[0] if source is not None else 1
        place = f"{finding.path}:{line}"
        self.show("")
        self.show(
            f"{self.terminal.dim(number)} {self.terminal.bold(finding.code)} {finding.construct},"
            f" {self.terminal.bold(place)} {finding.symbol}"
        )
        asks = finding.applicability is Applicability.REVIEW
        self.show(self.terminal.notable(finding.message) if asks else finding.message)
        for index, hunk in enumerate(build_hunks(finding, source, SHOWN)):
            if not hunk.before and index >= FILES:
                lines = len(hunk.lines) + hunk.left_out
                self.show(self.terminal.dim(f"{hunk.after} ({lines} lines)"))
                continue
            if hunk.after and hunk.after != hunk.before:
                self.show(self.terminal.dim(hunk.after))
            for text in hunk.lines:
                self.show(self._coloured(text))
            if hunk.left_out:
                self.show(self.terminal.dim(f"... {hunk.left_out} more lines"))

    def _coloured(self, line: str) -> str:
        if line.startswith("+"):
            return self.terminal.good(line)
        return self.terminal.bad(line) if line.startswith("-") else line

    def _changed(self, scan: Scan, finding: Finding) -> Finding | None:
        try:
            return self._edited(scan, finding)
        except ToolError as error:  # what was answered before must not be lost
            self.show(self.terminal.loud(str(error)))
            return None

    def _edited(self, scan: Scan, finding: Finding) -> Finding | None:
        source = scan.job.workspace.sources.get(finding.path)
        name = PurePosixPath(finding.path).name
        files = finding.files()
        if finding.edits and not files:
            whole = _merge_edits(scan, finding)
            text = self.edit(whole.text, name) if whole is not None else None
            if whole is None:
                self.show("Another place is written inside this one: edit it after it is written.")
            elif text is not None and source is not None:
                parts = (source.data[: whole.start], text.encode(), source.data[whole.end :])
                if source.tree.root_node.has_error or self._parses(finding.path, b"".join(parts)):
                    return replace(finding, edits=(whole._replace(text=text),))
        elif len(files) == 1 and not finding.edits:
            (file,) = files
            text = self.edit(file.text, PurePosixPath(file.path).name)
            if text is not None and self._parses(file.path, text.encode()):
                return replace(finding, files=lambda: (replace(file, text=text),))
        else:
            self.show("This place is written in several files: edit them after they are written.")
        return None

    def _parses(self, path: str, data: bytes) -> bool:
        """Whether the person's text parses; if not, say so."""
        readable = not (path.endswith(_PARSED) and SourceFile(path, data).tree.root_node.has_error)
        if not readable:
            self.show(self.terminal.loud(f"{path} would not parse so: nothing is changed."))
        return readable


def _merge_edits(scan: Scan, finding: Finding) -> Edit | None:
    """Return all edits of a finding as one, or None if another finding is inside."""
    source = scan.job.workspace.sources[finding.path]
    edits = sorted(finding.edits)
    start, end = edits[0].start, max(edit.end for edit in edits)
    for other in scan.findings:
        elsewhere = other is finding or other.path != finding.path
        if not elsewhere and any(start < e.end and e.start < end for e in other.edits):
            return None
    parts, at = [], start
    for edit in edits:
        parts += [source.text(at, edit.start), edit.text]
        at = edit.end
    return Edit(start, end, "".join(parts))


def edit_text(text: str, name: str) -> str | None:
    """Let a person change a text in their editor: ``VISUAL``, ``EDITOR`` or vi.

    Returns:
        The changed text, or none where the editor failed or nothing was changed.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="portkit-") as folder:
        file = Path(folder) / name
        file.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(command), str(file)], check=False)
            after = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ToolError(
                f"the editor {command!r} could not be used ({error}): name another with EDITOR"
            ) from None
    return after if done.returncode == 0 and after != text else None
