"""What a rule is given: the job (`PortJob`), the surroundings (`Scope`) and the node (`Site`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import field
from tree_sitter import Node

from portkit.hipify.paths import BUILD_SCRIPT
from portkit.profiles.entries import PatchEntry, ProsePatch
from portkit.profiles.profile import CodebaseProfile, VendorProfile
from portkit.profiles.settings import Exclusion
from portkit.syntax import features
from portkit.syntax.cfg import FIELD_VALUES, Cfg, find_attributes, parse_conditions
from portkit.syntax.name_table import find_feature_conditions, strip_comments_and_strings
from portkit.syntax.source_file import ATTACHED, SourceFile, node_text
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.syntax.word_search import caseless_word_pattern, find_occurrences
from portkit.workspace.cargo_workspace import Crate, Workspace

if TYPE_CHECKING:
    from portkit.hipify.translator import Translation  # few scans have a kernel

Kind = TypeVar("Kind", bound="PatchEntry")
Made = TypeVar("Made")
_PATTERN = re.compile(r"[*?\[]")
_HEADERS = (".h", ".cuh")
_HEADER = re.compile(r"\w\.(?:h|cuh)\b")


class Gating(StrEnum):
    """How a tree without the feature is kept compiling."""

    DUMMY = "dummy"
    """Variants always exist; a dummy backend answers without the feature."""
    CFG = "cfg"
    """Variants, arms and exports stand under the feature; there is no dummy."""


class DeviceMacro(Value, frozen=True):
    """A macro that takes one argument per backend."""

    name: str  # the macro
    position: int  # the index, from 0, of the source vendor's argument in a call before the port
    arity: int  # how many arguments a call has before the port
    behind: bool  # whether the written vendor's argument stands or will stand right behind it
    # whether the source vendor's argument does nothing but name a test of another one
    is_name: bool = False
    passes: tuple[str, ...] = ()  # the macros that it is passed on to


class TreeFacts(Value, frozen=True):
    """What is learnt about a tree as a whole, before its places are looked at.

    Attributes:
        mentions: the offsets of the backend mentions in each file that has any, by path.
        macros: macros with one argument per backend, by name.
        copied_files: files that are copied whole: path to the path of the copy.
        unported: files whose modules stand under a feature without a counterpart, and that.
        gated: files whose modules stand under the source vendor's feature.
        inside: files of modules inside such a module: path to that of the file that is gated.
    """

    mentions: Mapping[str, list[int]] = field(default_factory=dict)
    macros: Mapping[str, DeviceMacro] = field(default_factory=dict)
    copied_files: Mapping[str, str] = field(default_factory=dict)
    unported: Mapping[str, str] = field(default_factory=dict)
    gated: frozenset[str] = frozenset()
    inside: Mapping[str, str] = field(default_factory=dict)


class PortJob(Value, frozen=True, dict=True):
    """One job: this tree, to this vendor.

    Whether a text is about CUDA has several meanings:

    - `mentions_cuda`: it names the platform, in prose too.
    - `rename_changes_code`: the name table changes it, comments and strings aside.
    - `renames_or_says_cuda`: the same, or it is ``"cuda"`` as a string.
    - `is_cuda_specific`: the same, or it has a condition on CUDA's feature (`has_cuda_cfg`).

    Of a condition `cfg_mentions_cuda` asks whether it names CUDA's feature, `cfg_requires_cuda`
    whether it requires that, and `Site.is_cuda_only` whether a site's own condition does.

    Attributes:
        workspace: the tree.
        vendor: the vendor that is written.
        codebase: what is particular to the codebase.
        gating: how a tree without the feature is kept compiling.
        regenerate: whether files that were written before are replaced where they differ.
        kernels: whether the sources of kernels are looked into, which takes as long as a scan.
        tree_facts: the facts about the whole tree; the scan collects them once.
        translated: HIP sources that are made already, by the path of the CUDA source.
        skips: what ``portkit.toml`` leaves out, for what a copy holds that no place of its own has.
    """

    workspace: Workspace
    vendor: VendorProfile
    codebase: CodebaseProfile
    gating: Gating
    regenerate: bool = False
    kernels: bool = False
    tree_facts: TreeFacts = field(default_factory=TreeFacts)
    translated: Mapping[str, Translation] = field(default_factory=dict)
    skips: tuple[Exclusion, ...] = ()

    def patches(self, kind: type[Kind], path: str, *, idle: bool = False) -> tuple[Kind, ...]:
        """Return the patches of a kind that may be about a file."""
        known = self._patches.get((kind, idle))
        if known is None:
            version = self.workspace.version
            wanted = [
                p for p in self.codebase.of(kind) if p.applies_to_version(version) is not idle
            ]
            if idle:
                others = [p for p in self.codebase.patches if p.applies_to_version(version)]
                wanted = [p for p in wanted if not any(o.replaces(p) for o in others)]
            exact: dict[str, list[tuple[int, Kind]]] = {}
            patterns: dict[str, list[tuple[int, Kind]]] = {}
            for each in enumerate(wanted):
                place = each[1].path
                (patterns if _PATTERN.search(place) else exact).setdefault(place, []).append(each)
            begin = tuple({_PATTERN.split(pattern)[0] for pattern in patterns})
            known = self._patches[kind, idle] = exact, patterns, begin
        exact, patterns, begin = known
        if path not in exact and not path.startswith(begin):
            return ()  # nothing is about most files
        found = [*exact.get(path, ())]
        for pattern, held in patterns.items():
            if fnmatchcase(path, pattern):
                found += held
        found.sort(key=itemgetter(0))
        return tuple([patch for _, patch in found])

    @cached_property
    def _patches(
        self,
    ) -> dict[tuple[type, bool], tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]]:
        """The patches of each kind: by file, by pattern, and how the patterns begin."""
        return {}

    @property
    def feature(self) -> str:
        """The Cargo feature of the vendor that is written."""
        return self.vendor.feature

    @property
    def source_feature(self) -> str:
        """The Cargo feature of the source vendor."""
        return self.vendor.source_feature

    @cached_property
    def counterparts(self) -> Mapping[str, str]:
        """The features of the source vendor and of its libraries, with what is written for each."""
        libraries = self.vendor.libraries.items()
        written = {old: new for old, new in libraries if old not in self.vendor.unported}
        own = (self.source_feature, *self.vendor.spellings)
        return {**dict.fromkeys(own, self.feature), **written}

    def cfg_requires_cuda(self, cfg: Cfg) -> bool:
        """Whether code under a condition exists for CUDA only."""
        return any(map(cfg.requires, self.counterparts))

    def cfg_requires_either(self, cfg: Cfg) -> bool:
        """Whether what stands under a condition needs the source vendor or the written one."""
        both = (self.source_feature, self.feature)
        needed = cfg.without(frozenset(both)) is False
        return needed and cfg.features() >= {*both} and not any(map(cfg.requires, both))

    def cfg_excludes_cuda(self, cfg: Cfg) -> bool:
        """Whether what stands under a condition exists only where the source vendor is off."""
        return any(map(cfg.forbids, self.counterparts))

    def cfg_requires_rocm(self, cfg: Cfg) -> bool:
        """Whether what stands under a condition exists for the written vendor alone."""
        return any(map(cfg.requires, self.counterparts.values()))

    def cfg_excludes_rocm(self, cfg: Cfg) -> bool:
        """Whether what stands under a condition exists only where the written vendor is off."""
        return any(map(cfg.forbids, self.counterparts.values()))

    def find_unported_feature(self, cfg: Cfg, path: str = "") -> str:
        """Return the unported feature without which a condition never holds, or an empty string.

        Where one of several will do, it is the first that is named. The source's own feature is
        one where a file takes the path without it, be it beside those of peers.
        """
        unported = self.vendor.unported
        named = cfg.features() & unported.keys()
        if named and cfg.without(frozenset(unported)) is False:
            return next((f for f in sorted(named) if cfg.requires(f)), min(named))
        plain = (
            path
            and self.codebase.find_no_feature_entry(path) is not None
            and self.cfg_mentions_cuda(cfg)
        )
        off = self.list_disabled_features(path) | {*self.vendor.peers} if plain else frozenset()
        return self.source_feature if plain and cfg.without(off) is False else ""

    def list_disabled_features(self, path: str) -> frozenset[str]:
        """Return the features that what is written in a file does without."""
        off = frozenset(self.vendor.unported)
        if self.codebase.find_no_feature_entry(path) is None:
            return off
        return off | {*self.counterparts, self.source_feature}

    def explain_unported(self, feature: str, path: str = "") -> str:
        """Return why a feature has no counterpart, in a file or in all of them."""
        plain = (
            self.codebase.find_no_feature_entry(path) if feature == self.source_feature else None
        )
        return self.vendor.unported[feature] if plain is None else plain.reason

    def cfg_mentions_cuda(self, cfg: Cfg) -> bool:
        """Whether a condition names the source vendor's feature at all."""
        return not cfg.features().isdisjoint(self.counterparts)

    def has_cuda_cfg(self, text: str) -> bool:
        """Whether a condition in Rust source names the source vendor's feature."""
        asked = [name for each in self.counterparts if (name := f'"{each}"') in text]
        return bool(asked) and any(name.group() in asked for name in find_feature_conditions(text))

    def mentions(self, source: SourceFile, words: Iterable[str]) -> list[int]:
        """Return where a file mentions a backend: by a word of its platform, or by its feature."""
        found = source.offsets(words) if words else []
        if self._is_feature_a_word:
            return found
        return sorted({*found, *features.find_feature_mentions(source, self.source_feature)})

    @cached_property
    def rocm_words(self) -> tuple[str, ...]:
        """The words, in lower case, one of which stands in what is the written vendor's."""
        return (*self.vendor.own_vocabulary, f'"{self.feature.lower()}"')

    @cached_property
    def _is_feature_a_word(self) -> bool:
        """Whether the source vendor's feature is found by the words of its platform already."""
        return any(word in self.source_feature.lower() for word in self._ported_words)

    @cached_property
    def _ported_words(self) -> tuple[str, ...]:
        return tuple(w for w in self.vendor.vocabulary if w not in self.vendor.unported)

    def memoize(self, *key: Hashable, make: Callable[[], Made]) -> Made:
        """Return a value that is computed once for the tree; `Site.memoize` is for one file."""
        if key not in self._known:
            self._known[key] = make()
        made: Made = self._known[key]
        return made

    @cached_property
    def _known(self) -> dict[tuple[Hashable, ...], Any]:
        """What was worked out once."""
        return {}

    @cached_property
    def _source_words(self) -> tuple[str, ...]:
        """The words, in lower case, one of which stands in what names the source's platform."""
        return (*self._ported_words, self.source_feature.lower())

    @cached_property
    def _source_code(self) -> re.Pattern[str]:
        ported = [*map(caseless_word_pattern, self._ported_words)]
        if not self._is_feature_a_word:
            ported.append(rf'\bfeature\s*=\s*"{re.escape(self.source_feature)}"')
        return re.compile("|".join(ported))

    @cached_property
    def _kept_names(self) -> re.Pattern[str]:
        """The identifiers that name the source's platform and stay as they are."""
        names = sorted(map(re.escape, self.codebase.kept_names))
        return re.compile(rf"\b(?:{'|'.join(names)})\b" if names else r"(?!)")

    @cached_property
    def unported_words(self) -> tuple[str, ...]:
        """The unported features that are words of the platform's own, sorted."""
        return tuple(sorted(f for f in self.vendor.unported if f in self.vendor.vocabulary))

    @cached_property
    def _unported_condition(self) -> re.Pattern[str]:
        return re.compile(rf'feature\s*=\s*"(?:{"|".join(self.vendor.unported)})"')

    @cached_property
    def otherwise(self) -> re.Pattern[bytes]:
        """What a copy may have otherwise than by its name: conditions, peers, parameters."""
        words = (self.vendor.name, self.vendor.variant, *self.vendor.parameters)
        words += (f'"{self.feature}"',)
        named = [f"(?i:{'|'.join(self.vendor.peer_vocabulary)})", *map(re.escape, words)]
        return re.compile("|".join((self._unported_condition.pattern, *named)).encode())

    @cached_property
    def _gated(self) -> re.Pattern[str]:
        name, variant = self.vendor.name, self.vendor.variant
        below = {each.module for each in self.codebase.ported.values() if each.bindings}
        bindings = {self.vendor.facade.module, *below}
        return re.compile(
            rf"\b(?:[A-Za-z]*{variant}[A-Z]?\w*|(?:\w+_)?{name}(?:_backend)?::"
            rf"|{'|'.join(map(re.escape, sorted(bindings)))})"
        )

    def stands(self, path: str) -> bool:
        """Whether a file stands in the tree, also one that is not looked at."""
        site = self.workspace.root / path
        return path in self.workspace.sources or self.memoize(
            "stands", path, make=lambda: site.is_file() and not site.is_symlink()
        )

    def mentions_cuda(self, text: str) -> bool:
        """Whether text names the source vendor's platform."""
        lowered = text.lower()  # most texts name nothing, and this tells it in a tenth of the time
        if not any(word in lowered for word in self._source_words):
            return False
        return self._source_code.search(self._kept_names.sub("", text)) is not None

    def mentions_peer(self, text: str) -> bool:
        """Whether text names a peer's platform."""
        lowered = text.lower()
        return any(word in lowered for word in self.vendor.peer_vocabulary)

    def find_peer_mentions(self, data: bytes) -> list[int]:
        """Return where a file names a peer's platform."""
        lowered = data.lower()
        words = self.vendor.peer_vocabulary
        return [at for word in words for at in find_occurrences(lowered, word.encode())]

    def mentions_rocm(self, text: str) -> bool:
        """Whether text names the vendor that is written."""
        return self.vendor.variant in text or self.vendor.name in text

    def mentions_unported_library(self, text: str) -> bool:
        """Whether text names a library without a counterpart."""
        return any(word in text for word in self.unported_words)

    def renames_or_says_cuda(self, text: str) -> bool:
        """Whether a pattern names a value of the source vendor: a path, or its name as a string."""
        return self.rename_changes_code(text) or f'"{self.vendor.source}"' in text

    def is_cuda_specific(self, text: str) -> bool:
        """Whether code names a value of the source vendor, or asks for its feature."""
        return self.renames_or_says_cuda(text) or self.has_cuda_cfg(text)

    def find_prose_patch(self, site: Site) -> ProsePatch | None:
        """Return the change that the profile holds for a text, made or to be made."""
        held = self.patches(ProsePatch, site.source.path)
        return next((p for p in held if p.find in site.code or p.write in site.code), None)

    def find_counterpart_crate(self, crate: str) -> str:
        """Return the crate that takes the place of another, or an empty string."""
        known = self.vendor.dependencies.get(crate, "")
        if known == "facade":
            return self.vendor.facade.name
        if known == "generator":
            return self.vendor.generator.name
        if known == "driver":
            return BUILD_SCRIPT if self.codebase.support else ""
        if known == "counterpart":
            return next(each.copy for each in self.codebase.whole if each.name == crate)
        kernels = self.codebase.kernels
        return kernels.name if known == "kernels" and kernels is not None else ""

    def mentions_gated(self, text: str) -> bool:
        """Whether renamed code names something that exists only with the feature on."""
        always = self.codebase.error_without_feature
        return any(m.group() != always for m in self._gated.finditer(text))

    def find_vendor(self, name: str) -> str:
        """Return the vendor backend that an identifier or a path names, or an empty string."""
        if self.mentions_cuda(name):
            return self.vendor.source
        if self.mentions_peer(name):
            return self.vendor.peers[0]
        return self.vendor.name if self.vendor.name in name.lower() else ""

    def rename(self, text: str) -> str:
        """Rename Rust source to the vendor that is written."""
        if may_include_headers(text):  # of a kernel that is compiled when the program runs
            from portkit.hipify.kernel_strings import add_hip_headers  # few trees have one

            text = add_hip_headers(text, self.file_names)
        return self.vendor.names.rust(text)

    @cached_property
    def file_names(self) -> frozenset[str]:
        """The names of the tree's files, without their folders."""
        return frozenset(path.rpartition("/")[2] for path in self.workspace.sources)

    def rename_changes_code(self, text: str) -> bool:
        """Whether renaming changes the code of a text, its comments and strings aside."""
        if not self.vendor.names.concerns(text):
            return False
        code = strip_comments_and_strings(text)
        return self.rename(code) != code


def may_include_headers(text: str) -> bool:
    """Whether a text may include headers, or name them in strings and comments."""
    return "#include" in text or (
        any(e in text for e in _HEADERS) and _HEADER.search(text) is not None
    )


class Scope(Value, frozen=True):
    """Where in a file a node stands."""

    symbol: str = ""  # the names of the enclosing items, joined by ``::``
    function: str = ""  # the innermost enclosing function's name, or empty
    # the type of the enclosing implementation, or the enclosing trait, or empty
    type_name: str = ""
    # ``trait``, ``trait impl``, ``impl`` or empty: what the node is a member of
    container: str = ""
    vendor: str = ""  # the vendor backend that an enclosing item is specific to, or empty
    # whether an enclosing item already stands under the written vendor's feature
    gated: bool = False


class Site(Value, frozen=True, dict=True):
    """A node with all that a rule may ask about it."""

    node: Node  # the node
    attributes: tuple[Node, ...]  # the attributes and doc comments before it that belong to it
    # the nodes of its container, itself included, each with its attributes
    siblings: tuple[tuple[Node, tuple[Node, ...]], ...]
    source: SourceFile  # the file
    scope: Scope  # the enclosing items
    crate: Crate | None  # the crate, or none for a file outside any
    job: PortJob  # the job
    outer: Site | None = None  # the node around it; none for the file as a whole
    level: int = 0  # how many nodes are around it
    # what was worked out once for all places of the file
    known: dict[tuple[Hashable, ...], Any] = field(default_factory=dict)

    def memoize(self, *key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what is made once for a file, so that time does not grow with its square."""
        if key not in self.known:
            self.known[key] = make()
        made: Made = self.known[key]
        return made

    @property
    def container(self) -> int:
        """What tells the node's container from others of the file."""
        return self.siblings[0][0].id if self.siblings else self.node.id

    @property
    def parent(self) -> Node | None:
        """The node around it, at once; the node itself would look for it from the root on.

        Among the tokens of a macro it is the list or block that they are parsed as, if they are.
        """
        outer = self.outer.node if self.outer is not None else None
        return self.node.parent if outer is not None and outer.type == "token_tree" else outer

    @property
    def kind(self) -> str:
        """The kind of the node."""
        return self.node.type

    @property
    def is_python(self) -> bool:
        """Whether the file is Python."""
        return self.source.path.endswith((".py", ".pyi"))

    @property
    def start(self) -> int:
        """The offset at which the place begins, its attributes included."""
        return self.attributes[0].start_byte if self.attributes else self.node.start_byte

    @property
    def span(self) -> Span:
        """The place with its attributes."""
        return Span(self.start, self.node.end_byte)

    @property
    def text(self) -> str:
        """The text of the place with its attributes."""
        return self.source.slice(self.span)

    @property
    def code(self) -> str:
        """The text of the node alone, without attributes."""
        node = self.node
        if node.type in FIELD_VALUES:
            node = next(c for c in node.children if c.type not in ATTACHED)
        return self.source.text(node.start_byte, self.node.end_byte)

    @property
    def indent(self) -> str:
        """The white space before the place on its line."""
        return self.source.indent(self.start)

    @cached_property
    def name(self) -> str:
        """The node's own name, or empty."""
        return node_text(self.node.child_by_field_name("name"))

    @cached_property
    def conditions(self) -> tuple[tuple[Node, Cfg], ...]:
        """The ``cfg`` attributes of the place, parsed."""
        return parse_conditions(find_attributes(self.node, self.attributes))

    def requires(self, feature: str) -> bool:
        """Whether the place's own attributes ask for a feature."""
        return any(cfg.requires(feature) for _, cfg in self.conditions)

    @cached_property
    def is_cuda_only(self) -> bool:
        """Whether the place's own attributes say that it exists for the source vendor alone."""
        return any(self.job.cfg_requires_cuda(cfg) for _, cfg in self.conditions)

    @cached_property
    def is_rocm_only(self) -> bool:
        """Whether the place's own attributes say that it exists for the written vendor alone."""
        return any(self.job.cfg_requires_rocm(cfg) for _, cfg in self.conditions)

    @cached_property
    def unported_feature(self) -> str:
        """The unported feature without which the place does not exist, or an empty string."""
        return next(
            (f for _, cfg in self.conditions if (f := self._find_unported_feature(cfg))), ""
        )

    def _find_unported_feature(self, cfg: Cfg) -> str:
        return self.job.find_unported_feature(cfg, self.source.path)

    def symbol(self, name: str = "") -> str:
        """Return the symbol of the place, or of an item of this name in its scope."""
        return "::".join(s for s in (self.scope.symbol, name) if s)
