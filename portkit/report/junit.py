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
from portkit.tree.finding import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from portkit.report.model import Mention, Report, ReportedSite


def junit(report: Report, *, source: bool = True) -> str:
    """Return the document, with a newline at its end.

    Args:
        report: what to write.
        source: whether lines of the tree's own text are part of it.
    """
    suites = ElementTree.Element("testsuites", name=xml_text(f"portkit scan of {report.title}"))
    for path, sites in report.by_crate().items():
        suite = ElementTree.SubElement(suites, "testsuite", name=xml_text(path))
        _case_each(suite, sites)
        count(suite)
    if report.unaccounted:
        suite = ElementTree.SubElement(suites, "testsuite", name="unaccounted")
        for mention in report.unaccounted:
            _mention(suite, mention, source=source)
        count(suite)
    return document(suites)


def _case_each(suite: Element, sites: Sequence[ReportedSite]) -> None:
    for site in sites:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=xml_text(site.path),
            name=xml_text(f"{site.id} {site.construct} in {site.symbol}"),
            file=xml_text(site.path),
            line=str(site.line),
            time="0",
        )
        message = xml_text(site.message)
        if site.state is State.MANUAL or site.status is Status.TODO:
            failure = ElementTree.SubElement(case, "failure", type=site.state, message=message)
            what = f"{site.code} {site.construct}: {site.message}"
            failure.text = xml_text(f"{site.position}: {what}")
        elif site.state is State.KEPT:
            ElementTree.SubElement(case, "skipped", message=message)
        elif site.state is State.REVIEW:
            ElementTree.SubElement(case, "system-out").text = message


def _mention(suite: Element, mention: Mention, *, source: bool) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=xml_text(mention.path),
        name=xml_text(f"{mention.path}:{mention.line}"),
        file=xml_text(mention.path),
        line=str(mention.line),
        time="0",
    )
    said = "no rule explains this mention of a backend"
    error = ElementTree.SubElement(case, "error", type="unaccounted", message=said)
    error.text = xml_text(mention.text) if source else said


def document(suites: Element) -> str:
    """Return the text of a document, counted and with a newline at its end."""
    count(suites)
    ElementTree.indent(suites, " ")
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def count(suite: Element, seconds: float = 0) -> None:
    """Give a suite, or all suites, its numbers."""
    suite.set("tests", str(len(list(suite.iter("testcase")))))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(list(suite.iter(kind)))))
    suite.set("time", f"{seconds:.3f}".rstrip("0").rstrip("."))


def xml_text(text: str) -> str:
    """Return text that XML 1.0 can hold: section 2.2 leaves out most control characters."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
