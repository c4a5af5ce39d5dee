"""Checks of the tree as the port will leave it: a finding that would break it is not written.

A check is a function in a file of its own: it reads a `Ported` tree and yields each `Refusal`.
`CHECKS` lists them in the order in which they run. `portkit.scan.refused` takes out what they
refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.checks.features import check_features
from portkit.checks.fields import check_fields
from portkit.checks.files import check_files
from portkit.checks.macro_calls import check_macro_calls
from portkit.checks.macros import check_macros
from portkit.checks.manifests import check_manifests
from portkit.checks.names import check_names
from portkit.checks.operands import check_operands
from portkit.checks.ported import Ported, Refusal, Written
from portkit.checks.syntax import check_syntax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CHECKS", "Ported", "Refusal", "Written"]

CHECKS: Final[tuple[Callable[[Ported], Iterator[Refusal]], ...]] = (
    check_syntax,
    check_manifests,
    check_fields,
    check_features,
    check_operands,
    check_macros,
    check_macro_calls,
    check_files,
    check_names,
)
"""All checks. A later one may rely on what an earlier one has refused."""
