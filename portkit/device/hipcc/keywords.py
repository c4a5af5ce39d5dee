"""What the headers of the device leave for the rewriting (include/hipcpu/keywords.h)."""

from __future__ import annotations

from typing import Final

KERNEL: Final = "__hipcpu_kernel__"
"""Stands for ``__global__``."""

DEVICE: Final = "__hipcpu_device__"
"""Stands for ``__device__``, ``__constant__`` and ``__managed__``."""

SHARED: Final = "__hipcpu_shared__"
"""Stands for ``__shared__``."""

BOUNDS: Final = "__hipcpu_bounds__"
"""Stands for ``__launch_bounds__``; its arguments follow in parentheses."""
