"""Stands in for ``portkit`` where the commands of the documentation are tried.

``fetch`` makes the tests' small candle instead of asking the registry; everything else is portkit.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from cli_support import make_candle  # noqa: E402 (the path comes first)

from portkit.__main__ import main  # noqa: E402
from portkit.cli import type_check  # noqa: E402

if __name__ == "__main__":
    if sys.argv[1:2] == ["fetch"]:
        codebase, _, version = sys.argv[2].partition("@")
        assert codebase == "candle"
        make_candle(Path(sys.argv[3]), version=version)
    else:
        type_check.is_checked_by_default = lambda root: False  # it takes minutes
        main()
