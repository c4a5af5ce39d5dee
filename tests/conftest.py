from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from proven import Proofs
from turns import LONGEST, today

from portkit.engine import rustfmt
from portkit.engine.rustfmt import FormatFailure, Rustfmt
from portkit.hipify.errors import HipToolError
from portkit.hipify.hipcc import find_hipcc
from portkit.port import hip_bindings
from portkit.shipped import shipped
from portkit.syntax.typed_toml import decode_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from _pytest.terminal import TerminalReporter

    from portkit.errors import PortkitError
    from portkit.profiles.profile import Facade

# A shell starts what runs in the background, and nohup what it runs, with signals ignored; programs
# that the tests start would inherit that (POSIX, "Shell Command Language", 2.12).
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# What the rules' tests share asserts like a test, and shows what differs like one.
pytest.register_assert_rewrite("harness", "fixture_checks")

_PASSED = pytest.StashKey[bool]()
_NO_HIPCC = "NO HIPCC"
_MISSING = (_NO_HIPCC, "NO BUBBLEWRAP", "NO C COMPILER", "NO STRACE")
"""What reasons of tests that are left out begin with, where a program is missing."""


def pytest_report_header() -> str:
    """Return the version of git, which `ci/newest-git` changes."""
    try:
        said = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return "git: none"
    package = os.environ.get("PORTKIT_GIT_VERSION", "")
    return said.stdout.strip() + (f" (Debian {package})" if package else "")


@pytest.fixture(scope="session", autouse=True)
def _own_trees(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust the trees of tests, which are our own, and keep nothing of that beyond the tests.

    A trusted tree is type-checked by `apply`; only tests of that take the time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PORTKIT_TRUST", os.sep)
        patch.setattr("portkit.cli.type_check.is_checked_by_default", lambda root: False)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _once() -> Iterator[None]:
    """What is the same each time is done once in a process, and nothing waits for a disk.

    Half of the time of the fast tests went into rustfmt on the texts that each port adds, into
    rustup, which names rustfmt, into the same profiles and bindings, and into waiting until a small
    tree is on the disk.
    """
    laid_out: dict[object, bytes] = {}
    named: dict[object, str] = {}
    read: dict[object, object] = {}
    formatted = Rustfmt.formatted
    resolve = rustfmt._resolve_rustup_proxy
    rendered: dict[object, str] = {}
    render = hip_bindings._render_binding_file

    def formatted_once(self: Rustfmt, text: bytes, edition: str) -> bytes | FormatFailure:
        key = (*map(_stamped, self._command), text, edition)
        found = laid_out.get(key) or formatted(self, text, edition)
        if isinstance(found, bytes):
            laid_out[key] = found
        return found

    def resolve_once(program: str) -> str:
        settings = (each for each in os.environ.items() if each[0].startswith(("HOME", "RUSTUP_")))
        key = _stamped(program), _stamped(str(Path(program).with_name("rustup"))), *settings
        if key not in named:
            named[key] = resolve(program)
        return named[key]

    def render_once(name: str, facade: Facade, maker: str) -> str:
        key = _stamped(str(shipped(hip_bindings.HOME) / name)), name, repr(facade), maker
        if key not in rendered:
            rendered[key] = render(name, facade, maker)
        return rendered[key]

    def decode_once(data: str, where: str, kind: type[Any], error: type[PortkitError]) -> Any:
        key = data, where, kind
        if key not in read:
            read[key] = decode_toml(data, where, kind, error)
        return read[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rustfmt, "formatted", formatted_once)
        patch.setattr(rustfmt, "_resolve_rustup_proxy", resolve_once)
        patch.setattr(hip_bindings, "_render_binding_file", render_once)
        patch.setattr("portkit.codebases.directory.decode_toml", decode_once)
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def unless_proven(request: pytest.FixtureRequest) -> Iterator[Callable[..., None]]:
    """Give the function that skips a test which has passed with the inputs that it is given."""
    proofs = Proofs(request.node.nodeid)
    yield proofs.need
    if request.node.stash.get(_PASSED, False):
        proofs.remember()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note which tests have passed."""
    report = yield
    if report.when == "call":
        item.stash[_PASSED] = report.passed
    return report


def _stamped(word: str) -> object:
    """Return a word of a command, and of a file also when it was written."""
    place = Path(word)
    return (word, place.stat().st_mtime_ns) if place.is_file() else word


def pytest_configure() -> None:
    # A run that is begun before midnight has workers that collect after it.
    today()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep each file's tests in one worker, and leave out what needs AMD's compiler without it."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
    # Groups that begin late would keep one worker busy when the others have nothing left.
    items.sort(key=_find_place)
    try:
        find_hipcc()
    except HipToolError as error:
        for item in items:
            if item.get_closest_marker("hipcc"):
                item.add_marker(pytest.mark.skip(reason=f"{_NO_HIPCC}: {error}"))


def _find_place(item: pytest.Item) -> int:
    """Return the place of a test's group among those that take longest."""
    marker = item.get_closest_marker("xdist_group")
    name = marker.args[0] if marker else ""
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Say aloud how many tests a program was missing for."""
    skipped = terminalreporter.stats.get("skipped", ())
    for missing in _MISSING:
        if count := sum(missing in str(report.longrepr) for report in skipped):
            terminalreporter.write_sep("=", f"{missing}: {count} tests LEFT OUT", yellow=True)
