"""``python -m portkit.selftest``: one step on one tree, in a process that can be ended.

``portkit trial`` starts it; a person takes ``portkit verify``. Nobody is asked whether the tree may
be trusted: that was before.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from portkit.codebases.registry import find_codebase
from portkit.report.run_display import RunReporter
from portkit.report.terminal import Terminal
from portkit.selftest.throughput import BUILD, THROUGHPUT
from portkit.verify import STEPS, Options, verify_tree
from portkit.verify.options import EMULATED


def main() -> int:
    """Take the step and write the document of ``portkit verify`` about it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--step", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--gpu", default=EMULATED)
    parser.add_argument("--emulator", default="")
    parser.add_argument("--rocm", default="")
    parser.add_argument("--package", action="append", default=[])
    parser.add_argument("--profile", default="")
    parser.add_argument("--test-timeout", type=float, required=True)
    parser.add_argument("--document", required=True)
    given = parser.parse_args()
    options = Options(
        only=(given.step,),
        device=given.device,
        gpu=given.gpu,
        emulator=given.emulator,
        rocm=given.rocm,
        packages=tuple(given.package),
        profile=find_codebase(given.profile) if given.profile else None,
        test_seconds=given.test_timeout,
        cached=False,  # what is told was seen in this run
    )
    reporter = RunReporter(
        given.tree.as_posix(),
        options,
        show=lambda text: None,
        screen=Terminal(),
        errors=sys.stderr,
        error_screen=Terminal(),
        document=given.document,
    )
    steps = (*STEPS, BUILD, THROUGHPUT)
    return reporter.sum_up(
        verify_tree(given.tree, options, reporter, steps, consent=lambda root: None)
    )


if __name__ == "__main__":
    raise SystemExit(main())
