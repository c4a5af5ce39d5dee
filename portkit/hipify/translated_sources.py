"""The CUDA sources of one folder as HIP sources, made when one of them is asked for."""

from __future__ import annotations

import re
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import field
from msgspec.structs import replace

from portkit.hipify import api_table
from portkit.hipify.errors import KernelInputError
from portkit.hipify.kernel_profile import NO_PROFILE
from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.paths import is_cuda
from portkit.hipify.prelude import load_prelude_headers
from portkit.hipify.rules import ptx
from portkit.hipify.target_paths import (
    PLAIN_HEADERS,
    choose_targets,
    find_headers_to_translate,
    find_included_files,
    find_renamed_includes,
)
from portkit.hipify.translator import collect_own_names, patch_source, translate
from portkit.syntax.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from portkit.hipify.kernel_profile import KernelProfile
    from portkit.hipify.translator import Translation
    from portkit.workspace.finding import Finding

_ASSEMBLY = re.compile(rb"\b(?:asm|__asm__|__asm)\b")
_INCLUDE = re.compile(r'^#include "(hipx\w*\.h)"', re.MULTILINE)


class KernelFolder(Value, frozen=True, dict=True):
    """The CUDA sources of a folder, and what is made of them when somebody needs it."""

    # the files of the folder, by their path below it; those that are not CUDA's by their suffix are
    # left aside, except plain headers that CUDA's cannot do without (`portkit.hipify.target_paths`)
    sources: Mapping[str, bytes]
    profile: KernelProfile = NO_PROFILE  # what is known of the codebase
    # translations that were made elsewhere, by the path of the CUDA source
    known: Mapping[str, Translation] = field(default_factory=dict)

    @property
    @abstractmethod
    def targets(self) -> Mapping[str, str]:
        """The file that each CUDA source becomes or is changed by, by its path, sorted."""

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The headers that the sources include, the profile's and the prelude's."""
        cuda = {path: self.sources[path] for path in self.targets}
        replacements = (
            patch.replace.encode()
            for patch in self.profile.patches
            if any(map(patch.concerns, self.targets))
        )
        needed = find_needed_headers(
            [*cuda.values(), *replacements, *_find_ptx_headers(cuda, self.profile)]
        )
        return {**find_profile_headers(self.profile, self.targets), **needed}

    def translation(self, path: str) -> Translation:
        """Return the translation of one CUDA source."""
        return self.known[path] if path in self.known else self._translate(path)

    def _translate(self, path: str) -> Translation:
        return translate(path, self.sources[path], self.profile, self._own)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the CUDA sources, by path and place."""
        return tuple(finding for each in self._translations.values() for finding in each.findings)

    @cached_property
    def _translations(self) -> Mapping[str, Translation]:
        return {path: self.translation(path) for path in self.targets}

    @cached_property
    def _own(self) -> frozenset[str]:
        return collect_own_names(self.sources)


class TranslatedSources(KernelFolder, frozen=True, dict=True):
    """The CUDA sources of a folder as HIP sources; which ones is known without making them."""

    # whether the translation lies elsewhere, so that every plain header goes with it under its own
    # name. What of them says nothing of CUDA's stays as it is
    headers_too: bool = False

    @cached_property
    def targets(self) -> Mapping[str, str]:
        """The path of each HIP source below the folder, by that of its CUDA source."""
        cuda = [path for path in self.sources if is_cuda(path)]
        if self.headers_too:
            plain = [path for path in self.sources if path.endswith(PLAIN_HEADERS)]
            found = {path: path for path in plain} | choose_targets(cuda, plain)
        else:
            plain = [path for path in self._included if not is_cuda(path)]
            changed = find_headers_to_translate(self._included, self._names_cuda)
            found = choose_targets([*cuda, *changed], plain)
        return {path: found[path] for path in sorted(found)}

    @property
    def shared(self) -> frozenset[str]:
        """The plain headers that the HIP sources include as they are."""
        return frozenset(self._included) - self.targets.keys()

    @cached_property
    def _included(self) -> Mapping[str, frozenset[str]]:
        return find_included_files(self.sources)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file of the translation, sorted."""
        return tuple(sorted({*self.targets.values(), *self.headers}))

    def text(self, path: str) -> str:
        """Return the text of one of the files."""
        return self.headers[path] if path in self.headers else self._texts[path]

    def _translate(self, path: str) -> Translation:
        names = find_renamed_includes(path, self.sources, self.targets)
        made = translate(path, self.sources[path], self.profile, self._own, names)
        made = replace(made, target=self.targets[path])
        if is_cuda(path) or made.has_cuda_code:
            return made
        return replace(made, content=self.sources[path], findings=())

    def _names_cuda(self, path: str) -> bool:
        """Whether a plain header itself has something of CUDA's."""
        return path in self.known or super()._translate(path).has_cuda_code

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return {
            each.target: decode_source(path, each.content)
            for path, each in self._translations.items()
        }


def decode_source(path: str, content: bytes) -> str:
    """Return the text of a source, which has to be UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise KernelInputError(
            f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8"
        ) from None


def find_needed_headers(contents: Iterable[bytes]) -> Mapping[str, str]:
    """Return the prelude's headers that sources need, name to text.

    Args:
        contents: CUDA sources and what patches write into them, or their translations.
    """
    prelude = load_prelude_headers()
    together = b"\0".join(contents)
    asked = (
        mapping.hip
        for mapping in api_table.load_corrections().values()
        if mapping.hip in prelude
        and (mapping.cuda.encode() in together or mapping.hip.encode() in together)
    )
    beside = (
        mapping.header
        for mapping in api_table.load_corrections().values()
        if mapping.header and mapping.cuda.encode() in together
    )
    named = (name for name in prelude if name.encode() in together)
    pending = ["hipx.h", *asked, *beside, *named]
    needed: dict[str, str] = {}
    while pending:
        name = pending.pop()
        if name not in needed:
            needed[name] = prelude[name]
            pending += _INCLUDE.findall(needed[name])
    return dict(sorted(needed.items()))


def _find_ptx_headers(sources: Mapping[str, bytes], profile: KernelProfile) -> Iterator[bytes]:
    """Yield the name of the header for inline PTX if a source has PTX that is known."""
    for path, content in sorted(sources.items()):
        if _ASSEMBLY.search(content):
            text = patch_source(path, content, profile).decode("latin-1")
            source = KernelSource(path, text, profile.undefined, frozenset(), profile.defined)
            if any(isinstance(new, str) for _, new in ptx.translate_statements(source)):
                yield ptx.HEADER.encode()
                return


def find_profile_headers(profile: KernelProfile, paths: Iterable[str]) -> Mapping[str, str]:
    """Return the profile's headers that lie beside one of the sources, path to text."""
    folders = {path.rpartition("/")[0] for path in paths}
    return {path: text for path, text in profile.headers if path.rpartition("/")[0] in folders}
