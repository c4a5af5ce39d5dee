"""CUDA sources in a CUDA-only crate: where their translations lie in its counterpart.

They lie in the folders of the originals, under the names that strings of the Rust copies have for
them: a string ``"cuda/src/*.cu"`` of a build script becomes ``"rocm/src/*.hip"``, and
``include_str!("cu/scan.cu")`` becomes ``include_str!("cu/scan.hip")``.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from portkit.hipify.paths import HIP_SUFFIXES, derive_hip_path, is_cuda
from portkit.port import cuda_tools
from portkit.syntax.name_table import NO_CODE
from portkit.workspace.cargo_workspace import CUDA_CODE

if TYPE_CHECKING:
    from portkit.context.port_job import PortJob
    from portkit.profiles.profile import CudaOnlyCrate
    from portkit.syntax.source_file import SourceFile

_NAMED: Final = re.compile(r'"([\w./*+-]*\.cuh?|cuh?)"')
"""A string that is the path of CUDA sources, a pattern of them, or the ending of their names."""
_MAY_NAME: Final = re.compile(rb'[".]cuh?"')


def find_kernel_folder(job: PortJob, whole: CudaOnlyCrate) -> str:
    """Return the folder that holds the CUDA sources of a crate; empty if it has none."""
    start = f"{whole.directory}/"
    paths = [
        path
        for path in job.workspace.sources
        if path.startswith(start) and path.endswith(CUDA_CODE)
    ]
    if not any(map(is_cuda, paths)):
        return ""
    return posixpath.commonpath([posixpath.dirname(path) for path in paths])


def rename_kernel_paths(job: PortJob, source: SourceFile, copy: str) -> str:
    """Have the copy of a Rust file name the translations where the file names CUDA sources."""
    whole = job.codebase.find_cuda_only_crate(source.path)
    if whole is None or not _MAY_NAME.search(source.data):
        return copy
    if not find_kernel_folder(job, whole) and not cuda_tools.may_run_cuda_tools(job, source):
        return copy
    named = (_NAMED.fullmatch(token[0]) for token in NO_CODE.finditer(source.text(0, source.size)))
    table = {job.rename(each[0]): _rename_path(job, each[1]) for each in named if each is not None}
    return NO_CODE.sub(lambda token: table.get(token[0], token[0]), copy)


def _rename_path(job: PortJob, path: str) -> str:
    if f".{path}" in HIP_SUFFIXES:
        return f'"{HIP_SUFFIXES[f".{path}"].removeprefix(".")}"'
    folder, slash, name = path.rpartition("/")
    folders = "/".join(map(job.vendor.names.word, folder.split("/")))
    return f'"{folders}{slash}{derive_hip_path(name)}"'
