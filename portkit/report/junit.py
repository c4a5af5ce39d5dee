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

from portkit.finding import Status
from portkit.report.model import State

if TYPE_CHECKING:
    from collections.abc import Sequence
    from xml.etree.ElementTree import Element

    from portkit.report.model import Mention, Report, Site


def junit(report: Report, *, source: bool = True) -> str:
    """Return the document, with a newline at its end.

    Args:
        report: what to write.
        source: whether lines of the tree's own text are part of it.
    """
    suites = ElementTree.Element("testsuites", name=_xml(f"portkit scan of {report.title}"))
    for path, sites in report.by_crate().items():
        suite = ElementTree.SubElement(suites, "testsuite", name=_xml(path))
        _case_each(suite, sites)
        _count(suite)
    if report.unaccounted:
        suite = ElementTree.SubElement(suites, "testsuite", name="unaccounted")
        for mention in report.unaccounted:
            _mention(suite, mention, source=source)
        _count(suite)
    _count(suites)
    ElementTree.indent(suites, " ")
    text = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _case_each(suite: Element, sites: Sequence[Site]) -> None:
    for site in sites:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_xml(site.path),
            name=_xml(f"{site.id} {site.construct} in {site.symbol}"),
            file=_xml(site.path),
            line=str(site.line),
            time="0",
        )
        message = _xml(site.message)
        if site.state is State.MANUAL or site.status is Status.TODO:
            kind = "manual" if site.state is State.MANUAL else "todo"
            failure = ElementTree.SubElement(case, "failure", type=kind, message=message)
            failure.text = _xml(f"{site.position}: {site.code} {site.construct}: {site.message}")
        elif site.state is State.NOTHING:
            ElementTree.SubElement(case, "skipped", message=message)
        elif site.state is State.REVIEW:
            ElementTree.SubElement(case, "system-out").text = message


def _mention(suite: Element, mention: Mention, *, source: bool) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=_xml(mention.path),
        name=_xml(f"{mention.path}:{mention.line}"),
        file=_xml(mention.path),
        line=str(mention.line),
        time="0",
    )
    said = "no rule explains this mention of a backend"
    error = ElementTree.SubElement(case, "error", type="unaccounted", message=said)
    error.text = _xml(mention.text) if source else said


def _count(suite: Element) -> None:
    suite.set("tests", str(len(list(suite.iter("testcase")))))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(list(suite.iter(kind)))))
    suite.set("time", "0")


def _xml(text: str) -> str:
    """Return text that XML 1.0 can hold: section 2.2 leaves out most control characters."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
