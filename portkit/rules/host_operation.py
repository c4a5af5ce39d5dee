"""An operation whose kernel has no counterpart: on ROCm it runs on the CPU.

In a file whose CUDA side is not ported (``[[plain]]`` of a profile) an operation has ``cpu_fwd``
and kernels for CUDA or a peer. Without a method of ROCm's it would answer with an error there. So
it gains ``rocm_fwd``: the storages are copied to the host, ``cpu_fwd`` computes, and its result is
copied back. That is slow. Nothing proves that ``cpu_fwd`` computes what the kernel does, so you
review it. ``[host]`` of the profile, or of a codebase below (``uses``), names these methods.

If ``cpu_fwd`` also reads a storage that must be on the host already, such as ``Storage::Cpu`` of a
field, you write ``rocm_fwd``. If ``cuda_fwd`` only answers with an error, so does ROCm.

Not handled: an operation whose ``cpu_fwd`` does nothing with what it is given, so that it answers
with an error, and one in a file that brings in ``CpuStorage`` by ``*``. Those stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from portkit.context.intent import InsertText, Intent, RequireManual
from portkit.context.port_job import Site
from portkit.port.host_fallback import find_on_host, write_by_host
from portkit.rules import SiteRule
from portkit.syntax.source_file import field_text


def check(site: Site) -> Iterator[Intent]:
    """Find the method of the source vendor, or of a peer, in an operation that the CPU has too."""
    job = site.job
    found = find_on_host(site)
    if found is None:
        return
    title, symbol = job.vendor.title, site.symbol(site.name)
    on_host = field_text(found.node, "name")
    if found.reads_host:
        ask = (
            f"`{on_host}` also reads a storage that must be on the host already, so {title} cannot"
            f" use it. Write `{found.wanted}` by hand"
        )
        yield RequireManual("operation", ask, symbol=symbol)
    else:
        yield InsertText(
            "operation",
            f"its kernel is not ported: on {title} the CPU computes it. Check that `{on_host}`"
            f" computes what `{site.name}` does",
            symbol=symbol,
            review=True,
            text=f"\n\n{site.indent}{write_by_host(site, found)}",
            at=site.node.end_byte,
            name=found.wanted,
        )


RULE = SiteRule("PK514", frozenset({"function_item"}), check)
