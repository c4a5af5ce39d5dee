"""Proof beyond the ported tests: a cross-check by operation, mutations, whole models.

``crosscheck/`` is a Rust program of ours that is built beside a ported tree. It knows nothing of
the device that it runs on, so the same program judges the CPU device, an AMD GPU and a GPU of
another make. The modules here place it, build it, run it and judge what it finds.
"""
