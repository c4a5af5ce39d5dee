"""The directory of a codebase: how it is found, what it brings, and that it reads nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from cli_support import add_file, invoke, make_candle
from kernel_support import SOURCE

from portkit import templates
from portkit.codebases import registry
from portkit.codebases.directory import Directory, vendor_directory
from portkit.codebases.registry import (
    GROUP,
    MAIN,
    find_announced,
    find_codebase,
    find_codebase_in_tree,
    find_shipped,
    list_codebases,
)
from portkit.engine.session import scan_tree
from portkit.errors import ProfileError
from portkit.profiles.profile import load_codebase
from portkit.profiles.vendor_file import VendorFile
from portkit.templates import Templates
from portkit.verify.options import Options
from portkit.verify.verified_tree import VerifiedTree

CANDLE = "candle"
PACKAGE = Path(__file__).parents[1] / "portkit"
PROFILE = """
name = "toy"
crate = "candle-core"
first_version = "0.1.0"
[names.words]
[dependencies]
[templates]
"NOTES.md" = "notes.md.j2"
"""


def make_codebase(place: Path, more: str = "", **files: str) -> Path:
    """Write the directory of a codebase, which takes itself for the one of ``make_candle``."""
    (place / "templates").mkdir(parents=True)
    (place / MAIN).write_text(PROFILE + more)
    (place / "templates/notes.md.j2").write_text("About {{ vendor.title }}.\n")
    for name, text in files.items():
        (place / f"{name}.toml").write_text(text)
    return place


def add_kernels(candle: Path, manifest: str) -> None:
    """Give a small candle a crate of kernels."""
    for path, text in {**SOURCE, "Cargo.toml": manifest}.items():
        add_file(candle, f"candle-kernels/{path}", text.encode())


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


def announce(
    where: Path, monkeypatch: pytest.MonkeyPatch, name: str = "toy", value: str = "toy_port"
) -> None:
    """Install a package that announces a codebase."""
    info = where / "toy_port-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-port\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(str(where))


@pytest.mark.parametrize("given", ["path", "portkit.toml", "package"])
def test_the_same_directory_works_from_anywhere(
    candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    options = []
    if given == "path":
        options = ["--profile", str(make_codebase(tmp_path / "elsewhere"))]
    elif given == "portkit.toml":
        make_codebase(candle / "port")
        (candle / "portkit.toml").write_text('profile = "port/"\n')
    else:
        make_codebase(tmp_path / "packages/toy_port")
        announce(tmp_path / "packages", monkeypatch)
        options = ["--profile", "toy"]
    done = invoke("apply", candle, "--no-format", "--allow-dirty", *options)
    assert done.code == 0, done.err
    assert (candle / "NOTES.md").read_text() == "About ROCm.\n"
    assert not (candle / "ROCM.md").exists()  # candle's own profile adds it
    again = invoke("apply", candle, "--check", "--allow-dirty", *options)
    assert again.code == 0, again.out


def test_a_profile_in_the_tree_is_not_scanned(candle: Path) -> None:
    make_codebase(candle / "port")
    (candle / "port/templates/extra.rs").write_text("fn f() -> Device { Device::Cuda(0) }\n")
    (candle / "portkit.toml").write_text('profile = "port"\n')
    done = invoke("scan", candle, "--all")
    assert done.code == 0
    assert "port/" not in done.out


def test_a_package_s_codebase_is_found_by_its_crate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "find_shipped", dict)  # as if portkit did not know candle
    monkeypatch.setattr("portkit.engine.session.find_shipped", dict)
    candle = make_candle(tmp_path / "candle")
    assert invoke("apply", candle, "--check").code == 16
    make_codebase(tmp_path / "packages/toy_port")
    announce(tmp_path / "packages", monkeypatch)
    done = invoke("apply", candle, "--diff")
    assert done.code == 0, done.err
    assert "+About ROCm." in done.out


def test_a_package_in_a_folder_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer/__init__.py").touch()
    make_codebase(tmp_path / "outer/profiles/toy")
    announce(tmp_path, monkeypatch, value="outer.profiles.toy")
    assert find_announced() == {"toy": Directory(tmp_path / "outer/profiles/toy")}
    assert find_codebase("toy") == find_announced()["toy"]
    assert list_codebases() == (
        "candle",
        "candle-extensions",
        "dfdx",
        "mistral",
        "moshi",
        "tei",
        "toy",
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("toy", "nowhere", "no folder with a codebase.toml"),
        ("toy", "json", "no folder with a codebase.toml"),
        ("toy", "toy-port", "no folder with a codebase.toml"),
        ("candle", "toy_port", "of which there is one already"),
    ],
)
def test_a_bad_announcement_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    make_codebase(tmp_path / "toy_port")
    announce(tmp_path, monkeypatch, name, value)
    with pytest.raises(ProfileError, match=f"^toy-port announces .*{said}"):
        find_announced()
    # Portkit's own is found without a look at packages.
    assert find_codebase("candle") == find_shipped()["candle"]


def test_two_packages_with_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = [EntryPoint("toy", "portkit.codebases.candle", GROUP)] * 2
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: twice)
    with pytest.raises(ProfileError, match="there is one already"):
        find_announced()


@pytest.mark.parametrize("given", ["nowhere", "candle-cor", "."])
def test_what_is_no_codebase_is_refused(
    candle: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.chdir(candle)
    done = invoke("scan", candle, "--profile", given)
    assert done.code == 16
    assert (
        f"there is no codebase {given!r}: name 'candle', 'candle-extensions', 'dfdx', 'mistral',"
        " 'moshi' or 'tei', or a directory" in done.err
    )


@pytest.mark.parametrize("name", ["..", "../elsewhere", "/", "link"])
def test_a_tree_names_no_directory_outside(tmp_path: Path, name: str) -> None:
    tree = tmp_path / "tree"
    make_codebase(tmp_path / "elsewhere")
    tree.mkdir()
    (tree / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProfileError, match="lies outside"):
        find_codebase_in_tree(tree, name)


@pytest.mark.parametrize(
    "name", ["../secret", "/proc/self/environ", "link", "a/../../secret", "dir/secret"]
)
def test_a_directory_reads_nothing_outside(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    own = tmp_path / "own"
    own.mkdir()
    (own / "link").symlink_to(tmp_path / "secret")
    (own / "dir").symlink_to(tmp_path)
    for read in (Directory(own).text, Directory(own).has):
        with pytest.raises(ProfileError, match="leads out of"):
            read(name)
    with pytest.raises(ProfileError, match="leads out of"):
        Directory(own).files(f"{name}/..")


@pytest.mark.parametrize("name", ["/proc/self/environ", "../../secret", "link.md"])
def test_a_template_reads_nothing_outside(candle: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("secret")
    own = make_codebase(tmp_path / "own", f'"L.md" = "{name}"\n')
    (own / "templates/link.md").symlink_to(tmp_path / "secret")
    done = invoke("apply", candle, "--diff", "--profile", own)
    assert done.code == 16
    assert "leads out of" in done.err or "there is no template" in done.err
    assert "secret" not in done.out


def test_a_template_runs_nothing(candle: Path, tmp_path: Path) -> None:
    own = make_codebase(tmp_path / "own")
    (own / "templates/notes.md.j2").write_text("{{ ''.__class__.__mro__[1].__subclasses__() }}")
    done = invoke("apply", candle, "--diff", "--profile", own)
    assert done.code == 16
    assert "notes.md.j2" in done.err


def test_a_codebase_s_template_comes_before_portkit_s(tmp_path: Path) -> None:
    own = Directory(make_codebase(tmp_path / "own"))
    shared = templates.read_template("kernels/src/ffi.rs.j2", own)
    assert shared == templates.read_template("kernels/src/ffi.rs.j2")
    (tmp_path / "own/templates/kernels/src").mkdir(parents=True)
    (tmp_path / "own/templates/kernels/src/ffi.rs.j2").write_text("mine\n")
    assert templates.read_template("kernels/src/ffi.rs.j2", own) == "mine\n"
    with pytest.raises(ProfileError, match=r"no template 'x\.rs' in .*own and among portkit's own"):
        Templates(own).render("x.rs", {})


def test_a_file_that_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b"\xff")
    with pytest.raises(ProfileError, match=r"a\.toml is not UTF-8"):
        Directory(tmp_path).text("a.toml")
    with pytest.raises(ProfileError, match=r"b\.toml cannot be read"):
        Directory(tmp_path).text("b.toml")


def test_the_digest_counts_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    first = Directory(tmp_path).digest()
    (tmp_path / "a").write_text("y")
    second = Directory(tmp_path).digest()
    (tmp_path / "a").rename(tmp_path / "b")
    assert len({first, second, Directory(tmp_path).digest()}) == 3


def test_a_codebase_that_portkit_brings_bears_its_directory_s_name() -> None:
    assert find_shipped()
    for name, directory in find_shipped().items():
        assert load_codebase(directory).name == name
    assert vendor_directory("rocm").typed("vendor.toml", VendorFile).name == "rocm"


def test_verify_takes_a_directory_and_remembers_what_it_held(candle: Path, tmp_path: Path) -> None:
    own = make_codebase(tmp_path / "own", verify='tested = ["candle-core"]\n')
    assert invoke("apply", candle, "--no-format", "--profile", own).code == 0
    steps = ("--only", "coverage", "--only", "parity", "--profile", own)
    done = invoke("verify", candle, *steps)
    assert done.code == 0, done.err

    def tree() -> VerifiedTree:
        profile = Directory(own)
        scan = scan_tree(candle, profile=profile)
        return VerifiedTree(scan, Options(profile=profile), lambda line: None)

    first = tree()
    assert first.tested == ("candle-core",)
    key = first.memory.key(candle, "", "x")
    (own / "verify.toml").write_text("")
    second = tree()
    assert second.tested == ()
    assert second.memory.key(candle, "", "x") != key


def test_the_cpu_device_s_variables_are_the_codebase_s(
    candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portkit.device.toolkit.build_toolkit", NoToolkit)
    monkeypatch.chdir(candle)
    assert "CANDLE_ROCM_ARCHS=gfx1100" in invoke("device").out
    make_codebase(candle / "port", '[kernels]\nsource = "candle-kernels"\n')
    for options in ((), ("--profile", "port")):
        done = invoke("device", *options)
        assert ("TOY_ROCM_ARCHS=gfx1100" in done.out, "CANDLE" in done.out) == (
            bool(options),
            not options,
        )
    add_file(candle, "portkit.toml", b'profile = "port"\n')
    assert "TOY_ROCM_ARCHS=gfx1100" in invoke("device").out


class NoToolkit:
    """Stands in for the CPU device, which takes long to build."""

    def environment(self, *, base: dict[str, str], **_: object) -> dict[str, str]:
        return dict(base)


def test_what_a_port_writes_is_named_after_the_codebase(candle: Path, tmp_path: Path) -> None:
    own = make_codebase(tmp_path / "own", '[kernels]\nsource = "candle-kernels"\n')
    add_kernels(
        candle,
        "[package]\nname = 'candle-kernels'\ndescription = 'CUDA kernels of ours'\n"
        "keywords = ['cuda', 'waves']\nlicense.workspace = true\n",
    )
    done = invoke("apply", candle, "--no-format", "--allow-dirty", "--profile", own)
    assert done.code == 0, done.err
    manifest = (candle / "toy-rocm-kernels/Cargo.toml").read_text()
    assert 'description = "ROCm kernels of ours"' in manifest
    assert 'keywords = ["waves"]' in manifest
    assert "license.workspace = true" in manifest
    assert "categories" not in manifest
    assert 'toy-hip = { path = "../toy-hip"' in manifest
    assert 'variables: "TOY_ROCM"' in (candle / "toy-rocm-kernels/build.rs").read_text()
    assert (candle / "toy-hip/Cargo.toml").exists()
    for folder in ("toy-hip", "toy-rocm-kernels"):
        for path in (candle / folder).rglob("*"):
            if path.is_file():
                assert "candle" not in path.read_text().replace("candle-kernels", "").lower(), path


def test_names_can_be_given(candle: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    make_codebase(own, '[kernels]\nsource = "candle-kernels"\nname = "toy-amd"\n')
    text = (own / MAIN).read_text()
    add_kernels(candle, '[package]\nname = "candle-kernels"\n')
    (own / MAIN).write_text(f'bindings = "hip-of-toy"\nvariables = "TOY"\n{text}')
    done = invoke("apply", candle, "--no-format", "--allow-dirty", "--profile", own)
    assert done.code == 0, done.err
    assert 'hip-of-toy = { path = "../hip-of-toy"' in (candle / "toy-amd/Cargo.toml").read_text()
    assert 'variables: "TOY"' in (candle / "toy-amd/build.rs").read_text()
    assert (candle / "hip-of-toy/Cargo.toml").exists()


PATCHES = """
[purpose]
PH301 = "What toy's kernels lack on AMD"
[[patch]]
code = "PH301"
files = ["fill.cu"]
match = "twice(v)"
replace = "2 * v"
reason = "it is shorter"
hits = 1
"""


def test_codes_of_a_codebase_s_own_are_known_wherever_they_are_named(
    candle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_codebase(candle / "port", '[kernels]\nsource = "candle-kernels"\n', kernels=PATCHES)
    add_file(candle, "portkit.toml", b'profile = "port"\n')
    add_kernels(candle, '[package]\nname = "candle-kernels"\n')
    for form in ("table", "plan", "sarif", "html", "json"):
        done = invoke("scan", candle, "--kernels", "--all", "--format", form, "--select", "PH301")
        assert done.code == 0, done.err
        assert "PH301" in done.out or form in ("plan", "sarif")  # there is nothing to do
    for options in (["--tree", candle], ["--profile", candle / "port"]):
        done = invoke("explain", "PH301", *options)
        assert "PH301 toy_kernels\n\nWhat toy's kernels lack" in done.out, done.err
    assert "toy" not in invoke("explain", "PH301").out  # candle's has this code too
    monkeypatch.chdir(candle)
    assert "toy_kernels" in invoke("explain", "candle-kernels/src/fill.cu:2").out
    assert invoke("scan", "--select", "PH302").code == 2
    done = invoke("hipify", "candle-kernels/src", "-o", tmp_path / "hip", "--profile", "port")
    assert done.code == 0, done.err
    assert "x[threadIdx.x] = 2 * v;" in (tmp_path / "hip/fill.hip").read_text()


def test_portkit_s_own_code_knows_no_codebase() -> None:
    """Beside the examples that help shows: in ``cli``, the usage of a command and an option."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        names = [name for name in find_shipped() if name in text.lower()]
        if not names or path.is_relative_to(PACKAGE / "codebases"):
            continue
        assert path.is_relative_to(PACKAGE / "cli"), path
        shown = {
            constant
            for call in ast.walk(ast.parse(text))
            if isinstance(call, ast.Call)
            and getattr(call.func, "attr", getattr(call.func, "id", ""))
            in ("make_command", "option", "Option", "Argument")
            for constant in ast.walk(call)
            if isinstance(constant, ast.Constant)
        }
        said = {n for c in shown for n in range(c.lineno, (c.end_lineno or c.lineno) + 1)}
        for number, line in enumerate(text.splitlines(), 1):
            assert number in said or not any(name in line.lower() for name in names), (path, line)


def test_the_wheel_holds_every_directory(tmp_path: Path) -> None:
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    root = PACKAGE.parent
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=root, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("codebases", "vendors", "templates"):
        for path in (PACKAGE / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert path.relative_to(root).as_posix() in held


def test_a_profile_is_small() -> None:
    """What is derived need not be said; candle's, by which the rules were found, is another."""
    sizes = {name: len(each.text(MAIN).splitlines()) for name, each in find_shipped().items()}
    assert len(sizes) > 4
    assert {name: size for name, size in sizes.items() if size > 60}.keys() == {CANDLE}
