"""Complete words in a shell.

Each Tab runs portkit: nothing here scans a tree or asks the network, and what a completion needs is
imported when it runs. What goes wrong completes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from portkit.errors import PortkitError


def complete_codes(incomplete: str) -> list[tuple[str, str]]:
    """Return codes that begin so, with their titles."""
    from portkit.engine.rule_pages import list_all_pages

    return _complete_list(
        incomplete, ((page.code, page.title.replace("``", "`")) for page in list_all_pages())
    )


def complete_steps(incomplete: str) -> list[tuple[str, str]]:
    """Return steps of ``portkit verify`` that begin so, with their claims."""
    from portkit.verify import STEPS

    return _complete_list(incomplete, ((step.name, step.shows) for step in STEPS))


def complete_codebases(incomplete: str) -> list[tuple[str, str]]:
    """Return the codebases that can be named; the shell itself completes paths where none fits."""
    from portkit.codebases.registry import list_codebases

    with contextlib.suppress(PortkitError):
        return [(name, "") for name in list_codebases() if name.startswith(incomplete)]
    return []


def complete_specs(incomplete: str) -> list[tuple[str, str]]:
    """Return the codebases and versions that can be fetched, as far as cargo's cache knows them."""
    from portkit.fetch import list_fetchable, list_published_versions
    from portkit.fetch.workspace import LATEST

    name, at, _ = incomplete.partition("@")
    found: list[tuple[str, str]] = []
    with contextlib.suppress(PortkitError):
        if not at:
            return [(each, "") for each in list_fetchable() if each.startswith(name)]
        versions = list_published_versions(name, ask=False)
        found = [(f"{name}@{LATEST}", "the last release")]
        found += [(f"{name}@{v.version}", "fetched before" if v.fetched else "") for v in versions]
    return [each for each in found if each[0].startswith(incomplete)]


def _complete_list(incomplete: str, words: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    done, comma, begun = incomplete.rpartition(",")
    return [(done + comma + word, said) for word, said in words if word.startswith(begun)]
