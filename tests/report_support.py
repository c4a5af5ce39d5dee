"""Reports that the tests of several forms share."""

from __future__ import annotations

from portkit.finding import Applicability, Status
from portkit.report.model import Mention, Report, ReportedCrate, Site

SECRET = "let upstream = cuda_text();"
CODES = ("PK301", "PK302", "PK401", "PK402", "PK403", "PK801", "PK802")


def site(number: int, applicability: Applicability, status: Status, path: str = "a/x.rs") -> Site:
    return Site(
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


def made(*sites: Site, unaccounted: int = 0) -> Report:
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
