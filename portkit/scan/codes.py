"""The page of each code that a report can name: what it finds, why, and what it leaves out."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Final

from portkit.lang.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.codebases.directory import Directory
    from portkit.hipify.profile import KernelProfile


class Page(Value, frozen=True):
    """What there is to know about one code.

    Attributes:
        code: ``PKnnn``, or ``PHnnn`` for kernel sources.
        name: the construct in one or a few words, with ``_``.
        title: the first sentence.
        text: the rest, in paragraphs; empty where the title says all.
    """

    code: str
    name: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        """All of it, in Markdown."""
        text = "\n\n".join(part for part in (self.title, self.text) if part)
        return text.replace("``", "`")


_ENGINE: Final = """A file that hipify-clang or hipify-perl could not do.

Our own rules did it alone. What the tool says of the file stands in the message; hipify-clang needs
every header that the file includes."""


@cache
def every_page(own: Directory | None = None) -> tuple[Page, ...]:
    """Return the page of every code that a report can name, sorted by code.

    Args:
        own: the directory of the codebase whose patches are meant; every one that portkit brings
            by default.
    """
    return tuple(sorted((*pages(), *kernel_pages(own)), key=lambda page: page.code))


@cache
def kernel_pages(own: Directory | None = None) -> tuple[Page, ...]:
    """Return the page of every code of the kernels stage, sorted by code; see ``every_page``."""
    from portkit.codebases.known import brought
    from portkit.hipify.engines import FAILED
    from portkit.hipify.profile import load_profile
    from portkit.hipify.rules import RULES
    from portkit.profile.profile import load_codebase

    found = [_page(rule.code, rule.name, rule.doc) for rule in RULES]
    found.append(_page(FAILED, "other_engine", _ENGINE))
    for directory in (own,) if own else brought().values():
        found += _patch_pages(load_profile(directory, load_codebase(directory).name))
    return tuple(sorted(found, key=lambda page: page.code))


def _patch_pages(profile: KernelProfile) -> Iterator[Page]:
    for code, purpose in profile.purposes.items():
        # Patches of one purpose, each for a place of its own, may say the same.
        reasons = dict.fromkeys(
            f"- {', '.join(patch.files)}: {patch.reason}"
            + (" (a defect of the CUDA source)" if patch.upstream_bug else "")
            for patch in profile.patches
            if patch.code == code
        )
        yield Page(code, f"{profile.name}_kernels", purpose, "\n".join(reasons))


@cache
def pages() -> tuple[Page, ...]:
    """Return the page of every code that is about Rust or a whole file, sorted by code."""
    from portkit.rules import rules

    return tuple(_page(rule.code, rule.name, rule.doc) for rule in rules())


def _page(code: str, name: str, text: str) -> Page:
    title, _, rest = inspect.cleandoc(text).partition("\n\n")
    return Page(code, name, " ".join(title.split()), rest)
