"""A headless Chromium for tests, driven through a pipe by the DevTools protocol.

https://chromedevtools.github.io/devtools-protocol: messages are JSON, each ended by a zero byte, on
the file descriptors 3 and 4 of the browser (``--remote-debugging-pipe``). No driver and no package
is needed; a machine without a browser skips the tests.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from portkit.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMED = Path(__file__).parents[1] / "ci" / "browser-tools.json"
_KEY = hashlib.sha256(_NAMED.read_bytes()).hexdigest()[:12]
TOOLS = cache_folder() / "browser-tools" / _KEY / "node_modules"
"""Where ci/browser-tools installs what checks pages."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0
"""How long an answer may take, in seconds."""


def find_browser() -> str | None:
    """Return the browser to test with, or none."""
    named = os.environ.get("PORTKIT_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser with one page."""

    def __init__(
        self, program: str, profile: Path, *, width: int = 1400, height: int = 900
    ) -> None:
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
        self.process = os.posix_spawn(
            program,
            [
                program,
                "--headless=new",
                "--no-sandbox",  # tests may run as root, where Chromium refuses its sandbox
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            os.environ,
            file_actions=[
                *((os.POSIX_SPAWN_OPEN, out, os.devnull, os.O_WRONLY, 0) for out in (1, 2)),
                *((os.POSIX_SPAWN_DUP2, end, at) for end, at in zip(ends, (3, 4), strict=True)),
            ],
        )
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self.pending = b""
        self.number = 0
        self.events: list[Mapping[str, Any]] = []
        self.session = ""
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.resize(1400, 900)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)
        os.close(self.out)
        os.close(self.into)

    def ask(self, method: str, **parameters: object) -> Any:
        """Send a command and return its result."""
        self.number += 1
        message: dict[str, object] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _receive(self) -> Mapping[str, Any]:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.pending:
            left = until - time.monotonic()
            assert left > 0 and select.select([self.into], [], [], left)[0], "no answer"
            data = os.read(self.into, 1 << 20)
            assert data, "the browser has ended"
            self.pending += data
        message, _, self.pending = self.pending.partition(b"\0")
        found: Mapping[str, Any] = json.loads(message)
        if "method" in found:
            self.events.append(found)
        return found

    def open(self, page: Path, fragment: str = "") -> None:
        """Open a file and wait until it is loaded."""
        # A page that differs in its fragment alone would not be loaded anew.
        self._load("Page.navigate", url="about:blank")
        self._load("Page.navigate", url=page.as_uri() + fragment)

    def reload(self) -> None:
        """Load the page anew, with what it has stored."""
        self._load("Page.reload")

    def _load(self, method: str, **parameters: object) -> None:
        self.settle()
        self.events.clear()
        self.ask(method, **parameters)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._receive()

    def resize(self, width: int, height: int) -> None:
        """Make the window this large, in CSS pixels."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, scheme: str) -> None:
        """Let the user prefer ``light`` or ``dark``."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def run(self, script: str) -> Any:
        """Return the value of an expression, a promise's included."""
        done = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key, as ``KeyboardEvent.key`` names it."""
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def write(self, text: str) -> None:
        """Type text where the focus is."""
        self.ask("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that fits a selector."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def settle(self) -> None:
        """Wait for two frames, so that what was asked for is drawn."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")

    def screenshot(self, place: Path, *, whole: bool = False) -> None:
        """Write a picture of the window, or of the whole page."""
        self.settle()
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        place.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """Print the page."""
        printed = self.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(printed["data"])

    def complaints(self) -> list[str]:
        """Return what the console says since the page was opened: errors and warnings."""
        found = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"].get("exception", params)))
            elif event["method"] == "Log.entryAdded":
                found.append(params["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and params["type"] in (
                "error",
                "warning",
            ):
                found.append(str(params["args"]))
        return found

    def requests(self) -> list[str]:
        """Return the addresses that the page has asked for since it was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]


def violations(browser: Browser) -> list[Any]:
    """Return what axe objects to on the page that is open, of any impact."""
    browser.run((TOOLS / "axe-core" / "axe.min.js").read_text() + "; 0")
    passed, found = browser.run(
        "axe.run({preload: false}).then(result => [result.passes.length, result.violations.map("
        "v => [v.id, v.impact, v.nodes.map(node => node.html)])])"
    )
    assert passed > 15
    return list(found)
