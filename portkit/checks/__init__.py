"""Checks of the tree as the port will leave it: a finding that would break it is not written.

A check is a function in a file of its own: it reads a `PortedTree` and yields each `Refusal`.
`CHECKS` lists them in the order in which they run. `portkit.engine.refused_findings` takes out what
they refuse. `DOUBTS` are functions that name findings a person should look at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.checks.arm_halves import doubt_arm_halves
from portkit.checks.binary_names import doubt_binary_names
from portkit.checks.branch_types import check_branch_types
from portkit.checks.dependence import doubt_dependence
from portkit.checks.device_access import doubt_device_access
from portkit.checks.features import check_features
from portkit.checks.fields import check_fields
from portkit.checks.files import check_files
from portkit.checks.foreign_methods import doubt_foreign_methods
from portkit.checks.gated_halves import check_halves, doubt_halves
from portkit.checks.gated_members import check_gated_members
from portkit.checks.guards import check_guards, doubt_guards
from portkit.checks.macro_calls import check_macro_calls
from portkit.checks.macros import check_macros
from portkit.checks.manifests import check_manifests
from portkit.checks.names import check_names
from portkit.checks.operands import check_operands
from portkit.checks.ported_tree import Doubt, PortedTree, Refusal, WrittenFile
from portkit.checks.syntax import check_syntax
from portkit.checks.unported_names import doubt_unported_names
from portkit.checks.unread_copies import check_readers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CHECKS", "DOUBTS", "Doubt", "PortedTree", "Refusal", "WrittenFile"]

CHECKS: Final[tuple[Callable[[PortedTree], Iterator[Refusal]], ...]] = (
    check_syntax,
    check_manifests,
    check_fields,
    check_features,
    check_operands,
    check_macros,
    check_macro_calls,
    check_files,
    check_names,
    check_gated_members,
    check_branch_types,
    check_halves,
    check_guards,
    check_readers,
)
"""All checks. A later one may rely on what an earlier one has refused.

Before them `portkit.engine.refused_findings` refuses what names a variant that is not written.
"""

DOUBTS: Final[tuple[Callable[[PortedTree], Iterator[Doubt]], ...]] = (
    doubt_halves,
    doubt_arm_halves,
    doubt_guards,
    doubt_dependence,
    doubt_device_access,
    doubt_foreign_methods,
    doubt_binary_names,
    doubt_unported_names,
)
"""What asks for a person, once nothing more is refused."""
