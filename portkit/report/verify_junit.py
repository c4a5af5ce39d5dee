"""JUnit XML of ``portkit verify``: a test suite for each step, with what it ran, test by test.

The first case of a suite is the step itself. What could not be looked at here is skipped, with the
reason; a step that the run did not come to is an error, since nobody knows how it would have gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from portkit.report.junit import escape_xml, finish_document, set_counts
from portkit.verify.step_runner import Verdict

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from portkit.verify.options import Options
    from portkit.verify.step_runner import Result, Summary, TestResult


def render_verify_junit(root: str, options: Options, summary: Summary) -> str:
    """Return the document, with a newline at its end."""
    shard = f" (shard {options.shard})" if options.shard.count > 1 else ""
    suites = ElementTree.Element("testsuites", name=escape_xml(f"portkit verify {root}{shard}"))
    for result in summary.results:
        suite = ElementTree.SubElement(suites, "testsuite", name=result.step)
        _case(suite, result)
        for test in result.outcome.tests:
            _test(suite, result.step, test)
        set_counts(suite, result.seconds)
    return finish_document(suites)


def _case(suite: Element, result: Result) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname="portkit verify", name=result.step)
    case.set("time", f"{result.seconds:.3f}")
    said = escape_xml("\n".join(result.evidence))
    if result.verdict is Verdict.FAILED:
        failure = ElementTree.SubElement(case, "failure", type="failed")
        failure.set("message", escape_xml(result.evidence[0] if result.evidence else result.shows))
        failure.text = said
    elif result.verdict is Verdict.SKIPPED:
        ElementTree.SubElement(case, "skipped", message=said)
    elif result.verdict is not Verdict.PASSED:
        ElementTree.SubElement(case, "error", type=result.verdict.value, message=said)
    else:
        left_out = (f"left out: {reason}" for reason in result.outcome.left_out)
        output = ElementTree.SubElement(case, "system-out")
        output.text = escape_xml("\n".join([*result.evidence, *left_out]))


def _test(suite: Element, step: str, test: TestResult) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=escape_xml(f"{step} on {test.on}"),
        name=escape_xml(test.test),
        time="0",
    )
    if test.result == "ignored":
        ElementTree.SubElement(case, "skipped", message="the test says so itself")
    elif test.result != "ok":
        failure = ElementTree.SubElement(case, "failure", type="failed")
        failure.set("message", escape_xml(test.result.partition("\n")[0]))
        failure.text = escape_xml(test.result)
