"""Arms of a match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from portkit.context.intent import (
    AlreadyPorted,
    CopySite,
    InsertArms,
    Intent,
    JoinPatterns,
    LeaveUnchanged,
    RequireManual,
    WidenCondition,
)
from portkit.context.match_gap import MatchGap, MissingArmBehavior
from portkit.context.port_job import PortJob, Site
from portkit.port import cuda_tools, peer_arms
from portkit.port.match_facts import is_error_arm
from portkit.port.template_values import render_template
from portkit.profiles import entries
from portkit.rules import DirectRule, SiteRule
from portkit.syntax import patterns
from portkit.syntax.source_file import node_text, spans_of
from portkit.workspace.finding import Applicability, Edit, Finding, Status


def check_match_arm(site: Site) -> Iterator[Intent]:
    """Find an arm on a value of the source vendor."""
    job = site.job
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor:
        return
    if not all(
        job.renames_or_says_cuda(patterns.hide_bindings(m))
        for m in patterns.split_or_pattern(pattern)
    ):
        yield from _check_feature_arm(site, pattern)
        return
    if patterns.find_mixed_or_patterns(pattern, job.renames_or_says_cuda) or site.unported_feature:
        return
    construct = f"match arm: {patterns.find_enum_name(pattern, site.scope.type_name)}"
    if is_error_arm(site.node):
        kept = "the arm stands for one that is left out: see whether it is CUDA's"
        yield LeaveUnchanged(construct, kept, review=True)
    elif job.mentions_rocm(node_text(pattern)):
        title = job.vendor.title
        yield AlreadyPorted(construct, f"the arm is between the two backends, {title} among them")
    else:
        message = f"copy the arm for {job.vendor.title}"
        plain = job.codebase.find_no_feature_entry(site.source.path) is not None
        unbuilt = plain and any(job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions)
        if unbuilt:
            message += ", with its feature on too: see that what it says is true then"
        yield CopySite(construct, message, review=unbuilt)


def _check_feature_arm(site: Site, pattern: Node) -> Iterator[Intent]:
    """Find an arm under the source vendor's feature on a value that is no vendor's."""
    job = site.job
    if (
        not site.is_cuda_only
        or site.unported_feature
        or job.renames_or_says_cuda(patterns.hide_bindings(pattern))
    ):
        return
    construct = f"match arm: {patterns.find_enum_name(pattern, site.scope.type_name)}"
    # The attributes of an arm are part of its node.
    if job.is_cuda_specific(site.source.text(pattern.start_byte, site.node.end_byte)):
        ask = f"its value is no vendor's, and CUDA answers it: choose {job.vendor.title}'s by hand"
        yield RequireManual(construct, ask)
        return
    if not any(job.cfg_requires_cuda(cfg) for _, cfg in site.conditions):
        return
    if any(job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions):
        yield LeaveUnchanged(construct, "it asks for CUDA and for its absence, and never stands")
        return
    for attribute, cfg in site.conditions:
        if job.cfg_mentions_cuda(cfg):
            yield WidenCondition(
                construct,
                cuda_tools.explain_widening(
                    site, site.source.text(pattern.start_byte, site.node.end_byte)
                ),
                review=True,
                condition=attribute,
                within=attribute,
            )


_MATCH_ARM_PAGE = """\
An arm of a ``match`` on a value of the CUDA backend.

A ``match`` over devices or storages has one arm per backend. The ROCm arm is the CUDA arm under the
name table: ``Storage::Cuda(s) => ..`` gives ``Storage::Rocm(s) => ..``, and an arm on two values of
one backend, ``(Cuda(a), Cuda(b))``, gives one on two values of ROCm. Without it rustc reports a
missing variant, but not where a ``_`` arm swallows it: that is why such arms are found here and not
left to the compiler. An arm on the string ``"cuda"`` is treated the same.

In a file that takes the path without the feature (``[[plain]]`` of a profile) the arm for builds
without CUDA is copied and ROCm takes it in every build; a person sees what it says.

An arm under the feature on a value that is no vendor's, such as ``"fused"``, is widened where it
names nothing of CUDA, and a person's where it does. Where CUDA's arm needs what CUDA alone has,
ROCm takes the arm that other devices share, and a person looks at it.

If an arm answers with a number or a word that the copy repeats, such as ``Device::Cuda(_) => 32``,
a person reviews it: ROCm may need another value.

Arms that name a peer's value, such as ``(Cuda(_), Metal(_))``, are copied too. Not handled: an arm
whose pattern is a macro.
"""
MATCH_ARM = SiteRule(
    "PK301", frozenset({"match_arm"}), check_match_arm, "match_arm", _MATCH_ARM_PAGE
)


def check_or_pattern(site: Site) -> Iterator[Intent]:
    """Find an or-pattern with a member of the source vendor."""
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor:
        return
    lists = patterns.find_mixed_or_patterns(pattern, site.job.renames_or_says_cuda)
    if lists:
        yield JoinPatterns(
            f"match arm: {patterns.find_enum_name(pattern, site.scope.type_name)}",
            f"{site.job.vendor.title} joins the or-pattern",
            lists=tuple(map(spans_of, lists)),
        )


_OR_PATTERN_PAGE = """\
An or-pattern in which CUDA's value stands beside others.

``Self::Cuda(_) | Self::Metal(_) => true`` says the same of several backends. ROCm joins the list:
``Self::Cuda(_) | Self::Rocm(_) | Self::Metal(_)``. With ``--gating cfg`` the variant exists only
under the feature, and a member of a pattern cannot carry an attribute, so an arm of its own is
written instead. So it is if what follows the pattern names CUDA, in either gating: ``"cuda" | "gpu"
=> Device::Cuda(0)`` gets the arm ``"rocm" => Device::Rocm(0)``.

An or-pattern inside a tuple is treated the same, unless the rest of the pattern names CUDA too:
then the whole arm is copied (PK301).

Not handled: an or-pattern of an ``if let``, a ``let .. else`` or a ``while let``, which rules of
their own find (PK403, PK407, PK408).
"""
OR_PATTERN = SiteRule(
    "PK302", frozenset({"match_arm"}), check_or_pattern, "or_pattern", _OR_PATTERN_PAGE
)


def check_peer_arm(site: Site) -> Iterator[Intent]:
    """Find a peer's arm in the source vendor's code, or its own where a peer has none."""
    vendor = site.job.vendor
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.scope.vendor != vendor.source:
        return
    construct = f"match arm: {patterns.find_enum_name(pattern, site.scope.type_name)}"
    members = patterns.split_or_pattern(pattern)
    if any(site.job.mentions_peer(node_text(m)) for m in members):
        yield JoinPatterns(
            construct,
            f"turn {vendor.title} away where {vendor.peers[0].capitalize()} is",
            lists=(spans_of(members),),
            peer=True,
        )
        return
    answer = peer_arms.find_backend_answer(
        site.job, site.node, peer_arms.list_default_answers(site)
    )
    if answer is not None and any(site.job.cfg_excludes_cuda(cfg) for _, cfg in site.conditions):
        yield RequireManual(
            construct, f"it stands where the feature is off: see what {vendor.title}'s is"
        )
    elif answer is not None and not site.job.rename_changes_code(site.scope.type_name):
        copy = site.job.rename(answer.pattern)
        yield CopySite(
            construct,
            f"answer for {vendor.title} as for all but {vendor.source.upper()}"
            if answer.rest.certain
            else f"the arms but {vendor.source.upper()}'s do not answer alike: see whether this is"
            f" {vendor.title}'s answer",
            review=not answer.rest.certain,
            text=f"{copy} => {answer.rest.value},",
            pattern=copy,
        )


_PEER_ARM_PAGE = """\
An arm that turns a peer away inside code that is specific to CUDA.

``as_cuda_device`` matches on every backend and answers ``Self::Metal(_)`` with "expected a cuda
device, got Metal". ROCm is one more backend to turn away, so the arm is written from the peer's:
``Self::Rocm(_) => bail!("expected a cuda device, got rocm")``. The ROCm copy of the function turns
CUDA away in the same manner.

A ``match`` with a ``_`` arm and no peer needs nothing. One that names neither, such as that of
``is_cuda`` with ``Self::Cpu => false``, answers for ROCm as it does for all but CUDA. Where these
answer differently, ROCm gets the last answer, and where each is about its own value, an error:
the finding is `review` then.

Not handled: a ``match`` on two values that names neither; there rustc reports the missing variant.
"""
PEER_ARM = SiteRule("PK303", frozenset({"match_arm"}), check_peer_arm, "peer_arm", _PEER_ARM_PAGE)


def check_added_arms(site: Site) -> Iterator[Intent]:
    """Find the ``match`` of a function that the profile has arms for."""
    wanted = next(
        (
            arms
            for arms in site.job.patches(entries.ExtraArms, site.source.path)
            if arms.symbol == site.scope.symbol
        ),
        None,
    )
    last = site.node.named_children[-1] if site.node.named_children else None
    if wanted is not None and last is not None and node_text(last).startswith("_ "):
        text = render_template(site.job, wanted.template)
        yield InsertArms(
            "match arms: from the profile",
            wanted.reason,
            text=text,
            claims=(),
            entry=site.job.codebase.key(wanted),
        )


_ADDED_ARMS_PAGE = """\
A ``match`` that needs arms which no CUDA arm gives, such as those between ROCm and the others.

Copying CUDA's arms gives ROCm to and from the CPU, and ROCm to ROCm. A tensor that moves between
ROCm and CUDA or Metal has no arm to copy, and a ``_`` arm would turn it away. The profile holds
such arms as a template for one named function; they are set before its ``_`` arm.

Not handled: a ``match`` that does not end with a ``_`` arm.
"""
ADDED_ARMS = SiteRule(
    "PK304", frozenset({"match_block"}), check_added_arms, "added_arms", _ADDED_ARMS_PAGE
)


_NEEDED: Final = "{enum} gains {variant}, and this match needs an arm for it."
_STANDS: Final = "This match has the arms that {variant} needs."
_SAID: Final = {
    MissingArmBehavior.COPY: "The arm is the CUDA arm under {title}'s names. Check it.",
    MissingArmBehavior.OTHERS: "The arm answers as the arms on other values do."
    " Check that it should.",
    MissingArmBehavior.ERROR: "No arm says what to do then, so the new arm answers with an error."
    " Write its value.",
}


def check_match_gap(job: PortJob, gap: MatchGap) -> Finding:
    """Return the finding that writes the missing arms."""
    enum = ", ".join(gap.enums)
    stands = gap.answer is MissingArmBehavior.STANDS
    said = _STANDS if stands else f"{_NEEDED} {_SAID[gap.answer]}"
    message = said.format(enum=enum, variant=job.vendor.variant, title=job.vendor.title)
    return Finding(
        code=MATCH_GAP.code,
        path=gap.path,
        span=gap.span,
        construct=f"match arm: {enum}",
        symbol=gap.symbol or "file",
        applicability=Applicability.SAFE if stands else Applicability.REVIEW,
        status=Status.PORTED if stands else Status.TODO,
        message=message,
        edits=() if stands else (Edit(gap.at, gap.at, gap.arms),),
        types=gap.enums,
        error_edits=() if stands else (Edit(gap.at, gap.at, gap.errors),),
    )


_MATCH_GAP_PAGE = """\
A ``match`` that lacks an arm for a variant which its enum gains.

The other rules write one arm for each arm that names CUDA. A ``match`` over pairs needs more:
``(Device::Cuda(_), Device::Metal(_)) => false`` gives one for ROCm and Metal, but none for ROCm and
CUDA. An import such as ``Device::Cuda as C`` hides the name of CUDA, and ``impl CudaStorage`` may
take a ``Storage`` apart. Each ``match`` on an enum that gains a variant is found by the enum. Where
it would no longer take every value, it gets the missing arms.

An arm does what the arms on a peer do, or those on all other variants, if these agree and use
nothing that their patterns bind. Otherwise the arm answers with an error, and you write its value.

Not handled: a pattern that is a macro, a tuple pattern with ``..``, an enum of another crate.
"""
MATCH_GAP = DirectRule("PK306", check_match_gap, "match_gap", _MATCH_GAP_PAGE)
