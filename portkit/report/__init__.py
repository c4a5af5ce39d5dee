"""Reports: one model of a scan, and a writer for each format."""
