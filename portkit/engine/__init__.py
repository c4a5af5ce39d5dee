"""From a tree to its findings, and from findings to the changes of a run."""
