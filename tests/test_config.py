"""``portkit.toml``, comments that keep a place, and what is said of those that keep nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from apply_support import git
from cli_support import LIB, MATMUL, add_file, commit, invoke, make_candle
from jsonschema import Draft202012Validator

from portkit.errors import ConfigError
from portkit.lang.source import Source
from portkit.profile.profile import Condition
from portkit.profile.settings import NAME, Settings, Skip, settings

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[1] / "portkit" / "config.schema.json").read_text())
)
WHOLE = """\
# What our port leaves out.
profile = "candle"
gating = "cfg"
archs = ["gfx90a", "gfx9-4-generic"]

[[skip]]
codes = ["PK602", "PH2"]
paths = ["candle-examples/*"]
reason = "later"

[[skip]]
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
    return settings(Source(NAME, text.encode()))


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
            Skip(("PK602", "PH2"), ("candle-examples/*",), "later", 6),
            Skip((), ("a", "b"), "never", 11),
        ),
        decisions=(Condition("DType::(BF16|F16)", "candle-core/src/*", "widen", "as on CUDA"),),
        profile_line=2,
    )
    assert read("") == settings(None) == Settings()
    SCHEMA.validate(tomllib.loads(WHOLE))
    Draft202012Validator.check_schema(SCHEMA.schema)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("# a comment\ngate = 'cfg'\n", 2, "there is no key 'gate' here"),
        ("\n\ngating = 'both'\n", 3, "write 'dummy' or 'cfg'"),
        ("gating = ''\n", 1, "gating is not a text"),
        ("profile = 7\n", 1, "profile is not a text"),
        ("archs = 'gfx90a'\n", 1, "archs is not a list"),
        ("archs = []\n", 1, "archs is not a list"),
        ("profile = 'candle'\narchs = [\n  'gfx90a',\n  'sm_80',\n]\n", 2, "'sm_80' is not"),
        ("[skip]\nreason = 'x'\n", 1, "skip is not a list of tables"),
        ("[[skip]]\ncodes = ['PK3']\n", 1, "reason is missing"),
        ("[[skip]]\nreason = 'x'\n", 1, "names neither codes nor paths"),
        ("[[skip]]\ncodes = ['301']\nreason = 'x'\n", 2, "'301' is not a code"),
        (
            "[[skip]]\ncodes = ['PK3']\nreason = 'x'\n\n[[skip]]\ncodes = ['PK4']\nwhy = 'x'\n",
            7,
            "there is no key 'why'",
        ),
        (
            "[[decision]]\nwhen = '('\nverdict = 'keep'\nreason = 'x'\n",
            2,
            "not a regular",
        ),
        ("gating = 'cfg'\nbindings = 'vendored'\n", 2, "bindings is not a table"),
        ("[bindings]\n", 1, "write one of path, git and version"),
        ("[bindings]\ngit = 'x'\nversion = '1'\n", 1, "write one of path, git and version"),
        ("[bindings]\ngit = 'x'\ntag = 'v1'\nrev = '1'\n", 1, "leave out the others"),
        ("[bindings]\nversion = '1'\nrev = '1'\n", 1, "one of branch, tag and rev"),
        ("[bindings]\nfolder = 'x'\n", 2, "there is no key 'folder'"),
        ("[[decision]]\nwhen = 'a'\nverdict = 'maybe'\nreason = 'x'\n", 3, "'widen', 'keep' or"),
        ("[[decision]]\nwhen = 'a'\nverdict = 'keep'\n", 1, "reason is missing"),
    ],
)
def test_an_error_names_the_line(text: str, line: int, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text)
    assert str(raised.value).startswith(f"portkit.toml:{line}: ")
    assert said in str(raised.value)
    data = tomllib.loads(text)
    if "not a regular" not in said:  # JSON Schema's "format" is a note to editors
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
    assert [s["message"] for s in found if s["path"] == MATMUL] == ["cuda will do (1 mentions)"]
    add_file(candle, NAME, b'profile = "other"\n')
    done = invoke("scan", candle)
    assert done.code == 16
    assert "portkit.toml:1: there is no codebase profile 'other'" in done.err
    assert "name 'candle', or a directory below" in done.err


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


def test_what_is_skipped_is_kept_with_the_reason(candle: Path) -> None:
    ids = [site["id"] for site in sites(candle)]
    add_file(candle, NAME, b'[[skip]]\ncodes = ["PK3", "PK503"]\nreason = "not yet"\n')
    found = sites(candle)
    assert [site["id"] for site in found] == ids
    for code in ("PK301", "PK503"):
        site = of(found, code)
        assert [site[k] for k in ("applicability", "status", "message")] == [
            "keep",
            "none",
            "not yet",
        ]
    commit(candle)
    assert invoke("apply", candle, "--no-format").code == 0
    # What a person leaves out is not missing.
    assert invoke("verify", candle, "--only", "parity", "--only", "coverage").code == 0
    text = (candle / LIB).read_text()
    assert "Rocm(usize)" in text
    assert "is_rocm" not in text
    assert 'Self::Rocm(_) => "rocm"' not in text


def test_a_skip_of_nothing_is_said(candle: Path) -> None:
    add_file(
        candle, NAME, b'gating = "dummy"\n\n[[skip]]\npaths = ["gone/*"]\nreason = "long ago"\n'
    )
    site = of(sites(candle), "PK903")
    assert site["path"] == NAME
    assert site["applicability"] == "review"
    assert "line 3 fits no place: take it away" in site["message"]
    add_file(candle, NAME, b'[[skip]]\ncodes = ["PK7", "PK77"]\nreason = "long ago"\n')
    assert "no code begins with PK77: " in of(sites(candle), "PK903")["message"]


def test_a_manifest_that_is_skipped_needs_no_feature(candle: Path) -> None:
    add_file(candle, NAME, b'[[skip]]\npaths = ["*/Cargo.toml"]\nreason = "not yet"\n')
    commit(candle)
    assert invoke("apply", candle, "--no-format").code == 0
    done = invoke("verify", candle, "--only", "parity")
    assert done.code == 0, done.out


# --- comments ----------------------------------------------------------------------------------

ARM = '            Self::Cuda(_) => "cuda",\n'
COMMENTS = {
    "above": ("// portkit: keep PK301 no reason needed\n" + ARM, True),
    "above, among others": (
        "// portkit: keep PK505,PK301 no reason needed\n\n// and another\n" + ARM,
        True,
    ),
    "at the end of the line": (ARM[:-1] + " // portkit: keep PK301 no reason needed\n", True),
    "of another code": ("// portkit: keep PK505 no reason needed\n" + ARM, False),
    "below": (ARM + "            // portkit: keep PK301 no reason needed\n", False),
    "too far": (
        '// portkit: keep PK301 no reason needed\n            Self::Other => "",\n' + ARM,
        False,
    ),
    "without a code": ("// portkit: keep no reason needed\n" + ARM, False),
    "without a reason": ("// portkit: keep PK301\n" + ARM, False),
    "of no code": ("// portkit: keep PK777 no reason needed\n" + ARM, False),
    "misspelled": ("// portkit: kep PK301 no reason needed\n" + ARM, False),
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
        assert (arm["status"], arm["message"]) == ("none", "no reason needed")
    else:
        (site,) = unused
        line = place.read_text().split("\n")[site["line"] - 1]
        assert "// portkit: " in line
        said = {
            "without a code": "names no code",
            "without a reason": "gives no reason",
            "of no code": "there is no code PK777",
            "misspelled": "there is no 'kep': write `portkit: keep",
        }
        assert said.get(case, "there is no place of") in site["message"]
    commit(candle)
    assert invoke("apply", candle, "--no-format").code == 0
    assert ('"rocm"' in place.read_text()) is not keeps
    git(candle, "add", "--all")
    git(candle, "commit", "--quiet", "--message", "ported")
    assert invoke("apply", candle, "--no-format", "--check").code == 0


def test_a_comment_above_an_attribute_and_in_a_manifest(candle: Path) -> None:
    place = candle / LIB
    place.write_text(
        place.read_text()
        + '\n// portkit: keep PK501 stays\n#[cfg(feature = "cuda")]\n#[inline]\nmod only {}\n'
    )
    manifest = candle / "candle-core/Cargo.toml"
    manifest.write_text(
        manifest.read_text().replace("cuda = []", "# portkit: keep PK201 not yet\ncuda = []")
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
            "    // portkit: keep PK401 looked at, the same holds on AMD\n    let fits =",
        )
        .replace("device.is_cuda()", "(device.is_cuda() || device.is_rocm())")
    )
    site = of(sites(candle), "PK401")
    assert (site["applicability"], site["status"]) == ("keep", "ported")
