"""A comment in Rust or TOML that speaks of a backend, outside any place that is ported.

Comments that belong to a copied item are copied with it. One that stands by itself is prose: it is
left as it is, unless the profile holds a change for it, and it is listed so that nobody has to
search for it.

Not handled: whether what the comment says is still true.
"""

from __future__ import annotations

from collections.abc import Iterator

from portkit.context.intent import Intent, LeaveUnchanged, ReplaceText
from portkit.context.port_job import Site
from portkit.rules import SiteRule
from portkit.syntax.source_file import span_of


def check(site: Site) -> Iterator[Intent]:
    """Find a comment that names a backend."""
    if site.is_python:
        return  # PK703's
    is_doc = site.code.startswith(("///", "//!", "/**", "/*!"))
    construct = "doc comment" if is_doc else "comment"
    prose = site.job.find_prose_patch(site)
    if prose is not None:
        yield ReplaceText(
            construct,
            prose.reason,
            old=prose.find,
            new=prose.write,
            entry=site.job.codebase.key(prose),
        )
    else:
        yield LeaveUnchanged(
            construct, "prose: nothing depends on it", claims=(span_of(site.node),)
        )


RULE = SiteRule("PK701", frozenset({"block_comment", "comment", "line_comment"}), check)
