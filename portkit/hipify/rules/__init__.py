"""The rules that turn CUDA C++ into HIP: one construct a file, named after what it finds.

A rule is a pure function from one source to findings. Its module has ``CODE`` and a docstring,
which is also the page of the docs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portkit.hipify.rules import (
    api_call,
    api_name,
    arch_macro,
    brace_assignment,
    compute_capability,
    cooperative_groups,
    cub_lanes,
    cub_warp,
    dependent_template,
    device_launch,
    device_warp_size,
    header_include,
    hip_shim,
    inline_ptx,
    intrinsic,
    kernel_attribute,
    lane_step,
    launch_hint,
    lost_branch,
    malformed,
    min_max,
    namespace,
    narrow_float,
    own_of_hip,
    prelude_include,
    ptx_instruction,
    spin_lock,
    tensor_core,
    texture,
    unknown_header,
    unknown_name,
    warp_mask,
    warp_masked,
    warp_size,
    warp_sync,
    warp_unmasked,
)
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from portkit.hipify.kernel_source import KernelSource
    from portkit.workspace.finding import Finding


class KernelRule(Value, frozen=True):
    """One rule.

    Attributes:
        code: stable, ``PHnnn``: 1nn rewrites, 2nn refuses; 3nn are a profile's patches.
        name: the name of its module.
        doc: its docstring.
        find: returns the findings in one source.
    """

    code: str
    name: str
    doc: str
    find: Callable[[KernelSource], Iterator[Finding]]


def _make_rule(module: ModuleType) -> KernelRule:
    return KernelRule(
        module.CODE, module.__name__.rpartition(".")[2], module.__doc__ or "", module.find
    )


RULES: tuple[KernelRule, ...] = tuple(
    sorted(
        (
            _make_rule(module)
            for module in (
                api_call,
                api_name,
                arch_macro,
                brace_assignment,
                compute_capability,
                cooperative_groups,
                cub_lanes,
                cub_warp,
                dependent_template,
                device_launch,
                device_warp_size,
                header_include,
                hip_shim,
                inline_ptx,
                intrinsic,
                kernel_attribute,
                lane_step,
                launch_hint,
                lost_branch,
                malformed,
                min_max,
                namespace,
                narrow_float,
                own_of_hip,
                prelude_include,
                ptx_instruction,
                spin_lock,
                tensor_core,
                texture,
                unknown_header,
                unknown_name,
                warp_mask,
                warp_masked,
                warp_size,
                warp_sync,
                warp_unmasked,
            )
        ),
        key=lambda rule: rule.code,
    )
)
"""Every rule, by code."""


def find_rule(code: str) -> KernelRule | None:
    """Return the rule with a code such as ``PH105``, None without one."""
    return next((rule for rule in RULES if rule.code == code.upper()), None)
