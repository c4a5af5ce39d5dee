"""The page of each code that a report can name: what it finds, why, and what it leaves out."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.codebases.directory import Directory
    from portkit.hipify.profile import KernelProfile


@dataclass(frozen=True, slots=True)
class Page:
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


# The codes that have no rule: they are about whole files, or about what a profile holds.
_FILES: Final = {
    "PK101": (
        "copied_file",
        """A file that is the CUDA backend's as a whole.

        ``cuda_backend/mod.rs``, ``quantized/cuda.rs``, ``dummy_cuda_backend.rs``: the path says so,
        or the file is a module that is declared under the feature. Its counterpart is a copy beside
        it under the name table, with the items replaced that the profile overrides. Where the copy
        stands already, it is left as it is.""",
    ),
    "PK102": (
        "kept_file",
        """A file that mentions a backend and is left alone as a whole.

        It belongs to a peer of CUDA's, to a library without a counterpart, or to nothing that is
        compiled, or the codebase's profile keeps it; the message says which.""",
    ),
    "PK103": (
        "added_file",
        """A file that the port adds and that no file of the tree stands for.

        The HIP bindings, the crate of kernels, tests and pages of documentation come from
        templates. A file that stands already is left as it is.""",
    ),
    "PK104": (
        "override",
        """An item whose copy comes from a template, because the two platforms' libraries differ.

        The codebase's profile names the item and gives the reason, with the fingerprint of each
        upstream version that the template was written against. Where upstream has changed the item
        since, the finding is `review`: see whether the template must follow.""",
    ),
    "PK105": (
        "page_section",
        """A page of documentation that gains a section.

        The codebase's profile holds the section and the heading that it stands before. Other
        mentions in documentation are left alone and counted (PK102).""",
    ),
    "PK106": (
        "guard",
        """A statement at the beginning of a function that has no ROCm path but can be reached.

        Without it a ROCm tensor fails deep inside. The codebase's profile holds the statement: it
        takes the path that works on every device, or says at once what is missing.""",
    ),
    "PK107": (
        "repair",
        """A bug of the CUDA side that its copy does not carry on.

        The codebase's profile holds the change and the evidence. The CUDA side is left as it is,
        and the finding is a `review`: upstream should hear of it. Where the CUDA side is neither
        what the change was written for nor what is known to be mended, the copy is unchanged, and
        the finding says that a person must look.""",
    ),
    "PK901": (
        "syntax_error",
        """A place that the parser does not understand.

        The rest of the file was still looked at. Newer syntax than the parser knows is the usual
        cause; look at the place by hand.""",
    ),
    "PK903": (
        "unused_exception",
        """A comment in the source, or a skip in ``portkit.toml``, that excepts nothing.

        ``// portkit: keep PK501 reason`` above an item keeps what PK501 finds at it; in a manifest
        the comment begins with ``#``. Where nothing of that code begins there, where the comment
        names no code, or where it gives no reason, it would only hide what comes there later: mend
        it or take it away.""",
    ),
    "PK902": (
        "unread_file",
        """A file that could not be looked at.

        It cannot be read, or it is not UTF-8; the message says which. Nothing is known about the
        backend mentions in it.""",
    ),
}


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

    found = [_page(code, name, text) for code, (name, text) in _FILES.items()]
    for rule in rules():
        text = sys.modules[rule.check.__module__].__doc__ or ""
        found.append(_page(rule.code, rule.name, text))
    return tuple(sorted(found, key=lambda page: page.code))


def _page(code: str, name: str, text: str) -> Page:
    title, _, rest = inspect.cleandoc(text).partition("\n\n")
    return Page(code, name, " ".join(title.split()), rest)
