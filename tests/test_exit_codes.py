from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

import portkit
from portkit.errors import PortkitError
from tools.pages.exit_codes import kinds, page

PAGE = Path(__file__).parents[1] / "docs" / "exit-codes.md"


def test_the_page_is_the_one_that_would_be_made_now() -> None:
    """Run `python -m tools.pages.exit_codes > docs/exit-codes.md` where this fails."""
    assert PAGE.read_text() == page()


def test_every_kind_of_failure_is_listed() -> None:
    for module in pkgutil.walk_packages(portkit.__path__, "portkit."):
        if module.name != "portkit.__main__":
            import_module(module.name)
    pending, found = [PortkitError], set()
    while pending:
        below = pending.pop().__subclasses__()
        pending += below
        found.update(below)
    assert found == set(kinds())


def test_each_kind_of_failure_has_a_code_of_its_own() -> None:
    codes = [kind.exit_code for kind in kinds()]
    assert codes == sorted(set(codes))
    assert all(10 <= code < 70 for code in codes)
