"""A real headless Chromium for tests of pages, and what is asked on every page."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from tests.conftest import in_ci
from tests.equipment.install_slurm import SlurmBedError, install

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

# A narrow and a wide window, and either of the colours that a reader may ask for; all four in make test-all.
LOOKS = pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (390, "light"),
        pytest.param(390, "dark", marks=pytest.mark.variant),
        pytest.param(1280, "light", marks=pytest.mark.variant),
        (1280, "dark"),
    ],
)
# Text whose contrast with what is behind it is below what WCAG 2.1 asks for (level AA, 4.5).
FAINT = """
const number = text => text.match(/[\\d.]+/g).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = element => {
  for (let e = element; e; e = e.parentElement) {
    const colour = number(getComputedStyle(e).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const faint = [];
for (const element of document.querySelectorAll('body *')) {
  const own = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!own || element.tagName === 'title') continue;
  const style = getComputedStyle(element);
  const front = number(element instanceof SVGElement ? style.fill : style.color);
  const [a, b] = [light(front), light(behind(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) faint.push(`${element.tagName} ${element.className} ${ratio.toFixed(2)}`);
}
return [...new Set(faint)];
"""
TOO_WIDE = """
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) return ['the page'];
return [...document.querySelectorAll('body *')]
  .filter(e => !e.closest('.wide') && !e.closest('svg') && e.getBoundingClientRect().right > width + 1)
  .map(e => e.tagName + ' ' + e.className);
"""


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


@pytest.fixture(scope="module", name="browser")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    try:
        install(("browser",))
    except SlurmBedError as error:
        # A distribution may have no package of it; where CI could install one it has to run.
        if in_ci() and os.geteuid() == 0:
            pytest.fail(str(error))
        pytest.skip(str(error))
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found
