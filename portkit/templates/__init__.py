"""The texts that a port adds to a tree: new files, and overrides of single items.

A file whose name ends in ``.j2`` is a Jinja2 template; every other one is copied as it is. Each
reads as the reader of the ported tree will see it.
"""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Final

from portkit.codebases.directory import TEMPLATES as OWN
from portkit.codebases.directory import Directory
from portkit.errors import ProfileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from portkit.templates.sandbox import TemplateEnvironment

TEMPLATES = Path(__file__).parent
_SHARED: Final = Directory(TEMPLATES)
_SHARED_ONLY: Final = "portkit/"
_LONGEST_REASON: Final = 300
"""How many characters of an error are shown: a template may choose what it says."""


class Templates:
    """The templates of a codebase, over those that portkit brings for all.

    Its limits hold for all that it renders together, so that a profile with many templates takes
    no longer than one with few.
    """

    def __init__(self, own: Directory | None = None, *, trim: bool = False) -> None:
        """Look for templates in a codebase's directory first."""
        self._own = own
        self._trim = trim

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of a template; a file that does not end in ``.j2`` is copied.

        Args:
            name: the file, relative to the codebase's templates or to this folder, with ``/``.

        Raises:
            ProfileError: the template is missing or malformed, names something unknown, or does
                more than it may.
        """
        if not name.endswith(".j2"):
            return read_template(name, self._own)
        from portkit.templates.plain_values import require_plain

        require_plain(values)
        environment = self._environment
        environment.budget.begin()
        try:
            return environment.get_template(name).render(values)
        except ProfileError:
            raise
        except Exception as error:  # whatever a template that may be anybody's makes Python say
            raise ProfileError(_explain(name, error)) from None

    @cached_property
    def _environment(self) -> TemplateEnvironment:
        from portkit.templates.budget import Budget
        from portkit.templates.sandbox import TemplateEnvironment

        return TemplateEnvironment(partial(read_template, own=self._own), Budget(), trim=self._trim)


def _explain(name: str, error: Exception) -> str:
    """Return a sentence about a template that failed."""
    if isinstance(error, RecursionError | SyntaxError):  # Python's, of what Jinja makes of it
        return f"the template {name!r} failed: its parts lie too deep in each other"
    said = getattr(error, "message", None) or str(error) or type(error).__name__
    said = " ".join(said.split())[:_LONGEST_REASON].rstrip(".")
    line = getattr(error, "lineno", None) or _find_line(error)
    return f"the template {name!r} failed{f' in line {line}' if line else ''}: {said}"


def _find_line(error: Exception) -> int:
    """Return the line of a template in which an error was raised, or 0."""
    frames = extract_tb(error.__traceback__)
    found = [frame.lineno for frame in frames if frame.filename == "<template>"]
    return (found[-1] or 0) if found else 0


def read_template(name: str, own: Directory | None = None) -> str:
    """Return the source text of a template.

    Args:
        name: see ``Templates.render``; one that begins with ``portkit/`` is portkit's, so that a
            codebase's template may extend the one whose place it takes.
    """
    if name.startswith(_SHARED_ONLY):
        return read_template(name.removeprefix(_SHARED_ONLY))
    if own is not None and own.has(f"{OWN}/{name}"):
        return own.text(f"{OWN}/{name}")
    if not _SHARED.has(name):
        where = f"{own} and among portkit's own" if own else "portkit"
        raise ProfileError(f"there is no template {name!r} in {where}: add it, or mend the name")
    return _SHARED.text(name)


def is_shared(name: str) -> bool:
    """Whether a template is one that portkit brings for any codebase."""
    return _SHARED.has(name)


def list_template_files(name: str) -> tuple[str, ...]:
    """Return the files below a folder of templates, relative to it, sorted."""
    root = TEMPLATES / name
    return tuple(
        sorted(
            p.relative_to(root).as_posix()
            for p in root.rglob("*")
            if p.is_file() and "__pycache__" not in p.parts
        )
    )
