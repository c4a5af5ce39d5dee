"""Write the lines for ``portkit.toml`` that settle findings for review."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from portkit.report.model import State, count_noun
from portkit.rules import device_conditions, peers
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from portkit.report.model import ReportedSite

_PEER: Final = "peer"


def render_decision(site: ReportedSite) -> str:
    """Return a decision that settles a finding, or an empty text if none does.

    A decision is about conditions on the device. Its reason is empty, and portkit refuses it so:
    to write one is the user's.
    """
    verdicts = {
        device_conditions.DEVICE_CHECK.code: "keep" if site.status is Status.NONE else "widen",
        peers.PEER_CHECK.code: _PEER,
    }
    verdict = verdicts.get(site.code, "")
    asked = re.findall(r"\bis_\w+", site.construct)
    if site.state is not State.REVIEW or not verdict or not asked:
        return ""
    return (
        f'[[decision]]\nwhen = "{asked[0]}"\npath = "{_quote_path(site.path)}"\n'
        f'verdict = "{verdict}"\nreason = ""\n'
    )


def render_decisions(sites: Iterable[ReportedSite]) -> list[str]:
    """Return the decisions for several findings, each once, in order, with what it settles."""
    counts = Counter(filter(None, map(render_decision, sites)))
    return [f"# {describe_cover(number)}\n{entry}" for entry, number in counts.items()]


def describe_cover(number: int) -> str:
    """Return a sentence on the findings for review that one decision settles."""
    return f"These lines settle {count_noun(number, 'finding')} of this file that you must decide."


def render_exclusions(
    taken: Sequence[ReportedSite], sites: Sequence[ReportedSite], moved: Sequence[ReportedSite]
) -> tuple[list[str], list[str]]:
    """Return entries of ``portkit.toml`` and comments that exclude findings for good.

    An entry is about all places of a code in a file; where others of them are written, a comment
    above each place leaves out that one alone.
    """
    kept = {site.id for site in taken}
    wide = {(s.code, s.path) for s in sites if s.status is Status.TODO and s.id not in kept}
    codes: dict[tuple[str, str], list[str]] = {}
    comments = []
    for before, site in zip(taken, moved, strict=True):
        reason = site.reason or site.message
        if (before.code, before.path) not in wide:
            codes.setdefault((site.path, reason), []).append(site.code)
        else:
            mark = "#" if site.path.endswith(".toml") else "//"
            comments.append(f"{site.position}: {mark} portkit: exclude {site.code} {reason}")
    entries = []
    for (path, reason), found in codes.items():
        named = ", ".join(f'"{code}"' for code in sorted({*found}))
        entries.append(
            f'[[exclude]]\ncodes = [{named}]\npaths = ["{_quote_path(path)}"]\n'
            f'reason = "{_quote_text(reason)}"\n'
        )
    return entries, comments


def _quote_path(path: str) -> str:
    """Return a path as a pattern in a basic string of TOML (toml.io, 1.0.0)."""
    return _quote_text(
        re.sub(r"[*?[]", r"[\g<0>]", path)
    )  # what fnmatch takes for more than itself


def _quote_text(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", text)
