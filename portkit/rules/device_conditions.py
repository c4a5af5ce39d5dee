"""Conditions on a device: calls, branches, macros and patterns that ask for CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from portkit.context.device_queries import (
    find_deciding_node,
    find_decision,
    is_build_script_query,
    is_cuda_branch,
    is_cuda_query,
    is_query_path,
    list_cuda_queries,
    matches_cuda_only,
    name_feature_variable,
)
from portkit.context.intent import (
    AddBranch,
    CopySite,
    Intent,
    JoinPatterns,
    LeaveUnchanged,
    ReplaceText,
    RequireManual,
    WidenCondition,
)
from portkit.context.port_job import Site
from portkit.port import cuda_tools
from portkit.rules import SiteRule
from portkit.syntax import patterns
from portkit.syntax.cfg import parse_cfg_macro
from portkit.syntax.name_table import normalize_rust
from portkit.syntax.source_file import field_text, node_text, span_of, spans_of
from portkit.syntax.span import Span


def check_device_check(site: Site) -> Iterator[Intent]:
    """Find a condition on the source vendor's device that stands in no branch of its own."""
    job = site.job
    if site.scope.vendor:
        return
    if is_build_script_query(job, site.node):
        yield from _check_build_script_if(site)
        return
    if site.kind == "scoped_identifier":
        yield from _check_passed_function(site)
        return
    if not is_cuda_query(job, site.node):
        is_cfg = site.kind == "macro_invocation" and site.code.startswith("cfg!")
        if is_cfg and job.mentions_cuda(site.code):
            message = (
                "it asks for a feature that the port does not write: see what ROCm needs there"
            )
            yield RequireManual("cfg! check", message)
        return
    asked = parse_cfg_macro(site.code)
    path = site.source.path
    if asked is not None and (unported := job.find_unported_feature(asked, path)):
        yield LeaveUnchanged("cfg! check", job.explain_unported(unported, path))
        return
    plain = job.codebase.find_no_feature_entry(path)
    if asked is not None and plain is not None:
        yield LeaveUnchanged("cfg! check", plain.reason)
        return
    holder = find_deciding_node(site)
    if holder.type == "if_expression" and is_cuda_branch(site, holder):
        return
    found = find_decision(site, holder)
    known, entry, shadowed = found.by, found.entry, found.shadowed
    if known is not None and known.verdict == "keep":
        yield LeaveUnchanged(
            _describe_construct(site, holder), known.reason, entry=entry, shadowed=shadowed
        )
        return
    if known is None and (reason := _explain_no_widening(site, holder)):
        yield RequireManual(
            _describe_construct(site, holder), reason, entry=entry, shadowed=shadowed
        )
        return
    if known is None and plain is not None:
        kept = f"{plain.reason}: {job.vendor.title} does what stands for other devices: see it"
        yield LeaveUnchanged(
            _describe_construct(site, holder), kept, review=True, entry=entry, shadowed=shadowed
        )
        return
    if known is None and _has_own_step(site, holder):
        kept = (
            f"Code after it asks whether the device is {job.vendor.title}'s, so this condition"
            " stays. Check that it should"
        )
        yield LeaveUnchanged(_describe_construct(site, holder), kept, review=True)
        return
    yield WidenCondition(
        _describe_construct(site, holder),
        known.reason
        if known
        else f"the port widens the condition to {job.vendor.title}; no decision in the profile "
        "speaks of it, so see whether the same holds on AMD",
        review=known is None,
        entry=entry,
        shadowed=shadowed,
        condition=site.node,
        within=holder,
    )


def _has_own_step(site: Site, holder: Node) -> bool:
    """Whether a branch of the same chain, or a later step of the block, asks for ROCm's device.

    A wider condition before it would take the device that the step is for.
    """
    wanted = normalize_rust(site.job.rename(site.code))
    condition = holder.child_by_field_name("condition")
    if (
        holder.type != "if_expression"
        or condition is None
        or not _may_name_rocm_later(site, holder)
        or wanted in normalize_rust(node_text(condition))
    ):
        return False
    return any(wanted in normalize_rust(node_text(each)) for each in _list_later(holder))


def _may_name_rocm_later(site: Site, branch: Node) -> bool:
    """Whether the bytes from an ``if`` to the end of its block have a word of ROCm's.

    In a chain of many branches few ask for ROCm, and to read the rest for each takes long.
    """
    block = branch.parent.parent if branch.parent is not None else None
    end = branch.end_byte if block is None else block.end_byte
    words = (site.job.vendor.name, site.job.vendor.variant)
    return any(site.source.data.find(word.encode(), branch.start_byte, end) >= 0 for word in words)


def _list_later(branch: Node) -> Iterator[Node]:
    """Yield the conditions that are asked after that of an ``if``, in its chain and its block."""
    other = branch.child_by_field_name("alternative")
    for inner in other.named_children if other is not None else ():
        if inner.type == "if_expression":
            yield from _conditions_of(inner)
            yield from _list_later(inner)
    step = branch.parent
    if step is None or step.type != "expression_statement":
        return
    while (step := step.next_named_sibling) is not None:
        inner = step.named_children[0] if step.type == "expression_statement" else step
        if inner.type == "if_expression":
            yield from _conditions_of(inner)


def _conditions_of(branch: Node) -> Iterator[Node]:
    condition = branch.child_by_field_name("condition")
    if condition is not None:
        yield condition


def _check_passed_function(site: Site) -> Iterator[Intent]:
    """Find a question that is handed over, as in ``devices.iter().all(Device::is_cuda)``."""
    job, parent = site.job, site.parent
    if parent is None or parent.type != "arguments" or not is_query_path(job, site.node):
        return
    construct = f"is_{job.vendor.source} check"
    found = find_decision(site, find_deciding_node(site))
    known, entry, shadowed = found.by, found.entry, found.shadowed
    plain = job.codebase.find_no_feature_entry(site.source.path)
    if known is None and plain is not None:
        kept = f"{plain.reason}: {job.vendor.title} does what stands for other devices: see it"
        yield LeaveUnchanged(construct, kept, review=True)
        return
    if known is not None and known.verdict == "keep":
        yield LeaveUnchanged(construct, known.reason, entry=entry, shadowed=shadowed)
        return
    name = site.code.rpartition("::")[2]
    yield ReplaceText(
        construct,
        known.reason
        if known
        else f"it holds for {job.vendor.title} too: see whether the same holds on AMD",
        review=known is None,
        entry=entry,
        shadowed=shadowed,
        old=site.code,
        new=f"|device| device.{name}() || device.{job.rename(name)}()",
    )


def _check_build_script_if(site: Site) -> Iterator[Intent]:
    """Widen an ``if`` of a build script, unless its branch is for CUDA only."""
    holder = find_deciding_node(site)
    is_negated = site.parent is not None and site.parent.type == "unary_expression"
    if holder.type != "if_expression" or is_negated or is_cuda_branch(site, holder):
        return
    body = node_text(holder)
    reason = cuda_tools.explain_cuda_tool(site.job, body) or cuda_tools.explain_uncopied_call(
        site, body
    )
    if reason := reason or cuda_tools.explain_manual_widening(site, body):
        yield RequireManual("build's check", reason)
        return
    yield WidenCondition(
        "build's check",
        cuda_tools.explain_widening(site, body),
        review=True,
        condition=site.node,
        within=holder,
    )


def _explain_no_widening(site: Site, holder: Node) -> str:
    """Return why what an ``if`` of a build script does is a person's, or an empty string."""
    body = holder.child_by_field_name("consequence") if holder.type == "if_expression" else None
    return cuda_tools.explain_manual_widening(site, node_text(body)) if body is not None else ""


def _describe_construct(site: Site, holder: Node) -> str:
    condition = holder.child_by_field_name("condition")
    text = node_text(condition) if condition is not None else site.code
    peer = "/is_metal" if "is_metal" in text else ""
    if site.code.startswith("cfg!"):
        return "cfg! check"
    return f"is_{site.job.vendor.source}{peer} check"


_DEVICE_CHECK_PAGE = """\
A condition that asks whether the device is CUDA's.

``device.is_cuda()`` and ``cfg!(feature = "cuda")`` choose a dtype, a tolerance or a faster path.
ROCm joins where the same holds on AMD: ``device.is_cuda() || device.is_rocm()``. That is a decision
and not a renaming, so it comes from the table of decisions in the profile. What the table does not
list is written and marked ``review``; what it says to keep is left alone, with its reason, and no
person is asked about it again.

Without it the code compiles and takes the wrong path; rustc does not notice.

If a later branch or step asks ``device.is_rocm()``, a person ported the place: the condition stays.

In a build script ``env::var_os("CARGO_FEATURE_CUDA").is_some()`` asks the same, where it decides an
``if`` that names nothing else of CUDA. Kept in a variable, or asked for its absence, it is left to
a person (PK702): what runs then is not known. A person also writes what a build script does by a
string that names CUDA, such as ``cargo:rustc-link-lib=dylib=cudart``.

In an assertion, `assert!(device.is_cuda())`, and in other macros that evaluate their arguments, it
is a condition like any other. So it is in the body of a `macro_rules!` that defines no items.

Handed over as a function, as in ``devices.iter().all(Device::is_cuda)``, the question becomes a
closure that asks both. In a file that takes the path without the feature (``[[plain]]`` of a
profile) it stays as it is, and a person looks at what the table does not list.

A ``cfg!`` on a feature that the port does not write, such as ``cuda-graphs``, is left to a person;
one that never holds without a library that has no counterpart is left as it is.

Not handled: a question that is kept in a variable. It is widened like any other, but what is chosen
by it later is not looked at.
"""
DEVICE_CHECK = SiteRule(
    "PK401",
    frozenset({"call_expression", "macro_invocation", "scoped_identifier"}),
    check_device_check,
    "device_check",
    _DEVICE_CHECK_PAGE,
)


def check_device_branch(site: Site) -> Iterator[Intent]:
    """Find a branch of an ``if`` that is specific to the source vendor."""
    job = site.job
    condition = site.node.child_by_field_name("condition")
    body = site.node.child_by_field_name("consequence")
    if site.scope.vendor or condition is None or body is None:
        return
    if not list_cuda_queries(job, condition) or not is_cuda_branch(site, site.node):
        return
    if patterns.find_let(condition, job.rename_changes_code) is not None:
        return  # PK403's
    if name_feature_variable(job) in node_text(condition) and _is_alone(site):
        yield CopySite("if on a feature", f"copy the `if` for {job.vendor.title}")
        return
    yield AddBranch(
        "if chain over devices",
        f"the chain gains a branch for {job.vendor.title}",
        span=Span(site.node.start_byte, body.end_byte),
    )


def _is_alone(site: Site) -> bool:
    """Whether an ``if`` is a statement, and no part of a chain."""
    parent = site.parent
    is_statement = parent is not None and parent.type == "expression_statement"
    return is_statement and site.node.child_by_field_name("alternative") is None


_DEVICE_BRANCH_PAGE = """\
A branch that does something of CUDA's own.

``if cuda_is_available() { Device::new_cuda(0) } else if metal_is_available() { .. }`` has one
branch per backend. The chain gains a branch for ROCm, a copy of CUDA's condition and body, right
after it.

A branch that a name decides, ``if name == "cuda" { .. }``, is one as well, and so is one that a
pattern decides, ``if matches!(device, Device::Cuda(_)) { .. }``.

A build script asks for a feature by ``CARGO_FEATURE_CUDA``. Both features may be on, so an ``if``
without ``else`` is followed by its copy.

A branch whose body names nothing of CUDA is a condition to widen instead (PK401).

Not handled: a branch for the absence of CUDA, ``if !device.is_cuda() { .. }``, whose body names
CUDA all the same.
"""
DEVICE_BRANCH = SiteRule(
    "PK402", frozenset({"if_expression"}), check_device_branch, "device_branch", _DEVICE_BRANCH_PAGE
)


def check_if_let(site: Site) -> Iterator[Intent]:
    """Find an ``if let`` on a value of the source vendor."""
    job, construct = site.job, "if let on a device"
    condition = site.node.child_by_field_name("condition")
    body = site.node.child_by_field_name("consequence")
    if site.scope.vendor or condition is None or body is None:
        return
    let = patterns.find_let(condition, job.rename_changes_code)
    pattern = let.child_by_field_name("pattern") if let is not None else None
    if let is None or pattern is None:
        return
    own = f"a step of its own for {job.vendor.title}"
    branch = (Span(condition.start_byte, body.end_byte),)
    alone = (
        site.node.child_by_field_name("alternative") is None
        and site.outer is not None
        and site.outer.kind in ("expression_statement", "block")
    )
    apart = CopySite if alone else AddBranch
    step = apart(construct, own, claims=branch)
    lists = patterns.find_mixed_or_patterns(pattern, job.renames_or_says_cuda)
    binds = patterns.may_bind_value(pattern, job.renames_or_says_cuda)
    if not lists and (binds or job.rename_changes_code(node_text(body))):
        yield step
        return
    yield JoinPatterns(
        construct,
        f"the step runs for {job.vendor.title} too: see that it is needed there",
        review=True,
        lists=tuple(map(spans_of, lists or [patterns.split_or_pattern(pattern)])),
        otherwise=step,
        claims=(span_of(let),),
    )


_IF_LET_PAGE = """\
An ``if let`` on a value of the CUDA backend.

``if let Device::Cuda(_) = device { .. }`` runs a step for CUDA alone. Where the pattern binds
nothing of CUDA's value and the body names nothing of CUDA, ROCm joins the pattern, for a person to
review; so it does where CUDA stands beside others. Otherwise ROCm gets a step of its own, since a
binding has one type: a copy of the statement after it, or, where an ``else`` follows, one more
branch of the chain.

With ``--gating cfg`` a pattern and a branch of a chain cannot stand under the feature; the
statement is copied under it, and a chain with an ``else`` is left to a person. The pattern may
stand in a chain of conditions, ``if let Device::Cuda(_) = device && rows > 1``.

Not handled: a chain with two such patterns, which is listed as unaccounted; a ``while let`` is
another rule's (PK408).
"""
IF_LET = SiteRule("PK403", frozenset({"if_expression"}), check_if_let, "if_let", _IF_LET_PAGE)


def check_matches(site: Site) -> Iterator[Intent]:
    """Find a ``matches!`` that names the source vendor."""
    job = site.job
    own = site.scope.vendor or site.is_cuda_only
    if own or field_text(site.node, "macro").rsplit("::", 1)[-1] != "matches":
        return
    holder = find_deciding_node(site)
    alone = matches_cuda_only(job, site.node)
    if alone and holder.type == "if_expression" and is_cuda_branch(site, holder):
        return  # PK402's
    _, members, _ = patterns.parse_matches_macro(site.node)
    if any(job.renames_or_says_cuda(site.source.slice(m)) for m in members):
        yield JoinPatterns(
            "matches! on a device",
            f"{job.vendor.title} joins the pattern: see that the same holds on AMD",
            review=True,
            lists=(tuple(members),),
        )


_MATCHES_PAGE = """\
A ``matches!`` on a value of the CUDA backend.

``matches!(device, Device::Cuda(_) | Device::Metal(_))`` asks for one or several backends. ROCm
joins the list; that the same holds on AMD is for a person to review. The arguments of a macro are
tokens, not syntax, so the alternatives are read from them.

With ``--gating cfg`` the variant exists only under the feature, and an alternative cannot stand
under one: the macro becomes the ``match`` that it is short for, with an arm for ROCm. So it does in
either gating if the guard names CUDA.

One that decides a branch of CUDA's own is a matter of PK402. Inside a function that is itself
copied, such as ``is_cuda``, nothing is written here.

Not handled: a ``matches!`` among the arguments of a macro that is not known to evaluate them, which
is listed as unaccounted.
"""
MATCHES = SiteRule(
    "PK404", frozenset({"macro_invocation"}), check_matches, "matches", _MATCHES_PAGE
)


def check_let_else(site: Site) -> Iterator[Intent]:
    """Find a ``let`` with an ``else`` whose pattern names the source vendor."""
    job, construct = site.job, "let .. else on a device"
    pattern = site.node.child_by_field_name("pattern")
    if pattern is None or site.node.child_by_field_name("alternative") is None:
        return
    if site.scope.vendor or site.conditions or not job.rename_changes_code(node_text(pattern)):
        return
    lists = patterns.find_mixed_or_patterns(pattern, job.renames_or_says_cuda)
    title, claims = job.vendor.title, (span_of(pattern),)
    yield JoinPatterns(
        construct,
        f"the pattern accepts {title} too. Check that the code after it works for {title}",
        review=True,
        lists=tuple(map(spans_of, lists or [[pattern]])),
        pattern=None if lists else pattern,
        otherwise=RequireManual(
            construct,
            f"what follows runs for CUDA alone: give {title} a function or a branch of its own",
            claims=claims,
        ),
        claims=claims,
    )


_LET_ELSE_PAGE = """\
A ``let .. else`` on a value of the CUDA backend.

``let Device::Cuda(_) = device else { return Ok(()) };`` turns every other device away. Where the
pattern binds nothing of CUDA's own, ROCm joins it, for a person to review: ``let (Device::Cuda(_) |
Device::Rocm(_)) = device else { .. }``. Where it binds CUDA's value, all that follows is about that
value, and is left to a person.

With ``--gating cfg`` the variant exists only under the feature, and a member of a pattern cannot
stand under one: it is left to a person too. Not handled: what follows, where ROCm joins.
"""
LET_ELSE = SiteRule(
    "PK407", frozenset({"let_declaration"}), check_let_else, "let_else", _LET_ELSE_PAGE
)


_WHILE_LET = "while let on a device"


def check_while_let(site: Site) -> Iterator[Intent]:
    """Find a ``while let`` on a value of the source vendor."""
    job = site.job
    condition = site.node.child_by_field_name("condition")
    let = patterns.find_let(condition, job.renames_or_says_cuda)
    pattern = let.child_by_field_name("pattern") if let is not None else None
    if site.scope.vendor or site.is_cuda_only:
        return
    if let is None or pattern is None:
        return
    title = job.vendor.title
    by_hand = (
        "a second `while let` would lose the value that ends this one. Rewrite it as a `loop` with"
        f" a `match`: an arm for CUDA, an arm for {title}, and a `break` in the `_` arm"
    )
    lists = patterns.find_mixed_or_patterns(pattern, job.renames_or_says_cuda)
    own = patterns.may_bind_value(pattern, job.renames_or_says_cuda) or job.rename_changes_code(
        field_text(site.node, "body")
    )
    if (own and not lists) or job.rename_changes_code(field_text(let, "value")):
        yield RequireManual(_WHILE_LET, by_hand)
        return
    claims = (span_of(let),)
    yield JoinPatterns(
        _WHILE_LET,
        f"the loop goes on for {title} too: see that it is to, and that it ends",
        review=True,
        lists=tuple(map(spans_of, lists or [patterns.split_or_pattern(pattern)])),
        otherwise=RequireManual(_WHILE_LET, by_hand, claims=claims),
        claims=claims,
    )


_WHILE_LET_PAGE = """\
A ``while let`` on a value of the CUDA backend.

``while let Some(Device::Cuda(_)) = queue.pop() { .. }`` goes on for as long as values are CUDA's.
Where the pattern binds nothing of CUDA's own, and neither the value nor the body names anything of
CUDA, ROCm joins it, for a person to review: ``Some(Device::Cuda(_)) | Some(Device::Rocm(_))``. So
it does where CUDA stands beside others.

Otherwise it is left to a person. A copy of the loop after it would be wrong: the loop has taken the
value that ends it, so that the copy misses the first of ROCm's, and where the two alternate, each
stops at the other's. What keeps the order is one ``loop`` over a ``match`` with an arm for each and
``_ => break``; the arms are then ported as any others (PK301).

With ``--gating cfg`` the variant exists only under the feature, and a member of a pattern cannot
stand under one: it is left to a person too. Not handled: what the body does for one device alone,
where ROCm joins; a chain with two such patterns, which is listed as unaccounted; a loop under
``#[cfg(feature = "cuda")]``, which is copied as a statement (PK501).
"""
WHILE_LET = SiteRule(
    "PK408", frozenset({"while_expression"}), check_while_let, "while_let", _WHILE_LET_PAGE
)
