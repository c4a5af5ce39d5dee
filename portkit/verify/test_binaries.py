"""Rust's test binaries, run so that no test can hold up the others or bring them down.

A binary runs its tests side by side in one process, which is fast, and a test that hangs, crashes
or takes all memory leaves the others without a result. Those that have none are then run again,
each in a process of its own, with a time and a memory limit: so each test has a result, and the
culprit is known by name.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from portkit.errors import VerificationError
from portkit.verify.blame import attribute_diagnostics
from portkit.verify.diagnostics import parse_cargo, parse_messages
from portkit.verify.digests import digest_texts
from portkit.verify.type_check import list_complaints, parse_cargo_errors
from portkit.workspace import process

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from portkit.verify.verified_tree import VerifiedTree

Results = Counter[tuple[str, str]]
"""How often each pair of a test and its result occurs; tests in documentation may share a name.

A test is named by its binary too; a result is one of ``GOOD``, or says what went wrong: a test that
failed has the essence of its output in parentheses.
"""

GOOD: Final = ("ok", "ignored")

# What libtest writes (library/test/src/formatters/pretty.rs of Rust): a line for each test; with
# `--list --format terse` one for each test and benchmark.
_TEST: Final = re.compile(r"test (.+?) \.\.\. (ok|FAILED|ignored)\b")
_LISTED: Final = re.compile(r"(.+): (test|bench)$")
# A test in the documentation is named by its line, which the port may shift.
_LINE: Final = re.compile(r" \(line \d+\)")
# What Rust writes when an allocation fails (library/std/src/alloc.rs), and libstdc++.
_NO_MEMORY: Final = re.compile(r"memory allocation of \d+ bytes failed|  what\(\):  std::bad_alloc")
# What libstdc++ writes of an exception that nobody catches (libsupc++/vterminate.cc of GCC).
_THROWN: Final = re.compile(r"  what\(\):  (.+)")
# Documentation tests are compiled before the first of them ends.
_DOCUMENTATION_PATIENCE: Final = 4
_TOGETHER: Final = 10
"""How many tests of one process may take as long as one alone, before the process is ended."""
_AT_ONCE: Final = 200
"""How many names one command line holds."""


@dataclass(frozen=True, slots=True)
class Binary:
    """A test binary.

    Attributes:
        name: its crate and source, such as ``toy_core unittests src/lib.rs``.
        folder: where cargo would run it: its package's.
        harness: whether it takes libtest's arguments; else it is one test.
    """

    name: str
    path: Path
    folder: Path
    package: str
    version: str
    harness: bool = True


def build_binaries(
    tree: VerifiedTree,
    *arguments: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Binary, ...]:
    """Build test binaries with cargo and return them in the order of their names."""
    root = folder or tree.root
    command = ("test", "--no-run", "--message-format=json", *arguments)
    done = tree.run_cargo(*command, folder=root, environment=environment)
    if done.status != 0:
        found = [d for d in parse_cargo(done.output, root) if d.level == "error"]
        if root == tree.root:
            found = list(attribute_diagnostics(tree, found))
        said = "; ".join(list_complaints(found, parse_cargo_errors(done.lines))[:3]) or "no message"
        raise VerificationError(f"the tests of {root} cannot be built ({said}): mend that first")
    manifests: dict[Path, Mapping[str, object]] = {}
    binaries = []
    for message in parse_messages(done.output):
        executable = message.get("executable")
        if message["reason"] != "compiler-artifact" or not executable:
            continue
        if not message["profile"]["test"]:
            continue  # an example or a program that a test starts
        target, manifest = message["target"], Path(message["manifest_path"])
        package, version = _parse_package(message["package_id"])
        unit = "unittests " if {"lib", "bin", "proc-macro"} & set(target["kind"]) else ""
        source = os.path.relpath(target["src_path"], manifest.parent).replace(os.sep, "/")
        name = f"{target['name'].replace('-', '_')} {unit}{source}"
        if manifest not in manifests:
            manifests[manifest] = _read_manifest(manifest)
        harness = target["name"] not in _list_harnessless_targets(manifests[manifest])
        binaries.append(Binary(name, Path(executable), manifest.parent, package, version, harness))
    return tuple(sorted(binaries, key=lambda binary: (binary.package, binary.name)))


def test_binary(
    tree: VerifiedTree,
    binary: Binary,
    *,
    environment: Mapping[str, str] | None = None,
    key: Sequence[str] = (),
    reserved: int = 0,
    command: tuple[str, ...] = (),
) -> Results:
    """Run the tests of a binary that belong to the shard, and return the result of each.

    Results are kept where every test passed or is ignored, and found again while nothing changes.

    Args:
        tree: the tree.
        binary: the binary.
        environment: variables beside cargo's own, such as where a device's libraries are.
        key: what else decides the results, such as the digest of the tree's files; without it they
            are not remembered.
        reserved: bytes of address space that each process takes and does not use, beside what the
            memory limit allows.
        command: what starts a program on an emulated GPU. Each test has a process of its own then,
            since what one leaves behind there nobody has tested.
    """
    runner = _Runner(tree, binary, environment or {}, reserved, command)
    names = runner.names()
    mine = tree.options.shard.part(names)
    known = (
        digest_texts([binary.package, binary.name, *key, *mine, *runner.cache_inputs])
        if key
        else ""
    )
    if known and (kept := tree.memory.load(known, "results")):
        tree.say(f"{binary.name}: {len(mine)} tests passed on {kept['found']}, nothing has changed")
        return unpack_results(kept["results"])
    found = runner.run(mine)
    if known and mine and not select_bad(found):
        tree.memory.save(known, {"results": pack_results(found)})
    return found


def test_documentation(tree: VerifiedTree, *arguments: str, folder: Path | None = None) -> Results:
    """Run the tests in the documentation, of which the first shard takes all."""
    if tree.options.shard.index != 1:
        return Counter()
    patience = tree.options.test_seconds * _DOCUMENTATION_PATIENCE
    command = ("test", "--doc", "--no-fail-fast", *arguments)
    done = tree.run_cargo(*command, folder=folder, patience=patience)
    found: Results = Counter()
    crate = ""
    for line in done.lines:
        if line.strip().startswith("Doc-tests "):
            crate = line.split()[-1]
        elif match := _TEST.match(line):
            found[f"{crate} documentation {_LINE.sub('', match[1])}", match[2]] += 1
    if done.flooding:
        found[f"{crate} documentation", describe_end(done)] += 1
    elif done.silent:
        found[f"{crate} documentation", f"timed out after {patience:g} s of silence"] += 1
    elif done.status != 0 and not select_bad(found):
        said = "; ".join(parse_cargo_errors(done.lines)[:1]) or f"status {done.status}"
        found[f"{crate} documentation", f"does not run ({said})"] += 1
    return found


def select_bad(found: Results) -> Results:
    """Return the results that are not good."""
    return Counter({pair: count for pair, count in found.items() if pair[1] not in GOOD})


def count_results(found: Results) -> dict[str, int]:
    """Return how many tests there are, and how they went."""
    counts = Counter(result for _, result in found.elements())
    return {
        "tests": found.total(),
        "passed": counts["ok"],
        "ignored": counts["ignored"],
        "failed": select_bad(found).total(),
    }


def pack_results(found: Results) -> list[list[str | int]]:
    """Return results as JSON can hold them, sorted."""
    return [[name, result, count] for (name, result), count in sorted(found.items())]


def unpack_results(kept: Iterable[Sequence[Any]]) -> Results:
    """Return the results that ``packed`` made into something else."""
    return Counter({(name, result): count for name, result, count in kept})


@dataclass(frozen=True)
class _Runner:
    """Runs one binary."""

    tree: VerifiedTree
    binary: Binary
    extra: Mapping[str, str]
    reserved: int
    command: tuple[str, ...] = ()

    @property
    def cache_inputs(self) -> tuple[str, ...]:
        """The inputs of the results besides the names of the tests and the caller's key."""
        return tuple(f"{name}={value}" for name, value in sorted(self.extra.items()))

    def names(self) -> tuple[str, ...]:
        """Return the tests of the binary, sorted; a binary without a harness is one test."""
        if not self.binary.harness:
            return ("main",)
        done = self._start("--list", "--format", "terse", quiet=True)
        if done.status != 0:
            said = describe_end(done)
            raise VerificationError(f"{self.binary.path} does not list its tests ({said})")
        listed = (_LISTED.match(line) for line in done.output)
        return tuple(sorted(match[1] for match in listed if match and match[2] == "test"))

    def run(self, names: Sequence[str]) -> Results:
        """Return the results of some of the tests."""
        if not self.binary.harness:
            return Counter((f"{self.binary.name} main", self._run_alone("main")) for _ in names)
        if self.command:
            return Counter((f"{self.binary.name} {name}", self._run_alone(name)) for name in names)
        found: Results = Counter()
        for start in range(0, len(names), _AT_ONCE):
            found += self._run_together(names[start : start + _AT_ONCE])
        return found

    def _run_together(self, names: Sequence[str]) -> Results:
        """Run tests in one process, and those that it leaves without a result alone.

        A process that goes wrong after the last of them, such as in a destructor, is a result too.
        """
        # A test that writes for ever is never silent; those without a result are run alone then.
        limit = self.tree.options.test_seconds * (1 + len(names) / _TOGETHER)
        done = self._start("--exact", *names, limit=limit)
        wanted = set(names)
        results: dict[str, str] = {}
        for line in done.lines:
            match = _TEST.match(line)
            # "panics - should panic" is how a line names the test "panics".
            name = match[1].removesuffix(" - should panic") if match else ""
            if match and name in wanted:
                results[name] = _add_output(match[2], name, done)
        whole = len(results) == len(wanted)
        for name in names:
            if name not in results:
                results[name] = self._run_alone(name)
        found = Counter((f"{self.binary.name} {name}", results[name]) for name in names)
        if whole and done.status != 0 and not select_bad(found):
            found[f"{self.binary.name} after its tests", describe_end(done)] += 1
        return found

    def _run_alone(self, name: str) -> str:
        alone = ("--exact", name) if self.binary.harness else ()
        done = self._start(*alone, limit=self.tree.options.test_seconds)
        if done.silent or done.late:
            # Without memory the HIP runtime may go on for ever.
            return f"{describe_end(done)} after {self.tree.options.test_seconds:g} s"
        for line in done.lines:
            match = _TEST.match(line)
            if match and match[1].removesuffix(" - should panic") == name:
                return _add_output(match[2], name, done)
        return "ok" if done.status == 0 else describe_end(done)

    def _start(
        self, *arguments: str, quiet: bool = False, limit: float | None = None
    ) -> process.FinishedProcess:
        memory = find_memory_limit()
        before = () if quiet else self.command
        return self.tree.run(
            (*before, str(self.binary.path), *arguments),
            folder=self.binary.folder,
            environment=self._environment(),
            show=(lambda line: None) if quiet else self.tree.say,
            patience=self.tree.options.test_seconds,
            limit=limit,
            memory=memory and memory + self.reserved,
        )

    def _environment(self) -> Mapping[str, str]:
        """Return cargo's variables for a test (The Cargo Book, "Environment Variables")."""
        own = self.binary.path.parent
        variable = "DYLD_FALLBACK_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
        extra = {**self.tree.environment, **self.extra}
        libraries = [str(own), str(own.parent), *filter(None, [extra.get(variable, "")])]
        return {
            **extra,
            variable: os.pathsep.join(libraries),
            "CARGO_MANIFEST_DIR": str(self.binary.folder),
            "CARGO_PKG_NAME": self.binary.package,
            "CARGO_PKG_VERSION": self.binary.version,
        }


def find_memory_limit() -> int | None:
    """Return the memory limit of one test process: nine tenths of the memory.

    That of the machine, or of the control group, whichever is less; None where neither is known.
    """
    limits = []
    with contextlib.suppress(AttributeError, OSError, ValueError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError, ValueError):  # it is not there, or "max"
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(limits) * 9 // 10 if limits else None


def _add_output(result: str, name: str, done: process.FinishedProcess) -> str:
    essence = "" if result in GOOD else summarize_failures(done.lines).get(name, "")
    return f"{result} ({essence})" if essence else result


def describe_end(done: process.FinishedProcess) -> str:
    """Return how a process ended, in words."""
    if done.flooding:
        return f"wrote more than {process.MOST >> 20} MiB"
    if any(_NO_MEMORY.search(line) for line in done.lines):
        return "out of memory"
    if done.silent or done.late:
        return "timed out"
    if done.status == -signal.SIGKILL:
        return "killed (SIGKILL), as the system does when memory runs out"
    if done.status < 0:
        thrown = [match[1] for match in map(_THROWN.match, done.lines) if match]
        said = f": {thrown[-1]}" if thrown else ""
        return f"crashed ({signal.strsignal(-done.status) or -done.status}{said})"
    return f"ended with status {done.status}"


def _parse_package(identity: str) -> tuple[str, str]:
    """Return the name and version in a package identity, as ``cargo pkgid`` has it.

    ``path+file:///a/toy-core#1.2.3`` and ``path+file:///a/b#toy-core@1.2.3``.
    """
    place, _, rest = identity.rpartition("#")
    name, _, version = rest.rpartition("@")
    return name or place.rpartition("/")[2], version


def _read_manifest(path: Path) -> Mapping[str, object]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _list_harnessless_targets(manifest: Mapping[str, object]) -> set[str]:
    found = set()
    for kind in ("test", "bench", "example", "bin", "lib"):
        section = manifest.get(kind, ())
        targets: Iterable[object] = section if isinstance(section, list) else (section,)
        for target in targets:
            if isinstance(target, dict) and target.get("harness") is False:
                found.add(str(target.get("name", "")))
    return found


# What libtest writes before the output of a failed test (library/test/src/formatters/pretty.rs of
# Rust), and what a panic writes (library/std/src/panicking.rs).
_OUTPUT: Final = re.compile(r"---- (.+?)(?: - should panic)? stdout ----")
_PANIC: Final = re.compile(r"thread .+ panicked at (.+?):?$")
_END: Final = ("note: ", "stack backtrace:", "failures:")
_LENGTH: Final = 200


def summarize_failures(lines: Iterable[str]) -> dict[str, str]:
    """Return the last message of each failed test that wrote one, by test name."""
    outputs: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if match := _OUTPUT.match(line):
            current = outputs.setdefault(match[1], [])
        else:
            current.append(line)
    found = ((name, _summarize_failure(output)) for name, output in outputs.items())
    return {name: essence for name, essence in found if essence}


def _summarize_failure(output: Sequence[str]) -> str:
    """Return the last panic with its position, or the error that the test returned."""
    for index in range(len(output) - 1, -1, -1):
        if match := _PANIC.match(output[index]):
            said = _read_to_end(output[index + 1 :])
            return _shorten(f"{said or 'panicked'}, at {match[1]}")
        if output[index].startswith("Error: "):
            return _shorten(" ".join(_read_to_end(output[index:]).split()))
    return ""


def _read_to_end(lines: Sequence[str]) -> str:
    said: list[str] = []
    for line in lines:
        if line.startswith(_END) or (said and not line.strip()):
            break
        said.append(line.strip())
    return "; ".join(filter(None, said))


def _shorten(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 1]}…"
