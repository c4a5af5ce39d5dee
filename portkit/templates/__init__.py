"""The texts of what a port adds to a tree: new files, and overrides of single items.

A file whose name ends in ``.j2`` is a Jinja2 template; every other one is copied as it is. Each
reads as the reader of the ported tree will see it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.errors import ProfileError

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).parent


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(name: str, **values: object) -> str:
    """Return the text of a template.

    Args:
        name: the file, relative to this folder, with ``/``.
        values: what the template may name.

    Raises:
        ProfileError: the template is missing, malformed, or names something unknown.
    """
    if not name.endswith(".j2"):
        try:
            return (TEMPLATES / name).read_text(encoding="utf-8")
        except OSError:
            raise ProfileError(f"there is no template {name!r}") from None
    import jinja2

    try:
        return _environment().get_template(name).render(**values)
    except jinja2.TemplateError as error:
        raise ProfileError(f"the template {name!r} failed: {error}") from None
