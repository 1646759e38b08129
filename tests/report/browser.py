"""A real headless Chromium for tests of pages."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests of a container run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Browser:
    """One page at a time, at a width and in a colour scheme."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self._driver = driver

    def show(self, page: Path, *, width: int, scheme: str, media: str = "") -> None:
        """Load a page anew. ``scheme``: light or dark; ``media``: print, or '' for a screen."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features, "media": media})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self._driver.get(page.as_uri())

    def ask(self, script: str) -> Any:
        """Return what a function body of JavaScript returns on the page."""
        return self._driver.execute_script(script)

    def complaints(self) -> list[str]:
        """Return what the browser has said on its console since the last call: errors and broken policies."""
        return [entry["message"] for entry in self._driver.get_log("browser")]  # type: ignore[no-untyped-call]  # Selenium has no types here

    def picture(self, target: Path) -> None:
        """Write the whole page as a PNG file."""
        width, height = self.ask("const e = document.documentElement; return [e.clientWidth, e.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        given = {"captureBeyondViewport": True, "clip": clip}
        found = self._driver.execute_cdp_cmd("Page.captureScreenshot", given)
        target.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start the installed Chromium with a profile of its own, and end it."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # Named, so that selenium does not look for one on the network.
    service = webdriver.ChromeService(shutil.which("chromedriver") or "chromedriver")
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
