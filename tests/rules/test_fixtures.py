"""Every fixture of every rule passes every check of `fixture_checks`."""

from __future__ import annotations

from functools import partial

import pytest
from fixture_checks import CHECKS, check_gatings
from harness import Case, Run, every_case


@pytest.mark.parametrize("case", every_case(), ids=lambda case: f"{case.rule}-{case.name}")
def test_a_case_passes_every_check(case: Case) -> None:
    """Run all checks on one case, which share its scans; a note names each check that fails."""
    runs = [Run(case, gating) for gating in ("dummy", "cfg")]
    checks = {
        f"{check.__name__} {run.gating}": partial(check, run) for run in runs for check in CHECKS
    }
    checks[check_gatings.__name__] = partial(check_gatings, case)
    failures: list[Exception] = []
    for name, check in checks.items():
        try:
            check()
        except Exception as failure:
            failure.add_note(f"{name} fails")
            failures.append(failure)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(checks)} checks fail", failures)
