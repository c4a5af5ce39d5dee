"""The page of each code that a report can name."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Final

from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.codebases.directory import Directory
    from portkit.hipify.kernel_profile import KernelProfile


class RulePage(Value, frozen=True):
    """What there is to know about one code."""

    code: str
    name: str
    title: str
    text: str  # The rest, in paragraphs; empty where the title says all.

    @property
    def whole(self) -> str:
        """All of it, in Markdown."""
        text = "\n\n".join(part for part in (self.title, self.text) if part)
        return text.replace("``", "`")


_ENGINE: Final = """A file that hipify-clang or hipify-perl could not do.

Our own rules did it alone. What the tool says of the file stands in the message; hipify-clang needs
every header that the file includes."""


@cache
def list_all_pages(own: Directory | None = None) -> tuple[RulePage, ...]:
    """Return the page of every code that a report can name, sorted by code.

    Args:
        own: the directory of the codebase whose patches are meant; every one that portkit brings
            by default.
    """
    return tuple(sorted((*list_pages(), *list_kernel_pages(own)), key=lambda page: page.code))


@cache
def list_kernel_pages(own: Directory | None = None) -> tuple[RulePage, ...]:
    """Return the page of every code of the kernels stage, sorted by code."""
    from portkit.codebases.registry import find_shipped
    from portkit.hipify.external_engines import FAILED
    from portkit.hipify.kernel_profile import load_profile
    from portkit.hipify.rules import RULES
    from portkit.profiles.profile import load_codebase

    found = [_read_page(rule.code, rule.name, rule.doc) for rule in RULES]
    found.append(_read_page(FAILED, "other_engine", _ENGINE))
    for directory in (own,) if own else find_shipped().values():
        found += _patch_pages(load_profile(directory, load_codebase(directory).name))
    return tuple(sorted(found, key=lambda page: page.code))


def _patch_pages(profile: KernelProfile) -> Iterator[RulePage]:
    for code, purpose in profile.purposes.items():
        # Patches of one purpose, each for a place of its own, may say the same.
        reasons = dict.fromkeys(
            f"- {', '.join(patch.files)}: {patch.reason}"
            + (" (a defect of the CUDA source)" if patch.upstream_bug else "")
            for patch in profile.patches
            if patch.code == code
        )
        yield RulePage(code, f"{profile.name}_kernels", purpose, "\n".join(reasons))


@cache
def list_pages() -> tuple[RulePage, ...]:
    """Return the page of every code that is about Rust or a whole file, sorted by code."""
    from portkit.rules import list_rules

    return tuple(_read_page(rule.code, rule.name, rule.doc) for rule in list_rules())


def _read_page(code: str, name: str, text: str) -> RulePage:
    title, _, rest = inspect.cleandoc(text).partition("\n\n")
    return RulePage(code, name, " ".join(title.split()), rest)
