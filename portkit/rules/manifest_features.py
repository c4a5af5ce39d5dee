"""Features of a manifest, and what requires them."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from portkit.context.intent import (
    AddToList,
    AlreadyPorted,
    CopySite,
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
from portkit.port.toolkit_versions import find_shared_members, is_version_feature
from portkit.rules import SiteRule
from portkit.rules.dependency import name_counterpart
from portkit.syntax.features import parse_feature_member
from portkit.syntax.source_file import node_text, span_of
from portkit.syntax.span import Span
from portkit.syntax.toml_nodes import (
    find_entry,
    find_pair_end,
    find_root,
    find_value,
    read_entry_name,
    read_key,
    read_strings,
    read_table_header,
    unquote,
)
from portkit.syntax.toml_nodes import quote_key as key
from portkit.workspace.cargo_resolution import find_requestable_features


def check_feature(site: Site) -> Iterator[Intent]:
    """Find a feature in a manifest that names the source vendor."""
    job, table = site.job, read_table_header(site.node)
    if ".metadata" in table or read_key(site.node).startswith("metadata."):
        kept = "Cargo ignores metadata. If another tool reads it, add the feature `rocm` there"
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
        asked = [*read_strings(find_value(site.node)), *_list_shared(site, name)]
        members = dict.fromkeys(m for s in asked if (m := convert_member(site, name, s)))
        listed = ", ".join(f'"{member}"' for member in members)
        message = f"the feature {written[name]} asks for the counterparts"
        elsewhere = [
            member for member in asked if is_external_cuda_feature(job, site.crate, member)
        ]
        if elsewhere:
            message += (
                f"; {' and '.join(elsewhere)} is left out, since the tree does not tell whether"
                f" that crate has a feature for {job.vendor.title}: if it exists, add it by hand"
            )
        lost = [member for member in asked if is_member_dropped(site, name, member)]
        if lost:
            message += (
                f"; {' and '.join(lost)} is left out, since portkit finds nothing of that name for"
                f" {job.vendor.title}: if it exists, add it by hand"
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
        yield from _check_own_feature(site, name, construct)
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


def _check_own_feature(site: Site, name: str, construct: str) -> Iterator[Intent]:
    """Find a feature of its own that asks for something of the source vendor's."""
    job = site.job
    members = read_strings(find_value(site.node))
    asked = [m for m in members if _is_of_source(site, m)]
    if is_version_feature(job.vendor, name) and (kept := _explain_version(site, name, members)):
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
        if is_version_feature(job.vendor, name):
            ask = (
                f"It chooses a version of CUDA's toolkit, and no feature of this crate turns"
                f" {job.vendor.title} on. Add the feature {job.feature} by hand"
            )
        if name == "default":
            ask = (
                f"it turns CUDA on unless --no-default-features turns it off, which a build for"
                f" {job.vendor.title} needs: see whether it is to stay, by hand"
            )
        yield RequireManual(construct, ask, symbol=name)


def _list_shared(site: Site, name: str) -> tuple[str, ...]:
    """Return what the versions of the toolkit turn on beside the feature, if it is CUDA's."""
    job = site.job
    if site.crate is None or name != job.source_feature:
        return ()
    return find_shared_members(job.vendor, name, site.crate.manifest)


def _explain_version(site: Site, name: str, members: list[str]) -> str:
    """Return why a version of the toolkit needs no counterpart, or an empty string."""
    job = site.job
    if not members:
        return "it is a version of CUDA's toolkit, which a build script sets"
    features = site.crate.manifest.get("features", {}) if site.crate is not None else {}
    known = {job.source_feature, *_list_shared(site, job.source_feature)}
    first = next((each for each in features if is_version_feature(job.vendor, each)), name)
    # The first version of a crate that has no feature for CUDA has the finding.
    settled = job.source_feature in features or name != first
    if settled and all(
        m in known or is_version_feature(job.vendor, parse_feature_member(m)) for m in members
    ):
        return f"it chooses a version of CUDA's toolkit, and {job.vendor.title} has none"
    return ""


def _is_of_source(site: Site, member: str) -> bool:
    return site.job.mentions_cuda(member) or parse_feature_member(member) == site.job.source_feature


def _is_weak(site: Site, member: str) -> bool:
    """Whether a member says what a crate of the source vendor's is like, and does not turn it on.

    Source: the Cargo book, chapter "Features", section "Dependency features".
    """
    crate, weak, feature = member.partition("?/")
    return bool(weak) and feature != FLOAT8 and crate in site.job.vendor.dependencies


_FEATURE_PAGE = """\
The Cargo feature of the CUDA backend.

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
"dep:swift-norm"]``, or one that asks for that of another crate of the tree. A feature that names
a crate of another vendor is left alone as well.

A feature that chooses a version of CUDA's toolkit gets no counterpart: ``cuda-12000 = ["cuda",
"dep:glow", "glow/cuda-12000"]``. What all versions turn on beside ``cuda``, here ``dep:glow``,
becomes a member of ``rocm``.

A feature ``rocm = []`` that is there and turns nothing on gains the members that it lacks.

Where the backend stands under a hidden feature, ``cuda = ["_cuda"]``, one ``rocm`` stands for both.

Features without a table of their own, ``features = { cuda = [] }`` or ``features.cuda = []``, are
for a person.

Not handled: a feature that turns CUDA's on, such as ``default = ["cuda"]``, or is named after CUDA,
which is left to a person. Where the default does, `portkit verify` asks for the others by name.
"""
FEATURE = SiteRule("PK201", frozenset({"pair"}), check_feature, "feature", _FEATURE_PAGE)


def check_implicit_feature(site: Site) -> Iterator[Intent]:
    """Find a dependency whose name is the source vendor's feature."""
    job, name = site.job, read_entry_name(site.node)
    if site.crate is None or name not in job.counterparts:
        return
    if not read_table_header(site.node).endswith("dependencies") or name_counterpart(site, name):
        return
    manifest, new = site.crate.manifest, job.counterparts[name]
    if name in manifest.get("features", {}) or name not in find_requestable_features(manifest):
        return
    construct = "feature of a dependency's name"
    if new in find_requestable_features(manifest):
        yield AlreadyPorted(construct, f"the feature {new} is there", symbol=new)
        return
    table = _find_features(site.node)
    text, at = f"[features]\n{key(new)} = []\n\n", _start_of_table(site.node)
    if table is not None:
        pairs = [child for child in table.named_children if child.type == "pair"]
        text = f"\n{key(new)} = []"
        at = find_pair_end(pairs[-1]) if pairs else table.children[2].end_byte
    yield InsertText(
        construct,
        f"the optional dependency {name} is the feature {name} as well, so the crate gains a"
        f" feature {new}; it turns nothing on: see which crate it should turn on",
        symbol=new,
        review=True,
        text=text,
        at=at,
    )


def _find_features(node: Node) -> Node | None:
    """Return the table of features of a manifest, or None."""
    tables = (child for child in find_root(node).named_children if child.type == "table")
    return next((t for t in tables if unquote(read_key(t)) == "features"), None)


def _start_of_table(pair: Node) -> int:
    """Return where the table of a pair begins: what is written there belongs to no other one."""
    return pair.parent.start_byte if pair.parent is not None else pair.start_byte


_IMPLICIT_FEATURE_PAGE = """\
An optional dependency that is CUDA's feature by itself.

``cuda = { path = "gpu", optional = true }`` makes a feature ``cuda`` that no ``[features]`` lists
(the Cargo book, chapter "Features", section "Optional dependencies"). The crate gains a feature
``rocm``, which others can turn on and the copies of its code need. A person sees which crate it
should turn on.

A dependency that is the bindings under another name, ``cuda = { package = "cudarc" }``, is none:
the bindings of ROCm beside it (PK202) make the feature ``rocm`` in the same way.

Not handled: a dependency in a table of its own, ``[dependencies.cuda]``.
"""
IMPLICIT_FEATURE = SiteRule(
    "PK205", frozenset({"pair"}), check_implicit_feature, "implicit_feature", _IMPLICIT_FEATURE_PAGE
)


def check_target(site: Site) -> Iterator[Intent]:
    """Find a target whose required features name the source vendor."""
    job, construct = site.job, "target in Cargo.toml"
    if node_text(site.node.named_children[0]) not in ("example", "test", "bench", "bin"):
        return
    asked = find_entry(site.node, "required-features")
    features = read_strings(asked) if asked is not None else []
    name = read_entry_name(site.node)
    renamed = job.vendor.names.word(name)
    unported = [f for f in features if f in job.vendor.unported]
    if unported:
        yield LeaveUnchanged(construct, job.vendor.unported[unported[0]], symbol=name)
    elif not any(feature in job.counterparts for feature in features):
        yield LeaveUnchanged(construct, "it belongs to a peer", symbol=name)
    elif renamed == name:
        message = (
            f"cargo cannot ask for one of two features: drop required-features from {name}, and "
            "let its code say which backends it runs on"
        )
        yield RequireManual(construct, message, symbol=name)
    else:
        yield CopySite(construct, f"{renamed} is its copy", symbol=name)


_TARGET_PAGE = """\
An example, a test or a bench that asks for CUDA's feature.

Cargo builds such a target only where CUDA's feature is on; ROCm needs one of its own. ``[[example]]
name = "cuda_basics", required-features = ["cuda"]`` gains a sibling for the copy of its file. A
target that asks for an unported feature, or for a peer's, is left alone.

Not handled: a target whose name says nothing of CUDA. Cargo refuses two targets of one name and
cannot ask for one of two features (the Cargo book, chapter "Cargo Targets"), so it is left to a
person. Its file is left alone until then (PK102).
"""
TARGET = SiteRule("PK204", frozenset({"table_array_element"}), check_target, "target", _TARGET_PAGE)
