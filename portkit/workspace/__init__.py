"""The user's tree: crates, files, its repository, the programs on it, what is said about it."""
