"""The tree that stands in for an installation of ROCm, made once for each compiler.

It lies in the user's cache under a name that says all that it was made from::

    bin/hipcc               the compiler
    bin/hipcc-checked       the same, for code objects that the checker watches
    lib/libamdhip64.so…     the runtime, and librocblas, libhipblaslt, libhiprand, librccl,
                            libMIOpen, libhiprtc
    include/hip/…           what sources include
    libexec/portkit/…       a copy of the compiler's Python package
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.cache import cached_folder
from portkit.device.hipcc.command import COMPILER
from portkit.device.hipcc.cxx import NoCompilerError, find_cxx
from portkit.device.stubs import HOME, render_stubs
from portkit.errors import ToolError
from portkit.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from portkit.device.hipcc.cxx import Cxx

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_FLAGS: Final = ("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-pthread", "-w")


@dataclass(frozen=True, slots=True)
class Library:
    """A library of the device."""

    name: str  # without ``lib`` and ``.so``
    folders: tuple[str, ...]  # of its sources, below ``src``
    # of the names by which programs look for it (``toy-hip``, ``loader.rs``, has where the numbers
    # come from); the first one is its own
    versions: tuple[str, ...]
    needs: tuple[str, ...] = ()  # other libraries of the device


LIBRARIES: Final = (
    Library("amdhip64", ("runtime", "exec", "check"), ("7", "6")),
    Library("rocblas", ("blas",), ("5", "4"), ("amdhip64",)),
    Library("hipblaslt", ("lt",), ("1", "0"), ("amdhip64",)),
    Library("hiprand", ("rand",), ("1",), ("amdhip64",)),
    Library("rccl", ("coll",), ("1",), ("amdhip64",)),
    Library("MIOpen", ("conv",), ("1",), ("amdhip64",)),
    Library("hiprtc", ("rtc",), ("7", "6"), ("amdhip64",)),
)


@dataclass(frozen=True, slots=True)
class Toolkit:
    """The tree."""

    root: Path  # its folder

    def hipcc(self, *, checked: bool = False) -> Path:
        """Return the compiler, with or without checks of memory accesses."""
        return self.root / "bin" / ("hipcc-checked" if checked else "hipcc")

    def environment(
        self,
        *,
        arch: str,
        checked: bool = False,
        chaos: int = 0,
        base: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """Return the environment in which programs build for the device and run on it.

        Args:
            arch: as which GPU it answers.
            checked: whether kernels are compiled for the checker.
            chaos: the seed of what HIP leaves open, how many devices there are included; 0 for
                none.
            base: what else is set; this process's environment by default.
        """
        environment = dict(os.environ if base is None else base)
        path = environment.get("LD_LIBRARY_PATH", "")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [f"{self.root}/lib", path]))
        environment["ROCM_PATH"] = str(self.root)
        environment["HIPCC"] = str(self.hipcc(checked=checked))
        environment["PORTKIT_DEVICE_ARCH"] = arch
        if checked:
            environment["PORTKIT_DEVICE_CHECK"] = "1"
        if chaos:
            environment["PORTKIT_DEVICE_CHAOS"] = str(chaos)
            environment.setdefault("PORTKIT_DEVICE_COUNT", str(count_devices(chaos)))
        return environment


BEHAVIOURS: Final = (
    *("streams", "fresh", "freed", "reuse", "shortage", "unwaited-free"),
    *("peers", "lost-pages", "lost-pool"),
)
"""What a seed decides (``src/runtime/chaos.cpp``), unless somebody names what it shall."""


def count_devices(chaos: int) -> int:
    """Return how many devices there are under a seed, two to eight; one without, which is 0."""
    return 2 + chaos % 7 if chaos else 1


def build_toolkit() -> Toolkit:
    """Return the tree, after it was made if there is none for this compiler.

    Raises:
        ToolError: there is no C++ compiler, or it fails.
        DiskError: the cache cannot be written.
    """
    cxx = _require_cxx()
    return Toolkit(
        cached_folder("device", _compute_key(cxx), lambda folder: _fill_tree(folder, cxx))
    )


def compute_toolkit_key() -> str:
    """Return what names the tree, without making it."""
    return _compute_key(_require_cxx())


def _require_cxx() -> Cxx:
    """Return the C++ compiler, or raise an error that says what lacks."""
    try:
        return find_cxx()
    except NoCompilerError as error:
        raise ToolError(f"the CPU device cannot be built: {error}") from None


def _compute_key(cxx: Cxx) -> str:
    parts = [*cxx.command, cxx.version, *cxx.machine, *_FLAGS, sys.executable]
    return _compute_digest(parts, "api", "hipcc", "include", "src")


def compute_sources_key() -> str:
    """Return what names the sources of the device, whichever compiler makes it of them."""
    return _compute_digest([], "api", "include", "src")


def _compute_digest(parts: Sequence[str], *folders: str) -> str:
    digest = hashlib.sha256()
    contents = (
        part
        for name, path in sorted(_find_files(folders))
        for part in (name.as_posix(), path.read_text(encoding="utf-8"))
    )
    for part in (*parts, *contents):
        digest.update(len(part).to_bytes(8, "little") + part.encode())
    return digest.hexdigest()[:16]


def _find_files(folders: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield the files below folders of the device's home; ``hipcc`` stands for the compiler."""
    for folder in folders:
        home = _PACKAGE if folder == "hipcc" else shipped(HOME)
        for path in _find_compiler_files() if folder == "hipcc" else (home / folder).rglob("*"):
            if path.is_file():
                yield path.relative_to(home), path


def _find_compiler_files() -> Iterator[Path]:
    """Yield the modules that the compiler is made of."""
    yield _PACKAGE / "syntax" / "cxx_tokens.py"
    yield from (_PACKAGE / "device" / "hipcc").glob("*.py")


def _fill_tree(root: Path, cxx: Cxx) -> None:
    shutil.copytree(shipped(HOME) / "include", root / "include")
    (root / "libexec").mkdir()
    # The libraries have no part in what the compiler makes of a source.
    key = _compute_digest([*cxx.command, cxx.version, *cxx.machine], "hipcc", "include")
    (root / COMPILER).write_text(f"{key}\n", encoding="utf-8")
    _install_compiler(root)
    _build_libraries(root, cxx)


def _install_compiler(root: Path) -> None:
    package = root / "libexec" / "portkit"
    for path in _find_compiler_files():
        copy = package / path.relative_to(_PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    (root / "bin").mkdir()
    for name, checked in (("hipcc", False), ("hipcc-checked", True)):
        script = root / "libexec" / f"{name}.py"
        # The tree moves from where it is made to where it is kept.
        script.write_text(
            "from pathlib import Path\n"
            "from portkit.device.hipcc.command import main\n"
            f"raise SystemExit(main(Path(__file__).resolve().parent.parent, checked={checked}))\n",
            encoding="utf-8",
        )
        command = root / "bin" / name
        # -S and -E: without the packages and the settings of whoever calls.
        command.write_text(
            "#!/bin/sh\n"
            f'exec "{sys.executable}" -S -E "$(dirname "$(readlink -f "$0")")/../libexec/{name}.py"'
            ' "$@"\n',
            encoding="utf-8",
        )
        command.chmod(0o755)


def _build_libraries(root: Path, cxx: Cxx) -> None:
    objects = root / "objects"
    objects.mkdir()
    (root / "lib").mkdir()
    sources: dict[str, list[Path]] = {}
    for library in LIBRARIES:
        made = objects / f"{library.name}_stubs.cpp"
        made.write_text(render_stubs(library.name), encoding="utf-8")
        home = shipped(HOME) / "src"
        found = (p for folder in library.folders for p in (home / folder).glob("*.cpp"))
        sources[library.name] = [*sorted(found), made]
    jobs = [
        (source, objects / f"{name}-{source.parent.name}-{source.stem}.o")
        for name, paths in sources.items()
        for source in paths
    ]
    include = ("-I", str(root / "include"))

    def compile_one(job: tuple[Path, Path]) -> None:
        source, made = job
        _run_compiler(cxx, (*_FLAGS, *cxx.machine, *include, "-c", str(source), "-o", str(made)))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, jobs))
    for library in LIBRARIES:
        own = [str(made) for _, made in jobs if made.name.startswith(f"{library.name}-")]
        _link_library(root, cxx, library, own)
    shutil.rmtree(objects)


def _link_library(root: Path, cxx: Cxx, library: Library, objects: Sequence[str]) -> None:
    plain = f"lib{library.name}.so"
    own = f"{plain}.{library.versions[0]}"
    needed = [f"-l{name}" for name in library.needs]
    named = f"-Wl,-soname,{own},-rpath,$ORIGIN,--no-undefined"
    libraries = (f"-L{root / 'lib'}", *needed, "-ldl", named)
    target = ("-o", str(root / "lib" / own))
    _run_compiler(cxx, ("-shared", "-pthread", *objects, *libraries, *target))
    for name in (plain, *(f"{plain}.{version}" for version in library.versions[1:])):
        (root / "lib" / name).symlink_to(own)


def _run_compiler(cxx: Cxx, arguments: Sequence[str]) -> None:
    done = subprocess.run(
        [*cxx.command, *arguments], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        said = (lines or done.stderr.splitlines() or ["no message"])[0]
        raise ToolError(f"the CPU device cannot be built: {cxx.version} says: {said}")
