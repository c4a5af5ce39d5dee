"""The settings of a codebase for verification: ``verify.toml`` in its directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from portkit.codebases.registry import find_codebase
from portkit.profiles.entries import Text
from portkit.profiles.profile import load_codebase
from portkit.syntax.typed_toml import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.profiles.profile import CodebaseProfile

FILE: Final = "verify.toml"


class KernelNaming(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How Rust code names the kernels that it loads.

    Attributes:
        loaders: methods whose first argument is a kernel's name and whose last is the module.
        suffixed: the function that sets a dtype at the end of a name.
        dtypes: the symbol of the function that spells the dtypes.
        explained: what the error of a loader says where there is no kernel for a dtype.
    """

    loaders: tuple[Text, ...]
    suffixed: Text
    dtypes: Text
    explained: Text


class VerifyFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a codebase is built and tested."""

    tested: Annotated[
        tuple[Text, ...],
        Meta(
            description="The crates whose CPU tests are compared with the baseline's; none for the"
            " whole workspace."
        ),
    ] = ()
    environment: Annotated[dict[str, str], Meta(description="Set for every cargo command.")] = {}
    device: Annotated[
        dict[str, str | dict[str, str]],
        Meta(
            description="Set where tests are built for a device; in the table cpu, beside that for"
            " the CPU device: {archs} are its architectures, {cache} is a folder."
        ),
    ] = {}
    names: KernelNaming | None = None

    def __post_init__(self) -> None:
        for key, value in self.device.items():
            if isinstance(value, dict) != (key == "cpu"):
                what = "a table: write [device.cpu]" if key == "cpu" else "a text"
                raise InvalidValueError(f"{key} is not {what}", "device")


@dataclass(frozen=True)
class Settings:
    """How one codebase is built and tested.

    Attributes:
        tested: the crates whose CPU tests are compared with the baseline's; none for the whole
            workspace.
        device: set where tests are built for a device.
        cpu_device: set beside that where it is the CPU device; ``{archs}`` stands for the
            architectures that it answers as, ``{cache}`` for a folder for what is compiled.
        names: how its kernels are named; none where it has none that are loaded by name.
    """

    tested: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    device: Mapping[str, str] = field(default_factory=dict)
    cpu_device: Mapping[str, str] = field(default_factory=dict)
    names: KernelNaming | None = None


def load_settings(codebase: CodebaseProfile) -> Settings:
    """Return the settings of a codebase, with those of every port.

    Without a GPU and without hipcc the build script of the crate of kernels writes empty code
    objects, and the Rust side can be type-checked and tested all the same; tests on a device need
    the kernels. So it is with the kernels of the codebases that it is built on, whose ports are
    built with it.
    """
    said = VerifyFile()
    directory = codebase.directory
    if directory is not None and directory.has(FILE):
        said = directory.typed(FILE, VerifyFile)
    below = (load_codebase(find_codebase(name)) for name in codebase.uses)
    compiled = [each.variables for each in (*below, codebase) if each.kernels is not None]
    device = {key: value for key, value in said.device.items() if isinstance(value, str)}
    own_cpu = said.device.get("cpu", {})
    cpu_device: dict[str, str] = {}
    for every in compiled:
        cpu_device |= {f"{every}_ARCHS": "{archs}", f"{every}_CACHE": "{cache}"}
    return Settings(
        said.tested,
        {f"{every}_KERNELS": "none" for every in compiled} | said.environment,
        {f"{every}_KERNELS": "all" for every in compiled} | device,
        cpu_device | (own_cpu if isinstance(own_cpu, dict) else {}),
        said.names,
    )
