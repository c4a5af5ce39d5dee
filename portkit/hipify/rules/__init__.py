"""The rules that turn CUDA C++ into HIP, in families.

A rule is a pure function from one source to hits. A family's ``RULES`` has a row for each, and
``pages.toml`` its page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from portkit.hipify.rules import (
    calls,
    clang_syntax,
    cooperative_groups,
    cub,
    device_queries,
    hardware,
    hip_functions,
    includes,
    lane_steps,
    lost_branch,
    pasted_names,
    ptx,
    renames,
    shared_memory,
    strings,
    unknown_name,
    warps,
)

if TYPE_CHECKING:
    from portkit.hipify.rules.rule import KernelRule

_FAMILIES: Final = (
    *(calls, clang_syntax, cooperative_groups, cub, device_queries, hardware, hip_functions),
    *(
        includes,
        lane_steps,
        lost_branch,
        pasted_names,
        ptx,
        renames,
        shared_memory,
        unknown_name,
        warps,
    ),
)

_OF_CODE: Final = tuple(
    sorted((rule for family in _FAMILIES for rule in family.RULES), key=lambda rule: rule.code)
)

RULES: tuple[KernelRule, ...] = (*_OF_CODE, strings.build_rule(_OF_CODE))
"""Every rule, by code."""

CODES: Final = {rule.name: rule.code for rule in RULES}


def find_rule(code: str) -> KernelRule | None:
    """Return the rule with a code such as ``PH105``, None without one."""
    return next((rule for rule in RULES if rule.code == code.upper()), None)
