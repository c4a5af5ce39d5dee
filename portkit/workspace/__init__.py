"""The user's tree: crates, files, its repository, programs, findings."""
