"""A stand-in for hipcc: HIP sources become code for the host, through a C++ compiler.

A source is preprocessed, what C++ has no words for is rewritten, and the result is compiled: for
the device into a shared library that the runtime loads, for the host into an object that asks the
runtime to launch. The package uses nothing but the standard library: the tree that
``portkit.device.toolkit`` makes holds a copy of it.
"""
