"""The first profile of a codebase, inferred from its tree, with evidence for each line."""
