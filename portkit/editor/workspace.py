"""One workspace as an editor has it: its last scan, with the buffers of open documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol.types import Range

from portkit.editor.diagnostics import EditorFinding, find_sites
from portkit.editor.positions import START, Positions
from portkit.engine.session import ScanSession, open_session
from portkit.workspace.cargo_workspace import LARGEST_FILE
from portkit.workspace.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from portkit.engine.scan import Scan


class EditorWorkspace:
    """A workspace."""

    def __init__(self, root: Path, encoding: str) -> None:
        self.root = root
        self.encoding = encoding
        self._look: ScanSession | None = None
        self._positions: dict[str, tuple[bytes, Positions]] = {}
        self.places: Mapping[str, Sequence[EditorFinding]] = {}

    @property
    def scan(self) -> Scan | None:
        """The last scan; none before the first that did not fail."""
        return self._look.scan if self._look is not None else None

    def rescan(self, buffers: Mapping[str, bytes], *, whole: bool = False) -> None:
        """Scan the tree, or the documents that changed."""
        found = self._look
        if found is None or whole:
            found = open_session(self.root, buffers, kernels=True)
        else:
            sources = found.whole.job.workspace.sources
            for path, data in buffers.items():
                if path in sources and sources[path].data != data:
                    found = found.again(path, data)
        if found is not self._look:
            self._look = found
            self._place(found.scan)

    def place(self, identity: str) -> EditorFinding | None:
        """Return the finding with an identity, or None."""
        every = (each for found in self.places.values() for each in found)
        return next((each for each in every if each.site.id == identity), None)

    def positions(self, path: str) -> Positions:
        """Return the positions of a scanned file, as it was then."""
        assert self.scan is not None, "a tree is looked at before anything is asked of it"
        data = self.scan.job.workspace.sources[path].data
        known = self._positions.get(path)
        if known is None or known[0] != data:
            known = self._positions[path] = data, Positions(data, self.encoding)
        return known[1]

    def read_from_disk(self, path: str) -> bytes | None:
        """Return the content of a file on disk, or None if it cannot be read."""
        try:
            return read_regular(self.root / path, LARGEST_FILE)
        except OSError:
            return None

    def differs(self, path: str) -> bool:
        """Whether the scanned content of a file differs from the disk."""
        scan = self.scan
        if scan is None or path not in scan.job.workspace.sources:
            return False
        return scan.job.workspace.sources[path].data != self.read_from_disk(path)

    def whole(self, data: bytes) -> Range:
        """Return the range of a whole file."""
        return Range(START.start, Positions(data, self.encoding).position(len(data)))

    def _place(self, scan: Scan) -> None:
        paths = {f.path for f in scan.findings} & scan.job.workspace.sources.keys()
        by_path: dict[str, list[EditorFinding]] = {}
        for place in find_sites(scan, {path: self.positions(path) for path in paths}):
            by_path.setdefault(place.shown, []).append(place)
        self.places = by_path
