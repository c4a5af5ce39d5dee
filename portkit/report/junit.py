"""JUnit XML of ``portkit scan``: a test suite for each crate, a test case for each place.

A place that is not ported, or that a person must write, has failed; one that is left alone on
purpose is skipped, with its reason; one that a person should look at has passed, and its output
says why to look. A mention that no rule explains is an error. The format has no standard; the
elements are those that Ant writes and that CI services read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from portkit.report.model import State
from portkit.workspace.finding import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from portkit.report.model import Mention, Report, ReportedSite


def render_junit(report: Report, *, source: bool = True) -> str:
    """Return the document, with a newline at its end."""
    suites = ElementTree.Element("testsuites", name=escape_xml(f"portkit scan of {report.title}"))
    for path, sites in report.group_by_crate().items():
        suite = ElementTree.SubElement(suites, "testsuite", name=escape_xml(path))
        _case_each(suite, sites)
        set_counts(suite)
    if report.unaccounted:
        suite = ElementTree.SubElement(suites, "testsuite", name="unaccounted")
        for mention in report.unaccounted:
            _mention(suite, mention, source=source)
        set_counts(suite)
    return finish_document(suites)


def _case_each(suite: Element, sites: Sequence[ReportedSite]) -> None:
    for site in sites:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=escape_xml(site.path),
            name=escape_xml(f"{site.id} {site.construct} in {site.symbol}"),
            file=escape_xml(site.path),
            line=str(site.line),
            time="0",
        )
        message = escape_xml(site.message)
        if site.state is State.MANUAL or site.status is Status.TODO:
            failure = ElementTree.SubElement(case, "failure", type=site.state, message=message)
            what = f"{site.code} {site.construct}: {site.message}"
            failure.text = escape_xml(f"{site.position}: {what}")
        elif site.state is State.KEPT:
            ElementTree.SubElement(case, "skipped", message=message)
        elif site.state is State.REVIEW:
            ElementTree.SubElement(case, "system-out").text = message


def _mention(suite: Element, mention: Mention, *, source: bool) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=escape_xml(mention.path),
        name=escape_xml(f"{mention.path}:{mention.line}"),
        file=escape_xml(mention.path),
        line=str(mention.line),
        time="0",
    )
    said = "no rule explains this mention of a backend"
    error = ElementTree.SubElement(case, "error", type="unaccounted", message=said)
    error.text = escape_xml(mention.text) if source else said


def finish_document(suites: Element) -> str:
    """Return the text of a document, counted and with a newline at its end."""
    set_counts(suites)
    ElementTree.indent(suites, " ")
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def set_counts(suite: Element, seconds: float = 0) -> None:
    """Give a suite, or all suites, its numbers."""
    suite.set("tests", str(len(list(suite.iter("testcase")))))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(list(suite.iter(kind)))))
    suite.set("time", f"{seconds:.3f}".rstrip("0").rstrip("."))


def escape_xml(text: str) -> str:
    """Return text that XML 1.0 can hold: section 2.2 leaves out most control characters."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
