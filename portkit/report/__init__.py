"""Reports: one model of what a scan found, and a writer for each format."""
