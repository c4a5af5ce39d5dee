"""What a port will add to a tree: its crates, features and variants, from the findings to write."""

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
    """What is new with the port for whoever uses the crates.

    Attributes:
        crates: the folders of new crates.
        features: the names of new features.
        enums: public enums that gain a variant.
        breaking: those of them that a ``match`` without ``_`` may be about, in every build.
    """

    crates: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    enums: tuple[str, ...] = ()
    breaking: tuple[str, ...] = ()


def find_additions(scan: Scan) -> Additions:
    """Return what the findings of a scan will add.

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
