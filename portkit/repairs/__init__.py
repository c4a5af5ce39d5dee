"""Repairs of upstream's defects, written into the source vendor's own code, as commits.

The port's copies are right where the original is wrong: the profile's patches (PK107) and those of
its kernels (PH3nn) say what stands there instead. Here the same declarations mend the original, so
that it can be sent without a port. What the port does in another way stands in ``upstream.toml``.
"""
