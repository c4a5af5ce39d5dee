"""The HTML report in a browser: what it shows, what keys and clicks do, and what it may not do.

The tests leave pictures in ``build/screenshots`` for people to look at. They need Chromium; the
last two need what ``ci/browser-tools`` installs as well.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_support import TOOLS, Browser, find_browser, violations
from msgspec.structs import replace
from report_support import CODES, EVERY_KIND, VERIFIED, made

from portkit.report.html import render_page
from portkit.report.model import mark_ported
from portkit.report.snippets import Hunk
from portkit.verify.step_runner import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from portkit.report.model import ReportedSite

PROGRAM = find_browser()
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no Chromium (install one, or name it with PORTKIT_CHROMIUM)"
)
PICTURES = Path(__file__).parents[1] / "build" / "screenshots"
LINES = (
    " impl Device {",
    '-    const NAME: &str = "cuda"; // the first',
    '+    const NAME: &str = "rocm"; // the first',
    "+    fn added<'a>(x: &'a u8) -> Self { todo!(0x1F) }",
    " }",
)
HUNKS = {
    EVERY_KIND[0].id: (Hunk("a/x.rs", "a/x.rs", 7, LINES), Hunk("a/x.rs", "a/x.rs", 40, LINES, 9)),
    EVERY_KIND[5].id: (Hunk("Cargo.toml", "", 3, (" # a comment", '=cuda = ["x"]', " ")),),
}
MANY = 5_000
UNTICKED = "that are not ticked"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    PICTURES.mkdir(parents=True, exist_ok=True)
    assert PROGRAM is not None
    with Browser(PROGRAM, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages") / "report.html"
    place.write_text(render_page(made(*EVERY_KIND, unaccounted=2), HUNKS, verified=VERIFIED))
    return place


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with very many places."""
    place = tmp_path_factory.mktemp("pages") / "large.html"
    place.write_text(
        render_page(made(*many()), {site.id: HUNKS[EVERY_KIND[0].id] for site in many()})
    )
    return place


def many() -> Iterator[ReportedSite]:
    for number in range(MANY):
        code = CODES[number % 7]
        yield replace(
            EVERY_KIND[number % 7],
            path=f"a/src/file_{number % 300}.rs",
            line=number + 1,
            end_line=number + 1,
            code=code,
            symbol=f"symbol_{number}",
            id=f"{code}-{number:08x}",
        )


def shown(browser: Browser) -> list[str]:
    """Return the symbols or paths of the rows that are drawn."""
    found: list[str] = browser.run(
        "[...document.querySelectorAll('.item b')].map(row => row.textContent)"
    )
    return found


def forget(browser: Browser, page: Path) -> None:
    """Open a page that nothing is remembered of."""
    browser.open(page)
    browser.run("localStorage.clear()")
    browser.reload()


def count(browser: Browser) -> str:
    return str(browser.run("document.getElementById('count').value"))


def chosen(browser: Browser) -> str:
    """Return the identity of the place that is described."""
    found = str(browser.run("document.querySelector('#detail h3 a').getAttribute('href')"))
    return found.removeprefix("#")


def test_it_opens_without_a_complaint_and_asks_for_nothing(browser: Browser, page: Path) -> None:
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(page)
        browser.screenshot(PICTURES / f"report-{scheme}.png", whole=True)
        assert browser.complaints() == []
        assert browser.requests() == [page.as_uri()]
    browser.prefer("light")
    assert count(browser) == f"6 of 7 findings; 1 more in states {UNTICKED}"
    # What is most pressing is described first: the place that a person must write.
    assert chosen(browser) == EVERY_KIND[5].id


def test_a_link_leads_to_its_place(browser: Browser, page: Path) -> None:
    browser.open(page, f"#{EVERY_KIND[0].id}")
    assert chosen(browser) == EVERY_KIND[0].id
    assert browser.run("document.querySelector('[aria-selected=true] b').textContent") == "x.rs:1"
    browser.run(f"location.hash = '#{EVERY_KIND[4].id}'; new Promise(r => setTimeout(r, 50))")
    assert chosen(browser) == EVERY_KIND[4].id
    assert browser.run("document.activeElement.id") == "detail"
    assert browser.complaints() == []


def test_before_and_after_stand_side_by_side(browser: Browser, page: Path) -> None:
    browser.open(page, f"#{EVERY_KIND[0].id}")
    rows = browser.run(
        "[...document.querySelectorAll('.diff tbody tr')].map(row => "
        "[...row.cells].map(cell => cell.textContent))"
    )
    assert rows[:5] == [
        ["7", "impl Device {", "impl Device {"],
        ["8", LINES[1][1:], LINES[2][1:]],
        ["", "", LINES[3][1:]],
        ["9", "}", "}"],
        ["…"],
    ]
    assert rows[5][0] == "40"
    assert rows[-1] == ["9 more lines"]
    marked = "[...document.querySelectorAll('.diff mark')].map(mark => mark.textContent)"
    assert browser.run(marked)[:2] == ["cuda", "rocm"]
    kinds = browser.run(
        "[...document.querySelectorAll('.diff tbody:first-of-type .in span')]"
        ".map(span => [span.className.slice(4), span.textContent])"
    )
    for kind in ("k const", "k fn", "t 'a", "t Self", "m todo!", "n 0x1F", "c // the first"):
        assert kind.split(" ", 1) in kinds, kind
    browser.screenshot(PICTURES / "place.png")
    browser.open(page, f"#{EVERY_KIND[5].id}")
    assert browser.run("document.querySelectorAll('.diff thead th').length") == 2
    assert browser.run("document.querySelector('.diff .here .text').textContent") == 'cuda = ["x"]'


def test_filters_narrow_the_list(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click("#text")
    browser.write("Y.RS look nothing")
    assert count(browser) == "0 of 7 findings"
    assert browser.run("document.querySelector('.empty').textContent").startswith("No finding fits")
    browser.run("document.getElementById('text').select()")
    browser.write("Y.RS pk403")
    assert count(browser) == "1 of 7 findings"
    # What is described is what is listed, and what is not listed for its state is counted.
    assert chosen(browser) == EVERY_KIND[4].id
    browser.run("document.getElementById('text').select()")
    browser.write("pk802")
    assert count(browser) == f"0 of 7 findings; 1 more in states {UNTICKED}"
    browser.click("#clear")
    assert count(browser) == "7 findings"
    for box, value, left in (("rule", "PK401", 1), ("crate", "a/b", 2), ("crate", ".", 1)):
        browser.run(
            f"(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('input')); }})"
            f"(document.getElementById('{box}'))"
        )
        assert count(browser) == f"{left} of 7 findings", (box, value)
        browser.click("#clear")
    for state, left in (("manual", 1), ("review", 3), ("mechanical", 1), ("ported", 1)):
        browser.click(f"input[value={state}]")
        assert count(browser) == f"{7 - left} of 7 findings; {left} more in states {UNTICKED}", (
            state
        )
        browser.click("#clear")


def test_the_summary_and_the_map_lead_to_the_list(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.click(".card.review")
    assert count(browser) == f"3 of 7 findings; 4 more in states {UNTICKED}"
    browser.click("[data-crate='a/b']")
    assert count(browser) == "2 of 7 findings"
    assert shown(browser) == ["y.rs:4", "y.rs:5"]
    browser.click(".map:not([hidden]) [data-path='Cargo.toml'] rect")
    assert count(browser) == "1 of 7 findings"
    assert chosen(browser) == EVERY_KIND[5].id
    browser.click("[data-map='1']")
    assert browser.run("[...document.querySelectorAll('.map')].map(map => map.hidden)") == [
        True,
        False,
    ]


def test_keys(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.press("c")
    browser.press("/")
    assert browser.run("document.activeElement.id") == "text"
    browser.write("x.rs")
    assert count(browser) == "4 of 7 findings"
    browser.press("Escape")
    assert browser.run("document.activeElement.id") == "list"
    # What a person is asked about comes first, and then the others, apart.
    assert browser.run("document.querySelectorAll('.item.apart').length") == 1
    steps = (("Home", 2), ("ArrowDown", 0), ("j", 1), ("End", 6), ("k", 1), ("ArrowUp", 0))
    for key, index in steps:
        browser.press(key)
        assert chosen(browser) == EVERY_KIND[index].id, key
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "detail"
    browser.press("c")
    assert count(browser) == "7 findings"
    browser.press("?")
    assert browser.run("document.getElementById('help').open")
    browser.screenshot(PICTURES / "keys.png")
    browser.press("j")
    assert chosen(browser) == EVERY_KIND[0].id


def test_the_theme_is_switched_and_remembered(browser: Browser, page: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    forget(browser, page)
    assert browser.run(colour) == "rgb(255, 255, 255)"
    browser.press("t")
    dark = browser.run(colour)
    assert dark != "rgb(255, 255, 255)"
    browser.reload()
    assert browser.run(colour) == dark
    browser.press("t")
    assert browser.run(colour) == "rgb(255, 255, 255)"


def test_a_task_stays_ticked(browser: Browser, page: Path) -> None:
    forget(browser, page)
    browser.run("document.querySelectorAll('details').forEach(stage => stage.open = true)")
    browser.screenshot(PICTURES / "plan.png", whole=True)
    browser.click("[data-task]:not(:checked)")
    ticked = "[...document.querySelectorAll('[data-task]')].map(box => box.checked)"
    before = browser.run(ticked)
    browser.reload()
    assert browser.run(ticked) == before
    assert before.count(True) == 1


def test_a_button_copies_a_command(browser: Browser, tmp_path: Path) -> None:
    fix = replace(EVERY_KIND[4], code="PK107", id="PK107-0000000a")
    place = tmp_path / "report.html"
    place.write_text(render_page(made(*EVERY_KIND, fix)))
    browser.open(place)
    button = "document.querySelector('[data-copy]')"
    label = browser.run(f"{button}.textContent")
    browser.click("[data-copy]")
    wait(browser, f"{button}.textContent", "Copied")
    said = browser.run("document.getElementById('copied').value")
    assert said == f"Copied: portkit review tree --accept {EVERY_KIND[2].id}"
    wait(browser, f"{button}.textContent", label)
    browser.run("document.querySelector('[data-rule]').click()")
    assert count(browser) == "1 of 8 findings"


def wait(browser: Browser, expression: str, expected: str) -> None:
    until = time.monotonic() + 10
    while browser.run(expression) != expected:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_thousands_of_places_are_drawn_as_they_are_needed(browser: Browser, large: Path) -> None:
    started = time.monotonic()
    browser.open(large)
    kept = MANY // 7
    assert count(browser) == f"{MANY - kept} of {MANY} findings; {kept} more in states {UNTICKED}"
    seconds = time.monotonic() - started
    assert len(shown(browser)) < 60
    browser.run("(l => { l.scrollTop = l.scrollHeight; })(document.getElementById('list'))")
    browser.settle()
    assert shown(browser)[-1] == f"file_{(MANY - 1) % 300}.rs:{MANY}"
    typed = browser.run(
        "(() => { const t = performance.now(); const box = document.getElementById('text');"
        " box.value = 'symbol_4999'; box.dispatchEvent(new Event('input')); "
        " return performance.now() - t; })()"
    )
    assert count(browser) == f"1 of {MANY} findings"
    # A person takes up to 100 ms for at once (Miller 1968); the machine may be busy.
    assert typed < 500, f"a letter takes {typed:.0f} ms"
    assert seconds < 10, f"opening takes {seconds:.1f} s"
    browser.screenshot(PICTURES / "large.png")


def test_it_fits_a_small_window(browser: Browser, page: Path) -> None:
    try:
        browser.resize(360, 800)
        browser.open(page, f"#{EVERY_KIND[0].id}")
        assert browser.run("document.documentElement.scrollWidth") <= 360
        # No column of the table is cut off where nothing says that there is more.
        assert (
            browser.run("(e => e.scrollWidth - e.clientWidth)(document.querySelector('.wide'))")
            == 0
        )
        # What is small must not be filled by what stays on top.
        assert (
            browser.run("getComputedStyle(document.querySelector('header')).position") == "static"
        )
        browser.screenshot(PICTURES / "small.png", whole=True)
    finally:
        browser.resize(1400, 900)


def test_a_place_leads_to_its_source(browser: Browser, tmp_path: Path) -> None:
    """Where the reader wants it: on a forge, or in an editor."""
    address = "vscode://file/home/you/tree/{path}:{line}"
    odd = replace(EVERY_KIND[0], path="a/x #1.rs")
    for link, found in ((address, "vscode://file/home/you/tree/a/x%20%231.rs:1"), ("", None)):
        place = tmp_path / "report.html"
        place.write_text(render_page(made(odd), link=link))
        browser.open(place, f"#{odd.id}")
        leads = "document.querySelector('#detail .facts a')?.getAttribute('href')"
        assert browser.run(leads) == found
        assert browser.complaints() == []


def test_it_can_be_printed(browser: Browser, page: Path, large: Path) -> None:
    browser.open(page)
    browser.run(
        "addEventListener('beforeprint', () => {"
        " window.printed = document.querySelectorAll('.printed-place').length; }); 0"
    )
    printed = browser.pdf()
    (PICTURES / "report.pdf").write_bytes(printed)
    assert printed.startswith(b"%PDF-")
    assert browser.run("window.printed") == len(EVERY_KIND) - 1  # what the filters leave
    assert browser.run("document.getElementById('printed').hidden")
    browser.open(large)
    browser.run("dispatchEvent(new Event('beforeprint')); 0")
    assert browser.run("document.querySelectorAll('#printed > p').length") == MANY - MANY // 7


def test_on_paper_a_heading_goes_with_what_it_is_the_heading_of(
    browser: Browser, page: Path
) -> None:
    browser.open(page)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    try:
        browser.run("dispatchEvent(new Event('beforeprint')); 0")
        for what in ("#printed .facts", "#printed h3", "#places h2", "summary"):
            style = f"getComputedStyle(document.querySelector('{what}'))"
            assert browser.run(f"{style}.breakAfter") == "avoid", what
        assert browser.run(
            "getComputedStyle(document.querySelector('#printed .facts')).display"
        ) == ("flex")
        # Nothing is cut at the side: A4 is 794 CSS pixels wide, 718 between margins of 1 cm.
        browser.resize(718, 1000)
        browser.screenshot(PICTURES / "printed.png", whole=True)
        assert browser.run("document.documentElement.scrollWidth") <= 718
    finally:
        browser.resize(1400, 900)
        browser.ask("Emulation.setEmulatedMedia", media="")


def test_text_of_the_tree_is_text(browser: Browser, tmp_path: Path) -> None:
    evil = "<img src=x onerror='window.hurt=1'></script><script>window.hurt=1</script>"
    bad = replace(EVERY_KIND[0], symbol=evil, message=evil, construct=evil, detail=evil)
    place = tmp_path / "evil.html"
    place.write_text(render_page(made(bad), {bad.id: (Hunk(evil, "", 1, (f" {evil}",)),)}))
    browser.open(place)
    assert browser.run("window.hurt === undefined")
    assert browser.run("document.querySelector('.message').textContent") == evil
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.complaints() == []


def verified(verdict: str) -> dict[str, Any]:
    """Return a verification whose steps all have a verdict."""
    steps = [{**step, "verdict": verdict} for step in VERIFIED["steps"]]
    return {**VERIFIED, "verdict": verdict, "steps": steps}


WHOLE = made(*EVERY_KIND, unaccounted=2)
PORTED = mark_ported(made(*EVERY_KIND[:2], EVERY_KIND[6]))
STATES: dict[str, Callable[[], str]] = {
    "every-kind": lambda: render_page(WHOLE, HUNKS, verified=VERIFIED),
    "no-source": lambda: render_page(WHOLE, HUNKS, source=False),
    "nothing": lambda: render_page(made()),
    "kept-alone": lambda: render_page(made(EVERY_KIND[6])),
    "ported": lambda: render_page(PORTED),
    "written": lambda: render_page(PORTED, HUNKS, written="Ported tree to ROCm: 2 places"),
    **{
        f"proof-{verdict.replace(' ', '-')}": partial(
            render_page, PORTED, verified=verified(verdict)
        )
        for verdict in Verdict
    },
}
"""The report in every state that it can be in."""


@pytest.fixture(scope="module", params=STATES)
def state(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("states") / f"{request.param}.html"
    place.write_text(STATES[request.param]())
    return place


def opened(browser: Browser, place: Path) -> None:
    """Open a page with all that it can unfold."""
    browser.open(place)
    browser.run("document.querySelectorAll('details').forEach(stage => stage.open = true)")


def test_every_state_is_shown_without_a_complaint(browser: Browser, state: Path) -> None:
    opened(browser, state)
    browser.screenshot(PICTURES / f"state-{state.stem}.png", whole=True)
    assert browser.complaints() == []
    assert browser.requests() == [state.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") <= 1400


@pytest.mark.skipif(
    not (TOOLS / "axe-core").is_dir(), reason="no axe-core (ci/browser-tools installs it)"
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_is_accessible(browser: Browser, state: Path, scheme: str) -> None:
    browser.prefer(scheme)
    try:
        opened(browser, state)
        assert violations(browser) == []
    finally:
        browser.prefer("light")


@pytest.mark.skipif(
    not (TOOLS / "axe-core").is_dir(), reason="no axe-core (ci/browser-tools installs it)"
)
def test_it_is_accessible_in_a_small_window_and_with_its_keys_shown(
    browser: Browser, page: Path
) -> None:
    try:
        browser.resize(360, 800)
        opened(browser, page)
        assert violations(browser) == []
        browser.press("?")
        assert violations(browser) == []
    finally:
        browser.resize(1400, 900)


@pytest.mark.skipif(
    not (TOOLS / "html-validate").is_dir() or shutil.which("node") is None,
    reason="no html-validate (ci/browser-tools installs it)",
)
def test_every_state_is_valid_html(state: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"extends": ["html-validate:standard"], "root": True}))
    done = subprocess.run(
        [
            "node",
            TOOLS / "html-validate" / "bin" / "html-validate.mjs",
            "--config",
            settings,
            state,
        ],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_COLOR": "1"},
    )
    said = re.sub(re.escape(str(state)), state.name, done.stdout + done.stderr)
    assert done.returncode == 0, said
