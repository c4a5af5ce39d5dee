"""The texts of what a port adds to a tree: new files, and overrides of single items.

A file whose name ends in ``.j2`` is a Jinja2 template; every other one is copied as it is. Each
reads as the reader of the ported tree will see it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from portkit.codebases.directory import TEMPLATES as OWN
from portkit.codebases.directory import Directory
from portkit.errors import ProfileError

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).parent
_SHARED: Final = Directory(TEMPLATES)
_SHARED_ONLY: Final = "portkit/"


@cache
def _environment(own: Directory | None) -> jinja2.Environment:
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    # A codebase's templates may be anybody's.
    return SandboxedEnvironment(
        loader=loader(own),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )


def loader(own: Directory | None) -> jinja2.BaseLoader:
    """Return what finds the text of a template, as ``render`` does."""
    import jinja2

    return jinja2.FunctionLoader(lambda name: text(name, own))


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
        return text(name, own)
    import jinja2

    try:
        return _environment(own).get_template(name).render(**values)
    except jinja2.TemplateError as error:
        raise ProfileError(f"the template {name!r} failed: {error}") from None


def text(name: str, own: Directory | None = None) -> str:
    """Return the text of a template as it stands in its file.

    Args:
        name: see ``render``; one that begins with ``portkit/`` is portkit's, so that a codebase's
            template may extend the one whose place it takes.
        own: the codebase's directory, which is looked into first.

    Raises:
        ProfileError: there is none.
    """
    if name.startswith(_SHARED_ONLY):
        return text(name.removeprefix(_SHARED_ONLY))
    if own is not None and own.has(f"{OWN}/{name}"):
        return own.text(f"{OWN}/{name}")
    if not _SHARED.has(name):
        where = f"{own} and among portkit's own" if own else "portkit"
        raise ProfileError(f"there is no template {name!r} in {where}: add it, or mend the name")
    return _SHARED.text(name)


def is_shared(name: str) -> bool:
    """Whether a template is one that portkit brings for any codebase."""
    return _SHARED.has(name)


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
