"""``portkit.toml``, comments that keep a place, and what is said of those that keep nothing."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apply_support import git
from cli_support import LIB, MATMUL, add_file, commit, invoke, make_candle
from jsonschema import Draft202012Validator

from portkit.codebases.registry import MAIN
from portkit.codebases.registry import find_codebase as codebase
from portkit.engine.session import find_named_profile
from portkit.errors import ConfigError
from portkit.profiles import accepted_findings
from portkit.profiles.entries import CodebaseFile, Condition
from portkit.profiles.settings import NAME, Exclusion, Settings, parse_settings
from portkit.syntax.source_file import SourceFile
from portkit.syntax.typed_toml import decode_toml

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[1] / "portkit" / "config.schema.json").read_text())
)
WHOLE = """\
# What our port leaves out.
profile = "candle"
gating = "cfg"
archs = ["gfx90a", "gfx9-4-generic"]

[[exclude]]
codes = ["PK602", "PH2"]
paths = ["candle-examples/*"]
reason = "later"

[[exclude]]
paths = ["a", "b"]
reason = "never"

[[decision]]
when = "DType::(BF16|F16)"
path = "candle-core/src/*"
verdict = "widen"
reason = "as on CUDA"
"""


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    return make_candle(tmp_path / "candle")


def read(text: str) -> Settings:
    return parse_settings(SourceFile(NAME, text.encode()))


def sites(candle: Path, *options: str) -> list[dict[str, Any]]:
    done = invoke("scan", candle, "--format", "json", *options)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["unaccounted"] == []
    found: list[dict[str, Any]] = document["sites"]
    return found


def of(found: list[dict[str, Any]], code: str) -> dict[str, Any]:
    (site,) = (site for site in found if site["code"] == code)
    return site


# --- the file ----------------------------------------------------------------------------------


def test_a_file_says_what_it_says() -> None:
    assert read(WHOLE) == Settings(
        profile="candle",
        gating="cfg",
        archs=("gfx90a", "gfx9-4-generic"),
        skips=(
            Exclusion(("PK602", "PH2"), ("candle-examples/*",), "later", 6),
            Exclusion((), ("a", "b"), "never", 11),
        ),
        decisions=(
            Condition(
                when="DType::(BF16|F16)",
                path="candle-core/src/*",
                verdict="widen",
                reason="as on CUDA",
            ),
        ),
        profile_line=2,
        condition_lines=(15,),
    )
    assert read("") == parse_settings(None) == Settings()
    SCHEMA.validate(tomllib.loads(WHOLE))
    Draft202012Validator.check_schema(SCHEMA.schema)


def _folder(place: Path) -> None:
    place.mkdir()


OTHERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (lambda place: place.symlink_to("decisions.toml"), "it is a link"),
    "a ring": (lambda place: place.symlink_to(place.name), "it is a link"),
    "a link out": (lambda place: place.symlink_to("/etc/hostname"), "it is a link"),
    "a folder": (_folder, "it is no regular file"),
    "a pipe": (os.mkfifo, "it is no regular file"),
    "another encoding": (lambda place: place.write_bytes(b"# \xe9\n"), "is not UTF-8"),
}
"""What may stand under the name of a file in which people speak to portkit."""


@pytest.mark.parametrize("name", [NAME, accepted_findings.NAME])
@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_file_is_not_passed_over(candle: Path, kind: str, name: str) -> None:
    """What it says would not be done, and nobody would know."""
    make, said = OTHERS[kind]
    add_file(candle, "decisions.toml", b'[[exclude]]\ncodes = ["PK"]\nreason = "x"\n')
    make(candle / name)
    for command in ("scan", "apply", "review"):
        done = invoke(command, candle, *(["--list"] if command == "review" else []))
        assert (done.code, done.out) == (23, ""), command
        assert name in done.err
        assert said in done.err
    if name == NAME:
        with pytest.raises(ConfigError, match=said):
            find_named_profile(candle)


def test_a_first_profile_is_named_behind_a_byte_order_mark(candle: Path) -> None:
    manifest = candle / "candle-core/Cargo.toml"
    manifest.write_text(manifest.read_text().replace("candle-core", "other"))
    place = add_file(candle, NAME, b"\xef\xbb\xbfgating = 'cfg'\n")
    assert invoke("init", candle, "--profile", "own").code == 0
    assert place.read_bytes() == b"profile = \"own\"\ngating = 'cfg'\n"


def test_the_old_spelling_excludes_as_before() -> None:
    """The files of commits that nobody can change have it."""
    old = "[[skip]]\ncodes = ['PK3']\nreason = 'x'\n"
    assert read(old).skips == read(old.replace("skip", "exclude")).skips
    both = "[[skip]]\ncodes = ['PK3']\nreason = 'x'\n[[exclude]]\ncodes = ['PK4']\nreason = 'y'\n"
    assert [skip.line for skip in read(both).skips] == [1, 4]
    SCHEMA.validate(tomllib.loads(both))


def test_a_byte_order_mark_is_passed_over() -> None:
    assert read(f"\ufeff{WHOLE}") == read(WHOLE)
    decision = "[[decision]]\nwhen = '('\nverdict = 'keep'\nreason = 'x'\n"
    with pytest.raises(ConfigError, match="toml:2: "):
        read(f"\ufeff{decision}")
    file = (codebase("candle").root / MAIN).read_text(encoding="utf-8")
    assert decode_toml(f"\ufeff{file}", MAIN, CodebaseFile) == decode_toml(file, MAIN, CodebaseFile)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("# a comment\ngate = 'cfg'\n", 2, "there is no key 'gate' here"),
        ("\n\ngating = 'both'\n", 3, "write 'cfg' or 'dummy'"),
        ("gating = ''\n", 1, "gating is '': write 'cfg' or 'dummy'"),
        ("profile = 7\n", 1, "profile is not a text"),
        ("archs = ['gfx90']\n", 1, "'gfx90' is not an architecture such as gfx1100"),
        ("[[exclude]]\ncodes = ['PK3']\nreason = ' '\n", 3, "reason is empty"),
        ("archs = 'gfx90a'\n", 1, "archs is not a list"),
        ("archs = []\n", 1, "archs is not a list"),
        ("profile = 'candle'\narchs = [\n  'gfx90a',\n  'sm_80',\n]\n", 4, "'sm_80' is not"),
        ("[skip]\nreason = 'x'\n", 1, "skip is not a list of tables"),
        ("[[exclude]]\ncodes = ['PK3']\n", 1, 'this [[exclude]] needs a "reason"'),
        ("[[exclude]]\nreason = 'x'\n", 1, "this [[exclude]] names neither codes nor paths"),
        ("[[exclude]]\ncodes = ['301']\nreason = 'x'\n", 2, "'301' is not a code"),
        (
            "[[exclude]]\ncodes = ['PK3']\nreason = 'x'\n\n"
            "[[exclude]]\ncodes = ['PK4']\nwhy = 'x'\n",
            7,
            "there is no key 'why'",
        ),
        (
            "[[decision]]\nwhen = '('\nverdict = 'keep'\nreason = 'x'\n",
            2,
            "not a regular",
        ),
        (
            "[[decision]]\nwhen = 'a'\nverdict = 'maybe'\nreason = 'x'\n",
            3,
            "write 'join', 'keep', 'peer' or 'widen'",
        ),
        ("gating = 'cfg'\nbindings = 'vendored'\n", 2, "bindings is not a table"),
        ("[bindings]\n", 1, "write one of path, git and version"),
        ("[bindings]\ngit = 'x'\nversion = '1'\n", 1, "write one of path, git and version"),
        ("[bindings]\ngit = 'x'\ntag = 'v1'\nrev = '1'\n", 1, "leave out the others"),
        ("[bindings]\nversion = '1'\nrev = '1'\n", 1, "one of branch, tag and rev"),
        ("[bindings]\nfolder = 'x'\n", 2, "there is no key 'folder'"),
        ("[[decision]]\nwhen = 'a'\nverdict = 'keep'\n", 1, 'this [[decision]] needs a "reason"'),
    ],
)
def test_an_error_names_the_line(text: str, line: int, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text)
    assert str(raised.value).startswith(f"portkit.toml:{line}: ")
    assert said in str(raised.value)
    data = tomllib.loads(text)
    # JSON Schema's "format" is a note to editors, and a type's own check is no part of it.
    if "not a regular" not in said and "neither codes" not in said:
        assert not SCHEMA.is_valid(data)


def test_a_file_that_is_no_toml_names_the_line(candle: Path) -> None:
    add_file(candle, NAME, b'gating = "cfg"\ngating = \n')
    done = invoke("scan", candle)
    assert done.code == ConfigError.exit_code
    assert "portkit.toml is not valid TOML" in done.err
    assert "line 2" in done.err


def test_the_gating_of_the_file_counts_until_one_is_given(candle: Path) -> None:
    add_file(candle, NAME, b'gating = "cfg"\n')
    for options, gating in (((), "cfg"), (("--gating", "dummy"), "dummy")):
        document = json.loads(invoke("scan", candle, "--format", "json", *options).out)
        assert document["summary"]["gating"] == gating


def test_a_profile_of_one_s_own(candle: Path) -> None:
    add_file(
        candle,
        "port/codebase.toml",
        b'name = "mine"\ncrate = "candle-core"\nfirst_version = "0.1.0"\n'
        b'[names.words]\n[dependencies]\n[[keep]]\npath = "*matmul.rs"\nreason = "cuda will do"\n',
    )
    add_file(candle, NAME, b'profile = "port"\n')
    found = sites(candle)
    assert [s["message"] for s in found if s["path"] == MATMUL] == ["cuda will do (1 mention)"]
    add_file(candle, NAME, b'profile = "other"\n')
    done = invoke("scan", candle)
    assert done.code == 16
    assert "portkit.toml:1: there is no codebase profile 'other'" in done.err
    assert (
        "name 'candle', 'candle-extensions', 'dfdx', 'mistral', 'moshi' or 'tei', or a directory"
        " below" in done.err
    )


def test_a_decision_of_one_s_own(candle: Path) -> None:
    assert of(sites(candle), "PK401")["status"] == "todo"
    add_file(
        candle,
        NAME,
        b'[[decision]]\nwhen = "rows <= 64"\nverdict = "keep"\nreason = "cuda alone has it"\n',
    )
    site = of(sites(candle), "PK401")
    assert site["status"] == "none"  # without the decision it would be written
    assert "cuda alone has it" in site["message"]


PEER = """
/// How a sum is held.
pub fn sum_bits(device: &Device) -> usize {
    if device.is_metal() {
        32
    } else {
        16
    }
}
"""


@pytest.mark.parametrize(
    ("code", "decision"),
    [
        ("PK401", 'when = "rows <= 64"\nverdict = "keep"'),
        ("PK401", 'when = "rows <= 64"\nverdict = "widen"'),
        ("PK405", 'when = "is_metal"\nverdict = "peer"'),
    ],
)
def test_what_is_decided_is_for_nobody_to_look_at(candle: Path, code: str, decision: str) -> None:
    add_file(candle, LIB, ((candle / LIB).read_text() + PEER).encode())
    assert of(sites(candle), code)["applicability"] == "review"
    reason = "measured on both"
    add_file(candle, NAME, f'[[decision]]\n{decision}\nreason = "{reason}"\n'.encode())
    site = of(sites(candle), code)
    assert site["message"] == reason
    assert site["applicability"] == ("safe" if "widen" in decision else "keep")
    chosen = ("scan", candle, "--select", code, "--format")
    assert "a person should look" not in invoke(*chosen, "table").out
    assert "| review | a person should look at this | 0 |" in invoke(*chosen, "markdown").out
    commit(candle)
    assert reason not in invoke("apply", candle, "--no-format", "--skip", "PK103,PK203").out


REPAIRED = """\
[names.words]
[dependencies]
[[patch]]
code = "PK107"
path = "*/cuda_backend/*"
symbol = "share"
match = "10 / n"
write = "10 / n.max(1)"
reason = "it divides by zero"
"""
SHARE = "pub fn share(n: usize) -> usize {\n    10 / n\n}\n"


@pytest.mark.parametrize("how", ["skip", "comment", "option", "neither"])
def test_a_repair_that_is_left_alone_is_not_written(candle: Path, how: str) -> None:
    side = "candle-core/src/cuda_backend/mod.rs"
    mark = "// portkit: exclude PK107 nobody divides by zero\n" if how == "comment" else ""
    add_file(candle, side, f"//! CUDA.\n\n{mark}{SHARE}".encode())
    head = 'name = "candle"\ncrate = "candle-core"\nfirst_version = "0.1.0"\n'
    add_file(candle, "own/codebase.toml", (head + REPAIRED).encode())
    text = 'profile = "own"\n'
    if how == "skip":
        text += '[[exclude]]\ncodes = ["PK107"]\nreason = "nobody divides by zero"\n'
    add_file(candle, NAME, text.encode())
    site = of(sites(candle), "PK107")
    if how in ("option", "neither"):
        assert site["applicability"] == "review"
    else:
        assert (site["applicability"], site["message"]) == ("keep", "nobody divides by zero")
        assert "without this: it divides by zero" in site["detail"]
    commit(candle)
    skipped = "PK103,PK203,PK107" if how == "option" else "PK103,PK203"
    assert invoke("apply", candle, "--no-format", "--skip", skipped).code == 0
    copy = (candle / "candle-core/src/rocm_backend/mod.rs").read_text()
    assert ("n.max(1)" in copy) is (how == "neither")
    if how != "option":
        assert of(sites(candle), "PK107")["status"] == ("ported" if how == "neither" else "none")


def test_what_is_skipped_is_kept_with_the_reason(candle: Path) -> None:
    ids = [site["id"] for site in sites(candle)]
    add_file(candle, NAME, b'[[exclude]]\ncodes = ["PK3", "PK503"]\nreason = "not yet"\n')
    found = sites(candle)
    assert [site["id"] for site in found] == ids
    left = "left out by an arm that answers with an error: not yet"
    for code, said in (("PK301", ["keep", "todo", left]), ("PK503", ["keep", "none", "not yet"])):
        site = of(found, code)
        assert [site[k] for k in ("applicability", "status", "message")] == said
    commit(candle)
    assert invoke("apply", candle, "--no-format").code == 0
    # What a person leaves out is not missing.
    assert invoke("verify", candle, "--only", "parity", "--only", "coverage").code == 0
    text = (candle / LIB).read_text()
    assert "Rocm(usize)" in text
    assert "is_rocm" not in text
    assert 'Self::Rocm(_) => "rocm"' not in text
    assert 'Self::Rocm(_) => panic!("left out: not yet")' in text


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            '[[exclude]]\npaths = ["candle-cor/*"]\nreason = "later"\n',
            "1: this [[exclude]] matches no finding",
        ),
        (
            '[[decision]]\nwhen = "is_nothing"\nverdict = "keep"\nreason = "x"\n',
            "1: no condition",
        ),
    ],
)
def test_what_decides_nothing_is_refused(candle: Path, entry: str, said: str) -> None:
    """What was meant to be left out would be written."""
    add_file(candle, NAME, entry.encode())
    commit(candle)
    for options in ((), ("--check",), ("--select", "PK301"), ("--series",)):
        done = invoke("apply", candle, "--no-format", *options)
        assert done.code == 23
        assert f"portkit.toml:{said}" in done.err
        assert git(candle, "status", "--short") == ""


def test_a_skip_of_nothing_is_said(candle: Path) -> None:
    add_file(
        candle, NAME, b'gating = "dummy"\n\n[[exclude]]\npaths = ["gone/*"]\nreason = "long ago"\n'
    )
    site = of(sites(candle), "PK903")
    assert site["path"] == NAME
    assert site["applicability"] == "review"
    assert site["line"] == 3
    assert (
        "this [[exclude]] matches no finding, since no file of the tree matches 'gone/*': "
        in site["message"]
    )
    assert "nearest" not in site["message"]
    add_file(candle, NAME, b'[[exclude]]\npaths = ["candle-cor/*"]\nreason = "misspelt"\n')
    assert "; the nearest is 'candle-core'" in of(sites(candle), "PK903")["message"]
    add_file(candle, NAME, b'[[exclude]]\ncodes = ["PK402"]\nreason = "long ago"\n')
    assert of(sites(candle), "PK903")["message"].endswith(" matches no finding: remove it")
    add_file(candle, NAME, b'[[exclude]]\ncodes = ["PK7", "PK77"]\nreason = "long ago"\n')
    assert "no code begins with PK77: " in of(sites(candle), "PK903")["message"]


def test_a_manifest_that_is_skipped_needs_no_feature(candle: Path) -> None:
    add_file(candle, NAME, b'[[exclude]]\npaths = ["*/Cargo.toml"]\nreason = "not yet"\n')
    commit(candle)
    assert invoke("apply", candle, "--no-format").code == 0
    done = invoke("verify", candle, "--only", "parity")
    assert done.code == 0, done.out


# --- comments ----------------------------------------------------------------------------------

ARM = '            Self::Cuda(_) => "cuda",\n'
COMMENTS = {
    "above": ("// portkit: exclude PK301 no reason needed\n" + ARM, True),
    "above, among others": (
        "// portkit: exclude PK505,PK301 no reason needed\n\n// and another\n" + ARM,
        True,
    ),
    "at the end of the line": (ARM[:-1] + " // portkit: exclude PK301 no reason needed\n", True),
    "of another code": ("// portkit: exclude PK505 no reason needed\n" + ARM, False),
    "below": (ARM + "            // portkit: exclude PK301 no reason needed\n", False),
    "too far": (
        '// portkit: exclude PK301 no reason needed\n            Self::Other => "",\n' + ARM,
        False,
    ),
    "without a code": ("// portkit: exclude no reason needed\n" + ARM, False),
    "without a reason": ("// portkit: exclude PK301\n" + ARM, False),
    "of no code": ("// portkit: exclude PK777 no reason needed\n" + ARM, False),
    "misspelled": ("// portkit: kep PK301 no reason needed\n" + ARM, False),
    "with a capital": ("// Portkit: keep PK301 no reason needed\n" + ARM, False),
    "in capitals": ("// PORTKIT: KEEP PK301 no reason needed\n" + ARM, False),
    "with a blank": ("// portkit : keep PK301 no reason needed\n" + ARM, False),
    "without a colon": ("// portkit keep PK301 no reason needed\n" + ARM, False),
    "another verb and no colon": ("//portkit skip PK301 no reason needed\n" + ARM, False),
    "in a block": ("/* portkit: exclude PK301 no reason needed */\n" + ARM, False),
    "as a page": ("//! portkit: exclude PK301 no reason needed\n" + ARM, False),
}


@pytest.mark.parametrize("case", COMMENTS)
def test_a_comment_keeps_what_begins_below_it(candle: Path, case: str) -> None:
    text, keeps = COMMENTS[case]
    place = candle / LIB
    place.write_text(place.read_text().replace(ARM, text))
    found = sites(candle)
    arm = of(found, "PK301")
    assert (arm["applicability"] == "keep") is keeps
    unused = [site for site in found if site["code"] == "PK903"]
    assert len(unused) == (not keeps)
    if keeps:
        # The match has no wildcard.
        left = "left out by an arm that answers with an error: no reason needed"
        assert (arm["status"], arm["message"]) == ("todo", left)
    else:
        (site,) = unused
        line = place.read_text().split("\n")[site["line"] - 1]
        assert "portkit" in line.lower()
        said = {
            "without a code": "names no code",
            "without a reason": "gives no reason",
            "of no code": "there is no code PK777",
            "misspelled": "there is no 'kep': write `portkit: exclude",
            "with a capital": "it begins with '// Portkit:': write `// portkit: exclude PK501",
            "in capitals": "it begins with '// PORTKIT:'",
            "with a blank": "it begins with '// portkit :'",
            "without a colon": "it begins with '// portkit'",
            "another verb and no colon": "it begins with '//portkit'",
            "in a block": "it begins with '/* portkit:'",
            "as a page": "it begins with '//! portkit:'",
        }
        assert said.get(case, "there is no place of") in site["message"]
    commit(candle)
    if not keeps:  # it was meant to leave something out, which would be written
        for options in ((), ("--check",), ("--select", "PK2")):
            refused = invoke("apply", candle, "--no-format", *options)
            assert refused.code == 23
            assert f"{LIB}:{site['line']}: it excludes nothing, since" in refused.err
            assert git(candle, "status", "--short") == ""
        return
    assert invoke("apply", candle, "--no-format").code == 0
    assert '"rocm"' not in place.read_text()
    git(candle, "add", "--all")
    git(candle, "commit", "--quiet", "--message", "ported")
    assert invoke("apply", candle, "--no-format", "--check").code == 0


def test_prose_about_portkit_is_no_comment_of_its(candle: Path) -> None:
    prose = [
        "// Portkit writes this file.",
        "// portkit keeps the order of the arms.",
        "// Ported by portkit: see PK301 of its documentation.",
        "/* portkit */",
        'const SAID: &str = "portkit keep";',
    ]
    with (candle / LIB).open("a") as file:
        file.write("".join(f"{line}\n" for line in prose))
    add_file(candle, "NOTES.md", b"Write `// portkit: exclude PK999 reason`, not `// Portkit`.\n")
    commit(candle)
    assert {s["path"] for s in sites(candle) if s["code"] == "PK903"} <= {"NOTES.md"}
    assert invoke("apply", candle, "--no-format").code == 0


def test_a_comment_above_an_attribute_and_in_a_manifest(candle: Path) -> None:
    place = candle / LIB
    place.write_text(
        place.read_text()
        + '\n// portkit: exclude PK501 stays\n#[cfg(feature = "cuda")]\n#[inline]\nmod only {}\n'
    )
    manifest = candle / "candle-core/Cargo.toml"
    manifest.write_text(
        manifest.read_text().replace("cuda = []", "# portkit: exclude PK201 not yet\ncuda = []")
    )
    found = sites(candle)
    assert of(found, "PK201")["message"] == "not yet"
    (item,) = (s for s in found if s["code"] == "PK501")
    assert (item["applicability"], item["message"]) == ("keep", "stays")
    assert not any(site["code"] == "PK903" for site in found)


def test_a_person_can_say_that_they_have_looked(candle: Path) -> None:
    place = candle / MATMUL
    place.write_text(
        place.read_text()
        .replace(
            "    let fits =",
            "    // portkit: exclude PK401 looked at, the same holds on AMD\n    let fits =",
        )
        .replace("device.is_cuda()", "(device.is_cuda() || device.is_rocm())")
    )
    site = of(sites(candle), "PK401")
    assert (site["applicability"], site["status"]) == ("keep", "ported")


CONDITIONS = """\
use crate::Device;

pub fn whole(device: &Device, n: usize) -> bool {
    if device.is_cuda() && n == 1 {
        return true;
    }
    (device.is_cpu() || device.is_cuda()) && n == 2
}

pub fn fused(device: &Device, n: usize) -> bool {
    device.is_metal() && n == 3
}

pub fn built(n: usize) -> bool {
    if cfg!(feature = "cuda") && n == 4 {
        return true;
    }
    false
}
"""
DECIDED = {
    r"is_cuda\(\) && n == 1": "widen",
    r"\(device.is_cpu\(\) \|\| device.is_cuda\(\)\) && n == 2": "widen",
    r"is_metal\(\) && n == 3": "join",
    r'cfg!\(feature = "cuda"\) && n == 4': "widen",
}


def test_a_decision_settles_what_is_written_by_it(candle: Path) -> None:
    add_file(candle, "candle-core/src/extra.rs", CONDITIONS.encode())
    entries = [
        f"[[decision]]\npath = '*/extra.rs'\nwhen = '{when}'\nverdict = '{verdict}'\nreason = 'r'\n"
        for when, verdict in DECIDED.items()
    ]
    add_file(candle, NAME, "".join(entries).encode())

    def decided() -> list[tuple[str, str]]:
        found = [s for s in sites(candle) if s["path"].endswith("extra.rs") and s["message"] == "r"]
        return [(site["symbol"], site["status"]) for site in found]

    symbols = ("whole", "whole", "fused", "built")
    assert decided() == [(symbol, "todo") for symbol in symbols]
    commit(candle)
    assert invoke("apply", candle, "--no-format").code == 0
    text = (candle / "candle-core/src/extra.rs").read_text()
    assert "(device.is_cuda() || device.is_rocm()) && n == 1" in text
    assert "(device.is_cpu() || device.is_cuda() || device.is_rocm()) && n == 2" in text
    assert "(device.is_metal() || device.is_rocm()) && n == 3" in text
    assert decided() == [(symbol, "ported") for symbol in symbols]
    assert not [site for site in sites(candle) if site["code"] == "PK904"]
