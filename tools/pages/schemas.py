"""JSON Schemas of the TOML files that portkit reads, made of the types that it reads them by.

Usage: ``python -m tools.pages.schemas [REPOSITORY]`` writes them, by default into the current
directory; a test fails where they are stale. An editor is told of one in its settings, or by a
comment ``#:schema URL`` at the beginning of a file.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.json import schema

from portkit.fetch.workspace import FetchFile
from portkit.hipify.kernel_profile import KernelsFile
from portkit.numerics.known_differences import KnownTable
from portkit.profiles.accepted_findings import AcceptanceFile
from portkit.profiles.defects import DefectFile
from portkit.profiles.entries import CodebaseFile
from portkit.profiles.settings import ConfigFile
from portkit.profiles.tested_versions import TestedVersions
from portkit.profiles.vendor_file import VendorFile
from portkit.report.phases import PhasesFile
from portkit.verify.kernel_matrix import SpillsFile
from portkit.verify.settings import VerifyFile
from tools.proof.mutation import MutantsFile
from tools.proof.versions.asked import VersionsFile

if TYPE_CHECKING:
    from msgspec import Struct

_FOLDER: Final = "portkit/schemas"
FILES: Final[dict[str, tuple[str, type[Struct]]]] = {
    "portkit/config.schema.json": ("portkit.toml", ConfigFile),
    f"{_FOLDER}/codebase.schema.json": ("codebase.toml", CodebaseFile),
    f"{_FOLDER}/crosscheck.schema.json": ("crosscheck.toml", KnownTable),
    f"{_FOLDER}/fetch.schema.json": ("fetch.toml", FetchFile),
    f"{_FOLDER}/kernels.schema.json": ("kernels.toml", KernelsFile),
    f"{_FOLDER}/mutants.schema.json": ("mutants.toml", MutantsFile),
    f"{_FOLDER}/phases.schema.json": ("phases.toml", PhasesFile),
    f"{_FOLDER}/proven.schema.json": ("proven.toml", TestedVersions),
    f"{_FOLDER}/review.schema.json": ("portkit.review.toml", AcceptanceFile),
    f"{_FOLDER}/spills.schema.json": ("spills.toml", SpillsFile),
    f"{_FOLDER}/upstream.schema.json": ("upstream.toml", DefectFile),
    f"{_FOLDER}/vendor.schema.json": ("vendor.toml", VendorFile),
    f"{_FOLDER}/verify.schema.json": ("verify.toml", VerifyFile),
    f"{_FOLDER}/versions.schema.json": ("versions.toml", VersionsFile),
}


def made() -> dict[str, str]:
    """Return every schema: its path in the repository, and its text."""
    return {path: _text(path, title, kind) for path, (title, kind) in FILES.items()}


def _text(path: str, title: str, kind: type[Struct]) -> str:
    document = schema(kind)
    definitions = document.pop("$defs")
    body = definitions.pop(document.pop("$ref").rpartition("/")[2])
    name = Path(path).name.partition(".")[0]
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:portkit:{name}:1",
        **body,
        "title": title,
        "$defs": {key: definitions[key] for key in sorted(definitions)},
    }
    return json.dumps(_plain(whole), indent=1, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    """Return a part of a schema with what a docstring says first as the description."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _plain(each) for key, each in value.items()}
    description = found.get("description")
    if isinstance(description, str):
        found["description"] = inspect.cleandoc(description).partition("\n\n")[0].replace("\n", " ")
    return found | _BESIDE.get(str(found.get("title")), {})


_BESIDE: Final[dict[str, dict[str, Any]]] = {
    "ExcludeEntry": {"anyOf": [{"required": ["codes"]}, {"required": ["paths"]}]},
    "DependencySource": {
        "oneOf": [
            {"required": ["path"], "maxProperties": 1},
            {
                "required": ["git"],
                "maxProperties": 2,
                "not": {"anyOf": [{"required": ["path"]}, {"required": ["version"]}]},
            },
            {"required": ["version"], "maxProperties": 1},
        ]
    },
}
"""What types check themselves, in the words of JSON Schema."""


if __name__ == "__main__":
    repository = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for path, text in made().items():
        (repository / path).parent.mkdir(exist_ok=True)
        (repository / path).write_text(text, encoding="utf-8")
