"""All that is particular to a vendor or to one codebase, as data."""
