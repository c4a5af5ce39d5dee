"""The cross-check: every operation of a ported codebase against arithmetic in float64."""
