"""The Cargo feature of the CUDA backend.

``cuda = ["cudarc", "dep:toy-kernels", "toy/cuda"]`` gains a sibling ``rocm`` that asks for
the counterparts: the HIP bindings, the ROCm kernels, and the feature ``rocm`` of the crates below.
So does the feature of a library that has one, as ``nccl = ["cuda", "cudarc/nccl"]`` gains ``rccl``.
Crates that exist only to compile or bind CUDA are left out.

What turns CUDA on in a crate from elsewhere is left out, and a person sees what that crate has: a
feature that it lacks would break each build. Where the crate has a path it is written, and so it
is where the profile names the codebase that the crate is of (``uses``), with the features of its
libraries. A dependency that CUDA's
features alone turn on, and that leads to CUDA by Cargo.lock, is left out as well. A crate of the
tree that has CUDA's compiler run in every build, and no counterpart, is left out for a person.

A feature that asks for something of cudarc only where that is on, as ``std = ["cudarc?/std"]``
does, is left alone: the HIP bindings are the same with any features of the tree. The ``metadata``
of a manifest is for other tools than Cargo, and is left alone.

A feature that turns on CUDA and what CUDA alone has is left alone: ``fast = ["cuda",
"dep:swift-norm"]``, or one that asks for that of another crate of the tree. So is a version of
CUDA's toolkit, ``cuda-12000 = []``, and the name of a crate of a peer's.

A feature ``rocm = []`` that is there and turns nothing on gains the members that it lacks.

Where the backend stands under a hidden feature, ``cuda = ["_cuda"]``, one ``rocm`` stands for both.

Features without a table of their own, ``features = { cuda = [] }`` or ``features.cuda = []``, are
for a person.

Not handled: a feature that turns CUDA's on, such as ``default = ["cuda"]``, or is named after CUDA,
which is left to a person. Where the default does, `portkit verify` asks for the others by name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from portkit.copying import bound_features, standing
from portkit.copying.bindings import FLOAT8
from portkit.copying.members import (
    bound_dependency,
    compiles,
    counterpart,
    from_port,
    is_elsewhere,
    is_lost,
    is_unclear,
)
from portkit.lang.features import asked_by
from portkit.lang.source import span_of
from portkit.lang.span import Span
from portkit.lang.toml import bare, end_of, key_of, strings, table_of, value_of
from portkit.lang.toml import written as key
from portkit.rules import SiteRule
from portkit.site.intent import Add, Ask, Enlist, Intent, Keep, Member

if TYPE_CHECKING:
    from collections.abc import Iterator

    from portkit.site.context import Site


def check(site: Site) -> Iterator[Intent]:
    """Find a feature in a manifest that names the source vendor."""
    job, table = site.job, table_of(site.node)
    if ".metadata" in table or key_of(site.node).startswith("metadata."):
        kept = "Cargo reads no metadata: add ROCm's feature where the tool that does should"
        yield Keep("metadata in Cargo.toml", kept, symbol=bare(key_of(site.node)))
    if table == "package" and bare(key_of(site.node)) == "name" and job.names_peer(site.code):
        kept = "a crate of a peer's by its name; ROCm follows CUDA"
        yield Keep("name of a crate", kept, symbol="name")
    name, construct = bare(key_of(site.node)), "feature in Cargo.toml"
    if not table and _is_without_table(site):
        ask = f"the manifest has no table [features]. Write the feature {job.feature} by hand"
        yield Ask(construct, ask, symbol=name, claims=(span_of(site.node),))
    if table != "features":
        return
    written = job.counterparts
    if name in job.vendor.unported:
        yield Keep(construct, job.vendor.unported[name], symbol=name)
    elif _is_in_hidden(site, name):
        kept = f"{job.feature} beside {job.source_feature} stands for both"
        yield Keep(construct, kept, symbol=name)
    elif name in written:
        asked = strings(value_of(site.node))
        members = dict.fromkeys(m for s in asked if (m := counterpart(site, name, s)))
        listed = ", ".join(f'"{member}"' for member in members)
        message = f"the feature {written[name]} asks for the counterparts"
        elsewhere = [member for member in asked if is_elsewhere(job, site.crate, member)]
        if elsewhere:
            message += (
                f"; {' and '.join(elsewhere)} is left out, since the tree does not tell whether"
                f" that crate has a feature for {job.vendor.title}: see, and add it by hand"
            )
        lost = [member for member in asked if is_lost(site, name, member)]
        if lost:
            message += (
                f"; {' and '.join(lost)} is left out, since portkit finds nothing of that name for"
                f" {job.vendor.title}: see, and add it by hand"
            )
        taken = sorted({crate for m in asked if (crate := from_port(site, m))})
        if taken:
            message += f"; {' and '.join(taken)} must come from the port of the codebase it is of"
        alone = [found for member in asked if (found := bound_dependency(site, member))[0]]
        if alone:
            message += f"; left out are {' and '.join(n for n, _ in alone)}: {alone[0][1]}"
        unclear = [member for member in asked if is_unclear(site, member)]
        if unclear:
            message += (
                f"; only CUDA's features turn {' and '.join(unclear)} on, and no Cargo.lock tells"
                " what for: see whether it is CUDA's"
            )
        compiling = sorted({crate for m in asked if (crate := compiles(site, m))})
        if compiling:
            every = "compiles" if len(compiling) == 1 else "compile"
            message += (
                f"; {' and '.join(compiling)} {every} for CUDA in every build: see what"
                f" {job.vendor.title} has in its place, by hand"
            )
        review = bool(elsewhere or lost or unclear or compiling)
        if members and (inside := _find_empty_list(site, written[name])) is not None:
            listed_members = tuple(Member(inside, f'"{member}"') for member in members)
            yield Enlist(
                construct,
                message,
                symbol=written[name],
                review=review,
                members=listed_members,
            )
            return
        yield Add(
            construct,
            message,
            symbol=written[name],
            review=review,
            text=f"\n{key(written[name])} = [{listed}]",
            at=end_of(site.node),
            name=written[name],
        )
    elif _names_source(site):
        yield from _beside(site, name, construct)
    elif job.names_peer(site.code):
        yield Keep(construct, "it belongs to a peer; ROCm follows CUDA", symbol=name)


def _is_without_table(site: Site) -> bool:
    """Whether a pair at the top is the features, as ``features.cuda = []`` or in one line."""
    name = key_of(site.node).partition(".")[0].strip()
    return bare(name) == "features" and _names_source(site)


def _find_empty_list(site: Site, name: str) -> Span | None:
    """Return the inside of the list of a feature that is there and turns nothing on."""
    for node, _ in standing.named(site, name):
        array = value_of(node)
        if array.type == "array" and not array.named_children:
            return Span(array.start_byte + 1, array.start_byte + 1)
    return None


def _is_in_hidden(site: Site, name: str) -> bool:
    """Whether the counterpart of a crate's hidden feature asks for all that this one's would."""
    job = site.job
    features = site.crate.manifest.get("features", {}) if site.crate is not None else {}
    if name not in job.vendor.spellings or job.source_feature not in features:
        return False
    own, hidden = (
        {counterpart(site, each, member) for member in features[each]}
        for each in (name, job.source_feature)
    )
    return own <= {job.feature, "", *hidden}


def _names_source(site: Site) -> bool:
    return site.job.names_source(site.code) or any(
        _is_of_source(site, member) for member in strings(value_of(site.node))
    )


def _beside(site: Site, name: str, construct: str) -> Iterator[Intent]:
    """Find a feature of its own that asks for something of the source vendor's."""
    job = site.job
    members = strings(value_of(site.node))
    asked = [m for m in members if _is_of_source(site, m)]
    if not members and re.fullmatch(rf"{re.escape(job.vendor.source)}[-_]?\d+", name):
        kept = "it is a version of CUDA's toolkit, which a build script sets"
        yield Keep(construct, kept, symbol=name)
    elif why := bound_features.why(job, site.crate, name) if site.crate else "":
        yield Keep(construct, f"{why}: it is not ported", symbol=name)
    elif asked and not job.names_source(name) and all(_is_weak(site, m) for m in asked):
        listed = " and ".join(asked)
        kept = f"{listed} is asked for where CUDA is on alone, and the HIP bindings need no other"
        yield Keep(construct, kept, symbol=name)
    else:
        ask = f"it turns CUDA on, or is named after it: see what turns {job.feature} on, by hand"
        if name == "default":
            ask = (
                f"it turns CUDA on unless --no-default-features turns it off, which a build for"
                f" {job.vendor.title} needs: see whether it is to stay, by hand"
            )
        yield Ask(construct, ask, symbol=name)


def _is_of_source(site: Site, member: str) -> bool:
    return site.job.names_source(member) or asked_by(member) == site.job.source_feature


def _is_weak(site: Site, member: str) -> bool:
    """Whether a member says what a crate of the source vendor's is like, and does not turn it on.

    Source: the Cargo book, chapter "Features", section "Dependency features".
    """
    crate, weak, feature = member.partition("?/")
    return bool(weak) and feature != FLOAT8 and crate in site.job.vendor.dependencies


RULE = SiteRule("PK201", frozenset({"pair"}), check)
