"""What a vendor's names become on another vendor's platform.

Renaming works on tokens: an identifier, a string and a comment each have their own rules, so that
prose, kernel symbols and web addresses are never changed by the rule for identifiers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from itertools import chain

from msgspec import field

from portkit.syntax.features import cargo_feature_variable
from portkit.syntax.value import Value
from portkit.syntax.word_search import word_pattern

# Block comments nest (the Rust reference, chapter "Comments"): two levels are looked into.
_BLOCK = r"/\*(?:[^*/]|\*(?!/)|/(?!\*))*\*/"
for _level in range(2):
    _BLOCK = rf"/\*(?:[^*/]|\*(?!/)|/(?!\*)|{_BLOCK})*\*/"
TOKEN = re.compile(
    rf"""
    (?P<comment> //[^\n]* | {_BLOCK} )
  | (?P<string> [bc]?r(?P<hashes>\#*)".*?"(?P=hashes) | [bc]?"(?:[^"\\]|\\.)*" )
  | (?P<char> b?'(?:\\.[^'\n]*|[^'\\\n])' )
  | (?P<word> (?:r\#)?[A-Za-z_]\w* )
    """,
    re.VERBOSE | re.DOTALL,
)
NO_CODE = re.compile(
    rf"""
    /(?: /[^\n]* | {_BLOCK[1:]} )
  | r(?:(?<!\wr)|(?<=\b[bc]r))(?P<hashes>\#*)".*?"(?P=hashes)
  | "(?:[^"\\]|\\.)*"
  | '(?:\\.[^'\n]*|[^'\\\n])'
    """,
    re.VERBOSE | re.DOTALL,
)
"""What is a comment or a literal, told by its first character; the ``b`` of a string is not in it.

Each alternative begins with a character of its own, so that a search goes from one to the next.
"""
_IDENTIFIER = re.compile(r"(?:r#)?[A-Za-z_]\w*")
_WORD = re.compile(r"https?://\S+|[A-Za-z_][A-Za-z0-9_]*")
_BALANCED = r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"
# The file may be named by `concat!`, and the macros inside of that have ended before its ending; or
# by a variable, as `env!("SAXPY_PTX")`.
_INCLUDED_TEXT = rf"\binclude_str!(?=\s*(?:\({_BALANCED}){{1,3}}(?:\.%s|_(?i:%s))\")"
_TEXT_OF_BYTES = re.compile(r"&('static\s+)?str(\s*=\s*(?:std::)?include_bytes!)")
# `--features a,cuda`, `the feature cuda`, `required-features = ["cuda"]`, ``the `cuda` feature``.
_FEATURE_IN_PROSE = (
    r"(?P<variable>\b{variable}\b)"
    r"|(?P<lead>\bfeatures?\b[\s=:(\[\"'`\\]++(?:[\w+-]+\??[\"'`]?[,/]\s*+[\"'`]?)*"
    r"|(?:(?<=\bthe )|(?<=[\"'`]))(?={own}[\"'`]?\s+features?\b))(?P<own>{own})(?![\w+-])"
)
# A `use` that has not ended where one looks from. From each word it is looked back so far and no
# farther, so that time grows with the text; no path or import is longer.
_REACH = 1000
_USE = re.compile(r"\buse\s[^;]*\Z")
# What stands before a path from the crates on is no part of it: `use ::a::b`, `dyn ::a::B`.
_SEGMENT = re.compile(
    r"\b(?!(?:as|dyn|else|for|if|impl|in|match|mut|return|use|where|while)\b)(\w+)\s*::\s*\Z"
)
_IN_LIST = re.compile(r"[{,]\s*\Z")
_OF_PATH = re.compile(r"::\s*\Z")
_INSIDE = re.compile(r"(?:[\w>]::|\.)\s*\Z")
_FOLLOWED = re.compile(r"\s*::")
_BROUGHT_IN = re.compile(r"\b(?:use|extern\s+crate)\s+(?:::\s*)?\Z")
_LAST = re.compile(r"\s*[;,}]")
_SEVERAL = re.compile(r"\S\s+\S")
# A text is a name or a message where it is written out.
_TEXT_NAMED = (
    r"(\b%s\s*:\s*&(?:'\w+\s+)?)str\b"
    r"(?!\s*=\s*(?:(?:r\#*)?\"|(?:(?:std|core)::)?(?:include_str|concat|env|stringify)!))"
)
_CONDITIONAL = frozenset({"cfg", "cfg_attr"})
_OPENS = re.compile(r"\s*!?\s*\(")
_STRING_BODY = re.compile(r'^([^"]*")(.*)("#*)$', re.DOTALL)


class NameTable(Value, frozen=True, dict=True):
    """How to rename."""

    words: Mapping[str, str]
    # Pieces of identifiers (`portkit.syntax.word_search.word_pattern`), tried in order; each is
    # ``(from, to)``.
    parts: tuple[tuple[str, str], ...]
    # Whole words of comments and messages; part of a path, a word is an identifier, and so it is
    # where its counterpart is several words and stands in no prose.
    prose: Mapping[str, str]
    # A pattern; a string literal whose text matches it wholly is a symbol of the platform's
    # kernels, not prose, and keeps its name.
    kept_strings: str
    # Endings of files that are text on one platform and bytes on the other, after renaming, such as
    # ``hsaco``.
    binary: tuple[str, ...] = ()
    # A pattern of names whose values are what such files hold, after renaming and with letters in
    # any case; empty for none.
    binary_names: str = ""
    # Web addresses, and the page of the platform that says the same.
    pages: Mapping[str, str] = field(default_factory=dict)
    # Endings of kernels' sources, such as ``.cu``, which a comment may name by themselves: "the .cu
    # file". The name of a file is nothing that is renamed.
    sources: Mapping[str, str] = field(default_factory=dict)
    # A Cargo feature and what it becomes, where its name as a word does not become that.
    feature: tuple[str, str] | None = None
    # By crate, what its names become behind it in a path, where the same names stand for something
    # else by themselves.
    below: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # By crate or module from elsewhere, what names become in a path that begins at it.
    behind: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Crates whose counterpart has another name, as code names both. One is a crate where a path
    # begins at it; elsewhere the same word stands for something else.
    crates: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _known(self) -> dict[str, str]:
        """The identifiers that were renamed before; most occur in a file many times."""
        return dict(self.words)

    @cached_property
    def _compiled_parts(self) -> list[tuple[re.Pattern[str], str]]:
        """The patterns of the parts of words, each with its replacement."""
        return [
            (re.compile(word_pattern(old)), new.replace("\\", r"\\")) for old, new in self.parts
        ]

    @cached_property
    def _kept(self) -> re.Pattern[str]:
        return re.compile(self.kept_strings)

    @cached_property
    def _named(self) -> re.Pattern[str]:
        """A pattern that each text which renaming changes contains, except embedded bytes."""
        pieces = [old for old, _ in self.parts]
        if self.feature is not None:
            pieces += (self.feature[0], cargo_feature_variable(self.feature[0]))
        every = (*self.words, *self.crates, *self.prose, *self.pages)
        whole = [w for w in every if not any(old in w for old in pieces)]
        endings = (rf"{re.escape(ending)}\b" for ending in self.sources)
        return re.compile("|".join((*map(re.escape, (*pieces, *whole)), *endings)))

    @cached_property
    def _identified(self) -> re.Pattern[str]:
        """A pattern that each identifier which renaming changes contains."""
        pieces = [old for old, _ in self.parts]
        every = (*self.words, *self.crates, *self._placed)
        whole = [word for word in every if not any(old in word for old in pieces)]
        return re.compile("|".join(map(re.escape, (*pieces, *whole))) or "(?!)")

    def concerns(self, text: str) -> bool:
        """Whether renaming may change a text. Fast path: most texts stay as they are."""
        return self._named.search(text) is not None or "include_str!" in text

    def is_kernel(self, text: str) -> bool:
        """Whether the text of a string is the symbol of a kernel of the platform."""
        return self._kept.fullmatch(text) is not None

    def word(self, word: str) -> str:
        """Rename one identifier."""
        known = self._known.get(word)
        if known is None:
            known = word
            for old, new in self._compiled_parts:
                known = old.sub(new, known)
            self._known[word] = known
        return known

    def text(self, text: str) -> str:
        """Rename the words of a comment, a message or a manifest; a web address is one word."""
        if not self.concerns(text):
            return text
        if self.feature is None:
            return _WORD.sub(self._prose_word, text)
        return self._named_feature.sub(self._prose_with_feature, text)

    def rust(self, text: str) -> str:
        """Rename a piece of Rust source, token by token."""
        if not self.concerns(text):
            return text
        asked: Set[int] = frozenset()
        if self.feature is not None and "cfg" in text:
            # Both become what is written: a copy of what names that already leaves it as it is.
            both = {f'"{each}"' for each in self.feature}
            asked = {name.start() for name in find_feature_conditions(text) if name.group() in both}
        out: list[str] = []
        at = 0
        for literal in NO_CODE.finditer(text):
            out += self._code(text, at, literal.start())
            out.append(self._asked if literal.start() in asked else self._literal(literal.group()))
            at = literal.end()
        renamed = "".join((*out, *self._code(text, at, len(text))))
        renamed = self._embedding_bytes(renamed) if "include_str!" in renamed else renamed
        if not self.binary_names or not any(ending in renamed.lower() for ending in self.binary):
            return renamed
        return self._typed.sub(r"\1[u8]", renamed)

    def _embedding_bytes(self, text: str) -> str:
        """Have files that are bytes embedded as such (std, macro ``include_bytes``)."""
        for ending in self.binary:
            named = re.compile(_INCLUDED_TEXT % (re.escape(ending), re.escape(ending)))
            text = named.sub("include_bytes!", text)
        return _TEXT_OF_BYTES.sub(r"&\1[u8]\2", text)

    def text_of_bytes(self, text: str) -> bool:
        """Whether renamed Rust source reads a file as text that is bytes (`std::fs`)."""
        endings = "|".join(map(re.escape, self.binary))
        found = rf'\bread_to_string\s*\({_BALANCED}(?:\({_BALANCED}){{0,2}}\.(?:{endings})"'
        return "read_to_string" in text and bool(endings) and re.search(found, text) is not None

    @cached_property
    def _typed(self) -> re.Pattern[str]:
        """Declarations whose type is text and whose value is bytes."""
        return re.compile(_TEXT_NAMED % f"(?i:{self.binary_names})")

    @cached_property
    def _named_feature(self) -> re.Pattern[str]:
        """A feature that prose names as such, else a word."""
        assert self.feature is not None  # else a word is all that is looked for
        own = re.escape(self.feature[0])
        pattern = _FEATURE_IN_PROSE.format(
            own=own, variable=re.escape(cargo_feature_variable(self.feature[0]))
        )
        return re.compile(f"{pattern}|{_WORD.pattern}")

    def _prose_with_feature(self, match: re.Match[str]) -> str:
        assert self.feature is not None  # see `_named_feature`
        if match["variable"]:
            return cargo_feature_variable(self.feature[1])
        if match["own"]:
            return _WORD.sub(self._prose_word, match["lead"] or "") + self.feature[1]
        return self._prose_word(match)

    def _prose_word(self, match: re.Match[str]) -> str:
        word = match.group()
        if "://" in word:
            return self.pages.get(word, word)
        text, start, end = match.string, match.start(), match.end()
        if text.endswith((".", "::"), 0, start) or text.startswith("::", end):
            return self.word(word)  # the ending of a file, part of a path
        said = self.prose.get(word, "")
        if " " in said and not _is_prose(text, start, end):
            return self.word(word)
        return said or self.word(word)

    @property
    def _asked(self) -> str:
        """The quoted name of the feature that replaces the other one in a condition."""
        assert self.feature is not None  # else no condition is told from other code
        return f'"{self.feature[1]}"'

    def _code(self, text: str, start: int, end: int) -> Iterator[str]:
        """Yield the code between two literals of a text in pieces, renamed.

        What renaming changes is looked for, since most identifiers it does not.
        """
        for named in self._identified.finditer(text, start, end):
            if named.start() < start:
                continue  # the identifier that was renamed last goes on so far
            match = _IDENTIFIER.search(text, _beginning(text, named.start(), start), end)
            if match is None:  # a name of a profile's that is none
                break
            yield text[start : match.start()]
            yield self._identifier(match)
            start = match.end()
        yield text[start:end]

    @cached_property
    def _source_files(self) -> re.Pattern[str]:
        """The ending of a kernel's source, if a comment names only the ending."""
        every = "|".join(map(re.escape, self.sources)) or r"\Z(?!\Z)"
        return re.compile(rf"(?<![^\s`(]) (?:{every}) (?=`|\s+(?:file|source)s?\b)", re.VERBOSE)

    def _literal(self, token: str) -> str:
        """Rename a comment, or a literal of whatever kind."""
        if token[0] == "/":
            token = self._source_files.sub(lambda m: self.sources[m.group()], token)
            return self.text(token)
        return token if token[0] == "'" else self._string(token)

    def _identifier(self, match: re.Match[str]) -> str:
        token = match.group()
        if token in self.crates and _begins_a_path(match):
            return self.crates[token]
        renamed = (token in self._placed and self._find_by_path(match)) or self.word(token)
        if "::" in renamed and _LAST.match(match.string, match.end()):
            start = match.start()
            if _USE.search(match.string, max(0, start - _REACH), start):
                # A crate that is brought in whole: paths below its name name the module.
                return renamed.partition("::")[0]
        return renamed

    @cached_property
    def _placed(self) -> frozenset[str]:
        """The names whose replacement depends on their path."""
        tables = (*self.below.values(), *self.behind.values())
        return frozenset(chain.from_iterable(tables))

    def _find_by_path(self, word: re.Match[str]) -> str:
        """Return the replacement of a word by its path, or an empty string.

        The nearest crate that has such a name counts.
        """
        token, path = word.group(), find_path_before(word.string, word.start())
        near = (self.below[each] for each in reversed(path) if each in self.below)
        tables = (*near, self.behind.get(path[0], {}) if path else {})
        return next((names[token] for names in tables if token in names), "")

    def _string(self, token: str) -> str:
        parts = _STRING_BODY.match(token)
        if parts is None or self.is_kernel(parts.group(2)):
            return token
        return parts.group(1) + self.text(parts.group(2)) + parts.group(3)


def find_path_before(text: str, at: int) -> list[str]:
    """Return the segments of the Rust path before an offset, lists included.

    In ``use a::{b::c, d::e}`` those before ``e`` are ``a`` and ``d``.
    """
    found: list[str] = []
    first = max(0, at - _REACH)
    while True:
        before = _SEGMENT.search(text, first, at)
        if before is not None:
            found.insert(0, before[1])
            at = before.start()
            continue
        at = _list_around(text, first, at)
        if at < 0:
            return found


def _list_around(text: str, first: int, at: int) -> int:
    """Return the offset of the import list that holds a path; -1 if there is none."""
    if _IN_LIST.search(text, first, at) is None:
        return -1
    depth = 0
    for place in range(at - 1, first - 1, -1):
        depth += (text[place] == "}") - (text[place] == "{")
        if depth < 0:
            return place if _OF_PATH.search(text, first, place) else -1
        if text[place] in ";()":
            return -1
    return -1


def _beginning(text: str, at: int, start: int) -> int:
    """Return the first offset of the identifier around an offset, not before a start."""

    def goes_on(before: int) -> bool:
        return before > start and (text[before - 1].isalnum() or text[before - 1] == "_")

    while goes_on(at):
        at -= 1
    raw = at - 2
    return raw if raw >= start and text.startswith("r#", raw) and not goes_on(raw) else at


def _is_prose(text: str, start: int, end: int) -> bool:
    """Whether the text between two offsets is prose: no name, option or part of a path."""
    before, behind = text[max(0, start - 2) : start], text[end : end + 2]
    inner = before.endswith(("-", "=", "\\")) or (before.endswith("/") and before != "//")
    leads = re.match(r"[-/\\=]\w|\\\\", behind) is not None
    return not inner and not leads and _SEVERAL.search(text) is not None


def find_feature_conditions(text: str) -> Iterator[re.Match[str]]:
    """Yield the names of features in the conditions of Rust source, each the token of a string.

    A condition is what stands in the brackets of ``cfg``, ``cfg!`` or ``cfg_attr`` (the Rust
    reference, chapter "Conditional compilation"); the same words elsewhere are code.
    """
    depth, last, gap, at = 0, "", "", 0
    for token in TOKEN.finditer(text):
        gap += text[at : token.start()]
        at = token.end()
        if token.lastgroup == "comment":
            continue
        if depth or (last in _CONDITIONAL and _OPENS.match(gap)):
            depth = max(0, depth + gap.count("(") - gap.count(")"))
        if depth and last == "feature" and gap.strip() == "=" and token.group().startswith('"'):
            yield token
        last, gap = token["word"] or "", ""


def strip_comments_and_strings(text: str) -> str:
    """Return Rust source without its comments and with empty strings."""

    def blank(match: re.Match[str]) -> str:
        first = match.group()[0]
        return " " if first == "/" else match.group() if first == "'" else '""'

    return NO_CODE.sub(blank, text)


def strip_comments(text: str) -> str:
    """Return Rust source with a space for each comment."""
    return NO_CODE.sub(lambda m: " " if m.group()[0] == "/" else m.group(), text)


def normalize_rust(text: str) -> str:
    """Return Rust source without comments, white space and trailing commas, for comparison."""
    squeezed = "".join(strip_comments(text).split())
    return re.sub(r",(?=[)\]}])", "", squeezed).rstrip(",;")


def _begins_a_path(word: re.Match[str]) -> bool:
    """Whether a path begins at a word, or it is brought in as a crate is."""
    before = word.string, max(0, word.start() - _REACH), word.start()
    if _FOLLOWED.match(word.string, word.end()):
        return _INSIDE.search(*before) is None
    return _BROUGHT_IN.search(*before) is not None
