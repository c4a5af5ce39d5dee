"""Codebases: all that is particular to one of them lies in one directory, here or anywhere else."""
