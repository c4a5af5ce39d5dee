"""Languages: files, syntax trees, items, conditions and names; nothing of a port."""
