"""A TOML file as a value of a type, and the message about one that is malformed.

The types are ``msgspec.Struct``; a JSON Schema for editors is made of the same types
(`tools.pages.schemas`). msgspec says where in the value a fault lies; the line, what is allowed
and what is nearest to what stands there are looked for only then.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect
from tree_sitter import Node

from portkit.errors import PortkitError, ProfileError
from portkit.syntax.source_file import SourceFile

T = TypeVar("T")
Key = tuple[str | int, ...]
"""Where a value stands: the names of tables and keys, and the numbers, from 0, in arrays."""
LARGEST: Final = 1 << 18
"""How many bytes a file may have; the largest of portkit's own has 20,000."""
_DOTS: Final = 100
# tomllib takes time as the square of the parts of a key: 80 s for 50,000.

_STEP: Final = re.compile(r"\.([^.\[\]`]+)|\[(\d+|\.\.\.)\]")
_SAID: Final = re.compile(r"(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<path>.*)`)?", re.DOTALL)
_WORDS: Final = {
    "str": "a text: write it between quotes",
    "array": "a list: write {name} = [...]",
    "object": "a table: write [{name}]",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
}


class InvalidValueError(ValueError):
    """What a type itself finds wrong with a value.

    Attributes:
        key: the key whose value is wrong; empty for the value as a whole.
    """

    def __init__(self, sentence: str, key: str = "") -> None:
        super().__init__(sentence)
        self.key = key


def decode_toml(
    data: bytes | str, where: str, kind: type[T], error: type[PortkitError] = ProfileError
) -> T:
    """Decode a TOML file as a value of a type.

    Raises:
        PortkitError: of the type ``error``; the file is malformed. The message names the file, the
            line, what is allowed, and what is nearest to what stands there.
    """
    table = parse_toml(data, where, error)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as fault:
        key, sentence = _explain_fault(fault, table, kind)
        raise error(f"{where}:{find_key_line(data, key)}: {sentence}") from None


def parse_toml(
    data: bytes | str, where: str, error: type[PortkitError] = ProfileError
) -> dict[str, Any]:
    """Return the table that a TOML file holds."""
    if len(data) > LARGEST:
        raise error(f"{where} has more than {LARGEST >> 10} KiB: a file of this kind is smaller")
    try:
        text = data if isinstance(data, str) else data.decode()
        text = text.removeprefix("\ufeff")  # as editors of Windows begin a file, which cargo passes
        for number, line in enumerate(text.split("\n"), 1):
            if line.count(".") > _DOTS:
                raise error(f"{where}:{number}: the line has more than {_DOTS} dots: shorten it")
        table = tomllib.loads(text)
        if (key := _find_nul(table)) is not None:
            raise error(f"{where}:{find_key_line(data, key)}: a text holds \\u0000: take it out")
        return table
    except UnicodeDecodeError:
        raise error(f"{where} is not UTF-8: save it so") from None
    except tomllib.TOMLDecodeError as fault:
        raise error(f"{where} is not valid TOML ({fault}): mend it") from None
    except RecursionError:
        raise error(f"{where} is nested too deeply: take brackets away") from None


def suggest_nearest(word: object, known: Iterable[object]) -> str:
    """Return half a sentence that suggests the nearest known word, or an empty string."""
    found = difflib.get_close_matches(str(word), [str(k) for k in known], 1)
    return f"; the nearest is {found[0]!r}" if found else ""


def list_choices(words: Iterable[object]) -> str:
    """Return words to choose from, such as ``'a', 'b' or 'c'``."""
    *most, last = (repr(word) for word in words)
    return f"{', '.join(most)} or {last}" if most else last


def _find_nul(table: dict[str, Any]) -> Key | None:
    """Return the key whose text holds NUL, which no path and no program accepts."""
    pending: list[tuple[Key, Any]] = [((), table)]
    while pending:
        key, value = pending.pop()
        if isinstance(value, str) and "\0" in value:
            return key
        if isinstance(value, dict):
            if any("\0" in name for name in value):
                return key
            pending += [((*key, name), each) for name, each in value.items()]
        elif isinstance(value, list):
            pending += [((*key, number), each) for number, each in enumerate(value)]
    return None


def find_key_line(data: bytes | str, key: Key) -> int:
    """Return the line, from 1, of the innermost part of a key that a TOML file spells out."""
    return KeyLines(data).of(key)


class KeyLines:
    """The lines of a TOML file's keys."""

    def __init__(self, data: bytes | str) -> None:
        raw = data.encode() if isinstance(data, str) else data
        self._lines: dict[Key, int] = {}
        for names, node in _find_keys(SourceFile("a.toml", raw).tree.root_node):
            self._lines.setdefault(names, node.start_point.row + 1)

    def of(self, key: Key) -> int:
        """Return the line, from 1, of the innermost part of a key that the file spells out."""
        parts = (key[:length] for length in range(len(key), 0, -1))
        return next((self._lines[part] for part in parts if part in self._lines), 1)


def _explain_fault(fault: msgspec.ValidationError, table: Any, kind: type) -> tuple[Key, str]:
    """Return the key of a fault and a sentence about it."""
    said = _SAID.fullmatch(str(fault))
    assert said is not None  # the pattern matches every text
    key: Key = ()
    value, wanted = table, inspect.type_info(kind)
    for name, index in _STEP.findall(said["path"] or ""):
        step = name or (int(index) if index != "..." else _find_wrong_key(value, wanted))
        wanted = _find_element_type(wanted, value, step)
        key, value = (*key, step), value[step]
    cause = fault.__cause__
    if isinstance(cause, InvalidValueError):
        return ((*key, cause.key) if cause.key else key), str(cause)
    return _write_sentence(said["what"], key, value, wanted)


def _write_sentence(what: str, key: Key, value: Any, wanted: Any) -> tuple[Key, str]:
    """Return the key of a fault and a sentence; msgspec names the key only in part."""
    name = next((step for step in reversed(key) if isinstance(step, str)), "the file")
    bare, meta = _strip_type(wanted)
    if field := re.search("field `(.*)`", what):
        if "required" in what:
            return key, f'{_name_table(key)} needs a "{field[1]}"'
        known = _list_fields(_choose_member(bare, value))
        return (*key, field[1]), (
            f"there is no key {field[1]!r} here: known are {', '.join(known)}"
            f"{suggest_nearest(field[1], known)}"
        )
    allowed = bare.values if isinstance(bare, inspect.LiteralType) else _list_tags(bare, key)
    if allowed:
        return (
            key,
            f"{name} is {value!r}: write {list_choices(allowed)}{suggest_nearest(value, allowed)}",
        )
    if isinstance(bare, inspect.VarTupleType) and isinstance(value, dict):
        return key, f"{name} is not a list of tables: write [[{name}]]"
    if " of length " in what:
        return key, f"{name} is not a list with something in it: write {name} = [...]"
    if "matching regex" in what and "title" in meta:
        if not value.strip():
            return key, f"{name} is empty"
        return key, f"{value!r} is not {meta['title']}"
    expected = re.match(r"Expected `(\w+)", what)
    word = _WORDS.get(expected[1], what) if expected else what
    shown = repr(value) if key and isinstance(key[-1], int) else name
    return key, f"{shown} is not {word.format(name=name)}"


def _name_table(key: Key) -> str:
    """Return the name of the table under a key for a message, such as ``this [[exclude]]``."""
    names = ".".join(str(step) for step in key if isinstance(step, str))
    if not names:
        return "the file"
    return f"this [[{names}]]" if isinstance(key[-1], int) else f"[{names}]"


def _strip_type(wanted: Any) -> tuple[Any, dict[str, Any]]:
    """Return a type without its metadata and without ``None``, and the metadata."""
    meta: dict[str, Any] = {}
    while True:
        if isinstance(wanted, inspect.Metadata):
            meta = {**(wanted.extra_json_schema or {}), **meta}
            wanted = wanted.type
        elif isinstance(wanted, inspect.UnionType):
            others = [t for t in wanted.types if not isinstance(t, inspect.NoneType)]
            if len(others) != 1:
                return wanted, meta
            wanted = others[0]
        else:
            return wanted, meta


def _find_element_type(wanted: Any, value: Any, step: str | int) -> Any:
    """Return the type of the element or field at one step below a value."""
    bare = _choose_member(_strip_type(wanted)[0], value)
    if isinstance(bare, inspect.StructType):
        if step == bare.tag_field:
            return _strip_type(wanted)[0]
        return next(f.type for f in bare.fields if f.encode_name == step)
    if isinstance(bare, inspect.UnionType):  # of tables, and the table does not say which it is
        return bare
    if isinstance(bare, inspect.DictType):
        return bare.value_type
    if isinstance(bare, inspect.TupleType) and isinstance(step, int):
        return bare.item_types[step]
    return bare.item_type


def _choose_member(wanted: Any, value: Any) -> Any:
    """Return the member of a union that a table's tag chooses, or the type itself."""
    for member in getattr(wanted, "types", ()):
        tag = getattr(member, "tag_field", None)
        if tag and isinstance(value, dict) and value.get(tag) == member.tag:
            return member
    return wanted


def _find_wrong_key(value: dict[str, Any], wanted: Any) -> str:
    """Return the first key of a table whose value does not fit, which msgspec does not name."""
    inner = _strip_type(wanted)[0].value_type
    return next(key for key, each in value.items() if not _fits(each, inner))


def _fits(value: Any, wanted: Any) -> bool:
    bare, _ = _strip_type(wanted)
    if isinstance(bare, inspect.StrType):
        return isinstance(value, str) and re.search(bare.pattern or "", value) is not None
    if isinstance(bare, inspect.IntType):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(bare, inspect.DictType):
        return isinstance(value, dict) and all(_fits(v, bare.value_type) for v in value.values())
    if isinstance(bare, inspect.UnionType):
        return any(_fits(value, each) for each in bare.types)
    if isinstance(bare, inspect.StructType):
        try:
            msgspec.convert(value, bare.cls)
        except msgspec.ValidationError:
            return False
    return True


def _list_fields(kind: Any) -> list[str]:
    names = [field.encode_name for field in kind.fields]
    return [kind.tag_field, *names] if kind.tag_field else names


def _list_tags(kind: Any, key: Key) -> list[object]:
    """Return the allowed tags, if the key is the tag of a union."""
    tags = [(t.tag_field, t.tag) for t in getattr(kind, "types", ()) if hasattr(t, "tag_field")]
    return [tag for field, tag in tags if key and field == key[-1]]


def _find_keys(root: Node) -> Iterator[tuple[Key, Node]]:
    """Yield every key of a TOML file with the node that spells it."""
    counts: dict[Key, int] = {}
    for node in root.named_children:
        prefix: Key = ()
        pairs = [node]
        if node.type in ("table", "table_array_element"):
            head, *pairs = [child for child in node.named_children if child.type != "comment"]
            *outer, last = _find_spelled(head)
            for name in outer:
                prefix = (*prefix, name)
                if prefix in counts:
                    prefix = (*prefix, counts[prefix] - 1)
                yield prefix, node
            prefix = (*prefix, last)
            yield prefix, node
            if node.type == "table_array_element":
                counts[prefix] = counts.get(prefix, 0) + 1
                prefix = (*prefix, counts[prefix] - 1)
                yield prefix, node
        for pair in pairs:
            yield from _find_pairs(pair, prefix)


def _find_pairs(pair: Node, prefix: Key) -> Iterator[tuple[Key, Node]]:
    if pair.type != "pair":
        return
    key, value = pair.named_children[:2]
    for name in _find_spelled(key):
        prefix = (*prefix, name)
        yield prefix, pair
    yield from _find_inner(value, prefix)


def _find_inner(value: Node, prefix: Key) -> Iterator[tuple[Key, Node]]:
    if value.type == "inline_table":
        for child in value.named_children:
            yield from _find_pairs(child, prefix)
    elif value.type == "array":
        elements = [child for child in value.named_children if child.type != "comment"]
        for number, child in enumerate(elements):
            yield (*prefix, number), child
            yield from _find_inner(child, (*prefix, number))


def _find_spelled(node: Node) -> tuple[str, ...]:
    if node.type == "dotted_key":
        return tuple(name for child in node.named_children for name in _find_spelled(child))
    text = node.text.decode() if node.text is not None else ""
    return (text.strip("\"'"),)
