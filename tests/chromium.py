"""Debian's Chromium without a window, for the tests that look at pages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="wants selenium, which the extra dev installs"
)
DRIVER, CHROMIUM = shutil.which("chromedriver"), shutil.which("chromium")
needed = pytest.mark.skipif(
    not (DRIVER and CHROMIUM),
    reason="wants the Debian packages chromium and chromium-driver: make system",
)


def start(profile: Path) -> Any:
    """Start one, with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    for flag in (
        "--headless=new",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={profile}",
        *root,
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
