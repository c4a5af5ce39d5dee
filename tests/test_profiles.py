"""Broken profiles: what is said of each, with the file, the line, what is allowed, the nearest."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from tree_support import user_seconds

from portkit.codebases.directory import Directory
from portkit.errors import ConfigError, PortkitError
from portkit.fetch.workspace import FetchFile
from portkit.hipify.kernel_profile import load_profile
from portkit.profiles.profile import load_codebase, load_vendor
from portkit.profiles.settings import parse_settings
from portkit.profiles.vendor_file import VendorFile
from portkit.report.phases import load_phases
from portkit.syntax.source_file import SourceFile
from portkit.verify.settings import VerifyFile
from tools.pages.schemas import FILES, made

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAD = 'name = "toy"\ncrate = "toy"\nfirst_version = "1.0.0"\n'
CODEBASE, KERNELS = "codebase.toml", "kernels.toml"
PATCH = '[[patch]]\npath = "src/*"\nsymbol = "f"\nreason = "why"\n'
KERNEL = '[[patch]]\ncode = "PH301"\nfiles = ["*.cu"]\nreason = "why"\n'

READERS: dict[str, Callable[[Directory], object]] = {
    "codebase.toml": load_codebase,
    "features": lambda d: load_vendor("rocm", load_codebase(d)),
    "vendor.toml": lambda d: d.typed("vendor.toml", VendorFile),
    "kernels.toml": lambda d: load_profile(d, "toy"),
    "phases.toml": load_phases,
    "verify.toml": lambda d: d.typed("verify.toml", VerifyFile),
    "fetch.toml": lambda d: d.typed("fetch.toml", FetchFile),
    "portkit.toml": lambda d: parse_settings(
        SourceFile("portkit.toml", d.text("portkit.toml").encode())
    ),
}

FILE_OF = {"features": CODEBASE}
"""What is read beside its file alone: with what the vendor says."""

BROKEN = [
    # --- keys and values ---
    (CODEBASE, HEAD + 'nmae = "x"\n', 4, "there is no key 'nmae' here: known are name, "),
    (CODEBASE, HEAD + 'nmae = "x"\n', 4, "; the nearest is 'name'"),
    (CODEBASE, 'name = "toy"\ncrate = "toy"\n', 1, 'the file needs a "first_version"'),
    (
        CODEBASE,
        HEAD.replace('"toy"', "7", 1),
        1,
        "name is not a text: write it between quotes",
    ),
    (CODEBASE, HEAD.replace("1.0.0", "new"), 3, "'new' is not a version as 0.11.1"),
    (
        CODEBASE,
        HEAD + '[[condition]]\nwhen = "a"\nverdict = "keeep"\nreason = "why"\n',
        6,
        "verdict is 'keeep': write 'join', 'keep', 'peer' or 'widen'; the nearest is 'keep'",
    ),
    (
        CODEBASE,
        HEAD + '[[condition]]\nwhen = "(a"\nverdict = "keep"\nreason = "why"\n',
        5,
        "'(a' is not a regular expression without look-around and back-references (missing ): (a)",
    ),
    (
        CODEBASE,
        HEAD + '[[condition]]\nwhen = \'(a)\\1\'\nverdict = "keep"\nreason = "why"\n',
        5,
        "'(a)\\\\1' is not a regular expression without look-around and back-references",
    ),
    (
        CODEBASE,
        HEAD + '[keep]\npath = "a"\n',
        4,
        "keep is not a list of tables: write [[",
    ),
    (
        CODEBASE,
        HEAD + '[[keep]]\npath = "a"\nreason = " "\n',
        6,
        "reason is empty",
    ),
    (CODEBASE, HEAD + '[names.words]\na = "b"\nc = 3\n', 6, "c is not a text"),
    (CODEBASE, HEAD + "[names]\nwords = { a = 1 }\n", 5, "a is not a text"),
    (
        CODEBASE,
        HEAD + '[[keep]]\npath = "a"\nreason = "b"\nsince = "1.2.0"\nuntil = "1.1.0"\n',
        8,
        "until 1.1.0 is not after since 1.2.0",
    ),
    # --- features ---
    (CODEBASE, HEAD + 'feature = "amd gpu"\n', 4, "'amd gpu' is no name that Cargo takes for a"),
    (CODEBASE, HEAD + 'source_feature = "cuda/lake"\n', 4, "'cuda/lake' is no name that Cargo"),
    (CODEBASE, HEAD + "feature = 1\n", 4, "feature is not a text"),
    # What Cargo takes, and stands for something else already.
    ("features", HEAD + 'feature = "metal"\n', 4, "'metal' is the feature of a peer"),
    ("features", HEAD + 'source_feature = "cudnn"\n', 4, "'cudnn' is the feature of a peer, of a"),
    ("features", HEAD + 'feature = "miopen"\n', 4, "'miopen' is the feature of a peer, of a lib"),
    ("features", HEAD + 'feature = "cuda"\n', 4, "feature and source_feature are both 'cuda'"),
    ("features", HEAD + 'feature = "no-cuda"\n', 4, "'no-cuda' holds 'cuda', by which another"),
    (
        "features",
        HEAD + 'source_feature = "gpu"\nfeature = "gpu"\n',
        5,
        "feature and source_feature are both 'gpu': name another",
    ),
    # --- patches ---
    (CODEBASE, HEAD + PATCH + 'code = "PK119"\n', 8, "code is 'PK119': write 'PK104', "),
    (CODEBASE, HEAD + PATCH, 4, 'this [[patch]] needs a "code"'),
    (
        CODEBASE,
        HEAD + PATCH + 'code = "PK107"\nmacth = "a"\n',
        9,
        "there is no key 'macth' here: known are code, since, until, ",
    ),
    (CODEBASE, HEAD + PATCH + 'code = "PK107"\nmatch = "a"\n', 4, "give one of them"),
    (
        CODEBASE,
        HEAD + PATCH + 'code = "PK108"\nmatch = "a"\nwrite = """\na();\nb();"""\n',
        10,
        "write has more than a line: make it a template",
    ),
    (
        CODEBASE,
        HEAD + PATCH + 'code = "PK108"\nmatch = "a($b"\nwrite = "c"\n',
        9,
        "match begins or ends with a capture",
    ),
    (
        CODEBASE,
        HEAD + PATCH + 'code = "PK108"\nmatch = "a"\nwrite = "c"\ncount = 0\n',
        11,
        "count is not",
    ),
    (
        CODEBASE,
        HEAD + PATCH + 'code = "PK106"\ntemplate = "gaurd.rs"\n',
        9,
        "; the nearest is 'guard.rs'",
    ),
    (
        CODEBASE,
        HEAD + PATCH + 'code = "PK104"\ntemplate = "guard.rs"\nfingerprints = { "1.0.0" = "x" }\n',
        10,
        "'x' is not a fingerprint",
    ),
    (
        CODEBASE,
        HEAD + '[templates]\n"A.md" = "B.md"\n',
        5,
        "there is no template 'B.md' in ",
    ),
    # --- the other files ---
    ("vendor.toml", 'name = "rocm"\n', 1, 'the file needs a "source"'),
    (
        "kernels.toml",
        KERNEL + 'match = "a"\nreplace = "b"\nhits = "1"\n',
        7,
        "hits is not a number",
    ),
    (
        "kernels.toml",
        KERNEL + 'match = "a"\nreplace = "b"\nhits = 1\n',
        1,
        "[purpose] says nothing",
    ),
    (
        "kernels.toml",
        KERNEL + 'match = "$a b"\nreplace = "b"\nhits = 1\n',
        5,
        "match begins or ends",
    ),
    (KERNELS, '[expected."1.0.0"]\nPH301 = "one"\n', 2, "PH301 is not a number"),
    ("phases.toml", '[[phase]]\ntitle = "a"\n', 1, 'this [[phase]] needs a "verify"'),
    (
        "phases.toml",
        '[[phase]]\ntitle = "a"\nverify = "b"\ncodes = ["301"]\n',
        4,
        "'301' is not a code, or how it begins: PK301",
    ),
    ("verify.toml", 'tested = "toy"\n', 1, "tested is not a list: write tested = [...]"),
    ("verify.toml", '[device]\ncpu = "x"\n', 1, "cpu is not a table: write [device.cpu]"),
    ("fetch.toml", 'crates = ["toy"]\nmian = "toy"\n', 2, "; the nearest is 'main'"),
    ("portkit.toml", 'gatign = "cfg"\n', 1, "; the nearest is 'gating'"),
    (
        "portkit.toml",
        'archs = ["gfx1100", "sm_80"]\n',
        1,
        "'sm_80' is not an architecture",
    ),
]


def directory(root: Path, **files: str) -> Directory:
    (root / "templates").mkdir(parents=True)
    (root / "templates" / "guard.rs").write_text("guard();\n")
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text)
    return Directory(root)


@pytest.mark.parametrize(("name", "text", "line", "said"), BROKEN)
def test_a_fault_is_said_with_its_line(
    tmp_path: Path, name: str, text: str, line: int, said: str
) -> None:
    own = directory(tmp_path / "toy", **{FILE_OF.get(name, name).replace(".", "_"): text})
    with pytest.raises(PortkitError) as raised:
        READERS[name](own)
    where = name if name == "portkit.toml" else str(own.root / FILE_OF.get(name, name))
    assert str(raised.value).startswith(f"{where}:{line}: ")
    assert said in str(raised.value)


def test_schemas_are_those_of_the_types() -> None:
    from pathlib import Path

    root = Path(__file__).parents[1]
    for path, text in made().items():
        assert (root / path).read_text() == text, "run `python -m tools.pages.schemas`"
        Draft202012Validator.check_schema(json.loads(text))


def test_portkit_s_own_files_fit_the_schemas() -> None:
    import tomllib
    from pathlib import Path

    root = Path(__file__).parents[1]
    by_name = {name: json.loads((root / path).read_text()) for path, (name, _) in FILES.items()}
    seen = set()
    for place in (root / "portkit").rglob("*.toml"):
        if place.name in by_name:
            Draft202012Validator(by_name[place.name]).validate(tomllib.loads(place.read_text()))
            seen.add(place.name)
    # The two that a user has, not portkit.
    assert seen == by_name.keys() - {"portkit.toml", "portkit.review.toml"}


# --- hostile files -----------------------------------------------------------------------------


def test_nothing_outside_the_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("token")
    for template in ("../../secret", "/proc/self/environ", str(tmp_path / "secret"), "link"):
        root = tmp_path / f"toy{abs(hash(template))}"
        own = directory(root, codebase_toml=HEAD + f'[templates]\n"L.md" = "{template}"\n')
        (root / "templates" / "link").symlink_to(tmp_path / "secret")
        with pytest.raises(PortkitError, match=r"leads out of|there is no template"):
            load_codebase(own)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_only_plain_files_are_read(tmp_path: Path) -> None:
    own = directory(tmp_path / "toy")
    os.mkfifo(own.root / "codebase.toml")
    with pytest.raises(PortkitError, match="no regular file"):
        load_codebase(own)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a" + ".a" * 50_000 + " = 1\n", "dots"),
        ("a = " + "[" * 50_000, "nested too deeply|not valid TOML"),
        ("#" + "x" * (1 << 19), "has more than 256 KiB"),
        ("a = \xff".encode("latin-1").decode("latin-1"), "not valid TOML"),
    ],
)
def test_a_file_that_would_take_long_is_refused_at_once(
    tmp_path: Path, text: str, said: str
) -> None:
    own = directory(tmp_path / "toy", codebase_toml=text)
    before = user_seconds()
    with pytest.raises(PortkitError, match=said):
        load_codebase(own)
    assert user_seconds() - before < 5  # tomllib takes 80 s for the first


def test_no_regular_expression_hangs_a_scan() -> None:
    said = parse_settings(
        SourceFile(
            "portkit.toml",
            b"[[decision]]\nwhen = '(a+)+$'\nverdict = 'keep'\nreason = 'it backtracks'\n",
        )
    )
    before = user_seconds()
    assert not said.decisions[0].fits("a" * 5000 + "b")
    assert user_seconds() - before < 5  # a backtracking engine would not come back
    with pytest.raises(ConfigError, match="look-around"):
        parse_settings(
            SourceFile(
                "portkit.toml",
                b"[[decision]]\nwhen = '(?<=a)b'\nverdict = 'keep'\nreason = 'x'\n",
            )
        )
