"""Mutants: small changes of a source, each of a kind that has a name.

A mutant is a function of its seed alone, so that one that fails can be made again.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Final

from portkit.syntax.source_file import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tree_sitter import Node

    Mutation = Callable[[random.Random, bytes, str], bytes]

_TOKENS: Final = re.compile(rb"//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|\w+|\s+|[^\w\s]")
CONDITIONS: Final = (
    '#[cfg(feature = "cuda")]',
    '#[cfg(not(feature = "cuda"))]',
    '#[cfg(any(feature = "cuda", feature = "metal"))]',
    '#[cfg(all(feature = "cuda", not(feature = "metal")))]',
    '#[cfg_attr(feature = "cuda", allow(dead_code))]',
    '#[cfg(feature = "rocm")]',
    '#[cfg(feature = "cudnn")]',
    '#[cfg(feature = "metal")]',
)
"""Attributes that say something of a backend."""
_RUST: Final = r"""
    cuda Cuda CUDA rocm Rocm metal Metal cudnn hip gpu _ x self Self 0 1
    ( ) { } [ ] < > , ; : :: -> => = == != && || | & ! ? . .. # $ ' " // /* */ r#" \
    fn pub mod use as let if else match impl trait enum struct unsafe async const static where
    move ref mut dyn return
    is_cuda() Device::Cuda(_) cuda_backend::CudaDevice Self::Cuda(a)|Self::Metal(a) /*cuda*/
    test_device!(a,a_cpu,a_gpu,a_metal);
"""
_CUDA: Final = r"""
    cuda cudaMalloc __shfl_sync __half half2 __global__ __device__ asm volatile 0xffffffff warpSize
    #if #else #endif #define #include <<< >>> ( ) { } , ; :: < > \ " ' // /* */
"""
_TOML: Final = 'cuda "cuda" [ ] [[ ]] { } = , . # cudarc features optional'
_PYTHON: Final = 'cuda "cuda" ( ) [ ] : , . = == or and not def class @ # if'
_WORDS: Final = {
    "rs": (*CONDITIONS, *_RUST.split(), "// cuda\n"),
    "toml": (*_TOML.split(), "\n"),
    "py": (*_PYTHON.split(), "\n"),
    "cu": (*_CUDA.split(), '#include "cuda_fp16.h"\n', "#if __CUDA_ARCH__ >= 800\n"),
}
_OF_ENDING: Final = {"pyi": "py", "cuh": "cu"}


def mutant(seed: int, path: str, data: bytes) -> tuple[str, bytes]:
    """Return a mutant of a file, with the names of the mutations that made it.

    Args:
        seed: what it is made from.
        path: the file; its ending says the language.
        data: its bytes.
    """
    chance = random.Random(f"{seed} {path}")
    kinds = RUST if path.endswith(".rs") else ANY
    names = chance.choices(sorted(kinds), k=chance.choice((1, 1, 1, 2, 3)))
    for name in names:
        data = kinds[name](chance, data, path)
    return " ".join(names), data


def _tokens(data: bytes) -> list[bytes]:
    return _TOKENS.findall(data)


def _words(path: str) -> Sequence[str]:
    ending = path.rpartition(".")[2]
    return _WORDS.get(_OF_ENDING.get(ending, ending), _WORDS["rs"])


def _near(chance: random.Random, tokens: Sequence[bytes]) -> int:
    """Return the index of a token, most often near one that names a backend."""
    named = [i for i, t in enumerate(tokens) if b"cuda" in t.lower()]
    if not named or chance.random() < 0.3:
        return chance.randrange(len(tokens))
    return min(max(chance.choice(named) + chance.randint(-12, 12), 0), len(tokens) - 1)


def _with_tokens(change: Callable[[random.Random, list[bytes], int, str], None]) -> Mutation:
    def mutate(chance: random.Random, data: bytes, path: str) -> bytes:
        tokens = _tokens(data)
        if tokens:
            change(chance, tokens, _near(chance, tokens), path)
        return b"".join(tokens)

    return mutate


def _drop_token(chance: random.Random, tokens: list[bytes], at: int, _path: str) -> None:
    del tokens[at : at + chance.choice((1, 1, 2, 5))]


def _double_token(chance: random.Random, tokens: list[bytes], at: int, _path: str) -> None:
    end = at + chance.choice((1, 1, 2, 8, 30))
    tokens[at:at] = tokens[at:end]


def _swap_tokens(chance: random.Random, tokens: list[bytes], at: int, _path: str) -> None:
    other = _near(chance, tokens)
    tokens[at], tokens[other] = tokens[other], tokens[at]


def _replace_token(chance: random.Random, tokens: list[bytes], at: int, path: str) -> None:
    tokens[at] = chance.choice((chance.choice(_words(path)).encode(), chance.choice(tokens)))


def _insert_token(chance: random.Random, tokens: list[bytes], at: int, path: str) -> None:
    tokens.insert(at, b" %s " % chance.choice(_words(path)).encode())


def _rename(chance: random.Random, tokens: list[bytes], at: int, _path: str) -> None:
    """Give what bears one name another, everywhere in the file."""
    names = [t for t in tokens if t[:1].isalpha() and len(t) > 2]
    if names:
        old = tokens[at] if tokens[at] in names else chance.choice(names)
        new = chance.choice((old + b"_cuda", b"cuda_" + old, b"Cuda", b"rocm", b"metal", b"gpu"))
        tokens[:] = [new if t == old else t for t in tokens]


def _space(chance: random.Random, tokens: list[bytes], at: int, _path: str) -> None:
    tokens.insert(at, chance.choice((b" ", b"  ", b"\n", b"\n\n", b"\t", b" /* c */ ", b"// c\n")))


def _unspace(_chance: random.Random, tokens: list[bytes], at: int, _path: str) -> None:
    """Set a stretch of the source on one line."""
    for i in range(at, min(at + 60, len(tokens))):
        if tokens[i].isspace():
            tokens[i] = b" "
        elif tokens[i].startswith(b"//"):
            tokens[i] = b""


def _drop_line(chance: random.Random, data: bytes, _path: str) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    del lines[at : at + chance.choice((1, 1, 3))]
    return b"\n".join(lines)


def _double_line(chance: random.Random, data: bytes, _path: str) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    end = at + chance.choice((1, 1, 3, 10))
    lines[at:at] = lines[at:end]
    return b"\n".join(lines)


def _swap_lines(chance: random.Random, data: bytes, _path: str) -> bytes:
    lines = data.split(b"\n")
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _byte(chance: random.Random, data: bytes, _path: str) -> bytes:
    at = chance.randrange(len(data) + 1)
    new = chance.choice(
        (b"", b"\0", b"\xff", b"\r", b"\n", b"\xc3\xa9", b'"', b"{", b"}", b"\xef\xbb\xbf")
    )
    return data[:at] + new + data[at + chance.choice((0, 1)) :]


def _crlf(chance: random.Random, data: bytes, _path: str) -> bytes:
    if chance.random() < 0.5:
        return data.replace(b"\n", b"\r\n")
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at:].replace(b"\n", b"\r\n", 1)


def _cut(chance: random.Random, data: bytes, _path: str) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def nodes(path: str, data: bytes) -> list[Node]:
    """Return every node of a file that has a name in the grammar, comments aside."""
    pending, found = [SourceFile(path, data).tree.root_node], []
    while pending:
        node = pending.pop()
        if node.is_named and "comment" not in node.type:
            found.append(node)
        pending += node.children
    return found


def _some_node(chance: random.Random, path: str, data: bytes) -> tuple[Node, list[Node]]:
    every = nodes(path, data)
    named = [n for n in every if n.text is not None and len(n.text) < 400 and b"uda" in n.text]
    return chance.choice(named if named and chance.random() < 0.7 else every), every


def _attribute(chance: random.Random, data: bytes, path: str) -> bytes:
    """Set a condition before a node, whether the grammar allows one there or not."""
    node, _ = _some_node(chance, path, data)
    gap = chance.choice(("\n", " ", "")).encode()
    return (
        data[: node.start_byte] + chance.choice(CONDITIONS).encode() + gap + data[node.start_byte :]
    )


def _graft(chance: random.Random, data: bytes, path: str) -> bytes:
    """Set another node of its kind in the place of one."""
    node, every = _some_node(chance, path, data)
    other = chance.choice([n for n in every if n.type == node.type])
    return data[: node.start_byte] + (other.text or b"") + data[node.end_byte :]


def _drop_node(chance: random.Random, data: bytes, path: str) -> bytes:
    node, _ = _some_node(chance, path, data)
    return data[: node.start_byte] + data[node.end_byte :]


def _double_node(chance: random.Random, data: bytes, path: str) -> bytes:
    node, _ = _some_node(chance, path, data)
    gap = chance.choice((b"\n", b" ", b", ", b""))
    return data[: node.end_byte] + gap + (node.text or b"") + data[node.end_byte :]


ANY: Final[Mapping[str, Mutation]] = {
    "byte": _byte,
    "crlf": _crlf,
    "cut": _cut,
    "double-line": _double_line,
    "double-token": _with_tokens(_double_token),
    "drop-line": _drop_line,
    "drop-token": _with_tokens(_drop_token),
    "insert-token": _with_tokens(_insert_token),
    "rename": _with_tokens(_rename),
    "replace-token": _with_tokens(_replace_token),
    "space": _with_tokens(_space),
    "swap-lines": _swap_lines,
    "swap-tokens": _with_tokens(_swap_tokens),
    "unspace": _with_tokens(_unspace),
}
"""Mutations of any text."""
RUST: Final[Mapping[str, Mutation]] = {
    **ANY,
    "attribute": _attribute,
    "double-node": _double_node,
    "drop-node": _drop_node,
    "graft": _graft,
}
"""Mutations of Rust; those of nodes leave much of it Rust."""
