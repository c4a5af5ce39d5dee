"""The first run on a machine: everything that shows whether a port works there, into one file."""
