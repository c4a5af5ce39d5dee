"""What is found in one file."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from portkit.engine.walk import MOST_PLACES, TooMuchError, Walk, make_manual
from portkit.errors import PlanError, PortkitError
from portkit.port.reexported_bindings import adapt_to_file
from portkit.rules import FileFilter
from portkit.rules.file_rules import report_failed_file, report_unread_file
from portkit.syntax.source_file import SourceFile
from portkit.syntax.word_search import build_word_finder, find_occurrences
from portkit.workspace.cargo_workspace import KERNELS
from portkit.workspace.edits import apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from portkit.context.port_job import PortJob
    from portkit.engine.rule_index import RuleIndex
    from portkit.engine.walk import Unaccounted
    from portkit.workspace.finding import Finding

_UNSETTLED = (
    "with what would be written the parser understands this file otherwise, so nothing is written:"
    " do it by hand"
)


def scan_file(
    job: PortJob, path: str, asked: RuleIndex, is_written: Callable[[str], bool]
) -> tuple[list[Finding], list[Unaccounted]]:
    """Return what is found in a file, and what no finding accounts for.

    A file that portkit fails on is one finding, and the others are looked at.
    """
    try:
        return _walk_file(job, path, asked, is_written)
    except TooMuchError as error:
        return [report_unread_file(path, str(error), job.workspace.sources[path].size)], []
    except PortkitError:
        raise
    except Exception as error:
        if os.environ.get("PORTKIT_TRACEBACK"):
            raise
        return [report_failed_file(path, error, job.workspace.sources[path].size)], []
    finally:
        job.workspace.sources[path].forget()


def _walk_file(
    job: PortJob, path: str, asked: RuleIndex, is_written: Callable[[str], bool]
) -> tuple[list[Finding], list[Unaccounted]]:
    source = job.workspace.sources[path]
    job = adapt_to_file(job, source)
    found = list(asked.run_file_rules(FileFilter.ALWAYS, job, source))
    places = sorted({*job.tree_facts.mentions.get(path, ()), *_find_seeds(job, source)})
    # Most files have no place, and to see whether the port writes one takes longer.
    if not (places or path in job.tree_facts.copied_files) or is_written(path):
        return found, []
    if len(places) > MOST_PLACES:
        raise TooMuchError(f"it names backends {len(places):,} times, more than {MOST_PLACES:,}")
    whole = list(asked.run_file_rules(FileFilter.MENTIONS, job, source))
    if whole:
        return [*found, *whole], []
    walk = Walk(job, source, places, asked)
    walked, left = walk.run()
    found += walked
    # The parser of Python reads much that is none, by its own lights.
    doubtful = walk.broken or path.endswith((".py", ".pyi"))
    if doubtful and any(f.edits for f in found) and _is_unsettled(walk, found):
        found = [make_manual(f, _UNSETTLED) for f in found]
    return found, left


def _is_unsettled(walk: Walk, findings: Sequence[Finding]) -> bool:
    """Whether something is left to do in a file after all that was found there was done.

    What the parser does not understand it may understand otherwise then.
    """
    try:
        source = SourceFile(walk.source.path, apply_edits(walk.source, findings))
    except PlanError:
        return True
    words = (*walk.job.vendor.vocabulary, *walk.job.vendor.peer_vocabulary)
    places = sorted({*walk.job.mentions(source, words), *_find_seeds(walk.job, source)})
    again, _ = Walk(walk.job, source, places, walk.asked).run()
    return any(f.edits for f in again) or (not walk.broken and source.tree.root_node.has_error)


def _find_seeds(job: PortJob, source: SourceFile) -> list[int]:
    """Return the offsets that are looked at although they hold no mention."""
    if source.path.endswith("Cargo.toml"):
        names = "|".join(("members", "exclude", *job.vendor.dependencies))
        heads = rf"^(?:\xef\xbb\xbf)?[ \t]*\[[ \t]*([^]\n]*?)[ \t]*\]|^[\"']?({names})[\"']?\s*="
        found, table = [], b""
        for line in re.finditer(heads.encode(), source.data, re.MULTILINE):
            if line[2] is None:
                table = line[1]
            # `exclude` of a package names files that are not published.
            elif line[2] not in (b"members", b"exclude") or table == b"workspace":
                found.append(line.start())
        return found
    if source.path.endswith(KERNELS):
        translated = any(each.holds(source.path) for each in job.codebase.hip_sources)
        return [] if translated or job.codebase.kept(source.path) else [0]
    if not source.path.endswith(".rs"):
        return []
    # A program is spoken of in comments and named in strings; these are looked at.
    programs = [f'{name}"' for name in job.vendor.programs]
    wanted = build_word_finder((*(f"{name}!" for name in job.tree_facts.macros), *programs))
    return [
        at for word in wanted(source.data) for at in find_occurrences(source.data, word.encode())
    ]
