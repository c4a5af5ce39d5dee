"""Reports that the tests of several forms share."""

from __future__ import annotations

from typing import Any

from portkit.report.model import Mention, Report, ReportedCrate, ReportedSite
from portkit.workspace.finding import Applicability, Status

SECRET = "let upstream = cuda_text();"
CODES = ("PK301", "PK302", "PK401", "PK402", "PK403", "PK801", "PK802")


def site(
    number: int, applicability: Applicability, status: Status, path: str = "a/x.rs"
) -> ReportedSite:
    return ReportedSite(
        path=path,
        line=number,
        column=1,
        end_line=number,
        end_column=2,
        code=CODES[number - 1],
        construct="arm: `E|F`",
        symbol="f",
        applicability=applicability,
        status=status,
        message="see <it>",
        id=f"{CODES[number - 1]}-0000000{number}",
    )


def made(*sites: ReportedSite, unaccounted: int = 0) -> Report:
    return Report(
        root="tree",
        version="1.2.3",
        codebase="candle",
        vendor="rocm",
        platform="ROCm",
        gating="dummy",
        crates=(ReportedCrate("a", "a"), ReportedCrate("b", "a/b")),
        files=4,
        sites=sites,
        unaccounted=tuple(Mention("a/x.rs", 7 + i, SECRET) for i in range(unaccounted)),
    )


EVERY_KIND = (
    site(1, Applicability.SAFE, Status.TODO),
    site(2, Applicability.SAFE, Status.PORTED),
    site(3, Applicability.REVIEW, Status.TODO),
    site(4, Applicability.REVIEW, Status.PORTED, "a/b/y.rs"),
    site(5, Applicability.REVIEW, Status.NONE, "a/b/y.rs"),
    site(6, Applicability.MANUAL, Status.NONE, "Cargo.toml"),
    site(7, Applicability.KEEP, Status.NONE),
)


VERIFIED: dict[str, Any] = {
    "schema": 1,
    "portkit": "0.1.0",
    "root": "tree",
    "title": "candle 1.2.3",
    "baseline": "",
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "shard": "1/1",
    "verdict": "failed",
    "exit_code": 43,
    "sentence": "tree does not pass check: mend <it>",
    "seconds": 195.0,
    "left_out": [],
    "steps": [
        {
            "step": "format",
            "shows": "rustfmt leaves the tree as it is",
            "verdict": "passed",
            "seconds": 2.5,
            "remembered": "2026-01-02T03:04:05+00:00",
            "evidence": ["it is clean"],
            "left_out": ["one file"],
            "figures": {
                "files": 618,
                "affine.hip for gfx90a, kernels": 12,
                "affine.hip for gfx90a, spilling": 0,
                "affine.hip for gfx1100, kernels": 12,
                "affine.hip for gfx1100, spilling": 3,
                "moe/gemm.hip for gfx1100, failed": 1,
            },
            "diagnostics": [],
        },
        {
            "step": "check",
            "shows": "it type-checks",
            "verdict": "failed",
            "seconds": 72.0,
            "remembered": "",
            "evidence": [],
            "left_out": [],
            "figures": {},
            "diagnostics": [
                {
                    "level": "error",
                    "code": "E0004",
                    "message": "non-exhaustive <patterns>",
                    "path": "a/x.rs",
                    "line": 1,
                    "column": 2,
                    "rule": rule,
                    "site": place,
                    "origin": "",
                }
                for rule, place in (("PK301", EVERY_KIND[0].id), ("PK302", "PK302-ffffffff"))
            ],
        },
        {
            "step": "device",
            "shows": "the tests pass on a device",
            "verdict": "not taken",
            "seconds": 0,
            "remembered": "",
            "evidence": [],
            "left_out": [],
            "figures": {},
            "diagnostics": [],
        },
    ],
}
"""What a verification has written, in every state but those that look alike."""

TITLES = [
    "HIP bindings",
    "Kernels",
    "Manifests and features",
    "Device and storage",
    "Tensors",
    "Custom operations",
    "Neural-network operations",
    "Quantized",
    "Flash attention",
    "Models",
    "Python",
    "Examples and tests",
    "Documentation and CI",
]
"""The phases of candle, in the order of the plan."""
