"""What a counterpart of a whole crate has beside copies of Rust files: manifest, build, kernels."""

from __future__ import annotations

import re
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Final

from portkit.hipify.paths import BUILD_SCRIPT
from portkit.hipify.prelude import load_build_support, load_device_files
from portkit.hipify.rules import unknown_name
from portkit.hipify.translated_sources import TranslatedSources
from portkit.port.c_launchers import CrateLaunchers, find_launchers
from portkit.port.template_values import render_template
from portkit.port.whole_manifest import write_manifest
from portkit.syntax.span import Span
from portkit.syntax.value import Value
from portkit.templates import read_template as template
from portkit.workspace.finding import Applicability, Finding, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from portkit.context.port_job import PortJob
    from portkit.hipify.kernel_profile import KernelProfile
    from portkit.hipify.translator import Translation
    from portkit.profiles.cuda_only_crate import CudaOnlyCrate

_RUNTIME: Final = "hip_runtime.cpp"
_CALLED: Final = re.compile(r"\b(hip[A-Z]\w*[a-z])\s*\(")
_OF_THE_COMPILER: Final = frozenset({"hipLaunchKernelGGL"})
"""Macros that end in a launch."""


class CrateCopy(Value, frozen=True, dict=True):
    """The counterpart of a crate that is the source vendor's as a whole."""

    job: PortJob  # the job
    whole: CudaOnlyCrate  # the crate
    profile: KernelProfile  # what is known of its kernels

    def files(self) -> Mapping[str, Callable[[], str]]:
        """Return the files by their path in the tree, and what makes the text of each."""
        place = self.whole.place
        found: dict[str, Callable[[], str]] = {
            f"{place}/Cargo.toml": partial(write_manifest, self.job, self.whole)
        }
        kernels = self._launchers
        if kernels is None:
            return found
        found[f"{place}/build.rs"] = partial(self._build, kernels)
        if not self.job.codebase.support:
            for path, text in load_build_support(shared=False).items():
                found[f"{place}/{path}"] = partial(str, text)
        for name, text in _of_launchers().items():
            found[f"{place}/{kernels.folder}/{name}"] = partial(str, text)
        for path in self._translated.paths:
            found[f"{place}/{kernels.folder}/{path}"] = partial(self._translated.text, path)
        return found

    def findings(self) -> tuple[tuple[Finding, str, str], ...]:
        """Return what is said of each CUDA source, with its folder and the file it becomes."""
        kernels = self._launchers
        if kernels is None:
            return ()
        made, folder = self._translated, f"{self.whole.directory}/{kernels.folder}"
        target = f"{self.whole.place}/{kernels.folder}"
        found = (*made.findings, *self._not_forwarded())
        return tuple((f, folder, f"{target}/{made.targets[f.path]}") for f in found)

    def _not_forwarded(self) -> Iterator[Finding]:
        """Yield what the sources call of the HIP runtime that stands between them has not."""
        known = {*re.findall(r"\bhip[A-Z]\w+", _of_launchers()[_RUNTIME]), *_OF_THE_COMPILER}
        for path, target in self._translated.targets.items():
            for name in sorted({*_CALLED.findall(self._translated.text(target))} - known):
                yield Finding(
                    code=unknown_name.CODE,
                    path=path,
                    span=Span(0, 0),
                    construct="function of the HIP runtime",
                    symbol=name,
                    applicability=Applicability.MANUAL,
                    status=Status.NONE,
                    message=f"{_RUNTIME} does not hand {name} on to the HIP runtime, so that a"
                    " program is not linked: add it there",
                )

    def translations(self) -> Mapping[str, Callable[[], Translation]]:
        """Return what translates each CUDA source, by its path in the tree."""
        kernels = self._launchers
        if kernels is None:
            return {}
        made, folder = self._translated, f"{self.whole.directory}/{kernels.folder}"
        return {f"{folder}/{path}": partial(made.translation, path) for path in made.targets}

    @cached_property
    def _launchers(self) -> CrateLaunchers | None:
        found = find_launchers(self.job, self.whole)
        return found if isinstance(found, CrateLaunchers) else None

    @cached_property
    def _translated(self) -> TranslatedSources:
        kernels = self._launchers
        start = f"{self.whole.directory}/{kernels.folder if kernels else ''}/"
        workspace = self.job.workspace
        sources = {
            path.removeprefix(start): source.data
            for path, source in workspace.sources.items()
            if path.startswith(start)
        }
        known = {
            path.removeprefix(start): made
            for path, made in self.job.translated.items()
            if path.startswith(start)
        }
        return TranslatedSources(sources, self.profile, known, headers_too=True)

    def _build(self, kernels: CrateLaunchers) -> str:
        support = BUILD_SCRIPT.replace("-", "_") if self.job.codebase.support else ""
        return render_template(
            self.job,
            "whole/build.rs.j2",
            variables=kernels.variables,
            shared=self.job.codebase.variables or kernels.variables,
            folder=kernels.folder,
            units=kernels.units,
            support=support,
            cpp=kernels.cpp,
        )


@cache
def _of_launchers() -> Mapping[str, str]:
    """Return what stands between the launchers and the HIP runtime, by name."""
    files = load_device_files()
    more = template("whole/forwarded.cpp")
    return {_RUNTIME: files[_RUNTIME] + more, "launchers.hip": files["launchers.hip"]}
