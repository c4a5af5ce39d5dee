"""A test program of the bindings that prints how far off it is, run on the CPU device."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from portkit.device.toolkit import build_toolkit
from portkit.errors import VerificationError
from portkit.verify.device_choice import ARCH_OF_WAVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STREAMS: Final = {32: "", 64: "lazy"}
"""When work is done, by lanes of a wavefront: at once, or as late as HIP allows."""

_SECONDS: Final = 300.0
_OF_THE_HARNESS: Final = ("case: ", "test ", "running")


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program has printed.

    Attributes:
        text: all of it.
        lost: what it says where it fails; empty where all is right.
        seconds: how long it took.
    """

    text: str
    lost: str
    seconds: float


def printed(
    program: str, wave: int, environment: Mapping[str, str], tests: Sequence[str] = ()
) -> Printed:
    """Run a program, with work done at once or late by the size of the wavefront.

    Args:
        program: a test program of the bindings.
        wave: lanes of a wavefront.
        environment: what it is told besides.
        tests: those that are run; all by default.

    Raises:
        VerificationError: it does not end.
        ToolError: the CPU device cannot be built.
    """
    device = build_toolkit().environment(arch=ARCH_OF_WAVE[wave])
    begun = time.monotonic()
    try:
        done = subprocess.run(
            [program, "--include-ignored", "--nocapture", *tests],
            env={**device, "PORTKIT_DEVICE_STREAMS": STREAMS[wave], **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise VerificationError(f"{program} has not ended after {_SECONDS:.0f} s") from None
    lost = "" if done.returncode == 0 else _reason(done.stdout)
    return Printed(done.stdout, lost, time.monotonic() - begun)


def _reason(text: str) -> str:
    said = [line for line in text.splitlines() if not line.startswith(_OF_THE_HARNESS)]
    return " ".join(" ".join(said).split())[:500] or "it ends with an error and says nothing"


def streams(wave: int) -> str:
    """Return when work is done with a wavefront, for a page."""
    return "as late as may be" if STREAMS[wave] else "at once"


def verdict(failed: Sequence[str]) -> str:
    """Return the sentence of a page about what failed.

    Args:
        failed: the wavefronts of the runs that did, as ``64`` or ``64 (measured)``.
    """
    if not failed:
        return "None is off by more than its type allows."
    named = " and ".join(failed)
    return f"**With wavefronts of {named} some fail, and what comes after them was not taken.**"
