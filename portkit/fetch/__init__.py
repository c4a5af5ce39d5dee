"""``portkit fetch``: published crates of one version, put back together as their workspace."""

from __future__ import annotations

from portkit.fetch.crate import fetch_crate
from portkit.fetch.workspace import FetchedWorkspace, fetch, list_fetchable, list_published_versions

__all__ = ["FetchedWorkspace", "fetch", "fetch_crate", "list_fetchable", "list_published_versions"]
