"""The user's tree: crates, files, the repository, and the programs that work on it."""
