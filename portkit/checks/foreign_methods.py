"""A copied line calls a method that another crate would have to offer under the new name.

Such a crate has CUDA turned on by a feature of this one, and no port of it is known. The type of a
value is not known here, so a method is looked up by its name alone: in the tree, in the bindings,
and in the profiles of the codebases that the tree is built on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.checks.definitions import vendor_name_pattern
from portkit.checks.known_names import KnownNames
from portkit.checks.ported_tree import Doubt
from portkit.port.feature_members import is_external_cuda_feature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.checks.ported_tree import PortedTree
    from portkit.context.port_job import PortJob
    from portkit.workspace.cargo_workspace import Crate

_FOREIGN: Final = (
    "`{original}` is another crate's. Check that the crate offers `{name}` for {title}"
)


def doubt_foreign_methods(ported: PortedTree) -> Iterator[Doubt]:
    """Ask for a person where a copied line calls a method that nothing known defines.

    Args:
        ported: the tree after the port.
    """
    job = ported.job
    definitions, known = ported.definitions, KnownNames(job)
    called = re.compile(rb"\.(" + vendor_name_pattern(job) + rb")\s*(?:::<[^;{}]*>)?\(")
    unknown = {each.directory for each in job.workspace.crates if _enables_unknown_crate(job, each)}
    for written in ported.find_edited_files(".rs"):
        crate = job.workspace.crate_of(written.source.path)
        if crate is None or crate.directory not in unknown:
            continue
        for piece in written.pieces:
            for match in called.finditer(written.source.data, piece.start, piece.end):
                name = match[1].decode()
                original = definitions.originals(piece.finding).get(name)
                if original is None or definitions.has_item(original):
                    continue
                if not definitions.has_name(name) and name not in known:
                    said = _FOREIGN.format(original=original, name=name, title=job.vendor.title)
                    yield Doubt(piece.finding, said)


def _enables_unknown_crate(job: PortJob, crate: Crate) -> bool:
    """Whether a crate enables CUDA in a crate that may or may not have a port."""
    features = crate.manifest.get("features", {})
    members = (each for asked in features.values() if isinstance(asked, list) for each in asked)
    return any(
        isinstance(each, str) and is_external_cuda_feature(job, crate, each) for each in members
    )
