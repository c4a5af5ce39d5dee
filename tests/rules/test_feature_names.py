"""Every fixture once more, where the Cargo features have names of their own.

What a condition, a manifest or a build script calls the feature is renamed in the trees before and
after, by a text of its own for each form; names of items, of files and of devices stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from harness import Run, every_run, lines
from tree_support import Tree, scan_of

from portkit.engine.parity import find_missing_counterparts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from portkit.engine.scan import Scan
    from portkit.rules import Rule

NAMES = (
    ("nv.2", "a-d+"),  # of which nothing says the platform; TOML wants quotes
    ("cuda", "amd"),  # of which the name table would make rocm
)
_IN_RUST = (
    (r'(\bfeature\s*=\s*")({own})(")', False),
    (r"(--features )({own})\b()", False),
    (r"(\bCARGO_FEATURE_)({upper})\b()", True),
)
_KEY = r"^()({own})( = \[)"
_MEMBER = r'(["/])({own})(")'


@dataclass(frozen=True)
class Renamed(Run):
    """A run whose features have other names."""

    source: str = "cuda"
    written: str = "rocm"

    def __str__(self) -> str:
        return f"{super().__str__()}-{self.source}-{self.written}"

    @property
    def before(self) -> Tree:
        return self._renamed(super().before)

    @property
    def after(self) -> Tree:
        return self._renamed(super().after)

    def scan(self, tree: Tree, chosen: Iterable[Rule] | None = None) -> Scan:
        profile: dict[str, Any] = dict(self.case.settings.get("profile", {}))
        profile |= {"feature": self.written, "source_feature": self.source}
        return scan_of(tree, profile, self.gating, chosen, self.case.folder)

    def _renamed(self, tree: Tree) -> Tree:
        return {path: self._file(path, data.decode()).encode() for path, data in tree.items()}

    def _file(self, path: str, text: str) -> str:
        if path.endswith(".rs"):
            for pattern, upper in _IN_RUST:
                text = self._names(pattern, text, upper=upper)
        if path.endswith("Cargo.toml"):
            table, kept = "", []
            for line in text.split("\n"):
                table = line if line.startswith("[") else table
                if table == "[features]" or re.match(r"(required-)?features\b", line):
                    line = self._names(_MEMBER, self._key(line))
                kept.append(line)
            text = "\n".join(kept)
        return text

    def _key(self, line: str) -> str:
        for old, new in (("cuda", self.source), ("rocm", self.written)):
            quoted = new if re.fullmatch(r"[\w-]+", new) else f'"{new}"'
            line = re.sub(rf"^{old}(?= = \[)", quoted, line)
        return line

    def _names(self, pattern: str, text: str, *, upper: bool = False) -> str:
        new = {"cuda": self.source, "rocm": self.written}
        if upper:
            new = {k.upper(): v.upper().replace("-", "_") for k, v in new.items()}
        either = "|".join(new)
        found = pattern.format(own=either, upper=either)
        return re.sub(found, lambda m: m[1] + new[m[2]] + m[3], text)


def renamed() -> list[Renamed]:
    """Return the runs whose trees name a feature, under each pair of names.

    A template has a feature's name from whoever wrote the profile, and a hidden feature its own
    from the vendor's. An implicit feature has the name of its dependency, which stays.
    """
    runs = [
        run
        for run in every_run()
        if run.case.name not in ("a_hidden_feature", "bindings_under_another_name")
        and run.case.rule != "implicit_feature"
        and not any(
            "feature =" in path.read_text() for path in run.case.folder.glob("templates/**/*.rs")
        )
    ]
    every = [Renamed(run.case, run.gating, *names) for run in runs for names in NAMES]
    return [run for run in every if run.after != Run(run.case, run.gating).after]


@pytest.mark.parametrize("run", renamed(), ids=str)
def test_the_port_is_the_same_under_other_names(run: Renamed) -> None:
    assert lines(run.job(run.before, rustfmt=True)) == lines(run.after)
    assert lines(run.job(run.after)) == lines(run.after)
    assert find_missing_counterparts(run.scan(run.after)) == ()
    left = [f"{u.path}:{u.line}" for u in run.scan(run.before).unaccounted]
    assert left == run.case.settings.get("unaccounted", [])
