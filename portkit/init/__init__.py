"""The first profile of a codebase: what its tree tells, each line with its evidence."""
