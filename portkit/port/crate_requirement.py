"""What a manifest says of a crate that the port writes, or takes from elsewhere."""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any

from portkit.hipify.paths import BUILD_SCRIPT
from portkit.port.whole_crates import rename_feature
from portkit.profiles.profile import format_dependency

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.context.port_job import PortJob


def write_requirement(job: PortJob, crate: str, directory: str, said: Mapping[str, Any]) -> str:
    """Return what a manifest says of a crate that takes another's place, without braces.

    The counterpart of a crate that is CUDA's as a whole has that one's version and features, so
    what is asked of it is what was asked of the other. The crates that the port makes have the
    version of the tree.
    """
    up = "" if directory in ("", ".") else "../" * (directory.count("/") + 1)
    if crate == job.vendor.facade.name:
        return job.vendor.facade.dependency(up or "./", job.workspace.version)
    if crate == BUILD_SCRIPT:
        return format_dependency(job.codebase.support, up or "./")
    whole = next((each for each in job.codebase.whole if each.copy == crate), None)
    if whole is None:
        return f'path = "{up or "./"}{crate}", version = "{job.workspace.version}"'
    asked: dict[str, object] = {"path": posixpath.relpath(whole.place, directory or ".")}
    asked |= {key: said[key] for key in ("version", "default-features") if key in said}
    features = said.get("features")
    if isinstance(features, list):
        kept = [rename_feature(job, f) for f in features if f not in job.vendor.unported]
        asked["features"] = [*dict.fromkeys(kept)]
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in asked.items())
