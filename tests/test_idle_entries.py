"""PK904: entries of a profile that do nothing in a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cli_support import add_file, make_candle
from steps_support import steps

from portkit.engine.session import scan_tree
from portkit.profiles import profile
from portkit.rules import idle_entry
from portkit.syntax import typed_toml

if TYPE_CHECKING:
    from pathlib import Path

HEAD = b'name = "mine"\ncrate = "candle-core"\nfirst_version = "0.1.0"\n'
BACKEND = "candle-core/src/cuda_backend/mod.rs"
CUDA = "pub fn cuda_share(n: usize) -> usize {\n    10 / n\n}\n"

# Each entry once with something to do in the tree of the tests, once with nothing.
KINDS = {
    "keep": (
        '[[keep]]\npath = "{}"\nreason = "left alone"\n',
        "*matmul.rs",
        "candle-core/src/gone.rs",
    ),
    "plain": (
        '[[plain]]\npath = "{}"\nreason = "not ported"\n',
        "*matmul.rs",
        "candle-core/src/gone.rs",
    ),
    "condition": (
        '[[condition]]\nwhen = "{}"\nverdict = "widen"\nreason = "the same holds"\n',
        "rows <= 64",
        "columns <= 64",
    ),
    "PK104": (
        '[[patch]]\ncode = "PK104"\npath = "*"\nsymbol = "{}"\ntemplate = "t"\nreason = "r"\n',
        "cuda_share",
        "cuda_gone",
    ),
    "PK105": (
        '[[patch]]\ncode = "PK105"\npath = "candle-core/README.md"\nbefore = "{}"\n'
        'heading = "## ROCm"\ntemplate = "t"\nreason = "r"\n',
        "## Structure",
        "## Gone",
    ),
    "PK106": (
        '[[patch]]\ncode = "PK106"\npath = "*"\nsymbol = "{}"\ntemplate = "t"\nreason = "r"\n',
        "cuda_share",
        "cuda_gone",
    ),
    "PK107": (
        '[[patch]]\ncode = "PK107"\npath = "*"\nsymbol = "{}"\nmatch = "10 / n"\nwrite = "1"\n'
        'reason = "r"\n',
        "cuda_share",
        "cuda_gone",
    ),
    "PK108": (
        '[[patch]]\ncode = "PK108"\npath = "{}"\nsymbol = "cuda_share"\nmatch = "10 / n"\n'
        'write = "1"\nreason = "r"\n',
        "*/mod.rs",
        "*/gone.rs",
    ),
    "PK109": (
        '[[patch]]\ncode = "PK109"\npath = "*"\nfind = "{}"\nwrite = "other"\nreason = "r"\n',
        "cuda_share",
        "cuda_gone",
    ),
    "PK304": (
        '[[patch]]\ncode = "PK304"\npath = "*"\nsymbol = "{}"\ntemplate = "t"\nreason = "r"\n',
        "Moved::to",
        "Moved::gone",
    ),
    "PK701": (
        '[[patch]]\ncode = "PK701"\nfind = "{}"\nwrite = "on both"\nreason = "r"\n',
        "on cuda alone",
        "on cuda never",
    ),
    "source_feature": ('source_feature = "{}"\n', "cuda", "gone"),
    "words": ('[names.words]\n{} = "rocm_own"\n', "cuda_share", "cuda_gone"),
    "dependencies": ('[dependencies]\n{} = ""\n', "serde", "gone"),
    "unported": ('[unported]\n{} = "r"\n', "cuda", "gone"),
    "templates": ('[templates]\n"{}" = "t"\n', "ADDED.md", "gone/ADDED.md"),
    "hip_sources": (
        '[[hip_sources]]\nsource = "{}"\nreason = "r"\n',
        "candle-core/k.cu",
        "candle-core/gone.cu",
    ),
    "pattern of hip_sources": (
        '[[hip_sources]]\nsource = "{}"\nreason = "r"\n',
        "candle-core/*.cu",
        "candle-core/gone/*.cu",
    ),
    "kernels": ('[kernels]\nname = "k"\nsource = "{}"\n', "candle-core", "candle-gone"),
}


@pytest.fixture
def candle(tmp_path: Path) -> Path:
    root = make_candle(tmp_path / "candle")
    manifest = root / "candle-core" / "Cargo.toml"
    manifest.write_text(manifest.read_text() + '\n[dev-dependencies]\nserde = "1"\n')
    add_file(root, BACKEND, CUDA.encode())
    add_file(root, "candle-core/README.md", b"# CUDA\n\n## Structure\n")
    add_file(root, "candle-core/k.cu", b"__global__ void k() {}\n")
    add_file(
        root,
        "candle-core/src/moved.rs",
        b"// It runs on cuda alone.\nimpl Moved {\n    fn to(&self) {\n        match self {\n"
        b"            Self::Cuda(_) => {}\n            _ => {}\n        }\n    }\n}\n",
    )
    add_file(root, "portkit.toml", b'profile = "port"\n')
    add_file(root, "port/templates/t", b"x();\n")
    return root


def idle(candle: Path, text: str) -> list[Any]:
    add_file(candle, "port/codebase.toml", HEAD + text.encode())
    return [f for f in scan_tree(candle).findings if f.code == "PK904"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_that_does_nothing_is_reported(candle: Path, kind: str) -> None:
    text, met, gone = KINDS[kind]
    assert idle(candle, text.format(met)) == []
    (finding,) = idle(candle, text.format(gone))
    assert (finding.path, str(finding.applicability)) == ("port/codebase.toml", "review")
    assert finding.line >= 4
    assert "nothing in the tree matches this entry" in finding.message


@pytest.mark.parametrize(
    "kind", ["keep", "condition", "PK104", "PK105", "PK107", "PK109", "PK304", "PK701"]
)
def test_a_version_in_which_it_has_nothing_to_do_is_checked(candle: Path, kind: str) -> None:
    text, met, gone = KINDS[kind]
    assert idle(candle, text.format(gone) + 'since = "99.0.0"\n') == []
    (finding,) = idle(candle, text.format(met) + 'since = "99.0.0"\n')
    assert "has nothing to do in " in finding.message
    assert idle(candle, text.format(gone) + "published = false\n") == []


@pytest.mark.parametrize("kind", ["PK104", "PK105", "PK106", "PK107", "PK109", "PK304", "PK701"])
def test_another_may_stand_for_it_in_another_version(candle: Path, kind: str) -> None:
    text, met, gone = KINDS[kind]
    newer = text.format(met) + 'since = "99.0.0"\n'
    older = 'until = "99.0.0"\n'
    assert len(idle(candle, newer)) == 1
    assert idle(candle, newer + text.format(met) + older) == []
    # About another place of the same file it stands for nothing.
    found = idle(candle, newer + text.format(gone) + older + "published = false\n")
    assert ["has nothing to do in " in finding.message for finding in found] == [True]


def test_a_crate_that_was_not_published_has_no_idle_entries(candle: Path) -> None:
    text = KINDS["keep"][0].format("candle-more/src/gone.rs")
    assert len(idle(candle, text)) == 1
    add_file(
        candle,
        "port/fetch.toml",
        b'crates = ["candle-core", "candle-more"]\nmain = "candle-core"\n',
    )
    assert idle(candle, text) == []
    # Its own names are looked at where it is there.
    assert len(idle(candle, KINDS["keep"][0].format("candle-core/src/gone.rs"))) == 1


def test_a_file_to_add_may_have_a_version(candle: Path) -> None:
    text = '[templates]\n"{}" = {{ template = "t", since = "99.0.0" }}\n'
    assert idle(candle, text.format("gone/ADDED.md")) == []
    (finding,) = idle(candle, text.format("ADDED.md"))
    assert "has nothing to do in " in finding.message


def test_a_decision_that_decides_nothing_is_reported(candle: Path) -> None:
    add_file(
        candle,
        "portkit.toml",
        b'\n[[decision]]\nwhen = "columns"\nverdict = "keep"\nreason = "r"\n',
    )
    found = [f for f in scan_tree(candle).findings if f.code == "PK904" and "decision" in f.symbol]
    assert [(f.path, f.symbol) for f in found] == [("portkit.toml", "decision 'columns'")]
    # It is nothing of a profile, whose entries have versions.
    assert found[0].construct == "entry of portkit.toml"
    assert "since or until" not in found[0].message
    assert found[0].line == 2


def test_what_a_decision_comes_before_is_not_idle(candle: Path) -> None:
    """A user's decision about the same condition leaves the profile's without a place to decide."""
    condition = '[[condition]]\nwhen = "rows <= 64"\nverdict = "widen"\nreason = "as there"\n'
    decision = b'\n[[decision]]\nwhen = "rows"\nverdict = "keep"\nreason = "ours"\n'
    add_file(candle, "portkit.toml", b'profile = "port"\n' + decision)
    assert idle(candle, condition) == []
    # Another of the profile's comes after the first, which is the one that would decide.
    both = idle(candle, condition + condition.replace("rows <= 64", "64"))
    assert [f.symbol for f in both] == ["condition '64'"]
    # Of a user's own two the second does nothing, and the reason is the first.
    add_file(candle, "portkit.toml", b'profile = "port"\n' + decision + decision)
    (second,) = idle(candle, condition)
    assert (second.path, second.line) == ("portkit.toml", 8)
    assert second.message.startswith("an earlier entry decides all that this one matches")


@pytest.mark.parametrize(
    ("file", "entry"),
    [
        ("portkit.toml", "[[decision]]\nwhen = 'n == {}'\nverdict = 'keep'\nreason = 'r'\n"),
        ("port/codebase.toml", "[[condition]]\nwhen = 'n == {}'\nverdict = 'keep'\nreason = 'r'\n"),
    ],
)
def test_twice_the_entries_take_twice_the_steps(candle: Path, file: str, entry: str) -> None:
    taken = []
    add_file(candle, "port/codebase.toml", HEAD)
    before = (candle / file).read_text()
    for count in (100, 200):
        (candle / file).write_text(before + "".join(map(entry.format, range(count))))
        taken.append(steps(lambda: scan_tree(candle), typed_toml, profile, idle_entry))
    assert taken[0] > 1_000
    assert taken[1] < 2.2 * taken[0]
