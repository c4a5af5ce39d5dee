"""``python -m portkit``."""

from __future__ import annotations

from portkit.cli import main

if __name__ == "__main__":
    main()
