"""The texts of what a port adds to a tree: new files, and overrides of single items.

A file whose name ends in ``.j2`` is a Jinja2 template; every other one is copied as it is. Each
reads as the reader of the ported tree will see it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.codebases.directory import TEMPLATES as OWN
from portkit.codebases.directory import Directory
from portkit.errors import ProfileError

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).parent
_SHARED = Directory(TEMPLATES)


@cache
def _environment(own: Directory | None) -> jinja2.Environment:
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    # A codebase's templates may be anybody's.
    return SandboxedEnvironment(
        loader=jinja2.FunctionLoader(lambda name: _text(name, own)),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(name: str, own: Directory | None = None, **values: object) -> str:
    """Return the text of a template.

    Args:
        name: the file, relative to the codebase's templates or to this folder, with ``/``.
        own: the codebase's directory, which is looked into first.
        values: what the template may name.

    Raises:
        ProfileError: the template is missing, malformed, or names something unknown.
    """
    if not name.endswith(".j2"):
        return _text(name, own)
    import jinja2

    try:
        return _environment(own).get_template(name).render(**values)
    except jinja2.TemplateError as error:
        raise ProfileError(f"the template {name!r} failed: {error}") from None


def _text(name: str, own: Directory | None) -> str:
    if own is not None and own.has(f"{OWN}/{name}"):
        return own.text(f"{OWN}/{name}")
    if not _SHARED.has(name):
        where = f"{own} and among portkit's own" if own else "portkit"
        raise ProfileError(f"there is no template {name!r} in {where}: add it, or mend the name")
    return _SHARED.text(name)


def folder(name: str) -> tuple[str, ...]:
    """Return the files below a folder of templates, relative to it, sorted."""
    root = TEMPLATES / name
    return tuple(
        sorted(
            p.relative_to(root).as_posix()
            for p in root.rglob("*")
            if p.is_file() and "__pycache__" not in p.parts
        )
    )
