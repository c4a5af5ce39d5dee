"""Every version as a property: what holds for each published version and commit of a codebase.

Each is scanned without an unaccounted mention, ported, found ported, laid out as rustfmt asks, and
type-checked in both gatings with the port's feature and without. Tests ask single versions;
``ci/versions`` asks all of them, and commits of a clone, and writes ``reports/versions``.
"""
