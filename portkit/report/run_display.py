"""The display of a running verification, and its documents.

In a terminal one line says what is being done and for how long; elsewhere each line that a tool
writes is a line, but of those that name crate after crate only one now and then. The document is
written anew after each step, so that one is there whatever ends the run, SIGKILL included.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from portkit.errors import DiskError
from portkit.report.terminal import shorten_text
from portkit.report.verify_report import (
    format_duration,
    render_step,
    render_summary,
    render_verify_json,
)
from portkit.verify.step_runner import Outcome, Result, Summary, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from portkit.report.terminal import Terminal
    from portkit.verify.options import Options
    from portkit.verify.step_runner import Step

_KILLED: Final = 137
"""What a shell says of a process that SIGKILL ended: 128 and its number."""
_REDRAWN: Final = 0.5
"""Seconds between two drawings of the line that shows how long a step takes."""
_BEAT: Final = 15.0
"""Seconds between two lines that say how far cargo is, where no line is redrawn."""
_CRATE: Final = re.compile(r" *(Adding|Checking|Compiling|Documenting|Downloaded) [\w-]+ v\d")
"""Lines of cargo's that are written for each crate of a dependency tree."""


class CargoProgress:
    """The progress of cargo, from the line that it writes for each crate."""

    def __init__(self) -> None:
        self.count, self.shown = 0, time.monotonic()

    def told(self, text: str, *, each: bool) -> str:
        """Return the text to show for a line, or nothing if a similar line was just shown."""
        match = _CRATE.match(text)
        if match is None:
            if text.startswith("$ "):  # another command begins
                self.count, self.shown = 0, time.monotonic()
            return text
        if match[1] in ("Checking", "Compiling"):
            self.count += 1
            text = f"{text} (crate {self.count})"
        now = time.monotonic()
        if not each and now - self.shown < _BEAT:
            return ""
        self.shown = now
        return text


class StatusLine:
    """The line at the bottom of a terminal that shows the current step."""

    def __init__(self, stream: TextIO, terminal: Terminal) -> None:
        self.stream, self.terminal = stream, terminal
        self.step, self.text, self.since = "", "", 0.0
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def begins(self, step: str) -> None:
        """Show a step, until ``ends``; the time goes on by itself."""
        self.step, self.text, self.since = step, "", time.monotonic()
        self._stopped = threading.Event()
        threading.Thread(target=self._redraw, args=(self._stopped,), daemon=True).start()

    def says(self, text: str) -> None:
        """Show the first line of a text."""
        self.text = text.split("\n", 1)[0]
        self._draw()

    def ends(self) -> None:
        """Remove the line."""
        self._stopped.set()
        with self._lock:
            self.step = ""
            self._write("")

    def _redraw(self, stopped: threading.Event) -> None:
        while not stopped.wait(_REDRAWN):
            self._draw()

    def _draw(self) -> None:
        with self._lock:
            if self.step:
                took = format_duration(time.monotonic() - self.since)
                text = " ".join(f"{self.step} {took} {self.text}".split())
                self._write(shorten_text(text, self.terminal.width - 1))

    def _write(self, text: str) -> None:
        # Carriage return and "erase in line", ECMA-48 section 8.3.41.
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()


class RunReporter:
    """Tells a person, and a program that reads the document, how a run goes."""

    def __init__(
        self,
        root: str,
        options: Options,
        *,
        show: Callable[[str], None],
        screen: Terminal,
        errors: TextIO,
        error_screen: Terminal,
        live: bool = False,
        document: str = "",
    ) -> None:
        self.root, self.options = root, options
        self.errors, self.error_screen = errors, error_screen
        self._show = show
        self.apart = document == "-"
        self.document = Path(document) if document and not self.apart else None
        self.screen = error_screen if self.apart else screen
        self.line_at_bottom = StatusLine(errors, error_screen) if live else None
        self.crates = CargoProgress()
        self.steps: tuple[Step, ...] = ()
        self.results: list[Result] = []
        self._elsewhere = False
        self.lost = ""

    def starts(self, steps: Sequence[Step]) -> None:
        """Hear which steps will be taken."""
        self.steps = tuple(steps)

    def begins(self, step: Step) -> None:
        """Show that a step begins."""
        self._keep()
        if self.line_at_bottom is not None:
            self.line_at_bottom.begins(step.name)
        else:
            self.line(f"{step.name}: {step.shows}")

    def line(self, text: str) -> None:
        """Show a line about the current work, or a line of a tool."""
        if shown := self.crates.told(text, each=self.line_at_bottom is not None):
            if self.line_at_bottom is not None:
                self.line_at_bottom.says(shown)
            else:
                self._complain(shown)

    def ends(self, result: Result) -> None:
        """Show how a step went."""
        if self.line_at_bottom is not None:
            self.line_at_bottom.ends()
        self.results.append(result)
        self._print(render_step(result, self.screen))

    def sum_up(self, summary: Summary) -> int:
        """Show the summary, write the documents, and return the exit code."""
        if summary.title:
            self._print(["", *render_summary(summary, self.screen)])
        if self.apart:
            self._deliver(render_verify_json(self.root, self.options, summary))
        self._write(summary)
        return summary.exit_code or (DiskError.exit_code if self.lost else 0)

    def _keep(self) -> None:
        done = len(self.results)
        ahead = [
            Result(
                step.name,
                step.shows,
                Outcome(Verdict.NOT_TAKEN if i else Verdict.INTERRUPTED, ("the run ended here",)),
            )
            for i, step in enumerate(self.steps[done:])
        ]
        summary = Summary((*self.results, *ahead), code=_KILLED)
        self._write(summary)

    def _write(self, summary: Summary) -> None:
        """Write the document to a new file and move it into place; a pipe is written directly."""
        if (place := self.document) is None:
            return
        text = render_verify_json(self.root, self.options, summary)
        try:
            if place.exists() and not place.is_file():
                place.write_text(text, encoding="utf-8")
                return
            new = place.with_name(f".{place.name}.{os.getpid()}.new")
            try:
                new.write_text(text, encoding="utf-8")
                new.replace(place)
            finally:
                new.unlink(missing_ok=True)
        except OSError as error:
            self._lose(
                f"the document could not be written to {place} ({error.strerror}): name another"
                " file"
            )

    def _deliver(self, text: str) -> None:
        try:
            self._show(text)
        except DiskError as error:
            self._elsewhere = True
            self._lose(str(error))

    def _print(self, lines: Iterable[str]) -> None:
        """Print lines of the report, to standard error if its own stream is full."""
        text = "".join(f"{line}\n" for line in lines)
        if not text:
            return
        if not self.apart and not self._elsewhere:
            self._deliver(text)
        if self.apart or self._elsewhere:
            self._complain(text.removesuffix("\n"))

    def _lose(self, sentence: str) -> None:
        if not self.lost:
            self.lost = sentence
            self._complain(f"error: {sentence}")

    def _complain(self, text: str) -> None:
        with contextlib.suppress(OSError):
            print(text, file=self.errors, flush=True)
