"""What a tree has from the ports of the codebases that it is built on."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from portkit.codebases.directory import Directory
from portkit.codebases.registry import MAIN, find_codebase
from portkit.errors import ProfileError
from portkit.fetch.workspace import list_published_crates
from portkit.profiles.profile import CodebaseProfile, PortedDependency, load_codebase, load_vendor


def add_dependency_ports(codebase: CodebaseProfile, vendor: str) -> CodebaseProfile:
    """Return a profile with the ported features and names of the codebases it uses.

    Which of their crates have the vendor's feature, what is called otherwise there, and which
    bindings they hand out.

    A port gives it to each crate that has the source's (PK201), and leaves alone what its profile
    keeps. Which crates a codebase has, says its ``fetch.toml``; without one, it is the one that
    tells it. What has no counterpart there has none here, and a macro or a module that has another
    name there has it where this codebase uses it; a name that is kept there is kept. Operations are
    computed on the host as they are there.
    """
    found: dict[str, PortedDependency] = {}
    unported: dict[str, str] = {}
    words: dict[str, str] = {}
    kept: dict[str, str] = {}
    host = codebase.host
    for name in codebase.uses:
        try:
            directory = find_codebase(name)
        except ProfileError as error:
            raise _make_fault(codebase, str(error)) from None
        below = load_codebase(directory)
        if below.name == codebase.name:
            raise _make_fault(
                codebase, f"{name!r} is this codebase itself: name those that it is built on"
            )
        features = load_vendor(vendor, below)
        for crate in _list_crates(directory, below):
            found[crate] = PortedDependency(
                name,
                features.source_feature,
                features.feature,
                features.libraries,
                bindings=below.bindings if below.source_bindings else "",
                source_bindings=below.source_bindings,
            )
        unported |= below.unported
        words |= below.words
        kept |= below.kept_names
        host = host or below.host
    return replace(
        codebase,
        ported=found,
        unported={**unported, **codebase.unported},
        words={**words, **codebase.words},
        kept_names={**kept, **codebase.kept_names},
        host=host,
    )


def _list_crates(directory: Directory, below: CodebaseProfile) -> Iterator[str]:
    for crate in list_published_crates(directory) or (below.crate,):
        if below.kept(f"{crate}/Cargo.toml") is None:
            yield crate


def _make_fault(codebase: CodebaseProfile, sentence: str) -> ProfileError:
    directory = codebase.directory
    return (
        ProfileError(sentence)
        if directory is None
        else directory.fault(MAIN, ("uses",), f"uses: {sentence}")
    )
