"""Whether the tree has what an entry of a codebase's profile names."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from portkit.profiles.entries import ExtraArms, Guard, ProsePatch, Section, TextPatch
from portkit.syntax.items import find_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from portkit.context.port_job import PortJob
    from portkit.profiles.entries import Patch
    from portkit.syntax.source_file import SourceFile


def has_target(job: PortJob, patch: Patch) -> bool:
    """Whether the tree has what a patch is about that says that there is nothing.

    It may where another patch stands for it in the tree's version.
    """
    version = job.workspace.version
    if any(
        other.applies_to_version(version) and other.replaces(patch)
        for other in job.codebase.patches
    ):
        return False
    return any(
        _stands_in(source, patch)
        for source in find_files(job, patch.path)
        if not job.codebase.kept(source.path)
    )


def _stands_in(source: SourceFile, patch: Patch) -> bool:
    if isinstance(patch, TextPatch | ProsePatch):
        return patch.find.encode() in source.data
    if isinstance(patch, Section):
        return (
            re.search(rb"^%s\r?$" % re.escape(patch.before.encode()), source.data, re.M) is not None
        )
    if not isinstance(patch, Guard | ExtraArms):  # the others are looked for where the files are
        return False
    return has_item(source, patch.symbol, patch.symbol.__eq__)


def find_files(job: PortJob, pattern: str) -> list[SourceFile]:
    """Return the files whose path fits a pattern."""
    sources = job.workspace.sources
    if not set("*?[") & set(pattern):
        return [sources[pattern]] if pattern in sources else []
    return [source for path, source in sources.items() if fnmatchcase(path, pattern)]


def has_item(source: SourceFile, symbol: str, fits: Callable[[str], bool]) -> bool:
    """Whether a file has an item whose name fits."""
    return any(fits(item.symbol) for item in find_items(source, [symbol]))


def is_renamed(job: PortJob, word: str) -> bool:
    """Whether an identifier stands in a file that mentions a backend; others are not renamed."""
    # What is copied whole is likely to hold it.
    for path in (*job.tree_facts.copied_files, *job.tree_facts.mentions):
        if is_word_in_texts([job.workspace.sources[path].data], word):
            return True
    return False


def is_feature(job: PortJob, manifests: list[bytes], feature: str) -> bool:
    """Whether a crate of the workspace has a feature, or a manifest names it."""
    return any(feature in crate.features for crate in job.workspace.crates) or is_word_in_texts(
        manifests, feature
    )


def is_word_in_texts(texts: Iterable[bytes], word: str) -> bool:
    """Whether a word stands in one of some texts, by itself."""
    wanted = word.encode()
    found = rb"(?<![\w-])" + re.escape(wanted) + rb"(?![\w-])"
    return any(wanted in text and re.search(found, text) for text in texts)


def is_crate_missing(job: PortJob, path: str) -> bool:
    """Whether a path is of a crate that the codebase has and the tree has not."""
    folder = path.partition("/")[0]
    if job.codebase.directory is None or f"{folder}/Cargo.toml" in job.workspace.sources:
        return False
    from portkit.fetch.workspace import list_published_crates  # few trees lack a crate

    return folder in list_published_crates(job.codebase.directory)
