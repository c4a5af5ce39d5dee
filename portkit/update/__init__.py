"""Follow upstream: the generated port on its own branch, and one merge for each version."""
