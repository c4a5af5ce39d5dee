"""The pages of ``docs/kernels`` that are made from the code: rules, patches, engines.

Usage: ``python -m tools.pages.kernels [REPOSITORY]`` writes them, by default into the
current directory; a test fails if they are stale.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from portkit.codebases.registry import find_shipped
from portkit.hipify.kernel_profile import FILE, load_profile
from portkit.hipify.rules import RULES
from portkit.hipify.translator import translate

if TYPE_CHECKING:
    from portkit.codebases.directory import Directory
    from portkit.hipify.kernel_profile import KernelProfile
    from portkit.hipify.rules.rule import KernelRule

FIXTURES = Path("tests") / "fixtures" / "hipify"
DOCS = Path("docs") / "kernels"


def pages(repository: Path) -> dict[str, str]:
    """Return every page, path inside the repository to text.

    Args:
        repository: where the fixtures lie; a rule's example is the one it finds most in.
    """
    made = {f"{DOCS}/rules/{rule.code}.md": _rule_page(rule, repository) for rule in RULES}
    made[f"{DOCS}/rules/README.md"] = _index()
    for name, directory in _with_kernels().items():
        made[f"{DOCS}/{name}.md"] = _profile_page(load_profile(directory, name))
    made[f"{DOCS}/engines.md"] = _engines_page()
    return made


def _with_kernels() -> dict[str, Directory]:
    """Return the codebases that say something of their kernels."""
    return {name: each for name, each in find_shipped().items() if each.has(FILE)}


def _rule_page(rule: KernelRule, repository: Path) -> str:
    title, _, rest = rule.doc.strip().partition("\n")
    case = max(
        sorted((repository / FIXTURES / rule.name).iterdir()),
        key=lambda case: sum(
            finding.code == rule.code
            for finding in translate("before.cu", (case / "before.cu").read_bytes()).findings
        ),
    )
    before = (case / "before.cu").read_text(encoding="utf-8")
    after = (case / "after.hip").read_text(encoding="utf-8")
    parts = [f"# {rule.code}: {rule.name.replace('_', ' ')}", title, rest.strip(), "## Before"]
    parts += [f"```cpp\n{before}```", "## After", f"```cpp\n{after}```"]
    findings = case / "findings.txt"
    if findings.exists():
        lines = [line.split() for line in findings.read_text(encoding="utf-8").splitlines()]
        listed = ", ".join(f"{code} in line {line}" for code, line in lines)
        parts += ["## Reported", f"{listed}."]
    return "\n\n".join(part for part in parts if part) + "\n"


def _index() -> str:
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.doc.strip().splitlines()[0]} |" for rule in RULES
    ]
    return "\n".join(
        [
            "# Rules of the kernels stage",
            "",
            "PH1nn rewrite, PH2nn report what is left to a person; PH3nn are patches of a profile "
            f"({', '.join(f'[{name}](../{name}.md)' for name in _with_kernels())}).",
            "",
            "| code | finds |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )


def _profile_page(profile: KernelProfile) -> str:
    name = profile.name
    lines = [
        f"# What {name}'s kernels need beyond the rules",
        "",
        f"Made from `portkit/codebases/{name}/{FILE}`. A patch that finds nothing, or "
        "another number of places, is reported.",
        "",
        "| code | what for |",
        "| --- | --- |",
        *(f"| {code} | {purpose} |" for code, purpose in profile.purposes.items()),
        "",
        "| code | file | places | beside | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for patch in profile.patches:
        why = ("defect upstream: " if patch.upstream_bug else "") + patch.reason
        files = ", ".join(f"`{file}`" for file in patch.files)
        beside = f"`{patch.beside}`" if patch.beside else ""
        lines.append(f"| {patch.code} | {files} | {patch.expected} | {beside} | {why} |")
    if profile.headers:
        lines += ["", "Headers that the profile adds:", ""]
        lines += [f"- `{target}`: {_about(text)}" for target, text in profile.headers]
    if profile.modules:
        lines += ["", "Modules that it adds, of kernels that the CUDA side has none of:", ""]
        lines += [f"- `{name}.hip`: {_about(text)}" for name, text in profile.modules]
    return "\n".join(lines) + "\n"


def _about(text: str) -> str:
    """Return the first paragraph of the comment that a source begins with."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("// "):
            break
        lines.append(line.removeprefix("// "))
    return " ".join(lines)


def _engines_page() -> str:
    text = Path(__file__).with_name("engine_differences.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    lines = [
        "# Other engines, and how they differ from ours",
        "",
        "`portkit hipify --engine hipify-clang` and `--engine hipify-perl` let a tool of the "
        "HIPIFY project rename CUDA's names first; the same rules run over what it writes. So "
        "every difference between two engines is a name that one of them has wrong or misses. "
        f"Measured on {table['measured']['sources']} with {table['measured']['tools']}.",
        "",
        "| engine | ours | theirs | times | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in table.get("difference", []):
        lines.append(
            f"| {row['engine']} | `{row['ours']}` | `{row['theirs']}` | {row['times']} "
            f"| {row['reason']} |"
        )
    lines += ["", "Files that an engine cannot do; our rules do them alone:", ""]
    lines += ["| engine | file | what it says | why |", "| --- | --- | --- | --- |"]
    for row in table.get("failure", []):
        lines.append(f"| {row['engine']} | `{row['file']}` | {row['message']} | {row['reason']} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the pages into a repository."""
    repository = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for path, text in pages(repository).items():
        target = repository / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
