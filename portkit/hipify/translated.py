"""The CUDA sources of one folder as HIP sources, made when one of them is asked for."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import field
from msgspec.structs import replace

from portkit.hipify import api_table
from portkit.hipify.engine import own_names, patch_source, translate
from portkit.hipify.errors import KernelInputError
from portkit.hipify.kernel_source import KernelSource
from portkit.hipify.paths import hip_path, is_cuda
from portkit.hipify.prelude import prelude_headers
from portkit.hipify.profile import NO_PROFILE
from portkit.hipify.rules import prelude_include, ptx_instruction
from portkit.lang.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from portkit.hipify.engine import Translation
    from portkit.hipify.profile import KernelProfile
    from portkit.tree.finding import Finding

PLAIN_HEADERS: Final = (".h", ".hpp")
"""How the names of headers end that may be CUDA's by what they say."""

_ASSEMBLY = re.compile(rb"\b(?:asm|__asm__|__asm)\b")
_INCLUDE = re.compile(r'^#include "(hipx\w*\.h)"', re.MULTILINE)


class Translated(Value, frozen=True, dict=True):
    """The translation of a folder.

    Which files it makes is known without making them.

    Attributes:
        sources: the files of the folder, by their path below it; those that are not CUDA's by
            their suffix are left aside.
        profile: what is known of the codebase.
        known: translations that were made elsewhere, by the path of the CUDA source.
        headers_too: whether headers that are CUDA's by no suffix are translated as well. What of
            them says nothing of CUDA's stays as it is.
    """

    sources: Mapping[str, bytes]
    profile: KernelProfile = NO_PROFILE
    known: Mapping[str, Translation] = field(default_factory=dict)
    headers_too: bool = False

    @cached_property
    def targets(self) -> Mapping[str, str]:
        """The path of each HIP source below the folder, by that of its CUDA source."""
        return {path: hip_path(path) for path in sorted(self.sources) if self._is_source(path)}

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """The headers that the HIP sources include, the profile's and the prelude's."""
        cuda = [self.sources[path] for path in self.targets]
        patches = patches_of(self.profile, self.targets)
        needed = needed_headers([*cuda, *patches, *ptx_of(self.sources, self.profile)])
        return {**profile_headers(self.profile, self.targets), **needed}

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file of the translation, sorted."""
        return tuple(sorted({*self.targets.values(), *self.headers}))

    def text(self, path: str) -> str:
        """Return the text of one of the files.

        Raises:
            KernelInputError: a CUDA source is not UTF-8.
        """
        return self.headers[path] if path in self.headers else self._texts[path]

    def translation(self, path: str) -> Translation:
        """Return the translation of one CUDA source.

        Raises:
            KernelPatchError: two edits overlap.
        """
        if path in self.known:
            return self.known[path]
        made = translate(path, self.sources[path], self.profile, self._own)
        if is_cuda(path) or any(f.code != prelude_include.CODE for f in made.findings):
            return made
        return replace(made, content=self.sources[path], findings=())

    def _is_source(self, path: str) -> bool:
        return is_cuda(path) or (self.headers_too and path.endswith(PLAIN_HEADERS))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rules say of the CUDA sources, by path and place."""
        return tuple(finding for each in self._translations for finding in each.findings)

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return {each.target: _decoded(each) for each in self._translations}

    @cached_property
    def _translations(self) -> tuple[Translation, ...]:
        return tuple(self.translation(path) for path in self.targets)

    @cached_property
    def _own(self) -> frozenset[str]:
        return own_names(self.sources)


def needed_headers(contents: Iterable[bytes]) -> Mapping[str, str]:
    """Return the prelude's headers that sources need, name to text.

    Args:
        contents: CUDA sources and what patches write into them, or their translations.
    """
    prelude = prelude_headers()
    together = b"\0".join(contents)
    asked = (
        mapping.hip
        for mapping in api_table.corrections().values()
        if mapping.hip in prelude
        and (mapping.cuda.encode() in together or mapping.hip.encode() in together)
    )
    beside = (
        mapping.header
        for mapping in api_table.corrections().values()
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


def ptx_of(sources: Mapping[str, bytes], profile: KernelProfile) -> Iterator[bytes]:
    """Yield the name of the header for inline PTX where one of the sources has some that is known.

    Args:
        sources: every file of a folder, path to content.
        profile: what is known of the codebase.
    """
    for path, content in sorted(sources.items()):
        if is_cuda(path) and _ASSEMBLY.search(content):
            text = patch_source(path, content, profile).decode("latin-1")
            source = KernelSource(path, text, profile.undefined, frozenset(), profile.defined)
            if any(isinstance(new, str) for _, new in ptx_instruction.seen(source)):
                yield ptx_instruction.HEADER.encode()
                return


def patches_of(profile: KernelProfile, paths: Iterable[str]) -> Iterator[bytes]:
    """Yield what the profile's patches write into one of the sources."""
    paths = tuple(paths)
    for patch in profile.patches:
        if any(map(patch.concerns, paths)):
            yield patch.replace.encode()


def profile_headers(profile: KernelProfile, paths: Iterable[str]) -> Mapping[str, str]:
    """Return the profile's headers that lie beside one of the sources, path to text."""
    folders = {path.rpartition("/")[0] for path in paths}
    return {path: text for path, text in profile.headers if path.rpartition("/")[0] in folders}


def _decoded(translation: Translation) -> str:
    try:
        return translation.content.decode()
    except UnicodeDecodeError as error:
        raise KernelInputError(
            f"{translation.path} is not UTF-8 (byte {error.start}): save it as UTF-8"
        ) from None
