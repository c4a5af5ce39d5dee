"""How the copy of an enum's variant is written where the enum numbers or orders its variants.

A number that a variant has must be its own (rustc: E0081), and so is being the default (rustc:
"multiple declared defaults"). Where the numbers or the order of variants count, the new variant is
the last one, so that none of the others changes its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace
from tree_sitter import Node

from portkit.context.port_job import Site
from portkit.syntax.source_file import field_text, node_text, span_of
from portkit.syntax.span import Span

_DERIVES: Final = frozenset(
    {
        "Archive",
        "BorshDeserialize",
        "BorshSerialize",
        "Decode",
        "Deserialize",
        "Deserialize_repr",
        "Encode",
        "Enum",
        "EnumCount",
        "EnumIndex",
        "EnumIter",
        "FromPrimitive",
        "FromRepr",
        "IntoPrimitive",
        "Ord",
        "PartialOrd",
        "Sequence",
        "Serialize",
        "Serialize_repr",
        "ToPrimitive",
        "TryFromPrimitive",
        "UnsafeFromPrimitive",
        "VariantArray",
        "VariantNames",
    }
)
"""Derives that number the variants of an enum, or order them."""
_INTEGER: Final = re.compile(r"[iu](?:8|16|32|64|128|size)")
_LITERAL: Final = re.compile(r"-?\s*(0x[\da-f_]+|0o[0-7_]+|0b[01_]+|[\d_]+?)(?:[iu]\w+)?", re.I)
_SHIFT: Final = re.compile(r"\(?\s*1(?:[iu]\w+)?\s*<<\s*(\d{1,3})\s*\)?")
_NO_NUMBER: Final = (
    "its number must be another than CUDA's (E0081), and portkit cannot tell which is free: add"
    " the variant by hand"
)
_NO_DIGITS: Final = frozenset({"", "0X", "0b", "0B", "0o", "0O", "0x"})
_LONGEST: Final = 50
"""How long a number may be spelled."""
_MOST: Final = 1 << 16
"""How many numbers are tried."""


def explain_variant_review(site: Site) -> str:
    """Return why a person reviews the copy of a variant, or an empty string."""
    if site.kind != "enum_variant":
        return ""
    name = site.job.rename(site.name)
    if (own := site.node.child_by_field_name("value")) is not None:
        return (
            f"`{name}` gets `{_choose_number(site)}`, which is free, since `{site.name}` has"
            f" `{node_text(own)}`. Check what stores or sends the number"
        )
    if _find_default_attribute(site) is not None:
        return (
            f"`{site.name}` stays the default, since an enum has one. Check which is the default"
            f" for {site.job.vendor.title}"
        )
    reason = _explain_numbers(site)
    return (
        f"{reason}. `{name}` is the last one, so that the others keep their places. Check what"
        " counts or compares them"
        if reason
        else ""
    )


def explain_uncopied_variant(site: Site) -> str:
    """Return why no copy of a variant would compile, or an empty string."""
    own = site.node.child_by_field_name("value") if site.kind == "enum_variant" else None
    return _NO_NUMBER if own is not None and _choose_number(site) is None else ""


def list_variant_changes(site: Site) -> Iterator[tuple[Span, str]]:
    """Yield what the copy of a variant has otherwise than by its name, as spans and texts."""
    if site.kind != "enum_variant":
        return
    if (default := _find_default_attribute(site)) is not None:
        following = re.compile(rb"\s*").match(site.source.data, default.end_byte)
        assert following is not None  # the pattern matches the empty string
        yield Span(default.start_byte, following.end()), ""
    given = _choose_number(site) if _explain_numbers(site) else ""
    if not given:
        return
    own = site.node.child_by_field_name("value")
    if own is not None:
        yield span_of(own), given
    else:
        yield Span(site.node.end_byte, site.node.end_byte), f" = {given}"


def find_variant_position(site: Site) -> Site:
    """Return the variant that the copy of a variant stands behind."""
    if not _explain_numbers(site):
        return site
    last, attributes = [each for each in site.siblings if each[0].type == "enum_variant"][-1]
    return replace(site, node=last, attributes=attributes)


def _find_default_attribute(site: Site) -> Node | None:
    """Return the attribute that makes a variant the default one, if it has it."""
    found = (a for a in site.attributes if node_text(a).replace(" ", "") == "#[default]")
    return next(found, None)


def _explain_numbers(site: Site) -> str:
    """Return why the numbers or the order of the variants count, or an empty string."""
    return site.memoize("numbered", site.container, make=lambda: _explain_enum_numbers(site))


def _explain_enum_numbers(site: Site) -> str:
    enum = site.outer.outer if site.outer is not None else None
    if enum is None or enum.kind != "enum_item":
        return ""
    if any(node.child_by_field_name("value") is not None for node in _list_variants(site)):
        return "The variants have numbers"
    heads = [node_text(a) for a in enum.attributes if a.type == "attribute_item"]
    if any(re.search(r"\brepr\s*\(", head) for head in heads):
        return "`repr` numbers the variants"
    if any(re.search(r"\beq_int\b|\bwasm_bindgen\b", head) for head in heads):
        return "Another language reads the variants as numbers"
    derived = [d for h in heads if "derive" in h for d in re.findall(r"\w+", h) if d in _DERIVES]
    if derived:
        return f"`{derived[0]}` counts or orders the variants"
    return f"A cast numbers the variants: `{cast}`" if (cast := _find_cast(site, enum.name)) else ""


def _list_variants(site: Site) -> list[Node]:
    return [node for node, _ in site.siblings if node.type == "enum_variant"]


def _find_cast(site: Site, enum: str) -> str:
    """Return a cast of a value of an enum without fields to a number, if there may be one."""
    if any(node.child_by_field_name("body") is not None for node in _list_variants(site)):
        return ""  # rustc: E0605
    for source in site.job.workspace.sources.values():
        if source.path.endswith(".rs") and enum.encode() in source.data:
            text = source.data.decode(errors="replace")
            if found := _find_cast_in_file(text, enum):
                return found
    return ""


def _find_cast_in_file(text: str, enum: str) -> str:
    """Return a cast of a value of an enum in a file, as far as the file says its type."""
    cast = re.search(rf"\b{enum}::\w+\s+as\s+{_INTEGER.pattern}\b", text)
    if cast is not None:
        return cast[0]
    values = {m[1] for m in re.finditer(rf"\b(\w+)\s*:\s*&?\s*(?:mut\s+)?(?:\w+::)*{enum}\b", text)}
    values |= {"self"} if re.search(rf"\bimpl\b[^{{;]*\b{enum}\b", text) else set()
    if not values:
        return ""
    casts = re.finditer(rf"\*?\b(?:\w+\.)*(\w+)\s+as\s+{_INTEGER.pattern}\b", text)
    return next((m[0] for m in casts if m[1] in values), "")


def _choose_number(site: Site) -> str | None:
    """Return the number that the copy of a variant is given.

    Nothing where rustc gives it one; None where it is not known which is free.
    """
    own = site.node.child_by_field_name("value")
    numbers = _read_numbers(site)
    if own is None:
        return (
            "" if numbers is None or _is_free(site, numbers) else _find_free_number(site, numbers)
        )
    return None if numbers is None else _find_free_number(site, numbers) or None


def _is_free(site: Site, numbers: Sequence[int]) -> bool:
    """Whether the number that rustc gives to one more variant behind the last is free."""
    following = numbers[-1] + 1
    return following not in numbers and following <= _find_largest_number(site)


def _read_numbers(site: Site) -> list[int] | None:
    """Return the numbers of the variants, if all are literals, shifts of 1 or constants of these.

    A constant is one of the same file.
    """
    found: list[int] = []
    for variant in _list_variants(site):
        value = variant.child_by_field_name("value")
        if value is None:
            found.append(found[-1] + 1 if found else 0)
            continue
        number = _read_value(node_text(value))
        if number is None and value.type in ("identifier", "scoped_identifier"):
            name = re.escape(node_text(value).rpartition("::")[2])
            constant = rf"\bconst\s+{name}\s*:[^=;]*=\s*([^;]+?)\s*;"
            said = re.search(constant, site.source.data.decode(errors="replace"))
            number = _read_value(said[1]) if said is not None else None
        if number is None:
            return None
        found.append(number)
    return found


def _read_value(text: str) -> int | None:
    if len(text) > _LONGEST:
        return None
    if shift := _SHIFT.fullmatch(text):
        return 1 << int(shift[1])
    literal = _LITERAL.fullmatch(text)
    if literal is not None and (digits := literal[1].replace("_", "")) not in _NO_DIGITS:
        number = int(digits, 0) if digits.lower().startswith(("0x", "0o", "0b")) else int(digits)
        return -number if text.startswith("-") else number
    return None


def _find_free_number(site: Site, numbers: Sequence[int]) -> str:
    """Return a number that no variant has, spelled as that of the site; nothing if none fits."""
    own = field_text(site.node, "value")
    most = _find_largest_number(site)
    flags = [n for n in numbers if n]
    if (len(flags) > 1 or "<<" in own) and all(n > 0 and n & (n - 1) == 0 for n in flags):
        shift = max(flags).bit_length()
        if "<<" in own:
            return re.sub(r"(<<\s*)\d+", rf"\g<1>{shift}", own) if 1 << shift <= most else ""
        if max(flags) > 2 and 1 << shift <= most:
            return _spell_number(1 << shift, own)
    taken = {*numbers}
    first = numbers[[node.id for node in _list_variants(site)].index(site.node.id)] + 1
    room = min(len(taken) + 1, _MOST)
    tried = [max(numbers) + 1, *range(first, first + room), *range(room)]
    free = next((n for n in tried if n not in taken and n <= most), None)
    return "" if free is None else _spell_number(free, own)


def _spell_number(number: int, like: str) -> str:
    """Return a number in the notation of another."""
    suffix = re.search(r"(?<![\da-fA-Fx])[iu](?:8|16|32|64|128|size)$", like)
    digits = f"{number:#04x}" if like.lower().startswith("0x") else str(number)
    return digits + (suffix[0] if suffix else "")


def _find_largest_number(site: Site) -> int:
    """Return the largest number that a variant may have: ``isize``'s where no ``repr`` says."""
    enum = site.outer.outer if site.outer is not None else None
    heads = " ".join(node_text(a) for a in enum.attributes) if enum is not None else ""
    found = re.search(rf"\brepr\s*\([^)]*?\b({_INTEGER.pattern})\b", heads)
    kind = found[1] if found else "isize"
    bits = 64 if kind.endswith("size") else int(kind[1:])
    return (1 << (bits - (kind[0] == "i"))) - 1
