"""Following upstream: the pure port on a branch of its own, and one merge for each version."""
