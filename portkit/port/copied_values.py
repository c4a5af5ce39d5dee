"""Values that a copy repeats although they may have to differ: a person reviews such a copy.

A copy is right for types and names. A number, a letter or a text that stands for one backend is
another matter: an identifier must be unique, and a warp of an AMD GPU may have 64 lanes. Each kind
of value is one function from what is copied to a sentence, which names the value and says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tree_sitter import Node

from portkit.context.port_job import PortJob, Site
from portkit.port import enum_variants, unique_names
from portkit.syntax.items import describe_impl
from portkit.syntax.name_table import NO_CODE, normalize_rust, strip_comments_and_strings
from portkit.syntax.source_file import COMMENTS, field_text, node_text
from portkit.syntax.value import Value

_NUMBERS: Final = frozenset({"char_literal", "float_literal", "integer_literal"})
_STRINGS: Final = frozenset({"raw_string_literal", "string_literal"})
_LITERALS: Final = _NUMBERS | _STRINGS
_PASSED_ON: Final = frozenset(
    {
        "array_expression",
        "assignment_expression",
        "binary_expression",
        "block",
        "else_clause",
        "expression_statement",
        "field_initializer",
        "field_initializer_list",
        "parenthesized_expression",
        "reference_expression",
        "return_expression",
        "struct_expression",
        "try_expression",
        "tuple_expression",
        "type_cast_expression",
        "unary_expression",
        "unsafe_block",
    }
)
"""Expressions whose value is made of the values of their parts."""
_ONE_OF: Final = frozenset({"block", "unsafe_block"})
"""Expressions whose value is that of their last part."""
_WRAPPERS: Final = frozenset({"Ok", "Some", "String::from"})
_SAME_TEXT: Final = frozenset({"into", "to_owned", "to_string"})
"""Methods of a text that give the text."""
_NAMED: Final = frozenset({"const_item", "static_item"})


def explain_value_review(site: Site) -> str:
    """Return why a person reviews the values of a copy, or an empty string."""
    title = site.job.vendor.title
    found = (
        (check(site), said) for kinds, check, said in _CHECKS if not kinds or site.kind in kinds
    )
    return ". ".join(said.format(value, title=title) for value, said in found if value)


def _check_constants(site: Site) -> str:
    """Doubt a constant: ``CUDA_ID: u8 = 1`` gives ``ROCM_ID: u8 = 1``, in an ``impl`` as well."""
    job = site.job
    for node in _copied_items(site):
        value = node.child_by_field_name("value") if node.type in _NAMED else None
        if value is not None and (repeated := _find_repeated(job, _find_literals(value))):
            name = job.rename(field_text(node, "name"))
            return (
                f"`{name}` repeats {repeated}, CUDA's value. Check whether {job.vendor.title}"
                " needs another one"
            )
    return ""


def _copied_items(site: Site) -> list[Node]:
    """Return the node of a site, and the items of an ``impl`` that gets a copy."""
    within: list[Node] = []
    if site.kind == "impl_item" and site.job.rename(head := describe_impl(site.node)) != head:
        body = site.node.child_by_field_name("body")
        within = body.named_children if body is not None else []
    return [site.node, *within]


def _check_field(site: Site) -> str:
    """Find a value that a field begins with: ``cuda_port: 8080``."""
    value = site.node.child_by_field_name("value")
    is_zero = value is None or node_text(value) == "0"
    return (
        "" if value is None or is_zero else _find_repeated(site.job, _find_result_literals(value))
    )


def _check_answer(site: Site) -> str:
    """Find a number or a text that an arm or a branch answers: ``Device::Cuda(_) => 32``."""
    if site.kind == "match_arm":
        own = site.node.child_by_field_name("value")
        arms = [node for node, _ in site.siblings if node.type == "match_arm"]
        others = [arm.child_by_field_name("value") for arm in arms if arm.id != site.node.id]
    else:
        own = site.node.child_by_field_name("consequence")
        others = [site.node.child_by_field_name("alternative")]
    given = [node for node in others if node is not None]
    repeated = _find_repeated(site.job, _find_result_literals(own)) if own is not None else ""
    return (
        "" if given and all(_read_answer(own) == _read_answer(node) for node in given) else repeated
    )


def _check_functions(site: Site) -> str:
    """Doubt a function that returns a number or a text: ``fn cuda_warp_size() -> u32 { 32 }``."""
    job = site.job
    for node in _copied_items(site):
        body = node.child_by_field_name("body") if node.type == "function_item" else None
        repeated = _find_repeated(job, _find_result_literals(body)) if body is not None else ""
        if repeated not in ("", "`0`"):  # 0 is where a count begins, or the first of some
            name = field_text(node, "name")
            return (
                f"`{job.rename(name)}` returns {repeated}, as CUDA's `{name}` does. Check"
                f" whether {job.vendor.title} needs another value"
            )
    return ""


def _find_backend_constant(site: Site) -> str:
    """Find an argument that another arm passes to the same function with another value."""
    own = site.node.child_by_field_name("value")
    given = _read_call_arguments(own) if own is not None else {}
    for arm, _ in site.siblings if given else ():
        other = (
            _read_call_arguments(arm) if arm.type == "match_arm" and arm.id != site.node.id else {}
        )
        differing = (
            node for at, node in given.items() if at in other and node.text != other[at].text
        )
        if repeated := _find_repeated(site.job, differing):
            return repeated
    return ""


def _check_alternative(site: Site) -> str:
    """Find a text that a branch accepts beside the backend: ``s == "cuda" || s == "gpu"``."""
    condition = site.node.child_by_field_name("condition")
    texts: list[Node] = []
    pending = [condition] if condition is not None else []
    while pending:
        current = pending.pop()
        operator = field_text(current, "operator")
        if operator == "||":
            pending += reversed(current.named_children)
        elif operator == "==" and current is not condition:
            texts += [node for node in current.named_children if node.type in _STRINGS]
    return _find_repeated(site.job, iter(texts))


def _check_call_arguments(site: Site) -> str:
    """Find a number or a text that a call is given: ``cuda::register("gpu", 3)``."""
    call = site.node.named_children[0]
    while call.type in ("await_expression", "try_expression"):
        call = call.named_children[0]
    given = call.child_by_field_name("arguments")
    literals = [node for node in given.named_children if node.type in _LITERALS] if given else []
    return _find_repeated(site.job, iter(literals))


def _check_maker_names(site: Site) -> str:
    """Doubt a name of NVIDIA's that the copy keeps: ``Some(Vendor::Nvidia)``."""
    maker, title = site.job.vendor.source_maker, site.job.vendor.title
    if maker.lower() not in site.text.lower():
        return ""  # fast path: to search by the pattern takes far longer
    word = re.compile(rf"\b(?:\w+::)*\w*{re.escape(maker)}\w*\b", re.IGNORECASE)
    if not word.search(site.text):
        return ""
    if named := word.search(strip_comments_and_strings(site.code)):
        return f"The copy names `{named[0]}`. Name what is true of {title}"
    shown = site.kind in ("enum_variant", "field_declaration")
    comments = [node_text(node) for node in site.attributes if node.type in COMMENTS]
    if shown and any(map(word.search, comments)):
        return f"The doc comment of the copy speaks of {maker}. Say what is true of {title}"
    return ""


def explain_maker_text(job: PortJob, copy: str, said: str = "") -> str:
    """Return why a person reviews the texts in a copy that name NVIDIA, or an empty string.

    Args:
        job: the job.
        copy: Rust source.
        said: other reasons for the same copy; a text that they quote needs no second one.
    """
    maker = job.vendor.source_maker
    if maker.lower() not in copy.lower():
        return ""
    named = re.compile(rf"(?<![\w./-]){re.escape(maker)}(?![\w./-])", re.IGNORECASE)
    if any(named.search(text) for text in {*_find_strings(copy)} - {*_find_strings(said)}):
        return f"A text in the copy names {maker}. Say what is true of {job.vendor.title}"
    return ""


_NAMED_MEMBERS: Final = ("enum_variant", "field_declaration")
_CHECKS: Final[tuple[tuple[Sequence[str], Callable[[Site], str], str], ...]] = (
    (("enum_variant",), enum_variants.explain_variant_review, "{}"),
    (_NAMED_MEMBERS, unique_names.explain_name_review, "{}"),
    (("const_item", "impl_item", "static_item"), _check_constants, "{}"),
    (
        ("field_initializer",),
        _check_field,
        "The copy begins with {0} too. Check whether {title} needs another value",
    ),
    (
        ("if_expression", "match_arm"),
        _check_answer,
        "The copy answers with {0}, as the CUDA side does. Check whether {title} needs another"
        " value",
    ),
    (
        ("match_arm",),
        _find_backend_constant,
        "The copy gives {0}, as the CUDA side does, and another arm gives another value. Check"
        " whether {title} needs its own",
    ),
    (
        ("if_expression",),
        _check_alternative,
        "The CUDA branch accepts {0} before this one does. Check which backend {0} selects",
    ),
    (("function_item", "impl_item"), _check_functions, "{}"),
    (
        ("expression_statement",),
        _check_call_arguments,
        "The copy is given {0}, as CUDA's call is. Check whether {title} needs another value",
    ),
    ((), _check_maker_names, "{}"),
)
"""The checks, each with the kinds of site that it is about (all if none) and its sentence."""


def _read_answer(node: Node | None) -> str:
    """Return what an answer says, without the braces and the comma that it may have."""
    text = normalize_rust(node_text(node)).removeprefix("else").removesuffix(",")
    while text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    return text


def _find_repeated(job: PortJob, literals: Iterator[Node]) -> str:
    """Return the first of some literals that the copy repeats, as Markdown shows code.

    A text of several words is for people, and so is an empty one.
    """
    for node in literals:
        text = node_text(node)
        is_said = node.type in _STRINGS and len(text.split()) != 1
        if text != '""' and not is_said and job.rename(text) == text:
            return f"`{text}`"
    return ""


def _find_literals(node: Node) -> Iterator[Node]:
    """Yield the literals of a value, however deep they stand in it."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in _LITERALS:
            yield current
        pending += reversed(current.named_children)


def _find_result_literals(node: Node) -> Iterator[Node]:
    """Yield the literals that the value of an expression is made of."""
    pending = [node]
    while pending:
        current = pending.pop()
        parts = [c for c in current.named_children if c.type not in COMMENTS]
        if current.type in _LITERALS:
            yield current
        elif current.type in _ONE_OF:
            pending += [_find_bound_value(part, parts) for part in parts[-1:]]
        elif current.type in _PASSED_ON:
            pending += reversed(parts)
        elif current.type == "if_expression":
            branches = ("alternative", "consequence")
            pending += [b for f in branches if (b := current.child_by_field_name(f)) is not None]
        elif current.type == "call_expression":
            pending += _find_passed_values(current)


def _find_bound_value(last: Node, parts: list[Node]) -> Node:
    """Return what a name at the end of a block stands for, if the block binds it, else the name."""
    for part in reversed(parts) if last.type == "identifier" else ():
        value = part.child_by_field_name("value") if part.type == "let_declaration" else None
        if value is not None and field_text(part, "pattern") == node_text(last):
            return value
    return last


def _read_call_arguments(node: Node) -> dict[tuple[str, int], Node]:
    """Return the literals that calls in a node are given, by the function and their position."""
    found: dict[tuple[str, int], Node] = {}
    pending = [node]
    while pending:
        current = pending.pop()
        given = current.child_by_field_name("arguments")
        if current.type == "call_expression" and given is not None:
            function = normalize_rust(field_text(current, "function"))
            for at, argument in enumerate(given.named_children):
                if argument.type in _LITERALS:
                    found.setdefault((function, at), argument)
        pending += reversed(current.named_children)
    return found


def _find_passed_values(call: Node) -> list[Node]:
    """Return what a call returns as it is, such as the value of ``Some``."""
    function = call.child_by_field_name("function")
    if function is not None and field_text(function, "field") in _SAME_TEXT:
        text = function.child_by_field_name("value")
        return [text] if text is not None else []
    arguments = call.child_by_field_name("arguments")
    is_wrapper = node_text(function) in _WRAPPERS
    return arguments.named_children[::-1] if is_wrapper and arguments is not None else []


_WARP: Final = re.compile(r"\b(\w*warp_?size\w*)\b[^;,{}()=]*[=:]\s*(32)(?:_?[ui]\w+)?\b", re.I)


class _Search(Value, frozen=True):
    """A pattern of Rust source, and words of which each of its matches has one at least.

    Nearly all texts have none of the words, and to look for these takes far less time.
    """

    words: tuple[str, ...]
    pattern: re.Pattern[str]

    def may_find(self, text: str) -> bool:
        """Whether the text has a match, be it in a comment."""
        return any(word in text for word in self.words) and self.pattern.search(text) is not None

    def find_in_strings(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each string with a match, and the match."""
        for each in _find_strings(text) if self.may_find(text) else ():
            if found := self.pattern.search(each):
                yield each, found[0]


_CAPABILITY: Final = _Search(
    ("sm", "compute_cap"),
    re.compile(r"\b(?:sm|sm_version|compute_cap(?:ability)?\w*)(?:\(\))?\s*(?:[<>]=?|[=!]=)\s*\d+"),
)
_NVRTC: Final = _Search(
    ("--", "-Xptxas", "-arch", "-lineinfo", "compute_", "sm_"),
    re.compile(
        r"--gpu-architecture|-arch\b|\b(?:compute|sm)_\d+\w*|--use_fast_math|--fmad|--maxrregcount"
        r"|--ptxas-options|-Xptxas|--device-debug|--generate-line-info|-lineinfo\b|--relocatable-device"
    ),
)
"""Options of NVRTC, and the architectures that they name (NVIDIA: "NVRTC", chapter "Supported
Compile Options"); HIPRTC has others, such as ``--offload-arch=gfx90a``."""
_OUTSIDE: Final = _Search(
    (
        *('"CUBLAS', '"CUDA_', '"CUDNN_', '"NCCL_', '"NVCC_', '"NVIDIA_'),
        *(".dll", ".dylib", ".so", "/usr/local/cuda"),
    ),
    re.compile(
        r'(?<=")(?:CUBLAS|CUBLASLT|CUDA|CUDNN|NCCL|NVCC|NVIDIA)_[A-Z][A-Z0-9_]*(?=")'
        r'|[^\s"]+\.(?:dll|dylib|so)\b[.\d]*|/usr/local/cuda[^\s"]*'
    ),
)
"""A variable of the environment that NVIDIA's programs read (CUDA C++ Programming Guide, chapter
"CUDA Environment Variables"), the file of a library, and the folder of the toolkit."""
_IN_KERNEL: Final = _Search(
    ("__global__",),
    re.compile(
        r"\b__(?:shfl|ballot|all|any|activemask|match|reduce)\w*|\b__syncwarp\b|\bwarpSize\b"
        r"|\b0x[fF]{8}\b|\b32[uU]?\b|\basm\b"
    ),
)
"""What a kernel says about a warp of 32 lanes, or in PTX."""


def explain_platform_literal(job: PortJob, text: str) -> str:
    """Return why a person reviews the values in a copy of Rust source, or an empty string."""
    return ". ".join(filter(None, (check(job, text) for check in _KINDS)))


def _explain_warp(job: PortJob, text: str) -> str:
    """Doubt a warp of 32 lanes: ``const WARP_SIZE: usize = 32``."""
    if "warp" not in text.lower() or job.codebase.kernels is not None:
        return ""  # a profile of kernels decides how many lanes their launches count with
    found = _WARP.search(strip_comments_and_strings(text))
    return (
        f"`{found[1]}` is {found[2]}, and a wavefront of AMD's GPUs has 32 or 64 lanes. Check each"
        " use"
        if found
        else ""
    )


def _explain_capability(job: PortJob, text: str) -> str:
    """Doubt a question about a GPU's compute capability: ``sm >= 90``."""
    may_be = _CAPABILITY.may_find(text)
    found = may_be and _CAPABILITY.pattern.search(strip_comments_and_strings(text))
    return (
        f"`{found[0]}` compares NVIDIA's compute capability. Ask {job.vendor.title} for what the"
        " code needs of the GPU"
        if found
        else ""
    )


def _explain_compiler_option(job: PortJob, text: str) -> str:
    """Doubt an option of NVRTC in a string: ``"--gpu-architecture=sm_80"``."""
    found = next((option for _, option in _NVRTC.find_in_strings(text)), "")
    return (
        f"A string has `{found}`, which is for NVIDIA's compiler. Give {job.vendor.title} what its"
        " compiler accepts, such as `--offload-arch`"
        if found
        else ""
    )


def _explain_outside_name(job: PortJob, text: str) -> str:
    """Doubt a name outside the program, which no table of names knows: ``"libcuda.so.1"``."""
    for each, found in _OUTSIDE.find_in_strings(text):
        if job.mentions_cuda(each) or job.rename(each) != each:
            return f"A string names `{found}`. Check the name that {job.vendor.title} has"
    return ""


def _explain_maker_path(job: PortJob, text: str) -> str:
    """Doubt a string that names NVIDIA: ``"/dev/nvidia0"``."""
    maker, title = job.vendor.source_maker.lower(), job.vendor.title
    if maker not in text.lower():
        return ""
    found = next((each for each in _find_strings(text) if _is_path(job, each, maker)), "")
    kept = re.search(rf'[^\s"]*{re.escape(maker)}[^\s"]*', job.rename(found), re.IGNORECASE)
    return f"A string names `{kept[0]}`. Name what is true of {title}" if kept else ""


def _is_path(job: PortJob, text: str, maker: str) -> bool:
    """Whether a string is a path, or a name that the copy changes in part: ``"nvidia/cuda"``."""
    if maker not in text.lower() or len(text.split()) != 1:
        return False
    return text.startswith('"/') or ("/" in text and job.rename(text) != text)


def _explain_kernel(job: PortJob, text: str) -> str:
    """Doubt a kernel in a string that counts with a warp of 32 lanes."""
    kernels = (word for each, word in _IN_KERNEL.find_in_strings(text) if "__global__" in each)
    found = next(kernels, "")
    return (
        f"A kernel in a string has `{found}`, and a wavefront of AMD's GPUs has 32 or 64 lanes."
        f" Check the kernel, which {job.vendor.title} compiles when the program runs"
        if found
        else ""
    )


def _find_strings(text: str) -> Iterator[str]:
    """Yield the strings of Rust source."""
    return (m[0] for m in NO_CODE.finditer(text) if not m[0].startswith(("/", "'")))


_KINDS: Final[tuple[Callable[[PortJob, str], str], ...]] = (
    _explain_compiler_option,
    _explain_kernel,
    _explain_warp,
    _explain_capability,
    _explain_outside_name,
    _explain_maker_path,
)
"""The kinds of value. One more is a function here, and a row of the table in its test."""
