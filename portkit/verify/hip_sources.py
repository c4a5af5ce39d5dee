"""Find the HIP sources of a kernels crate: its own files, or translations that its build makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from portkit.errors import VerificationError
from portkit.hipify.crate_sources import assemble_sources
from portkit.hipify.errors import KernelPatchError
from portkit.hipify.paths import PATCH_FILE, derive_hip_path
from portkit.hipify.prelude import load_device_files


def is_compiled_from_cuda(crate: Path) -> bool:
    """Whether a kernels crate compiles the unchanged CUDA sources."""
    return (crate / "src" / PATCH_FILE).is_file()


def list_hip_sources(crate: Path, cuda: Path | None = None) -> tuple[str, ...]:
    """Return the HIP sources of a kernels crate, relative to their folder, sorted."""
    own = {path.relative_to(crate / "src").as_posix() for path in (crate / "src").rglob("*.hip")}
    if cuda is not None and is_compiled_from_cuda(crate):
        below = cuda / "src"
        own |= {derive_hip_path(path.relative_to(below).as_posix()) for path in below.rglob("*.cu")}
        own |= _list_dependency_sources(crate)
    return tuple(sorted(own))


@contextmanager
def open_hip_folder(crate: Path, cuda: Path | None = None) -> Iterator[Path]:
    """Yield a folder with a crate's HIP sources and their headers."""
    if cuda is None or not is_compiled_from_cuda(crate):
        yield crate / "src"
        return
    place = f"../{cuda.name}/src"
    try:
        made = assemble_sources(_read_texts(crate / "src"), _read_texts(cuda / "src"), place)
    except (KernelPatchError, UnicodeDecodeError) as error:
        raise VerificationError(f"{crate.name}: {error}") from error
    with TemporaryDirectory(prefix="portkit-kernels-") as folder:
        for path, text in made.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        yield Path(folder)


def _list_dependency_sources(crate: Path) -> set[str]:
    """Return the HIP sources of the crate that compiles kernels which the build script names."""
    said = (crate / "build.rs").read_text(encoding="utf-8", errors="replace")
    sources = (PurePosixPath(name) for name in load_device_files())
    return {s.name for s in sources if s.suffix == ".hip" and f'"{s.stem}"' in said}


def _read_texts(folder: Path) -> Mapping[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
