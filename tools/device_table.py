"""The table of every test that ran on the CPU device, as Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from portkit.verify.test_binaries import GOOD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from portkit.verify.device import TestRun

_WORD: Final = re.compile(r"\w+")
_CALL: Final = re.compile(r"\b\w+!\s*\(([^()]*)\)")
_TEST: Final = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn\s+(\w+)")
_ORIGINAL: Final = re.compile(r"(?<![\w$])\w+_(?:cuda|gpu)\b")


def render_device_table(
    title: str,
    note: str,
    runs: Sequence[TestRun],
    own: str,
    counterparts: Mapping[str, str],
    dead: Collection[str] = (),
    without: Collection[str] = (),
    why: Mapping[str, str] | None = None,
) -> str:
    """Return the report."""
    names = sorted({name for each in runs for name, _ in each.results})
    results = [dict(each.results.keys()) for each in runs]
    ours = [name for name in names if own in name]
    return "\n".join(
        [
            f"# {title} on the CPU device",
            "",
            note,
            "",
            *_summarize(runs, own),
            "",
            *_list_failures(runs, why or {}),
            *_list_missing(runs, dead),
            "",
            "## Tests on the device",
            "",
            f"CUDA's tests without a counterpart: {_format_list(sorted(without))}.",
            "",
            *_list_rows(ours, runs, results, counterparts),
            "",
            "## The other tests, with the feature",
            "",
            *_list_rows([name for name in names if name not in ours], runs, results, None),
            "",
        ]
    )


def find_original_test(
    name: str, own: str, words: Collection[str], calls: Mapping[str, str]
) -> str:
    """Return the name of the test of the original backend; empty where there is none.

    Args:
        name: the test of the port.
        own: the port's vendor, such as ``rocm``.
        words: every word of the sources: a test may be called after the backend, after GPUs, or
            after none of them.
        calls: the test of the original backend that a macro makes, by what is tested: the port's
            is ``rocm`` in a module of that name (PK601).
    """
    path, _, test = name.rpartition(" ")[2].rpartition("::")
    if test == own:
        return calls.get(path.rpartition("::")[2], "")
    found = (*(test.replace(own, other) for other in ("cuda", "gpu")), test.removeprefix(f"{own}_"))
    return next((each for each in found if each != test and each in words), "")


def find_uncopied_tests(texts: Sequence[str], own: str, had: Collection[str]) -> list[str]:
    """Return the tests of the original backend in ported sources that the port has no copy of.

    They are arguments of a macro that makes a test for each backend, or functions.
    """
    found: set[str] = set()
    words = list_words(texts)
    for text in texts:
        for arguments in _CALL.findall(text):
            if f"_{own}" not in arguments:
                found.update(_ORIGINAL.findall(arguments))
        tests = [name for name in _TEST.findall(text) if "cuda" in name]
        found.update(name for name in tests if name.replace("cuda", own) not in words)
    return sorted(found.difference(had))


def find_called_tests(texts: Sequence[str]) -> Mapping[str, str]:
    """Return the test of the original backend that a call of a macro names, by what is tested."""
    found = {}
    for arguments in (call for text in texts for call in _CALL.findall(text)):
        tested, _, others = arguments.partition(",")
        named = _ORIGINAL.findall(others)
        if len(named) == 1:
            found[tested.strip()] = named[0]
    return found


def list_words(texts: Sequence[str]) -> frozenset[str]:
    """Return the words of sources."""
    return frozenset(word for text in texts for word in _WORD.findall(text))


def _summarize(runs: Sequence[TestRun], own: str) -> Iterator[str]:
    yield _format_row("", *(each.run.on for each in runs))
    yield _format_row("---", *("---:" for _ in runs))
    kinds = (
        ("tests", lambda name, result: True),
        ("passed", lambda name, result: result == "ok"),
        ("ignored", lambda name, result: result == "ignored"),
        ("failed", lambda name, result: result not in GOOD),
        ("on the device", lambda name, result: own in name),
        ("on the device, passed", lambda name, result: own in name and result == "ok"),
    )
    for title, holds in kinds:
        counts = (sum(holds(*pair) for pair in each.results.elements()) for each in runs)
        yield _format_row(title, *map(str, counts))
    yield _format_row(
        "kernels launched", *(str(sum(map(bool, e.seen.launches.values()))) for e in runs)
    )
    yield _format_row("kernels of loaded modules", *(str(len(each.seen.launches)) for each in runs))
    yield _format_row("defects seen", *(str(len(each.seen.defects)) for each in runs))


def _list_failures(runs: Sequence[TestRun], why: Mapping[str, str]) -> Iterator[str]:
    """Yield the tests that fail, each with its reason."""
    names = sorted({name for each in runs for name, result in each.results if result not in GOOD})
    if names:
        yield from ("## What fails, and why", "")
        for name in names:
            reason = why.get(name.rpartition(" ")[2], "the reason is not known")
            yield f"- `{name}`: {reason}."
        yield ""


def _list_missing(runs: Sequence[TestRun], dead: Collection[str]) -> Iterator[str]:
    """Yield the kernels that were there and that no test has launched, and the defects."""
    yield "## Kernels that no test launches"
    yield ""
    never = [frozenset(each.seen.never_launched) for each in runs]
    always = frozenset.intersection(*never)
    yield f"- {_format_list(sorted(always.difference(dead)))}"
    for each, names in zip(runs, never, strict=True):
        if names != always:
            yield f"- on {each.run.on} alone: {_format_list(sorted(names - always))}"
    if dead:
        yield f"- no Rust code asks for: {_format_list(sorted(always.intersection(dead)))}"
    defects = [(each.run.on, defect) for each in runs for defect in sorted(each.seen.defects)]
    if defects:
        yield from ("", "## Defects that the device has seen", "")
        yield from (f"- {on}: {defect}" for on, defect in defects)


def _format_list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _list_rows(
    names: Sequence[str],
    runs: Sequence[TestRun],
    results: Sequence[Mapping[str, str]],
    counterparts: Mapping[str, str] | None,
) -> Iterator[str]:
    more = [] if counterparts is None else ["CUDA's"]
    yield _format_row("test", *more, *(each.run.on for each in runs))
    yield _format_row(*("---" for _ in range(1 + len(more) + len(runs))))
    for name in names:
        of = [] if counterparts is None else [counterparts.get(name, "")]
        yield _format_row(name, *of, *(result.get(name, "not run") for result in results))


def _format_row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
