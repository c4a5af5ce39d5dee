"""The documentation: its commands work, its links lead somewhere, its pages have their place."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apply_support import git
from cli_support import invoke, make_candle

from portkit.profiles.profile import parse_codebase
from portkit.profiles.settings import NAME, parse_settings
from portkit.syntax.source_file import SourceFile
from portkit.update.update import BRANCH

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FOLLOWING = "portkit/follow"
"""The branch of `ci/workflows/follow.yml`."""
SITE = (ROOT / "mkdocs.yml").read_text()
GENERATED = ("api.md", "api/own.md")
"""Pages that are made when the site is built."""
PAGES = sorted(DOCS.rglob("*.md"))
WRITTEN = [page for page in PAGES if page.name[:2] not in ("PK", "PH")]
SHOWING = [ROOT / "README.md", *WRITTEN]
"""Pages that show commands."""
NOT_RUN = {
    "python3 -m venv": "makes room for the next command of the page",
    "venv/bin/pip": "installs portkit: `make demo` does that in a fresh clone",
    ". venv/bin/activate": "finds what the command before has installed",
    "make": "a target of the Makefile, which test_readme.py looks up",
    "pre-commit": "installs hooks",
    "hipcc": "needs AMD's compiler",
    "eval": "needs AMD's compiler",
    "ci/": "installs toolchains",
    "portkit device": "builds the CPU device: tests/test_verify_device.py tries it",
    "portkit hipify": "tests/test_cli_kernels.py tries it",
    "python -m tools.proof": "builds a ported candle: tests/proof/test_proof_real.py tries it",
    "cp -a candle mutated": "what the next command of the page needs",
    "cargo check": "compiles candle: tests/real/test_own_crate.py does",
    "CANDLE_ROCM_KERNELS": "compiles candle: tests/real/test_own_crate.py does",
    "cd ops && portkit device": "compiles candle: tests/real/test_own_crate.py does",
}
"""What is shown but not tried here, by how it begins, and why."""
QUICK = {"format", "coverage", "parity", "names"}
"""The steps of verify that compile nothing."""


AUTHOR = {
    "GIT_AUTHOR_NAME": "a person",
    "GIT_AUTHOR_EMAIL": "person@localhost",
    "GIT_COMMITTER_NAME": "a person",
    "GIT_COMMITTER_EMAIL": "person@localhost",
}


def commands(page: Path) -> Iterator[tuple[str, int]]:
    """Yield each command of a page with the exit code that the page promises."""
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                command, _, comment = line.removeprefix("$ ").partition(" #")
                code = re.search(r"exits with (\d+)", comment)
                yield command.strip(), int(code.group(1)) if code else 0


def in_order(page: Path) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield each command of a page with its exit code, and the files shown since the one before.

    A page names a file in the words before its block; the files are given by their paths.
    """
    parts = re.split(r"^\$ ", page.read_text(), flags=re.MULTILINE)
    for (command, code), above in zip(commands(page), parts, strict=False):
        files = re.findall(
            r"`((?:ops|scale)/[^`]+)`(?: becomes)?:\n\n```\w+\n(.*?)```", above, re.DOTALL
        )
        yield command, code, dict(files)


def tried(page: Path) -> list[tuple[str, int]]:
    """Return the commands that can be run here.

    The steps of verify that compile are not: they ask for a whole candle, on which
    tests/real/test_cargo.py and `make demo` take them.
    """
    found = []
    for command, code in commands(page):
        only = set(re.findall(r"--only (\w+)", command))
        compiles = command.startswith("portkit verify") and not (only and only <= QUICK)
        if not command.startswith(tuple(NOT_RUN)) and not compiles:
            found.append((command, code))
    return found


def run(page: Path, place: Path, wanted: list[tuple[str, int]]) -> dict[str, str]:
    """Run the commands of a page one after the other and return what each printed."""
    printed = {}
    home, here = place / "home", place / "here"
    make_candle(home / "src/candle")
    if page.name in ("README.md", "verify.md"):  # whose reader stands in a tree
        make_candle(here, repository=False)
        (here / ".gitignore").write_text("/build/\n")
        git(here, "init", "--quiet")
        git(here, "add", "--all", "--force")
        git(here, "commit", "--quiet", "--message", "all")
        make_candle(here / "build/candle-0.11.1")
        shown = [command for command, _ in commands(page)]
        if not any(command.startswith("portkit apply") for command in shown):  # a ported one
            assert invoke("apply", here).code == 0
    else:
        here.mkdir()
        if not any(command.startswith("portkit fetch") for command, _ in commands(page)):
            make_candle(here / "candle")  # the checkout that the reader has
    program = place / "bin/portkit"
    program.parent.mkdir()
    stand_in = shlex.join([sys.executable, str(ROOT / "tests/docs_stand_in.py")])
    program.write_text(f'#!/bin/sh\nexec {stand_in} "$@"\n')
    program.chmod(0o755)
    variables = {
        "HOME": str(home),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        **AUTHOR,
    }
    for command, code, files in in_order(page):
        for path, text in files.items():
            (here / path).parent.mkdir(parents=True, exist_ok=True)
            (here / path).write_text(text)
        if (command, code) not in wanted:
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=here,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{page.name}: {command}\n{done.stdout}{done.stderr}"
        printed[command] = done.stdout
    return printed


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.real
@pytest.mark.parametrize("page", [p for p in SHOWING if tried(p)], ids=named)
def test_the_commands_of_a_page_work(page: Path, tmp_path: Path) -> None:
    run(page, tmp_path, tried(page))


@pytest.mark.real
def test_the_first_port_prints_what_its_page_shows(tmp_path: Path) -> None:
    page = DOCS / "first-port.md"
    printed = run(page, tmp_path, tried(page))
    shown = re.findall(r"^\$ (.*?)\n(.*?)(?=^\$ |^```)", page.read_text(), re.MULTILINE | re.DOTALL)
    compared = 0
    for command, output in shown:
        for line in output.splitlines():
            if line != "...":
                assert line in printed[command].splitlines(), command
                compared += 1
    assert compared > 10


@pytest.mark.parametrize("page", [p for p in SHOWING if list(commands(p))], ids=named)
def test_the_options_of_a_page_exist(page: Path) -> None:
    for command, _ in commands(page):
        program, *rest = command.split()
        if program == "portkit" and rest and not rest[0].startswith("-"):
            said = invoke(rest[0], "--help")
            assert said.code == 0, command
            for option in re.findall(r" (--?[a-z][a-z-]*)", command.partition(" -- ")[0]):
                assert option in said.out, command


def test_the_files_of_a_page_are_found() -> None:
    page = DOCS / "guide-crate.md"
    found = [path for _, _, files in in_order(page) for path in files]
    assert found == [
        "ops/Cargo.toml",
        "ops/build.rs",
        "ops/kernels/twice.cu",
        "ops/src/lib.rs",
        "ops/tests/twice.rs",
        "ops/.gitignore",
        "ops/build.rs",
        "ops/port/verify.toml",
    ]


def test_commands_are_found() -> None:
    """What finds the commands must not be what passes them over."""
    guide = [command for command, _ in commands(DOCS / "guide-port.md")]
    assert "portkit apply candle" in guide
    assert "portkit verify candle" in guide
    assert len(guide) > 8
    assert ("portkit scan candle --check", 0) in list(commands(DOCS / "reports.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        if target in GENERATED:
            continue
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), link
        assert place.is_relative_to(DOCS), f"{link} leads out of the site"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", place.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


def test_every_page_has_its_place() -> None:
    """A page is in the navigation, or in the list of its folder, which is."""
    named = set(re.findall(r": ([\w/-]+\.md)$", SITE, re.MULTILINE))
    ours = {page.relative_to(DOCS).as_posix() for page in PAGES}
    assert named - ours == {"api.md"}
    listed = set()
    for index in named - {"api.md"}:
        folder = (DOCS / index).parent
        if folder != DOCS:
            links = re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / index).read_text())
            listed |= {(folder / link).relative_to(DOCS).as_posix() for link in links}
    assert ours - named - listed == set(), "add the page to the navigation in mkdocs.yml"


def test_what_a_newcomer_missed_is_there() -> None:
    """Who translates CUDA sources alone finds how; who waits for the first build knows how long."""
    assert "](kernels/README.md)" in (DOCS / "index.md").read_text()
    assert "](docs/kernels/README.md)" in (ROOT / "README.md").read_text()
    tested = (DOCS / "guide-crate.md").read_text().partition("\n## 5. ")[2].partition("\n## ")[0]
    assert re.search(r"\bminutes\b", tested)


def test_the_settings_that_are_shown_are_right() -> None:
    shown = re.findall(r"```toml\n(.*?)```", (DOCS / "decisions.md").read_text(), re.DOTALL)
    read = [parse_settings(SourceFile(NAME, text.encode())) for text in shown]
    said = [
        (bool(each.skips), bool(each.bindings), each.kernels, bool(each.build)) for each in read
    ]
    assert said == [
        (True, False, "", False),
        (False, True, "", False),
        (False, False, "translated", False),
        (False, False, "", True),
    ]


def test_the_profile_that_is_shown_is_right() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", (DOCS / "guide-rule.md").read_text(), re.DOTALL)
    assert parse_codebase(tomllib.loads(shown)).name == "mine"


def test_the_second_codebase_is_what_its_page_shows() -> None:
    profile = ROOT / "tests/fixtures/codebases/tarn/profile"
    texts = [profile.joinpath(name).read_text() for name in ("codebase.toml", "verify.toml")]
    parts = re.findall(r"```toml\n(.*?)```", (DOCS / "guide-codebase.md").read_text(), re.DOTALL)
    assert len(parts) == 3
    for part in parts:
        assert any(part in text for text in texts), part


def test_the_first_scan_of_the_second_codebase_is_what_its_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "tests/fixtures/codebases/tarn/tree", tmp_path / "tarn")
    monkeypatch.chdir(tmp_path)
    printed = invoke("scan", "tarn").out
    page = (DOCS / "guide-codebase.md").read_text()
    shown = page.partition("```text\n$ portkit scan tarn\n")[2].partition("```")[0]
    parts = [part for part in shown.split("...\n") if part]
    assert len(parts) == 2
    for part in parts:
        assert part in printed
    assert printed.rstrip().rpartition("\n\n")[2].startswith(parts[-1])
    assert invoke("apply", "tarn").code == 16


def test_the_phases_that_the_page_on_series_lists() -> None:
    file = ROOT / "portkit/codebases/candle/phases.toml"
    titles = [each["title"] for each in tomllib.loads(file.read_text())["phase"]]
    page = (DOCS / "series.md").read_text()
    assert re.findall(r"^\d+\. (.*)$", page, re.MULTILINE) == titles
    assert f"`Portkit-Series: 4/{len(titles)}`" in page


def test_the_guide_names_what_there_is() -> None:
    text = "".join(page.read_text() for page in WRITTEN)
    for path in set(re.findall(r"`((?:portkit|ci|tests)/[\w./-]+)`", text)) - {BRANCH, FOLLOWING}:
        assert (ROOT / path.split("<")[0]).exists(), path


def test_the_tests_that_are_named_exist() -> None:
    files = [*(ROOT / "tests").rglob("test_*.py")]
    defined = {path.stem for path in files} | {
        name for path in files for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    pages = [*WRITTEN, *ROOT.glob("*.md"), *(ROOT / "reports/proof").glob("*.md")]
    form = r"`[\w/]*?\b(?:\w+\.py::)?(test_\w+)(?:\.py)?(?:::|`)"
    named = {page: set(re.findall(form, page.read_text())) for page in pages}
    assert {page: names - defined for page, names in named.items() if names - defined} == {}
    assert any(named.values())


MKDOCS = shutil.which("mkdocs", path=f"{ROOT / 'build/docs/bin'}:{os.environ['PATH']}")


@pytest.mark.skipif(MKDOCS is None, reason="no mkdocs (`make docs` installs it)")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(MKDOCS), "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = sorted((tmp_path / "site").rglob("*.html"))
    assert len(made) > len(PAGES)
    for page in made:
        text = page.read_text()
        assert "<script" not in text
        for address in re.findall(r'(?:src|href)="([^"#]*)', text):
            if address and not address.startswith("https://"):
                assert (page.parent / address).exists(), f"{page.name}: {address}"
        assert not re.search(r'(?:<link|<img)[^>]*"https?:', text)
