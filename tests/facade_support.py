"""What the tests of the emitted bindings crate share: rendering it, and running cargo on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.port.hip_bindings import list_binding_files
from portkit.profiles.profile import Facade
from portkit.templates import Templates

if TYPE_CHECKING:
    from collections.abc import Mapping

# The dependencies that candle 0.9.2 to 0.11.1 share between their crates and the bindings use.
SHARED = {
    "half": 'half = { version = "2.5.0", features = ["num-traits", "use-intrinsics"] }',
    "float8": 'float8 = { version = "0.7.0", features = ["num-traits"] }',
}


FACADE = Facade("candle-hip", "hiprc")


def render_facade(
    dependencies: frozenset[str], shared: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the files of the crate for a workspace that shares the given dependencies.

    Args:
        dependencies: their names.
        shared: what the workspace has for the packages of all its crates.
    """
    values = {
        "facade": {"name": FACADE.name, "unused": FACADE.unused},
        "workspace": {
            "version": "0.11.1",
            "edition": "2021",
            "repository": "",
            "dependencies": tuple(dependencies),
            "shared": dict(shared or {}),
        },
    }
    manifest = Templates().render("bindings/Cargo.toml.j2", values)
    files = {path: text() for path, text in list_binding_files(FACADE).items()}
    return {"Cargo.toml": manifest, **files}


def write_workspace(root: Path, dependencies: frozenset[str]) -> Path:
    """Write a workspace with the crate as its only member; return the folder of the crate."""
    crate = root / "candle-hip"
    for path, text in render_facade(dependencies).items():
        place = crate / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    lines = ["[workspace]", 'members = ["candle-hip"]', 'resolver = "2"', ""]
    lines += ["[workspace.dependencies]", *(SHARED[name] for name in sorted(dependencies)), ""]
    (root / "Cargo.toml").write_text("\n".join(lines))
    return crate


def cargo(
    crate: Path, target: Path, *args: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run cargo in a crate, with its messages in what it returns."""
    return subprocess.run(
        ["cargo", *args],
        cwd=crate,
        env={**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_TERM_COLOR": "never"}
        | dict(env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def include_folders() -> list[Path]:
    """Return where headers of ROCm are, as ``ROCM_INCLUDE`` or an installation says."""
    named = [Path(p) for p in os.environ.get("ROCM_INCLUDE", "").split(os.pathsep) if p]
    roots = [os.environ.get("ROCM_PATH"), "/opt/rocm"]
    return named or [Path(r) / "include" for r in roots if r and (Path(r) / "include").is_dir()]
