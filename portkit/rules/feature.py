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
from collections.abc import Iterator

from portkit.context.intent import (
    AddToList,
    InsertText,
    Intent,
    LeaveUnchanged,
    ListMember,
    RequireManual,
)
from portkit.context.port_job import Site
from portkit.port import counterparts, cuda_only_deps
from portkit.port.feature_members import (
    convert_member,
    find_compiling_crate,
    find_cuda_only_dependency,
    find_ported_crate,
    is_external_cuda_feature,
    is_member_dropped,
    is_possibly_cuda_only,
)
from portkit.port.hip_bindings import FLOAT8
from portkit.rules import SiteRule
from portkit.syntax.features import parse_feature_member
from portkit.syntax.source_file import span_of
from portkit.syntax.span import Span
from portkit.syntax.toml_nodes import (
    find_pair_end,
    find_value,
    read_key,
    read_strings,
    read_table_header,
    unquote,
)
from portkit.syntax.toml_nodes import quote_key as key


def check(site: Site) -> Iterator[Intent]:
    """Find a feature in a manifest that names the source vendor."""
    job, table = site.job, read_table_header(site.node)
    if ".metadata" in table or read_key(site.node).startswith("metadata."):
        kept = "Cargo reads no metadata: add ROCm's feature where the tool that does should"
        yield LeaveUnchanged("metadata in Cargo.toml", kept, symbol=unquote(read_key(site.node)))
    if (
        table == "package"
        and unquote(read_key(site.node)) == "name"
        and job.mentions_peer(site.code)
    ):
        kept = "a crate of a peer's by its name; ROCm follows CUDA"
        yield LeaveUnchanged("name of a crate", kept, symbol="name")
    name, construct = unquote(read_key(site.node)), "feature in Cargo.toml"
    if not table and _is_without_table(site):
        ask = f"the manifest has no table [features]. Write the feature {job.feature} by hand"
        yield RequireManual(construct, ask, symbol=name, claims=(span_of(site.node),))
    if table != "features":
        return
    written = job.counterparts
    if name in job.vendor.unported:
        yield LeaveUnchanged(construct, job.vendor.unported[name], symbol=name)
    elif _is_in_hidden(site, name):
        kept = f"{job.feature} beside {job.source_feature} stands for both"
        yield LeaveUnchanged(construct, kept, symbol=name)
    elif name in written:
        asked = read_strings(find_value(site.node))
        members = dict.fromkeys(m for s in asked if (m := convert_member(site, name, s)))
        listed = ", ".join(f'"{member}"' for member in members)
        message = f"the feature {written[name]} asks for the counterparts"
        elsewhere = [
            member for member in asked if is_external_cuda_feature(job, site.crate, member)
        ]
        if elsewhere:
            message += (
                f"; {' and '.join(elsewhere)} is left out, since the tree does not tell whether"
                f" that crate has a feature for {job.vendor.title}: see, and add it by hand"
            )
        lost = [member for member in asked if is_member_dropped(site, name, member)]
        if lost:
            message += (
                f"; {' and '.join(lost)} is left out, since portkit finds nothing of that name for"
                f" {job.vendor.title}: see, and add it by hand"
            )
        taken = sorted({crate for m in asked if (crate := find_ported_crate(site, m))})
        if taken:
            message += f"; {' and '.join(taken)} must come from the port of the codebase it is of"
        alone = [found for member in asked if (found := find_cuda_only_dependency(site, member))[0]]
        if alone:
            message += f"; left out are {' and '.join(n for n, _ in alone)}: {alone[0][1]}"
        unclear = [member for member in asked if is_possibly_cuda_only(site, member)]
        if unclear:
            message += (
                f"; only CUDA's features turn {' and '.join(unclear)} on, and no Cargo.lock tells"
                " what for: see whether it is CUDA's"
            )
        compiling = sorted({crate for m in asked if (crate := find_compiling_crate(site, m))})
        if compiling:
            every = "compiles" if len(compiling) == 1 else "compile"
            message += (
                f"; {' and '.join(compiling)} {every} for CUDA in every build: see what"
                f" {job.vendor.title} has in its place, by hand"
            )
        review = bool(elsewhere or lost or unclear or compiling)
        if members and (inside := _find_empty_list(site, written[name])) is not None:
            listed_members = tuple(ListMember(inside, f'"{member}"') for member in members)
            yield AddToList(
                construct, message, symbol=written[name], review=review, members=listed_members
            )
            return
        yield InsertText(
            construct,
            message,
            symbol=written[name],
            review=review,
            text=f"\n{key(written[name])} = [{listed}]",
            at=find_pair_end(site.node),
            name=written[name],
        )
    elif _names_source(site):
        yield from _beside(site, name, construct)
    elif job.mentions_peer(site.code):
        yield LeaveUnchanged(construct, "it belongs to a peer; ROCm follows CUDA", symbol=name)


def _is_without_table(site: Site) -> bool:
    """Whether a pair at the top is the features, as ``features.cuda = []`` or in one line."""
    name = read_key(site.node).partition(".")[0].strip()
    return unquote(name) == "features" and _names_source(site)


def _find_empty_list(site: Site, name: str) -> Span | None:
    """Return the inside of the list of a feature that is there and turns nothing on."""
    for node, _ in counterparts.list_siblings_named(site, name):
        array = find_value(node)
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
        {convert_member(site, each, member) for member in features[each]}
        for each in (name, job.source_feature)
    )
    return own <= {job.feature, "", *hidden}


def _names_source(site: Site) -> bool:
    return site.job.mentions_cuda(site.code) or any(
        _is_of_source(site, member) for member in read_strings(find_value(site.node))
    )


def _beside(site: Site, name: str, construct: str) -> Iterator[Intent]:
    """Find a feature of its own that asks for something of the source vendor's."""
    job = site.job
    members = read_strings(find_value(site.node))
    asked = [m for m in members if _is_of_source(site, m)]
    if not members and re.fullmatch(rf"{re.escape(job.vendor.source)}[-_]?\d+", name):
        kept = "it is a version of CUDA's toolkit, which a build script sets"
        yield LeaveUnchanged(construct, kept, symbol=name)
    elif (
        why := cuda_only_deps.explain_cuda_only_feature(job, site.crate, name) if site.crate else ""
    ):
        yield LeaveUnchanged(construct, f"{why}: it is not ported", symbol=name)
    elif asked and not job.mentions_cuda(name) and all(_is_weak(site, m) for m in asked):
        listed = " and ".join(asked)
        kept = f"{listed} is asked for where CUDA is on alone, and the HIP bindings need no other"
        yield LeaveUnchanged(construct, kept, symbol=name)
    else:
        ask = f"it turns CUDA on, or is named after it: see what turns {job.feature} on, by hand"
        if name == "default":
            ask = (
                f"it turns CUDA on unless --no-default-features turns it off, which a build for"
                f" {job.vendor.title} needs: see whether it is to stay, by hand"
            )
        yield RequireManual(construct, ask, symbol=name)


def _is_of_source(site: Site, member: str) -> bool:
    return site.job.mentions_cuda(member) or parse_feature_member(member) == site.job.source_feature


def _is_weak(site: Site, member: str) -> bool:
    """Whether a member says what a crate of the source vendor's is like, and does not turn it on.

    Source: the Cargo book, chapter "Features", section "Dependency features".
    """
    crate, weak, feature = member.partition("?/")
    return bool(weak) and feature != FLOAT8 and crate in site.job.vendor.dependencies


RULE = SiteRule("PK201", frozenset({"pair"}), check)
