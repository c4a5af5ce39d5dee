"""An operation whose kernel has no counterpart: on ROCm it runs on the CPU.

In a file whose CUDA side is not ported (``[[plain]]`` of a profile) an operation has ``cpu_fwd``
and kernels for CUDA or a peer. Without a method of ROCm's it would answer with an error there,
though the CPU computes the same. So it gains ``rocm_fwd``: the storages are copied to the host,
``cpu_fwd`` computes, and what it gives is copied back. That is right, and slow. What these are
called, ``[host]`` of the profile says, or that of a codebase below (``uses``).

Not handled: an operation whose ``cpu_fwd`` does nothing with what it is given, so that it answers
with an error, and one in a file that brings in ``CpuStorage`` by ``*``. Those stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from portkit.context.intent import InsertText, Intent
from portkit.context.port_job import Site
from portkit.port.host_fallback import write_host_fallback
from portkit.rules import SiteRule


def check(site: Site) -> Iterator[Intent]:
    """Find the method of the source vendor, or of a peer, in an operation that the CPU has too."""
    job = site.job
    text = write_host_fallback(site)
    if text:
        yield InsertText(
            "operation",
            f"its kernel is not ported: on {job.vendor.title} the CPU computes it",
            symbol=site.symbol(site.name),
            text=f"\n\n{site.indent}{text}",
            at=site.node.end_byte,
            name=f"{job.vendor.name}_{site.name.partition('_')[2]}",
        )


RULE = SiteRule("PK514", frozenset({"function_item"}), check)
