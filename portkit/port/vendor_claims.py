"""Texts of a copy that speak of who makes the source's GPUs.

``"an NVIDIA GPU"`` is true beside ``Device::Cuda`` and false in its copy. The name table knows
names of platforms, and what is true of the other maker's GPUs it cannot know: a person looks at
such a copy. A path or an address with the name in it, such as that of a model, is no such text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from portkit.context.intent import CopySite
    from portkit.context.port_job import PortJob


def mark_vendor_claims(job: PortJob, intent: CopySite, text: str) -> CopySite:
    """Return what is wanted, for a person to look at where a text speaks of the maker."""
    maker = job.vendor.source_maker
    named = rf'"[^"]*(?<![\w./-]){re.escape(maker)}(?![\w./-])[^"]*"'
    if not re.search(named, text, re.IGNORECASE):
        return intent
    return replace(
        intent,
        message=f"{intent.message}; a text in it speaks of {maker}: say what is true here",
        review=True,
    )
