"""Every fixture of every rule passes every check of `fixture_checks`."""

from __future__ import annotations

import pytest
from fixture_checks import CHECKS, check_gatings
from harness import Case, Run, every_case


@pytest.mark.parametrize("case", every_case(), ids=lambda case: f"{case.rule}-{case.name}")
def test_a_case_passes_every_check(case: Case) -> None:
    """Run all checks on one case, which share its scans; a note names each check that fails."""
    failures: list[Exception] = []
    runs = [Run(case, gating) for gating in ("dummy", "cfg")]
    checks = [(f"{check.__name__} {run.gating}", check, run) for run in runs for check in CHECKS]
    for name, check, argument in (*checks, (check_gatings.__name__, check_gatings, case)):
        try:
            check(argument)
        except Exception as failure:
            failure.add_note(f"{name} fails")
            failures.append(failure)
    if failures:
        raise ExceptionGroup(f"{len(failures)} checks fail", failures)
