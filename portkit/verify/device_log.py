"""Read the CPU device's log: launches of kernels, and defects.

Each process writes ``PID.json`` as it ends (``src/runtime/report.cpp`` of the device); one that is
ended from outside leaves none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class DeviceLog:
    """Launches and defects that the CPU device has seen.

    Attributes:
        launches: of each kernel of the modules that were loaded, also of those never launched.
        threads: how many threads of the device ran.
        defects: what is wrong with kernels or their callers, once for each place, and how often.
    """

    launches: Counter[str] = field(default_factory=Counter)
    threads: int = 0
    defects: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: DeviceLog) -> DeviceLog:
        return DeviceLog(
            _add_counters(self.launches, other.launches),
            self.threads + other.threads,
            _add_counters(self.defects, other.defects),
        )

    @property
    def never_launched(self) -> tuple[str, ...]:
        """The kernels that were there and were not launched, sorted."""
        return tuple(sorted(name for name, times in self.launches.items() if times == 0))

    def packed(self) -> dict[str, Any]:
        """Return the same as JSON can hold it."""
        return {
            "launches": dict(sorted(self.launches.items())),
            "threads": self.threads,
            "defects": dict(sorted(self.defects.items())),
        }


def unpack_log(kept: Mapping[str, Any]) -> DeviceLog:
    """Return the log that ``DeviceLog.packed`` packed."""
    return DeviceLog(Counter(kept["launches"]), kept["threads"], Counter(kept["defects"]))


def read_logs(folder: Path) -> DeviceLog:
    """Return the sum of the logs that processes wrote into a folder."""
    seen = DeviceLog()
    for place in sorted(folder.glob("*.json")):
        try:
            content = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # of a process that was ended while it wrote
        defects: Counter[str] = Counter()
        for finding in content["findings"]:
            defects[f"{finding['kind']}: {finding['message']}"] += finding["times"]
        seen += DeviceLog(Counter(content["kernels"]), content["threads"], defects)
    return seen


def _add_counters(one: Counter[str], other: Counter[str]) -> Counter[str]:
    """Return the sum of two counters, entries of 0 included."""
    total = one.copy()
    total.update(other)
    return total
