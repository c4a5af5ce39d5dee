"""Find the crates, features and variants that a port will add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.report.public_api import find_api_changes
from portkit.rules import file_rules, named_items
from portkit.syntax.value import Value
from portkit.workspace.edits import find_clash, write_edits
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from portkit.engine.scan import Scan
    from portkit.workspace.finding import Finding

_MANIFEST: Final = "Cargo.toml"


class Additions(Value, frozen=True):
    """The additions of a port that users of the crates see.

    Attributes:
        breaking: those of them that a ``match`` without ``_`` may be about, in every build.
    """

    crates: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    enums: tuple[str, ...] = ()
    breaking: tuple[str, ...] = ()


def find_additions(scan: Scan) -> Additions:
    """Return the additions of a scan's findings.

    Only manifests and the files of enums are looked at: to write the whole port takes longer than
    the scan.
    """
    todo: dict[str, list[Finding]] = {}
    for finding in scan.findings:
        if finding.status is Status.TODO:
            todo.setdefault(finding.path, []).append(finding)
    before, after = {}, {}
    for path, findings in todo.items():
        source = scan.job.workspace.sources.get(path)
        has_enum = any(f.code == named_items.ENUM_VARIANT.code for f in findings)
        is_manifest = path.rpartition("/")[2] == _MANIFEST
        if source is None or not (has_enum or is_manifest) or find_clash(findings):
            continue
        before[path] = source.data
        after[path], _ = write_edits(source, findings)
        source.forget()  # a large tree is not held
    api = find_api_changes(before, after)
    return Additions(
        crates=tuple(
            f.path
            for findings in todo.values()
            for f in findings
            if f.code == file_rules.ADDED_FILE_CODE and f.construct == file_rules.NEW_CRATE
        ),
        features=tuple(api.features),
        enums=api.enums,
        breaking=api.closed,
    )
