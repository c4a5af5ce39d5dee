"""The values that a template may name, and the templates of a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from portkit.context.port_job import PortJob
from portkit.hipify.archs import ARCHS
from portkit.profiles.entries import Fact
from portkit.templates import Templates
from portkit.templates.plain_values import PlainValue, to_plain


def render_template(job: PortJob, name: str, **more: PlainValue) -> str:
    """Return the text of a template of the job's codebase, or of portkit's own.

    Raises:
        ProfileError: the template is missing or malformed, names something unknown, or does more
            than it may.
    """
    templates = job.memoize(Templates, make=lambda: Templates(job.codebase.directory))
    return templates.render(name, {**template_values(job), **more})


def template_values(job: PortJob) -> Mapping[str, PlainValue]:
    """Return the values that every template may name (docs/guide-rule.md lists them)."""
    return job.memoize(template_values, make=lambda: _make_values(job))


def _make_values(job: PortJob) -> dict[str, PlainValue]:
    vendor, codebase, workspace = job.vendor, job.codebase, job.workspace
    kernels, facade, generator = codebase.kernels, vendor.facade, vendor.generator
    return {
        "archs": ARCHS,
        "feature": job.feature,
        "gating": job.gating.value,
        "variables": codebase.variables,
        "support": bool(codebase.support),
        "kernels": {"name": kernels.name, "source": kernels.source} if kernels else {},
        "unported": dict(vendor.unported),
        "vendor": {"name": vendor.name, "title": vendor.title, "source": vendor.source},
        "facade": {
            "name": facade.name,
            "module": facade.module,
            "package": facade.package,
            "shape": facade.shape,
            "unused": tuple(facade.unused),
        },
        "generator": {
            "name": generator.name,
            "module": generator.module,
            "source": generator.source,
        },
        "requirements": dict(workspace.requirements),
        "features": tuple(sorted({f for crate in workspace.crates for f in crate.features})),
        "facts": {name: _holds(job, fact) for name, fact in codebase.facts.items()},
        "workspace": read_workspace(job),
    }


def read_workspace(job: PortJob) -> dict[str, Any]:
    """Return what the workspace gives its crates, as plain values."""
    workspace = job.workspace.manifest.get("workspace", {})
    shared = to_plain(workspace.get("package", {}))
    shared = shared if isinstance(shared, dict) else {}
    return {
        "version": job.workspace.version,
        "shared": shared,
        "edition": shared.get("edition", "2021"),
        "repository": shared.get("repository", ""),
        "dependencies": tuple(sorted(workspace.get("dependencies", {}))),
    }


def _holds(job: PortJob, fact: Fact) -> bool:
    """Whether a fact that the profile names is so in the tree."""
    source = job.workspace.sources.get(fact.path)
    return fact.missing if source is None else fact.holds.encode() in source.data
