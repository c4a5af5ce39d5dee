"""Properties of whole ports of the real candle."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from codebase_support import CANDLE
from msgspec.structs import replace
from port_of_candle import VERSIONS, scan_tree

from portkit.engine import session as job
from portkit.engine.parity import find_missing_counterparts
from portkit.engine.plan import build_plan
from portkit.engine.scan import scan_workspace
from portkit.port.drift import count_words
from portkit.profiles.profile import load_codebase, load_vendor
from portkit.rules import SiteRule, list_rules
from portkit.syntax.cfg import parse_conditions
from portkit.syntax.source_file import SourceFile, field_text, group_attributes
from portkit.transaction.transaction import write_plan
from portkit.workspace.cargo_workspace import load_workspace
from portkit.workspace.finding import Applicability, Status, no_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.engine.scan import Scan

pytestmark = pytest.mark.real

BOTH = pytest.mark.parametrize("gating", ["dummy", "cfg"])
RULES = Path(__file__).parents[1] / "fixtures" / "rules"
EACH = pytest.mark.parametrize("version", VERSIONS)


@EACH
@BOTH
def test_every_mention_is_accounted_for(
    scanned: Callable[[str, str], Scan], version: str, gating: str
) -> None:
    assert scanned(version, gating).unaccounted == ()


@EACH
@BOTH
def test_a_second_apply_writes_nothing(
    ported: Callable[[str, str], Path], version: str, gating: str
) -> None:
    again = scan_tree(ported(version, gating), gating)
    assert build_plan(again).changes == ()
    assert again.unaccounted == ()
    assert find_missing_counterparts(again) == ()


@EACH
def test_every_todo_of_the_pristine_tree_is_ported(
    scanned: Callable[[str], Scan], ported: Callable[[str], Path], version: str
) -> None:
    # A condition that was widened is another construct afterwards: the place is compared.
    todo = {
        (f.path, f.symbol)
        for f in scanned(version).findings
        if f.status is Status.TODO and f.code not in ("PK701", "PK702")
    }
    done = {
        (f.path, f.symbol) for f in scan_tree(ported(version)).findings if f.status is Status.PORTED
    }
    assert todo - done == set()


def test_ten_places_taken_out_by_hand_come_back_and_nothing_else(
    ported: Callable[[str], Path], tmp_path: Path
) -> None:
    place = tmp_path / "candle"
    shutil.copytree(ported("0.11.1"), place)
    before = {p: p.read_bytes() for p in place.rglob("*.rs")}
    taken = [
        ("candle-core/src/device.rs", "    pub fn is_rocm(&self) -> bool {", "    }\n"),
        ("candle-core/src/device.rs", "            Self::Rocm(c) => c.set_seed(seed),", "\n"),
        ("candle-core/src/storage.rs", "            Self::Rocm(storage) => storage.dtype(),", "\n"),
        (
            "candle-core/src/tensor.rs",
            "                (Storage::Cpu(storage), Device::Rocm",
            "}\n",
        ),
        ("candle-core/src/lib.rs", "pub use rocm::{", "\n"),
        ("candle-core/src/error.rs", "    #[error(transparent)]\n    Rocm(Box<dyn", "Sync>),\n"),
        ("candle-core/src/sort.rs", '    #[cfg(feature = "rocm")]\n    fn rocm_fwd', "\n    }\n"),
        ("candle-core/src/utils.rs", "pub fn rocm_is_available() -> bool {", "}\n"),
        (
            "candle-nn/src/rotary_emb.rs",
            '    #[cfg(feature = "rocm")]\n    fn rocm_fwd',
            "\n    }\n",
        ),
        ("candle-core/src/rocm_backend/error.rs", "impl From<RocmError>", "\n}\n"),
    ]
    removed = 0
    for path, start, end in taken:
        file = place / path
        text = file.read_text(encoding="utf-8")
        at = text.find(start)
        if at < 0:
            continue
        to = text.index(end, at) + len(end)
        file.write_text(text[:at] + text[to:], encoding="utf-8")
        removed += 1
    assert removed == 10
    todo = [f for f in scan_tree(place).findings if f.status is Status.TODO]
    assert len(todo) == 10, [(f.code, f.path, f.symbol) for f in todo]
    write_plan(place, build_plan(scan_tree(place)).changes)
    for file, data in before.items():
        # The order of neighbours and the layout may differ; what stands in the file may not.
        if file.read_bytes() != data:
            assert count_words(file.read_text(encoding="utf-8")) == count_words(data.decode()), file


@pytest.mark.parametrize(
    "rule", [r for r in list_rules() if isinstance(r, SiteRule)], ids=lambda rule: rule.name
)
def test_leaving_one_rule_out_is_noticed(
    rule: SiteRule, pristine: Callable[[str], Path], scanned: Callable[[str], Scan], tmp_path: Path
) -> None:
    complete = scanned("0.11.1")
    found = [f for f in complete.findings if f.code == rule.code]
    if not found:
        # candle has no such construct: the rule's own cases show its loss (tests/rules).
        assert any(each.is_dir() for each in (RULES / rule.name).iterdir())
        return
    codebase = load_codebase(CANDLE)
    rest = [r for r in list_rules() if r is not rule]
    vendor = load_vendor("rocm", codebase)
    without = scan_workspace(complete.job.workspace, vendor, codebase, chosen=rest)
    if not without.unaccounted:
        # Nothing mentions what the rule adds: parity misses it in the port.
        place = tmp_path / "candle"
        shutil.copytree(pristine("0.11.1"), place)
        write_plan(place, build_plan(without).changes)
        assert find_missing_counterparts(
            scan_workspace(load_workspace(place), vendor, codebase, chosen=rest)
        )


@EACH
@BOTH
def test_what_is_written_parses(
    ported: Callable[[str, str], Path], version: str, gating: str
) -> None:
    root = ported(version, gating)
    for file in sorted(root.rglob("*.rs")):
        if "rocm" in file.read_text(encoding="utf-8"):
            source = SourceFile(file.name, file.read_bytes())
            assert not source.tree.root_node.has_error, file


@EACH
@BOTH
def test_copies_hold_nothing_of_features_that_are_not_ported(
    ported: Callable[[str, str], Path], version: str, gating: str
) -> None:
    folder = ported(version, gating) / "candle-core" / "src" / "rocm_backend"
    for file in sorted(folder.glob("*.rs")):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r'feature = "(cudnn|cublaslt|cutile)"', text), file


@EACH
def test_what_has_no_counterpart_says_what_takes_its_place(
    scanned: Callable[[str], Scan], version: str
) -> None:
    unported = load_vendor("rocm", load_codebase(CANDLE)).unported
    messages = [finding.message for finding in scanned(version).findings]
    left = {name for name, why in unported.items() if any(why in said for said in messages)}
    # ROCm's feature for flash attention has another name, which the reason says.
    assert left <= {"cutile", "flash-attn"}
    assert "rocm of candle-flash-attn" in unported["flash-attn"]
    assert unported["cutile"].endswith("take its place")


@EACH
def test_messages_name_the_feature_that_serves_on_rocm(
    ported: Callable[[str], Path], version: str
) -> None:
    said = "compile with '--features flash-attn'"
    models = ported(version) / "candle-transformers" / "src"
    found = [
        line
        for file in models.rglob("*.rs")
        for line in file.read_text(encoding="utf-8").splitlines()
        if said in line
    ]
    assert len(found) > 10
    left = [line for line in found if f"{said}, or 'rocm-flash-attn' on ROCm" not in line]
    # z_image takes flash attention on CUDA's device alone.
    assert all("flash-attn feature not enabled" in line for line in left)


@EACH
def test_a_function_of_one_vendor_asks_for_its_own_flash_attention(
    ported: Callable[[str], Path], version: str
) -> None:
    models = ported(version) / "candle-transformers" / "src" / "models"
    z_image = (models / "z_image" / "transformer.rs").read_text(encoding="utf-8")
    assert 'feature = "flash-attn"' in z_image
    assert "rocm-flash-attn" not in z_image
    qwen = (models / "qwen3.rs").read_text(encoding="utf-8")
    calls = "return self.forward_flash_attn"
    assert qwen.count(calls) == qwen.count("has_flash_attn(x.device()) {\n            " + calls)


@EACH
def test_flash_attention_without_cuda_asks_for_nothing_of_cuda(
    ported: Callable[[str], Path], version: str
) -> None:
    root = ported(version)
    for folder in sorted(root.glob("candle-flash-attn*/tests")):
        manifest = tomllib.loads((folder.parent / "Cargo.toml").read_text(encoding="utf-8"))
        every = manifest["dependencies"] | manifest["dev-dependencies"]
        needed = {name: each for name, each in every.items() if isinstance(each, dict)}
        asked = {feature for each in needed.values() for feature in each.get("features", ())}
        assert not any(name in feature for feature in asked for name in ("cuda", "cudnn"))
        for name, on in manifest["features"].items():
            if name != "cuda" and any("/cud" in feature for feature in on):
                assert "cuda" in on, name
        if "candle-flash-attn" in needed:
            assert needed["candle-flash-attn"]["version"] == manifest["package"]["version"]
        for file in folder.glob("*.rs"):
            assert file.read_text(encoding="utf-8").startswith('#![cfg(feature = "cuda")]\n')


@EACH
def test_a_comment_at_a_condition_of_both_names_both(
    ported: Callable[[str], Path], version: str
) -> None:
    root = ported(version)
    both = re.compile(r"is_cuda\(\).*is_rocm\(\)|fused_on_rocm\(.*cuda")
    for file in sorted(root.glob("candle-*/**/*.rs")):
        lines = file.read_text(encoding="utf-8").splitlines()
        for line, *around in zip(lines, ["", *lines], lines[1:], strict=False):
            for comment in (each for each in around if both.search(line) and "//" in each):
                said = comment.partition("//")[2].lower()
                assert "cuda" not in said or "rocm" in said, (file, comment)


@EACH
def test_what_a_copy_says_is_so_on_amd(ported: Callable[[str], Path], version: str) -> None:
    root = ported(version)

    def text(path: str) -> str:
        return (root / path).read_text(encoding="utf-8")

    assert "hiprand can only generate an even number" in text(
        "candle-core/src/rocm_backend/device.rs"
    )
    assert "ROCm gpus" not in text("candle-core/src/sort.rs")
    for path in ("rocm_backend/mod.rs", "dummy_rocm_backend.rs"):
        said = text(f"candle-core/src/{path}")
        assert said.count("allowed with f32 GEMMs. On ROCm nothing depends on it.") == 2
    assert "/// ## On ROCm:" in text("candle-nn/src/ops.rs")
    assert "#[doc(hidden)]\npub fn fused_on_rocm(" in text("candle-nn/src/moe.rs")


@EACH
def test_the_tool_leaves_no_trace_of_itself(ported: Callable[[str], Path], version: str) -> None:
    root = ported(version)
    for file in sorted(root.rglob("*")):
        if file.is_file() and ".git" not in file.parts and file.suffix in (".rs", ".toml", ".md"):
            assert "portkit" not in file.read_text(encoding="utf-8"), file


def test_a_change_under_an_override_is_shown(
    pristine: Callable[[str], Path], tmp_path: Path
) -> None:
    place = tmp_path / "candle"
    shutil.copytree(pristine("0.11.1"), place)
    file = place / "candle-core" / "src" / "quantized" / "fast_mmq.rs"
    text = file.read_text(encoding="utf-8")
    assert "minor * 10," in text
    file.write_text(text.replace("minor * 10,", "minor * 10 + 1,"), encoding="utf-8")
    (stale,) = (
        f
        for f in job.scan_tree(place, gating="dummy").findings
        if f.code == "PK104" and f.applicability is Applicability.REVIEW
    )
    changed = [line for line in stale.detail.splitlines() if line.startswith(("+ ", "- "))]
    assert [line[0] for line in changed] == ["-", "+"]
    assert changed[1].replace("minor * 10 + 1,", "minor * 10,")[1:] == changed[0][1:]


@EACH
@BOTH
def test_no_name_stands_twice_with_both_features_on(
    ported: Callable[[str, str], Path], version: str, gating: str
) -> None:
    """What stands under either feature, and what both backends add to shared types, differs."""
    scanned = scan_tree(ported(version, gating), gating)
    macros: Counter[str] = Counter()
    for path in scanned.job.tree_facts.mentions:
        source = scanned.job.workspace.sources[path]
        if not path.endswith(".rs") or scanned.job.codebase.kept(path):
            continue
        exported = re.findall(rb"#\[macro_export\]\s*macro_rules! (\w+)", source.data)
        macros.update(name.decode() for name in exported)
        for names in conditional_names(source):
            assert names["cuda"].isdisjoint(names["rocm"]), path
    for source_path, target in scanned.job.tree_facts.copied_files.items():
        one, other = (shared_names(scanned.job.workspace.sources[p]) for p in (source_path, target))
        assert one.isdisjoint(other), (source_path, one & other)
    assert [name for name, count in macros.items() if count > 1] == []


def conditional_names(source: SourceFile) -> Iterator[dict[str, set[str]]]:
    """Yield, for each container, the names of the functions under either feature alone."""
    pending = [source.tree.root_node]
    while pending:
        container = pending.pop()
        names: dict[str, set[str]] = {"cuda": set(), "rocm": set()}
        for node, attributes in group_attributes(container):
            body = node.child_by_field_name("body")
            if node.type in ("impl_item", "mod_item", "trait_item") and body is not None:
                pending.append(body)
            if node.type != "function_item":
                continue
            for feature, other in (("cuda", "rocm"), ("rocm", "cuda")):
                conditions = [cfg for _, cfg in parse_conditions(attributes)]
                if any(c.requires(feature) for c in conditions) and not any(
                    c.forbids(other) for c in conditions
                ):
                    names[feature].add(field_text(node, "name"))
        yield names


def shared_names(source: SourceFile) -> set[tuple[str, str]]:
    """Return the methods that a file adds to types that are of neither backend."""
    found = set()
    for node in source.tree.root_node.named_children:
        type_name = field_text(node, "type")
        body = node.child_by_field_name("body")
        if node.type != "impl_item" or field_text(node, "trait") or body is None:
            continue
        if type_name.startswith("crate::") and not re.search("(?i)cuda|rocm", type_name):
            found |= {(type_name, field_text(f, "name")) for f in body.named_children}
    return found


@EACH
@BOTH
def test_a_scan_of_some_items_says_what_a_scan_of_whole_files_says(
    ported: Callable[[str, str], Path],
    pristine: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    gating: str,
) -> None:
    """What is left out of a file's syntax tree changes nothing."""
    for tree in (pristine(version), ported(version, gating)):
        some = scan_tree(tree, gating)
        with monkeypatch.context() as patch:
            patch.setattr("portkit.syntax.partial_parse.find_needed_parts", lambda *_: None)
            whole = scan_tree(tree, gating)
        assert [replace(f, files=no_files) for f in some.findings] == [
            replace(f, files=no_files) for f in whole.findings
        ]
        assert some.unaccounted == whole.unaccounted
