"""Python code that names CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from portkit.context.intent import (
    AddToList,
    CopySite,
    Intent,
    LeaveUnchanged,
    ListMember,
    WidenCondition,
)
from portkit.context.port_job import Site
from portkit.context.python_files import belongs_to_rust_module, find_framework
from portkit.rules import SiteRule
from portkit.syntax.python_nodes import (
    CONDITIONAL,
    find_assigned_name,
    find_definition,
    read_operator,
)
from portkit.syntax.source_file import field_text, node_text, span_of

_INSIDE = frozenset({"boolean_operator", "not_operator", "parenthesized_expression"})


def check_python_condition(site: Site) -> Iterator[Intent]:
    """Find a question whether a string names the source vendor."""
    job = site.job
    condition = _find_condition(site) if _asks(site.node, job.vendor.source) else None
    if condition is not None and belongs_to_rust_module(site):
        yield WidenCondition(
            "Python condition",
            f"the condition accepts {job.vendor.name!r} too",
            condition=site.node,
            within=condition,
        )


def _asks(node: Node, source: str) -> bool:
    if node.type == "comparison_operator":
        sides = node.named_children
        return read_operator(node) == "==" and any(_is_name(side, source) for side in sides)
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    return (
        function is not None
        and arguments is not None
        and field_text(function, "attribute") == "startswith"
        and len(arguments.named_children) == 1
        and _is_name(arguments.named_children[0], source)
    )


def _is_name(node: Node, source: str) -> bool:
    return node.type == "string" and any(
        child.type == "string_content" and node_text(child) == source for child in node.children
    )


def _find_condition(site: Site) -> Node | None:
    """Return the condition that a question is a part of, if it is."""
    while site.outer is not None and site.outer.kind in _INSIDE:
        site = site.outer
    parent = site.parent
    if parent is None or parent.type not in CONDITIONAL:
        return None
    return site.node if parent.child_by_field_name("condition") == site.node else None


_PYTHON_CONDITION_PAGE = """\
A Python condition that asks whether a name is that of CUDA's device.

``if name.startswith("cuda") or name == "cpu":`` tells devices from other arguments. It is widened:
``name.startswith("cuda") or name.startswith("rocm") or ..``. `or` binds weaker than every other
operator but the conditional expression (the Python reference, "Operator precedence"), so a question
inside another operator gains brackets.

It is so of Python beside a crate that makes a module of it (pyo3): in what other Python calls CUDA,
Rust has no part.

Not handled: a question that is negated with ``!=``, and one outside a condition, which are listed
as unaccounted.
"""
PYTHON_CONDITION = SiteRule(
    "PK523",
    frozenset({"call", "comparison_operator"}),
    check_python_condition,
    "python_condition",
    _PYTHON_CONDITION_PAGE,
)


def check_python_definition(site: Site) -> Iterator[Intent]:
    """Find a function that is named after the source vendor or decorated for it."""
    function = find_definition(site.node)
    if function is None or site.scope.vendor or not belongs_to_rust_module(site):
        return
    name = field_text(function, "name")
    if not (
        site.job.mentions_cuda(name)
        or (
            any(
                child.type == "decorator" and site.job.rename_changes_code(node_text(child))
                for child in site.node.children
            )
        )
    ):
        return
    copied = site.job.vendor.names.word(name)
    if copied == name:
        copied += f"_{site.job.vendor.name}"
    message = f"{copied} is its copy"
    yield CopySite("Python function", message, symbol=site.symbol(name), name=copied)


_PYTHON_DEFINITION_PAGE = """\
A Python function or method of CUDA's: by its name, or by a decorator that asks for CUDA.

``def cuda(self)`` of a module, the stub ``def cuda_is_available() -> bool``, and a test under
``@pytest.mark.skipif(not cuda_is_available(), ..)`` each gain a copy under the name table. A test
whose name says nothing of CUDA gets ``_rocm`` behind it in the copy, since Python keeps only the
last of two functions of one name (the Python reference, "Naming and binding"). Where the functions
around one are sorted by name, the copy has its sorted place.

It is so of Python beside a crate that makes a module of it (pyo3): in what other Python calls CUDA,
Rust has no part.

Not handled: classes, which are listed as unaccounted.
"""
PYTHON_DEFINITION = SiteRule(
    "PK521",
    frozenset({"function_definition", "decorated_definition"}),
    check_python_definition,
    "python_definition",
    _PYTHON_DEFINITION_PAGE,
)


_VARIABLE: Final = re.compile(r"CU(?:BLAS|BLASLT|DNN|FFT|SPARSE|SOLVER)_[A-Z0-9_]+")


def check_python_framework(site: Site) -> Iterator[Intent]:
    """Find a device, or a path into a framework, that names the source vendor."""
    name = find_framework(site)
    if not name:
        return
    construct, title = "Python framework", site.job.vendor.title
    source = re.escape(site.job.vendor.source)
    device = rf"{source}(?::\d+)?" if site.kind == "string_content" else rf"{name}\.{source}"
    if re.fullmatch(device, site.code):
        yield LeaveUnchanged(construct, site.job.vendor.frameworks[name])
    elif re.fullmatch(rf"{name}\.version\.{source}", site.code):
        version = f"{name}.version.hip has the version. Check the code that reads it"
        yield LeaveUnchanged(construct, f"it is None on {title}; {version}", review=True)
    elif site.kind == "string_content" and _VARIABLE.fullmatch(site.code):
        said = f"a library of CUDA's reads this variable, and none of {title}'s: see what needs it"
        yield LeaveUnchanged(construct, said, review=True)


_PYTHON_FRAMEWORK_PAGE = """\
A name of CUDA's that is a framework's in Python, and is the same on AMD's platform.

PyTorch for AMD is asked for ``torch.cuda.is_available()`` and ``tensor.to("cuda")`` as PyTorch for
CUDA is (PyTorch, "HIP (ROCm) semantics"). In a file that imports it, such a name stays, unless the
crate around the file makes a module of Python: then the name may be that module's.

What is not there on AMD's platform is for a person to look at: ``torch.version.cuda`` is ``None``,
and ``torch.version.hip`` says the version (PyTorch, "HIP (ROCm) semantics"); a variable of the
environment that a library of CUDA's reads, such as ``CUBLAS_WORKSPACE_CONFIG``, is no one's there.

Not handled: other names of CUDA's in such a file, such as an extension that is imported; they are
listed as unaccounted, and ``[[keep]]`` of a profile says why they may stay.
"""
PYTHON_FRAMEWORK = SiteRule(
    "PK524",
    frozenset({"attribute", "dotted_name", "string_content"}),
    check_python_framework,
    "python_framework",
    _PYTHON_FRAMEWORK_PAGE,
)


def check_python_name(site: Site) -> Iterator[Intent]:
    """Find a name of the source vendor's outside any function."""
    if site.scope.vendor or site.scope.function or not belongs_to_rust_module(site):
        return
    if site.kind == "expression_statement":
        name = find_assigned_name(site.node)
        copy = site.job.vendor.names.word(name)
        if site.job.mentions_cuda(name) and copy != name:
            yield CopySite("Python variable", f"{copy} is its copy", symbol=site.symbol(name))
    elif site.kind == "import_from_statement":
        yield from _check_list(site, site.node.children_by_field_name("name"), "Python import")
    elif field_text(site.node, "function").rsplit(".", 1)[-1] == "TypeVar":
        arguments = site.node.child_by_field_name("arguments")
        if arguments is not None:
            names = [n for n in arguments.named_children if n.type == "identifier"]
            yield from _check_list(site, names, "Python type")


def _check_list(site: Site, listed: Sequence[Node], construct: str) -> Iterator[Intent]:
    """Yield what there is to say of a list of names."""
    texts = frozenset(map(node_text, listed))
    for node in listed:
        name, span = node_text(node), span_of(node)
        copy = site.job.vendor.names.word(name)
        if site.job.mentions_cuda(name) and copy != name:
            yield AddToList(
                construct,
                f"the list gains {copy}",
                symbol=site.symbol(name),
                members=(ListMember(span, copy),),
                listed=texts,
                claims=(span,),
                span=span,
            )


_PYTHON_NAME_PAGE = """\
A Python name of CUDA's: given a value, imported, or listed beside others.

``CUDA: str = "cuda"`` and ``cuda_is_available = utils.cuda_is_available`` gain a sibling,
``from toy.utils import cuda_is_available`` and ``TypeVar("Device", CPU, CUDA)`` a member.
``TypeVar`` lists what a type may be (Python's documentation, module typing); in the arguments of
another call, one more would change what the call means. Where the variables around one are sorted
by name, its sibling has its sorted place.

It is so of Python beside a crate that makes a module of it (pyo3): in what other Python calls CUDA,
Rust has no part.

Not handled: names inside functions, and modules that are named after CUDA, which are listed as
unaccounted.
"""
PYTHON_NAME = SiteRule(
    "PK522",
    frozenset({"call", "expression_statement", "import_from_statement"}),
    check_python_name,
    "python_name",
    _PYTHON_NAME_PAGE,
)


def check_python_prose(site: Site) -> Iterator[Intent]:
    """Find a comment, or a string of several words, that names a backend."""
    if site.is_python and (site.kind == "comment" or len(site.code.split()) > 1):
        construct = "Python comment" if site.kind == "comment" else "Python message"
        yield LeaveUnchanged(construct, "prose: nothing depends on it")


_PYTHON_PROSE_PAGE = """\
A comment or a message in Python that speaks of a backend.

Where it stands in what is copied, it is copied with it. By itself it is prose and is left as it is.

Not handled: a string that is nothing but a backend's name. It may choose a device, so it is listed
as unaccounted where no other rule knows what it does.
"""
PYTHON_PROSE = SiteRule(
    "PK703",
    frozenset({"comment", "string_content"}),
    check_python_prose,
    "python_prose",
    _PYTHON_PROSE_PAGE,
)
